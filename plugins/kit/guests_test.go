package kit

// This file holds the proof that the SDKs agree: vote in each language, as it lies in the tree and as plugin new makes it.

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plexus/graph"
)

// scaffold makes and builds a project; it skips where the toolchain isn't there.
func scaffold(t testing.TB, lang, name string) []byte {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	made, err := New(dir, name, lang)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range made {
		b, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			t.Fatal(err)
		}
		if text := string(b); strings.Contains(text, "plugins/vote") || strings.Contains(text, "NAME:") || name != "vote" && !strings.Contains(f, "plexus") && strings.Contains(text, "vote:") {
			t.Errorf("%s still speaks of the template", f)
		}
	}
	wasm, err := Build(context.Background(), dir, true)
	var missing *MissingTool
	if errors.As(err, &missing) && os.Getenv("PLEXUS_GUESTS") == "" {
		t.Skip(missing)
	}
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// Every language has the state that stands in vote's trace, in every order, and one state for contents made up.
func TestGuestsAgree(t *testing.T) {
	want := ""
	for _, lang := range Langs() { // Go comes first
		t.Run(lang, func(t *testing.T) {
			got := try(t, scaffold(t, lang, "vote"))
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("contents made up led to %s, in Go to %s", got, want)
			}
		})
	}
}

// A project under another name builds and meets its trace.
func TestNewProjects(t *testing.T) {
	for _, lang := range Langs() {
		t.Run(lang, func(t *testing.T) {
			wasm := scaffold(t, lang, "my-poll2")
			in, err := Inspect(t.Context(), wasm)
			if err != nil {
				t.Fatal(err)
			}
			if len(in.Traces) != 1 || len(in.Traces[0].Differ) > 0 || in.Plugins[0].Name != "my-poll2" || in.Plugins[0].Accepts[0] != "my-poll2:open" || len(in.Grants) > 0 {
				t.Errorf("%+v", in)
			}
			t.Logf("%d bytes, %d gas for %d messages", in.Bytes, in.Traces[0].Total, in.Traces[0].Messages)
		})
	}
}

func TestNewRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dir, name, lang string
		is              error
	}{
		"name":     {filepath.Join(dir, "a"), "My", "go", graph.ErrInvalid},
		"language": {filepath.Join(dir, "a"), "my", "cobol", graph.ErrInvalid},
		"there":    {dir, "my", "go", graph.ErrConflict},
	} {
		if _, err := New(c.dir, c.name, c.lang); !errors.Is(err, c.is) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
