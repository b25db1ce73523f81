package access

// This file holds the properties: no order matters, nobody below takes out anybody above, knowing never ends.

import (
	"testing"

	"pgregory.net/rapid"

	"plexus/graph"
)

// draw writes random statements by random hosts, truthful or not, with forks and wild clocks.
func draw(t *rapid.T, tt *testing.T) *world {
	w := newWorld(tt, "f", "g")
	w.now = 1000
	names := []string{"f", "g", "a", "b", "c", "d", "e"}
	nodes := []string{"n", "m"}
	s := space(tt, w, "plan")
	name := rapid.SampledFrom(names)
	role := rapid.SampledFrom([]Role{Reader, Writer, Admin})
	hash := rapid.SampledFrom([]Hash{{1}, {2}})
	for range rapid.IntRange(0, 30).Draw(t, "statements") {
		by, whom := name.Draw(t, "by"), name.Draw(t, "whom")
		if rapid.IntRange(0, 3).Draw(t, "node") == 0 {
			whom = rapid.SampledFrom(nodes).Draw(t, "which")
		}
		var d graph.Draft
		switch rapid.IntRange(0, 8).Draw(t, "op") {
		case 0, 1, 2:
			h := hash.Draw(t, "hash")
			d = Grant(w.id(whom), role.Draw(t, "role"), &h)
		case 3:
			d = Enrol(w.network.ID, w.id(by), w.key(rapid.SampledFrom(nodes).Draw(t, "enrolled")), role.Draw(t, "role"), Agent)
		case 4:
			d = Revoke(w.id(whom), drawCuts(t, w, s, whom))
		case 5:
			d = SetRole(w.id(whom), role.Draw(t, "role"), drawCuts(t, w, s, whom))
		case 6:
			d = CutOff(w.id(whom), drawCuts(t, w, s, whom))
		case 7:
			d = NewInvite(hash.Draw(t, "hash"), role.Draw(t, "role"), 1, 0)
		case 8:
			d = Uninvite(hash.Draw(t, "hash"))
		}
		if rapid.IntRange(0, 4).Draw(t, "fork") == 0 {
			w.forks(by, d, nil, graph.Time(rapid.IntRange(0, 2000).Draw(t, "time")))
		} else {
			w.says(by, d)
		}
	}
	return w
}

func drawCuts(t *rapid.T, w *world, s graph.Genesis, whom string) []Cut {
	switch rapid.IntRange(0, 3).Draw(t, "cuts") {
	case 0:
		return nil
	case 1:
		return []Cut{w.cutNow(whom)}
	case 2:
		return []Cut{{Space: s.ID, Nodes: map[graph.NodeID]*graph.ID{w.id(whom): blockID("1")}}}
	}
	c := w.cutNow(whom)
	if n := len(w.entries); n > 0 {
		id := w.entries[rapid.IntRange(0, n-1).Draw(t, "cut at")].ID()
		c.Nodes[w.id(whom)] = &id
	}
	return []Cut{c, {Space: s.ID, Nodes: map[graph.NodeID]*graph.ID{}}}
}

func TestAnyOrderGivesOneState(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := draw(rt, t)
		want := w.state().print()
		shuffled := rapid.Permutation(w.entries).Draw(rt, "order")
		ev := NewEvaluator(w.network)
		for i, e := range shuffled {
			ev.Add(e)
			if i%5 == 0 {
				ev.State()
			}
		}
		if got := ev.State().print(); got != want {
			rt.Fatalf("another order gives another state:\n%s\nwant\n%s", got, want)
		}
	})
}

func TestKnownIsMonotone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := draw(rt, t)
		shuffled := rapid.Permutation(w.entries).Draw(rt, "order")
		part := Evaluate(w.network, shuffled[:rapid.IntRange(0, len(shuffled)).Draw(rt, "part")])
		whole := w.state()
		for id := range w.names {
			if part.Known(id) && !whole.Known(id) {
				rt.Fatalf("%s was known and isn't any more", w.names[id])
			}
			if !whole.Known(id) && (whole.Role(id) != None || whole.Standing(w.network, id).May) {
				rt.Fatalf("%s has rights and isn't known", w.names[id])
			}
		}
	})
}

// TestNobodyBelowTakesOutAnybodyAbove lets everyone but the first founder say whatever it likes: the founder, and
// whom it alone granted, keep their rights.
func TestNobodyBelowTakesOutAnybodyAbove(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := draw(rt, t)
		var kept []*graph.Entry
		for _, e := range w.entries {
			if e.Body().Author != w.id("f") {
				kept = append(kept, e)
			}
		}
		w.entries = kept
		w.tips["f"], w.now = nil, 0
		w.grant("f", "z", Writer) // the earliest of all
		if role := w.state().Role(w.id("f")); role != Admin {
			rt.Fatalf("the founder is %s", role)
		}
		if role := w.state().Role(w.id("z")); role < Writer {
			rt.Fatalf("whom the founder granted is %s", role)
		}
	})
}

// TestRevokedStaysRevoked lets the founder revoke a host, and then everyone else say more.
func TestRevokedStaysRevoked(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, "f", "g")
		w.grant("f", "a", Admin)
		w.revoke("f", "a")
		for range rapid.IntRange(0, 10).Draw(rt, "more") {
			by := rapid.SampledFrom([]string{"f", "g", "a", "b"}).Draw(rt, "by")
			whom := rapid.SampledFrom([]string{"a", "b", "g"}).Draw(rt, "whom")
			r := rapid.SampledFrom([]Role{Writer, Admin}).Draw(rt, "role")
			if rapid.Bool().Draw(rt, "grant") {
				w.grant(by, whom, r)
			} else {
				w.says(by, SetRole(w.id(whom), r, nil))
			}
		}
		if h, ok := w.state().Host(w.id("a")); !ok || !h.Revoked || h.Role != None {
			rt.Fatalf("a revoked host came back: %+v", h)
		}
	})
}
