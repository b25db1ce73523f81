package store

// This file holds the arithmetic of a Sum: a 256-bit little-endian sum and a 64-bit count, each wrapping. Addition is
// associative and commutative, so that operands may be folded in any grouping.

import (
	"encoding/binary"
	"io"
	"math/bits"

	"github.com/cockroachdb/pebble/v2"
)

// sumSize is the width of an operand: 32 bytes of sum and 8 of count.
const sumSize = 40

// addSum adds b to a, in place. An operand of another width counts for nothing, so that one damaged record can't
// stop compactions for ever; Check finds what is then a wrong sum.
func addSum(a *[sumSize]byte, b []byte) {
	if len(b) != sumSize {
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

// merger is written into every store; its name may not change.
func merger() *pebble.Merger {
	return &pebble.Merger{
		Name: "plexus.sum256.v1",
		Merge: func(_, value []byte) (pebble.ValueMerger, error) {
			m := &sumMerger{}
			addSum(&m.sum, value)
			return m, nil
		},
	}
}

// sumMerger folds the operands of one key.
type sumMerger struct{ sum [sumSize]byte }

// MergeNewer and MergeOlder are the same: the order of operands doesn't matter.
func (m *sumMerger) MergeNewer(value []byte) error {
	addSum(&m.sum, value)
	return nil
}

// MergeOlder adds an operand.
func (m *sumMerger) MergeOlder(value []byte) error { return m.MergeNewer(value) }

// Finish returns the sum.
func (m *sumMerger) Finish(bool) ([]byte, io.Closer, error) { return m.sum[:], nil, nil }
