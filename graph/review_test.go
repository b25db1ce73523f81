package graph_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"plexus/graph"
	"plexus/graph/store"
)

// TestHammerApply changes an author's rights while its chain grows and others send: whatever came in between, in the end all of
// it is as the last rights say, and the tail tells it.
func TestHammerApply(t *testing.T) {
	r := newReplica(t, everybody, newClock())
	c := chain(t, r.s.ID(), 1, 9000, 1_000_000)
	r.add(t, c[:5000]...)
	cut := only(1, graph.Standing{Known: true, May: true, Cuts: []graph.ID{c[6999].ID()}})
	var wg sync.WaitGroup
	wg.Go(func() {
		for part := range slices.Chunk(c[5000:], 100) {
			if _, err := r.s.Add(t.Context(), part, graph.AddOptions{}); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Go(func() {
		for range 50 {
			if _, err := r.s.Send(t.Context(), key(2), draft("x"), nil); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Go(func() {
		for _, rights := range []graph.Rights{only(1, graph.Standing{Known: true}), cut, everybody, cut} {
			if err := r.Apply(t.Context(), rights); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	if n := r.s.Count(); n != 7050 {
		t.Fatalf("%d visible, want 7050", n)
	}
	shown := map[graph.ID]bool{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for st, err := range r.Tail(ctx, 0) {
		check(t, err)
		shown[st.Entry.ID()] = st.Event == graph.Shown
		if st.Pos == r.Last() {
			break
		}
	}
	for i, e := range c {
		if shown[e.ID()] != (i < 7000) {
			t.Fatalf("entry %d is shown %v", i, shown[e.ID()])
		}
	}
}

// A review that was broken off is taken up by the next Apply of the same rights.
func TestReviewBrokenOff(t *testing.T) {
	r := newReplica(t, everybody, newClock())
	c := chain(t, r.s.ID(), 1, 5000, 1_000_000)
	r.add(t, c...)
	none := only(1, graph.Standing{Known: true})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Apply(ended, none); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if n := r.s.Count(); n != 5000 {
		t.Fatalf("%d visible", n)
	}
	more := seal(t, 1, graph.Body{Space: r.s.ID(), Seq: 5001, Time: 9_000_000_000, Prev: []graph.ID{c[4999].ID()}})
	if res := r.add(t, more); res.New[0].Event != graph.Added {
		t.Fatal("what comes after the change is by the old rights")
	}
	check(t, r.Apply(t.Context(), none))
	if n := r.s.Count(); n != 0 {
		t.Fatalf("%d visible", n)
	}
}

// The same rights a second time write nothing.
func TestApplyTwice(t *testing.T) {
	st := &counting{Store: store.Memory()}
	defer func() { _ = st.Close() }()
	l, err := graph.OpenLog(st, graph.LogOptions{Rights: everybody, Now: newClock().now})
	check(t, err)
	defer func() { _ = l.Close() }()
	s, err := l.Create(t.Context(), named(t, "s"))
	check(t, err)
	a, b := forked(t, s.ID())
	_, err = s.Add(t.Context(), slices.Concat(a, b), graph.AddOptions{})
	check(t, err)
	cut := only(1, graph.Standing{Known: true, May: true, Cuts: []graph.ID{b[1].ID(), a[3].ID()}})
	for i, rights := range []graph.Rights{everybody, cut, cut, everybody, everybody} {
		before := st.writes
		check(t, l.Apply(t.Context(), rights))
		if wrote := st.writes > before; wrote != (i == 1 || i == 3) {
			t.Errorf("apply %d wrote %v", i, wrote)
		}
	}
}

// counting counts the batches.
type counting struct {
	graph.Store
	writes int
}

// Apply implements graph.Store.
func (c *counting) Apply(ops []graph.Op) (func() error, error) {
	c.writes++
	return c.Store.Apply(ops)
}
