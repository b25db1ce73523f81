package plugins

// This file tests the cache of rewritten modules.

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/tetratelabs/wazero"
)

// TestRewrittenModulesAreKept: a later start takes them from disk, and what is damaged there is made anew.
func TestRewrittenModulesAreKept(t *testing.T) {
	dir := t.TempDir()
	once := func() *file {
		t.Helper()
		e, err := newEngine(t.Context(), dir, wazero.NewRuntimeConfig())
		if err != nil {
			t.Fatal(err)
		}
		defer e.close(t.Context())
		f, err := e.load(t.Context(), good, false)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	want := once().meter
	kept, err := filepath.Glob(filepath.Join(dir, "metered-*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept %v: %v", kept, err)
	}
	whole, err := os.ReadFile(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	if r, ok := readMetered(whole); !ok || !reflect.DeepEqual(r, want) {
		t.Errorf("reads as %+v, want %+v", r, want)
	}
	for at := range whole {
		damaged := append([]byte(nil), whole...)
		damaged[at]++
		if _, ok := readMetered(damaged); ok {
			t.Fatalf("byte %d may be another", at)
		}
		if _, ok := readMetered(whole[:at]); ok {
			t.Fatalf("%d bytes are enough", at)
		}
	}
	if err := os.WriteFile(kept[0], whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if got := once().meter; !reflect.DeepEqual(got, want) {
		t.Errorf("after damage %+v, want %+v", got, want)
	}
	if again, err := os.ReadFile(kept[0]); err != nil || string(again) != string(whole) {
		t.Errorf("it isn't mended: %d bytes, %v", len(again), err)
	}
}
