package graph

// This file holds what the tests of the format share: keys, bodies, and blocks built by hand so that they can be wrong.

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
)

// Tester is what tester and rapid.T have in common.
type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// TestKey returns the same key for the same number, on every machine.
func testKey(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

func testID(n int) ID { return BlockID(binary.BigEndian.AppendUint64(nil, uint64(n))) }

// TestIDs returns n IDs in ascending order.
func testIDs(n int) []ID {
	ids := make([]ID, n)
	for i := range ids {
		ids[i] = testID(i)
	}
	slices.SortFunc(ids, ID.Compare)
	return ids
}

func testNode(n int) (id NodeID) {
	binary.BigEndian.PutUint64(id[:], uint64(n)+1)
	return id
}

func testNodes(n int) []NodeID {
	nodes := make([]NodeID, n)
	for i := range nodes {
		nodes[i] = testNode(i)
	}
	return nodes
}

func testBody(n byte) Body {
	return Body{
		Kind: KindMessage, Space: BlockID([]byte("space")), Author: NodeIDOf(testKey(n)),
		Seq: 1, Time: 1_764_513_000_000_000, Payload: []byte(`{"content":{"text":"hello"}}`),
	}
}

func mustSeal(t tester, b Body, key ed25519.PrivateKey) *Entry {
	t.Helper()
	e, err := Seal(b, key)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// WantRule fails unless err is an *InvalidError of that rule.
func wantRule(t tester, err error, rule Rule) {
	t.Helper()
	var inv *InvalidError
	if !errors.As(err, &inv) {
		t.Fatalf("got %v, want rule %s", err, rule)
	}
	if inv.Rule != rule {
		t.Fatalf("got rule %s (%v), want %s", inv.Rule, err, rule)
	}
}

// Pair is one key of a map with its value, both as CBOR.
type pair struct {
	key   string
	value []byte
}

func rawMap(pairs []pair) []byte {
	b := appendHead(nil, majorMap, uint64(len(pairs)))
	for _, p := range pairs {
		b = append(appendText(b, p.key), p.value...)
	}
	return b
}

func rawArray(values ...[]byte) []byte {
	return append(appendHead(nil, majorArray, uint64(len(values))), bytes.Join(values, nil)...)
}

func rawUint(n uint64) []byte   { return appendHead(nil, majorUint, n) }
func rawText(s string) []byte   { return appendText(nil, s) }
func rawBytes(p []byte) []byte  { return appendBytes(nil, p) }
func rawLink(id ID) []byte      { return appendLink(nil, id) }
func rawNode(n NodeID) []byte   { return appendNode(nil, n) }
func rawLinks(ids ...ID) []byte { return appendLinks(nil, ids) }
func unhex(s string) (b []byte) { b, _ = hex.DecodeString(s); return b }
func tagged(cid []byte) []byte {
	return append([]byte{0xd8, tagLink}, rawBytes(append([]byte{0}, cid...))...)
}
func cidOf(prefix string) []byte { return append(unhex(prefix), make([]byte, 32)...) }

func rawNodes(nodes ...NodeID) []byte {
	b := appendHead(nil, majorArray, uint64(len(nodes)))
	for _, n := range nodes {
		b = appendNode(b, n)
	}
	return b
}

// RawPairs takes a body apart into its pairs, in canonical order.
func rawPairs(b Body) []pair {
	pairs := []pair{
		{"seq", rawUint(b.Seq)},
		{"kind", rawText(string(b.Kind))},
		{"time", appendInt(nil, int64(b.Time))},
		{"space", rawLink(b.Space)},
		{"author", rawNode(b.Author)},
		{"payload", rawBytes(b.Payload)},
	}
	if len(b.Prev) > 0 {
		pairs = with(pairs, "prev", rawLinks(b.Prev...))
	}
	if len(b.Refs.Messages)+len(b.Refs.Nodes) > 0 {
		pairs = with(pairs, "refs", appendRefs(nil, b.Refs))
	}
	return pairs
}

// With sets a key, in its canonical place.
func with(pairs []pair, key string, value []byte) []pair {
	pairs = append(without(pairs, key), pair{key, value})
	slices.SortStableFunc(pairs, func(a, b pair) int {
		if keyLess([]byte(a.key), []byte(b.key)) {
			return -1
		}
		return 1
	})
	return pairs
}

func without(pairs []pair, key string) []pair {
	return slices.DeleteFunc(slices.Clone(pairs), func(p pair) bool { return p.key == key })
}

// SignRaw makes a block of any body's bytes.
func signRaw(body []byte, key ed25519.PrivateKey) []byte {
	return rawArray(body, rawBytes(sign(key, domainEntry, body)))
}

func signPairs(pairs []pair, key ed25519.PrivateKey) []byte { return signRaw(rawMap(pairs), key) }
