package graph

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"testing"
)

// TestKey returns the same key for the same number, on every machine.
func testKey(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

func testBody(n byte) Body {
	return Body{
		Kind: KindMessage, Space: BlockID([]byte("space")), Author: NodeIDOf(testKey(n)),
		Seq: 1, Time: 1_764_513_000_000_000, Payload: []byte(`{"content":{"text":"hello"}}`),
	}
}

func TestSealDecode(t *testing.T) {
	e, err := Seal(testBody(1), testKey(1))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Decode(e.Block())
	if err != nil {
		t.Fatal(err)
	}
	if d.ID() != e.ID() || d.Body().Author != e.Body().Author || string(d.Body().Payload) != string(e.Body().Payload) {
		t.Fatalf("decoded %+v, sealed %+v", d.Body(), e.Body())
	}
	m, ok := d.Message()
	if !ok || string(m.Content) != `{"text":"hello"}` {
		t.Fatalf("message %+v, %v", m, ok)
	}
	bad := bytes.Clone(e.Block())
	bad[len(bad)-1] ^= 1
	if _, err := Decode(bad); !errors.Is(err, ErrInvalid) {
		t.Fatalf("a wrong signature: %v", err)
	}
	blocks := [][]byte{e.Block(), bad, e.Block(), e.Block(), e.Block()}
	es, errs := DecodeBatch(blocks)
	for i := range blocks {
		if (errs[i] != nil) != (i == 1) || (es[i] == nil) != (i == 1) {
			t.Fatalf("block %d: %v, %v", i, es[i], errs[i])
		}
	}
}

func TestGenesisRoundTrip(t *testing.T) {
	n, err := NewNetwork(" lab ", testKey(1), NodeIDOf(testKey(2)))
	if err != nil {
		t.Fatal(err)
	}
	if n.Name != "lab" || len(n.Founders) != 2 || n.Kind != GenesisNetwork {
		t.Fatalf("%+v", n)
	}
	a, err := NamedSpace(n.ID, "  Caf\u0065\u0301 ")
	if err != nil {
		t.Fatal(err)
	}
	b, err := NamedSpace(n.ID, "Caf\u00e9")
	if err != nil || a.ID != b.ID || a.Network != n.ID {
		t.Fatalf("%v: %+v and %+v", err, a, b)
	}
}
