package kit

// This file holds the toolchains: which are there, how they are called, and what to install where one is missing.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"plexus/graph"
	"plexus/plugins/internal/build"
)

// Langs are the languages a plugin can be written in here.
var langs = []string{"go", "rust", "as", "c"}

// Langs lists the languages a plugin can be written in here.
func Langs() []string { return append([]string(nil), langs...) }

// MissingTool says which toolchain isn't there and where to get it.
type MissingTool struct {
	Lang, Tool, Get string
}

// Error names the tool and the package.
func (m *MissingTool) Error() string {
	return fmt.Sprintf("no %s for a plugin in %s: %s", m.Tool, names[m.Lang], m.Get)
}

// Unwrap makes it a wrong use, not a fault.
func (m *MissingTool) Unwrap() error { return graph.ErrInvalid }

var names = map[string]string{"go": "Go", "rust": "Rust", "as": "AssemblyScript", "c": "C"}

// sources are the file by which a project's language is known.
var sources = map[string]string{"go": "go.mod", "rust": "plugin.rs", "as": "plugin.ts", "c": "plugin.c"}

// Lang finds a project's language by its files.
func Lang(dir string) (string, error) {
	for _, l := range langs {
		if _, err := os.Stat(filepath.Join(dir, sources[l])); err == nil {
			return l, nil
		}
	}
	return "", fmt.Errorf("%s is no plugin project: it has neither go.mod nor plugin.rs, plugin.ts or plugin.c; `plexus plugin new NAME` makes one: %w", dir, graph.ErrInvalid)
}

// compile builds the guest of a project, without sections.
func compile(ctx context.Context, dir, lang string) ([]byte, error) {
	tmp, err := os.MkdirTemp("", "plexus-guest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	out := filepath.Join(tmp, "guest.wasm")
	switch lang {
	case "go":
		if _, err := exec.LookPath("go"); err != nil {
			return nil, &MissingTool{lang, "go command", "install Go 1.24 or later (https://go.dev/dl, or Debian's package golang-go from trixie on)"}
		}
		return build.Go(dir)
	case "rust":
		err = compileRust(ctx, dir, out)
	case "c":
		err = compileC(ctx, dir, tmp, out)
	case "as":
		err = compileAS(ctx, dir, out)
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(out)
}

func compileRust(ctx context.Context, dir, out string) error {
	rustc, own, err := findRust(ctx)
	if err != nil {
		return err
	}
	args := []string{
		"--edition", "2021", "--crate-type", "cdylib", "--crate-name", "plugin", "--target", "wasm32-unknown-unknown",
		"-C", "opt-level=3", "-C", "panic=abort", "-C", "lto", "-C", "codegen-units=1", "-C", "link-arg=-zstack-size=65536", "-C", "link-arg=--strip-all",
	}
	if ld := firstTool("PLEXUS_WASM_LD", versions("wasm-ld")); ld != "" {
		args = append(args, "-C", "linker="+ld)
	} else if !own {
		return &MissingTool{"rust", "wasm-ld", "install Debian's package lld"}
	}
	return run(ctx, dir, rustc, append(args, "-o", out, "plugin.rs")...)
}

// findRust finds a rustc that has the target; own: it has its own linker.
func findRust(ctx context.Context) (rustc string, own bool, err error) {
	for _, r := range []string{os.Getenv("PLEXUS_RUSTC"), "rustc", "/usr/bin/rustc"} {
		path, err := exec.LookPath(r)
		if r == "" || err != nil {
			continue
		}
		lib, err := exec.CommandContext(ctx, path, "--print", "target-libdir", "--target", "wasm32-unknown-unknown").Output()
		if err != nil {
			continue
		}
		if core, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(lib)), "libcore-*.rlib")); len(core) == 0 {
			continue
		}
		lld, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(strings.TrimSpace(string(lib)))), "*", "bin", "rust-lld"))
		return path, len(lld) > 0, nil
	}
	return "", false, &MissingTool{
		"rust", "rustc with the target wasm32-unknown-unknown",
		"install Debian's packages rustc, libstd-rust-dev-wasm32 and lld, or run `rustup target add wasm32-unknown-unknown`",
	}
}

func compileC(ctx context.Context, dir, tmp, out string) error {
	clang, ld := firstTool("PLEXUS_CLANG", versions("clang")), firstTool("PLEXUS_WASM_LD", versions("wasm-ld"))
	if clang == "" || ld == "" {
		return &MissingTool{"c", "clang and wasm-ld", "install Debian's packages clang and lld"}
	}
	object := filepath.Join(tmp, "plugin.o")
	err := run(ctx, dir, clang, "--target=wasm32", "-std=c11", "-O2", "-Wall", "-Wextra", "-ffreestanding", "-mbulk-memory", "-c", "-o", object, "plugin.c")
	if err != nil {
		return err
	}
	return run(ctx, dir, ld, "--no-entry", "--strip-all", "-z", "stack-size=65536", "-o", out, object)
}

func compileAS(ctx context.Context, dir, out string) error {
	asc := findAS(dir)
	if asc == "" {
		return &MissingTool{"as", "asc", "run `npm install` in the project (Debian's package npm brings it), or `npm install --global assemblyscript@0.28.20`"}
	}
	return run(ctx, dir, asc, "plugin.ts", "-O3", "--runtime", "stub", "--use", "abort=", "--exportStart", "_initialize", "--initialMemory", "16", "-o", out)
}

// findAS looks in the project, above it, and in PATH.
func findAS(dir string) string {
	if asc := firstTool("PLEXUS_ASC", nil); asc != "" {
		return asc
	}
	abs, err := filepath.Abs(dir)
	for err == nil {
		asc := filepath.Join(abs, "node_modules", ".bin", "asc")
		if _, err := os.Stat(asc); err == nil {
			return asc
		}
		if abs == filepath.Dir(abs) {
			break
		}
		abs = filepath.Dir(abs)
	}
	return firstTool("", []string{"asc"})
}

// firstTool is the environment's choice, or the first that is in PATH.
func firstTool(env string, tools []string) string {
	if t := os.Getenv(env); env != "" && t != "" {
		return t
	}
	for _, t := range tools {
		if path, err := exec.LookPath(t); err == nil {
			return path
		}
	}
	return ""
}

// versions are the names that Debian gives to LLVM's tools.
func versions(tool string) []string {
	out := []string{tool}
	for v := 21; v >= 14; v-- {
		out = append(out, fmt.Sprintf("%s-%d", tool, v))
	}
	return out
}

// run calls a tool in dir; what it prints becomes the error.
func run(ctx context.Context, dir, tool string, args ...string) error {
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Dir = dir
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return fmt.Errorf("%s says:\n%s: %w", filepath.Base(tool), bytes.TrimSpace(text.Bytes()), graph.ErrInvalid)
	case err != nil:
		return fmt.Errorf("run %s: %w", tool, err)
	}
	return nil
}
