package access

// This file holds what an access entry says: the operations, their JSON, and the makers of their Drafts.

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"plexus/graph"
)

// Role is what a host or Node may do; a greater one includes the lesser.
type Role uint8

// The roles, ascending. None is what a revoked or unknown key has.
const (
	None Role = iota
	Reader
	Writer
	Admin
)

var roleNames = [...]string{"none", "reader", "writer", "admin"}

// ParseRole reads "admin", "writer" or "reader".
func ParseRole(s string) (Role, error) {
	for r := Reader; r <= Admin; r++ {
		if roleNames[r] == s {
			return r, nil
		}
	}
	return None, fmt.Errorf("role %.40q is none of admin, writer, reader: %w", s, graph.ErrInvalid)
}

// String returns the role's name, "none" for None.
func (r Role) String() string { return roleNames[min(r, Admin)] }

// MarshalText makes a Role a JSON string.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what ParseRole reads.
func (r *Role) UnmarshalText(b []byte) (err error) {
	*r, err = ParseRole(string(b))
	return err
}

// Kind says what sits behind a Node's key: a claim, attested by Node and host.
type Kind string

// The two kinds. The protocol treats both alike; folds may tell them apart.
const (
	Human Kind = "human"
	Agent Kind = "agent"
)

// Hash names an invite: the SHA-256 of its secret. Its text is 64 hex digits.
type Hash [32]byte

// ParseHash reads 64 lower-case hex digits.
func ParseHash(s string) (h Hash, err error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(h) || hex.EncodeToString(b) != s {
		return h, fmt.Errorf("invite %.80q is not 64 lower-case hex digits: %w", s, graph.ErrInvalid)
	}
	return Hash(b), nil
}

// String returns the hex digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText makes a Hash a JSON string.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what ParseHash reads.
func (h *Hash) UnmarshalText(b []byte) (err error) {
	*h, err = ParseHash(string(b))
	return err
}

// Cut says, for one Space, which entry of each author is the last that stays. A nil ID, or an author left out where
// its Space is named, means that nothing stays.
type Cut struct {
	Space graph.ID                   `json:"space"`
	Nodes map[graph.NodeID]*graph.ID `json:"nodes"`
}

// OpName names an operation.
type OpName string

// The operations of v1. An entry with another one is admitted and has no effect.
const (
	OpGrant    OpName = "grant"
	OpEnrol    OpName = "enrol"
	OpRevoke   OpName = "revoke"
	OpRole     OpName = "role"
	OpCut      OpName = "cut"
	OpInvite   OpName = "invite"
	OpUninvite OpName = "uninvite"
	OpPolicy   OpName = "policy"
)

// Op is one operation. Which fields belong to which operation says the table in parse.go.
type Op struct {
	Op      OpName          `json:"op"`
	Host    graph.NodeID    `json:"host"`
	Node    graph.NodeID    `json:"node"`
	Subject graph.NodeID    `json:"subject"` // a host or a Node
	Role    Role            `json:"role"`
	Kind    Kind            `json:"kind"`
	Proof   []byte          `json:"proof"` // the Node's signature over ProofMessage
	Invite  *Hash           `json:"invite"`
	Uses    int             `json:"uses"`
	Expires graph.Time      `json:"expires"` // 0: never
	Cuts    []Cut           `json:"cuts"`
	Policy  json.RawMessage `json:"policy"`
}

func draft(v any) graph.Draft {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("access: encode %T: %v", v, err)) // plain values with total marshalers
	}
	return graph.Draft{Kind: graph.KindAccess, Payload: b}
}

// Grant admits a host with a role. invite, where not nil, is the invite it came by.
func Grant(host graph.NodeID, role Role, invite *Hash) graph.Draft {
	return draft(struct {
		Op     OpName       `json:"op"`
		Host   graph.NodeID `json:"host"`
		Role   Role         `json:"role"`
		Invite *Hash        `json:"invite,omitempty"`
	}{OpGrant, host, role, invite})
}

// Enrol says that a Node lives on the host that authors the entry. Both sign: the host the entry, the Node the proof.
func Enrol(network graph.ID, host graph.NodeID, node ed25519.PrivateKey, role Role, kind Kind) graph.Draft {
	id := graph.NodeIDOf(node)
	return draft(struct {
		Op    OpName       `json:"op"`
		Node  graph.NodeID `json:"node"`
		Role  Role         `json:"role"`
		Kind  Kind         `json:"kind"`
		Proof string       `json:"proof"`
	}{OpEnrol, id, role, kind, base64.StdEncoding.EncodeToString(ed25519.Sign(node, ProofMessage(network, host, id, role, kind)))})
}

// Revoke shuts a host or Node out for good. The cuts say what of it stays; a host's should name the Network's own log.
func Revoke(subject graph.NodeID, cuts []Cut) graph.Draft {
	return subjectDraft(OpRevoke, subject, cuts)
}

// CutOff adds cuts for a subject that is revoked or reduced already.
func CutOff(subject graph.NodeID, cuts []Cut) graph.Draft { return subjectDraft(OpCut, subject, cuts) }

func subjectDraft(op OpName, subject graph.NodeID, cuts []Cut) graph.Draft {
	return draft(struct {
		Op      OpName       `json:"op"`
		Subject graph.NodeID `json:"subject"`
		Cuts    []Cut        `json:"cuts,omitempty"`
	}{op, subject, cuts})
}

// SetRole changes the role of a host or Node.
func SetRole(subject graph.NodeID, role Role, cuts []Cut) graph.Draft {
	return draft(struct {
		Op      OpName       `json:"op"`
		Subject graph.NodeID `json:"subject"`
		Role    Role         `json:"role"`
		Cuts    []Cut        `json:"cuts,omitempty"`
	}{OpRole, subject, role, cuts})
}

// NewInvite publishes an invite by the hash of its secret.
func NewInvite(invite Hash, role Role, uses int, expires graph.Time) graph.Draft {
	return draft(struct {
		Op      OpName     `json:"op"`
		Invite  Hash       `json:"invite"`
		Role    Role       `json:"role"`
		Uses    int        `json:"uses"`
		Expires graph.Time `json:"expires"`
	}{OpInvite, invite, role, uses, expires})
}

// Uninvite ends an invite; who came by it stays.
func Uninvite(invite Hash) graph.Draft {
	return draft(struct {
		Op     OpName `json:"op"`
		Invite Hash   `json:"invite"`
	}{OpUninvite, invite})
}

// SetPolicy replaces the Network's policy, a JSON object that later versions give meaning to.
func SetPolicy(policy json.RawMessage) graph.Draft {
	return draft(struct {
		Op     OpName          `json:"op"`
		Policy json.RawMessage `json:"policy"`
	}{OpPolicy, policy})
}

// ProofMessage is what a Node signs to be enrolled with a host (protocol.md §6).
func ProofMessage(network graph.ID, host, node graph.NodeID, role Role, kind Kind) []byte {
	var b bytes.Buffer
	b.WriteString("plexus:enrol:1\x00")
	b.Write(network[:])
	b.Write(host[:])
	b.Write(node[:])
	b.WriteString(role.String())
	b.WriteByte(0)
	b.WriteString(string(kind))
	return b.Bytes()
}
