package graph

// This file holds the genesis blocks, which give a Space its ID. protocol.md §3.7.

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const genesisVersion = 1

// GenesisKind tells the three apart.
type GenesisKind string

// Named Spaces are open to the Network; the Network's own genesis governs it; private Spaces come later.
const (
	GenesisNamed   GenesisKind = "named"
	GenesisNetwork GenesisKind = "network"
	GenesisPrivate GenesisKind = "private" // reserved: DecodeGenesis of v1 refuses it
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
func NamedSpace(network ID, name string) (Genesis, error) {
	name, err := spaceName(name)
	if err != nil {
		return Genesis{}, err
	}
	if name == "" {
		return Genesis{}, genesisError("name", "is empty")
	}
	b := appendHead(appendText(appendHead(nil, majorMap, 3), "v"), majorUint, genesisVersion)
	b = appendText(appendText(b, "name"), name)
	b = appendLink(appendText(b, "network"), network)
	return DecodeGenesis(b)
}

// NewNetwork makes and signs a Network's genesis with a random nonce; the first founder's key signs. The name is a
// label for people, brought to the form of a Space's name; it may be empty.
func NewNetwork(name string, key ed25519.PrivateKey, others ...NodeID) (Genesis, error) {
	var nonce [nonceSize]byte
	_, _ = rand.Read(nonce[:]) // never fails
	return networkGenesis(name, nonce, key, others)
}

func networkGenesis(name string, nonce [nonceSize]byte, key ed25519.PrivateKey, others []NodeID) (Genesis, error) {
	if len(key) != ed25519.PrivateKeySize {
		return Genesis{}, genesisError("founders", "the signing key isn't an Ed25519 private key")
	}
	name, err := spaceName(name)
	if err != nil {
		return Genesis{}, err
	}
	b := appendHead(nil, majorArray, 2)
	b = appendHead(appendText(appendHead(b, majorMap, 5), "v"), majorUint, genesisVersion)
	b = appendText(appendText(b, "kind"), string(GenesisNetwork))
	b = appendText(appendText(b, "name"), name)
	b = appendBytes(appendText(b, "nonce"), nonce[:])
	b = appendHead(appendText(b, "founders"), majorArray, uint64(1+len(others)))
	b = appendNode(b, NodeIDOf(key))
	for _, n := range others {
		b = appendNode(b, n)
	}
	return DecodeGenesis(appendBytes(b, sign(key, domainGenesis, b[1:])))
}

// DecodeGenesis reads and verifies any genesis block: a map is a named Space's, an array a signed one. The block is
// kept, not copied. Errors are *InvalidError.
func DecodeGenesis(block []byte) (Genesis, error) {
	if len(block) > maxGenesis {
		return Genesis{}, &InvalidError{Rule: RuleSize, Detail: fmt.Sprintf("%d bytes, a genesis has at most %d", len(block), maxGenesis)}
	}
	g := Genesis{ID: BlockID(block), Block: block}
	r := &reader{b: block}
	if len(block) > 0 && block[0]>>5 == majorArray {
		r.signedGenesis(&g)
	} else {
		g.Kind = GenesisNamed
		r.genesisMap(&g, []string{"v", "name", "network"})
	}
	r.end()
	if r.err == nil && g.Kind == GenesisNamed && g.Name == "" {
		r.fail(RuleGenesis, "name", "is empty")
	}
	if r.err != nil {
		r.err.ID = g.ID
		return Genesis{}, r.err
	}
	return g, nil
}

func (r *reader) signedGenesis(g *Genesis) {
	if n := r.want(majorArray, "", "an array of body and signature"); r.err == nil && n != 2 {
		r.fail(RuleGenesis, "", "not an array of two")
	}
	start := r.at
	r.genesisMap(g, []string{"v", "kind", "name", "nonce", "founders"})
	body := r.b[start:r.at]
	sig := r.bytes("signature")
	if r.err == nil && len(sig) != ed25519.SignatureSize {
		r.fail(RuleForm, "signature", "isn't 64 bytes")
	}
	if r.err == nil {
		r.err = verifyOne(g.Founders[0], domainGenesis, body, sig)
	}
}

// GenesisMap reads a map of exactly these keys, which are in canonical order: an unknown one would give one Space
// two IDs.
func (r *reader) genesisMap(g *Genesis, names []string) {
	n := r.want(majorMap, "", "a map")
	exact := n == uint64(len(names))
	var k []byte
	for i := uint64(0); i < n && r.err == nil; i++ {
		k = r.key(k)
		if exact = exact && string(k) == names[i]; exact {
			r.genesisField(g, names[i])
		} else {
			r.skip(3)
		}
	}
	if !exact {
		r.fail(RuleGenesis, "", "doesn't have exactly the keys of its kind")
	}
}

func (r *reader) genesisField(g *Genesis, key string) {
	switch key {
	case "v":
		r.int("v", genesisVersion, genesisVersion, RuleGenesis)
	case "kind":
		g.Kind = GenesisKind(r.text("kind"))
		if r.err == nil && g.Kind != GenesisNetwork {
			r.fail(RuleGenesis, "kind", "isn't one this version knows")
		}
	case "name":
		g.Name = string(r.text("name"))
		if s, err := spaceName(g.Name); r.err == nil && (err != nil || s != g.Name) {
			r.fail(RuleGenesis, "name", "isn't trimmed, in NFC and at most 128 bytes")
		}
	case "network":
		g.Network = r.link("network")
	case "nonce":
		if p := r.bytes("nonce"); r.err == nil && len(p) != nonceSize {
			r.fail(RuleGenesis, "nonce", "isn't 32 bytes")
		}
	case "founders":
		g.Founders = r.founders()
	}
}

func (r *reader) founders() []NodeID {
	n := r.array("founders", MaxFounders, RuleGenesis)
	founders := make([]NodeID, 0, n)
	for ; n > 0 && r.err == nil; n-- {
		f := r.node("founders", RuleAuthor)
		if r.err == nil {
			r.err = keyError(f, "founders")
		}
		founders = append(founders, f)
	}
	if !distinct(founders) {
		r.fail(RuleGenesis, "founders", "names one twice")
	}
	return founders
}

// SpaceName brings a name to its one form: white space at both ends off, Unicode NFC.
func spaceName(name string) (string, error) {
	if !utf8.ValidString(name) {
		return "", genesisError("name", "isn't UTF-8")
	}
	name = norm.NFC.String(strings.TrimSpace(name))
	if len(name) > MaxSpaceName {
		return "", genesisError("name", fmt.Sprintf("is %d bytes, at most %d are allowed", len(name), MaxSpaceName))
	}
	return name, nil
}

func genesisError(field, detail string) *InvalidError {
	return &InvalidError{Field: field, Rule: RuleGenesis, Detail: detail}
}
