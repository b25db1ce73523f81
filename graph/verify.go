package graph

// This file holds signatures: Ed25519 with ZIP-215's rule of what is valid, the same one by one and in batches
// (protocol.md §3.3), with the expanded form of the keys met last kept at hand.

import (
	"container/list"
	"crypto/ed25519"
	"sync"

	"github.com/oasisprotocol/curve25519-voi/curve"
	voi "github.com/oasisprotocol/curve25519-voi/primitives/ed25519"
)

// The domains: what is signed is the domain, a zero byte, and the body's bytes as they stand in the block.
const (
	domainEntry   = "plexus:entry:1\x00"
	domainGenesis = "plexus:genesis:1\x00"
)

// Zip215 is ZIP-215's validity without small-order keys, which are refused before, by name.
var zip215 = &voi.Options{Verify: voi.VerifyOptionsZIP_215}

// Keys is a memo shared by all decoders: it changes what a verification costs and never what it says.
var keys = keyCache{most: maxKeys}

func sign(key ed25519.PrivateKey, domain string, body []byte) []byte {
	return ed25519.Sign(key, append([]byte(domain), body...))
}

// KeyError says why a key may sign nothing, or nil.
func keyError(n NodeID, field string) *InvalidError {
	_, err := keys.expanded(n, field)
	return err
}

// VerifyOne checks one signature.
func verifyOne(author NodeID, domain string, body, sig []byte) *InvalidError {
	k, err := keys.expanded(author, "author")
	if err != nil {
		return err
	}
	msg := append(make([]byte, 0, len(domain)+len(body)), domain...)
	if !voi.VerifyExpandedWithOptions(k, append(msg, body...), sig, zip215) {
		return &InvalidError{Field: "signature", Rule: RuleSignature, Detail: "isn't the author's over this body"}
	}
	return nil
}

// Unverified is a decoded block whose signature hasn't been looked at.
type unverified struct {
	entry *Entry
	body  []byte // aliases the block
}

func (u unverified) verify() *InvalidError {
	err := verifyOne(u.entry.body.Author, domainEntry, u.body, u.entry.sig[:])
	if err != nil {
		err.ID = u.entry.id
	}
	return err
}

// VerifyBatch checks the signatures of blocks that decoded, up to batchSize at once, and one by one where a
// batch doesn't hold. In the result nil means valid.
func verifyBatch(us []unverified) []*InvalidError {
	errs := make([]*InvalidError, len(us))
	for lo := 0; lo < len(us); lo += batchSize {
		hi := min(lo+batchSize, len(us))
		if !batchHolds(us[lo:hi]) {
			for i := lo; i < hi; i++ {
				errs[i] = us[i].verify()
			}
		}
	}
	return errs
}

func batchHolds(us []unverified) bool {
	if len(us) < leastBatch {
		return false
	}
	v := voi.NewBatchVerifierWithCapacity(len(us))
	msg := []byte(domainEntry)
	for _, u := range us {
		k, err := keys.expanded(u.entry.body.Author, "author")
		if err != nil {
			return false
		}
		msg = append(msg[:len(domainEntry)], u.body...) // hashed before Add returns
		v.AddExpandedWithOptions(k, msg, u.entry.sig[:], zip215)
	}
	return v.VerifyBatchOnly(nil)
}

// KeyCache keeps the expanded form of the keys used last. Safe for concurrent use.
type keyCache struct {
	most int

	mu    sync.Mutex // guards what follows
	byKey map[NodeID]*list.Element
	used  list.List // of keyed, the last used in front
}

type keyed struct {
	node     NodeID
	expanded *voi.ExpandedPublicKey
}

// Expanded returns a key's expanded form, or why it is refused: no point of the curve, or one of small order, under
// which one signature fits many bodies.
func (c *keyCache) expanded(n NodeID, field string) (*voi.ExpandedPublicKey, *InvalidError) {
	if k := c.lookup(n); k != nil {
		return k, nil
	}
	k, err := voi.NewExpandedPublicKey(n[:])
	if err != nil {
		return nil, &InvalidError{Field: field, Rule: RuleAuthor, Detail: "the key is no point of the curve"}
	}
	if smallOrder(n) {
		return nil, &InvalidError{Field: field, Rule: RuleSmallOrder, Detail: "the key has small order"}
	}
	c.keep(n, k)
	return k, nil
}

// SmallOrder says whether a key that decodes lies among the curve's eight points of small order.
func smallOrder(n NodeID) bool {
	var p curve.EdwardsPoint
	y := curve.CompressedEdwardsY(n)
	_, err := p.SetCompressedY(&y)
	return err == nil && p.IsSmallOrder()
}

func (c *keyCache) lookup(n NodeID) *voi.ExpandedPublicKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[n]
	if e == nil {
		return nil
	}
	c.used.MoveToFront(e)
	return e.Value.(keyed).expanded
}

func (c *keyCache) keep(n NodeID, k *voi.ExpandedPublicKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey == nil {
		c.byKey = make(map[NodeID]*list.Element, c.most)
	}
	if c.byKey[n] != nil {
		return
	}
	if c.used.Len() >= c.most {
		last := c.used.Back()
		delete(c.byKey, last.Value.(keyed).node)
		c.used.Remove(last)
	}
	c.byKey[n] = c.used.PushFront(keyed{n, k})
}
