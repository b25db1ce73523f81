package graph

// This file holds the Space's two doors: Add and Send in, Tail out.

import (
	"context"
	"crypto/ed25519"
	"iter"
)

// Space is one message graph with its indexes. Safe for concurrent use; one mutex, held for one store transaction.
type Space struct{ _ int }

// ID and Genesis say which Space it is; Name is the genesis' name.
func (s *Space) ID() ID           { panic("unimplemented") }
func (s *Space) Genesis() Genesis { panic("unimplemented") }

// AddResult is what became of a batch. Every entry of the batch is in exactly one of the lists, by index order.
type AddResult struct {
	New     []Stored        // admitted now, with those that waited for them; durable when Add returns
	Known   int             // were here already
	Held    []ID            // wait: for a parent, for their time, or for a grant of their author
	Missing []ID            // parents nobody has offered yet: ask for these
	Refused []*InvalidError // broke a rule for good
}

// AddOptions say where a batch came from and what is written with it.
type AddOptions struct {
	From NodeID // the delivering host, for quotas; zero: local (import)
	Also []Op   // from Records.Ops: written in the same transaction
}

// Add takes verified entries in: the only way in. It checks seq, prev, parents, time and the author's standing,
// and writes entries, indexes, heads and arrival records in one transaction. Order within the batch doesn't
// matter; parents first is fastest. A refused or held entry never fails the batch; an error means nothing was written.
func (s *Space) Add(ctx context.Context, entries []*Entry, o AddOptions) (AddResult, error) {
	panic("unimplemented")
}

// Send seals a Draft as the author's next entry (seq, prev, hybrid clock) and adds it; it returns when the entry
// is synced. also, where not nil, is called with the sealed entry inside the transaction and its ops are written with it.
//
// Errors: the payload's *InvalidError; ErrInvalid for a ref that isn't here (Field "refs.messages"); ErrForbidden
// where the author isn't known or may not write here. refs.nodes is checked by the caller, who knows the Nodes.
func (s *Space) Send(ctx context.Context, key ed25519.PrivateKey, d Draft, also func(*Entry) []Op) (Stored, error) {
	panic("unimplemented")
}

// Tail is Log.Tail for this Space alone.
func (s *Space) Tail(ctx context.Context, after Pos) iter.Seq2[Stored, error] {
	panic("unimplemented")
}
