package graph

// This file holds what goes into docs/vectors/entry.json, and DAG-JSON, the form its bodies are shown in.

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/ipfs/go-cid"
)

type goodEntry struct {
	name, note string
	seed       byte // 0: none
	block      []byte
}

// GoodEntries are blocks that every implementation takes.
func goodEntries(t testing.TB) []goodEntry {
	var out []goodEntry
	sealed := func(name, note string, change func(*Body)) {
		b := testBody(1)
		change(&b)
		out = append(out, goodEntry{name, note, 1, mustSeal(t, b, testKey(1)).Block()})
	}
	own := testID(999)
	sealed("plain", "the smallest ordinary message", func(*Body) {})
	sealed("everything", "content_type, meta and content_schema; parents and Nodes", func(b *Body) {
		b.Seq, b.Prev = 5, append([]ID{own}, testIDs(2)...)
		b.Refs = Refs{[]ID{testIDs(3)[2], testIDs(3)[0]}, realNodes(3)[1:]}
		b.Payload = []byte(`{"content_type":"p2p:task_request","content":{"title":"t"},"meta":{"priority":3},"content_schema":{"type":"object"}}`)
	})
	sealed("numbers verbatim", "digits and spaces survive", func(b *Body) {
		b.Payload = []byte(`{"content":{"n": 12345678901234567890, "m":1.10, "e":1E400, "z":-0}}`)
	})
	sealed("unicode", "escaped and plain, beyond the first plane, not normalized", func(b *Body) {
		b.Payload = []byte("{\"content\":{\"caf\u00e9\":\"\\ud83d\\ude00 😀 e\u0301 \u2028 \\u0000\"}}")
	})
	sealed("type in content", "no content_type, but a string content.type", func(b *Body) { b.Payload = []byte(`{"content":{"type":"checkpoint"}}`) })
	sealed("keys of tomorrow in the payload", "unknown keys of the payload are kept", func(b *Body) { b.Payload = []byte(`{"content":{},"reactions":["+1"]}`) })
	sealed("first with heads", "seq 1: prev holds other authors' heads alone", func(b *Body) { b.Prev = testIDs(8) })
	sealed("most heads", "nine in prev", func(b *Body) { b.Seq, b.Prev = 2, append([]ID{own}, testIDs(8)...) })
	sealed("a ref that is in prev too", "parents name it once", func(b *Body) {
		b.Seq, b.Prev, b.Refs.Messages = 2, []ID{own}, []ID{testID(7), own}
	})
	sealed("many refs", "64 messages in the author's order, 64 Nodes", func(b *Body) {
		b.Refs = Refs{testIDs(64), testNodes(64)}
		slices.Reverse(b.Refs.Messages)
	})
	sealed("time 0", "", func(b *Body) { b.Time = 0 })
	sealed("last time", "", func(b *Body) { b.Time = MaxTime })
	sealed("last seq", "", func(b *Body) { b.Seq, b.Prev = MaxSeq, []ID{own} })
	sealed("a profile", "another kind", func(b *Body) { b.Kind, b.Payload = KindProfile, []byte(`{"description":"reviews"}`) })
	sealed("a kind of tomorrow", "admitted and not shown", func(b *Body) { b.Kind, b.Payload = Kind("né"+strings.Repeat("k", 29)), []byte{0, 0xff} })
	sealed("malformed: content a string", "admitted, not shown", func(b *Body) { b.Payload = []byte(`{"content":"hi"}`) })
	sealed("malformed: no payload", "admitted, not shown", func(b *Body) { b.Payload = nil })
	return append(out, unusualEntries(t)...)
}

func unusualEntries(t testing.TB) []goodEntry {
	future := with(rawPairs(testBody(1)), "zz", rawMap([]pair{{"b", tagged(cidOf("01551220"))}, {"aa", unhex("fbbff8000000000000")}}))
	future = with(future, "x", rawArray(unhex("f6"), unhex("f5"), unhex("20"), rawBytes([]byte{1, 2}), rawText("é")))
	refs := with(rawPairs(testBody(1)), "refs", rawMap([]pair{{"x", rawUint(1)}, {"messages", rawLinks(testID(5))}}))
	out := []goodEntry{
		{"keys of tomorrow in the body", "kept and signed, and canonical like the rest", 1, signPairs(future, testKey(1))},
		{"keys of tomorrow in refs", "", 1, signPairs(refs, testKey(1))},
	}
	odd := oddBlocks(t)
	for _, name := range slices.Sorted(maps.Keys(odd)) {
		if name != "nothing out of order" {
			out = append(out, goodEntry{"signature: " + name, "valid by ZIP-215, though not by every verifier", 0, odd[name]})
		}
	}
	return out
}

func describe(t *testing.T, g goodEntry) entryVector {
	e, err := Decode(g.block)
	if err != nil {
		t.Fatalf("%s: %v", g.name, err)
	}
	u, inv := parse(g.block)
	if inv != nil {
		t.Fatal(inv)
	}
	var body any
	if err := newOracle(t).dec.Unmarshal(u.body, &body); err != nil {
		t.Fatal(err)
	}
	v := entryVector{
		Name: g.name, Note: g.note, Body: toDAGJSON(t, body), Block: hex.EncodeToString(g.block), ID: e.ID(),
		CreatedAt: e.Body().Time.String(), Parents: e.Parents(),
	}
	if g.seed != 0 {
		v.Seed = seedOf(g.seed)
	}
	if m, ok := e.Message(); ok {
		v.Message = describeMessage(m)
	}
	return v
}

func seedOf(n byte) string { return hex.EncodeToString(testKey(n).Seed()) }

func seedKey(seed string) ed25519.PrivateKey { return ed25519.NewKeyFromSeed(unhex(seed)) }

// ToDAGJSON renders what the other codec decoded: links as {"/": CID}, bytes as {"/": {"bytes": base64}}.
func toDAGJSON(t *testing.T, v any) any {
	switch v := v.(type) {
	case []byte:
		return map[string]any{"/": map[string]any{"bytes": base64.RawStdEncoding.EncodeToString(v)}}
	case cbor.Tag:
		c, err := cid.Cast(v.Content.([]byte)[1:])
		if err != nil {
			t.Fatal(err)
		}
		return map[string]any{"/": c.String()}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = toDAGJSON(t, v[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k := range v {
			out[k] = toDAGJSON(t, v[k])
		}
		return out
	}
	return v
}

// FromDAGJSON is the way back.
func fromDAGJSON(t *testing.T, v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = fromDAGJSON(t, v[i])
		}
		return v
	case map[string]any:
		if special, ok := v["/"]; ok {
			return fromSpecial(t, special)
		}
		for k := range v {
			v[k] = fromDAGJSON(t, v[k])
		}
		return v
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, err := v.Float64()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	return v
}

func fromSpecial(t *testing.T, v any) any {
	if s, ok := v.(string); ok {
		c, err := cid.Decode(s)
		if err != nil {
			t.Fatal(err)
		}
		return cbor.Tag{Number: 42, Content: append([]byte{0}, c.Bytes()...)}
	}
	b, err := base64.RawStdEncoding.DecodeString(v.(map[string]any)["bytes"].(string))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// UnmarshalJSON keeps the body's numbers as they stand.
func (v *entryVector) UnmarshalJSON(b []byte) error {
	type plain entryVector
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	dec.DisallowUnknownFields()
	return dec.Decode((*plain)(v))
}
