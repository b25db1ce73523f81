package plugins

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"plexus/graph"
	"plexus/sdk/abi"
)

func (r *replica) command(node, name string, params obj) ([]graph.Draft, error) {
	b, err := json.Marshal(params)
	r.must(err)
	return r.host.Command(r.ctx(), r.space.ID(), "checkpoint", name, b, id(node))
}

func TestCommandsMakeDrafts(t *testing.T) {
	r := newReplica(t)
	drafts, err := r.command("ann", "submit", obj{"id": "c", "title": "T", "options": []string{"Yes"}, "nodes": []string{id("bob").String()}})
	r.must(err)
	if len(drafts) != 1 || drafts[0].ContentType != "checkpoint" || !sameJSON(t, drafts[0].Content, []byte(`{"id":"c","title":"T","options":["Yes"]}`)) || drafts[0].Refs.Nodes[0] != id("bob") {
		t.Fatalf("submit: %+v", drafts)
	}
	sent, err := r.space.Send(r.ctx(), key("ann"), drafts[0], nil)
	r.must(err)
	drafts, err = r.command("bob", "answer", obj{"checkpoint": sent.Entry.ID().String(), "option": "yes"})
	r.must(err)
	_, err = r.space.Send(r.ctx(), key("bob"), drafts[0], nil)
	r.must(err)
	_, err = r.command("bob", "answer", obj{"checkpoint": sent.Entry.ID().String(), "option": "Yes"})
	if !errors.Is(err, graph.ErrInvalid) || !strings.Contains(err.Error(), "already answered") {
		t.Errorf("a second answer: %v", err)
	}
	if _, err := r.command("ann", "nope", nil); !errors.Is(err, graph.ErrNotFound) || !strings.Contains(err.Error(), "submit, answer") {
		t.Errorf("unknown command: %v", err)
	}
}

func TestDraftsOfTheWrongShape(t *testing.T) {
	for name, v := range map[string]any{
		"not a map": []any{1}, "no content": abi.Fields{}, "text": "x",
	} {
		if d, _, err := readDraft(abi.Encode(v)); err == nil {
			t.Errorf("%s gave %+v", name, d)
		}
	}
	draft := func(key int, v any) []byte {
		b := abi.Append(abi.AppendInt(abi.AppendMap(nil, 2), abi.DraftContent), abi.Fields{})
		return abi.Append(abi.AppendInt(b, int64(key)), v)
	}
	for key, v := range map[int]any{abi.DraftParents: []string{"x"}, abi.DraftNodes: []string{"12D3"}, abi.DraftMeta: abi.Fields{"b": []byte{1}}} {
		if d, _, err := readDraft(draft(key, v)); err == nil {
			t.Errorf("key %d gave %+v", key, d)
		}
	}
	if _, key, err := readDraft(draft(abi.DraftKey, "k")); err != nil || key != "k" {
		t.Errorf("key %q, %v", key, err)
	}
}

func TestEffectsNeedAGrant(t *testing.T) {
	imports := map[string]wasmImport{"now": {"now", 0, 1}, "random": {"random", 2, 0}, "timer": {"timer_del", 2, 0}}
	for grant, i := range imports {
		w := wasm{imports: []wasmImport{i}, funcs: []wasmFunc{{export: abi.ExportFold, params: 1, results: 1, code: num(0)}}}
		if grant == "now" {
			w.imports = []wasmImport{{"random", 2, 0}}
			grant, i = "random", imports["random"]
		}
		p := abi.Plugin{Name: "p", Accepts: []string{"x"}}
		e := load(t, w.build(abi.Plugin{Name: "p", Accepts: []string{"x"}, Grants: []string{grant}})).engine
		if _, err := e.load(t.Context(), w.build(p), false); !errors.Is(err, graph.ErrInvalid) || !strings.Contains(err.Error(), grant) {
			t.Errorf("%s without its grant: %v", i.name, err)
		}
	}
	// Granted, but called from a fold: a trap, alike everywhere.
	w := wasm{imports: []wasmImport{imports["random"]}}
	w.funcs = append(w.funcs, wasmFunc{export: abi.ExportFold, params: 1, results: 1, code: ops(num(0), num(8), callFn(0), num(0))})
	r := newReplica(t, w.build(abi.Plugin{Name: "p", Accepts: []string{"x"}, Grants: []string{"random"}}))
	r.say("ann", "x", obj{})
	r.hash("p")
	list, err := r.host.Plugins(r.ctx(), r.space.ID())
	r.must(err)
	if list[0].Marked != 1 || !strings.Contains(list[0].Reason, "commands and reactions alone") {
		t.Errorf("%+v", list[0])
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	fold := []wasmFunc{{export: abi.ExportFold, params: 1, results: 1, code: num(0)}}
	good := abi.Plugin{Name: "p", Accepts: []string{"x"}}
	w := wasm{funcs: fold}
	e := load(t, w.build(good)).engine
	for name, test := range map[string]struct {
		file []byte
		text string
	}{
		"no wasm":     {[]byte("hello"), "no Wasm"},
		"no manifest": {[]byte("\x00asm\x01\x00\x00\x00"), "plexus plugin build"},
		"no plugin":   {withManifest([]byte("\x00asm\x01\x00\x00\x00")), "no plugin"},
		"name":        {w.build(abi.Plugin{Name: "P"}), "name"},
		"long name":   {w.build(abi.Plugin{Name: strings.Repeat("p", 33)}), "name"},
		"gas":         {w.build(abi.Plugin{Name: "p", Limits: abi.Limits{Gas: abi.GasCap + 1}}), "limits"},
		"memory":      {w.build(abi.Plugin{Name: "p", Limits: abi.Limits{MemoryPages: abi.MemoryPagesCap + 1}}), "limits"},
		"grant":       {w.build(abi.Plugin{Name: "p", Grants: []string{"root"}}), "root"},
		"no fold":     {wasm{}.build(good), abi.ExportFold},
		"no memory":   {withManifest([]byte("\x00asm\x01\x00\x00\x00"), good), "memory"},
		"import":      {wasm{funcs: fold, imports: []wasmImport{{"nope", 0, 0}}}.build(good), "nope"},
		"broken code": {wasm{funcs: []wasmFunc{{export: abi.ExportFold, params: 1, results: 1}}}.build(good), "valid Wasm"},
		"too large":   {make([]byte, abi.MaxModuleCap+1), "at most"},
	} {
		_, err := e.load(t.Context(), test.file, false)
		if !errors.Is(err, graph.ErrInvalid) && !errors.Is(err, graph.ErrTooLarge) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
