package graph_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"plexus/graph"
)

// Pages have a size when nobody says one, and a greatest one.
func TestPageSizes(t *testing.T) {
	r := newReplica(t, everybody, newClock())
	c := chain(t, r.s.ID(), 1, graph.MaxPage+5, 100)
	r.add(t, c...)
	for limit, want := range map[int]int{0: graph.PageSize, -1: graph.PageSize, 1: 1, graph.MaxPage: graph.MaxPage, graph.MaxPage + 1: graph.MaxPage} {
		for _, after := range []bool{true, false} {
			page, err := r.s.All(t.Context(), graph.Page{HasAfter: after, Limit: limit})
			check(t, err)
			first := 0
			if !after {
				first = len(c) - want
			}
			if len(page) != want || page[0].Entry.ID() != c[first].ID() {
				t.Errorf("limit %d, after %v: %d messages", limit, after, len(page))
			}
		}
	}
	for _, p := range []graph.Page{{After: graph.Pos(len(c)), HasAfter: true}, {After: ^graph.Pos(0) - 1, HasAfter: true}} {
		if page, err := r.s.All(t.Context(), p); err != nil || page == nil || len(page) != 0 {
			t.Errorf("behind the end: %v, %v", page, err)
		}
		if page, err := r.All(t.Context(), p); err != nil || len(page) != 0 {
			t.Errorf("behind the end of all: %v, %v", page, err)
		}
	}
}

func TestNotHere(t *testing.T) {
	r := newReplica(t, everybody, newClock())
	other, err := r.Create(t.Context(), named(t, "other"))
	check(t, err)
	profile := seal(t, 1, graph.Body{Space: r.s.ID(), Time: 1, Kind: graph.KindProfile, Payload: []byte(`{}`)})
	malformed := seal(t, 2, graph.Body{Space: r.s.ID(), Time: 1, Payload: []byte(`{"content":1}`)})
	good := seal(t, 3, graph.Body{Space: r.s.ID(), Time: 1})
	r.add(t, profile, malformed, good)
	for name, err := range map[string]error{
		"message":    errOf(r.s.Message(graph.BlockID(nil))),
		"malformed":  errOf(r.s.Message(malformed.ID())),
		"a profile":  errOf(r.s.Message(profile.ID())),
		"elsewhere":  errOf(other.Message(good.ID())),
		"entry":      errOf(other.Block(good.ID())),
		"related":    errOf(r.s.Related(t.Context(), malformed.ID(), graph.Both, graph.Page{})),
		"no space":   errOf(r.Space(graph.BlockID(nil))),
		"no profile": errOf(r.s.Profile(author(3))),
	} {
		if !errors.Is(err, graph.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := other.Entry(good.ID()); !errors.Is(err, graph.ErrNotFound) {
		t.Errorf("entry: %v", err)
	}
	if other.Has(good.ID()) || !r.s.Has(malformed.ID()) {
		t.Error("has is wrong")
	}
	if b, err := r.s.Block(good.ID()); err != nil || graph.BlockID(b) != good.ID() {
		t.Errorf("block: %v", err)
	}
	if st, err := r.s.Message(good.ID()); err != nil || st.Entry.ID() != good.ID() || st.Pos == 0 {
		t.Errorf("message: %+v %v", st, err)
	}
}

func errOf[T any](_ T, err error) error { return err }

// A Space is made once, is there again after a restart, and knows its genesis.
func TestCreate(t *testing.T) {
	r := newReplica(t, everybody, nil)
	again, err := r.Create(t.Context(), named(t, "s"))
	if err != nil || again != r.s {
		t.Fatalf("%v, %v", again, err)
	}
	b, err := r.Create(t.Context(), named(t, "b"))
	check(t, err)
	want := sorted([]graph.ID{r.s.ID(), b.ID()})
	if !slices.Equal(r.Spaces(), want) || b.Genesis().Name != "b" {
		t.Fatalf("spaces %v", r.Spaces())
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Create(ended, named(t, "c")); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

// The frontier and what follows from it: long chains of many authors, in canonical order, from anywhere.
func TestSince(t *testing.T) {
	r := newReplica(t, everybody, newClock())
	var all []*graph.Entry
	for who, n := range []int{0, 700, 1, 300} {
		all = append(all, chain(t, r.s.ID(), who, n, graph.Time(1_000_000*who+who))...)
	}
	a, b := forked(t, r.s.ID())
	all = append(all, slices.Concat(a, b)...)
	all = slices.CompactFunc(inOrder(all), func(a, b *graph.Entry) bool { return a.ID() == b.ID() })
	r.add(t, all...)
	tips := map[graph.NodeID]uint64{}
	for tip, err := range r.s.Frontier(t.Context()) {
		check(t, err)
		tips[tip.Author] = tip.Seq
	}
	if tips[author(1)] != 700 || tips[author(3)] != 300 || len(tips) != 3 {
		t.Fatalf("frontier %v", tips)
	}
	for _, known := range []map[graph.NodeID]uint64{
		nil, tips,
		{author(1): 699, author(2): 1, author(3): 300, author(8): 4},
		{author(1): 255, author(3): 1000},
		{author(1): 2},
	} {
		want := []*graph.Entry{}
		for _, e := range all {
			if e.Body().Seq > known[e.Body().Author] {
				want = append(want, e)
			}
		}
		sameList(t, "since", nameAll(r.since(t, known)), nameAll(want))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range r.s.Since(ended, nil) {
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	}
}
