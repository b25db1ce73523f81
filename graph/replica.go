package graph

// This file holds what a replica tells another of itself: digest, heads, frontier, forks. The exchange itself
// is p2p's; finding a difference by ranges is graph/reconcile's.

import (
	"context"
	"iter"
	"slices"
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

// Digest returns the Space's digest. O(1) after the first call since something was admitted.
func (s *Space) Digest() Digest {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.digest == nil {
		s.digest = &Digest{Count: s.stat.admitted, Heads: s.heads.digest()}
	}
	return *s.digest
}

// Heads returns the admitted entries nobody's prev or refs name, sorted.
func (s *Space) Heads() []ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]ID{}, s.heads.ids...)
}

// Frontier yields every author's tip, by author, as they are when it begins.
func (s *Space) Frontier(ctx context.Context) iter.Seq2[ChainTip, error] {
	return func(yield func(ChainTip, error) bool) {
		for _, t := range s.tips() {
			if err := ctx.Err(); err != nil {
				yield(ChainTip{}, err)
				return
			}
			if !yield(t, nil) {
				return
			}
		}
	}
}

// tips returns every author's tip, by author.
func (s *Space) tips() []ChainTip {
	s.mu.Lock()
	tips := make([]ChainTip, 0, len(s.authors))
	for id, a := range s.authors {
		tips = append(tips, ChainTip{id, a.seq, a.id})
	}
	s.mu.Unlock()
	slices.SortFunc(tips, func(a, b ChainTip) int { return a.Author.Compare(b.Author) })
	return tips
}

// Block returns an admitted entry's block, or ErrNotFound.
func (s *Space) Block(id ID) ([]byte, error) {
	e, err := s.find(id)
	if err != nil {
		return nil, err
	}
	return e.block, nil
}

// Forks returns authors with two entries of one seq, in order.
func (s *Space) Forks() (forked []NodeID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, a := range s.authors {
		if a.forked {
			forked = append(forked, id)
		}
	}
	slices.SortFunc(forked, NodeID.Compare)
	return forked
}
