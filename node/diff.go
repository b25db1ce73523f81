package node

// This file holds what an upgrade would change: a file's plugins folded in a scratch beside those that run, over the live Space's messages.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"plexus/graph"
	"plexus/plugins"
	"plexus/plugins/kit"
	"plexus/sdk/abi"
	"plexus/sdk/client"
)

// DiffPlugin folds a Space with a file that isn't pinned, and compares states, marks and views with those of the plugins that run under the
// same names.
func (n *Node) DiffPlugin(ctx context.Context, spaceID string, in client.PluginDiffAsk) ([]client.PluginDiff, error) {
	sp, err := n.space(spaceID)
	if err != nil {
		return nil, err
	}
	wasm := in.Wasm
	if wasm == nil {
		if wasm, err = n.fileBytes(ctx, in.CID); err != nil {
			return nil, err
		}
	}
	d, err := plugins.Examine(ctx, wasm)
	if err != nil {
		return nil, err
	}
	if in.CID != "" && in.CID != d.File {
		return nil, invalid("the file's CID is %s, not %s", d.File, clip(in.CID))
	}
	if !n.bisecting.TryLock() {
		return nil, busy("another diff or bisect runs on this host")
	}
	defer n.bisecting.Unlock()
	var out []client.PluginDiff
	for _, p := range d.Manifest.Plugins {
		if in.Name != "" && in.Name != p.Name {
			continue
		}
		asks, err := viewAsks(in, p, d.Sections[abi.SectionTrace+p.Name])
		if err != nil {
			return nil, err
		}
		one, err := n.diffOne(ctx, sp, p.Name, wasm, asks)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	if len(out) == 0 {
		return nil, invalid("the file has no plugin '%s'", clip(in.Name))
	}
	return out, nil
}

// viewAsk is a view to be compared.
type viewAsk struct {
	view   string
	params json.RawMessage
}

// viewAsks are the one that was asked for, or else the candidate's views that need no parameters, and those of its golden trace whose parameters
// name nothing of the trace.
func viewAsks(in client.PluginDiffAsk, p abi.Plugin, trace []byte) (out []viewAsk, err error) {
	if in.View != "" {
		return []viewAsk{{in.View, in.Params}}, nil
	}
	for _, v := range p.Views {
		if !kit.NeedsParams(v) {
			out = append(out, viewAsk{view: v.Name})
		}
	}
	if trace == nil {
		return out, nil
	}
	t, err := kit.ParseTrace(trace)
	if err != nil {
		return nil, err
	}
	for _, v := range t.Views {
		a := viewAsk{v.View, v.Params}
		known := slices.ContainsFunc(out, func(o viewAsk) bool {
			return o.view == a.view && bytes.Equal(o.params, a.params)
		})
		if len(v.Params) > 0 && !known && !bytes.Contains(v.Params, []byte(`"$`)) && !bytes.Contains(v.Params, []byte(`"@`)) {
			out = append(out, a)
		}
	}
	return out[:min(len(out), maxViewsCompared)], nil
}

// folded is one side of a comparison.
type folded struct {
	scratch *plugins.Scratch
	side    client.PluginSide
	marks   map[graph.ID]string // reason
	order   []graph.ID          // of marks
}

// foldAnew folds all of a Space; a nil file is the one that runs.
func (n *Node) foldAnew(ctx context.Context, sp *graph.Space, name string, wasm []byte) (*folded, error) {
	s, err := n.plugins.Scratch(ctx, sp.ID(), name, wasm)
	if err != nil {
		return nil, err
	}
	f := &folded{scratch: s, marks: map[graph.ID]string{}}
	f.side.File, f.side.Version = s.File(), s.Plugin().Version
	err = s.All(ctx, func(m plugins.Folded) {
		f.side.Gas += m.Gas
		f.side.MostGas = max(f.side.MostGas, m.Gas)
		if m.Reason != "" && len(f.order) < maxMarksCompared {
			f.marks[m.Message] = m.Reason
			f.order = append(f.order, m.Message)
		}
	})
	if err == nil {
		f.side.Folded, f.side.Marked, f.side.Bytes = s.Count()
		f.side.Hash, err = s.Hash()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return f, nil
}

func (n *Node) diffOne(ctx context.Context, sp *graph.Space, name string, wasm []byte, asks []viewAsk) (out client.PluginDiff, err error) {
	out = client.PluginDiff{Space: sp.ID().String(), Plugin: name, Marks: []client.MarkDiff{}, Views: []client.ViewDiff{}}
	next, err := n.foldAnew(ctx, sp, name, wasm)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, next.scratch.Close()) }()
	out.New = next.side
	if n.plugins.Running(sp.ID(), name) == "" {
		out.Views = views(ctx, nil, next.scratch, asks)
		return out, nil
	}
	old, err := n.foldAnew(ctx, sp, name, nil)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, old.scratch.Close()) }()
	out.Old = &old.side
	keys, err := old.scratch.Differ(next.scratch)
	if err != nil {
		return out, err
	}
	out.Keys = client.KeyDiff{Added: keys.Added, Removed: keys.Removed, Changed: keys.Changed, Some: keys.Some}
	out.Marks, out.MarksDiffer = marksDiffer(old, next)
	out.Views = views(ctx, old.scratch, next.scratch, asks)
	out.Same = old.side.Hash == next.side.Hash && !slices.ContainsFunc(out.Views, func(v client.ViewDiff) bool { return !v.Same })
	a, b := old.scratch.Plugin(), next.scratch.Plugin()
	out.Manifest = slices.Concat(
		listDiffer("accepts", a.Accepts, b.Accepts), listDiffer("grant", a.Grants, b.Grants),
		listDiffer("view", actionNames(a.Views), actionNames(b.Views)), listDiffer("command", actionNames(a.Commands), actionNames(b.Commands)),
	)
	return out, nil
}

// marksDiffer lists messages that one side marks and the other doesn't, or for another reason; and says how many there are.
func marksDiffer(old, next *folded) (some []client.MarkDiff, all int) {
	some = []client.MarkDiff{}
	add := func(id graph.ID) {
		if all++; len(some) < maxMarksShown {
			some = append(some, client.MarkDiff{Message: id.String(), Old: old.marks[id], New: next.marks[id]})
		}
	}
	for _, id := range old.order {
		if next.marks[id] != old.marks[id] {
			add(id)
		}
	}
	for _, id := range next.order {
		if old.marks[id] == "" {
			add(id)
		}
	}
	return some, all
}

// views asks both sides; old may be nil.
func views(ctx context.Context, old, next *plugins.Scratch, asks []viewAsk) []client.ViewDiff {
	out := []client.ViewDiff{}
	ask := func(s *plugins.Scratch, a viewAsk) (json.RawMessage, string) {
		if s == nil {
			return nil, ""
		}
		answer, err := s.View(ctx, a.view, a.params, graph.NodeID{})
		if err != nil {
			return nil, err.Error()
		}
		return answer, ""
	}
	for _, a := range asks {
		d := client.ViewDiff{View: a.view, Params: a.params}
		d.Old, d.OldRefused = ask(old, a)
		d.New, d.NewRefused = ask(next, a)
		d.Same = old != nil && d.OldRefused == d.NewRefused && sameJSON(d.Old, d.New)
		out = append(out, d)
	}
	return out
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if bytes.Equal(a, b) {
		return true
	}
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// listDiffer names what one list has and the other lacks: "+view NAME", "-view NAME".
func listDiffer(what string, old, next []string) (out []string) {
	for _, x := range next {
		if !slices.Contains(old, x) {
			out = append(out, "+"+what+" "+x)
		}
	}
	for _, x := range old {
		if !slices.Contains(next, x) {
			out = append(out, "-"+what+" "+x)
		}
	}
	return out
}

func actionNames(list []abi.Command) (names []string) {
	for _, c := range list {
		names = append(names, c.Name)
	}
	return names
}
