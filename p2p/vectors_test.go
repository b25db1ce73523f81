package p2p

// This file makes and checks docs/vectors/wire.json: tickets and frames, byte by byte (protocol.md §5.2, §5.6, §5.7). `go test ./p2p -run
// TestVectorsWire -update` writes it anew.

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strconv"
	"testing"

	ma "github.com/multiformats/go-multiaddr"

	"plexus/graph"
)

var updateVectors = flag.Bool("update", false, "write docs/vectors/wire.json anew")

const vectorsFile = "../docs/vectors/wire.json"

type wireVectors struct {
	Tickets []ticketVector `json:"tickets"`
	Frames  []frameVector  `json:"frames"`
	Proofs  []proofVector  `json:"proofs"`
}

type ticketVector struct {
	Network graph.ID     `json:"network"`
	Inviter graph.NodeID `json:"inviter"`
	Secret  string       `json:"secret"`
	Addrs   []string     `json:"addrs"`
	Raw     []string     `json:"raw"` // the addresses, binary
	Ticket  string       `json:"ticket"`
	Invite  string       `json:"invite"` // the hash that stands in the log
}

// frameVector is a frame, with its body as a map of key to value; byte strings are {"hex": …}.
type frameVector struct {
	Name  string         `json:"name"`
	Type  frameType      `json:"type"`
	Body  map[string]any `json:"body"`
	Frame string         `json:"frame"`
}

// proofVector is what a ticket's key signs.
type proofVector struct {
	Secret    string       `json:"secret"`
	Network   graph.ID     `json:"network"`
	Joiner    graph.NodeID `json:"joiner"`
	Inviter   graph.NodeID `json:"inviter"`
	Nonce     string       `json:"nonce"`
	Signed    string       `json:"signed"`
	Signature string       `json:"signature"`
}

func vectorKey(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

func vectorTickets(t *testing.T) (out []ticketVector) {
	for _, addrs := range [][]string{
		nil,
		{"/ip4/192.0.2.7/udp/4765/quic-v1", "/ip4/192.0.2.7/tcp/4765", "/ip6/2001:db8::1/udp/4765/quic-v1"},
	} {
		tk := Ticket{Network: graph.BlockID([]byte("net")), Inviter: graph.NodeIDOf(vectorKey(1)), Secret: [32]byte{1, 2, 3}}
		v := ticketVector{Network: tk.Network, Inviter: tk.Inviter, Secret: hex.EncodeToString(tk.Secret[:]), Addrs: addrs}
		for _, s := range addrs {
			a, err := ma.NewMultiaddr(s)
			if err != nil {
				t.Fatal(err)
			}
			tk.Addrs, v.Raw = append(tk.Addrs, a), append(v.Raw, hex.EncodeToString(a.Bytes()))
		}
		hash := tk.hash()
		v.Ticket, v.Invite = tk.String(), hex.EncodeToString(hash[:])
		if got, err := ParseTicket(v.Ticket); err != nil || !reflect.DeepEqual(got, tk) {
			t.Errorf("%s reads as %+v, %v", v.Ticket, got, err)
		}
		out = append(out, v)
	}
	return out
}

// vectorFrames has a frame of each type, and one with nothing left out of those that can be longer.
func vectorFrames() []struct {
	name  string
	t     frameType
	value any
} {
	id := func(s string) []byte { x := graph.BlockID([]byte(s)); return x[:] }
	tip := packTip(nil, graph.ChainTip{Author: graph.NodeIDOf(vectorKey(1)), Seq: 300, ID: graph.ID(id("tip"))})
	return []struct {
		name  string
		t     frameType
		value any
	}{
		{"hello", frameHello, hello{Network: id("net"), Time: 1_764_513_000_000_000}},
		{"hello with all", frameHello, hello{
			Network: id("net"), Time: 1, Spaces: []listed{{Space: id("net"), Count: 3, Heads: id("heads")}, {Space: id("space"), Heads: id("")}},
			Part: true, More: true, Records: [][]byte{{1, 2}},
		}},
		{"genesis", frameGenesis, genesis{Blocks: [][]byte{{0xa0}}, Want: append(id("a"), id("b")...)}},
		{"genesis, nothing", frameGenesis, genesis{}},
		{"open", frameOpen, open{id("space")}},
		{"tips", frameTips, tips{Tips: tip, More: true}},
		{"tips, none", frameTips, tips{}},
		{"tips, too many", frameTips, tips{Over: true}},
		{"blocks", frameBlocks, blocks{[][]byte{{0x82, 0xa0, 0x40}, {0xa0}}}},
		{"end", frameEnd, end{1000}},
		{"state", frameState, state{Count: 0, Heads: id("")}},
		{"range", frameRange, ranges{Space: id("space"), Message: []byte{0x61}, First: true}},
		{"range, the last", frameRange, ranges{Space: id("space")}},
		{"want", frameWant, want{Space: id("space"), IDs: id("a")}},
		{"push", framePush, push{id("space")}},
		{"refuse", frameRefuse, refuse{"busy"}},
		{"ask", frameAsk, ask{Network: id("net"), Ticket: vectorKey(2).Public().(ed25519.PublicKey)}},
		{"nonce", frameNonce, nonce{make([]byte, 32)}},
		{"proof", frameProof, proof{make([]byte, 64)}},
		{"welcome", frameWelcome, welcome{Genesis: []byte{0x82}, Role: "writer", Records: [][]byte{{3}}}},
		{"file", frameFile, fileAsk{File: "bafkreia"}},
		{"file, from an offset on", frameFile, fileAsk{"bafkreia", 262_144}},
		{"size", frameFileSize, fileSize{1000}},
		{"piece", frameFilePiece, filePiece{[]byte{0, 0x61}}},
		{"states, none", frameStates, statesFrame{Engine: "wazero v1.12.0 amd64 compiler", Schedule: 1}},
		{"states", frameStates, statesFrame{Engine: "wazero v1.12.0 arm64 compiler", Schedule: 1, Spaces: []spaceFrame{
			{Space: id("space"), Count: 3, Heads: id("heads"), AccessCount: 2, AccessHeads: id("access"), Plugins: []pluginFrame{{Plugin: "vote", File: "bafkreia", Hash: id("state")}}},
			{Space: id("empty"), Heads: id(""), AccessHeads: id(""), Plugins: []pluginFrame{}},
		}}},
		{"prefix", framePrefix, prefixFrame{Space: id("space"), Plugin: "vote", File: "bafkreia", Keys: append([]byte{0, 6, 0x44, 0x8c, 0x0f, 0x5d, 0x20, 0}, id("entry")...)}},
		{"points", framePoints, pointsFrame{Engine: "e", Schedule: 1, Points: append(id("state"), make([]byte, 16)...), Outcome: "trapped", Reason: "out of gas", Gas: 5_000_000}},
		{"points, not folded", framePoints, pointsFrame{Engine: "e", Schedule: 1, Points: make([]byte, 48)}},
	}
}

func describeFrame(t *testing.T, name string, ft frameType, value any) frameVector {
	t.Helper()
	body, err := frameEnc.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := writeFrame(&b, ft, body); err != nil {
		t.Fatal(err)
	}
	got, again, err := readFrame(bufio.NewReader(bytes.NewReader(b.Bytes())))
	back := reflect.New(reflect.TypeOf(value))
	if err != nil || got != ft || parse(again, back.Interface()) != nil || !reflect.DeepEqual(back.Elem().Interface(), value) {
		t.Errorf("%s reads as %+v, %v", name, back.Elem().Interface(), err)
	}
	var keys map[int]any
	if err := frameDec.Unmarshal(body, &keys); err != nil {
		t.Fatal(err)
	}
	v := frameVector{Name: name, Type: ft, Body: map[string]any{}, Frame: hex.EncodeToString(b.Bytes())}
	for k, x := range keys {
		v.Body[strconv.Itoa(k)] = plain(x)
	}
	return v
}

// plain makes byte strings {"hex": …}.
func plain(v any) any {
	switch v := v.(type) {
	case []byte:
		return map[string]string{"hex": hex.EncodeToString(v)}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	}
	return v
}

func vectorProof() proofVector {
	tk := Ticket{Network: graph.BlockID([]byte("net")), Secret: [32]byte{1, 2, 3}}
	joiner, inviter, n := graph.NodeIDOf(vectorKey(2)), graph.NodeIDOf(vectorKey(1)), bytes.Repeat([]byte{7}, 32)
	text := proofText(tk.Network, joiner, inviter, n)
	return proofVector{
		hex.EncodeToString(tk.Secret[:]), tk.Network, joiner, inviter, hex.EncodeToString(n),
		hex.EncodeToString(text), hex.EncodeToString(ed25519.Sign(tk.key(), text)),
	}
}

func TestVectorsWire(t *testing.T) {
	v := wireVectors{Tickets: vectorTickets(t), Proofs: []proofVector{vectorProof()}}
	for _, f := range vectorFrames() {
		v.Frames = append(v.Frames, describeFrame(t, f.name, f.t, f.value))
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	if *updateVectors {
		if err := os.WriteFile(vectorsFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, b.Bytes()) {
		t.Errorf("%s isn't what the code makes: a change of the wire format? see git diff after -update", vectorsFile)
	}
}
