package kit

// This file holds the tests of traces, scenes and what is written back.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"plexus/graph"
	"plexus/plugins"
	"plexus/plugins/vote"
)

func TestTracesThatDontHangTogether(t *testing.T) {
	for name, c := range map[string]struct{ trace, says string }{
		"no JSON":       {`{`, "EOF"},
		"version":       {`{"trace":2,"messages":[]}`, "format 2"},
		"unknown field": {`{"trace":1,"message":[]}`, "unknown field"},
		"empty":         {`{"trace":1,"messages":[]}`, "1 to"},
		"label":         {`{"trace":1,"messages":[{"id":"a b","by":"ann","content":{}}]}`, "labels"},
		"no author":     {`{"trace":1,"messages":[{"id":"a","content":{}}]}`, "labels"},
		"twice":         {`{"trace":1,"messages":[{"id":"a","by":"ann","content":{}},{"id":"a","by":"ann","content":{}}]}`, "twice"},
		"later ref":     {`{"trace":1,"messages":[{"id":"a","by":"ann","content":{},"refs":["b"]},{"id":"b","by":"ann","content":{}}]}`, `"b" is no message before it`},
		"marked":        {`{"trace":1,"messages":[{"id":"a","by":"ann","content":{}}],"marked":["b"]}`, "marked"},
		"view":          {`{"trace":1,"messages":[{"id":"a","by":"ann","content":{}}],"views":[{"view":"x"}]}`, "want or refused"},
	} {
		if _, err := ParseTrace([]byte(c.trace)); !errors.Is(err, graph.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParseTrace(make([]byte, maxTrace+1)); !errors.Is(err, graph.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if _, err := ParseTrace(make([]byte, maxTrace)); errors.Is(err, graph.ErrTooLarge) {
		t.Errorf("as large as allowed: %v", err)
	}
	trace := Trace{Trace: TraceVersion}
	for i := range maxMessages + 1 {
		trace.Messages = append(trace.Messages, TraceMessage{ID: fmt.Sprint(i), By: "ann", Content: []byte("{}")})
	}
	if trace.check() == nil {
		t.Errorf("%d messages are taken", len(trace.Messages))
	}
	if trace.Messages = trace.Messages[:maxMessages]; trace.check() != nil {
		t.Errorf("%d messages aren't taken", len(trace.Messages))
	}
}

// Printing a trace anew makes the same messages of it.
func TestTraceIsPrintedAndRead(t *testing.T) {
	trace := voteTrace(t)
	trace.Gas = map[string]int64{"lunch": 7}
	b, err := trace.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseTrace(b)
	if err != nil {
		t.Fatal(err)
	}
	x, err := trace.scene()
	if err != nil {
		t.Fatal(err)
	}
	y, err := again.scene()
	if err != nil {
		t.Fatal(err)
	}
	for label, e := range x.labels {
		if y.labels[label].ID() != e.ID() {
			t.Errorf("message %s has become another", label)
		}
	}
	if !reflect.DeepEqual(again.Gas, trace.Gas) || again.Hash != trace.Hash || len(again.Views) != len(trace.Views) {
		t.Errorf("%+v", again)
	}
}

// The IDs of a trace are the same on every machine: these are vote's.
func TestSceneIsFixed(t *testing.T) {
	s, err := voteTrace(t).scene()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.labels["lunch"].ID().String(), "bafyreif773yko4diieymxffsdbswtq6qtscvxamvpwaozax6gwogcqcthm"; got != want {
		t.Errorf("lunch is %s, was %s", got, want)
	}
}

func TestOrdersAreTopological(t *testing.T) {
	s, err := voteTrace(t).scene()
	if err != nil {
		t.Fatal(err)
	}
	first := map[graph.ID]bool{}
	for seed := range uint64(50) {
		order := s.order(random(seed))
		if len(order) != len(s.entries) {
			t.Fatalf("%d of %d entries", len(order), len(s.entries))
		}
		seen := map[graph.ID]bool{}
		for _, e := range order {
			for _, p := range parents(e) {
				if !seen[p] {
					t.Fatalf("seed %d: %s before its parent", seed, s.names[e.ID()])
				}
			}
			seen[e.ID()] = true
		}
		first[order[len(order)-1].ID()] = true
	}
	if len(first) < 3 {
		t.Errorf("50 orders end with only %d entries", len(first))
	}
}

func TestSceneRefusesTimeBeforeAParent(t *testing.T) {
	trace, err := ParseTrace([]byte(`{"trace":1,"messages":[{"id":"a","by":"ann","at":5,"content":{}},{"id":"b","by":"bob","at":5,"content":{},"refs":["a"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trace.scene(); !errors.Is(err, graph.ErrInvalid) || !strings.Contains(err.Error(), "message b") {
		t.Error(err)
	}
}

func TestOutcomesDiffer(t *testing.T) {
	base := func() *Outcome {
		return &Outcome{Hash: "1", Folds: map[string]plugins.Folded{"a": {Plugin: "p", Gas: 5}}}
	}
	for name, c := range map[string]struct {
		change func(*Outcome)
		says   string
	}{
		"hash":   {func(o *Outcome) { o.Hash = "2" }, "hash"},
		"gas":    {func(o *Outcome) { o.Folds["a"] = plugins.Folded{Plugin: "p", Gas: 6} }, "6 gas"},
		"reason": {func(o *Outcome) { o.Folds["a"] = plugins.Folded{Plugin: "p", Gas: 5, Reason: "no"} }, `"no"`},
		"fold":   {func(o *Outcome) { delete(o.Folds, "a") }, "wasn't folded"},
		"same":   {func(*Outcome) {}, ""},
	} {
		other := base()
		c.change(other)
		if got := base().differs(other); !strings.Contains(got, c.says) || (got == "") != (c.says == "") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if text := (&Diverged{"w", 7, "d"}).Error(); !strings.Contains(text, "seed 7") {
		t.Error(text)
	}
}

// What a trace wants and doesn't get is named.
func TestReplayNamesWhatDiffers(t *testing.T) {
	f, err := Open(t.Context(), voteGo(t), false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close(t.Context())
	trace := voteTrace(t)
	trace.Marked = append(trace.Marked[1:], "bob1")
	trace.Views[0].Want = []byte(`{"polls":[]}`)
	trace.Views[3].Refused = "something else"
	trace.Hash = "00"
	trace.Gas = map[string]int64{"cem1": 1}
	o, err := f.Replay(t.Context(), "vote", trace)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(o.Differ, "\n")
	for _, says := range []string{"message bob1 was taken", "message dia2 was refused: option must be", "view 1 (open)", "view 4 (tally)", "the trace wants 00", "message cem1 took"} {
		if !strings.Contains(all, says) {
			t.Errorf("nothing says %q:\n%s", says, all)
		}
	}
	if len(o.Differ) != 6 {
		t.Errorf("%d differences:\n%s", len(o.Differ), all)
	}
}

func TestUpdateTraceKeepsTheAuthorsText(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"manifest.json", "trace.json"} {
		b, err := vote.Files.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, f), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func() string {
		b, err := os.ReadFile(filepath.Join(dir, "trace.json"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before := read()
	if _, err := UpdateTrace(dir, "vote", "abcd"); err != nil {
		t.Fatal(err)
	}
	after := read()
	if after == before || hashField.ReplaceAllString(before, "") != hashField.ReplaceAllString(after, "") || !strings.Contains(after, `"hash": "abcd"`) {
		t.Errorf("after:\n%s", after)
	}
	bare := traceHash.ReplaceAllString(after, "")
	if err := os.WriteFile(filepath.Join(dir, "trace.json"), []byte(bare), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := UpdateTrace(dir, "vote", "abcd"); err != nil || !strings.HasSuffix(read(), "\"hash\": \"abcd\"\n}\n") {
		t.Errorf("%v, after:\n%s", err, read())
	}
}

func TestBuildSaysWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	if _, err := Build(t.Context(), dir, true); !errors.Is(err, graph.ErrInvalid) || !strings.Contains(err.Error(), "plexus plugin new") {
		t.Errorf("no project: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "plugin.c"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Build(t.Context(), dir, true); !errors.Is(err, graph.ErrInvalid) || !strings.Contains(err.Error(), "manifest.json") {
		t.Errorf("no manifest: %v", err)
	}
	t.Setenv("PATH", dir)
	for _, env := range []string{"PLEXUS_ASC", "PLEXUS_CLANG", "PLEXUS_WASM_LD"} {
		t.Setenv(env, "")
	}
	for lang, says := range map[string]string{"go": "golang-go", "c": "clang and lld", "as": "npm install", "rust": "libstd-rust-dev-wasm32"} {
		if lang == "rust" && os.Getenv("PLEXUS_RUSTC") == "" {
			if _, err := os.Stat("/usr/bin/rustc"); err == nil {
				continue // found beside PATH
			}
		}
		project := filepath.Join(t.TempDir(), "p")
		if _, err := New(project, "p", lang); err != nil {
			t.Fatal(err)
		}
		_, err := Build(t.Context(), project, true)
		var missing *MissingTool
		if !errors.As(err, &missing) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", lang, err)
		}
	}
}
