package graph_test

// This file holds the model a Space is held against: the same rules over plain maps, without indexes or order of arrival.

import (
	"cmp"
	"slices"

	"plexus/graph"
)

// model is what a Space must hold of a set of entries by some rights.
type model struct {
	admitted map[graph.ID]*graph.Entry
	visible  map[graph.ID]*graph.Entry
	order    []*graph.Entry // admitted, canonical
}

func newModel(space graph.ID, offered []*graph.Entry, r rights) *model {
	m := &model{admitted: map[graph.ID]*graph.Entry{}, visible: map[graph.ID]*graph.Entry{}}
	for _, e := range inOrder(offered) {
		if m.admitted[e.ID()] == nil && e.Body().Space == space && m.admits(e, r) {
			m.admitted[e.ID()] = e
			m.order = append(m.order, e)
		}
	}
	for id, e := range m.admitted {
		if m.shows(e, r.Standing(graph.Genesis{}, e.Body().Author)) {
			m.visible[id] = e
		}
	}
	return m
}

func inOrder(entries []*graph.Entry) []*graph.Entry {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b *graph.Entry) int {
		return cmp.Or(cmp.Compare(a.Body().Time, b.Body().Time), a.ID().Compare(b.ID()))
	})
	return entries
}

// admits says whether an entry's parents are as the rules want them. They come before it in order.
func (m *model) admits(e *graph.Entry, r rights) bool {
	b := e.Body()
	if !r.Standing(graph.Genesis{}, b.Author).Known {
		return false
	}
	seen := map[graph.NodeID]bool{}
	for i, id := range b.Prev {
		p := m.admitted[id]
		if p == nil || p.Body().Time >= b.Time || seen[p.Body().Author] {
			return false
		}
		seen[p.Body().Author] = true
		own := i == 0 && b.Seq > 1
		if own != (p.Body().Author == b.Author) || own && p.Body().Seq+1 != b.Seq {
			return false
		}
	}
	for _, id := range b.Refs.Messages {
		p := m.admitted[id]
		if p == nil || p.Body().Time >= b.Time || p.Body().Kind != graph.KindMessage {
			return false
		}
	}
	return true
}

func (m *model) shows(e *graph.Entry, s graph.Standing) bool {
	if !s.May || e.Body().Kind == "odd" {
		return false
	}
	if _, ok := e.Message(); e.Body().Kind == graph.KindMessage && !ok {
		return false
	}
	for _, cut := range s.Cuts {
		c := m.admitted[cut]
		for c != nil && c.ID() != e.ID() {
			if c.Body().Seq == 1 || c.Body().Author != e.Body().Author {
				c = nil
			} else {
				c = m.admitted[c.Body().Prev[0]]
			}
		}
		if c == nil {
			return false
		}
	}
	return true
}

// heads are the admitted entries nobody names, sorted.
func (m *model) heads() []graph.ID {
	named := map[graph.ID]bool{}
	for _, e := range m.admitted {
		for _, p := range e.Parents() {
			named[p] = true
		}
	}
	out := []graph.ID{}
	for id := range m.admitted {
		if !named[id] {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, graph.ID.Compare)
	return out
}

// messages are the visible messages that pass a test, sorted by ID.
func (m *model) messages(pass func(*graph.Entry) bool) []graph.ID {
	out := []graph.ID{}
	for id, e := range m.visible {
		if e.Body().Kind == graph.KindMessage && pass(e) {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, graph.ID.Compare)
	return out
}

// related is the visible subgraph of a message.
func (m *model) related(id graph.ID, d graph.Direction) []graph.ID {
	seen := map[graph.ID]bool{id: true}
	var up, down func(id graph.ID)
	up = func(id graph.ID) {
		for _, p := range m.visible[id].Body().Refs.Messages {
			if m.visible[p] != nil && !seen[p] {
				seen[p] = true
				up(p)
			}
		}
	}
	down = func(id graph.ID) {
		for c, e := range m.visible {
			if e.Body().Kind == graph.KindMessage && slices.Contains(e.Body().Refs.Messages, id) && !seen[c] {
				seen[c] = true
				down(c)
			}
		}
	}
	if d != graph.Downstream {
		up(id)
	}
	if d != graph.Upstream {
		down(id)
	}
	out := []graph.ID{}
	for id := range seen {
		out = append(out, id)
	}
	slices.SortFunc(out, graph.ID.Compare)
	return out
}

// forks are the authors with two entries of one seq.
func (m *model) forks() []graph.NodeID {
	type place struct {
		author graph.NodeID
		seq    uint64
	}
	n := map[place]int{}
	var out []graph.NodeID
	for _, e := range m.admitted {
		p := place{e.Body().Author, e.Body().Seq}
		if n[p]++; n[p] == 2 {
			out = append(out, p.author)
		}
	}
	slices.SortFunc(out, graph.NodeID.Compare)
	return slices.Compact(out)
}

// frontier is every author's tip, by author.
func (m *model) frontier() []graph.ChainTip {
	tips := map[graph.NodeID]graph.ChainTip{}
	for id, e := range m.admitted {
		b := e.Body()
		if t := tips[b.Author]; b.Seq > t.Seq || b.Seq == t.Seq && id.Compare(t.ID) > 0 {
			tips[b.Author] = graph.ChainTip{Author: b.Author, Seq: b.Seq, ID: id}
		}
	}
	out := []graph.ChainTip{}
	for _, t := range tips {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b graph.ChainTip) int { return a.Author.Compare(b.Author) })
	return out
}
