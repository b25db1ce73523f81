package kit

// This file tests what counts against a file when it is installed.

import (
	"strings"
	"testing"

	"plexus/plugins"
	"plexus/sdk/abi"
)

func TestProve(t *testing.T) {
	wasm := voteGo(t)
	right := voteTrace(t)
	f, err := Open(t.Context(), wasm, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close(t.Context())
	o, err := f.Replay(t.Context(), "vote", right)
	if err != nil {
		t.Fatal(err)
	}
	first := right.Messages[0].ID
	for name, c := range map[string]struct {
		change func(*Trace)
		says   string
	}{
		"as it is":             {func(*Trace) {}, ""},
		"hash":                 {func(t *Trace) { t.Hash = strings.Repeat("0", 64) }, "the state's hash is " + o.Hash},
		"right gas":            {func(t *Trace) { t.Gas, t.Schedule = o.Gas, plugins.Schedule }, ""},
		"gas":                  {func(t *Trace) { t.Gas, t.Schedule = map[string]int64{first: 1}, plugins.Schedule }, "message " + first + " took"},
		"another schedule's":   {func(t *Trace) { t.Gas, t.Schedule = map[string]int64{first: 1}, plugins.Schedule+1 }, ""},
		"views beside a hash":  {func(t *Trace) { t.Views[0].Want = []byte("1") }, ""},
		"views without a hash": {func(t *Trace) { t.Hash, t.Views[0].Want = "", []byte("1") }, "view 1"},
	} {
		trace := voteTrace(t)
		c.change(trace)
		b, err := trace.Encode()
		if err != nil {
			t.Fatal(err)
		}
		wrong := proven(t, wasm, b)
		if got := wrong["vote"]; !strings.Contains(got, c.says) || (got == "") != (c.says == "") {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, text := range []string{`{"trace": 2}`, "junk", ""} { // of a later format, perhaps
		if wrong := proven(t, wasm, []byte(text)); len(wrong) > 0 {
			t.Errorf("%q: %v", text, wrong)
		}
	}
}

// proven is what Prove says of a file with another trace: the last section of a name counts.
func proven(t *testing.T, wasm, trace []byte) map[string]string {
	t.Helper()
	w, err := plugins.NewWorkbench(t.Context(), plugins.AppendSection(wasm, abi.SectionTrace+"vote", trace), plugins.Interpreted)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(t.Context())
	wrong, err := Prove(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return wrong
}
