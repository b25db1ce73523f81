package node

// This file holds which plugins a Space has: the list, and pins, which an admin's host writes.

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plexus/graph"
	"plexus/graph/access"
	"plexus/plugins"
	"plexus/sdk/client"
)

// Plugins lists a Space's plugins by name: the node's own, and what is pinned, whether it runs here yet or not.
func (n *Node) Plugins(ctx context.Context, spaceID string) ([]client.Plugin, error) {
	sp, err := n.space(spaceID)
	if err != nil {
		return nil, err
	}
	list, err := n.plugins.Plugins(ctx, sp.ID())
	if err != nil {
		return nil, err
	}
	pins, err := n.plugins.Pins(ctx, sp)
	if err != nil {
		return nil, err
	}
	out := make([]client.Plugin, 0, len(list))
	for _, i := range list {
		p := pluginOf(i)
		p.Granted = n.grantsOf(sp.ID(), i.Name, i.Grants)
		if file, ok := pins[i.Name]; ok {
			p.Pinned = true
			n.pinState(&p, file)
			if i.Beside == file {
				p.State = client.StateFolding
			}
		}
		delete(pins, i.Name)
		out = append(out, p)
	}
	for _, name := range slices.Sorted(maps.Keys(pins)) { // so new that no round has seen them
		p := pluginOf(plugins.Info{Name: name, File: pins[name], Accepts: []string{}})
		p.Pinned, p.State = true, client.StateCompiling
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b client.Plugin) int { return strings.Compare(a.Name, b.Name) })
	for _, d := range n.disagreements(sp.ID()) {
		if i := slices.IndexFunc(out, func(p client.Plugin) bool { return p.Name == d.Plugin }); i >= 0 {
			out[i].Disagree = append(out[i].Disagree, d)
		}
	}
	return out, nil
}

func pluginOf(p plugins.Info) client.Plugin {
	out := client.Plugin{
		Name: p.Name, Version: p.Version, File: p.File, About: p.About, Accepts: p.Accepts, Views: actions(p.Views), Commands: actions(p.Commands), React: p.React,
		Current: p.Current, Folded: p.Folded, Marked: p.Marked, Reason: p.Reason, Fault: p.Fault, Asks: p.Grants, State: client.StateFolding,
	}
	switch {
	case p.Fault != "": // of a pinned one, pinState says more
		out.State = client.StateRefused
	case p.Compiling:
		out.State = client.StateCompiling
	case p.Current:
		out.State = client.StateCurrent
	}
	return out
}

// pinState says how far a pin has come: another file than the pin's is the one before, which serves until the new one can.
func (n *Node) pinState(p *client.Plugin, file string) {
	switch {
	case p.Fault != "" && slices.Contains(n.plugins.Missing(), file):
		p.State = client.StateMissing
		f := n.fetching.failure(file)
		if f.unfit {
			p.State = client.StateRefused
		}
		if f.why != "" && p.File == file {
			p.Fault = f.why
		} else if f.why != "" {
			p.Fault += " (" + f.why + ")"
		}
	case p.Fault != "":
		p.State = client.StateRefused
	case p.File != file:
		p.State = client.StateCompiling
	}
}

// mayPin says whether this host's word on plugins counts.
func (n *Node) mayPin() error {
	if n.state().Role(n.Host()) < access.Admin {
		return forbidden("ask an admin to pin it, or to invite this host as admin", "only an admin's host pins plugins, and this one is %s", roleText(n.state().Role(n.Host())))
	}
	return nil
}

func roleText(r access.Role) string {
	if r == access.None {
		return "no member"
	}
	return r.String()
}

// Pin pins a file's plugins in a Space, by an entry of the host's each. The file is checked first; one given by CID alone is fetched where it isn't here.
func (n *Node) Pin(ctx context.Context, spaceID string, in client.Pin) (client.Pinned, error) {
	sp, err := n.space(spaceID)
	if err != nil {
		return client.Pinned{}, err
	}
	if err := n.mayPin(); err != nil {
		return client.Pinned{}, err
	}
	wasm := in.Wasm
	if wasm == nil {
		if wasm, err = n.fileBytes(ctx, in.CID); err != nil {
			return client.Pinned{}, err
		}
	}
	d, err := plugins.Examine(ctx, wasm)
	if err != nil {
		return client.Pinned{}, err
	}
	if in.CID != "" && in.CID != d.File {
		return client.Pinned{}, invalid("the file's CID is %s, not %s", d.File, clip(in.CID))
	}
	out := client.Pinned{File: d.File, Plugins: []string{}}
	for _, p := range d.Manifest.Plugins {
		if in.Name == "" || in.Name == p.Name {
			out.Plugins = append(out.Plugins, p.Name)
		}
	}
	if len(out.Plugins) == 0 {
		return client.Pinned{}, invalid("the file has no plugin '%s'", clip(in.Name))
	}
	if _, _, err := n.plugins.AddFile(ctx, wasm); err != nil {
		return client.Pinned{}, err
	}
	for _, name := range out.Plugins {
		draft, err := plugins.PinDraft(name, d.File)
		if err == nil {
			err = n.sendPin(ctx, sp, draft)
		}
		if err != nil {
			return client.Pinned{}, fmt.Errorf("pin %s: %w", name, err)
		}
	}
	return out, nil
}

// Unpin takes a pin back.
func (n *Node) Unpin(ctx context.Context, spaceID, name string) error {
	sp, err := n.space(spaceID)
	if err != nil {
		return err
	}
	if err := n.mayPin(); err != nil {
		return err
	}
	pins, err := n.plugins.Pins(ctx, sp)
	if err != nil {
		return err
	}
	if _, ok := pins[name]; !ok {
		return notFound("Pinned plugin", name)
	}
	draft, err := plugins.UnpinDraft(name)
	if err != nil {
		return err
	}
	return n.sendPin(ctx, sp, draft)
}

func (n *Node) sendPin(ctx context.Context, sp *graph.Space, d graph.Draft) error {
	if err := n.clockRight(); err != nil {
		return err
	}
	if err := n.waitSettled(ctx); err != nil {
		return err
	}
	_, err := sp.Send(ctx, n.keys.host, d, nil)
	return err
}
