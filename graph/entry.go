package graph

// This file holds the entry: what is signed, what travels, what is kept. The format is protocol.md §3.

import (
	"crypto/ed25519"
)

// Kind says which log an entry belongs to. Unknown kinds are admitted and not shown.
type Kind string

// The kinds of v1.
const (
	KindMessage Kind = "message"
	KindProfile Kind = "profile"
	KindAccess  Kind = "access"
	KindPlugin  Kind = "plugin"
	KindEpoch   Kind = "epoch"
)

// Refs are the two kinds of pointer: parents in the same Space, and Nodes addressed.
type Refs struct {
	Messages []ID
	Nodes    []NodeID
}

// Body is what is signed.
type Body struct {
	Kind    Kind
	Space   ID
	Author  NodeID
	Seq     uint64 // 1, 2, 3 … per author and Space
	Time    Time
	Prev    []ID // Prev[0] the author's own previous entry (absent iff Seq = 1), then other heads, sorted
	Refs    Refs
	Payload []byte // JSON text as it was given, or sealed
}

// Entry is a sealed, verified, immutable block. Its slices are owned by the Entry: callers don't write to them.
type Entry struct {
	id    ID
	block []byte
	body  Body
	sig   [ed25519.SignatureSize]byte
}

// ID returns the CID's digest; Block the whole block; Body the decoded body.
func (e *Entry) ID() ID        { return e.id }
func (e *Entry) Block() []byte { return e.block }
func (e *Entry) Body() Body    { return e.body }

// Parents returns prev ∪ refs.messages, each once.
func (e *Entry) Parents() []ID { panic("unimplemented") }

// Seal encodes and signs a body. It is one of the two makers of an *Entry. The body must keep the rules of form
// (an *InvalidError else) and its Author must be the key's; the payload isn't looked at ([CheckPayload] is for that).
func Seal(b Body, key ed25519.PrivateKey) (*Entry, error) { panic("unimplemented") }

// Decode verifies a block from outside: limits, canonical form, shape, key, signature. It is the other maker.
// The block is kept, not copied. Errors are *InvalidError with the rule's name.
func Decode(block []byte) (*Entry, error) { panic("unimplemented") }

// DecodeBatch decodes many blocks, verifying signatures in one batch with cached keys and one by one where the
// batch fails. Both results have len(blocks): an Entry or an error each.
func DecodeBatch(blocks [][]byte) ([]*Entry, []error) { panic("unimplemented") }

// DecodeStored decodes a block that this node verified before it wrote it: form is checked, the signature is not.
// Only the store's readers and Verify's index pass use it; it never sees bytes from outside.
func decodeStored(id ID, block []byte) (*Entry, error) { panic("unimplemented") }
