package graph

// This file holds the Log: all Spaces of one data dir, the arrival numbers they share, and the small records other
// parts of the node keep beside them.

import (
	"context"
	"iter"
	"time"
)

// Pos is a local arrival number: dense per data dir, ascending, never reused. 0 is before everything. It is never
// sent to another node; outside the process it appears only as the message ID a cursor resolves.
type Pos uint64

// Event says what an arrival record means for a reader.
type Event uint8

// Added: admitted, not visible (another kind, void, malformed). Shown: a visible message or profile, at its arrival or when
// a later change of access made it so. Withdrawn: was shown, is void now.
const (
	Added Event = iota
	Shown
	Withdrawn
)

// Stored is one record of the arrival log.
type Stored struct {
	Pos   Pos
	Event Event
	Entry *Entry
}

// Standing is what access rules say of an author in a Space. A pure function of the admitted access entries.
type Standing struct {
	Known bool // ever granted or enrolled: the author's entries are admitted. Never goes back to false
	May   bool // entries are visible (subject to Cuts); false: all void
	Cuts  []ID // where not empty: visible is only what lies in the own-chain past (itself included) of every one
}

// Rights answers for every author and Space. graph/access has the real one; implementations are immutable values.
type Rights interface {
	Standing(space Genesis, author NodeID) Standing
}

// LogOptions are Open's settings; the zero value works.
type LogOptions struct {
	Now    func() time.Time // nil: time.Now
	Rights Rights           // nil: nobody is known, so everything is held
}

// Log is all Spaces of one data dir.
type Log struct{ _ int }

// OpenLog opens what lies in the store and brings each Space's visibility up to rights that changed meanwhile.
// It starts no goroutine.
func OpenLog(st Store, o LogOptions) (*Log, error) { panic("unimplemented") }

// Close is safe twice; it doesn't close the Store.
func (l *Log) Close() error { panic("unimplemented") }

// Create makes the Space of a genesis, or returns the one that is there.
func (l *Log) Create(ctx context.Context, g Genesis) (*Space, error) { panic("unimplemented") }

// Space returns a Space by ID, or ErrNotFound.
func (l *Log) Space(id ID) (*Space, error) { panic("unimplemented") }

// Spaces lists the IDs, ascending.
func (l *Log) Spaces() []ID { panic("unimplemented") }

// Apply sets the rights from now on. Each Space is brought up to them in one transaction of its own: Shown and
// Withdrawn records are appended, entries of authors now known are admitted from the held ones. A crash in between is made good
// by OpenLog or the next Apply. The returned records are those appended.
func (l *Log) Apply(ctx context.Context, r Rights) error { panic("unimplemented") }

// Rights returns what Apply set last.
func (l *Log) Rights() Rights { panic("unimplemented") }

// Last returns the greatest durable arrival number.
func (l *Log) Last() Pos { panic("unimplemented") }

// Tail yields every record after a position in every Space, in arrival order, and waits for more until ctx ends
// (which ends the sequence without an error). Only durable records are seen. A slow reader is read back
// from the store; it holds up nobody.
func (l *Log) Tail(ctx context.Context, after Pos) iter.Seq2[Stored, error] { panic("unimplemented") }

// Wait blocks until Last() > after, or ctx ends (its error).
func (l *Log) Wait(ctx context.Context, after Pos) error { panic("unimplemented") }

// Inbox returns shown messages that name the node, over all Spaces, by arrival.
func (l *Log) Inbox(ctx context.Context, node NodeID, p Page) ([]Stored, error) {
	panic("unimplemented")
}

// All returns shown messages of all Spaces, by arrival.
func (l *Log) All(ctx context.Context, p Page) ([]Stored, error) { panic("unimplemented") }

// Find returns an admitted entry by ID in whichever Space it lies, with its first arrival position, void ones
// included (a cursor may name one); else ErrNotFound.
func (l *Log) Find(id ID) (Stored, error) { panic("unimplemented") }

// Records returns a keyspace for another part of the node (tokens, plugin state, cursors), apart from all others.
// The name is 1–16 bytes. Writes go through Records.Apply, or ride in the transaction of a Send or Add.
func (l *Log) Records(name string) Records { panic("unimplemented") }

// Records is a named keyspace beside the Spaces. Keys are the caller's.
type Records struct{ _ int }

// Get returns ErrNotFound for an absent key.
func (r Records) Get(key []byte) ([]byte, error) { panic("unimplemented") }

// Scan yields lo ≤ key < hi (nil hi: to the end) in order; see Store.Scan.
func (r Records) Scan(lo, hi []byte, reverse bool) iter.Seq2[KV, error] { panic("unimplemented") }

// Apply writes one atomic batch and returns when it is synced.
func (r Records) Apply(ops ...Op) error { panic("unimplemented") }

// ApplyNoSync writes one atomic batch without waiting for the disk: for what can be made again (plugin state).
func (r Records) ApplyNoSync(ops ...Op) error { panic("unimplemented") }

// Ops qualifies ops with the keyspace, so that they can ride in the transaction of a Send or Add.
func (r Records) Ops(ops ...Op) []Op { panic("unimplemented") }
