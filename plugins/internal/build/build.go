// Package build makes a plugin's file: the guest built with a toolchain, and what it says about itself behind it.
package build

// This file holds the building of Go guests and the packing of sections.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"plexus/plugins/internal/meter"
	"plexus/sdk/abi"
)

// Bundle builds the Go guest at main and packs the patterns' folders: manifest.json (one plugin each), SKILL.md, schema.json.
// The same sources and toolchain give the same bytes on every machine.
func Bundle(main string, patterns []string) ([]byte, error) {
	wasm, err := Go(main)
	if err != nil {
		return nil, err
	}
	return Pack(wasm, patterns)
}

// Go builds a guest with Go's own toolchain.
func Go(dir string) ([]byte, error) {
	tmp, err := os.MkdirTemp("", "plexus-build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	out := filepath.Join(tmp, "guest.wasm")
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", out, ".")
	cmd.Dir = abs
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=", "GOWASM=", "GOWORK=off", "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("build %s: %w\n%s", dir, err, stderr.Bytes())
	}
	return os.ReadFile(out)
}

// Pack appends the sections of each pattern's folder.
func Pack(wasm []byte, patterns []string) ([]byte, error) { return PackWith(wasm, patterns, nil) }

// PackWith is Pack with the bytes of some sections, by name, instead of the folder's files.
func PackWith(wasm []byte, patterns []string, instead map[string][]byte) ([]byte, error) {
	m := abi.Manifest{ABI: abi.Version}
	type section struct {
		name string
		data []byte
	}
	var sections []section
	for _, dir := range patterns {
		var p abi.Plugin
		b, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(b, &p); err != nil {
			return nil, fmt.Errorf("%s/manifest.json: %w", dir, err)
		}
		m.Plugins = append(m.Plugins, p)
		for _, part := range []struct{ file, section string }{
			{"SKILL.md", abi.SectionSkill}, {"schema.json", abi.SectionSchema}, {"trace.json", abi.SectionTrace},
		} {
			b, err := os.ReadFile(filepath.Join(dir, part.file))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			name := part.section + p.Name
			if other, ok := instead[name]; ok {
				b = other
			}
			sections = append(sections, section{name, b})
		}
	}
	b, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	wasm = meter.AppendCustom(wasm, abi.SectionManifest, b)
	for _, s := range sections {
		wasm = meter.AppendCustom(wasm, s.name, s.data)
	}
	return wasm, nil
}
