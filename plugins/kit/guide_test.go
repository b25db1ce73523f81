package kit

// This file holds the proof that docs/guides/write-a-plugin.md works as it is typed.

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// block returns the guide's first code block that has a text in it.
func block(t *testing.T, guide, lang, has string) string {
	t.Helper()
	for _, m := range regexp.MustCompile("(?s)```"+lang+"\n(.*?)```").FindAllStringSubmatch(guide, -1) {
		if strings.Contains(m[1], has) {
			return m[1]
		}
	}
	t.Fatalf("the guide has no %s block with %q", lang, has)
	return ""
}

func TestGuideIsRight(t *testing.T) {
	b, err := os.ReadFile("../../docs/guides/write-a-plugin.md")
	if err != nil {
		t.Fatal(err)
	}
	guide := string(b)
	dir := filepath.Join(t.TempDir(), "standup")
	if _, err := New(dir, "standup", "go"); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"views.go", "plugin_test.go"} {
		if err := os.Remove(filepath.Join(dir, f)); err != nil {
			t.Fatal(err)
		}
	}
	code, command := block(t, guide, "go", "func Plugin()"), block(t, guide, "go", "Commands:")
	manifest, says := block(t, guide, "json", `"accepts"`), regexp.MustCompile("`\"commands\": (.*?)` in the manifest").FindStringSubmatch(guide)
	if says == nil {
		t.Fatal("the guide has lost its command's manifest")
	}
	for name, text := range map[string]string{
		"plugin.go":     strings.Replace(code, "\t\tViews:", command+"\t\tViews:", 1),
		"manifest.json": strings.Replace(manifest, `"views"`, `"commands": `+says[1]+`, "views"`, 1),
		"trace.json":    block(t, guide, "json", `"trace": 1`),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wasm, err := Build(t.Context(), dir, true)
	if err != nil {
		t.Fatal(err)
	}
	in, err := Inspect(t.Context(), wasm)
	if err != nil || len(in.Plugins[0].Commands) != 1 || in.Traces[0].Messages != 4 {
		t.Fatalf("%+v, %v", in, err)
	}
}
