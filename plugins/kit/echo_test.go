package kit

// This file holds the trial of the SDKs' reading and writing: echo, in each language, over contents made up.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plexus/graph"
	"plexus/plugins"
)

// echoProject makes and builds echo in a language.
func echoProject(t *testing.T, lang string) []byte {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "echo")
	if _, err := New(dir, "echo", lang); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"trace.json", "views.go", "plugin_test.go"} {
		if err := os.Remove(filepath.Join(dir, f)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	source, to := sources[lang], sources[lang]
	if lang == "go" {
		source, to = "plugin.go.txt", "plugin.go"
	}
	for from, to := range map[string]string{"manifest.json": "manifest.json", source: to} {
		b, err := os.ReadFile(filepath.Join("testdata", "echo", from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, to), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wasm, err := Build(t.Context(), dir, true)
	var missing *MissingTool
	if errors.As(err, &missing) && os.Getenv("PLEXUS_GUESTS") == "" {
		t.Skip(missing)
	}
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// echoTrace has contents of every kind and size, and parents, nodes and metas.
func echoTrace(t *testing.T) *Trace {
	t.Helper()
	contents := []string{
		`{}`, `{"a":null,"b":true,"c":false,"d":0,"e":-1,"f":23,"g":24,"h":255,"i":256,"j":65535,"k":65536,"l":4294967295,"m":4294967296}`,
		`{"max":9223372036854775807,"min":-9223372036854775808,"over":18446744073709551615,"f":1.5,"tiny":5e-324,"big":1.7976931348623157e308,"huge":1e400,"neg":-0.0}`,
		`{"list":[1,[2,[3,[]]],{"x":[]}],"bb":1,"a":2,"aa":3,"b":4,"é":5,"":6}`,
		`{"long":"` + strings.Repeat("ä", 1500) + `","` + strings.Repeat("k", 300) + `":["` + strings.Repeat("z", 6000) + `"]}`,
	}
	out := &Trace{Trace: TraceVersion, Nodes: map[string]string{"n0": "admin/human", "n1": "writer/agent"}}
	for i, c := range contents {
		m := TraceMessage{ID: fmt.Sprint("m", i), By: fmt.Sprint("n", i%3), Type: "echo", Content: json.RawMessage(c)}
		if i > 0 {
			m.Refs, m.To, m.Meta = []string{"m0", fmt.Sprint("m", i-1)}[:min(i, 2)], []string{"n0", "n2"}, json.RawMessage(`{"k":[1.25,"x"]}`)
		}
		out.Messages = append(out.Messages, m)
	}
	fuzz := mutator{rnd: random(3), trace: out, types: []string{"echo"}, at: map[string]int64{}, tips: map[string]int64{}}
	more, err := fuzz.make(30)
	if err != nil {
		t.Fatal(err)
	}
	return more
}

func TestSDKsReadAndWriteAlike(t *testing.T) {
	trace := echoTrace(t)
	s, err := trace.scene()
	if err != nil {
		t.Fatal(err)
	}
	want, wantDraft := "", ""
	for _, lang := range Langs() { // Go comes first
		t.Run(lang, func(t *testing.T) {
			f, err := Open(t.Context(), echoProject(t, lang), true)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close(t.Context())
			draft := ""
			o, err := s.deliver(t.Context(), "echo", f.inOrder(s), func(try *plugins.Try) (err error) {
				draft, err = echoDraft(t.Context(), s, try)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range trace.Messages {
				if fold := o.Folds[m.ID]; fold.Reason != "" && !strings.Contains(fold.Reason, "at most 65536") {
					t.Errorf("message %s: %s", m.ID, fold.Reason)
				}
			}
			if want == "" {
				want, wantDraft = o.Hash, draft
			}
			if !strings.Contains(draft, `{"m":-70000,"kind":"human","role":"admin","problem":".nothing is missing"}`) {
				t.Errorf("the caller and its parameters were seen as %s", draft)
			}
			if o.Hash != want || draft != wantDraft {
				t.Errorf("the state is %s, in Go %s; view and draft %.300s, in Go %.300s", o.Hash, want, draft, wantDraft)
			}
		})
	}
}

// echoDraft asks the command and the view, and returns both as text.
func echoDraft(ctx context.Context, s *scene, try *plugins.Try) (string, error) {
	id := s.labels["m0"].ID()
	params := fmt.Sprintf(`{"x":[1,{"y":null}],"parents":[%q]}`, id)
	drafts, err := try.Command(ctx, s.genesis.ID, "echo", "say", json.RawMessage(params), nodeID("n0"))
	if err != nil {
		return "", err
	}
	if len(drafts) != 1 || len(drafts[0].Refs.Messages) != 1 || drafts[0].Refs.Messages[0] != id || len(drafts[0].Refs.Nodes) != 1 {
		return "", fmt.Errorf("drafts %+v: %w", drafts, graph.ErrInvalid)
	}
	view, err := try.View(ctx, s.genesis.ID, "echo", "all", nil, graph.NodeID{})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, %s %s %s %v", view, drafts[0].ContentType, drafts[0].Content, drafts[0].Meta, drafts[0].Refs), nil
}
