package graph

// This file holds every read of a Space. Each is indexed: its cost follows the answer, not the Space.

import (
	"context"
	"iter"
)

// Page bounds a read in arrival order. With After: the oldest Limit records after it. Without: the newest Limit,
// in arrival order. Limit 0 is PageSize; over MaxPage is cut to MaxPage.
type Page struct {
	After    Pos
	HasAfter bool
	Limit    int
}

// Direction of a Related read.
type Direction uint8

// Both is ancestors and descendants, no siblings; the message itself is always included.
const (
	Both Direction = iota
	Upstream
	Downstream
)

// Key is a place in canonical order: (Time, ID).
type Key struct {
	Time Time
	ID   ID
}

// Compare orders keys canonically.
func (k Key) Compare(o Key) int {
	if k.Time != o.Time {
		if k.Time < o.Time {
			return -1
		}
		return 1
	}
	return k.ID.Compare(o.ID)
}

// Message returns a visible message, or ErrNotFound (void and malformed ones included).
func (s *Space) Message(id ID) (Stored, error) { panic("unimplemented") }

// Entry returns any admitted entry and whether it is visible, or ErrNotFound.
func (s *Space) Entry(id ID) (e *Entry, visible bool, err error) { panic("unimplemented") }

// Has says whether an entry is admitted.
func (s *Space) Has(id ID) bool { panic("unimplemented") }

// Related returns the visible related subgraph of a message along refs.messages, in arrival order, paged.
func (s *Space) Related(ctx context.Context, id ID, d Direction, p Page) ([]Stored, error) {
	panic("unimplemented")
}

// Roots returns visible messages whose both ref arrays are empty.
func (s *Space) Roots(ctx context.Context, p Page) ([]Stored, error) { panic("unimplemented") }

// Addressed returns visible messages that name the node in refs.nodes.
func (s *Space) Addressed(ctx context.Context, node NodeID, p Page) ([]Stored, error) {
	panic("unimplemented")
}

// ForCaller returns IOA's default read for a known caller: messages that name it or have no refs at all, less its own.
func (s *Space) ForCaller(ctx context.Context, node NodeID, p Page) ([]Stored, error) {
	panic("unimplemented")
}

// All returns visible messages.
func (s *Space) All(ctx context.Context, p Page) ([]Stored, error) { panic("unimplemented") }

// Range yields visible messages with lo ≤ key < hi in canonical order, from one consistent view.
func (s *Space) Range(ctx context.Context, lo, hi Key) iter.Seq2[*Entry, error] {
	panic("unimplemented")
}

// Profiles yields, per author, the last visible profile entry of this Space in canonical order.
func (s *Space) Profiles(ctx context.Context) iter.Seq2[*Entry, error] { panic("unimplemented") }

// Profile returns one author's last visible profile entry, or ErrNotFound.
func (s *Space) Profile(author NodeID) (*Entry, error) { panic("unimplemented") }

// Kind yields all admitted entries of a kind other than message in canonical order, void ones included.
func (s *Space) Kind(ctx context.Context, k Kind) iter.Seq2[*Entry, error] { panic("unimplemented") }

// Count returns the number of visible messages.
func (s *Space) Count() int { panic("unimplemented") }

// HappenedBefore says whether a lies in b's past (prev and refs), both admitted here; else ErrNotFound.
func (s *Space) HappenedBefore(a, b ID) (bool, error) { panic("unimplemented") }
