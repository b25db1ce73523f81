package kit

// This file holds the build: a project becomes a file.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"plexus/graph"
	"plexus/plugins"
	"plexus/plugins/internal/build"
	"plexus/sdk/abi"
)

// Build compiles the project in dir and packs its manifest, SKILL.md, schema and trace, checked as a node checks a file. With
// prove, the golden traces are replayed: what they want must hold, and the file carries each with the state's hash and the gas of
// this build, for the nodes that install it. Errors say what to do.
func Build(ctx context.Context, dir string, prove bool) ([]byte, error) {
	lang, err := Lang(dir)
	if err != nil {
		return nil, err
	}
	folders, err := folders(dir)
	if err != nil {
		return nil, err
	}
	guest, err := compile(ctx, dir, lang)
	if err != nil {
		return nil, err
	}
	wasm, err := build.Pack(guest, folders)
	if err != nil {
		return nil, fmt.Errorf("pack: %w: %w", err, graph.ErrInvalid)
	}
	if !prove {
		_, err := plugins.Examine(ctx, wasm)
		return wasm, err
	}
	proved, err := provenTraces(ctx, wasm, false)
	if err != nil {
		return nil, err
	}
	return build.PackWith(guest, folders, proved)
}

// Bundle builds the Go guest at main, the plugins of whose folders it registers, and packs these as Build does. The same sources and toolchain give
// the same bytes on every machine.
func Bundle(ctx context.Context, main string, folders []string) ([]byte, error) {
	guest, err := build.Go(main)
	if err != nil {
		return nil, err
	}
	wasm, err := build.Pack(guest, folders)
	if err != nil {
		return nil, fmt.Errorf("pack: %w: %w", err, graph.ErrInvalid)
	}
	proved, err := provenTraces(ctx, wasm, true)
	if err != nil {
		return nil, err
	}
	return build.PackWith(guest, folders, proved)
}

// folders are where the manifests lie: the project's own, or one folder for each plugin of the file.
func folders(dir string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(dir, "manifest.json")); err == nil {
		return []string{dir}, nil
	}
	found, err := filepath.Glob(filepath.Join(dir, "*", "manifest.json"))
	if err != nil || len(found) == 0 {
		return nil, errors.Join(err, fmt.Errorf("%s has no manifest.json, and neither has a folder in it: %w", dir, graph.ErrInvalid))
	}
	for i := range found {
		found[i] = filepath.Dir(found[i])
	}
	return found, nil
}

// provenTraces replays a file's traces and returns them with hash and gas, by section.
func provenTraces(ctx context.Context, wasm []byte, compiled bool) (map[string][]byte, error) {
	f, err := Open(ctx, wasm, compiled)
	if err != nil {
		return nil, err
	}
	defer f.Close(ctx)
	traces, err := f.Traces()
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, name := range f.Plugins() {
		t := traces[name]
		if t == nil {
			continue
		}
		t.Gas, t.Schedule = nil, 0
		o, err := f.Replay(ctx, name, t)
		if err != nil {
			return nil, err
		}
		if len(o.Differ) > 0 {
			return nil, fmt.Errorf("the golden trace of %s isn't met (build with --skip-trace to look closer with `plexus plugin test`):\n  %s: %w", name, strings.Join(o.Differ, "\n  "), graph.ErrInvalid)
		}
		t.Hash, t.Gas, t.Schedule = o.Hash, o.Gas, plugins.Schedule
		if out[abi.SectionTrace+name], err = t.Encode(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Traces are the golden traces that the file carries, by plugin.
func (f *File) Traces() (map[string]*Trace, error) {
	sections, err := plugins.Sections(f.Wasm)
	if err != nil {
		return nil, err
	}
	out := map[string]*Trace{}
	for name, b := range sections {
		plugin, ok := strings.CutPrefix(name, abi.SectionTrace)
		if !ok {
			continue
		}
		if out[plugin], err = ParseTrace(b); err != nil {
			return nil, fmt.Errorf("section %s: %w", name, err)
		}
	}
	return out, nil
}

// Changed is the newest time of change below dir, for whoever waits for a save: of the files a build reads.
func Changed(dir string) (newest int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != dir && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, ".wasm") {
			return nil
		}
		info, err := d.Info()
		if err == nil {
			newest = max(newest, info.ModTime().UnixNano())
		}
		return err
	})
	return newest, err
}
