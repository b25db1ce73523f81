package store

// This file holds the merge operator that makes a Sum a write without a read.

import (
	"io"

	"github.com/cockroachdb/pebble/v2"

	"plexus/graph"
)

// merger is written into every store; its name may not change.
func merger() *pebble.Merger {
	return &pebble.Merger{
		Name: "plexus.sum256.v1",
		Merge: func(_, value []byte) (pebble.ValueMerger, error) {
			m := &sumMerger{}
			graph.AddSum(&m.sum, value)
			return m, nil
		},
	}
}

// sumMerger folds the operands of one key.
type sumMerger struct{ sum [graph.SumSize]byte }

// MergeNewer adds an operand.
func (m *sumMerger) MergeNewer(value []byte) error {
	graph.AddSum(&m.sum, value)
	return nil
}

// MergeOlder adds an operand: the order doesn't matter.
func (m *sumMerger) MergeOlder(value []byte) error { return m.MergeNewer(value) }

// Finish returns the sum.
func (m *sumMerger) Finish(bool) ([]byte, io.Closer, error) { return m.sum[:], nil, nil }
