package access

// This file tests the parser: what the makers write is read back, and what isn't wholly understood is refused.

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"plexus/graph"
)

func drafts() map[string]graph.Draft {
	host, node := graph.NodeIDOf(key("host")), key("node")
	h := Hash{1, 2, 3}
	cuts := []Cut{
		{Space: *blockID("s"), Nodes: map[graph.NodeID]*graph.ID{host: blockID("e"), graph.NodeIDOf(node): nil}},
		{Space: *blockID("t"), Nodes: map[graph.NodeID]*graph.ID{}},
	}
	return map[string]graph.Draft{
		"grant":           Grant(host, Writer, nil),
		"grant by invite": Grant(host, Admin, &h),
		"enrol":           Enrol(*blockID("net"), host, node, Writer, Human),
		"revoke":          Revoke(host, cuts),
		"revoke plain":    Revoke(host, nil),
		"role":            SetRole(host, Reader, cuts),
		"cut":             CutOff(host, cuts),
		"invite":          NewInvite(h, Reader, MaxUses, 12345),
		"uninvite":        Uninvite(h),
		"policy":          SetPolicy(json.RawMessage(`{"a":[1,2]}`)),
	}
}

func TestParseReadsWhatIsMade(t *testing.T) {
	for name, d := range drafts() {
		op, err := Parse(d.Payload)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d.Kind != graph.KindAccess || string(op.Op) != strings.Fields(name)[0] {
			t.Errorf("%s: kind %s, op %s", name, d.Kind, op.Op)
		}
	}
	op, err := Parse(drafts()["role"].Payload)
	want := Op{Op: OpRole, Subject: graph.NodeIDOf(key("host")), Role: Reader, Cuts: []Cut{
		{Space: *blockID("s"), Nodes: map[graph.NodeID]*graph.ID{graph.NodeIDOf(key("host")): blockID("e"), graph.NodeIDOf(key("node")): nil}},
		{Space: *blockID("t"), Nodes: map[graph.NodeID]*graph.ID{}},
	}}
	if err != nil || !reflect.DeepEqual(op, want) {
		t.Errorf("role: %+v, %v", op, err)
	}
}

func TestProof(t *testing.T) {
	net, host := *blockID("net"), graph.NodeIDOf(key("host"))
	op, err := Parse(Enrol(net, host, key("node"), Writer, Human).Payload)
	if err != nil {
		t.Fatal(err)
	}
	if err := op.CheckProof(net, host); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(o *Op, net *graph.ID, host *graph.NodeID){
		"another network": func(_ *Op, net *graph.ID, _ *graph.NodeID) { net[0]++ },
		"another host":    func(_ *Op, _ *graph.ID, host *graph.NodeID) { host[0]++ },
		"another node":    func(o *Op, _ *graph.ID, _ *graph.NodeID) { o.Node = graph.NodeIDOf(key("other")) },
		"another role":    func(o *Op, _ *graph.ID, _ *graph.NodeID) { o.Role = Reader },
		"another kind":    func(o *Op, _ *graph.ID, _ *graph.NodeID) { o.Kind = Agent },
		"no proof":        func(o *Op, _ *graph.ID, _ *graph.NodeID) { o.Proof = nil },
		"small order": func(o *Op, _ *graph.ID, _ *graph.NodeID) {
			o.Node, o.Proof = graph.NodeID{1}, append([]byte{1}, make([]byte, 63)...) // would fit any message
		},
	} {
		o, n, h := op, net, host
		change(&o, &n, &h)
		if err := o.CheckProof(n, h); !errors.Is(err, graph.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	host := graph.NodeIDOf(key("host")).String()
	id := blockID("s").String()
	hash := Hash{1}.String()
	for name, payload := range map[string]string{
		"not JSON":            `{`,
		"no object":           `[]`,
		"no op":               `{}`,
		"unknown op":          `{"op":"dance"}`,
		"op in capitals":      `{"Op":"uninvite","invite":"` + hash + `"}`,
		"op twice":            `{"op":"uninvite","op":"uninvite","invite":"` + hash + `"}`,
		"a field missing":     `{"op":"grant","host":"` + host + `"}`,
		"a field too much":    `{"op":"grant","host":"` + host + `","role":"writer","x":1}`,
		"another op's field":  `{"op":"grant","host":"` + host + `","role":"writer","uses":1}`,
		"a field null":        `{"op":"grant","host":null,"role":"writer"}`,
		"no peer ID":          `{"op":"grant","host":"x","role":"writer"}`,
		"a host in base32":    `{"op":"grant","host":"` + id + `","role":"writer"}`,
		"no role":             `{"op":"grant","host":"` + host + `","role":"king"}`,
		"role none":           `{"op":"grant","host":"` + host + `","role":"none"}`,
		"a role in capitals":  `{"op":"grant","host":"` + host + `","role":"Writer"}`,
		"a role's number":     `{"op":"grant","host":"` + host + `","role":2}`,
		"no kind":             `{"op":"enrol","node":"` + host + `","role":"writer","kind":"robot","proof":"` + strings.Repeat("A", 86) + `=="}`,
		"a short proof":       `{"op":"enrol","node":"` + host + `","role":"writer","kind":"agent","proof":"AAAA"}`,
		"a proof not base64":  `{"op":"enrol","node":"` + host + `","role":"writer","kind":"agent","proof":"!"}`,
		"a proof with breaks": `{"op":"enrol","node":"` + host + `","role":"writer","kind":"agent","proof":"` + strings.Repeat("A", 43) + `\n` + strings.Repeat("A", 43) + `=="}`,
		"a hash in capitals":  `{"op":"uninvite","invite":"` + strings.ToUpper(strings.Repeat("ab", 32)) + `"}`,
		"a short hash":        `{"op":"uninvite","invite":"ab"}`,
		"no uses":             `{"op":"invite","invite":"` + hash + `","role":"writer","uses":0,"expires":0}`,
		"too many uses":       fmt.Sprintf(`{"op":"invite","invite":"%s","role":"writer","uses":%d,"expires":0}`, hash, MaxUses+1),
		"half a use":          `{"op":"invite","invite":"` + hash + `","role":"writer","uses":1.5,"expires":0}`,
		"expired before 1970": `{"op":"invite","invite":"` + hash + `","role":"writer","uses":1,"expires":-1}`,
		"expires too late":    fmt.Sprintf(`{"op":"invite","invite":"%s","role":"writer","uses":1,"expires":%d}`, hash, graph.MaxTime+1),
		"cuts no array":       `{"op":"cut","subject":"` + host + `","cuts":{}}`,
		"a cut null":          `{"op":"cut","subject":"` + host + `","cuts":[null]}`,
		"a cut without nodes": `{"op":"cut","subject":"` + host + `","cuts":[{"space":"` + id + `"}]}`,
		"nodes null":          `{"op":"cut","subject":"` + host + `","cuts":[{"space":"` + id + `","nodes":null}]}`,
		"space null":          `{"op":"cut","subject":"` + host + `","cuts":[{"space":null,"nodes":{}}]}`,
		"space empty":         `{"op":"cut","subject":"` + host + `","cuts":[{"space":"","nodes":{}}]}`,
		"a cut with more":     `{"op":"cut","subject":"` + host + `","cuts":[{"space":"` + id + `","nodes":{},"x":1}]}`,
		"a space twice":       `{"op":"cut","subject":"` + host + `","cuts":[{"space":"` + id + `","nodes":{}},{"space":"` + id + `","nodes":{}}]}`,
		"a node that is none": `{"op":"cut","subject":"` + host + `","cuts":[{"space":"` + id + `","nodes":{"x":null}}]}`,
		"an entry that isn't": `{"op":"cut","subject":"` + host + `","cuts":[{"space":"` + id + `","nodes":{"` + host + `":"x"}}]}`,
		"policy no object":    `{"op":"policy","policy":[]}`,
	} {
		if op, err := Parse([]byte(payload)); !errors.Is(err, graph.ErrInvalid) {
			t.Errorf("%s: %+v, %v", name, op, err)
		}
	}
}

func TestCutLimits(t *testing.T) {
	host := graph.NodeIDOf(key("host"))
	spaces := func(n int) []Cut {
		var cuts []Cut
		for i := range n {
			cuts = append(cuts, Cut{Space: *blockID(fmt.Sprint(i)), Nodes: map[graph.NodeID]*graph.ID{}})
		}
		return cuts
	}
	if _, err := Parse(Revoke(host, spaces(MaxCutSpaces)).Payload); err != nil {
		t.Error(err)
	}
	if _, err := Parse(Revoke(host, spaces(MaxCutSpaces+1)).Payload); !errors.Is(err, graph.ErrInvalid) {
		t.Errorf("one Space too many: %v", err)
	}
}

func TestNames(t *testing.T) {
	for r := Reader; r <= Admin; r++ {
		if got, err := ParseRole(r.String()); err != nil || got != r {
			t.Errorf("role %s: %s, %v", r, got, err)
		}
	}
	if _, err := ParseRole("none"); err == nil {
		t.Error("none is no role one can give")
	}
	h := Hash{9, 8}
	if got, err := ParseHash(h.String()); err != nil || got != h {
		t.Errorf("hash %s: %s, %v", h, got, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, d := range drafts() {
		f.Add([]byte(d.Payload))
	}
	f.Add([]byte(`{"op":"grant","host":"","role":"writer"}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		op, err := Parse(payload)
		if err != nil {
			if !errors.Is(err, graph.ErrInvalid) && !errors.Is(err, graph.ErrTooLarge) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		if graph.CheckPayload(payload) != nil {
			t.Fatal("read what no entry may carry")
		}
		if sh, ok := shapeOf(op.Op); !ok || len(sh.required) == 0 {
			t.Fatalf("read an operation of no shape: %q", op.Op)
		}
		_ = op.CheckProof(graph.ID{}, graph.NodeID{})
	})
}
