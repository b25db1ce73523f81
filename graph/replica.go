package graph

// This file holds what a replica tells and asks another: digest, frontier, sums, missing parents. The exchange itself
// is p2p's; finding a difference by ranges is graph/reconcile's.

import (
	"context"
	"iter"
)

// Digest says what a replica holds of a Space: equal digests, equal logs.
type Digest struct {
	Count uint64   // admitted entries
	Heads [32]byte // SHA-256 over the sorted heads' IDs
}

// ChainTip is the end of an author's chain: the highest seq admitted and its entry (of a fork's tips with that seq, the greatest ID).
type ChainTip struct {
	Author NodeID
	Seq    uint64
	ID     ID
}

// Digest returns the Space's digest. O(1) after the first call.
func (s *Space) Digest() Digest { panic("unimplemented") }

// Heads returns the admitted entries nobody's prev or refs name, sorted.
func (s *Space) Heads() []ID { panic("unimplemented") }

// Frontier yields every author's tip, by author.
func (s *Space) Frontier(ctx context.Context) iter.Seq2[ChainTip, error] { panic("unimplemented") }

// Since yields, in canonical order, every admitted entry that a replica with the given frontier lacks by it: for each
// author those with a greater seq. Authors absent from known are sent whole. Forks and holes below a
// tip aren't found this way; range reconciliation finds them.
func (s *Space) Since(ctx context.Context, known map[NodeID]uint64) iter.Seq2[*Entry, error] {
	panic("unimplemented")
}

// Block returns an admitted entry's block, or ErrNotFound.
func (s *Space) Block(id ID) ([]byte, error) { panic("unimplemented") }

// Missing returns parents that held entries wait for and that aren't here.
func (s *Space) Missing() []ID { panic("unimplemented") }

// Due takes in held entries whose time or grant has come; it returns when the next is due (zero: none waits for time).
// IDs of future entries whose block wasn't kept are in fetch.
func (s *Space) Due(ctx context.Context) (added []Stored, fetch []ID, err error) {
	panic("unimplemented")
}

// RangeSum returns the 256-bit little-endian sum of the IDs with lo ≤ key < hi and their count. From running sums per time bucket.
func (s *Space) RangeSum(ctx context.Context, lo, hi Key) (sum [32]byte, n int, err error) {
	panic("unimplemented")
}

// RangeKeys yields the keys of all admitted entries with lo ≤ key < hi in canonical order.
func (s *Space) RangeKeys(ctx context.Context, lo, hi Key) iter.Seq2[Key, error] {
	panic("unimplemented")
}

// Forks returns authors with two entries of one seq.
func (s *Space) Forks() []NodeID { panic("unimplemented") }

// HeldCounts says how many entries wait for a parent, for their time, for a grant.
func (s *Space) HeldCounts() (parent, future, stranger int) { panic("unimplemented") }
