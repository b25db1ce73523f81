// Package main_test replays the golden traces in the bundle, as it lies in the binary.
package main_test

import (
	"testing"

	"go.uber.org/goleak"

	"plexus/plugins"
	"plexus/plugins/kit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Each pattern's golden trace, in its order and in others, on both engines.
func TestGoldenTraces(t *testing.T) {
	f, err := kit.Open(t.Context(), plugins.Bundle(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close(t.Context())
	for _, p := range f.Manifest.Plugins {
		t.Run(p.Name, func(t *testing.T) {
			trace, err := kit.ParseTrace(f.Traces[p.Name])
			if err != nil {
				t.Fatal(err)
			}
			o, err := f.Replay(t.Context(), p.Name, trace)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range o.Differ {
				t.Error(d)
			}
			if err := f.Converge(t.Context(), p.Name, trace, 1, nil); err != nil {
				t.Error(err)
			}
		})
	}
}
