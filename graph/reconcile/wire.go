package reconcile

// This file holds the bytes: varints, bounds, modes, as Negentropy v1 has them.

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"plexus/graph"
)

// mode says how a range's content is told.
type mode uint64

const (
	modeSkip mode = iota
	modeFingerprint
	modeIDs
)

// infinite is the timestamp after every other.
const infinite = math.MaxUint64

// bound is the exclusive end of a range: a timestamp and the first bytes of an ID.
type bound struct {
	time   uint64
	prefix []byte // ≤ 32 bytes; missing ones are zero
}

// end is the bound after everything.
func end() bound { return bound{time: infinite} }

// endKey is the first key no entry can have.
func endKey() graph.Key { return graph.Key{Time: graph.MaxTime + 1} }

// key returns the least key that isn't below the bound.
func (b bound) key() graph.Key {
	if b.time > uint64(graph.MaxTime) {
		return endKey()
	}
	k := graph.Key{Time: graph.Time(b.time)}
	copy(k.ID[:], b.prefix)
	return k
}

// at is the bound of a key in full.
func at(k graph.Key) bound {
	if k.Compare(endKey()) >= 0 {
		return end()
	}
	return bound{time: uint64(k.Time), prefix: k.ID[:]}
}

// between is the shortest bound that parts two neighbours, lo < hi.
func between(lo, hi graph.Key) bound {
	if lo.Time != hi.Time {
		return bound{time: uint64(hi.Time)}
	}
	n := 0
	for n < idSize-1 && lo.ID[n] == hi.ID[n] {
		n++
	}
	return bound{time: uint64(hi.Time), prefix: bytes.Clone(hi.ID[:n+1])}
}

// writer appends to a message. Timestamps are told as differences from the one before.
type writer struct {
	b    []byte
	last uint64
}

// uvarint appends base 128, most significant digit first, the high bit on all but the last.
func uvarint(b []byte, v uint64) []byte {
	var digits [10]byte
	i := len(digits) - 1
	digits[i] = byte(v & 127)
	for v >>= 7; v > 0; v >>= 7 {
		i--
		digits[i] = byte(v&127) | 128
	}
	return append(b, digits[i:]...)
}

func (w *writer) head(b bound, m mode) {
	if b.time == infinite {
		w.b = uvarint(w.b, 0)
	} else {
		w.b = uvarint(w.b, b.time-w.last+1)
	}
	w.last = b.time
	w.b = uvarint(w.b, uint64(len(b.prefix)))
	w.b = append(w.b, b.prefix...)
	w.b = uvarint(w.b, uint64(m))
}

func (w *writer) skip(b bound) { w.head(b, modeSkip) }

func (w *writer) fingerprint(b bound, s sum) {
	w.head(b, modeFingerprint)
	f := s.fingerprint()
	w.b = append(w.b, f[:]...)
}

func (w *writer) ids(b bound, ids []graph.ID) {
	w.head(b, modeIDs)
	w.b = uvarint(w.b, uint64(len(ids)))
	for i := range ids {
		w.b = append(w.b, ids[i][:]...)
	}
}

// reader takes a message apart. Its errors are graph.ErrInvalid.
type reader struct {
	b    []byte
	last bound // of the range before
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("reconcile: %w: %s", graph.ErrInvalid, fmt.Sprintf(format, args...))
}

func (r *reader) take(n uint64) ([]byte, error) {
	if n > uint64(len(r.b)) {
		return nil, invalid("message ends early")
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out, nil
}

func (r *reader) uvarint() (uint64, error) {
	var v uint64
	for i, c := range r.b {
		if i == 0 && c == 0x80 {
			return 0, invalid("number with a leading zero")
		}
		if v > math.MaxUint64>>7 {
			return 0, invalid("number over 64 bits")
		}
		v = v<<7 | uint64(c&127)
		if c < 128 {
			r.b = r.b[i+1:]
			return v, nil
		}
	}
	return 0, invalid("message ends early")
}

// head reads a range's bound and mode. Bounds never go back.
func (r *reader) head() (bound, mode, error) {
	b, err := r.bound()
	if err != nil {
		return bound{}, 0, err
	}
	m, err := r.uvarint()
	if err != nil {
		return bound{}, 0, err
	}
	if mode(m) > modeIDs {
		return bound{}, 0, invalid("unknown mode %d", m)
	}
	if b.time == r.last.time && bytes.Compare(b.prefix, r.last.prefix) < 0 {
		return bound{}, 0, invalid("bounds go back")
	}
	r.last = b
	return b, mode(m), nil
}

func (r *reader) bound() (bound, error) {
	t, err := r.uvarint()
	if err != nil {
		return bound{}, err
	}
	if t == 0 || r.last.time == infinite {
		t = infinite
	} else if t--; t > infinite-1-r.last.time {
		return bound{}, invalid("timestamp over 64 bits")
	} else {
		t += r.last.time
	}
	n, err := r.uvarint()
	if err != nil {
		return bound{}, err
	}
	if n > idSize {
		return bound{}, invalid("bound of %d bytes", n)
	}
	p, err := r.take(n)
	return bound{time: t, prefix: p}, err
}

func (r *reader) ids() ([]graph.ID, error) {
	n, err := r.uvarint()
	if err != nil {
		return nil, err
	}
	if n > uint64(len(r.b)/idSize) {
		return nil, invalid("message ends early")
	}
	out := make([]graph.ID, n)
	for i := range out {
		copy(out[i][:], r.b[i*idSize:])
	}
	r.b = r.b[n*idSize:]
	return out, nil
}

// sum is what a range holds: graph's running sum, its IDs' sum and their count.
type sum [graph.SumSize]byte

func (s *sum) add(id graph.ID) {
	one := graph.IDSum(id)
	graph.AddSum((*[graph.SumSize]byte)(s), one[:])
}

// Fingerprint is protocol.md §5.5's of a sum of IDs, as RangeSum gives it.
func Fingerprint(ids [32]byte, n int) [fingerprintSize]byte {
	var s sum
	copy(s[:], ids[:])
	binary.LittleEndian.PutUint64(s[32:], uint64(n))
	return s.fingerprint()
}

// fingerprint is the first half of SHA-256 over the sum and the count as a varint.
func (s *sum) fingerprint() (f [fingerprintSize]byte) {
	h := sha256.Sum256(uvarint(append(make([]byte, 0, 42), s[:32]...), binary.LittleEndian.Uint64(s[32:])))
	copy(f[:], h[:])
	return f
}
