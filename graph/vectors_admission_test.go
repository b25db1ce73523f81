package graph_test

// This file makes and checks docs/vectors/admission.json: what becomes of a block beside others (protocol.md §4), and what a
// log of several authors comes to, in whatever order it was delivered.

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
	"testing"

	"plexus/graph"
)

const admissionFile = "../docs/vectors/admission.json"

type admissionVectors struct {
	Genesis []string          `json:"genesis"` // of two Spaces of one Network
	Blocks  []admissionVector `json:"blocks"`
	Log     logVector         `json:"log"`
}

type admissionVector struct {
	Name    string     `json:"name"`
	Given   []string   `json:"given"` // admitted before, each to the Space it names
	Block   string     `json:"block"` // offered to the first Space
	Verdict string     `json:"verdict"`
	Rule    graph.Rule `json:"rule,omitempty"`
}

// logVector is the first Space after these blocks, with what §4.5 says of it.
type logVector struct {
	Blocks   []string    `json:"blocks"`
	Order    []graph.ID  `json:"order"`
	Heads    []graph.ID  `json:"heads"`
	Count    uint64      `json:"count"`
	Hash     string      `json:"hash"` // of the heads
	Frontier []tipVector `json:"frontier"`
	Sum      string      `json:"sum"` // of the whole log, little-endian
	Forks    []string    `json:"forks"`
}

type tipVector struct {
	Author graph.NodeID `json:"author"`
	Seq    uint64       `json:"seq"`
	ID     graph.ID     `json:"id"`
}

// cast is who writes the vectors' entries, and where.
type cast struct {
	t      *testing.T
	spaces [2]graph.Genesis
}

func newCast(t *testing.T) cast {
	t.Helper()
	c := cast{t: t}
	for i, name := range []string{"vectors", "elsewhere"} {
		g, err := graph.NamedSpace(graph.BlockID([]byte("the vectors' network")), name)
		if err != nil {
			t.Fatal(err)
		}
		c.spaces[i] = g
	}
	return c
}

func seededKey(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

// says seals the n-th author's entry at a time; prev and refs are sorted into place by the caller.
func (c cast) says(n byte, seq uint64, at graph.Time, prev []*graph.Entry, refs ...*graph.Entry) *graph.Entry {
	return c.seal(n, graph.Body{Space: c.spaces[0].ID, Seq: seq, Time: at, Prev: idList(prev), Refs: graph.Refs{Messages: idList(refs)}})
}

func (c cast) seal(n byte, b graph.Body) *graph.Entry {
	c.t.Helper()
	if b.Kind == "" {
		b.Kind = graph.KindMessage
	}
	b.Author, b.Payload = graph.NodeIDOf(seededKey(n)), fmt.Appendf(nil, `{"content":{"by":%d,"seq":%d}}`, n, b.Seq)
	e, err := graph.Seal(b, seededKey(n))
	if err != nil {
		c.t.Fatal(err)
	}
	return e
}

func idList(entries []*graph.Entry) (out []graph.ID) {
	for _, e := range entries {
		out = append(out, e.ID())
	}
	return out
}

func blocksOf(entries ...*graph.Entry) []*graph.Entry { return entries }

// headsOf lists entries in the order prev wants other authors' heads in.
func headsOf(entries ...*graph.Entry) []*graph.Entry {
	slices.SortFunc(entries, func(a, b *graph.Entry) int { return a.ID().Compare(b.ID()) })
	return entries
}

func hexOf(entries ...*graph.Entry) (out []string) {
	for _, e := range entries {
		out = append(out, hex.EncodeToString(e.Block()))
	}
	return out
}

func (c cast) vectors() []admissionVector {
	a1 := c.says(1, 1, 1000, nil)
	a2 := c.says(1, 2, 2000, blocksOf(a1))
	b1 := c.says(2, 1, 1500, nil)
	b2 := c.says(2, 2, 2500, blocksOf(b1))
	fork := c.says(2, 1, 1600, nil)
	profile := c.seal(3, graph.Body{Kind: graph.KindProfile, Space: c.spaces[0].ID, Seq: 1, Time: 1200})
	far := c.seal(3, graph.Body{Space: c.spaces[1].ID, Seq: 1, Time: 1200})
	v := func(name, verdict string, rule graph.Rule, block *graph.Entry, given ...*graph.Entry) admissionVector {
		return admissionVector{name, append([]string{}, hexOf(given...)...), hexOf(block)[0], verdict, rule}
	}
	return []admissionVector{
		v("first entry", "admitted", "", a1),
		v("second entry", "admitted", "", a2, a1),
		v("with another's head", "admitted", "", c.says(1, 2, 2000, blocksOf(a1, b1)), a1, b1),
		v("first entry with others' heads", "admitted", "", c.says(3, 1, 3000, headsOf(a2, b2)), a1, a2, b1, b2),
		v("a parent one microsecond before", "admitted", "", c.says(1, 2, 1001, blocksOf(a1)), a1),
		v("prev in another's past too", "admitted", "", c.says(1, 3, 3000, blocksOf(a2, b1)), a1, a2, b1, b2),
		v("a fork", "admitted", "", fork, b1),
		v("after a fork", "admitted", "", c.says(2, 2, 2600, blocksOf(fork)), b1, b2, fork),
		v("a ref beside prev", "admitted", "", c.says(1, 2, 2000, blocksOf(a1), b1), a1, b1),
		v("a ref that is the own previous", "admitted", "", c.says(1, 2, 2000, blocksOf(a1), a1), a1),
		v("own previous missing", "held", "", a2),
		v("another's head missing", "held", "", c.says(1, 2, 2000, blocksOf(a1, b1)), a1),
		v("ref missing", "held", "", c.says(1, 2, 2000, blocksOf(a1), b1), a1),
		v("of another space", "refused", graph.RuleSpace, far),
		v("prev in another space", "refused", graph.RuleParentSpace, c.says(1, 1, 2000, blocksOf(far)), far),
		v("ref in another space", "refused", graph.RuleParentSpace, c.says(1, 1, 2000, nil, far), far),
		v("ref of a profile", "refused", graph.RuleParentKind, c.says(1, 1, 2000, nil, profile), profile),
		v("seq one too high", "refused", graph.RuleSeq, c.says(1, 3, 2000, blocksOf(a1)), a1),
		v("seq one too low", "refused", graph.RuleSeq, c.says(1, 2, 3000, blocksOf(a2)), a1, a2),
		v("prev[0] of another", "refused", graph.RulePrevAuthor, c.says(1, 2, 2000, blocksOf(b1)), a1, b1),
		v("first entry with an own prev", "refused", graph.RulePrevAuthor, c.says(1, 1, 2000, blocksOf(a1)), a1),
		v("a later prev of the own", "refused", graph.RulePrevAuthor, c.says(1, 3, 3000, blocksOf(a2, a1)), a1, a2),
		v("two heads of one author", "refused", graph.RulePrevAuthor, c.says(1, 1, 3000, headsOf(b1, fork)), b1, fork),
		v("time of the own previous", "refused", graph.RuleTimeOrder, c.says(1, 2, 1000, blocksOf(a1)), a1),
		v("time of a head", "refused", graph.RuleTimeOrder, c.says(1, 2, 1500, blocksOf(a1, b1)), a1, b1),
		v("time before a ref", "refused", graph.RuleTimeOrder, c.says(1, 2, 1400, blocksOf(a1), b1), a1, b1),
	}
}

// logOf is a small log: four authors, a fork, merges, equal times.
func (c cast) logOf() []*graph.Entry {
	a1 := c.says(1, 1, 1000, nil)
	b1 := c.says(2, 1, 1000, nil)
	c1 := c.says(3, 1, 1000, nil)
	a2 := c.says(1, 2, 1500, append(blocksOf(a1), headsOf(b1, c1)...), b1)
	b2 := c.says(2, 2, 1600, blocksOf(b1), a1)
	forked := c.says(2, 2, 1600, blocksOf(b1), c1)
	d1 := c.says(4, 1, 2000, headsOf(a2, b2))
	b3 := c.says(2, 3, 2100, blocksOf(forked, a2))
	profile := c.seal(3, graph.Body{Kind: graph.KindProfile, Space: c.spaces[0].ID, Seq: 2, Time: 2200, Prev: idList(blocksOf(c1, d1))})
	return blocksOf(a1, b1, c1, a2, b2, forked, d1, b3, profile)
}

func TestVectorsAdmission(t *testing.T) {
	c := newCast(t)
	v := admissionVectors{Blocks: c.vectors()}
	for _, g := range c.spaces {
		v.Genesis = append(v.Genesis, hex.EncodeToString(g.Block))
	}
	_, s := vectorLog(t, c.spaces[:])
	addAll(t, s, c.logOf())
	v.Log = describeLog(t, s, hexOf(c.logOf()...))
	read := readAdmission(t, v)
	spaces := make([]graph.Genesis, 2)
	for i, g := range read.Genesis {
		var err error
		if spaces[i], err = graph.DecodeGenesis(fromHex(t, g)); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range read.Blocks {
		t.Run(v.Name, func(t *testing.T) { checkAdmission(t, spaces, v) })
	}
	checkLog(t, spaces, read.Log)
}

// readAdmission compares what the code makes with the file, or writes it, and returns what the file says.
func readAdmission(t *testing.T, v admissionVectors) (read admissionVectors) {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(admissionFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(admissionFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, b.Bytes()) {
		t.Errorf("%s isn't what the code makes: see git diff after -update", admissionFile)
	}
	if err := json.Unmarshal(have, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

func fromHex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decodeHex(t *testing.T, s string) *graph.Entry {
	t.Helper()
	e, err := graph.Decode(fromHex(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// vectorLog is a Log in memory with these Spaces; it returns the first.
func vectorLog(t *testing.T, spaces []graph.Genesis) (*graph.Log, *graph.Space) {
	t.Helper()
	l := newReplica(t, everybody, nil).Log
	for _, g := range spaces {
		if _, err := l.Create(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	s, err := l.Space(spaces[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	return l, s
}

func addAll(t *testing.T, s *graph.Space, entries []*graph.Entry) {
	t.Helper()
	res, err := s.Add(t.Context(), entries, graph.AddOptions{})
	if err != nil || len(res.Refused) > 0 {
		t.Fatalf("%v, %v", err, res.Refused)
	}
}

func checkAdmission(t *testing.T, spaces []graph.Genesis, v admissionVector) {
	l, s := vectorLog(t, spaces)
	for _, g := range v.Given {
		e := decodeHex(t, g)
		to, err := l.Space(e.Body().Space)
		if err != nil {
			t.Fatal(err)
		}
		addAll(t, to, blocksOf(e))
		if !to.Has(e.ID()) {
			t.Fatalf("given entry %s isn't admitted", e.ID())
		}
	}
	res, err := s.Add(t.Context(), blocksOf(decodeHex(t, v.Block)), graph.AddOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, rule := "known", graph.Rule("")
	switch {
	case len(res.New) == 1:
		got = "admitted"
	case len(res.Held) == 1:
		got = "held"
	case len(res.Refused) == 1:
		got, rule = "refused", res.Refused[0].Rule
	}
	if got != v.Verdict || rule != v.Rule {
		t.Errorf("%s %s, want %s %s", got, rule, v.Verdict, v.Rule)
	}
}

func describeLog(t *testing.T, s *graph.Space, blocks []string) logVector {
	t.Helper()
	d := s.Digest()
	v := logVector{Blocks: blocks, Heads: s.Heads(), Count: d.Count, Hash: hex.EncodeToString(d.Heads[:])}
	end := graph.Key{Time: graph.MaxTime + 1}
	for k, err := range s.RangeKeys(t.Context(), graph.Key{}, end) {
		if err != nil {
			t.Fatal(err)
		}
		v.Order = append(v.Order, k.ID)
	}
	for tip, err := range s.Frontier(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		v.Frontier = append(v.Frontier, tipVector{tip.Author, tip.Seq, tip.ID})
	}
	sum, _, err := s.RangeSum(t.Context(), graph.Key{}, end)
	if err != nil {
		t.Fatal(err)
	}
	v.Sum = hex.EncodeToString(sum[:])
	for _, n := range s.Forks() {
		v.Forks = append(v.Forks, n.String())
	}
	return v
}

// checkLog delivers the log in many orders, with repetitions.
func checkLog(t *testing.T, spaces []graph.Genesis, v logVector) {
	want, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		blocks := append(slices.Clone(v.Blocks), v.Blocks[:3]...)
		r.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
		_, s := vectorLog(t, spaces)
		for _, b := range blocks {
			addAll(t, s, blocksOf(decodeHex(t, b)))
		}
		got, err := json.Marshal(describeLog(t, s, v.Blocks))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v: %s\nwant %s", err, got, want)
		}
	}
}
