package access

// This file makes and checks docs/vectors/access.json: what access entries come to (protocol.md §6). `go test ./graph/access -run
// TestVectors -update` writes it anew.

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"plexus/graph"
)

var updateVectors = flag.Bool("update", false, "write docs/vectors/access.json anew")

const vectorsFile = "../../docs/vectors/access.json"

// MadeUp is how many of the vectors are drawn at random. More (PLEXUS_VECTORS, with PLEXUS_VECTORS_TO a file) hold
// another implementation against this one.
const madeUp = 6

type accessVector struct {
	Name     string            `json:"name"`
	Network  string            `json:"network"` // its genesis
	Space    graph.ID          `json:"space"`   // a named Space of it
	Entries  []string          `json:"entries"` // of the Network's log, admitted, in any order
	Hosts    []hostVector      `json:"hosts"`
	Nodes    []nodeVector      `json:"nodes"`
	Invites  []inviteVector    `json:"invites"`
	Policy   json.RawMessage   `json:"policy"`
	Standing []standingVector  `json:"standing"`
	Names    map[string]string `json:"names"` // for people
}

type hostVector struct {
	ID      graph.NodeID  `json:"id"`
	Parent  *graph.NodeID `json:"parent"`
	Role    string        `json:"role"`
	Revoked bool          `json:"revoked"`
}

type nodeVector struct {
	ID      graph.NodeID `json:"id"`
	Host    graph.NodeID `json:"host"`
	Kind    Kind         `json:"kind"`
	Role    string       `json:"role"`
	Revoked bool         `json:"revoked"`
}

type inviteVector struct {
	Invite  Hash         `json:"invite"`
	Author  graph.NodeID `json:"author"`
	Role    string       `json:"role"`
	Uses    int          `json:"uses"`
	Used    int          `json:"used"`
	Revoked bool         `json:"revoked"`
}

// standingVector is an author's standing in the Network's log and in the Space.
type standingVector struct {
	Author  graph.NodeID `json:"author"`
	Known   bool         `json:"known"`
	Network voiceVector  `json:"network"`
	Space   voiceVector  `json:"space"`
}

type voiceVector struct {
	May  bool       `json:"may"`
	Cuts []graph.ID `json:"cuts"`
}

// fixedWorld is a world whose genesis is the same every time.
func fixedWorld(t testing.TB, founders ...string) *world {
	t.Helper()
	w := &world{t: t, keys: map[string]ed25519.PrivateKey{}, names: map[graph.NodeID]string{}, tips: map[string]*graph.Entry{}, now: 1_000_000}
	enc, err := cbor.EncOptions{Sort: cbor.SortLengthFirst}.EncMode()
	if err != nil {
		t.Fatal(err)
	}
	var names [][]byte
	for _, f := range founders {
		names = append(names, w.id(f).Bytes())
	}
	body, err := enc.Marshal(map[string]any{"v": 1, "kind": "network", "name": "net", "nonce": make([]byte, 32), "founders": names})
	if err != nil {
		t.Fatal(err)
	}
	sig, err := enc.Marshal(ed25519.Sign(w.key(founders[0]), append([]byte("plexus:genesis:1\x00"), body...)))
	if err != nil {
		t.Fatal(err)
	}
	if w.network, err = graph.DecodeGenesis(append(append([]byte{0x82}, body...), sig...)); err != nil {
		t.Fatal(err)
	}
	return w
}

// vector says what a world comes to.
func (w *world) vector(name string) accessVector {
	sp, s := space(w.t, w, "plan"), w.state()
	v := accessVector{
		Name: name, Network: hex.EncodeToString(w.network.Block), Space: sp.ID, Policy: s.Policy(), Names: map[string]string{},
		Hosts: []hostVector{}, Nodes: []nodeVector{}, Invites: []inviteVector{},
	}
	for _, e := range w.entries {
		v.Entries = append(v.Entries, hex.EncodeToString(e.Block()))
	}
	for _, h := range s.Hosts() {
		x := hostVector{ID: h.ID, Role: h.Role.String(), Revoked: h.Revoked}
		if h.Parent != (graph.NodeID{}) {
			x.Parent = &h.Parent
		}
		v.Hosts = append(v.Hosts, x)
	}
	for _, n := range s.Nodes() {
		v.Nodes = append(v.Nodes, nodeVector{n.ID, n.Host, n.Kind, n.Role.String(), n.Revoked})
	}
	for _, i := range s.Invites() {
		v.Invites = append(v.Invites, inviteVector{i.Hash, i.Author, i.Role.String(), i.Uses, i.Used, i.Revoked})
	}
	for id, name := range w.names {
		in, out := s.Standing(sp, id), s.Standing(w.network, id)
		v.Standing = append(v.Standing, standingVector{
			id, in.Known, voiceVector{out.May, append([]graph.ID{}, out.Cuts...)}, voiceVector{in.May, append([]graph.ID{}, in.Cuts...)},
		})
		v.Names[id.String()] = name
	}
	slices.SortFunc(v.Standing, func(a, b standingVector) int { return a.Author.Compare(b.Author) })
	return v
}

// scenarios are told by hand.
func scenarios(t testing.TB) (out []accessVector) {
	tell := func(name string, do func(w *world)) {
		w := fixedWorld(t, "f", "g")
		do(w)
		out = append(out, w.vector(name))
	}
	plan := func(w *world, authors map[string]*graph.ID) Cut {
		c := Cut{Space: space(t, w, "plan").ID, Nodes: map[graph.NodeID]*graph.ID{}}
		for name, id := range authors {
			c.Nodes[w.id(name)] = id
		}
		return c
	}
	tell("founders alone", func(w *world) {})
	tell("admins below each other; two revoke each other", func(w *world) {
		w.grant("f", "a", Admin)
		w.grant("a", "b", Admin)
		w.grant("b", "c", Reader)
		w.revoke("b", "a")
		w.revoke("a", "b")
	})
	tell("a fired admin: what it said before the cut stays, what came after is void", func(w *world) {
		w.grant("f", "a", Admin)
		w.grant("a", "b", Writer)
		w.revoke("f", "a")
		w.grant("a", "c", Writer)
		w.revoke("a", "b")
		w.says("f", CutOff(w.id("a"), []Cut{plan(w, map[string]*graph.ID{"a": blockID("1")})}))
	})
	tell("a fired admin without a cut of the log", func(w *world) {
		w.grant("f", "a", Admin)
		w.grant("a", "b", Writer)
		w.says("f", Revoke(w.id("a"), []Cut{plan(w, nil)}))
	})
	tell("leaving, and a fork of it", func(w *world) {
		w.grant("f", "a", Admin)
		w.grant("a", "b", Writer)
		w.revoke("a", "a")
		w.grant("a", "c", Writer)
		w.grant("f", "d", Admin)
		w.grant("d", "e", Writer)
		w.revoke("f", "d")
		w.forks("d", Revoke(w.id("d"), nil), nil, 5)
	})
	tell("a role reduced and given back, twice", func(w *world) {
		w.grant("f", "a", Admin)
		w.grant("a", "b", Writer)
		w.says("f", SetRole(w.id("a"), Reader, []Cut{w.cutNow("a"), plan(w, map[string]*graph.ID{"a": blockID("2")})}))
		w.grant("a", "c", Writer)
		w.says("f", SetRole(w.id("b"), Reader, []Cut{plan(w, map[string]*graph.ID{"b": blockID("3")})}))
		w.says("f", SetRole(w.id("b"), Writer, nil))
		w.says("g", SetRole(w.id("a"), Admin, nil))
	})
	tell("the earliest grant decides the place in the tree", func(w *world) {
		w.grant("g", "b", Reader)
		w.grant("f", "a", Admin)
		w.grant("a", "b", Admin)
		w.revoke("a", "b")
		w.forks("a", Grant(w.id("c"), Writer, nil), nil, 1)
		w.grant("f", "c", Admin)
	})
	tell("Nodes: enrolled, moved, reduced, revoked", func(w *world) {
		w.grant("f", "a", Writer)
		w.grant("f", "b", Admin)
		w.enrol("a", "n", Admin)
		w.enrol("a", "m", Writer)
		w.enrol("b", "o", Writer)
		w.enrol("b", "n", Reader)
		w.says("a", SetRole(w.id("m"), Reader, []Cut{plan(w, map[string]*graph.ID{"m": blockID("4")})}))
		w.says("f", Revoke(w.id("o"), []Cut{plan(w, map[string]*graph.ID{"o": nil})}))
		w.says("n", Revoke(w.id("n"), nil))
	})
	tell("a Node goes with its host, and doesn't come along to another", func(w *world) {
		w.grant("f", "a", Writer)
		w.grant("f", "b", Writer)
		w.enrol("a", "n", Writer)
		w.enrol("a", "m", Writer)
		w.says("f", Revoke(w.id("a"), []Cut{w.cutNow("a"), plan(w, map[string]*graph.ID{"n": blockID("5")})}))
		w.enrol("b", "n", Writer)
		w.enrol("a", "o", Writer)
	})
	tell("invites: used, over-used, taken back, of a fired admin", func(w *world) {
		w.grant("f", "a", Admin)
		w.says("a", NewInvite(Hash{1}, Writer, 1, 0))
		w.says("f", NewInvite(Hash{1}, Admin, 9, 0))
		w.says("f", NewInvite(Hash{2}, Reader, 2, graph.MaxTime))
		w.says("g", NewInvite(Hash{3}, Reader, 2, 5))
		for _, x := range []string{"b", "c"} {
			w.says("a", Grant(w.id(x), Writer, &Hash{1}))
		}
		w.says("f", Grant(w.id("b"), Writer, &Hash{1}))
		w.says("g", Uninvite(Hash{2}))
		w.says("f", Uninvite(Hash{3}))
		w.revoke("f", "a")
	})
	tell("policies: the one nearest the root", func(w *world) {
		w.grant("f", "a", Admin)
		w.says("g", SetPolicy(json.RawMessage(`{"n":1}`)))
		w.says("g", SetPolicy(json.RawMessage(`{"n":2}`)))
		w.says("a", SetPolicy(json.RawMessage(`{"n":3}`)))
	})
	tell("statements that aren't wholly understood", func(w *world) {
		host, node := w.id("h").String(), w.id("n").String()
		for _, p := range []string{
			`{"op":"crown","host":"` + host + `"}`, `{"op":"grant","host":"` + host + `"}`, `{"op":"grant","host":"` + host + `","role":"king"}`,
			`{"op":"grant","host":"` + host + `","role":"writer","x":1}`, `{"op":"grant","host":"` + host + `","role":"writer","invite":null}`,
			`{"op":"grant","host":"` + host + `","role":"writer","role":"admin"}`, `{"op":"grant","host":"` + host + `","role":"Writer"}`,
			`{"op":"invite","invite":"` + Hash{4}.String() + `","role":"writer","uses":0,"expires":0}`,
			`{"op":"invite","invite":"` + Hash{4}.String() + `","role":"writer","uses":1.0,"expires":0}`,
			`{"op":"invite","invite":"` + Hash{4}.String() + `","role":"writer","uses":10001,"expires":0}`,
			`{"op":"invite","invite":"` + Hash{4}.String() + `","role":"writer","uses":1,"expires":-1}`,
			`{"op":"enrol","node":"` + node + `","role":"writer","kind":"robot","proof":""}`,
			`{"op":"policy","policy":[]}`, `["op","grant"]`, `{"op":"revoke","subject":"` + w.id("g").String() + `","cuts":[{"space":"x","nodes":{}}]}`,
		} {
			w.says("f", graph.Draft{Kind: graph.KindAccess, Payload: json.RawMessage(p)})
		}
		stolen := Enrol(w.network.ID, w.id("g"), w.key("n"), Writer, Agent)
		w.says("f", stolen)
		w.says("f", graph.Draft{Kind: "note", Payload: Grant(w.id("h"), Writer, nil).Payload})
		w.says("f", graph.Draft{Kind: graph.KindAccess, Payload: json.RawMessage(` { "role" : "\u0077riter" , "op":"grant","host":"` + w.id("i").String() + "\"}\n")})
	})
	return out
}

// random draws statements by anyone about anyone, with forks and wild clocks.
func random(t testing.TB, seed uint64) accessVector {
	r := rand.New(rand.NewPCG(seed, 6))
	w := fixedWorld(t, "f", "g")
	w.now = 1000
	hosts, nodes := []string{"f", "g", "a", "b", "c", "d"}, []string{"n", "m"}
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	plan := space(t, w, "plan").ID
	w.grant("f", "a", Admin)
	w.grant("a", "b", Admin)
	for range 6 + r.IntN(16) {
		by, whom := pick(hosts), pick(append(slices.Clone(hosts), nodes...))
		role := Role(1 + r.IntN(3))
		cuts := func() (out []Cut) {
			if n := len(w.entries); r.IntN(3) > 0 {
				id := w.entries[r.IntN(n)].ID()
				c := w.cutNow(whom)
				if r.IntN(2) == 0 {
					c.Nodes[w.id(whom)] = &id
				}
				out = append(out, c)
			}
			if r.IntN(3) == 0 {
				c := Cut{Space: plan, Nodes: map[graph.NodeID]*graph.ID{w.id(pick(nodes)): blockID(strconv.Itoa(r.IntN(9)))}}
				if r.IntN(2) == 0 {
					c.Nodes[w.id(whom)] = blockID("9")
				}
				out = append(out, c)
			}
			return out
		}
		var d graph.Draft
		switch r.IntN(10) {
		case 0, 1, 2:
			d = Grant(w.id(pick(hosts)), role, [3]*Hash{nil, {1}, {2}}[r.IntN(3)])
		case 3, 4:
			d = Enrol(w.network.ID, w.id(by), w.key(pick(nodes)), role, [2]Kind{Human, Agent}[r.IntN(2)])
		case 5, 6:
			d = Revoke(w.id(whom), cuts())
		case 7:
			d = SetRole(w.id(whom), role, cuts())
		case 8:
			d = CutOff(w.id(whom), cuts())
		case 9:
			d = [3]graph.Draft{NewInvite(Hash{1}, role, 1, 0), NewInvite(Hash{2}, role, 2, 0), Uninvite(Hash{1})}[r.IntN(3)]
		}
		if r.IntN(8) == 0 {
			by = whom // of itself
		}
		if r.IntN(5) == 0 {
			w.forks(by, d, nil, graph.Time(r.IntN(1100)))
		} else {
			w.says(by, d)
		}
	}
	return w.vector(fmt.Sprintf("drawn %d", seed))
}

func TestVectors(t *testing.T) {
	out, n := vectorsFile, madeUp
	if to := os.Getenv("PLEXUS_VECTORS_TO"); to != "" {
		out = to
		n, _ = strconv.Atoi(os.Getenv("PLEXUS_VECTORS"))
	}
	vectors := scenarios(t)
	for i := range n {
		vectors = append(vectors, random(t, uint64(i)))
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(vectors); err != nil {
		t.Fatal(err)
	}
	if *updateVectors {
		if err := os.WriteFile(out, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, b.Bytes()) {
		t.Errorf("%s isn't what the code makes: see git diff after -update", out)
	}
}
