package kit

// This file holds the new project: vote under another name, with the SDK beside it.

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"plexus/graph"
	"plexus/plugins/vote"
	"plexus/sdk"
)

//go:embed templates/README.md
var templates embed.FS

// part is one file of a project: where it comes from and what is replaced in it.
type part struct {
	from    fs.FS
	source  string
	to      string
	replace []string // pairs, before the name is put in
}

// template is what a language has of its own.
type template struct {
	parts     []part
	extra     map[string]string // file → text
	toolchain string
	build     string   // lines of the README
	files     []string // rows of the README
}

// common are the files that every project has.
var common = []part{
	{vote.Files, "manifest.json", "manifest.json", nil},
	{vote.Files, "schema.json", "schema.json", nil},
	{vote.Files, "SKILL.md", "SKILL.md", []string{"name: vote\n", "name: NAME\n", "# vote\n", "# NAME\n"}},
}

const buildLines = "plexus plugin build\nplexus plugin test\n"

const twin = "On the same messages it ends with the same state as vote in Go (plugins/vote)."

var byLang = map[string]template{
	"go": {
		parts: []part{
			{vote.Files, "vote.go", "plugin.go", []string{
				"package vote\n", "package main\n", "// Package vote is the example pattern: somebody", "// Somebody", "closes it. `plexus plugin new` starts a project from it, and the SDKs of other languages have it too: on the same messages all\n// four end with the same state.\n", "closes it.\n",
				"// It is guest code: it imports sdk/plugin alone.\n", "// It is guest code: it imports plexus/sdk/plugin alone, which lies in the folder plexus.\n",
			}},
			{vote.Files, "views.go", "views.go", []string{"package vote\n", "package main\n"}},
			{vote.Files, "vote_test.go", "plugin_test.go", []string{"package vote\n", "package main\n"}},
		},
		extra: map[string]string{
			"go.mod":        "module NAME\n\ngo 1.24\n\nrequire plexus v1.0.0\n\nreplace plexus v1.0.0 => ./plexus\n",
			"plexus/go.mod": "module plexus\n\ngo 1.24\n",
			"main.go":       "package main\n\nimport \"plexus/sdk/plugin\"\n\nfunc init() { plugin.Register(Plugin()) }\n\nfunc main() {}\n",
		},
		toolchain: "Go 1.24 or later (Debian: `golang-go`, from trixie on)",
		build:     "go test\n" + buildLines,
		files:     []string{"`plugin.go`, `views.go`, `main.go`", "the plugin", "`plugin_test.go`", "its unit tests, which run natively", "`plexus/`", "the SDK"},
	},
	"rust": {
		parts: []part{
			{sdk.Files, "rust/example/plugin.rs", "plugin.rs", []string{
				"//! vote in Rust: somebody", "//! Somebody", " " + strings.Replace(twin, "same messages", "same\n//! messages", 1), "", "#[path = \"../plexus.rs\"]\n", "",
			}},
			{sdk.Files, "rust/plexus.rs", "plexus.rs", nil},
		},
		extra: map[string]string{
			"Cargo.toml": "# For editors; `plexus plugin build` calls rustc itself.\n[package]\nname = \"NAME\"\nversion = \"1.0.0\"\nedition = \"2021\"\n\n[lib]\npath = \"plugin.rs\"\ncrate-type = [\"cdylib\"]\n\n[profile.release]\npanic = \"abort\"\nlto = true\n\n[profile.dev]\npanic = \"abort\"\n",
		},
		toolchain: "rustc 1.63 or later with the target wasm32-unknown-unknown (Debian: `rustc libstd-rust-dev-wasm32 lld`; or `rustup target add wasm32-unknown-unknown`)",
		build:     buildLines,
		files:     []string{"`plugin.rs`", "the plugin", "`plexus.rs`", "the SDK"},
	},
	"as": {
		parts: []part{
			{sdk.Files, "as/example/plugin.ts", "plugin.ts", []string{
				"// vote in AssemblyScript: somebody", "// Somebody", " " + strings.Replace(twin, "the same messages", "the\n// same messages", 1), "", "\"../plexus\"", "\"./plexus\"",
			}},
			{sdk.Files, "as/plexus.ts", "plexus.ts", nil},
		},
		extra: map[string]string{
			"package.json":  "{\n  \"name\": \"NAME\",\n  \"private\": true,\n  \"type\": \"module\",\n  \"devDependencies\": {\"assemblyscript\": \"0.28.20\"}\n}\n",
			"tsconfig.json": "{\n  \"extends\": \"assemblyscript/std/assembly.json\",\n  \"include\": [\"*.ts\"]\n}\n",
		},
		toolchain: "AssemblyScript 0.28 (`npm install` in this folder, once; Debian: `npm`)",
		build:     "npm install\n" + buildLines,
		files:     []string{"`plugin.ts`", "the plugin", "`plexus.ts`", "the SDK"},
	},
	"c": {
		parts: []part{
			{sdk.Files, "c/example/plugin.c", "plugin.c", []string{
				"/* vote in C: somebody", "/* Somebody", " " + strings.Replace(twin, "the same messages", "the same\n * messages", 1), "",
			}},
			{sdk.Files, "c/plexus.h", "plexus.h", nil},
		},
		toolchain: "clang and wasm-ld, 14 or later (Debian: `clang lld`)",
		build:     buildLines,
		files:     []string{"`plugin.c`", "the plugin", "`plexus.h`", "the SDK"},
	},
}

var pluginName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// New makes a project in dir, which must not be there yet or be empty. It returns the files made.
func New(dir, name, lang string) ([]string, error) {
	if !pluginName.MatchString(name) {
		return nil, fmt.Errorf("plugin name %q: one to 32 of a–z, 0–9 and -, a letter first: %w", name, graph.ErrInvalid)
	}
	t, ok := byLang[lang]
	if !ok {
		return nil, fmt.Errorf("language %q: there are %s: %w", lang, strings.Join(langs, ", "), graph.ErrInvalid)
	}
	if there, err := os.ReadDir(dir); err == nil && len(there) > 0 {
		return nil, fmt.Errorf("%s is there already and isn't empty: %w", dir, graph.ErrConflict)
	}
	files, err := t.project(name, lang)
	if err != nil {
		return nil, err
	}
	var made []string
	for path, b := range files {
		full := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
			return nil, err
		}
		if err := os.WriteFile(full, b, 0o666); err != nil {
			return nil, err
		}
		made = append(made, path)
	}
	slices.Sort(made)
	return made, nil
}

// project makes a project's files, by path with slashes.
func (t template) project(name, lang string) (map[string][]byte, error) {
	rename := strings.NewReplacer(`"vote:`, `"`+name+`:`, `"vote"`, `"`+name+`"`)
	files := map[string][]byte{".gitignore": []byte("*.wasm\nnode_modules/\n")}
	for _, p := range slices.Concat(common, t.parts) {
		b, err := fs.ReadFile(p.from, p.source)
		if err != nil {
			return nil, err
		}
		text := string(b)
		for i := 0; i < len(p.replace); i += 2 {
			if !strings.Contains(text, p.replace[i]) {
				return nil, fmt.Errorf("template %s has lost %q", p.source, p.replace[i])
			}
			text = strings.ReplaceAll(text, p.replace[i], p.replace[i+1])
		}
		if !isSDK(p.source) {
			text = rename.Replace(text)
		}
		files[p.to] = []byte(strings.ReplaceAll(text, "NAME", name))
	}
	for path, text := range t.extra {
		files[path] = []byte(strings.ReplaceAll(text, "NAME", name))
	}
	if lang == "go" {
		if err := vendorGo(files); err != nil {
			return nil, err
		}
	}
	var err error
	if files["trace.json"], err = renamedTrace(rename); err != nil {
		return nil, err
	}
	files["README.md"], err = t.readme(name, lang)
	return files, err
}

// isSDK says whether a file is the SDK's own, and so stays as it is.
func isSDK(source string) bool {
	return strings.HasSuffix(source, "/plexus.rs") || strings.HasSuffix(source, "/plexus.ts") || strings.HasSuffix(source, "/plexus.h")
}

var traceHash = regexp.MustCompile(`,\s*"hash": "[0-9a-f]+"`)

// renamedTrace is vote's without the hash, which is another for other content types.
func renamedTrace(rename *strings.Replacer) ([]byte, error) {
	b, err := fs.ReadFile(vote.Files, "trace.json")
	if err != nil {
		return nil, err
	}
	return []byte(rename.Replace(string(traceHash.ReplaceAll(b, nil)))), nil
}

// vendorGo puts the Go SDK into the project.
func vendorGo(files map[string][]byte) error {
	for _, dir := range []string{"abi", "plugin"} {
		list, err := fs.ReadDir(sdk.Files, dir)
		if err != nil {
			return err
		}
		for _, f := range list {
			if strings.HasSuffix(f.Name(), "_test.go") {
				continue // they use what is not in the standard library
			}
			b, err := fs.ReadFile(sdk.Files, dir+"/"+f.Name())
			if err != nil {
				return err
			}
			files["plexus/sdk/"+dir+"/"+f.Name()] = b
		}
	}
	return nil
}

func (t template) readme(name, lang string) ([]byte, error) {
	b, err := templates.ReadFile("templates/README.md")
	if err != nil {
		return nil, err
	}
	var rows bytes.Buffer
	for i := 0; i < len(t.files); i += 2 {
		fmt.Fprintf(&rows, "| %s | %s |\n", t.files[i], t.files[i+1])
	}
	r := strings.NewReplacer("NAME", name, "LANG", names[lang], "FILES\n", rows.String(), "TOOLCHAIN", t.toolchain, "BUILD", t.build)
	return []byte(r.Replace(string(b))), nil
}
