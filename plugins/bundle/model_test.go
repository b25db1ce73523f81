package main_test

// This file holds the patterns as they lie in the binary in the world of plugins/internal/model: the real host, real entries.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"plexus/graph"
	"plexus/graph/store"
	"plexus/plugins"
	"plexus/plugins/internal/model"
	"plexus/plugins/kit"
	"plexus/sdk/plugin"
)

// Random commands and messages on three replicas, parted and merged at random, against a model of each pattern.
func TestModels(t *testing.T) {
	bench, err := plugins.NewWorkbench(t.Context(), plugins.Bundle(), plugins.Compiled)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := bench.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	genesis, err := graph.NamedSpace(graph.BlockID([]byte("model")), "model")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []model.Pattern{model.Task(), model.Ballot(), model.Group(), model.Human()} {
		t.Run(p.Name, func(t *testing.T) {
			model.Play(t, p, &ground{t.Context(), bench, p.Name, genesis, map[string]*graph.Entry{}}, 8, 20)
		})
	}
}

// ground has the file on the workbench.
type ground struct {
	ctx     context.Context
	bench   *plugins.Workbench
	plugin  string
	genesis graph.Genesis
	entries map[string]*graph.Entry // by ID
}

func (g *ground) Node(name string) string { return graph.NodeIDOf(kit.NodeKey(name)).String() }

// Timed is false: a command's clock is this machine's.
func (g *ground) Timed() bool { return false }

// Seal gives each author times of its own: then canonical order needs no IDs, which sort otherwise as texts than as bytes.
func (g *ground) Seal(m *model.Message) error {
	who := slices.IndexFunc(model.People, func(name string) bool { return g.Node(name) == m.Sender })
	for m.Time%int64(len(model.People)) != int64(who) {
		m.Time++
	}
	content, err := json.Marshal(m.Content)
	if err != nil {
		return err
	}
	key := kit.NodeKey(model.People[who])
	b := graph.Body{Kind: graph.KindMessage, Space: g.genesis.ID, Author: graph.NodeIDOf(key), Seq: 1, Time: graph.Time(m.Time)}
	if b.Payload, err = (graph.Draft{ContentType: m.Type, Content: content}).EncodePayload(); err != nil {
		return err
	}
	for _, p := range m.Prev {
		e := g.entries[p]
		if mine := e.Body(); mine.Author == b.Author {
			b.Seq = mine.Seq + 1
		}
		b.Prev = append(b.Prev, e.ID())
	}
	heads := b.Prev
	if b.Seq > 1 {
		heads = heads[1:]
	}
	slices.SortFunc(heads, graph.ID.Compare)
	for _, p := range m.Parents {
		b.Refs.Messages = append(b.Refs.Messages, g.entries[p].ID())
	}
	for _, n := range m.Nodes {
		id, err := graph.ParseNodeID(n)
		if err != nil {
			return err
		}
		b.Refs.Nodes = append(b.Refs.Nodes, id)
	}
	e, err := graph.Seal(b, key)
	if err != nil {
		return err
	}
	m.ID = e.ID().String()
	g.entries[m.ID] = e
	return nil
}

func (g *ground) Replica() (model.Engine, error) {
	r := &replica{on: g, marked: map[string]string{}}
	var err error
	now := func() time.Time { return time.UnixMicro(1_900_000_000_000_000) } // behind all that is said
	if r.log, err = graph.OpenLog(store.Memory(), graph.LogOptions{Now: now, Rights: attested{}}); err != nil {
		return nil, err
	}
	if r.space, err = r.log.Create(g.ctx, g.genesis); err != nil {
		return nil, err
	}
	if r.try, err = g.bench.Try(g.ctx, r.log, plugins.TryOptions{Undo: 8, Observer: r.observe}); err != nil {
		return nil, err
	}
	return r, r.try.Settle(g.ctx)
}

// attested lets all write and says who is human.
type attested struct{}

func (attested) Standing(graph.Genesis, graph.NodeID) graph.Standing {
	return graph.Standing{Known: true, May: true}
}

func (attested) Attest(_ graph.ID, n graph.NodeID) (role, kind string) {
	for _, name := range model.People {
		if graph.NodeIDOf(kit.NodeKey(name)) == n && strings.HasPrefix(name, "h") {
			return "writer", "human"
		}
	}
	return "writer", "agent"
}

// replica is a log with a host over it.
type replica struct {
	on     *ground
	log    *graph.Log
	space  *graph.Space
	try    *plugins.Try
	marked map[string]string
}

// observe is told of every fold; the last of a message is the one that counts.
func (r *replica) observe(f plugins.Folded) {
	if f.Plugin != r.on.plugin {
		return
	}
	if delete(r.marked, f.Message.String()); f.Reason != "" {
		r.marked[f.Message.String()] = f.Reason
	}
	if f.Trapped {
		panic(fmt.Sprintf("%s traps: %s", f.Plugin, f.Reason))
	}
}

func (r *replica) Deliver(messages []*model.Message) error {
	var batch []*graph.Entry
	for _, m := range messages {
		batch = append(batch, r.on.entries[m.ID])
	}
	added, err := r.space.Add(r.on.ctx, batch, graph.AddOptions{})
	if err == nil && len(added.Refused) > 0 {
		err = added.Refused[0]
	}
	return errors.Join(err, r.try.Settle(r.on.ctx))
}

func (r *replica) View(name string, params plugin.Map, caller string) (any, error) {
	raw, node, err := r.question(params, caller)
	if err != nil {
		return nil, err
	}
	answer, err := r.try.View(r.on.ctx, r.on.genesis.ID, r.on.plugin, name, raw, node)
	if err != nil {
		return nil, err
	}
	return plain(answer)
}

func (r *replica) question(params plugin.Map, caller string) (raw json.RawMessage, node graph.NodeID, err error) {
	if caller != "" {
		if node, err = graph.ParseNodeID(caller); err != nil {
			return nil, node, err
		}
	}
	raw, err = json.Marshal(params)
	return raw, node, err
}

func (r *replica) Command(name string, params plugin.Map, caller string, _ int64) (out []model.Draft, err error) {
	raw, node, err := r.question(params, caller)
	if err != nil {
		return nil, err
	}
	drafts, err := r.try.Command(r.on.ctx, r.on.genesis.ID, r.on.plugin, name, raw, node)
	for _, d := range drafts {
		content, err := plain(d.Content)
		if err != nil {
			return nil, err
		}
		draft := model.Draft{Type: d.ContentType, Content: content.(plugin.Map)}
		for _, id := range d.Refs.Messages {
			draft.Parents = append(draft.Parents, id.String())
		}
		for _, n := range d.Refs.Nodes {
			draft.Nodes = append(draft.Nodes, n.String())
		}
		out = append(out, draft)
	}
	return out, err
}

func (r *replica) Marked() (map[string]string, error) { return r.marked, nil }

func (r *replica) State() (string, error) {
	return r.try.Hash(r.on.ctx, r.on.genesis.ID, r.on.plugin)
}

func (r *replica) Close() error { return errors.Join(r.try.Close(), r.log.Close()) }

// plain reads JSON as a model has its values.
func plain(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return values(v), err
}

func values(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // JSON's grammar allows no other
		return f
	case []any:
		for i := range v {
			v[i] = values(v[i])
		}
		return v
	case map[string]any:
		m := plugin.Map{}
		for k, x := range v {
			m[k] = values(x)
		}
		return m
	}
	return v
}
