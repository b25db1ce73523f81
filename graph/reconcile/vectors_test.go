package reconcile_test

// This file makes and checks docs/vectors/reconcile.json: whole exchanges, byte by byte, and messages to be refused.

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"plexus/graph"
	"plexus/graph/reconcile"
)

var updateVectors = flag.Bool("update", false, "write docs/vectors anew")

// vector is one exchange. A record is its timestamp and its ID, the set sorted by both.
type vector struct {
	Name     string   `json:"name"`
	Opener   []record `json:"opener"`
	Answerer []record `json:"answerer"`
	Frame    int      `json:"frame"`    // of both sides' messages
	Messages []string `json:"messages"` // the opener's first; the answer to the last one ends it
	Have     []string `json:"have"`     // what the opener finds that it alone has, in the order it finds it
	Want     []string `json:"want"`
}

type record struct {
	Time uint64 `json:"time"`
	ID   string `json:"id"`
}

type refusal struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

type vectors struct {
	Exchanges []vector  `json:"exchanges"`
	Refused   []refusal `json:"refused"`
}

// near makes a set whose times coincide and whose IDs share first bytes.
func near(from, to int) flat {
	var f flat
	for i := from; i < to; i++ {
		k := graph.Key{Time: graph.Time(1_700_000_000_000_000 + i/20)}
		k.ID[i%3] = 0x80
		binary.BigEndian.PutUint16(k.ID[10:], uint16(i))
		f = append(f, k)
	}
	return newFlat(f...)
}

func madeVectors(t testing.TB) (out vectors) {
	for _, c := range []struct {
		name  string
		a, b  flat
		frame int
	}{
		{"both empty", nil, nil, 0},
		{"the opener is empty", nil, newFlat(keys(0, 3)...), 0},
		{"the answerer is empty", newFlat(keys(0, 3)...), nil, 0},
		{"equal, few", newFlat(keys(0, 31)...), newFlat(keys(0, 31)...), 0},
		{"equal, more", newFlat(keys(0, 32)...), newFlat(keys(0, 32)...), 0},
		{"the newest are missing", newFlat(keys(0, 40)...), newFlat(keys(0, 45)...), 0},
		{"one hole each", newFlat(slices.Delete(keys(0, 70), 20, 21)...), newFlat(slices.Delete(keys(0, 70), 60, 61)...), 0},
		{"equal times, IDs alike", near(0, 80), near(2, 82), 0},
		{"the ends of time", newFlat(graph.Key{}, graph.Key{Time: graph.MaxTime}), newFlat(graph.Key{ID: key(1).ID}, graph.Key{Time: graph.MaxTime, ID: key(2).ID}), 0},
		{"a full frame", newFlat(keys(0, 2)...), newFlat(keys(0, 150)...), reconcile.MinFrame},
	} {
		o := exchange(t, c.a, c.b, c.frame)
		v := vector{Name: c.name, Opener: records(c.a), Answerer: records(c.b), Frame: c.frame, Messages: []string{}, Have: names(o.have), Want: names(o.want)}
		if c.frame == 0 {
			v.Frame = reconcile.DefaultFrame
			checkReference(t, c.a, c.b)
		}
		for _, m := range o.messages {
			v.Messages = append(v.Messages, hex.EncodeToString(m))
		}
		out.Exchanges = append(out.Exchanges, v)
	}
	id := string(bytes.Repeat([]byte{1}, 32))
	for _, c := range []struct{ name, in string }{
		{"nothing", ""},
		{"another protocol", "\x42"},
		{"a bound cut short", "\x61\x01"},
		{"a prefix of 33 bytes", "\x61\x01\x21" + id + "a\x00"},
		{"an unknown mode", "\x61\x00\x00\x03"},
		{"a fingerprint cut short", "\x61\x00\x00\x01abcdef"},
		{"fewer IDs than told", "\x61\x00\x00\x02\x02" + id},
		{"a number over 64 bits", "\x61\x00\x00\x83\xff\xff\xff\xff\xff\xff\xff\xff\x7f"},
		{"a number with a leading zero", "\x61\x80\x01\x00\x00"},
		{"a timestamp over 64 bits", "\x61\x05\x00\x00\x81\xff\xff\xff\xff\xff\xff\xff\xff\x7e\x00\x00"},
		{"bounds that go back", "\x61\x05\x01b\x00\x01\x01a\x00"},
	} {
		out.Refused = append(out.Refused, refusal{c.name, hex.EncodeToString([]byte(c.in))})
	}
	return out
}

func records(f flat) []record {
	out := []record{}
	for _, k := range f {
		out = append(out, record{uint64(k.Time), hex.EncodeToString(k.ID[:])})
	}
	return out
}

func names(ids []graph.ID) []string {
	out := []string{}
	for _, id := range ids {
		out = append(out, hex.EncodeToString(id[:]))
	}
	return out
}

func TestVectors(t *testing.T) {
	made := madeVectors(t)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", " ")
	if err := enc.Encode(made); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "docs", "vectors", "reconcile.json")
	if *updateVectors {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, b.Bytes()) {
		t.Errorf("%s isn't what the code makes: a change of the wire format? see git diff after -update", path)
	}
	for _, v := range made.Refused {
		in, err := hex.DecodeString(v.Message)
		if err != nil {
			t.Fatal(err)
		}
		for _, opener := range []bool{true, false} {
			if _, _, _, err := reconcile.NewSession(flat(nil), opener, reconcile.Options{}).Step(context.Background(), in); !errors.Is(err, graph.ErrInvalid) {
				t.Errorf("%s: %v", v.Name, err)
			}
		}
	}
}
