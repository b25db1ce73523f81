package graph

// This file holds the entry: what is signed, what travels, what is kept. The format is protocol.md §3.

import (
	"crypto/ed25519"
	"fmt"
	"slices"
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

// Parents returns prev ∪ refs.messages, each once: prev first, then the refs in their order.
func (e *Entry) Parents() []ID {
	all := make([]ID, 0, len(e.body.Prev)+len(e.body.Refs.Messages))
	all = append(all, e.body.Prev...)
	for _, id := range e.body.Refs.Messages {
		if !slices.Contains(e.body.Prev, id) {
			all = append(all, id)
		}
	}
	return all
}

// Seal encodes and signs a body. It is one of the two makers of an *Entry. The body must keep the rules of form
// (an *InvalidError else) and its Author must be the key's; the payload isn't looked at ([CheckPayload] is for that).
// The body is copied: the caller may go on using its slices.
func Seal(b Body, key ed25519.PrivateKey) (*Entry, error) {
	if len(key) != ed25519.PrivateKeySize || NodeIDOf(key) != b.Author {
		return nil, &InvalidError{Field: "author", Rule: RuleAuthor, Detail: "isn't the signing key's"}
	}
	if err := keyError(b.Author, "author"); err != nil {
		return nil, err
	}
	block := appendBody(appendHead(make([]byte, 0, sizeHint(b)), majorArray, 2), b)
	block = appendBytes(block, sign(key, domainEntry, block[1:]))
	u, err := parse(block)
	if err != nil {
		err.ID = ID{} // nobody has seen it
		return nil, err
	}
	return u.entry, nil
}

// Decode verifies a block from outside: limits, canonical form, shape, key, signature. It is the other maker.
// The block is kept, not copied. Errors are *InvalidError with the rule's name.
func Decode(block []byte) (*Entry, error) {
	u, err := parse(block)
	if err == nil {
		err = u.verify()
	}
	if err != nil {
		return nil, err
	}
	return u.entry, nil
}

// DecodeBatch decodes many blocks, verifying signatures in one batch with cached keys and one by one where the
// batch fails. Both results have len(blocks): an Entry or an error each.
func DecodeBatch(blocks [][]byte) ([]*Entry, []error) {
	entries, errs := make([]*Entry, len(blocks)), make([]error, len(blocks))
	us, at := make([]unverified, 0, len(blocks)), make([]int, 0, len(blocks))
	for i, block := range blocks {
		u, err := parse(block)
		if err != nil {
			errs[i] = err
			continue
		}
		us, at = append(us, u), append(at, i)
	}
	for j, err := range verifyBatch(us) {
		if err != nil {
			errs[at[j]] = err
			continue
		}
		entries[at[j]] = us[j].entry
	}
	return entries, errs
}

// decodeStored decodes a block that this node verified before it wrote it: form and hash are checked, the signature is
// not. Only the store's readers and Verify's index pass use it; it never sees bytes from outside.
func decodeStored(id ID, block []byte) (*Entry, error) {
	u, err := parse(block)
	if err == nil && u.entry.id == id {
		return u.entry, nil
	}
	return nil, fmt.Errorf("stored block of entry %s is %w; run plexus verify: %w", id, errDamaged, ErrUnavailable)
}
