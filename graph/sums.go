package graph

// This file holds what reconciliation asks of a Space: the sum of any range, the n-th key of one, and its keys. A range is
// covered by whole buckets of the running sums, coarse in the middle and finer towards its ends, and by keys at the very
// ends, so that a sum reads some hundred records whatever the Space's size.

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
)

// piece is a part of a range: buckets from ≤ b < to of a level, or, where level is keysOf, keys lo ≤ k < hi.
type piece struct {
	level    int // index into sumLevels
	from, to uint64
	lo, hi   Key
}

// keysOf stands for the level below the finest: the keys themselves.
const keysOf = -1

// cover returns the pieces of lo ≤ key < hi, ascending.
func cover(lo, hi Key) []piece {
	if lo.Time < 0 {
		lo = Key{}
	}
	if hi.Time > MaxTime {
		hi = Key{Time: MaxTime + 1}
	}
	if lo.Compare(hi) >= 0 {
		return nil
	}
	shift := sumLevels[0]
	from, to := ceil(lo, shift), uint64(hi.Time)>>shift
	if from >= to {
		return []piece{{level: keysOf, lo: lo, hi: hi}}
	}
	left := []piece{{level: keysOf, lo: lo, hi: Key{Time: Time(from << shift)}}}
	right := []piece{{level: keysOf, lo: Key{Time: Time(to << shift)}, hi: hi}}
	for level := range sumLevels {
		var step byte
		up, down := to, to // the coarser level's share: nothing on top
		if level+1 < len(sumLevels) {
			step = sumLevels[level+1] - sumLevels[level]
			up, down = (from+1<<step-1)>>step, to>>step
		}
		if up >= down {
			left = append(left, piece{level: level, from: from, to: to})
			break
		}
		left = append(left, piece{level: level, from: from, to: up << step})
		right = append(right, piece{level: level, from: down << step, to: to})
		from, to = up, down
	}
	for i := len(right) - 1; i >= 0; i-- {
		left = append(left, right[i])
	}
	return left
}

// ceil returns the first bucket of a shift that starts at or after a key.
func ceil(k Key, shift byte) uint64 {
	b := uint64(k.Time) >> shift
	if uint64(k.Time) != b<<shift || k.ID != (ID{}) {
		b++
	}
	return b
}

// parts yields a piece's records as sums, with where each begins: a bucket's, or a single key's.
func (s *Space) parts(ctx context.Context, p piece) iter.Seq2[part, error] {
	return func(yield func(part, error) bool) {
		if p.level == keysOf {
			for k, err := range s.RangeKeys(ctx, p.lo, p.hi) {
				if !yield(part{key: k, sum: IDSum(k.ID)}, err) || err != nil {
					return
				}
			}
			return
		}
		if p.from >= p.to {
			return
		}
		if err := ctx.Err(); err != nil {
			yield(part{}, err)
			return
		}
		level := sumLevels[p.level]
		for kv, err := range s.log.st.Scan(sumKey(s.num, level, p.from), sumKey(s.num, level, p.to), false) {
			if err == nil && len(kv.Value) != SumSize {
				err = corrupt("sum", kv.Value)
			}
			if err != nil {
				yield(part{}, err)
				return
			}
			bucket := get64[uint64](kv.Key[len(kv.Key)-8:])
			if !yield(part{key: Key{Time: Time(bucket << level)}, bucket: bucket, sum: [SumSize]byte(kv.Value)}, nil) {
				return
			}
		}
	}
}

// part is one record of a piece.
type part struct {
	key    Key // the key itself, or where the bucket begins
	bucket uint64
	sum    [SumSize]byte
}

func (p *part) count() int { return int(int64(binary.LittleEndian.Uint64(p.sum[32:]))) }

// RangeSum returns the 256-bit little-endian sum of the IDs with lo ≤ key < hi, wrapping, and their count. What is added meanwhile is in it
// or not, each entry as a whole.
func (s *Space) RangeSum(ctx context.Context, lo, hi Key) (sum [32]byte, n int, err error) {
	var total part
	for _, p := range cover(lo, hi) {
		for r, err := range s.parts(ctx, p) {
			if err != nil {
				return sum, 0, fmt.Errorf("sum of space %s: %w", s.ID(), err)
			}
			AddSum(&total.sum, r.sum[:])
		}
	}
	return [32]byte(total.sum[:32]), total.count(), nil
}

// RangeNth returns the n-th key (0 the first) with lo ≤ key < hi, or ErrNotFound where there are fewer.
func (s *Space) RangeNth(ctx context.Context, lo, hi Key, n int) (Key, error) {
	if n < 0 {
		return Key{}, fmt.Errorf("key %d of space %s: %w", n, s.ID(), ErrNotFound)
	}
	pieces := cover(lo, hi)
	for len(pieces) > 0 {
		p := pieces[0]
		pieces = pieces[1:]
		for r, err := range s.parts(ctx, p) {
			if err != nil {
				return Key{}, fmt.Errorf("sum of space %s: %w", s.ID(), err)
			}
			if c := r.count(); n >= c {
				n -= c
				continue
			}
			if p.level == keysOf {
				return r.key, nil
			}
			pieces = []piece{inside(p.level, r.bucket)}
			break
		}
	}
	return Key{}, fmt.Errorf("key %d of space %s: %w", n, s.ID(), ErrNotFound)
}

// inside is the piece one level finer that makes up a bucket.
func inside(level int, bucket uint64) piece {
	if level == 0 {
		shift := sumLevels[0]
		return piece{level: keysOf, lo: Key{Time: Time(bucket << shift)}, hi: Key{Time: Time((bucket + 1) << shift)}}
	}
	step := sumLevels[level] - sumLevels[level-1]
	return piece{level: level - 1, from: bucket << step, to: (bucket + 1) << step}
}

// RangeKeys yields the keys of all admitted entries with lo ≤ key < hi in canonical order.
func (s *Space) RangeKeys(ctx context.Context, lo, hi Key) iter.Seq2[Key, error] {
	return func(yield func(Key, error) bool) {
		if lo.Compare(hi) >= 0 {
			return
		}
		n := 0
		for kv, err := range s.log.st.Scan(blockKey(s.num, lo), blockKey(s.num, hi), false) {
			if n++; err == nil && n&1023 == 1 {
				err = ctx.Err()
			}
			if err == nil && len(kv.Key) != 45 {
				err = corrupt("block", kv.Key)
			}
			if err != nil {
				yield(Key{}, fmt.Errorf("keys of space %s: %w", s.ID(), err))
				return
			}
			if !yield(lastKey(kv.Key), nil) {
				return
			}
		}
	}
}
