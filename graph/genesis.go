package graph

// This file holds the genesis blocks, which give a Space its ID. protocol.md §3.7.

import "crypto/ed25519"

// GenesisKind tells the three apart.
type GenesisKind string

// Named Spaces are open to the Network; the Network's own genesis governs it; private Spaces come later.
const (
	GenesisNamed   GenesisKind = "named"
	GenesisNetwork GenesisKind = "network"
	GenesisPrivate GenesisKind = "private"
)

// Genesis is the first block of a Space. Immutable.
type Genesis struct {
	ID       ID
	Kind     GenesisKind
	Name     string   // of a named Space, or the label of a Network
	Network  ID       // of a named Space: the Network it lies in
	Founders []NodeID // of a Network: host keys in rank
	Block    []byte
}

// NamedSpace returns the genesis of the Space of that name in a Network: the same on every machine. The name is
// trimmed and brought to NFC first; empty or over MaxSpaceName is ErrInvalid.
func NamedSpace(network ID, name string) (Genesis, error) { panic("unimplemented") }

// NewNetwork makes and signs a Network's genesis with a random nonce; the first founder's key signs.
func NewNetwork(name string, key ed25519.PrivateKey, others ...NodeID) (Genesis, error) {
	panic("unimplemented")
}

// DecodeGenesis reads and verifies any genesis block.
func DecodeGenesis(block []byte) (Genesis, error) { panic("unimplemented") }
