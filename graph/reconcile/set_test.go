package reconcile_test

// This file holds the tests' set, a sorted slice, and an independent small implementation of Negentropy v1 over it,
// against which our bytes are held.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"math/big"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"plexus/graph"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// flat is a Set.
type flat []graph.Key

func newFlat(keys ...graph.Key) flat {
	f := slices.Clone(keys)
	slices.SortFunc(f, graph.Key.Compare)
	return slices.Compact(f)
}

// key is the i-th key of the tests: every third pair shares a time.
func key(i int) graph.Key {
	return graph.Key{Time: graph.Time(1000 * (i - i%3)), ID: sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(i)))}
}

func keys(from, to int) (out []graph.Key) {
	for i := from; i < to; i++ {
		out = append(out, key(i))
	}
	return out
}

func (f flat) find(k graph.Key) int {
	i, _ := slices.BinarySearchFunc(f, k, graph.Key.Compare)
	return i
}

func (f flat) cut(lo, hi graph.Key) flat {
	a, b := f.find(lo), f.find(hi)
	return f[a:max(a, b)]
}

func (f flat) RangeSum(_ context.Context, lo, hi graph.Key) (sum [32]byte, n int, err error) {
	part := f.cut(lo, hi)
	return part.sum(), len(part), nil
}

// sum adds the IDs as big integers.
func (f flat) sum() (out [32]byte) {
	total, one := new(big.Int), new(big.Int)
	be := make([]byte, 32)
	for _, k := range f {
		copy(be, k.ID[:])
		slices.Reverse(be)
		total.Add(total, one.SetBytes(be))
	}
	total.Mod(total, new(big.Int).Lsh(big.NewInt(1), 256)).FillBytes(out[:])
	slices.Reverse(out[:])
	return out
}

func (f flat) RangeKeys(_ context.Context, lo, hi graph.Key) iter.Seq2[graph.Key, error] {
	return func(yield func(graph.Key, error) bool) {
		for _, k := range f.cut(lo, hi) {
			if !yield(k, nil) {
				return
			}
		}
	}
}

func (f flat) RangeNth(_ context.Context, lo, hi graph.Key, n int) (graph.Key, error) {
	part := f.cut(lo, hi)
	if n < 0 || n >= len(part) {
		return graph.Key{}, graph.ErrNotFound
	}
	return part[n], nil
}

// reference is Negentropy v1 as its specification tells it, over indexes, without a frame limit.
type reference struct {
	items     flat
	initiator bool
	in, out   uint64
}

var errReference = errors.New("reference: bad message")

func (r *reference) varint(v uint64) []byte {
	out := []byte{byte(v % 128)}
	for v /= 128; v > 0; v /= 128 {
		out = append([]byte{byte(v%128) | 0x80}, out...)
	}
	return out
}

func (r *reference) bound(t uint64, prefix []byte) []byte {
	var out []byte
	if t == math.MaxUint64 {
		out = r.varint(0)
	} else {
		out = r.varint(t - r.out + 1)
	}
	r.out = t
	return append(append(out, r.varint(uint64(len(prefix)))...), prefix...)
}

func (r *reference) print(lo, hi int) []byte {
	sum := r.items[lo:hi].sum()
	h := sha256.Sum256(append(sum[:], r.varint(uint64(hi-lo))...))
	return h[:16]
}

func (r *reference) split(lo, hi int, t uint64, prefix []byte) []byte {
	n := hi - lo
	if n < 32 {
		out := append(r.bound(t, prefix), 2)
		out = append(out, r.varint(uint64(n))...)
		for _, k := range r.items[lo:hi] {
			out = append(out, k.ID[:]...)
		}
		return out
	}
	var out []byte
	curr := lo
	for i := range 16 {
		size := n / 16
		if i < n%16 {
			size++
		}
		fp := r.print(curr, curr+size)
		curr += size
		bt, bp := t, prefix
		if curr < hi {
			a, b := r.items[curr-1], r.items[curr]
			bt, bp = uint64(b.Time), nil
			if a.Time == b.Time {
				shared := 0
				for a.ID[shared] == b.ID[shared] {
					shared++
				}
				bp = b.ID[:shared+1]
			}
		}
		out = append(append(append(out, r.bound(bt, bp)...), 1), fp...)
	}
	return out
}

func (r *reference) initiate() []byte {
	r.in, r.out = 0, 0
	return append([]byte{0x61}, r.split(0, len(r.items), math.MaxUint64, nil)...)
}

func (r *reference) number(q *[]byte) uint64 {
	var v uint64
	for len(*q) > 0 {
		c := (*q)[0]
		*q = (*q)[1:]
		v = v*128 + uint64(c%128)
		if c < 128 {
			return v
		}
	}
	panic(errReference)
}

func (r *reference) bytes(q *[]byte, n uint64) []byte {
	if n > uint64(len(*q)) {
		panic(errReference)
	}
	out := (*q)[:n]
	*q = (*q)[n:]
	return out
}

// index finds the first item not below a bound, from an index on.
func (r *reference) index(from int, t uint64, prefix []byte) int {
	var full [32]byte
	copy(full[:], prefix)
	for ; from < len(r.items); from++ {
		k := r.items[from]
		if uint64(k.Time) > t || uint64(k.Time) == t && bytes.Compare(k.ID[:], full[:]) >= 0 {
			break
		}
	}
	return from
}

// reconcile answers a message. It panics on a bad one: it only ever meets our own.
func (r *reference) reconcile(q []byte) (out []byte, have, want []graph.ID) {
	r.in, r.out = 0, 0
	out = []byte{0x61}
	q = q[1:]
	var prevTime uint64
	var prevPrefix []byte
	prev, skip := 0, false
	doSkip := func() {
		if skip {
			skip = false
			out = append(append(out, r.bound(prevTime, prevPrefix)...), 0)
		}
	}
	for len(q) > 0 {
		t := r.number(&q)
		switch {
		case t == 0 || r.in == math.MaxUint64:
			t = math.MaxUint64
		default:
			t += r.in - 1
		}
		r.in = t
		prefix := r.bytes(&q, r.number(&q))
		mode := r.number(&q)
		upper := r.index(prev, t, prefix)
		switch mode {
		case 0:
			skip = true
		case 1:
			if bytes.Equal(r.bytes(&q, 16), r.print(prev, upper)) {
				skip = true
				break
			}
			doSkip()
			out = append(out, r.split(prev, upper, t, prefix)...)
		case 2:
			theirs := map[graph.ID]bool{}
			var order []graph.ID
			for range r.number(&q) {
				id := graph.ID(r.bytes(&q, 32))
				theirs[id] = true
				order = append(order, id)
			}
			if r.initiator {
				skip = true
				for _, k := range r.items[prev:upper] {
					if !theirs[k.ID] {
						have = append(have, k.ID)
					}
					delete(theirs, k.ID)
				}
				for _, id := range order {
					if theirs[id] {
						want = append(want, id)
					}
				}
				break
			}
			doSkip()
			out = append(append(out, r.bound(t, prefix)...), 2)
			out = append(out, r.varint(uint64(upper-prev))...)
			for _, k := range r.items[prev:upper] {
				out = append(out, k.ID[:]...)
			}
		}
		prev, prevTime, prevPrefix = upper, t, prefix
	}
	return out, have, want
}
