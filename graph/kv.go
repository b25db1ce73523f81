package graph

// This file holds what a Space needs of a store: ordered keys, atomic batches, a durable point. graph/store has
// the two implementations.

import (
	"encoding/binary"
	"iter"
	"math/bits"
)

// Store is an ordered key-value store with atomic batches. Safe for concurrent use. Keys and values handed in are
// copied; those handed out belong to the caller.
type Store interface {
	// Get returns ErrNotFound for an absent key.
	Get(key []byte) ([]byte, error)
	// Scan yields lo ≤ key < hi in order, or backwards, from one consistent view; a nil lo or hi is no bound. Key and
	// value are valid only until the next step.
	Scan(lo, hi []byte, reverse bool) iter.Seq2[KV, error]
	// Apply makes the batch visible to Get and Scan at once and whole; the returned wait blocks until it, and
	// every batch applied before it, is synced to disk. Concurrent waits share one sync (group commit).
	Apply(ops []Op) (wait func() error, err error)
	// Close waits for readers to end. A second Close does nothing.
	Close() error
}

// KV is one pair of a Scan.
type KV struct{ Key, Value []byte }

// OpKind says what an Op does.
type OpKind uint8

// Set writes, Del removes, Sum adds Value (32-byte little-endian 256-bit sum ‖ 8-byte little-endian signed count)
// to what is there, component by component, wrapping: a merge that reads nothing.
const (
	Set OpKind = iota
	Del
	Sum
	DelRange // removes Key ≤ k < Value
)

// Op is one write of a batch. A batch's ops take effect in order.
type Op struct {
	Kind       OpKind
	Key, Value []byte
}

// SumSize is the width of a Sum's value: 32 bytes of sum and 8 of count.
const SumSize = 40

// AddSum adds b to a in place, component by component, each wrapping: associative and commutative, so that operands may
// be folded in any grouping. A value of another width counts for nothing, so that one damaged record can't stop a store's
// compactions for ever; Check finds what is then a wrong sum.
func AddSum(a *[SumSize]byte, b []byte) {
	if len(b) != SumSize {
		return
	}
	var carry uint64
	for i := 0; i < 32; i += 8 {
		var s uint64
		s, carry = bits.Add64(binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:]), carry)
		binary.LittleEndian.PutUint64(a[i:], s)
	}
	n := binary.LittleEndian.Uint64(a[32:]) + binary.LittleEndian.Uint64(b[32:])
	binary.LittleEndian.PutUint64(a[32:], n)
}

// IDSum is a Sum's value for one ID.
func IDSum(id ID) (v [SumSize]byte) {
	copy(v[:], id[:])
	v[32] = 1
	return v
}
