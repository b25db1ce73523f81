// Package main_test replays the golden traces over the bundle as it lies in the binary.
package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"plexus/plugins"
	"plexus/plugins/kit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// builtWith is the toolchain that made patterns.wasm: another one makes other bytes of the same sources.
const builtWith = "go1.26.8"

// The embedded file is what the sources in the tree make, with each trace's hash and gas in it.
func TestBundleIsWhatTheSourcesMake(t *testing.T) {
	if runtime.Version() != builtWith && os.Getenv("PLEXUS_CI") == "" {
		t.Skipf("patterns.wasm was built with %s, this is %s", builtWith, runtime.Version())
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command at hand")
	}
	b, err := os.ReadFile("../bundle.go")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^//go:generate .* \./bundle (.*)$`).FindSubmatch(b)
	if line == nil {
		t.Fatal("bundle.go has no go:generate line")
	}
	var folders []string
	for _, f := range strings.Fields(string(line[1])) {
		folders = append(folders, filepath.Join("..", f))
	}
	got, err := kit.Bundle(t.Context(), ".", folders)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, plugins.Bundle()) {
		t.Error("bundle/patterns.wasm is out of date: run `go generate ./plugins` and commit it")
	}
}

// An engine is proven by what traces have recorded.
func TestTracesInTheBundleAreProven(t *testing.T) {
	f, err := kit.Open(t.Context(), plugins.Bundle(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close(t.Context())
	traces, err := f.Traces()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range f.Plugins() {
		if tr := traces[name]; tr == nil || tr.Hash == "" || len(tr.Gas) == 0 || tr.Schedule != plugins.Schedule {
			t.Errorf("%s has no trace with hash and gas", name)
		}
	}
}

// Each pattern's golden trace, in its order and in others, on both engines; and contents made up, which may be refused but not trap.
func TestGoldenTraces(t *testing.T) {
	f, err := kit.Open(t.Context(), plugins.Bundle(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close(t.Context())
	for _, name := range f.Plugins() {
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join("..", name, "trace.json"))
			if err != nil {
				t.Fatal(err)
			}
			trace, err := kit.ParseTrace(b)
			if err != nil {
				t.Fatal(err)
			}
			o, err := f.Replay(t.Context(), name, trace)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range o.Differ {
				t.Error(d)
			}
			if err := f.Converge(t.Context(), name, trace, 1, nil); err != nil {
				t.Error(err)
			}
			fuzzed, err := f.Fuzz(t.Context(), name, trace, 1, 60)
			if err != nil {
				t.Fatal(err)
			}
			for _, trap := range fuzzed.Traps {
				t.Errorf("%s %s traps instead of refusing: %s", trap.Type, trap.Content, trap.Reason)
			}
		})
	}
}
