package checkpoint_test

import (
	"os"
	"testing"

	"plexus/plugins"
	"plexus/plugins/kit"
)

// The golden trace, as every node that has this pattern may replay it, and in other orders.
func TestGoldenTrace(t *testing.T) {
	b, err := os.ReadFile("trace.json")
	if err != nil {
		t.Fatal(err)
	}
	trace, err := kit.ParseTrace(b)
	if err != nil {
		t.Fatal(err)
	}
	f, err := kit.Open(t.Context(), plugins.Bundle(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close(t.Context())
	o, err := f.Replay(t.Context(), "checkpoint", trace)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range o.Differ {
		t.Error(d)
	}
	if err := f.Converge(t.Context(), "checkpoint", trace, 1, nil); err != nil {
		t.Error(err)
	}
}
