package graph

// This file makes and checks docs/vectors (see the README there): `go test ./graph -run TestVectors -update` writes them
// anew. The checks read the files as another implementation would: with another CBOR codec and from the JSON alone.

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ipfs/go-cid"
)

var updateVectors = flag.Bool("update", false, "write docs/vectors anew")

const vectorsDir = "../docs/vectors"

// MaxVector is the longest block that goes into a file; what is longer is tested here alone.
const maxVector = 24 << 10

type entryVector struct {
	Name      string         `json:"name"`
	Note      string         `json:"note,omitempty"`
	Seed      string         `json:"seed,omitempty"` // of the author's key; absent: the signature can't be made from a seed
	Body      any            `json:"body"`           // DAG-JSON
	Block     string         `json:"block"`
	ID        ID             `json:"id"`
	CreatedAt string         `json:"created_at"`
	Parents   []ID           `json:"parents"`
	Message   *messageVector `json:"message"` // null: not a message, or malformed
}

// MessageVector gives content, meta and content_schema as text in a string, so that digits and spaces can be compared.
type messageVector struct {
	ContentType   string `json:"content_type,omitempty"`
	Type          string `json:"type,omitempty"` // what plugins match
	Content       string `json:"content"`
	Meta          string `json:"meta,omitempty"`
	ContentSchema string `json:"content_schema,omitempty"`
}

type refusedVector struct {
	Name  string `json:"name"`
	Rule  Rule   `json:"rule"`
	Block string `json:"block"`
}

type payloadVector struct {
	Name    string         `json:"name,omitempty"`
	Payload string         `json:"payload"`        // hex
	Text    string         `json:"text,omitempty"` // the same, where it is short UTF-8
	JSON    bool           `json:"json"`           // passes the rules of §3.6.1
	Message *messageVector `json:"message"`        // null: malformed
}

type genesisVector struct {
	Name     string   `json:"name"`
	Given    string   `json:"given"` // the name as somebody typed it
	Network  *ID      `json:"network,omitempty"`
	Seed     string   `json:"seed,omitempty"`
	Nonce    string   `json:"nonce,omitempty"`
	Founders []NodeID `json:"founders,omitempty"`
	Label    string   `json:"label"` // the name in its one form
	Block    string   `json:"block"`
	ID       ID       `json:"id"`
}

type cborVector struct {
	Name string `json:"name"`
	Rule Rule   `json:"rule,omitempty"` // absent: taken
	Item string `json:"item"`
}

// GoldenFile compares a value's JSON with a file of docs/vectors, or writes it.
func goldenFile(t *testing.T, name string, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(vectorsDir, name)
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
	return have
}

func TestVectorsEntry(t *testing.T) {
	var vectors []entryVector
	for _, g := range goodEntries(t) {
		vectors = append(vectors, describe(t, g))
	}
	var read []entryVector
	if err := json.Unmarshal(goldenFile(t, "entry.json", vectors), &read); err != nil {
		t.Fatal(err)
	}
	o := newOracle(t)
	for _, v := range read {
		t.Run(v.Name, func(t *testing.T) { checkEntryVector(t, o, v) })
	}
}

// CheckEntryVector goes the other way round: from the JSON to the block, by another codec.
func checkEntryVector(t *testing.T, o oracle, v entryVector) {
	body, err := o.enc.Marshal(fromDAGJSON(t, v.Body))
	if err != nil {
		t.Fatal(err)
	}
	block := unhex(v.Block)
	if !bytes.HasPrefix(block, append([]byte{0x82}, body...)) {
		t.Fatalf("the body is %x in the block %x", body, block)
	}
	if v.Seed != "" && !bytes.Equal(signRaw(body, seedKey(v.Seed)), block) {
		t.Error("signing the body again makes another block")
	}
	if c, err := (cid.V1Builder{Codec: cid.DagCBOR, MhType: 0x12}).Sum(block); err != nil || c.String() != v.ID.String() {
		t.Errorf("the ID is %v, want %s", c, v.ID)
	}
	e, err := Decode(block)
	if err != nil {
		t.Fatal(err)
	}
	if e.ID() != v.ID || e.Body().Time.String() != v.CreatedAt || !slices.Equal(e.Parents(), v.Parents) {
		t.Errorf("decodes to %s, %s, %v", e.ID(), e.Body().Time, e.Parents())
	}
}

func TestVectorsRefused(t *testing.T) {
	var vectors []refusedVector
	add := func(name string, rule Rule, block []byte) {
		if len(block) <= maxVector {
			vectors = append(vectors, refusedVector{name, rule, hex.EncodeToString(block)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(refusedForms())) {
		c := refusedForms()[name]
		add("form: "+name, c.rule, c.block)
	}
	for _, name := range slices.Sorted(maps.Keys(badChanges())) {
		b, c := testBody(1), badChanges()[name]
		c.change(&b)
		add("body: "+name, c.rule, signRaw(appendBody(nil, b), testKey(1)))
	}
	signatures := refusedSignatures(t)
	for _, name := range slices.Sorted(maps.Keys(signatures)) {
		add("signature: "+name, RuleSignature, signatures[name])
	}
	for i, key := range smallOrderKeys {
		add(fmt.Sprintf("key: small order %d", i+1), RuleSmallOrder, blockBy(NodeID(unhex(key))))
	}
	add("key: not on the curve", RuleAuthor, blockBy(NodeID(unhex(offCurve))))

	var read []refusedVector
	if err := json.Unmarshal(goldenFile(t, "refused.json", vectors), &read); err != nil {
		t.Fatal(err)
	}
	for _, v := range read {
		t.Run(v.Name, func(t *testing.T) {
			_, err := Decode(unhex(v.Block))
			wantRule(t, err, v.Rule)
		})
	}
}

func TestVectorsCBOR(t *testing.T) {
	var vectors []cborVector
	for _, name := range slices.Sorted(maps.Keys(goodCBOR())) {
		vectors = append(vectors, cborVector{Name: name, Item: goodCBOR()[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(badCBOR())) {
		vectors = append(vectors, cborVector{name, badCBOR()[name].rule, badCBOR()[name].b})
	}
	var read []cborVector
	if err := json.Unmarshal(goldenFile(t, "cbor.json", vectors), &read); err != nil {
		t.Fatal(err)
	}
	for _, v := range read {
		if err := skipAll(unhex(v.Item)); (err == nil) != (v.Rule == "") || err != nil && err.Rule != v.Rule {
			t.Errorf("%s: %v, want %q", v.Name, err, v.Rule)
		}
	}
}

func TestVectorsPayload(t *testing.T) {
	var vectors []payloadVector
	payloads := readPayloads()
	for _, text := range slices.Sorted(maps.Keys(payloads)) {
		vectors = append(vectors, describePayload([]byte(text)))
	}
	for _, text := range jsonTexts() {
		vectors = append(vectors, describePayload([]byte(`{"content":{"x":`+text+`}}`)))
	}
	for name, payload := range map[string][]byte{
		"depth 64": []byte(`{"content":` + strings.Repeat(`{"a":`, 62) + `{}` + strings.Repeat("}", 63)),
		"depth 65": []byte(`{"content":` + strings.Repeat(`{"a":`, 63) + `{}` + strings.Repeat("}", 64)),
	} {
		v := describePayload(payload)
		v.Name, v.Text = name, ""
		vectors = append(vectors, v)
	}
	slices.SortStableFunc(vectors, func(a, b payloadVector) int { return strings.Compare(a.Name+a.Payload, b.Name+b.Payload) })
	var read []payloadVector
	if err := json.Unmarshal(goldenFile(t, "payload.json", vectors), &read); err != nil {
		t.Fatal(err)
	}
	for _, v := range read {
		if (CheckPayload(unhex(v.Payload)) == nil) != v.JSON {
			t.Errorf("%s: %v", v.Payload, CheckPayload(unhex(v.Payload)))
		}
		if m, ok := readPayload(unhex(v.Payload)); ok != (v.Message != nil) || ok && string(m.Content) != v.Message.Content {
			t.Errorf("%s: %+v, %v", v.Payload, m, ok)
		}
	}
}

// JSONTexts are values whose reading differs between JSON libraries.
func jsonTexts() []string {
	return []string{
		`12345678901234567890`, `1.10`, `-0`, `1E400`, `1e+2`, `01`, `1.`, `.5`, `+1`, `NaN`, `0x10`, `[1,]`, `{"a":1,"a":1}`, `{"a":1,"\u0061":2}`,
		`{"a":{"b":1},"b":{"a":1}}`, `[{"a":1},{"a":1}]`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00\ud83d"`, `"\u0000"`, `"\/"`, `"\x41"`, "\"\t\"", "\"\u007f\u2028\"", "\"\xff\"",
		"\"\xed\xa0\x80\"", "\"\xc1\x81\"", `'a'`, `tRue`, "1 // one", `"é e\u0301 😀"`, "\n\t [ 1 ,\r 2 ]", `{}}`,
	}
}

func describePayload(payload []byte) payloadVector {
	v := payloadVector{Payload: hex.EncodeToString(payload), JSON: CheckPayload(payload) == nil}
	if len(payload) < 200 && bytes.Equal([]byte(strings.ToValidUTF8(string(payload), "")), payload) {
		v.Text = string(payload)
	}
	if m, ok := readPayload(payload); ok {
		v.Message = describeMessage(m)
	}
	return v
}

func describeMessage(m Message) *messageVector {
	return &messageVector{m.ContentType, m.Type(), string(m.Content), string(m.Meta), string(m.ContentSchema)}
}

type genesisFile struct {
	Good    []genesisVector `json:"good"`
	Refused []refusedVector `json:"refused"`
}

func TestVectorsGenesis(t *testing.T) {
	var f genesisFile
	nonce := [nonceSize]byte{1, 2, 3}
	for _, n := range []int{1, 3} {
		g, err := networkGenesis(" the lab", nonce, testKey(1), realNodes(n)[1:])
		if err != nil {
			t.Fatal(err)
		}
		f.Good = append(f.Good, genesisVector{
			Name: fmt.Sprintf("network of %d", n), Given: " the lab", Seed: seedOf(1), Nonce: hex.EncodeToString(nonce[:]),
			Founders: g.Founders, Label: g.Name, Block: hex.EncodeToString(g.Block), ID: g.ID,
		})
	}
	network := f.Good[0].ID
	for _, name := range []string{"lab", " lab\n", "Lab", "Caf\u00e9", "Cafe\u0301", "\u3000\uac00 \u1100\u1161", "\u0085\u001flab\u200b\u00a0", "\u212b", "\ufb01", "😀", strings.Repeat("n", 128)} {
		g, err := NamedSpace(network, name)
		if err != nil {
			t.Fatal(err)
		}
		f.Good = append(f.Good, genesisVector{
			Name: "named", Given: name, Network: &network, Label: g.Name, Block: hex.EncodeToString(g.Block), ID: g.ID,
		})
	}
	for _, name := range slices.Sorted(maps.Keys(refusedGenesis())) {
		c := refusedGenesis()[name]
		f.Refused = append(f.Refused, refusedVector{name, c.rule, hex.EncodeToString(c.block)})
	}
	var read genesisFile
	if err := json.Unmarshal(goldenFile(t, "genesis.json", f), &read); err != nil {
		t.Fatal(err)
	}
	for _, v := range read.Good {
		if g, err := DecodeGenesis(unhex(v.Block)); err != nil || g.ID != v.ID || g.Name != v.Label || !slices.Equal(g.Founders, v.Founders) {
			t.Errorf("%s %q: %+v, %v", v.Name, v.Given, g, err)
		}
	}
	for _, v := range read.Refused {
		_, err := DecodeGenesis(unhex(v.Block))
		t.Run(v.Name, func(t *testing.T) { wantRule(t, err, v.Rule) })
	}
}

// Every rule that a block can break stands in a file.
func TestVectorsCover(t *testing.T) {
	met := map[Rule]bool{}
	for _, file := range []string{"refused.json", "cbor.json", "genesis.json", "admission.json"} {
		b, err := os.ReadFile(filepath.Join(vectorsDir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(b), "\n") {
			if rule, ok := strings.CutPrefix(strings.TrimSpace(line), `"rule": "`); ok {
				met[Rule(strings.TrimRight(rule, `",`))] = true
			}
		}
	}
	for _, rule := range []Rule{
		RuleSize, RuleCBOR, RuleCanonical, RuleForm, RuleKind, RuleAuthor, RuleSmallOrder, RuleSignature, RuleSeq, RuleTime,
		RulePrev, RuleRefs, RuleGenesis, RuleSpace, RulePrevAuthor, RuleParentSpace, RuleParentKind, RuleTimeOrder,
	} {
		if !met[rule] {
			t.Errorf("no vector breaks the rule %s", rule)
		}
	}
}

// A second implementation, in another language and written from protocol.md, agrees.
func TestVectorsInPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 isn't installed: docs/vectors/check.py was not run")
	}
	if out, err := exec.CommandContext(t.Context(), python, filepath.Join(vectorsDir, "check.py")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
