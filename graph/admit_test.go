package graph_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"plexus/graph"
	"plexus/graph/store"
)

// seal seals a body for the n-th author; kind and payload have defaults.
func seal(t testing.TB, n int, b graph.Body) *graph.Entry {
	t.Helper()
	if b.Kind == "" {
		b.Kind = graph.KindMessage
	}
	if b.Payload == nil {
		b.Payload = []byte(`{"content":{}}`)
	}
	if b.Seq == 0 {
		b.Seq = 1
	}
	b.Author = author(n)
	e, err := graph.Seal(b, key(n))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// chain is n entries of an author, a second apart, from a time on.
func chain(t testing.TB, space graph.ID, who, n int, from graph.Time) (out []*graph.Entry) {
	t.Helper()
	var prev []graph.ID
	for i := range n {
		e := seal(t, who, graph.Body{Space: space, Seq: uint64(i + 1), Time: from + graph.Time(i)*1_000_000, Prev: prev})
		out, prev = append(out, e), []graph.ID{e.ID()}
	}
	return out
}

// TestRefused has a case for every rule Add decides.
func TestRefused(t *testing.T) {
	r := newReplica(t, everybody, newClock())
	other, err := r.Create(t.Context(), named(t, "other"))
	check(t, err)
	elsewhere := seal(t, 1, graph.Body{Space: other.ID(), Time: 100})
	_, err = other.Add(t.Context(), []*graph.Entry{elsewhere}, graph.AddOptions{})
	check(t, err)
	one := chain(t, r.s.ID(), 1, 2, 100)
	two := chain(t, r.s.ID(), 2, 2, 100)
	profile := seal(t, 3, graph.Body{Space: r.s.ID(), Time: 100, Kind: graph.KindProfile})
	r.add(t, slices.Concat(one, two, []*graph.Entry{profile})...)
	later := graph.Time(10_000_000)
	id := func(es ...*graph.Entry) (out []graph.ID) {
		for _, e := range es {
			out = append(out, e.ID())
		}
		slices.SortFunc(out, graph.ID.Compare)
		return out
	}
	cases := []struct {
		name string
		who  int
		body graph.Body
		rule graph.Rule
	}{
		{"another space", 4, graph.Body{Space: other.ID(), Time: later}, graph.RuleSpace},
		{"prev in another space", 4, graph.Body{Time: later, Prev: id(elsewhere)}, graph.RuleParentSpace},
		{"ref in another space", 4, graph.Body{Time: later, Refs: graph.Refs{Messages: id(elsewhere)}}, graph.RuleParentSpace},
		{"ref of a profile", 4, graph.Body{Time: later, Refs: graph.Refs{Messages: id(profile)}}, graph.RuleParentKind},
		{"time of a prev", 4, graph.Body{Time: one[1].Body().Time, Prev: id(one[1])}, graph.RuleTimeOrder},
		{"time before a ref", 4, graph.Body{Time: 99, Refs: graph.Refs{Messages: id(one[0])}}, graph.RuleTimeOrder},
		{"time of the own prev", 1, graph.Body{Time: one[1].Body().Time, Seq: 3, Prev: id(one[1])}, graph.RuleTimeOrder},
		{"seq jumps", 1, graph.Body{Time: later, Seq: 4, Prev: id(one[1])}, graph.RuleSeq},
		{"seq stays", 1, graph.Body{Time: later, Seq: 2, Prev: id(one[1])}, graph.RuleSeq},
		{"prev[0] of another", 1, graph.Body{Time: later, Seq: 3, Prev: id(two[1])}, graph.RulePrevAuthor},
		{"first entry with an own prev", 1, graph.Body{Time: later, Seq: 1, Prev: id(one[1])}, graph.RulePrevAuthor},
		{"later prev of the own", 1, graph.Body{Time: later, Seq: 3, Prev: append(id(one[1]), one[0].ID())}, graph.RulePrevAuthor},
		{"two of one author", 4, graph.Body{Time: later, Prev: id(two...)}, graph.RulePrevAuthor},
	}
	counts := map[graph.Rule]uint64{}
	for _, c := range cases {
		if c.body.Space == (graph.ID{}) {
			c.body.Space = r.s.ID()
		}
		before := r.s.Digest()
		res := r.add(t, seal(t, c.who, c.body))
		if len(res.Refused) != 1 || res.Refused[0].Rule != c.rule || len(res.New)+len(res.Held)+res.Known > 0 {
			t.Errorf("%s: got %+v, want %s", c.name, res, c.rule)
		}
		if r.s.Digest() != before {
			t.Errorf("%s: the digest moved", c.name)
		}
		counts[c.rule]++
	}
	for rule, n := range counts {
		if got := r.s.Refused()[rule]; got != n {
			t.Errorf("counted %d of %s, want %d", got, rule, n)
		}
	}
}

// A parent that turns out to be of the wrong kind, space or time refuses those that waited for it.
func TestRefusedWhenTheParentComes(t *testing.T) {
	r := newReplica(t, everybody, newClock())
	profile := seal(t, 1, graph.Body{Space: r.s.ID(), Time: 100, Kind: graph.KindProfile})
	child := seal(t, 2, graph.Body{Space: r.s.ID(), Time: 200, Refs: graph.Refs{Messages: []graph.ID{profile.ID()}}})
	grandchild := seal(t, 3, graph.Body{Space: r.s.ID(), Time: 300, Prev: []graph.ID{child.ID()}})
	if res := r.add(t, grandchild, child); len(res.Held) != 2 || !slices.Equal(res.Missing, []graph.ID{profile.ID()}) {
		t.Fatalf("held %v, missing %v", res.Held, res.Missing)
	}
	if res := r.add(t, profile); len(res.New) != 1 || len(res.Refused) != 0 {
		t.Fatalf("got %+v", res)
	}
	if n := r.s.Refused()[graph.RuleParentKind]; n != 1 {
		t.Fatalf("counted %d", n)
	}
	if m := r.s.Missing(); len(m) != 0 {
		t.Fatalf("asks for %v, which was refused", m)
	}
}

// A parent that turns up in another Space isn't asked for any more, and who named it is refused when it is offered again.
func TestParentElsewhere(t *testing.T) {
	r := newReplica(t, everybody, newClock())
	other, err := r.Create(t.Context(), named(t, "other"))
	check(t, err)
	parent := seal(t, 1, graph.Body{Space: other.ID(), Time: 100})
	child := seal(t, 2, graph.Body{Space: r.s.ID(), Time: 200, Refs: graph.Refs{Messages: []graph.ID{parent.ID()}}})
	if res := r.add(t, child); len(res.Held) != 1 || len(res.Missing) != 1 {
		t.Fatalf("got %+v", res)
	}
	_, err = other.Add(t.Context(), []*graph.Entry{parent}, graph.AddOptions{})
	check(t, err)
	if m := r.s.Missing(); len(m) != 0 {
		t.Fatalf("asks for %v", m)
	}
	if res := r.add(t, child); len(res.Refused) != 1 || res.Refused[0].Rule != graph.RuleParentSpace {
		t.Fatalf("got %+v", res)
	}
	if p, _, _ := r.s.HeldCounts(); p != 0 {
		t.Fatalf("%d still held", p)
	}
}

func TestHeldForAParent(t *testing.T) {
	r := newReplica(t, everybody, newClock())
	c := chain(t, r.s.ID(), 1, 5, 100)
	res := r.add(t, c[4], c[2], c[1])
	if len(res.Held) != 3 || len(res.New) != 0 {
		t.Fatalf("got %+v", res)
	}
	want := []graph.ID{c[0].ID(), c[3].ID()}
	slices.SortFunc(want, graph.ID.Compare)
	if !slices.Equal(res.Missing, want) || !slices.Equal(r.s.Missing(), want) {
		t.Fatalf("missing %v, %v, want %v", res.Missing, r.s.Missing(), want)
	}
	if res := r.add(t, c[2]); len(res.Held) != 1 || len(res.Missing) != 0 {
		t.Fatalf("offered again: %+v", res)
	}
	if p, f, s := r.s.HeldCounts(); p != 3 || f+s != 0 {
		t.Fatalf("held %d %d %d", p, f, s)
	}
	if res := r.add(t, c[0]); len(res.New) != 3 || res.New[2].Entry != c[2] {
		t.Fatalf("got %+v", res)
	}
	if res := r.add(t, c[3], c[0]); len(res.New) != 2 || res.Known != 1 {
		t.Fatalf("got %+v", res)
	}
	if p, _, _ := r.s.HeldCounts(); p != 0 || r.s.Digest().Count != 5 {
		t.Fatalf("%d still held", p)
	}
}

// TestHeldBounds fills the pool to its edge and one over: the oldest is pushed out.
func TestHeldBounds(t *testing.T) {
	space := named(t, "s").ID
	orphan := func(who, n int, payload []byte) *graph.Entry {
		p := graph.BlockID([]byte{byte(n), byte(n >> 8), byte(who), byte(who >> 8)})
		return seal(t, who, graph.Body{Space: space, Time: 1000, Refs: graph.Refs{Messages: []graph.ID{p}}, Payload: payload})
	}
	big := append(append([]byte(`{"content":{"x":"`), make([]byte, graph.MaxPayload-100)...), `"}}`...)
	for i := range big {
		if big[i] == 0 {
			big[i] = 'x'
		}
	}
	cases := []struct {
		name  string
		max   int
		entry func(n int) *graph.Entry
		from  func(n int) graph.NodeID
	}{
		{
			"peer", graph.MaxHeldPerPeer,
			func(n int) *graph.Entry { return orphan(n%3, n, nil) },
			func(int) graph.NodeID { return author(9) },
		},
		{
			"author", graph.MaxHeldPerAuthor,
			func(n int) *graph.Entry { return orphan(1, n, nil) },
			func(n int) graph.NodeID { return author(n % 3) },
		},
		{
			"bytes", graph.MaxHeldBytes / (graph.MaxPayload + 1030),
			func(n int) *graph.Entry { return orphan(n, n, big) },
			func(n int) graph.NodeID { return author(n) },
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newReplica(t, everybody, newClock())
			var oldest *graph.Entry
			for n := range c.max + 1 {
				if p, _, _ := r.s.HeldCounts(); p != n {
					t.Fatalf("%d held after %d", p, n)
				}
				e := c.entry(n)
				if oldest == nil {
					oldest = e
				}
				_, err := r.s.Add(t.Context(), []*graph.Entry{e}, graph.AddOptions{From: c.from(n)})
				check(t, err)
			}
			if p, _, _ := r.s.HeldCounts(); p != c.max {
				t.Fatalf("%d held, want %d", p, c.max)
			}
			if slices.Contains(r.s.Missing(), oldest.Body().Refs.Messages[0]) {
				t.Fatal("the oldest is still there")
			}
		})
	}
}

func TestHeldForItsTime(t *testing.T) {
	c := newClock()
	r := newReplica(t, everybody, c)
	at := graph.TimeOf(c.now()) + graph.Time(graph.MaxFuture.Microseconds())
	edge := seal(t, 1, graph.Body{Space: r.s.ID(), Time: at})
	future := seal(t, 2, graph.Body{Space: r.s.ID(), Time: at + 1})
	child := seal(t, 1, graph.Body{Space: r.s.ID(), Time: at + 2, Seq: 2, Prev: []graph.ID{edge.ID(), future.ID()}})
	res := r.add(t, edge, future, child)
	if len(res.New) != 1 || res.New[0].Entry != edge || len(res.Held) != 2 || len(res.Missing) != 0 {
		t.Fatalf("got %+v", res)
	}
	added, fetch, err := r.s.Due(t.Context())
	if err != nil || len(added)+len(fetch) > 0 {
		t.Fatalf("due too early: %v %v %v", added, fetch, err)
	}
	c.step(time.Microsecond)
	if _, fetch, err = r.s.Due(t.Context()); err != nil || !slices.Equal(fetch, []graph.ID{future.ID()}) {
		t.Fatalf("due: %v %v", fetch, err)
	}
	if res = r.add(t, child); len(res.Held) != 1 {
		t.Fatalf("got %+v", res)
	}
	c.step(time.Microsecond)
	if res = r.add(t, child); len(res.Held) != 1 || !slices.Equal(res.Missing, []graph.ID{future.ID()}) {
		t.Fatalf("the child's parent isn't asked for: %+v", res)
	}
	if res = r.add(t, future); len(res.New) != 2 {
		t.Fatalf("got %+v", res)
	}
	if p, f, _ := r.s.HeldCounts(); p+f != 0 {
		t.Fatalf("still held: %d %d", p, f)
	}
}

// Futures outlive a restart, one host may have so many, and what comes by itself in time needs no fetch.
func TestFuturesOnDisk(t *testing.T) {
	c := newClock()
	st := store.Memory()
	l, err := graph.OpenLog(st, graph.LogOptions{Rights: everybody, Now: c.now})
	check(t, err)
	s, err := l.Create(t.Context(), named(t, "s"))
	check(t, err)
	from := graph.TimeOf(c.now().Add(time.Hour))
	entries := chain(t, s.ID(), 1, graph.MaxFutures+1, from)
	_, err = s.Add(t.Context(), entries, graph.AddOptions{From: author(8)})
	check(t, err)
	mine := seal(t, 2, graph.Body{Space: s.ID(), Time: from})
	_, err = s.Add(t.Context(), []*graph.Entry{mine}, graph.AddOptions{From: author(9)})
	check(t, err)
	check(t, l.Close())
	l, err = graph.OpenLog(st, graph.LogOptions{Now: c.now})
	check(t, err)
	s, err = l.Space(s.ID())
	check(t, err)
	if _, f, _ := s.HeldCounts(); f != graph.MaxFutures+1 {
		t.Fatalf("%d names kept, want %d", f, graph.MaxFutures+1)
	}
	c.step(24 * time.Hour)
	check(t, l.Apply(t.Context(), everybody))
	res, err := s.Add(t.Context(), []*graph.Entry{mine}, graph.AddOptions{From: author(8)})
	if err != nil || len(res.New) != 1 {
		t.Fatalf("got %+v, %v", res, err)
	}
	if _, fetch, err := s.Due(t.Context()); err != nil || len(fetch) != graph.MaxFutures || slices.Contains(fetch, mine.ID()) {
		t.Fatalf("%d due, %v", len(fetch), err)
	}
}

func TestHeldForAGrant(t *testing.T) {
	st := store.Memory()
	c := newClock()
	l, err := graph.OpenLog(st, graph.LogOptions{Rights: rights{author(1): {Known: true, May: true}}, Now: c.now})
	check(t, err)
	s, err := l.Create(t.Context(), named(t, "s"))
	check(t, err)
	theirs := chain(t, s.ID(), 2, 3, 100)
	answer := seal(t, 1, graph.Body{Space: s.ID(), Time: 10_000_000, Refs: graph.Refs{Messages: []graph.ID{theirs[1].ID()}}})
	res, err := s.Add(t.Context(), append(slices.Clone(theirs), answer, theirs[0]), graph.AddOptions{From: author(9)})
	if err != nil || len(res.Held) != 5 || len(res.New) != 0 || len(res.Missing) != 0 {
		t.Fatalf("got %+v, %v", res, err)
	}
	if p, _, n := s.HeldCounts(); p != 1 || n != 3 {
		t.Fatalf("held %d, %d", p, n)
	}
	if s.Digest().Count != 0 || len(s.Heads()) != 0 {
		t.Fatal("a stranger counts")
	}
	check(t, l.Close())
	if l, err = graph.OpenLog(st, graph.LogOptions{Now: c.now}); err != nil {
		t.Fatal(err)
	}
	s, err = l.Space(s.ID())
	check(t, err)
	if _, _, n := s.HeldCounts(); n != 3 {
		t.Fatalf("%d strangers after a restart", n)
	}
	check(t, l.Apply(t.Context(), everybody))
	if _, _, n := s.HeldCounts(); n != 0 || s.Digest().Count != 3 || s.Count() != 3 {
		t.Fatalf("%d strangers after the grant, %d admitted", n, s.Digest().Count)
	}
	all, err := s.All(t.Context(), graph.Page{})
	if err != nil || !slices.Equal(ids(all), []graph.ID{theirs[0].ID(), theirs[1].ID(), theirs[2].ID()}) {
		t.Fatalf("all: %v %v", ids(all), err)
	}
}

// TestStrangerQuota fills one host's quota, by count and by bytes; another host still has its own.
func TestStrangerQuota(t *testing.T) {
	pad := make([]byte, graph.MaxPayload-100)
	for i := range pad {
		pad[i] = ' '
	}
	big := seal(t, 1, graph.Body{Space: named(t, "s").ID, Time: 1, Payload: append([]byte(`{"content":{}}`), pad...)})
	for name, c := range map[string]struct {
		max     int
		payload []byte
	}{
		"count": {graph.MaxStrangers, nil},
		"bytes": {graph.MaxStrangerBytes / len(big.Block()), big.Body().Payload},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReplica(t, rights{}, newClock())
			var batch []*graph.Entry
			for n := range c.max + 1 {
				batch = append(batch, seal(t, 1, graph.Body{Space: r.s.ID(), Time: graph.Time(100_000 + n), Payload: c.payload}))
			}
			for part := range slices.Chunk(batch, 1000) {
				_, err := r.s.Add(t.Context(), part, graph.AddOptions{From: author(8)})
				check(t, err)
			}
			if _, _, n := r.s.HeldCounts(); n != c.max {
				t.Fatalf("%d held, want %d", n, c.max)
			}
			_, err := r.s.Add(t.Context(), batch[c.max:], graph.AddOptions{From: author(9)})
			check(t, err)
			if _, _, n := r.s.HeldCounts(); n != c.max+1 {
				t.Fatalf("%d held, want %d", n, c.max+1)
			}
			check(t, r.Apply(t.Context(), everybody))
			if _, _, n := r.s.HeldCounts(); n != 0 || r.s.Digest().Count != uint64(c.max+1) {
				t.Fatalf("%d still held", n)
			}
		})
	}
}

func TestAddEnded(t *testing.T) {
	r := newReplica(t, everybody, newClock())
	e := seal(t, 1, graph.Body{Space: r.s.ID(), Time: 100})
	check(t, r.Close())
	check(t, r.Close())
	if _, err := r.s.Add(t.Context(), []*graph.Entry{e}, graph.AddOptions{}); !errors.Is(err, graph.ErrClosed) {
		t.Fatalf("got %v", err)
	}
	if _, err := r.Space(r.s.ID()); !errors.Is(err, graph.ErrClosed) {
		t.Fatalf("got %v", err)
	}
}
