package graph

// This file holds the two names everything else is built of: the ID of a block and the ID of a Node.

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	"github.com/ipfs/go-cid"
	"github.com/mr-tron/base58"
	"github.com/multiformats/go-multihash"
)

// ID names a block: the SHA-256 of its DAG-CBOR bytes. Its text is the CIDv1 (dag-cbor, sha2-256) in
// base32, "bafyrei…", 59 characters. The zero ID names nothing.
type ID [32]byte

// NodeID names a Node: its Ed25519 public key. Its text is the libp2p peer ID, "12D3KooW…"; its binary form
// in a body is the 38-byte identity multihash. A host is named by a NodeID as well.
type NodeID [32]byte

// Time is microseconds since the Unix epoch, 0 … [MaxTime] (protocol.md §2).
type Time int64

// MaxTime is 9999-12-31T23:59:59.999999Z.
const MaxTime Time = 253402300799999999

var (
	cidPrefix  = []byte{0x01, 0x71, 0x12, 0x20}             // CIDv1, dag-cbor, sha2-256, 32 bytes
	peerPrefix = []byte{0x00, 0x24, 0x08, 0x01, 0x12, 0x20} // identity multihash of protobuf{Ed25519, 32 bytes}
	idText     = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
)

// BlockID returns the ID of a block's bytes.
func BlockID(block []byte) ID { return sha256.Sum256(block) }

// ParseID reads a CIDv1 (dag-cbor, sha2-256) in base32; anything else, other bases included, is ErrInvalid.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) == 59 { // the usual case, without the CID library
		var b [36]byte
		if _, err := idText.Decode(b[:], []byte(s[1:])); err == nil && bytes.Equal(b[:4], cidPrefix) {
			if copy(id[:], b[4:]); id.String() == s {
				return id, nil
			}
		}
		id = ID{}
	}
	c, err := cid.Decode(s)
	if err != nil {
		return id, &InvalidError{Field: "id", Rule: RuleID, Detail: fmt.Sprintf("%.80q is no CID", s)}
	}
	b := c.Bytes()
	if len(b) != 36 || !bytes.Equal(b[:4], cidPrefix) || c.String() != s {
		return id, &InvalidError{Field: "id", Rule: RuleID, Detail: fmt.Sprintf("%.80q is no base32 CIDv1 with dag-cbor and sha2-256", s)}
	}
	copy(id[:], b[4:])
	return id, nil
}

// CID returns the id as a go-cid value.
func (id ID) CID() cid.Cid {
	return cid.NewCidV1(cid.DagCBOR, multihash.Multihash(append([]byte{0x12, 0x20}, id[:]...)))
}

// String returns the base32 CID, or "" for the zero ID.
func (id ID) String() string {
	if id == (ID{}) {
		return ""
	}
	var b [36]byte
	copy(b[copy(b[:], cidPrefix):], id[:])
	text := [59]byte{'b'}
	idText.Encode(text[1:], b[:])
	return string(text[:])
}

// MarshalText and UnmarshalText make an ID a JSON string.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (id *ID) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 {
		*id = ID{}
		return nil
	}
	*id, err = ParseID(string(b))
	return err
}

// Compare orders IDs by their bytes.
func (id ID) Compare(o ID) int { return bytes.Compare(id[:], o[:]) }

// ParseNodeID reads a base58 peer ID of an Ed25519 key; anything else is ErrInvalid.
func ParseNodeID(s string) (NodeID, error) {
	if len(s) > 64 || !strings.HasPrefix(s, "12D3KooW") {
		return NodeID{}, &InvalidError{Field: "node", Rule: RuleNodeID, Detail: fmt.Sprintf("%.80q is no Ed25519 peer ID", s)}
	}
	b, err := base58.Decode(s)
	if err != nil {
		return NodeID{}, &InvalidError{Field: "node", Rule: RuleNodeID, Detail: fmt.Sprintf("%.80q is no base58", s)}
	}
	return NodeIDFromBytes(b)
}

// NodeIDFromBytes reads the 38-byte identity multihash. It doesn't refuse small-order keys; [Decode] does.
func NodeIDFromBytes(b []byte) (NodeID, error) {
	var n NodeID
	if len(b) != 38 || !bytes.Equal(b[:6], peerPrefix) {
		return n, &InvalidError{Field: "node", Rule: RuleNodeID, Detail: "not the identity multihash of an Ed25519 key"}
	}
	copy(n[:], b[6:])
	return n, nil
}

// NodeIDOf returns the ID of a key's Node.
func NodeIDOf(key ed25519.PrivateKey) NodeID {
	var n NodeID
	copy(n[:], key.Public().(ed25519.PublicKey))
	return n
}

// Bytes returns the 38-byte identity multihash.
func (n NodeID) Bytes() []byte { return append(append([]byte(nil), peerPrefix...), n[:]...) }

// String returns the base58 peer ID, or "" for the zero NodeID.
func (n NodeID) String() string {
	if n == (NodeID{}) {
		return ""
	}
	return base58.Encode(n.Bytes())
}

// MarshalText makes a NodeID a JSON string.
func (n NodeID) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (n *NodeID) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 {
		*n = NodeID{}
		return nil
	}
	*n, err = ParseNodeID(string(b))
	return err
}

// Compare orders NodeIDs by their bytes.
func (n NodeID) Compare(o NodeID) int { return bytes.Compare(n[:], o[:]) }

// TimeOf converts a wall-clock time, cut to microseconds.
func TimeOf(t time.Time) Time { return Time(t.UnixMicro()) }

// Std converts to a UTC time.Time.
func (t Time) Std() time.Time { return time.UnixMicro(int64(t)).UTC() }

// String prints RFC 3339 in UTC with six digits of fraction: the form of created_at.
func (t Time) String() string { return t.Std().Format("2006-01-02T15:04:05.000000Z") }
