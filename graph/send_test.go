package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"plexus/graph"
)

func TestSendNamesHeads(t *testing.T) {
	c := newClock()
	r := newReplica(t, everybody, c)
	other := newReplica(t, everybody, c)
	first := r.send(t, 0, draft("first"))
	other.add(t, first)
	for n := range 12 { // twelve that don't know of each other
		lone := newReplica(t, everybody, c)
		lone.add(t, first)
		r.add(t, lone.send(t, n+1, draft("lone")))
		c.step(time.Millisecond)
	}
	oldest := slices.Clone(r.s.Heads())
	slices.SortFunc(oldest, func(a, b graph.ID) int {
		ea, _, _ := r.s.Entry(a)
		eb, _, _ := r.s.Entry(b)
		return int(ea.Body().Time - eb.Body().Time)
	})
	want := append([]graph.ID{first.ID()}, sorted(oldest[:8])...)
	e := r.send(t, 0, draft("merge"))
	if b := e.Body(); b.Seq != 2 || !slices.Equal(b.Prev, want) {
		t.Fatalf("seq %d, prev %v, want %v", b.Seq, b.Prev, want)
	}
	if n := len(r.s.Heads()); n != 5 {
		t.Fatalf("%d heads, want 5", n)
	}
	e = r.send(t, 0, draft("merge", oldest[9]))
	if b := e.Body(); len(b.Prev) != 4 || slices.Contains(b.Prev, oldest[9]) {
		t.Fatalf("prev %v names a head that refs name", b.Prev)
	}
	if h := r.s.Heads(); !slices.Equal(h, []graph.ID{e.ID()}) {
		t.Fatalf("heads %v", h)
	}
}

func TestSendClock(t *testing.T) {
	c := newClock()
	r := newReplica(t, everybody, c)
	a := r.send(t, 1, draft("a"))
	b := r.send(t, 1, draft("b"))
	if a.Body().Time != graph.TimeOf(c.now()) || b.Body().Time != a.Body().Time+1 {
		t.Fatalf("times %v %v", a.Body().Time, b.Body().Time)
	}
	c.step(-time.Hour)
	_, err := r.s.Send(t.Context(), key(2), draft("late", b.ID()), nil)
	if !errors.Is(err, graph.ErrUnavailable) || !strings.Contains(err.Error(), "clock") {
		t.Fatalf("an hour back: %v", err)
	}
	if n := r.s.Count(); n != 2 {
		t.Fatalf("count %d", n)
	}
	c.step(time.Hour - graph.MaxFuture + 2*time.Microsecond)
	r.send(t, 2, draft("just in time", a.ID()))
}

func TestSendRefused(t *testing.T) {
	known := rights{
		author(1): {Known: true, May: true},
		author(2): {Known: true},
		author(4): {Known: true, May: true, Cuts: []graph.ID{graph.BlockID(nil)}},
		author(5): {Known: true, May: true},
	}
	r := newReplica(t, known, newClock())
	void := seal(t, 2, graph.Body{Space: r.s.ID(), Time: 5})
	profile := seal(t, 5, graph.Body{Space: r.s.ID(), Time: 5, Kind: graph.KindProfile})
	r.add(t, void, profile)
	unknown := graph.BlockID([]byte("nothing"))
	cases := []struct {
		name   string
		who    int
		draft  graph.Draft
		is     error
		detail string
	}{
		{"not granted", 3, draft("x"), graph.ErrForbidden, "may not write"},
		{"reader", 2, draft("x"), graph.ErrForbidden, "may not write"},
		{"cut off", 4, draft("x"), graph.ErrForbidden, "may not write"},
		{"unknown ref", 1, draft("x", unknown), graph.ErrInvalid, "refs.messages: '" + unknown.String() + "' not found in space '"},
		{"void ref", 1, draft("x", void.ID()), graph.ErrInvalid, "not found in space"},
		{"ref of a profile", 1, draft("x", profile.ID()), graph.ErrInvalid, "not found in space"},
		{"no content", 1, graph.Draft{}, graph.ErrInvalid, "content"},
		{"ref twice", 1, draft("x", void.ID(), void.ID()), graph.ErrInvalid, ""},
		{"too large", 1, draft(strings.Repeat("x", graph.MaxPayload)), graph.ErrTooLarge, ""},
	}
	before := r.Last()
	for _, c := range cases {
		_, err := r.s.Send(t.Context(), key(c.who), c.draft, nil)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.detail) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	var bad *graph.InvalidError
	if _, err := r.s.Send(t.Context(), key(1), draft("x", unknown), nil); !errors.As(err, &bad) || bad.Field != "refs.messages" {
		t.Errorf("field: %v", err)
	}
	if r.Last() != before {
		t.Error("something was written")
	}
}

func TestSendWritesRecords(t *testing.T) {
	r := newReplica(t, everybody, nil)
	keys := r.Records("idem")
	st, err := r.s.Send(t.Context(), key(1), draft("once"), func(e *graph.Entry) []graph.Op {
		id := e.ID()
		return keys.Ops(graph.Op{Kind: graph.Set, Key: []byte("k"), Value: id[:]})
	})
	check(t, err)
	v, err := keys.Get([]byte("k"))
	if err != nil || graph.ID(v) != st.Entry.ID() {
		t.Fatalf("got %x, %v", v, err)
	}
	_, err = r.s.Add(t.Context(), nil, graph.AddOptions{Also: keys.Ops(graph.Op{Kind: graph.Del, Key: []byte("k")})})
	check(t, err)
	if _, err := keys.Get([]byte("k")); !errors.Is(err, graph.ErrNotFound) {
		t.Fatalf("got %v", err)
	}
}

// TestHammerSend sends, takes in, reads and changes rights at the same time: for the race detector.
func TestHammerSend(t *testing.T) {
	const senders, each = 8, 40
	r, other := newReplica(t, everybody, nil), newReplica(t, everybody, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var writers, readers sync.WaitGroup
	for n := range senders {
		writers.Go(func() {
			for range each {
				if _, err := r.s.Send(ctx, key(n), draft("x"), nil); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for n := range senders { // each follows, and one of them carries everything over
		readers.Go(func() { follow(ctx, t, r, other, n == 0, senders*each) })
	}
	writers.Go(func() {
		for i := range 20 {
			r2 := rights{{}: {Known: true, May: true}, author(99): {Known: true, May: i%2 == 0}}
			if err := r.Apply(ctx, r2); err != nil {
				t.Error(err)
			}
			_, _, _ = r.s.Due(ctx)
			_ = r.s.Digest()
			if _, err := r.s.All(ctx, graph.Page{}); err != nil {
				t.Error(err)
			}
		}
	})
	writers.Wait()
	readers.Wait()
	if r.s.Digest() != other.s.Digest() || r.s.Digest().Count != senders*each {
		t.Fatalf("digests %v %v", r.s.Digest(), other.s.Digest())
	}
}

func follow(ctx context.Context, t *testing.T, r, other replica, carry bool, n int) {
	at := graph.Pos(0)
	for st, err := range r.s.Tail(ctx, 0) {
		if err != nil {
			t.Error(err)
			return
		}
		if at++; st.Pos != at {
			t.Errorf("pos %d after %d", st.Pos, at-1)
			return
		}
		if carry {
			if _, err := other.s.Add(ctx, []*graph.Entry{st.Entry}, graph.AddOptions{}); err != nil {
				t.Error(err)
			}
		}
		if int(at) == n {
			return
		}
	}
	t.Errorf("the tail ended at %d", at)
}

// A member that forks without end leaves one head a fork, and others' sends as they were: they name one of them at a time.
func TestManyForks(t *testing.T) {
	r := newReplica(t, everybody, newClock())
	var forks []*graph.Entry
	for i := range 500 {
		forks = append(forks, seal(t, 1, graph.Body{Space: r.s.ID(), Time: graph.Time(1000 + i)}))
	}
	r.add(t, forks...)
	tip := sorted(nameAll(forks))[499]
	e := r.send(t, 2, draft("x"))
	if b := e.Body(); len(b.Prev) != 1 || len(r.s.Heads()) != 500 {
		t.Fatalf("prev %v, %d heads", b.Prev, len(r.s.Heads()))
	}
	if e = r.send(t, 1, draft("on from the highest")); e.Body().Seq != 2 || e.Body().Prev[0] != tip {
		t.Fatalf("seq %d, prev %v", e.Body().Seq, e.Body().Prev)
	}
	if !slices.Equal(r.s.Forks(), []graph.NodeID{author(1)}) {
		t.Fatalf("forks %v", r.s.Forks())
	}
}

// TestSendsTogether has sends wait while another writes: they go into few transactions, each as if it were alone.
func TestSendsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const authors, each = 5, 50 // more than one transaction takes
		known := rights{author(authors): {Known: true}}
		for n := range authors {
			known[author(n)] = graph.Standing{Known: true, May: true}
		}
		r := newReplica(t, known, newClock())
		first := r.send(t, 0, draft("first"))
		blocked := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := r.s.Send(t.Context(), key(0), draft("blocks"), func(*graph.Entry) []graph.Op { <-blocked; return nil }); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		gone, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		told := map[graph.ID]string{}
		for i := range authors * each {
			text := fmt.Sprint("message ", i)
			wg.Go(func() {
				var e *graph.Entry
				st, err := r.s.Send(t.Context(), key(i%authors), draft(text, first.ID()), func(sealed *graph.Entry) []graph.Op { e = sealed; return nil })
				if err != nil || st.Entry != e || st.Event != graph.Shown {
					t.Errorf("%s: %v of %v, %v", text, st, e, err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				told[st.Entry.ID()] = text
			})
			wg.Go(func() {
				bad := []struct {
					ctx    context.Context
					author int
					draft  graph.Draft
					want   error
				}{
					{gone, 0, draft("gone"), context.Canceled},
					{t.Context(), authors, draft("may not write"), graph.ErrForbidden},
					{t.Context(), 1, draft("names nothing", graph.BlockID([]byte(text))), graph.ErrInvalid},
				}[i%3]
				if _, err := r.s.Send(bad.ctx, key(bad.author), bad.draft, nil); !errors.Is(err, bad.want) {
					t.Errorf("%v instead of %v", err, bad.want)
				}
			})
		}
		synctest.Wait()
		cancel()
		close(blocked)
		wg.Wait()
		if n := r.s.Count(); n != 2+authors*each || len(told) != authors*each {
			t.Fatalf("%d entries, %d answers, want %d and %d", n, len(told), 2+authors*each, authors*each)
		}
		for id, text := range told {
			e, _, err := r.s.Entry(id)
			if err != nil || !strings.Contains(string(e.Body().Payload), `"`+text+`"`) {
				t.Fatalf("%s holds %s, %v; want %s", id, e.Body().Payload, err, text)
			}
		}
		if h := r.s.Heads(); len(h) != 1 {
			t.Errorf("%d heads: a batch's own are named by what follows in it", len(h))
		}
		other := newReplica(t, known, newClock())
		if other.add(t, r.since(t, nil)...); other.s.Count() != r.s.Count() {
			t.Errorf("another replica admits %d of %d", other.s.Count(), r.s.Count())
		}
	})
}
