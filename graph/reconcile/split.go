package reconcile

// This file holds what a range is told by: a list, 16 fingerprints, a sum.

import (
	"context"
	"encoding/binary"
	"fmt"

	"plexus/graph"
)

// sum asks the set.
func (s *Session) sum(ctx context.Context, lo, hi graph.Key) (sum, int, error) {
	var out sum
	v, n, err := s.set.RangeSum(ctx, lo, hi)
	if err != nil {
		return out, 0, err
	}
	copy(out[:], v[:])
	binary.LittleEndian.PutUint64(out[32:], uint64(n))
	return out, n, nil
}

// list returns the IDs of an audited range, at most limit of them: more is ErrTooLarge.
func (s *Session) list(ctx context.Context, lo, hi graph.Key, limit int) ([]graph.ID, error) {
	var ids []graph.ID
	for k, err := range s.set.RangeKeys(ctx, lo, hi) {
		if err != nil {
			return nil, err
		}
		if len(ids) == limit {
			return nil, fmt.Errorf("reconcile: %w: more than %d IDs to audit", graph.ErrTooLarge, MaxAudit)
		}
		ids = append(ids, k.ID)
	}
	return ids, nil
}

// split tells a range that ends at hi: by its IDs where they are few, else by the fingerprints of 16 parts.
func (s *Session) split(ctx context.Context, w *writer, lo, hiKey graph.Key, hi bound) error {
	_, n, err := s.sum(ctx, lo, hiKey)
	if err != nil {
		return err
	}
	if n <= scanAtMost {
		return s.splitByWalk(ctx, w, lo, hiKey, hi)
	}
	return s.splitBySums(ctx, w, lo, hiKey, hi, n)
}

// splitByWalk reads the range's keys once.
func (s *Session) splitByWalk(ctx context.Context, w *writer, lo, hiKey graph.Key, hi bound) error {
	var keys []graph.Key
	for k, err := range s.set.RangeKeys(ctx, lo, hiKey) {
		if err != nil {
			return err
		}
		keys = append(keys, k)
	}
	if len(keys) < 2*buckets {
		ids := make([]graph.ID, len(keys))
		for i, k := range keys {
			ids[i] = k.ID
		}
		w.ids(hi, ids)
		return nil
	}
	from := 0
	for i := range buckets {
		to := from + part(len(keys), i)
		var f sum
		for _, k := range keys[from:to] {
			f.add(k.ID)
		}
		if to == len(keys) {
			w.fingerprint(hi, f)
		} else {
			w.fingerprint(between(keys[to-1], keys[to]), f)
		}
		from = to
	}
	return nil
}

// splitBySums finds the cuts and the fingerprints of a large range without reading it.
func (s *Session) splitBySums(ctx context.Context, w *writer, lo, hiKey graph.Key, hi bound, n int) error {
	for i := range buckets {
		next, nextKey := hi, hiKey
		if i < buckets-1 {
			var err error
			if next, err = s.cut(ctx, lo, hiKey, part(n, i)); err != nil {
				return err
			}
			nextKey = next.key()
		}
		f, _, err := s.sum(ctx, lo, nextKey)
		if err != nil {
			return err
		}
		w.fingerprint(next, f)
		lo = nextKey
	}
	return nil
}

// cut returns a bound with the first n keys of the range below it, where there are more than n.
func (s *Session) cut(ctx context.Context, lo, hi graph.Key, n int) (bound, error) {
	last, err := s.set.RangeNth(ctx, lo, hi, n-1)
	if err != nil {
		return bound{}, err
	}
	for k, err := range s.set.RangeKeys(ctx, last, hi) {
		if err != nil {
			return bound{}, err
		}
		if k != last {
			return between(last, k), nil
		}
	}
	return at(hi), nil
}

// part is the size of the i-th of 16 parts of n.
func part(n, i int) int {
	size := n / buckets
	if i < n%buckets {
		size++
	}
	return size
}

// Sample returns a range of n IDs (fewer at the end of the set) that starts at the r-th, counted round: something to audit.
// ok is false where the set is empty.
func Sample(ctx context.Context, set Set, r uint64, n int) (x Range, ok bool, err error) {
	_, all, err := set.RangeSum(ctx, graph.Key{}, endKey())
	if err != nil || all == 0 {
		return Range{}, false, err
	}
	first := int(r % uint64(all))
	if x.Lo, err = set.RangeNth(ctx, graph.Key{}, endKey(), first); err != nil {
		return Range{}, false, err
	}
	x.Hi = endKey()
	if n < all-first {
		x.Hi, err = set.RangeNth(ctx, x.Lo, endKey(), n)
	}
	return x, err == nil, err
}
