package access

// This file holds the one parser of access payloads. It is strict: what it doesn't wholly understand has no effect, so
// that no replica acts on half of a statement.

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	voi "github.com/oasisprotocol/curve25519-voi/primitives/ed25519"

	"plexus/graph"
)

// shape lists an operation's fields besides "op".
type shape struct{ required, optional []string }

func shapeOf(op OpName) (shape, bool) {
	switch op {
	case OpGrant:
		return shape{[]string{"host", "role"}, []string{"invite"}}, true
	case OpEnrol:
		return shape{[]string{"node", "role", "kind", "proof"}, nil}, true
	case OpRevoke, OpCut:
		return shape{[]string{"subject"}, []string{"cuts"}}, true
	case OpRole:
		return shape{[]string{"subject", "role"}, []string{"cuts"}}, true
	case OpInvite:
		return shape{[]string{"invite", "role", "uses", "expires"}, nil}, true
	case OpUninvite:
		return shape{[]string{"invite"}, nil}, true
	case OpPolicy:
		return shape{[]string{"policy"}, nil}, true
	}
	return shape{}, false
}

// Parse reads an access entry's payload. Unknown operations, unknown, missing, duplicate or mistyped fields and
// values out of bounds are ErrInvalid. The proof's signature isn't looked at; CheckProof does that.
func Parse(payload []byte) (Op, error) {
	var op Op
	if err := graph.CheckPayload(payload); err != nil {
		return op, fmt.Errorf("access entry: %w", err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(payload, &fields); err != nil {
		return op, invalid("payload", err.Error())
	}
	if err := unmarshal(fields, "op", &op.Op); err != nil {
		return op, err
	}
	sh, ok := shapeOf(op.Op)
	if !ok {
		return op, invalid("op", fmt.Sprintf("%.40q is unknown", string(op.Op)))
	}
	seen := 1
	for _, name := range sh.required {
		if err := op.set(fields, name); err != nil {
			return Op{}, err
		}
		seen++
	}
	for _, name := range sh.optional {
		if _, ok := fields[name]; !ok {
			continue
		}
		if err := op.set(fields, name); err != nil {
			return Op{}, err
		}
		seen++
	}
	if seen != len(fields) {
		return Op{}, invalid(string(op.Op), "has unknown fields")
	}
	return op, nil
}

func (o *Op) set(fields map[string]json.RawMessage, name string) error {
	switch name {
	case "host":
		return setNode(fields, name, &o.Host)
	case "node":
		return setNode(fields, name, &o.Node)
	case "subject":
		return setNode(fields, name, &o.Subject)
	case "role":
		return unmarshal(fields, name, &o.Role)
	case "kind":
		return o.setKind(fields)
	case "proof":
		return o.setProof(fields)
	case "invite":
		o.Invite = new(Hash)
		return unmarshal(fields, name, o.Invite)
	case "uses":
		if err := unmarshal(fields, name, &o.Uses); err != nil {
			return err
		}
		if o.Uses < 1 || o.Uses > MaxUses {
			return invalid(name, fmt.Sprintf("%d is not between 1 and %d", o.Uses, MaxUses))
		}
	case "expires":
		if err := unmarshal(fields, name, &o.Expires); err != nil {
			return err
		}
		if o.Expires < 0 || o.Expires > graph.MaxTime {
			return invalid(name, "is out of range")
		}
	case "cuts":
		return o.setCuts(fields)
	case "policy":
		if raw := fields[name]; len(raw) == 0 || raw[0] != '{' {
			return invalid(name, "is no object")
		}
		o.Policy = fields[name]
	}
	return nil
}

func (o *Op) setKind(fields map[string]json.RawMessage) error {
	if err := unmarshal(fields, "kind", &o.Kind); err != nil {
		return err
	}
	if o.Kind != Human && o.Kind != Agent {
		return invalid("kind", fmt.Sprintf("%.40q is neither human nor agent", string(o.Kind)))
	}
	return nil
}

func (o *Op) setProof(fields map[string]json.RawMessage) error {
	var s string
	if err := unmarshal(fields, "proof", &s); err != nil {
		return err
	}
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || len(b) != voi.SignatureSize || base64.StdEncoding.EncodeToString(b) != s {
		return invalid("proof", "is no base64 of 64 bytes")
	}
	o.Proof = b
	return nil
}

func (o *Op) setCuts(fields map[string]json.RawMessage) error {
	var raw []map[string]json.RawMessage
	if err := unmarshal(fields, "cuts", &raw); err != nil {
		return err
	}
	if len(raw) > MaxCutSpaces {
		return invalid("cuts", fmt.Sprintf("name %d Spaces, over %d", len(raw), MaxCutSpaces))
	}
	named, spaces := 0, map[graph.ID]bool{}
	for _, r := range raw {
		c, err := parseCut(r)
		if err != nil {
			return err
		}
		if spaces[c.Space] {
			return invalid("cuts", "name a Space twice")
		}
		spaces[c.Space] = true
		named += len(c.Nodes)
		o.Cuts = append(o.Cuts, c)
	}
	if named > MaxCutNodes {
		return invalid("cuts", fmt.Sprintf("name %d authors, over %d", named, MaxCutNodes))
	}
	return nil
}

func parseCut(fields map[string]json.RawMessage) (Cut, error) {
	c := Cut{Nodes: map[graph.NodeID]*graph.ID{}}
	if len(fields) != 2 {
		return c, invalid("cuts", "want space and nodes, and nothing else")
	}
	var text string
	if err := unmarshal(fields, "space", &text); err != nil {
		return c, err
	}
	space, err := graph.ParseID(text)
	if err != nil {
		return c, err
	}
	c.Space = space
	var nodes map[string]*string
	if err := unmarshal(fields, "nodes", &nodes); err != nil {
		return c, err
	}
	for author, last := range nodes {
		n, err := parseNode("cuts", author)
		if err != nil {
			return c, err
		}
		if last == nil {
			c.Nodes[n] = nil
			continue
		}
		id, err := graph.ParseID(*last)
		if err != nil {
			return c, err
		}
		c.Nodes[n] = &id
	}
	return c, nil
}

func setNode(fields map[string]json.RawMessage, name string, n *graph.NodeID) error {
	var s string
	if err := unmarshal(fields, name, &s); err != nil {
		return err
	}
	id, err := parseNode(name, s)
	if err != nil {
		return err
	}
	*n = id
	return nil
}

func parseNode(name, s string) (graph.NodeID, error) {
	id, err := graph.ParseNodeID(s)
	if err != nil {
		return id, err
	}
	if id.String() != s {
		return id, invalid(name, "is not the canonical text of a peer ID")
	}
	return id, nil
}

// unmarshal reads one field; absent and null are refused alike.
func unmarshal(fields map[string]json.RawMessage, name string, v any) error {
	raw, ok := fields[name]
	if !ok {
		return invalid(name, "is missing")
	}
	if string(raw) == "null" {
		return invalid(name, "is null")
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return invalid(name, err.Error())
	}
	return nil
}

func invalid(field, detail string) error {
	return &graph.InvalidError{Field: field, Rule: graph.RulePayload, Detail: detail}
}

// CheckProof verifies an enrolment's proof: that the Node agreed to live on that host of that Network, as it says.
func (o Op) CheckProof(network graph.ID, host graph.NodeID) error {
	msg := ProofMessage(network, host, o.Node, o.Role, o.Kind)
	opts := &voi.Options{Verify: &voi.VerifyOptions{ // ZIP-215, but no key of small order: under one a signature fits many messages
		AllowSmallOrderR: true, AllowNonCanonicalA: true, AllowNonCanonicalR: true,
	}}
	if len(o.Proof) != voi.SignatureSize || !voi.VerifyWithOptions(o.Node[:], msg, o.Proof, opts) {
		return invalid("proof", "isn't the Node's signature for this host, role and kind")
	}
	return nil
}
