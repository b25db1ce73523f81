package access

// This file tests the tree: who is above whom, what a fired one leaves, and that order never matters.

import (
	"math/rand/v2"
	"testing"

	"plexus/graph"
)

func TestTree(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(w *world)
		want map[string]Role
	}{
		{"founders are admins, in rank", func(w *world) {}, map[string]Role{"f": Admin, "g": Admin, "x": None}},
		{"a grant by a founder", func(w *world) { w.grant("f", "a", Writer) }, map[string]Role{"a": Writer}},
		{"a grant by a writer has no effect", func(w *world) {
			w.grant("f", "a", Writer)
			w.grant("a", "b", Reader)
		}, map[string]Role{"a": Writer, "b": None}},
		{"a grant by a stranger has no effect", func(w *world) { w.grant("x", "a", Admin) }, map[string]Role{"a": None}},
		{"an admin below", func(w *world) {
			w.grant("f", "a", Admin)
			w.grant("a", "b", Admin)
			w.grant("b", "c", Writer)
		}, map[string]Role{"a": Admin, "b": Admin, "c": Writer}},
		{"a second grant can raise", func(w *world) {
			w.grant("f", "a", Reader)
			w.grant("g", "a", Writer)
		}, map[string]Role{"a": Writer}},
		{"a second grant can't reduce", func(w *world) {
			w.grant("f", "a", Writer)
			w.grant("f", "a", Reader)
		}, map[string]Role{"a": Writer}},
		{"raised to admin, its grants count", func(w *world) {
			w.grant("f", "a", Writer)
			w.grant("a", "b", Writer)
			w.grant("f", "a", Admin)
		}, map[string]Role{"a": Admin, "b": Writer}},
		{"a cycle of grants stays outside", func(w *world) {
			w.grant("a", "b", Admin)
			w.grant("b", "a", Admin)
		}, map[string]Role{"a": None, "b": None}},
		{"the founder of higher rank revokes the other", func(w *world) {
			w.revoke("f", "g")
		}, map[string]Role{"f": Admin, "g": None}},
		{"the founder of lower rank can't", func(w *world) {
			w.revoke("g", "f")
		}, map[string]Role{"f": Admin, "g": Admin}},
		{"founders revoke each other: the one nearer the root stands", func(w *world) {
			w.revoke("g", "f")
			w.revoke("f", "g")
		}, map[string]Role{"f": Admin, "g": None}},
		{"admins revoke each other: the one above stands", func(w *world) {
			w.grant("f", "a", Admin)
			w.grant("a", "b", Admin)
			w.revoke("b", "a")
			w.revoke("a", "b")
		}, map[string]Role{"a": Admin, "b": None}},
		{"siblings can't revoke each other", func(w *world) {
			w.grant("f", "a", Admin)
			w.grant("f", "b", Admin)
			w.revoke("a", "b")
			w.revoke("b", "a")
		}, map[string]Role{"a": Admin, "b": Admin}},
		{"granting a sibling again doesn't put it below", func(w *world) {
			w.grant("f", "a", Admin)
			w.grant("f", "b", Admin)
			w.grant("a", "b", Admin)
			w.revoke("a", "b")
		}, map[string]Role{"b": Admin}},
		{"granting the founder doesn't put it below", func(w *world) {
			w.grant("f", "a", Admin)
			w.grant("a", "f", Admin)
			w.revoke("a", "f")
		}, map[string]Role{"f": Admin}},
		{"a writer can revoke nobody but itself", func(w *world) {
			w.grant("f", "a", Writer)
			w.grant("f", "b", Writer)
			w.revoke("a", "b")
			w.revoke("b", "b")
		}, map[string]Role{"a": Writer, "b": None}},
		{"a fired admin leaves those it granted", func(w *world) {
			w.grant("f", "a", Admin)
			w.grant("a", "b", Writer)
			w.revoke("f", "a")
		}, map[string]Role{"a": None, "b": Writer}},
		{"what it says after the cut is void", func(w *world) {
			w.grant("f", "a", Admin)
			w.grant("a", "b", Writer)
			w.revoke("f", "a")
			w.grant("a", "c", Admin)
			w.revoke("a", "b")
		}, map[string]Role{"a": None, "b": Writer, "c": None}},
		{"without a cut of the access log nothing it said stays", func(w *world) {
			w.grant("f", "a", Admin)
			w.grant("a", "b", Writer)
			w.says("f", Revoke(w.id("a"), nil))
		}, map[string]Role{"a": None, "b": None}},
		{"a fired admin takes nobody along by leaving, even on a forked chain", func(w *world) {
			w.grant("f", "a", Admin)
			w.grant("a", "b", Writer)
			w.revoke("f", "a")
			w.forks("a", Revoke(w.id("a"), nil), nil, 5)
		}, map[string]Role{"a": None, "b": Writer}},
		{"one that leaves keeps those it granted, and says no more", func(w *world) {
			w.grant("f", "a", Admin)
			w.grant("a", "b", Writer)
			w.revoke("a", "a")
			w.grant("a", "c", Writer)
		}, map[string]Role{"a": None, "b": Writer, "c": None}},
		{"a revoked key never comes back", func(w *world) {
			w.grant("f", "a", Writer)
			w.revoke("f", "a")
			w.grant("f", "a", Admin)
			w.grant("g", "a", Admin)
			w.says("f", SetRole(w.id("a"), Admin, nil))
		}, map[string]Role{"a": None}},
		{"nor by an earlier grant of another", func(w *world) {
			w.grant("f", "a", Admin)
			w.grant("a", "b", Writer)
			w.revoke("a", "b")
			w.grant("f", "b", Writer)
		}, map[string]Role{"b": None}},
		{"a founder that leaves keeps its network", func(w *world) {
			w.grant("f", "a", Writer)
			w.revoke("f", "f")
		}, map[string]Role{"f": None, "g": Admin, "a": Writer}},
		{"a role is reduced", func(w *world) {
			w.grant("f", "a", Admin)
			w.grant("a", "b", Writer)
			w.says("f", SetRole(w.id("a"), Writer, []Cut{w.cutNow("a")}))
			w.grant("a", "c", Writer)
		}, map[string]Role{"a": Writer, "b": Writer, "c": None}},
		{"and given back", func(w *world) {
			w.grant("f", "a", Admin)
			w.says("f", SetRole(w.id("a"), Reader, []Cut{w.cutNow("a")}))
			w.says("f", SetRole(w.id("a"), Admin, nil))
			w.grant("a", "c", Writer)
		}, map[string]Role{"a": Admin, "c": Writer}},
		{"of two role statements the one nearer the root holds, though it is older", func(w *world) {
			w.grant("f", "a", Admin)
			w.grant("a", "b", Writer)
			w.says("f", SetRole(w.id("b"), Reader, nil))
			w.says("a", SetRole(w.id("b"), Admin, nil))
		}, map[string]Role{"b": Reader}},
		{"a grant doesn't raise what a role statement fixed", func(w *world) {
			w.grant("f", "a", Writer)
			w.says("f", SetRole(w.id("a"), Reader, nil))
			w.grant("f", "a", Admin)
		}, map[string]Role{"a": Reader}},
		{"one can't raise oneself", func(w *world) {
			w.grant("f", "a", Writer)
			w.says("a", SetRole(w.id("a"), Admin, nil))
		}, map[string]Role{"a": Writer}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, "f", "g")
			tc.do(w)
			w.wantRoles(tc.want)
			sameInAnyOrder(t, w)
		})
	}
}

// sameInAnyOrder checks that shuffled, repeated and piecewise delivery end in one state.
func sameInAnyOrder(t *testing.T, w *world) {
	t.Helper()
	want := w.state().print()
	r := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		list := append([]*graph.Entry(nil), w.entries...)
		list = append(list, w.entries...)
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		ev := NewEvaluator(w.network)
		for _, e := range list {
			ev.Add(e)
			if r.IntN(3) == 0 {
				ev.State()
			}
		}
		if got := ev.State().print(); got != want {
			t.Fatalf("another order gives another state:\n%s\nwant\n%s", got, want)
		}
	}
}

func TestLateGrantAdmitsLateRevokeVoids(t *testing.T) {
	w := newWorld(t, "f")
	g := w.grant("f", "a", Admin)
	w.grant("a", "b", Writer)
	r := w.revoke("f", "a")
	all := w.entries

	w.entries = []*graph.Entry{all[1]}
	w.wantRoles(map[string]Role{"a": None, "b": None})
	if !w.state().Known(w.id("b")) {
		t.Error("a key named by any admitted grant is known")
	}
	w.entries = append(w.entries, g)
	w.wantRoles(map[string]Role{"a": Admin, "b": Writer})
	w.entries = append(w.entries, r)
	w.wantRoles(map[string]Role{"a": None, "b": Writer})
}

func TestCutNamingAnAbsentEntryLeavesNothing(t *testing.T) {
	w := newWorld(t, "f")
	w.grant("f", "a", Admin)
	w.grant("a", "b", Writer)
	c := Cut{Space: w.network.ID, Nodes: map[graph.NodeID]*graph.ID{w.id("a"): blockID("not here")}}
	w.says("f", Revoke(w.id("a"), []Cut{c}))
	w.wantRoles(map[string]Role{"a": None, "b": None})
}

func TestEveryCutOfTheAccessLogApplies(t *testing.T) {
	w := newWorld(t, "f", "g")
	w.grant("f", "a", Admin)
	w.grant("a", "b", Writer)
	early := w.cutNow("a")
	w.grant("a", "c", Writer)
	w.revoke("f", "a")
	w.wantRoles(map[string]Role{"b": Writer, "c": Writer})
	w.says("f", CutOff(w.id("a"), []Cut{early}))
	w.wantRoles(map[string]Role{"b": Writer, "c": None})
}

func TestEntriesOfAnotherSpaceAreIgnored(t *testing.T) {
	w, o := newWorld(t, "f"), newWorld(t, "g")
	o.grant("g", "a", Admin)
	s := Evaluate(w.network, o.entries)
	if s.Known(o.id("a")) || len(s.Hosts()) != 1 {
		t.Error("another Network's grant counts here")
	}
}

func TestChainGoesThroughOtherKinds(t *testing.T) {
	w := newWorld(t, "f")
	w.grant("f", "a", Admin)
	w.grant("a", "b", Writer)
	w.says("a", graph.Draft{Kind: "later", Payload: []byte(`{}`)})
	w.revoke("f", "a")
	w.wantRoles(map[string]Role{"a": None, "b": Writer})
}
