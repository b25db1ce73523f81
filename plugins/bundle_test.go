package plugins

// This file holds the proof that the embedded file has what lies in the tree beside it; plugins/bundle has the proof that the sources make it.

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plexus/plugins/internal/meter"
	"plexus/sdk/abi"
)

// bundlePatterns are the folders of bundle.go's go:generate line.
var bundlePatterns = []string{"./checkpoint", "./handoff", "./team", "./swarm", "./task", "./human", "./ballot", "./capability", "./group"}

func TestGenerateLineNamesThePatterns(t *testing.T) {
	b, err := os.ReadFile("bundle.go")
	if err != nil {
		t.Fatal(err)
	}
	if line := "./bundle " + strings.Join(bundlePatterns, " ") + "\n"; !strings.Contains(string(b), line) {
		t.Errorf("bundle.go doesn't build %q", line)
	}
}

func TestBundleSaysWhatItIs(t *testing.T) {
	if len(bundle) > 4<<20 {
		t.Errorf("the bundle is %d bytes", len(bundle))
	}
	m, err := ReadManifest(bundle)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string][]byte{}
	if err := meter.Custom(bundle, func(name string, data []byte) error { sections[name] = data; return nil }); err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Plugins {
		for file, section := range map[string]string{"SKILL.md": abi.SectionSkill, "schema.json": abi.SectionSchema} {
			want, err := os.ReadFile(filepath.Join(p.Name, file))
			if err != nil || !bytes.Equal(want, sections[section+p.Name]) {
				t.Errorf("%s of %s isn't in the bundle (%v)", file, p.Name, err)
			}
		}
		if len(p.Views) == 0 || p.About == "" || p.Version == "" {
			t.Errorf("%s says too little about itself", p.Name)
		}
	}
}
