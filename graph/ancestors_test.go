package graph_test

// This file holds HappenedBefore against a naive walk, forks included, from memory and from the store.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plexus/graph"
	"plexus/graph/store"
)

// loom makes entries of any shape: it knows nothing of a Space's heads.
type loom struct {
	t       testing.TB
	space   graph.ID
	entries []*graph.Entry
}

// weave seals an entry of an author behind its own previous one (nil: the first) and other parents, of which prev gets those
// it may name and refs the rest.
func (l *loom) weave(author int, previous *graph.Entry, others ...*graph.Entry) *graph.Entry {
	b := graph.Body{
		Kind: graph.KindMessage, Space: l.space, Author: graph.NodeIDOf(key(author)), Seq: 1, Time: 1_700_000_000_000_000,
		Payload: fmt.Appendf(nil, `{"content":{"n":%d}}`, len(l.entries)),
	}
	if previous != nil {
		b.Seq = previous.Body().Seq + 1
		b.Prev = []graph.ID{previous.ID()}
		b.Time = max(b.Time, previous.Body().Time+1)
	}
	named := map[graph.NodeID]bool{b.Author: true}
	var prev []graph.ID
	for _, o := range others {
		b.Time = max(b.Time, o.Body().Time+1)
		if !named[o.Body().Author] && len(prev) < graph.MaxPrev-1 {
			named[o.Body().Author] = true
			prev = append(prev, o.ID())
		} else if !slices.Contains(b.Refs.Messages, o.ID()) {
			b.Refs.Messages = append(b.Refs.Messages, o.ID())
		}
	}
	slices.SortFunc(prev, graph.ID.Compare)
	b.Prev = append(b.Prev, prev...)
	e, err := graph.Seal(b, key(author))
	if err != nil {
		l.t.Fatal(err)
	}
	l.entries = append(l.entries, e)
	return e
}

// pasts computes every entry's past by the definition.
func pasts(entries []*graph.Entry) map[graph.ID]map[graph.ID]bool {
	past := map[graph.ID]map[graph.ID]bool{}
	for _, e := range entries {
		mine := map[graph.ID]bool{}
		for _, p := range e.Parents() {
			mine[p] = true
			for q := range past[p] {
				mine[q] = true
			}
		}
		past[e.ID()] = mine
	}
	return past
}

func checkPasts(t testing.TB, s *graph.Space, entries []*graph.Entry) {
	t.Helper()
	past := pasts(entries)
	for _, a := range entries {
		for _, b := range entries {
			got, err := s.HappenedBefore(a.ID(), b.ID())
			if err != nil || got != past[b.ID()][a.ID()] {
				t.Fatalf("%d of author %s before %d of %s: %v, %v", a.Body().Seq, a.Body().Author, b.Body().Seq, b.Body().Author, got, err)
			}
		}
	}
}

func TestHappenedBefore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		t := rt2{t: rt}
		st := store.Memory()
		defer func() { _ = st.Close() }()
		l, s := openOn(t, st)
		w := &loom{t: t, space: s.ID()}
		chains := map[int][]*graph.Entry{}
		forks := rapid.Bool().Draw(rt, "forks")
		for range rapid.IntRange(1, 60).Draw(rt, "entries") {
			author := rapid.IntRange(0, 4).Draw(rt, "author")
			var previous *graph.Entry
			if own := chains[author]; len(own) > 0 {
				previous = own[len(own)-1]
				if forks && rapid.IntRange(0, 4).Draw(rt, "fork") == 0 {
					previous = rapid.SampledFrom(own).Draw(rt, "branch")
				}
			}
			var others []*graph.Entry
			for range rapid.IntRange(0, 3).Draw(rt, "others") {
				if len(w.entries) > 0 {
					others = append(others, rapid.SampledFrom(w.entries).Draw(rt, "other"))
				}
			}
			chains[author] = append(chains[author], w.weave(author, previous, others...))
		}
		for left := rapid.Permutation(w.entries).Draw(rt, "order"); len(left) > 0; {
			n := min(rapid.IntRange(1, 30).Draw(rt, "batch"), len(left))
			if _, err := s.Add(t.Context(), left[:n], graph.AddOptions{}); err != nil {
				rt.Fatal(err)
			}
			left = left[n:]
		}
		if s.Digest().Count != uint64(len(w.entries)) {
			rt.Fatalf("%d of %d admitted", s.Digest().Count, len(w.entries))
		}
		checkPasts(t, s, w.entries)
		_ = l.Close()
		_, s = openOn(t, st) // nothing in memory
		checkPasts(t, s, w.entries)
	})
}

// openOn opens a Log on a store, with one Space in it.
func openOn(t testing.TB, st graph.Store) (*graph.Log, *graph.Space) {
	t.Helper()
	l, err := graph.OpenLog(st, graph.LogOptions{Rights: everybody})
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.Create(t.Context(), named(t, "s"))
	if err != nil {
		t.Fatal(err)
	}
	return l, s
}

// TestLongChains crosses the full clocks, and branches right before, at and behind one.
func TestLongChains(t *testing.T) {
	st := store.Memory()
	defer func() { _ = st.Close() }()
	l, s := openOn(t, st)
	w := &loom{t: t, space: s.ID()}
	tips := map[int]*graph.Entry{}
	var marks []*graph.Entry
	for i := range 400 {
		author := i % 3
		var others []*graph.Entry
		if i%7 == 0 && i > 0 {
			others = append(others, tips[(author+1)%3])
		}
		tips[author] = w.weave(author, tips[author], others...)
		if seq := tips[author].Body().Seq; seq%64 < 2 || seq%64 == 63 || i%29 == 0 {
			marks = append(marks, tips[author])
		}
	}
	if _, err := s.Add(t.Context(), w.entries, graph.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	check := func(s *graph.Space) {
		t.Helper()
		past := pasts(w.entries)
		for _, a := range marks {
			for _, b := range marks {
				if got, err := s.HappenedBefore(a.ID(), b.ID()); err != nil || got != past[b.ID()][a.ID()] {
					t.Fatal(a.Body().Seq, b.Body().Seq, got, err)
				}
			}
		}
	}
	check(s)
	_ = l.Close()
	_, s = openOn(t, st)
	check(s)
	for _, m := range marks[:min(10, len(marks))] { // now the first author's chain branches
		if m.Body().Author == author(0) && m.Body().Seq > 1 {
			tips[3] = w.weave(0, m, tips[1], tips[2])
			marks = append(marks, tips[3])
		}
	}
	if _, err := s.Add(t.Context(), w.entries, graph.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	check(s)
	_, s = openOn(t, st)
	check(s)
}

func TestHappenedBeforeUnknown(t *testing.T) {
	r := newReplica(t, everybody, nil)
	e := r.send(t, 1, draft("hello"))
	other, err := r.Create(t.Context(), named(t, "other"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]graph.ID{{e.ID(), {1}}, {{1}, e.ID()}} {
		if _, err := r.s.HappenedBefore(c[0], c[1]); !errors.Is(err, graph.ErrNotFound) {
			t.Fatal(err)
		}
	}
	if _, err := other.HappenedBefore(e.ID(), e.ID()); !errors.Is(err, graph.ErrNotFound) {
		t.Fatal(err)
	}
	if got, err := r.s.HappenedBefore(e.ID(), e.ID()); got || err != nil {
		t.Fatal(got, err)
	}
}

// rt2 lends rapid's T to helpers that want a testing.TB.
type rt2 struct {
	testing.TB
	t *rapid.T
}

func (r rt2) Helper()                        { r.t.Helper() }
func (r rt2) Context() context.Context       { return r.t.Context() }
func (r rt2) Fatal(args ...any)              { r.t.Fatal(args...) }
func (r rt2) Fatalf(form string, arg ...any) { r.t.Fatalf(form, arg...) }

// BenchmarkHappenedBefore asks at random, on Pebble, with nothing in memory.
func BenchmarkHappenedBefore(b *testing.B) {
	_, s := onDisk(b, b.TempDir())
	entries := conversation(b, 20_000)
	if _, err := s.Add(b.Context(), entries, graph.AddOptions{}); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for i := range b.N {
		x, y := entries[i*7919%len(entries)], entries[i*104729%len(entries)]
		got, err := s.HappenedBefore(x.ID(), y.ID())
		if err != nil || got && bytes.Equal(x.Block(), y.Block()) {
			b.Fatal(err)
		}
	}
}
