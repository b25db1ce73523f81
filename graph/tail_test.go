package graph_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"plexus/graph"
	"plexus/graph/store"
)

// TestTailWaits follows in a bubble: nothing comes before it is there, and the end of ctx ends the sequence silently.
func TestTailWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t, everybody, nil)
		other, err := r.Create(t.Context(), named(t, "other"))
		check(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		var here, everywhere []graph.Pos
		var wg sync.WaitGroup
		wg.Go(func() {
			for st, err := range r.s.Tail(ctx, 0) {
				check(t, err)
				mu.Lock()
				here = append(here, st.Pos)
				mu.Unlock()
			}
		})
		wg.Go(func() {
			for st, err := range r.Tail(ctx, 1) {
				check(t, err)
				mu.Lock()
				everywhere = append(everywhere, st.Pos)
				mu.Unlock()
			}
		})
		r.send(t, 1, draft("1"))
		_, err = other.Send(ctx, key(1), draft("2"), nil)
		check(t, err)
		synctest.Wait()
		r.send(t, 1, draft("3"))
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(here, []graph.Pos{1, 3}) || !slices.Equal(everywhere, []graph.Pos{2, 3}) {
			t.Fatalf("got %v and %v", here, everywhere)
		}
		cancel()
		wg.Wait()
	})
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t, everybody, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Wait(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
		got := make(chan error, 2)
		go func() { got <- r.Wait(t.Context(), 0) }()
		go func() { got <- r.Wait(t.Context(), 1) }()
		synctest.Wait()
		r.send(t, 1, draft("1"))
		check(t, <-got)
		check(t, r.Wait(t.Context(), 0))
		check(t, r.Close())
		if err := <-got; !errors.Is(err, graph.ErrClosed) {
			t.Fatalf("got %v", err)
		}
	})
}

// Close ends who follows with ErrClosed.
func TestTailEndsWithClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t, everybody, nil)
		got := make(chan error, 1)
		go func() {
			for _, err := range r.s.Tail(t.Context(), 0) {
				got <- err
			}
		}()
		synctest.Wait()
		check(t, r.Close())
		if err := <-got; !errors.Is(err, graph.ErrClosed) {
			t.Fatalf("got %v", err)
		}
	})
}

// A reader that takes nothing for a long time is read back from the store, and holds up nobody.
func TestSlowReader(t *testing.T) {
	const n = 3000
	r := newReplica(t, everybody, newClock())
	c := chain(t, r.s.ID(), 1, n, 100)
	r.add(t, c[0])
	at := 0
	for st, err := range r.s.Tail(t.Context(), 0) {
		check(t, err)
		if st.Entry.ID() != c[at].ID() {
			t.Fatalf("entry %d is out of order", at)
		}
		if at == 0 {
			for part := range slices.Chunk(c[1:], 100) {
				r.add(t, part...)
			}
		}
		if at++; at == n {
			break
		}
	}
}

// A record is in nobody's tail before it is synced, and nobody holds the Space while it waits for the disk.
func TestTailShowsWhatIsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &slowSync{Store: store.Memory(), release: make(chan struct{})}
		defer func() { _ = st.Close() }()
		l, err := graph.OpenLog(st, graph.LogOptions{Rights: everybody})
		check(t, err)
		defer func() { _ = l.Close() }()
		s, err := l.Create(t.Context(), named(t, "s"))
		check(t, err)
		st.slow = true
		sent := make(chan error, 2)
		for n := range 2 {
			go func() {
				_, err := s.Send(context.Background(), key(n), draft("x"), nil)
				sent <- err
			}()
		}
		synctest.Wait()
		if s.Count() != 2 || l.Last() != 0 {
			t.Fatalf("%d are written, %d shown", s.Count(), l.Last())
		}
		close(st.release)
		check(t, <-sent)
		check(t, <-sent)
		if l.Last() != 2 {
			t.Fatalf("%d are shown", l.Last())
		}
	})
}

// slowSync is a store whose disk takes until release.
type slowSync struct {
	graph.Store
	slow    bool
	release chan struct{}
}

func (s *slowSync) Apply(ops []graph.Op) (func() error, error) {
	wait, err := s.Store.Apply(ops)
	if !s.slow {
		return wait, err
	}
	return func() error { <-s.release; return wait() }, err
}

// A store that can't write leaves nothing behind; one that can't sync takes nothing more.
func TestFailingStore(t *testing.T) {
	boom := errors.New("boom")
	st := &failing{Store: store.Memory()}
	l, err := graph.OpenLog(st, graph.LogOptions{Rights: everybody})
	check(t, err)
	s, err := l.Create(t.Context(), named(t, "s"))
	check(t, err)
	st.apply = boom
	if _, err := s.Send(t.Context(), key(1), draft("x"), nil); !errors.Is(err, boom) {
		t.Fatalf("got %v", err)
	}
	if s.Count() != 0 || len(s.Heads()) != 0 || s.Digest().Count != 0 {
		t.Fatal("something stayed")
	}
	st.apply = nil
	first, err := s.Send(t.Context(), key(1), draft("x"), nil)
	if err != nil || first.Pos != 1 || first.Entry.Body().Seq != 1 {
		t.Fatalf("got %+v, %v", first, err)
	}
	st.sync = boom
	if _, err := s.Send(t.Context(), key(1), draft("y"), nil); !errors.Is(err, boom) {
		t.Fatalf("got %v", err)
	}
	st.sync = nil
	if _, err := s.Send(t.Context(), key(1), draft("z"), nil); !errors.Is(err, graph.ErrUnavailable) || !errors.Is(err, boom) {
		t.Fatalf("got %v", err)
	}
	if l.Last() != 1 {
		t.Fatalf("%d are shown", l.Last())
	}
}

type failing struct {
	graph.Store
	apply, sync error
}

func (f *failing) Apply(ops []graph.Op) (func() error, error) {
	if f.apply != nil {
		return nil, f.apply
	}
	wait, err := f.Store.Apply(ops)
	failed := f.sync
	return func() error { return errors.Join(failed, wait()) }, err
}

// Many short runs of two Spaces, alternating and not, come in the order of arrival, forwards and back.
func TestRuns(t *testing.T) {
	r := newReplica(t, everybody, newClock())
	other, err := r.Create(t.Context(), named(t, "other"))
	check(t, err)
	spaces := []*graph.Space{r.s, other}
	var want []graph.ID
	for i := range 900 {
		s := spaces[0]
		if i%7 == 0 || i/300 == 1 {
			s = spaces[1]
		}
		st, err := s.Send(t.Context(), key(i%3), draft("x"), nil)
		check(t, err)
		want = append(want, st.Entry.ID())
	}
	for _, after := range []int{0, 1, 299, 300, 301, 899} {
		var got []graph.ID
		for st, err := range r.Tail(t.Context(), graph.Pos(after)) {
			check(t, err)
			if got = append(got, st.Entry.ID()); st.Pos == r.Last() {
				break
			}
		}
		if !slices.Equal(got, want[after:]) {
			t.Errorf("the tail after %d is out of order", after)
		}
		page, err := r.All(t.Context(), graph.Page{After: graph.Pos(after), HasAfter: true, Limit: 50})
		if err != nil || !slices.Equal(ids(page), want[after:min(after+50, 900)]) {
			t.Errorf("the page after %d: %v, %v", after, ids(page), err)
		}
		page, err = r.All(t.Context(), graph.Page{Limit: 900 - after})
		if n := len(page); err != nil || !slices.Equal(ids(page), want[900-n:]) {
			t.Errorf("the newest %d: %v, %v", 900-after, ids(page), err)
		}
	}
}
