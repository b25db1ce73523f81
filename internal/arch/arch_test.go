package arch

// This file reads the imports of every package with go/parser (not go list: go test caches its answer and misses
// changes) and holds them against the tables in law_test.go.

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "plexus"

// source is one parsed file.
type source struct {
	name    string // path in the module, with slashes
	pkg     string // the directory, with slashes; "." for the root
	test    bool
	imports []string
	starts  []int // lines that start a goroutine
}

func TestLaw(t *testing.T) {
	files, err := read("../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("only %d files found: not the module's root", len(files))
	}
	for _, p := range judge(files) {
		t.Error(p)
	}
}

// read parses every Go file of the module below root, other modules within it and testdata left out.
func read(root string) (files []source, err error) {
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(root, p, d.Name())
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		f, err := parse(p, filepath.ToSlash(rel))
		if err == nil {
			files = append(files, f)
		}
		return err
	})
	return files, err
}

func skip(root, p, name string) error {
	if p == root {
		return nil
	}
	if name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func parse(file, name string) (source, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return source{}, err
	}
	return parseSource(name, src)
}

func parseSource(name string, src []byte) (source, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	s := source{name: name, pkg: path.Dir(name), test: strings.HasSuffix(name, "_test.go")}
	names := map[string]bool{} // of packages, by which their functions are told from methods
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return source{}, err
		}
		s.imports = append(s.imports, p)
		names[path.Base(p)] = true
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if startsGoroutine(n, names) {
			s.starts = append(s.starts, set.Position(n.Pos()).Line)
		}
		return true
	})
	return s, nil
}

// startsGoroutine knows the go statement and the calls that hide one: errgroup's and WaitGroup's Go.
func startsGoroutine(n ast.Node, packages map[string]bool) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		sel, ok := n.Fun.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Go" && sel.Sel.Name != "TryGo" {
			return false
		}
		of, ok := sel.X.(*ast.Ident)
		return !ok || !packages[of.Name]
	}
	return false
}

// judge returns what breaks the law.
func judge(files []source) (problems []string) {
	for _, f := range files {
		r, ok := ruleOf(f.pkg)
		if !ok {
			problems = append(problems, fmt.Sprintf("%s: package %s has no line in the law: give it one in internal/arch, and an ADR", f.name, f.pkg))
			continue
		}
		for _, i := range f.imports {
			if p := r.judge(f, i); p != "" {
				problems = append(problems, p)
			}
		}
		for _, line := range f.starts {
			if !r.goes && !f.test {
				problems = append(problems, fmt.Sprintf("%s:%d: starts a goroutine; only node and p2p do (and cmd where it must)", f.name, line))
			}
		}
	}
	return problems
}

// judge says what is wrong with one import, or "".
func (r rule) judge(f source, i string) string {
	if ours, ok := strings.CutPrefix(i, module+"/"); ok {
		if ours == f.pkg || f.test || slices.ContainsFunc(r.ours, func(o string) bool { return matches(o, ours) }) {
			return ""
		}
		return fmt.Sprintf("%s: %s may not import %s", f.name, f.pkg, ours)
	}
	if f.test || !strings.Contains(strings.Split(i, "/")[0], ".") { // the standard library has no dot
		return ""
	}
	for _, m := range r.outside {
		if i == m || strings.HasPrefix(i, m+"/") {
			return ""
		}
	}
	return fmt.Sprintf("%s: %s may not import %s", f.name, f.pkg, i)
}

// ruleOf finds a package's line: its own, or the most specific one for what lies below a directory.
func ruleOf(pkg string) (r rule, ok bool) {
	if r, ok = law[pkg]; ok {
		return r, true
	}
	best := -1
	for name, have := range law {
		if matches(name, pkg) && len(name) > best {
			r, ok, best = have, true, len(name)
		}
	}
	return r, ok
}

// matches says whether a package is the named one or, for "dir/...", lies below dir.
func matches(name, pkg string) bool {
	dir, below := strings.CutSuffix(name, "/...")
	return name == pkg || below && strings.HasPrefix(pkg, dir+"/")
}

// TestJudge: the law bites.
func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		file, src string
		wrong     bool
	}{
		"upward":                 {"graph/x.go", `package graph; import _ "plexus/p2p"`, true},
		"sideways":               {"p2p/x.go", `package p2p; import _ "plexus/plugins"`, true},
		"downward":               {"p2p/x.go", `package p2p; import _ "plexus/graph"`, false},
		"a test may":             {"graph/x_test.go", `package graph; import _ "plexus/graph/store"`, false},
		"pebble in graph":        {"graph/x.go", `package graph; import _ "github.com/cockroachdb/pebble/v2"`, true},
		"pebble in store":        {"graph/store/x.go", `package store; import _ "github.com/cockroachdb/pebble/v2/vfs"`, false},
		"pebble's namesake":      {"graph/store/x.go", `package store; import _ "github.com/cockroachdb/pebbles"`, true},
		"standard library":       {"sdk/client/x.go", `package client; import _ "net/http"`, false},
		"outside in the sdk":     {"sdk/client/x.go", `package client; import _ "golang.org/x/sync/errgroup"`, true},
		"unknown package":        {"util/x.go", `package util`, true},
		"go statement":           {"graph/x.go", `package graph; func f() { go f() }`, true},
		"wait group":             {"node/api/x.go", `package api; import "sync"; func f(w *sync.WaitGroup) { w.Go(f2) }; func f2() {}`, true},
		"a function named Go":    {"plugins/x.go", `package plugins; import "plexus/plugins/internal/build"; func f() { build.Go("") }`, false},
		"goroutine where it may": {"p2p/x.go", `package p2p; func f() { go f() }`, false},
		"goroutine in a test":    {"graph/x_test.go", `package graph; func f() { go f() }`, false},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := parseSource(c.file, []byte(c.src))
			if err != nil {
				t.Fatal(err)
			}
			if got := judge([]source{f}); (len(got) > 0) != c.wrong {
				t.Fatal(got)
			}
		})
	}
}

// TestNames: words that say nothing aren't names of packages.
func TestNames(t *testing.T) {
	for name := range law {
		for _, part := range strings.Split(name, "/") {
			if slices.Contains([]string{"util", "utils", "common", "types", "helpers", "manager", "service"}, part) {
				t.Errorf("%s is no name", name)
			}
		}
	}
}
