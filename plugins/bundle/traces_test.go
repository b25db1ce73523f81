// Package main_test replays the golden traces over the bundle as it lies in the binary.
package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"plexus/plugins"
	"plexus/plugins/kit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
