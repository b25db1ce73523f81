package node

// This file holds what a host remembers beside the Spaces, and how it lies in Log.Records: one keyspace a line, keys
// and values beside their readers and writers.
//
//	node     "network"                     → the current Network's ID
//	local    node ID                       → localNode as JSON: a Node this host holds
//	token    SHA-256 of a token            → node ID
//	bound    identity                      → node ID ‖ claims
//	idem     node ID ‖ SHA-256 of a key    → idemRecord
//	idemage  expiry (8 bytes) ‖ idem's key → nothing
//	ack      node ID ‖ message ID          → nothing
//	grant    space ID ‖ plugin "/" grant   → 1: what the user lets a plugin do
//	react    node ID ‖ space ID ‖ plugin  → 1: turned on
//	caller … p2agone: p2a_records.go
//	trust    see trust.go                  → level (1 byte): what the user said of a Node or an action
//	ackfloor node ID                       → position (8 bytes): of what arrived up to here, all is acknowledged

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"plexus/graph"
	"plexus/sdk/client"
)

// records are the keyspaces.
type records struct {
	node, local, token, bound, idem, idemAge, ack, ackFloor, react, trust, grant graph.Records

	owners *sync.Map // a token's hash → its Node, of those asked for: a token is never taken back, so this needs no other bound
}

func openRecords(log *graph.Log) records {
	return records{
		owners: &sync.Map{},
		node:   log.Records("node"), local: log.Records("local"), token: log.Records("token"), bound: log.Records("bound"),
		idem: log.Records("idem"), idemAge: log.Records("idemage"), ack: log.Records("ack"), ackFloor: log.Records("ackfloor"), react: log.Records("react"),
		trust: log.Records("trust"), grant: log.Records("grant"),
	}
}

const networkKey = "network"

// network returns the current Network's ID, zero where there is none yet.
func (r records) network() (graph.ID, error) {
	b, err := r.node.Get([]byte(networkKey))
	if errors.Is(err, graph.ErrNotFound) {
		return graph.ID{}, nil
	}
	id, err := array(b, err)
	if err != nil {
		return graph.ID{}, fmt.Errorf("read the network's id: %w", err)
	}
	return id, nil
}

func (r records) setNetwork(id graph.ID) error {
	return r.node.Apply(graph.Op{Kind: graph.Set, Key: []byte(networkKey), Value: id[:]})
}

// array makes 32 bytes of a value that was read.
func array(b []byte, err error) ([32]byte, error) {
	if err != nil {
		return [32]byte{}, err
	}
	if len(b) != 32 {
		return [32]byte{}, fmt.Errorf("record of %d bytes, want 32; run plexus verify: %w", len(b), graph.ErrUnavailable)
	}
	return [32]byte(b), nil
}

// localNode is a Node this host holds, as its owner described it.
type localNode struct {
	ID          graph.NodeID             `json:"id"`
	Name        string                   `json:"name"`
	Description string                   `json:"description,omitempty"`
	Meta        json.RawMessage          `json:"meta,omitempty"`
	Kind        string                   `json:"kind"`
	Identities  []client.IdentityBinding `json:"identities,omitempty"`
}

// localNode returns a Node of this host, or ErrNotFound.
func (r records) localNode(id graph.NodeID) (localNode, error) {
	var n localNode
	b, err := r.local.Get(id[:])
	if errors.Is(err, graph.ErrNotFound) {
		return n, notFound("Node", id.String())
	}
	if err == nil {
		err = json.Unmarshal(b, &n)
	}
	if err != nil {
		return n, fmt.Errorf("read node %s: %w", id, err)
	}
	return n, nil
}

func (r records) setLocal(n localNode) ([]graph.Op, error) {
	b, err := json.Marshal(n)
	if err != nil {
		return nil, fmt.Errorf("keep node %s: %w", n.ID, err)
	}
	return r.local.Ops(graph.Op{Kind: graph.Set, Key: n.ID[:], Value: b}), nil
}

// setToken keeps a token's hash.
func (r records) setToken(token string, id graph.NodeID) []graph.Op {
	sum := sha256.Sum256([]byte(token))
	return r.token.Ops(graph.Op{Kind: graph.Set, Key: sum[:], Value: id[:]})
}

// tokenOwner returns the Node a token owns, or ErrNotFound.
func (r records) tokenOwner(token string) (graph.NodeID, error) {
	sum := sha256.Sum256([]byte(token))
	if id, ok := r.owners.Load(sum); ok {
		return id.(graph.NodeID), nil
	}
	id, err := array(r.token.Get(sum[:]))
	if err == nil {
		r.owners.Store(sum, graph.NodeID(id))
	}
	return id, err
}

// identityKey keeps namespace and subject apart.
func identityKey(namespace, subject string) []byte {
	b := binary.AppendUvarint(nil, uint64(len(namespace)))
	return append(append(b, namespace...), subject...)
}

// boundTo returns the Node an identity is bound to, or ErrNotFound.
func (r records) boundTo(namespace, subject string) (graph.NodeID, error) {
	return array(r.bound.Get(identityKey(namespace, subject)))
}

func (r records) bind(b client.IdentityBinding, id graph.NodeID) []graph.Op {
	return r.bound.Ops(graph.Op{Kind: graph.Set, Key: identityKey(b.Namespace, b.Subject), Value: id[:]})
}

func (r records) unbind(b client.IdentityBinding) []graph.Op {
	return r.bound.Ops(graph.Op{Kind: graph.Del, Key: identityKey(b.Namespace, b.Subject)})
}
