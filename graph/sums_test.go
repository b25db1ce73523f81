package graph_test

// This file holds the running sums against the keys they stand for.

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plexus/graph"
	"plexus/graph/reconcile"
)

var _ reconcile.Set = (*graph.Space)(nil)

var everything = graph.Key{Time: graph.MaxTime + 1}

func keysIn(t testing.TB, s *graph.Space, lo, hi graph.Key) (out []graph.Key) {
	t.Helper()
	for k, err := range s.RangeKeys(context.Background(), lo, hi) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, k)
	}
	return out
}

// bigSum adds IDs as little-endian integers.
func bigSum(keys []graph.Key) (out [32]byte) {
	total := new(big.Int)
	for _, k := range keys {
		b := slices.Clone(k.ID[:])
		slices.Reverse(b)
		total.Add(total, new(big.Int).SetBytes(b))
	}
	total.Mod(total, new(big.Int).Lsh(big.NewInt(1), 256)).FillBytes(out[:])
	slices.Reverse(out[:])
	return out
}

// spread is a Space whose entries lie microseconds to weeks apart.
func spread(t testing.TB, n int) replica {
	c := newClock()
	r := newReplica(t, everybody, c)
	for i := range n {
		r.send(t, i%5, draft(fmt.Sprint("message ", i)))
		switch {
		case i%50 == 49:
			c.step(9 * 24 * time.Hour)
		case i%10 == 9:
			c.step(37 * time.Minute)
		case i%3 == 2:
			c.step(1700 * time.Millisecond)
		}
	}
	return r
}

func TestRangeSum(t *testing.T) {
	s := spread(t, 400).s
	all := keysIn(t, s, graph.Key{}, everything)
	if len(all) != 400 || !slices.IsSortedFunc(all, graph.Key.Compare) {
		t.Fatalf("%d keys", len(all))
	}
	rapid.Check(t, func(rt *rapid.T) {
		bound := rapid.Custom(func(rt *rapid.T) graph.Key {
			k := rapid.SampledFrom(all).Draw(rt, "key")
			switch rapid.IntRange(0, 6).Draw(rt, "place") {
			case 0:
				return graph.Key{}
			case 1:
				return everything
			case 2:
				return graph.Key{Time: k.Time}
			case 3:
				k.Time += graph.Time(rapid.Int64Range(-1<<40, 1<<40).Draw(rt, "off"))
			case 4:
				shift := rapid.IntRange(8, 40).Draw(rt, "shift")
				return graph.Key{Time: k.Time >> shift << shift}
			case 5:
				k.ID[31]++
			}
			return k
		})
		lo, hi := bound.Draw(rt, "lo"), bound.Draw(rt, "hi")
		var want []graph.Key
		for _, k := range all {
			if lo.Compare(k) <= 0 && k.Compare(hi) < 0 {
				want = append(want, k)
			}
		}
		checkRange(rt, s, lo, hi, want)
	})
}

func checkRange(t *rapid.T, s *graph.Space, lo, hi graph.Key, want []graph.Key) {
	sum, n, err := s.RangeSum(context.Background(), lo, hi)
	if err != nil || n != len(want) || sum != bigSum(want) {
		t.Fatalf("sum of %v … %v: %d of %d entries, %v", lo, hi, n, len(want), err)
	}
	i := rapid.IntRange(-1, len(want)).Draw(t, "n")
	k, err := s.RangeNth(context.Background(), lo, hi, i)
	if i < 0 || i == len(want) {
		if !errors.Is(err, graph.ErrNotFound) {
			t.Fatalf("key %d of %d: %v, %v", i, len(want), k, err)
		}
		return
	}
	if err != nil || k != want[i] {
		t.Fatalf("key %d of %d: %v, %v", i, len(want), k, err)
	}
}

func TestRangeEdges(t *testing.T) {
	s := spread(t, 10).s
	for name, c := range map[string]struct {
		lo, hi graph.Key
		want   int
	}{
		"all":            {graph.Key{}, everything, 10},
		"before time":    {graph.Key{Time: -5}, everything, 10},
		"after the end":  {graph.Key{}, graph.Key{Time: 1<<63 - 1}, 10},
		"the wrong way":  {everything, graph.Key{}, 0},
		"nothing":        {everything, everything, 0},
		"a single point": {graph.Key{Time: 5}, graph.Key{Time: 5}, 0},
	} {
		if _, n, err := s.RangeSum(context.Background(), c.lo, c.hi); err != nil || n != c.want {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := s.RangeSum(ctx, graph.Key{}, everything); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestReconcileSpaces: two Spaces that drifted apart find the difference and are one again.
func TestReconcileSpaces(t *testing.T) {
	ctx := context.Background()
	c := newClock()
	a, b := newReplica(t, everybody, c), newReplica(t, everybody, c)
	for i := range 300 {
		a.send(t, i%5, draft(fmt.Sprint("common ", i)))
		c.step(time.Duration(i) * 100 * time.Millisecond)
	}
	b.add(t, a.since(t, nil)...)
	for i := range 40 {
		a.send(t, i%5, draft(fmt.Sprint("only a ", i)))
		b.send(t, 5+i%5, draft(fmt.Sprint("only b ", i)))
		c.step(time.Second)
	}
	opener := reconcile.NewSession(a.s, true, reconcile.Options{})
	answerer := reconcile.NewSession(b.s, false, reconcile.Options{})
	m, err := opener.Initiate(ctx)
	var have, want []graph.ID
	for err == nil && m != nil {
		var h, w []graph.ID
		if m, _, _, err = answerer.Step(ctx, m); err == nil {
			m, h, w, err = opener.Step(ctx, m)
			have, want = append(have, h...), append(want, w...)
		}
	}
	if err != nil || len(have) != 40 || len(want) != 40 {
		t.Fatalf("%d, %d, %v", len(have), len(want), err)
	}
	b.add(t, blocks(t, a, have)...)
	a.add(t, blocks(t, b, want)...)
	if a.s.Digest() != b.s.Digest() || a.s.Digest().Count != 380 {
		t.Fatalf("%+v %+v", a.s.Digest(), b.s.Digest())
	}
}

func blocks(t testing.TB, r replica, ids []graph.ID) (out []*graph.Entry) {
	t.Helper()
	for _, id := range ids {
		block, err := r.s.Block(id)
		if err != nil {
			t.Fatal(err)
		}
		e, err := graph.Decode(block)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// BenchmarkRangeSum sums all but the ends of 100,000 entries on Pebble, written as fast as it goes: the dense case.
func BenchmarkRangeSum(b *testing.B) {
	_, s := onDisk(b, b.TempDir())
	entries := conversation(b, 100_000)
	for len(entries) > 0 {
		n := min(1000, len(entries))
		if _, err := s.Add(context.Background(), entries[:n], graph.AddOptions{}); err != nil {
			b.Fatal(err)
		}
		entries = entries[n:]
	}
	all := keysIn(b, s, graph.Key{}, everything)
	b.Logf("%d entries in %s", len(all), all[len(all)-1].Time.Std().Sub(all[0].Time.Std()))
	b.Run("sum", func(b *testing.B) {
		for i := range b.N {
			at := i * 7919 % 40_000
			_, n, err := s.RangeSum(context.Background(), all[at], all[len(all)-1-at])
			if err != nil || n != len(all)-1-2*at {
				b.Fatal(n, err)
			}
		}
	})
	b.Run("nth", func(b *testing.B) {
		for i := range b.N {
			if k, err := s.RangeNth(context.Background(), graph.Key{}, everything, i*7919%100_000); err != nil || k != all[i*7919%100_000] {
				b.Fatal(k, err)
			}
		}
	})
	b.Run("initiate", func(b *testing.B) {
		for b.Loop() {
			if _, err := reconcile.NewSession(s, true, reconcile.Options{}).Initiate(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
