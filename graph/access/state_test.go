package access

// This file tests what a State answers: standing in a Space, Nodes and their hosts, what a host may say.

import (
	"errors"
	"slices"
	"testing"

	"plexus/graph"
)

func TestStanding(t *testing.T) {
	cutAt := func(w *world, s graph.Genesis, nodes map[string]*graph.ID) []Cut {
		c := Cut{Space: s.ID, Nodes: map[graph.NodeID]*graph.ID{}}
		for n, id := range nodes {
			c.Nodes[w.id(n)] = id
		}
		return []Cut{w.cutNow("a"), c}
	}
	type want struct {
		known, may bool
		cuts       []string
	}
	for _, tc := range []struct {
		name string
		do   func(w *world, s graph.Genesis)
		want map[string]want
	}{
		{"a writer and its node speak", func(w *world, _ graph.Genesis) {}, map[string]want{
			"a": {true, true, nil}, "n": {true, true, nil}, "m": {true, true, nil}, "x": {},
		}},
		{"a reader's aren't visible", func(w *world, _ graph.Genesis) {
			w.grant("f", "r", Reader)
			w.enrol("r", "rn", Writer)
		}, map[string]want{"r": {true, false, nil}, "rn": {true, false, nil}}},
		{"nor a reader node's on a writer's host", func(w *world, _ graph.Genesis) {
			w.enrol("a", "rn", Reader)
		}, map[string]want{"rn": {true, false, nil}}},
		{"revoked, the space not cut: nothing is void yet", func(w *world, _ graph.Genesis) {
			w.revoke("f", "a")
		}, map[string]want{"a": {true, true, nil}, "n": {true, true, nil}}},
		{"revoked and cut: the past of the cut; null and unnamed leave nothing", func(w *world, s graph.Genesis) {
			w.says("f", Revoke(w.id("a"), cutAt(w, s, map[string]*graph.ID{"n": blockID("1"), "m": nil})))
		}, map[string]want{"n": {true, true, []string{"1"}}, "m": {true, false, nil}, "a": {true, false, nil}}},
		{"every cut applies", func(w *world, s graph.Genesis) {
			w.says("f", Revoke(w.id("a"), cutAt(w, s, map[string]*graph.ID{"n": blockID("1"), "m": blockID("1")})))
			w.says("f", CutOff(w.id("a"), cutAt(w, s, map[string]*graph.ID{"n": blockID("2")})))
		}, map[string]want{"n": {true, true, []string{"1", "2"}}, "m": {true, false, nil}}},
		{"a cut of one in good standing has no effect", func(w *world, s graph.Genesis) {
			w.says("f", CutOff(w.id("a"), cutAt(w, s, nil)))
		}, map[string]want{"n": {true, true, nil}}},
		{"a cut by someone not above has no effect", func(w *world, s graph.Genesis) {
			w.grant("f", "b", Admin)
			w.revoke("f", "a")
			w.says("b", CutOff(w.id("a"), cutAt(w, s, nil)))
		}, map[string]want{"n": {true, true, nil}}},
		{"reduced to reader with cuts", func(w *world, s graph.Genesis) {
			w.says("f", SetRole(w.id("a"), Reader, cutAt(w, s, map[string]*graph.ID{"n": blockID("1")})))
		}, map[string]want{"n": {true, true, []string{"1"}}, "m": {true, false, nil}}},
		{"and given back, the cuts end", func(w *world, s graph.Genesis) {
			w.says("f", SetRole(w.id("a"), Reader, cutAt(w, s, nil)))
			w.says("f", SetRole(w.id("a"), Writer, nil))
			w.revoke("f", "a")
		}, map[string]want{"n": {true, true, nil}}},
		{"one node revoked, its host stays", func(w *world, s graph.Genesis) {
			w.says("f", Revoke(w.id("n"), cutAt(w, s, map[string]*graph.ID{"n": blockID("1")})))
		}, map[string]want{"n": {true, true, []string{"1"}}, "m": {true, true, nil}, "a": {true, true, nil}}},
		{"its own host revokes a node", func(w *world, s graph.Genesis) {
			w.says("a", Revoke(w.id("n"), cutAt(w, s, map[string]*graph.ID{"n": nil})))
		}, map[string]want{"n": {true, false, nil}}},
		{"a node revokes itself", func(w *world, s graph.Genesis) {
			w.says("n", Revoke(w.id("n"), cutAt(w, s, map[string]*graph.ID{"n": blockID("1")})))
		}, map[string]want{"n": {true, true, []string{"1"}}}},
		{"a host revokes itself, with cuts", func(w *world, s graph.Genesis) {
			w.says("a", Revoke(w.id("a"), cutAt(w, s, map[string]*graph.ID{"n": blockID("1")})))
		}, map[string]want{"n": {true, true, []string{"1"}}, "m": {true, false, nil}}},
		{"known once, known for ever, though the grant is void", func(w *world, _ graph.Genesis) {
			w.grant("x", "y", Admin)
			w.enrol("x", "z", Writer)
		}, map[string]want{"x": {}, "y": {true, false, nil}, "z": {true, false, nil}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, "f")
			s := space(t, w, "plan")
			w.grant("f", "a", Writer)
			w.enrol("a", "n", Writer)
			w.enrol("a", "m", Writer)
			tc.do(w, s)
			st := w.state()
			for name, want := range tc.want {
				got := st.Standing(s, w.id(name))
				var cuts []graph.ID
				for _, c := range want.cuts {
					cuts = append(cuts, *blockID(c))
				}
				slices.SortFunc(cuts, graph.ID.Compare)
				if got.Known != want.known || got.May != want.may || !slices.Equal(got.Cuts, cuts) {
					t.Errorf("%s: %+v, want %+v", name, got, want)
				}
			}
			sameInAnyOrder(t, w)
		})
	}
}

func TestStandingInTheNetworksOwnLog(t *testing.T) {
	w := newWorld(t, "f")
	w.grant("f", "r", Reader)
	w.enrol("r", "rn", Writer)
	if got := w.state().Standing(w.network, w.id("rn")); !got.May {
		t.Error("a reader has no name")
	}
	w.revoke("f", "r")
	if got := w.state().Standing(w.network, w.id("rn")); got.May {
		t.Errorf("a revoked host's node, unnamed in the cut: %+v", got)
	}
}

func TestStandingElsewhere(t *testing.T) {
	w, o := newWorld(t, "f"), newWorld(t, "g")
	s := space(t, o, "plan")
	if got := w.state().Standing(s, w.id("f")); got.Known || got.May {
		t.Errorf("in another Network's Space: %+v", got)
	}
	if got := w.state().Beside(o.state()).Standing(s, o.id("g")); !got.Known || !got.May {
		t.Errorf("beside: %+v", got)
	}
}

func TestNodes(t *testing.T) {
	type want struct {
		host    string
		role    Role
		revoked bool
	}
	for _, tc := range []struct {
		name string
		do   func(w *world)
		want want
	}{
		{"enrolled", func(w *world) { w.enrol("a", "n", Writer) }, want{"a", Writer, false}},
		{"no more than its host", func(w *world) { w.enrol("r", "n", Admin) }, want{"r", Reader, false}},
		{"less than its host", func(w *world) { w.enrol("a", "n", Reader) }, want{"a", Reader, false}},
		{"not by a stranger", func(w *world) { w.enrol("x", "n", Writer) }, want{}},
		{"moved: the later enrolment holds", func(w *world) {
			w.enrol("a", "n", Writer)
			w.enrol("b", "n", Writer)
		}, want{"b", Writer, false}},
		{"moved away in time", func(w *world) {
			w.enrol("a", "n", Writer)
			w.enrol("b", "n", Writer)
			w.revoke("f", "a")
		}, want{"b", Writer, false}},
		{"moved too late, to one below the same admin", func(w *world) {
			w.enrol("a", "n", Writer)
			w.revoke("f", "a")
			w.enrol("b", "n", Writer)
		}, want{"b", None, true}},
		{"revoked with its host", func(w *world) {
			w.enrol("a", "n", Writer)
			w.revoke("f", "a")
		}, want{"a", None, true}},
		{"enrolled after its host was cut off", func(w *world) {
			w.revoke("f", "a")
			w.enrol("a", "n", Writer)
		}, want{}},
		{"revoked by its host, adopted by another", func(w *world) {
			w.enrol("a", "n", Writer)
			w.revoke("a", "n")
			w.enrol("b", "n", Writer)
		}, want{"b", None, true}},
		{"not by another host", func(w *world) {
			w.enrol("a", "n", Writer)
			w.revoke("b", "n")
		}, want{"a", Writer, false}},
		{"nor by an admin that isn't above its host", func(w *world) {
			w.grant("f", "c", Admin)
			w.enrol("a", "n", Writer)
			w.revoke("c", "n")
		}, want{"a", Writer, false}},
		{"a former host can't take it out later", func(w *world) {
			w.enrol("a", "n", Writer)
			w.enrol("b", "n", Writer)
			w.revoke("a", "n")
			w.revoke("a", "a")
		}, want{"b", Writer, false}},
		{"an admin below can't void a node that moved above it", func(w *world) {
			w.grant("f", "c", Admin)
			w.grant("c", "d", Writer)
			w.enrol("d", "n", Writer)
			w.enrol("f", "n", Writer)
			w.forks("c", Revoke(w.id("d"), nil), nil, 3)
		}, want{"f", Writer, false}},
		{"its role reduced", func(w *world) {
			w.enrol("a", "n", Writer)
			w.says("f", SetRole(w.id("n"), Reader, nil))
		}, want{"a", Reader, false}},
		{"a wrong proof", func(w *world) {
			w.says("a", Enrol(w.network.ID, w.id("b"), w.key("n"), Writer, Agent))
		}, want{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, "f")
			w.grant("f", "a", Writer)
			w.grant("f", "b", Writer)
			w.grant("f", "r", Reader)
			tc.do(w)
			got, ok := w.state().Node(w.id("n"))
			if ok != (tc.want.host != "") {
				t.Fatalf("enrolled: %t, %+v", ok, got)
			}
			if ok && (got.Host != w.id(tc.want.host) || got.Role != tc.want.role || got.Revoked != tc.want.revoked || got.Kind != Agent) {
				t.Errorf("node on %s: %+v, want %+v", w.names[got.Host], got, tc.want)
			}
			sameInAnyOrder(t, w)
		})
	}
}

func TestAttest(t *testing.T) {
	w := newWorld(t, "f")
	w.says("f", Enrol(w.network.ID, w.id("f"), w.key("h"), Writer, Human))
	s := space(t, w, "plan")
	if role, kind := w.state().Attest(s.ID, w.id("h")); role != "writer" || kind != "human" {
		t.Errorf("attested %q, %q", role, kind)
	}
	if role, kind := w.state().Attest(s.ID, w.id("x")); role != "" || kind != "" {
		t.Errorf("a stranger is attested %q, %q", role, kind)
	}
}

func TestUncut(t *testing.T) {
	w := newWorld(t, "f")
	s := space(t, w, "plan")
	w.grant("f", "a", Writer)
	w.enrol("a", "n", Writer)
	if _, uncut := w.state().Uncut(s, w.id("n")); uncut {
		t.Error("one in good standing needs no cut")
	}
	w.revoke("f", "a")
	subject, uncut := w.state().Uncut(s, w.id("n"))
	if !uncut || subject != w.id("a") {
		t.Errorf("uncut %t, about %s", uncut, w.names[subject])
	}
	w.says("f", CutOff(w.id("a"), []Cut{{Space: s.ID, Nodes: map[graph.NodeID]*graph.ID{w.id("n"): blockID("1")}}}))
	if _, uncut := w.state().Uncut(s, w.id("n")); uncut {
		t.Error("cut, and still uncut")
	}
	w.enrol("f", "o", Writer)
	w.revoke("f", "o")
	if subject, uncut := w.state().Uncut(s, w.id("o")); !uncut || subject != w.id("o") {
		t.Errorf("a node revoked by itself: %t, about %s", uncut, w.names[subject])
	}
}

func TestAllows(t *testing.T) {
	w := newWorld(t, "f")
	w.grant("f", "a", Admin)
	w.grant("a", "b", Writer)
	w.grant("f", "gone", Admin)
	w.enrol("b", "n", Writer)
	w.says("f", NewInvite(Hash{1}, Writer, 1, 0))
	w.says("a", NewInvite(Hash{2}, Writer, 1, 0))
	w.revoke("f", "gone")
	for _, tc := range []struct {
		name, by string
		d        graph.Draft
		want     error
	}{
		{"an admin grants", "a", Grant(w.id("x"), Admin, nil), nil},
		{"a writer doesn't", "b", Grant(w.id("x"), Reader, nil), graph.ErrForbidden},
		{"nor one revoked", "gone", Grant(w.id("x"), Reader, nil), graph.ErrForbidden},
		{"nor a stranger", "x", Grant(w.id("y"), Reader, nil), graph.ErrForbidden},
		{"revoke below", "a", Revoke(w.id("b"), nil), nil},
		{"revoke far below", "f", Revoke(w.id("b"), nil), nil},
		{"revoke above", "a", Revoke(w.id("f"), nil), graph.ErrForbidden},
		{"leave", "b", Revoke(w.id("b"), nil), nil},
		{"reduce oneself", "a", SetRole(w.id("a"), Writer, nil), graph.ErrForbidden},
		{"revoke nobody", "f", Revoke(w.id("nobody"), nil), graph.ErrNotFound},
		{"a node by its host", "b", Revoke(w.id("n"), nil), nil},
		{"a node by an admin above", "a", Revoke(w.id("n"), nil), nil},
		{"enrol", "b", Enrol(w.network.ID, w.id("b"), w.key("o"), Writer, Agent), nil},
		{"enrol above oneself", "b", Enrol(w.network.ID, w.id("b"), w.key("o"), Admin, Agent), graph.ErrForbidden},
		{"enrol by another's proof", "b", Enrol(w.network.ID, w.id("a"), w.key("o"), Writer, Agent), graph.ErrInvalid},
		{"invite", "a", NewInvite(Hash{3}, Reader, 1, 0), nil},
		{"invite as a writer", "b", NewInvite(Hash{3}, Reader, 1, 0), graph.ErrForbidden},
		{"take back one's own", "a", Uninvite(Hash{2}), nil},
		{"take back from above", "f", Uninvite(Hash{2}), nil},
		{"take back from below", "a", Uninvite(Hash{1}), graph.ErrForbidden},
		{"take back nothing", "a", Uninvite(Hash{9}), graph.ErrNotFound},
		{"nonsense", "f", graph.Draft{Payload: []byte(`{"op":"dance"}`)}, graph.ErrInvalid},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := w.state().Allows(w.id(tc.by), tc.d); !errors.Is(err, tc.want) {
				t.Errorf("%v, want %v", err, tc.want)
			}
		})
	}
}
