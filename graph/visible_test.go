package graph_test

import (
	"errors"
	"slices"
	"testing"

	"plexus/graph"
	"plexus/graph/store"
)

// only lets one author be seen as a standing says, everyone else wholly.
func only(n int, s graph.Standing) rights {
	return rights{{}: {Known: true, May: true}, author(n): s}
}

func (r replica) all(t testing.TB) []graph.ID {
	t.Helper()
	page, err := r.s.All(t.Context(), graph.Page{HasAfter: true})
	check(t, err)
	return ids(page)
}

// forked is a chain with a branch: a1 a2 a3 a4, and b3 b4 b5 on a2.
func forked(t testing.TB, space graph.ID) (a, b []*graph.Entry) {
	t.Helper()
	a = chain(t, space, 1, 4, 1_000_000)
	prev := a[1]
	for i := range 3 {
		body := graph.Body{Space: space, Seq: uint64(3 + i), Time: prev.Body().Time + 700_000, Prev: []graph.ID{prev.ID()}, Payload: []byte(`{"content":{"b":1}}`)}
		prev = seal(t, 1, body)
		b = append(b, prev)
	}
	return a, b
}

func TestCuts(t *testing.T) {
	space := named(t, "s").ID
	a, b := forked(t, space)
	other := seal(t, 2, graph.Body{Space: space, Time: 9_000_000})
	all := slices.Concat(a, b, []*graph.Entry{other})
	cases := []struct {
		name string
		cuts []*graph.Entry
		want []*graph.Entry
	}{
		{"at the end of one branch", a[3:], a},
		{"at the end of the other", b[2:], slices.Concat(a[:2], b)},
		{"on both branches", []*graph.Entry{a[3], b[2]}, a[:2]},
		{"on both and at the root", []*graph.Entry{b[1], a[0], a[2]}, a[:1]},
		{"twice on one branch", []*graph.Entry{b[1], b[0]}, slices.Concat(a[:2], b[:1])},
		{"of another author", []*graph.Entry{other}, nil},
		{"of another author too", []*graph.Entry{a[3], other}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var cuts, want []graph.ID
			for _, e := range c.cuts {
				cuts = append(cuts, e.ID())
			}
			for _, e := range slices.Concat(c.want, []*graph.Entry{other}) {
				want = append(want, e.ID())
			}
			cut := only(1, graph.Standing{Known: true, May: true, Cuts: cuts})
			early, late := newReplica(t, cut, newClock()), newReplica(t, everybody, newClock())
			for _, e := range all {
				early.add(t, e)
				late.add(t, e)
			}
			check(t, late.Apply(t.Context(), cut))
			for name, r := range map[string]replica{"early": early, "late": late} {
				if got := r.all(t); !slices.Equal(sorted(got), sorted(want)) {
					t.Errorf("%s: %v, want %v", name, got, want)
				}
				if !slices.Equal(r.s.Forks(), []graph.NodeID{author(1)}) || r.s.Digest().Count != 8 {
					t.Errorf("%s: forks %v, %d admitted", name, r.s.Forks(), r.s.Digest().Count)
				}
			}
		})
	}
}

// A chain without forks is cut by seq alone, and what follows the cut is void when it comes.
func TestCutOfAStraightChain(t *testing.T) {
	r := newReplica(t, everybody, newClock())
	c := chain(t, r.s.ID(), 1, 6, 100)
	r.add(t, c[:4]...)
	check(t, r.Apply(t.Context(), only(1, graph.Standing{Known: true, May: true, Cuts: []graph.ID{c[4].ID(), c[2].ID()}})))
	if got := r.all(t); len(got) != 0 {
		t.Fatalf("a cut that isn't here leaves %v", got)
	}
	res := r.add(t, c[4])
	if len(res.New) != 1 || res.New[0].Event != graph.Added {
		t.Fatalf("got %+v", res)
	}
	if got := r.all(t); !slices.Equal(got, []graph.ID{c[0].ID(), c[1].ID(), c[2].ID()}) {
		t.Fatalf("visible: %v", got)
	}
	if res = r.add(t, c[5]); res.New[0].Event != graph.Added {
		t.Fatalf("past the cut: %+v", res)
	}
	check(t, r.Apply(t.Context(), everybody))
	if got := r.all(t); len(got) != 6 {
		t.Fatalf("visible: %v", got)
	}
}

// Until rights are applied after a restart, those applied before it count: for what comes, and for a cut that comes.
func TestRightsBeforeApply(t *testing.T) {
	st := store.Memory()
	c := newClock()
	space := named(t, "s")
	e := chain(t, space.ID, 1, 4, 100)
	cut := rights{author(1): {Known: true, May: true, Cuts: []graph.ID{e[1].ID()}}, author(2): {Known: true, May: true}}
	l, err := graph.OpenLog(st, graph.LogOptions{Rights: cut, Now: c.now})
	check(t, err)
	s, err := l.Create(t.Context(), space)
	check(t, err)
	_, err = s.Add(t.Context(), append(e[:1:1], chain(t, space.ID, 2, 1, 100)...), graph.AddOptions{})
	check(t, err)
	check(t, l.Close())
	l, err = graph.OpenLog(st, graph.LogOptions{Now: c.now})
	check(t, err)
	s, err = l.Space(space.ID)
	check(t, err)
	r := replica{l, s}
	r.add(t, e[1:]...)
	if got := r.all(t); len(got) != 3 || slices.Contains(got, e[2].ID()) {
		t.Fatalf("visible: %v", got)
	}
	r.send(t, 2, draft("still allowed"))
	if _, err := s.Send(t.Context(), key(3), draft("x"), nil); !errors.Is(err, graph.ErrForbidden) {
		t.Fatalf("got %v", err)
	}
}

// What is withdrawn and shown again keeps its place in pages, so that cursors do too.
func TestPlaceIsKept(t *testing.T) {
	r := newReplica(t, everybody, newClock())
	c := chain(t, r.s.ID(), 1, 2, 100)
	other := seal(t, 2, graph.Body{Space: r.s.ID(), Time: 9_000_000, Kind: graph.KindPlugin, Payload: []byte(`{}`)})
	r.add(t, c...)
	before, err := r.s.All(t.Context(), graph.Page{})
	check(t, err)
	check(t, r.Apply(t.Context(), only(1, graph.Standing{Known: true})))
	if _, err := r.s.Message(c[0].ID()); !errors.Is(err, graph.ErrNotFound) {
		t.Fatalf("a void message: %v", err)
	}
	st, err := r.Find(c[1].ID())
	if err != nil || st.Pos != before[1].Pos || st.Event != graph.Withdrawn {
		t.Fatalf("find: %+v, %v", st, err)
	}
	r.add(t, other)
	check(t, r.Apply(t.Context(), everybody))
	again, err := r.s.All(t.Context(), graph.Page{})
	if err != nil || !slices.EqualFunc(before, again, func(a, b graph.Stored) bool { return a.Pos == b.Pos }) {
		t.Fatalf("places %v, then %v", before, again)
	}
	if st, err = r.Find(c[1].ID()); err != nil || st.Pos != before[1].Pos || st.Event != graph.Shown {
		t.Fatalf("find: %+v, %v", st, err)
	}
	if st, err = r.Find(other.ID()); err != nil || st.Event != graph.Added || st.Pos == 0 {
		t.Fatalf("find: %+v, %v", st, err)
	}
	if _, err := r.Find(graph.BlockID(nil)); !errors.Is(err, graph.ErrNotFound) {
		t.Fatalf("find nothing: %v", err)
	}
	if r.Last() != 2+2+1+2 {
		t.Fatalf("%d records", r.Last())
	}
}

// A plugin entry's visibility changes without a record; Entry and Kind tell.
func TestOtherKindsAreNotTold(t *testing.T) {
	r := newReplica(t, everybody, newClock())
	pin := seal(t, 1, graph.Body{Space: r.s.ID(), Time: 100, Kind: graph.KindPlugin, Payload: []byte(`{}`)})
	odd := seal(t, 2, graph.Body{Space: r.s.ID(), Time: 100, Kind: "odd", Payload: []byte(`{}`)})
	r.add(t, pin, odd)
	last := r.Last()
	check(t, r.Apply(t.Context(), only(1, graph.Standing{Known: true})))
	if _, visible, err := r.s.Entry(pin.ID()); err != nil || visible || r.Last() != last {
		t.Fatalf("visible %v, %v", visible, err)
	}
	check(t, r.Apply(t.Context(), everybody))
	if _, visible, err := r.s.Entry(pin.ID()); err != nil || !visible || r.Last() != last {
		t.Fatalf("visible %v, %v", visible, err)
	}
	if _, visible, err := r.s.Entry(odd.ID()); err != nil || visible {
		t.Fatalf("an unknown kind is visible: %v %v", visible, err)
	}
	var kinds []graph.ID
	for e, err := range r.s.Kind(t.Context(), graph.KindPlugin) {
		check(t, err)
		kinds = append(kinds, e.ID())
	}
	if !slices.Equal(kinds, []graph.ID{pin.ID()}) {
		t.Fatalf("kind: %v", kinds)
	}
}

func TestProfiles(t *testing.T) {
	r := newReplica(t, everybody, newClock())
	profile := func(n int, seq uint64, prev ...graph.ID) *graph.Entry {
		return seal(t, n, graph.Body{Space: r.s.ID(), Time: graph.Time(100 * seq), Seq: seq, Prev: prev, Kind: graph.KindProfile, Payload: []byte(`{}`)})
	}
	a1, b1 := profile(1, 1), profile(2, 1)
	a2 := profile(1, 2, a1.ID())
	r.add(t, a1, b1, a2)
	list := func() (out []graph.ID) {
		for e, err := range r.s.Profiles(t.Context()) {
			check(t, err)
			out = append(out, e.ID())
		}
		return sorted(out)
	}
	if got := list(); !slices.Equal(got, sorted([]graph.ID{a2.ID(), b1.ID()})) {
		t.Fatalf("profiles %v", got)
	}
	check(t, r.Apply(t.Context(), only(1, graph.Standing{Known: true, May: true, Cuts: []graph.ID{a1.ID()}})))
	if e, err := r.s.Profile(author(1)); err != nil || e.ID() != a1.ID() {
		t.Fatalf("profile: %v", err)
	}
	check(t, r.Apply(t.Context(), only(1, graph.Standing{Known: true})))
	if _, err := r.s.Profile(author(1)); !errors.Is(err, graph.ErrNotFound) {
		t.Fatalf("profile: %v", err)
	}
	if got := list(); !slices.Equal(got, []graph.ID{b1.ID()}) {
		t.Fatalf("profiles %v", got)
	}
}
