package kit

// This file holds the proof that machines don't matter: how fast one is, which engine it has, and, where .ci/machines.sh runs this test for
// another processor, which processor.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"plexus/graph"
	"plexus/plugins"
	"plexus/sdk/abi"
)

// machineFiles are the node's own patterns, a guest that never ends, and vote in each language whose toolchain is here. PLEXUS_MACHINES names a
// directory: what lies there as *.wasm is taken instead, and what is missing there is put there first.
func machineFiles(t *testing.T) map[string][]byte {
	files := map[string][]byte{"patterns": plugins.Bundle(), "spin": spinFile(abi.Gas)}
	dir := os.Getenv("PLEXUS_MACHINES")
	if found, _ := filepath.Glob(filepath.Join(dir, "*.wasm")); dir != "" && len(found) > 0 {
		for _, name := range found {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files[strings.TrimSuffix(filepath.Base(name), ".wasm")] = b
		}
		return files
	}
	for _, lang := range Langs() {
		wasm, err := built(t, lang)
		var missing *MissingTool
		if errors.As(err, &missing) {
			t.Log("left out:", missing)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		files["vote in "+lang] = wasm
		if dir != "" {
			if err := os.WriteFile(filepath.Join(dir, "vote in "+lang+".wasm"), wasm, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return files
}

func built(t *testing.T, lang string) ([]byte, error) {
	dir := filepath.Join(t.TempDir(), "vote")
	if _, err := New(dir, "vote", lang); err != nil {
		return nil, err
	}
	return Build(t.Context(), dir, true)
}

// machineTrace is a golden trace where the file has one, else messages of the plugin's first type.
func machineTrace(t *testing.T, f *File, name string) *Trace {
	traces, err := f.Traces()
	if err != nil {
		t.Fatal(err)
	}
	if tr := traces[name]; tr != nil {
		tr.Hash, tr.Gas = "", nil // of this build, but made with another
		return tr
	}
	tr := &Trace{Trace: TraceVersion}
	for i := range 3 {
		tr.Messages = append(tr.Messages, TraceMessage{ID: fmt.Sprint("m", i), By: "ann", Type: f.plugin(name).Accepts[0], Content: []byte("{}")})
	}
	return tr
}

// machine is how a file is folded.
type machine struct {
	name   string
	engine plugins.Engine
	slow   bool
}

// outcome is all that must be equal: the state's hash, and each message's gas and mark.
func (m machine) outcome(t *testing.T, wasm []byte) (lines []string) {
	bench, err := plugins.NewWorkbench(t.Context(), wasm, m.engine)
	if err != nil {
		t.Fatal(err)
	}
	f := &File{Wasm: wasm, bench: bench}
	defer f.Close(context.Background())
	for _, name := range f.Plugins() {
		tr := machineTrace(t, f, name)
		s, err := tr.scene()
		if err != nil {
			t.Fatal(err)
		}
		d := f.inOrder(s)
		if m.slow { // each message comes and is folded alone, and other work comes between
			d.batches = nil
			for _, e := range s.entries {
				d.batches = append(d.batches, []*graph.Entry{e})
			}
			d.between = func(context.Context, *graph.Log) error { runtime.GC(); runtime.Gosched(); return nil }
		}
		o, err := s.deliver(t.Context(), name, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("%s %s", name, o.Hash)
		for _, msg := range tr.Messages {
			line += fmt.Sprintf(" %s:%d:%q", msg.ID, o.Gas[msg.ID], o.Folds[msg.ID].Reason)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// A slow machine, one that interprets and a fast one end with the same states for the same gas, and stop an endless guest at the same place.
func TestMachinesAgree(t *testing.T) {
	var all []string
	for name, wasm := range machineFiles(t) {
		var want []string
		for _, m := range []machine{
			{"compiler", plugins.Compiled, false},
			{"compiler, slow", plugins.Compiled, true},
			{"interpreter", plugins.Interpreted, false},
			{"interpreter, slow", plugins.Interpreted, true},
		} {
			got := m.outcome(t, wasm)
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, %s:\n%s\nthe compiler:\n%s", name, m.name, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		for _, line := range want {
			all = append(all, name+" "+line)
		}
	}
	slices.Sort(all)
	if dir := os.Getenv("PLEXUS_MACHINES"); dir != "" {
		out := filepath.Join(dir, runtime.GOARCH+".txt")
		if err := os.WriteFile(out, []byte(strings.Join(all, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
