package graph_test

// This file holds rebuilds after losses: blocks, arrival records, a crash in between.

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"plexus/graph"
)

func (r *rich) rebuild(t testing.TB) {
	t.Helper()
	if err := r.s.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p := r.problems(t); len(p) > 0 {
		t.Fatalf("%d problems:\n%s", len(p), strings.Join(p[:min(len(p), 20)], "\n"))
	}
}

// TestRebuildLostBlocks: what is lost goes with what lies behind it, and all is there again when a peer sends the lost ones.
func TestRebuildLostBlocks(t *testing.T) {
	r := newRich(t)
	before := r.s.Digest()
	blocks := r.records(t, 0x11)
	gone, torn := blocks[100], blocks[120]
	r.apply(t, graph.Op{Kind: graph.Del, Key: gone.Key}, graph.Op{Kind: graph.Set, Key: torn.Key, Value: flipped(torn.Value, 70)})
	r.open(t)
	last := r.Last()
	r.rebuild(t)
	if got := r.s.Digest().Count; got != 100 {
		t.Fatalf("%d entries are left, want the 100 before the first lost one", got)
	}
	missing := r.s.Missing()
	if !slices.Contains(missing, graph.ID(gone.Key[13:])) {
		t.Fatal("the lost entry isn't asked for")
	}
	for _, kv := range []graph.KV{gone, torn} {
		e, err := graph.Decode(kv.Value[18:])
		if err != nil {
			t.Fatal(err)
		}
		r.add(t, e)
	}
	if r.s.Digest() != before {
		t.Fatalf("%+v, before %+v", r.s.Digest(), before)
	}
	if p := r.problems(t); len(p) > 0 {
		t.Fatal(p)
	}
	if r.Last() <= last {
		t.Fatalf("arrival numbers were given again: %d, then %d", last, r.Last())
	}
	r.open(t)
	if p := r.problems(t); len(p) > 0 {
		t.Fatal(p)
	}
}

// TestRebuildKeepsTheLastNumber, though its entry is gone.
func TestRebuildKeepsTheLastNumber(t *testing.T) {
	r := newRich(t)
	e := r.send(t, 0, draft("the last one"))
	last := r.Last()
	for _, kv := range r.records(t, 0x11) {
		if graph.ID(kv.Key[13:]) == e.ID() {
			r.apply(t, graph.Op{Kind: graph.Del, Key: kv.Key})
		}
	}
	r.rebuild(t)
	r.open(t)
	if p := r.problems(t); len(p) > 0 {
		t.Fatal(p)
	}
	if st := r.send(t, 0, draft("another")); r.Last() != last+1 || st.ID() == e.ID() {
		t.Fatalf("number %d after %d", r.Last(), last)
	}
	if p := r.problems(t); len(p) > 0 {
		t.Fatal(p)
	}
}

// TestRebuildLostArrivals: numbers are kept where they can be read, and given anew where not.
func TestRebuildLostArrivals(t *testing.T) {
	r := newRich(t)
	before := r.s.Digest()
	count := r.s.Count()
	for i, kv := range r.records(t, 0x12) {
		switch i % 40 {
		case 7:
			r.apply(t, graph.Op{Kind: graph.Del, Key: kv.Key})
		case 8:
			r.apply(t, graph.Op{Kind: graph.Set, Key: kv.Key, Value: flipped(kv.Value, 0)})
		case 9:
			r.apply(t, graph.Op{Kind: graph.Set, Key: kv.Key, Value: flipped(kv.Value, 1)})
		case 10:
			r.apply(t, graph.Op{Kind: graph.Set, Key: kv.Key, Value: kv.Value[1:]})
		}
	}
	r.rebuild(t)
	if r.s.Digest() != before || r.s.Count() != count {
		t.Fatalf("%+v %d, before %+v %d", r.s.Digest(), r.s.Count(), before, count)
	}
	all, err := r.s.All(t.Context(), graph.Page{HasAfter: true, Limit: graph.MaxPage})
	if err != nil || len(all) != count {
		t.Fatal(len(all), err)
	}
	r.open(t)
	if p := r.problems(t); len(p) > 0 {
		t.Fatal(p)
	}
}

// TestRebuildCrash stops a rebuild after each of its writes; the next start does it again.
func TestRebuildCrash(t *testing.T) {
	sound := newRich(t)
	for n := range 12 {
		r := newRich(t)
		blocks := r.records(t, 0x15)
		r.apply(t, graph.Op{Kind: graph.Del, Key: blocks[0].Key})
		b := &brittle{Store: r.st, left: 1 << 30}
		r.st = b
		r.open(t)
		b.left = n
		err := r.s.Rebuild(t.Context())
		b.left = 1 << 30
		r.open(t)
		if err == nil && n == 0 {
			t.Fatal("no write was refused")
		}
		if n == 0 { // not even begun
			r.rebuild(t)
		}
		if p := r.problems(t); len(p) > 0 {
			t.Fatalf("stopped after %d writes (%v): %v", n, err, p[:min(len(p), 10)])
		}
		sameRich(t, sound, r)
	}
}

var errBrittle = errors.New("no more writes")

// brittle is a store that takes so many writes and no more.
type brittle struct {
	graph.Store
	left int
}

func (b *brittle) Apply(ops []graph.Op) (func() error, error) {
	if b.left--; b.left < 0 {
		return nil, errBrittle
	}
	return b.Store.Apply(ops)
}

// TestDamageMendsItself: a node starts with damaged indexes.
func TestDamageMendsItself(t *testing.T) {
	sound := newRich(t)
	for _, ks := range []byte{0x10, 0x14, 0x15, 0x1c, 0x1f} {
		r := newRich(t)
		kv := r.records(t, ks)[0]
		r.apply(t, graph.Op{Kind: graph.Set, Key: kv.Key, Value: []byte{1}})
		r.open(t)
		if p := r.problems(t); len(p) > 0 {
			t.Errorf("%#x: %v", ks, p)
		}
		sameRich(t, sound, r)
	}
}

// dying is a store whose reads fail after a while.
type dying struct {
	graph.Store
	left int
}

func (d *dying) Scan(lo, hi []byte, reverse bool) iter.Seq2[graph.KV, error] {
	return func(yield func(graph.KV, error) bool) {
		for kv, err := range d.Store.Scan(lo, hi, reverse) {
			if d.left--; d.left < 0 {
				yield(graph.KV{}, errBrittle)
				return
			}
			if !yield(kv, err) {
				return
			}
		}
	}
}

// TestCheckFails: a store that can't be read is an error, not a Space without problems.
func TestCheckFails(t *testing.T) {
	r := newRich(t)
	d := &dying{Store: r.st, left: 1 << 30}
	r.st = d
	r.open(t)
	for left := 0; left < 3000; left += 97 {
		d.left = left
		_, err := r.s.Check(t.Context())
		if _, e := r.Log.Check(t.Context()); e != nil {
			err = e
		}
		if err != nil && !errors.Is(err, errBrittle) {
			t.Fatal(err)
		}
		if err == nil && d.left < 0 {
			t.Fatalf("after %d reads: no error", left)
		}
	}
}

// BenchmarkCheck walks 20,000 entries on Pebble.
func BenchmarkCheck(b *testing.B) {
	_, s := onDisk(b, b.TempDir())
	if _, err := s.Add(b.Context(), conversation(b, 20_000), graph.AddOptions{}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if got, err := s.Check(b.Context()); err != nil || len(got.Problems) > 0 || got.Entries != 20_000 {
			b.Fatal(got, err)
		}
	}
	b.ReportMetric(20_000*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}

// TestRebuildInChunks has more entries than one transaction takes, and authors who come late.
func TestRebuildInChunks(t *testing.T) {
	r := newReplica(t, everybody, nil)
	var marks []graph.ID
	for i := range 2300 {
		e := r.send(t, i%(2+i/250), draft(fmt.Sprint(i)))
		if i%230 == 0 {
			marks = append(marks, e.ID())
		}
	}
	digest := r.s.Digest()
	if err := r.s.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := r.s.Check(t.Context()); err != nil || len(got.Problems) > 0 || got.Entries != 2300 {
		t.Fatal(got.Entries, got.Problems, err)
	}
	if got, err := r.Log.Check(t.Context()); err != nil || len(got.Problems) > 0 {
		t.Fatal(got.Problems, err)
	}
	if r.s.Digest() != digest {
		t.Fatal("another Space")
	}
	for i := range marks[1:] {
		before, err := r.s.HappenedBefore(marks[i], marks[i+1])
		after, err2 := r.s.HappenedBefore(marks[i+1], marks[i])
		if !before || after || err != nil || err2 != nil {
			t.Fatal(i, before, after, err, err2)
		}
	}
}
