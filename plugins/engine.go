package plugins

// This file holds the engine: wazero with our host modules, and the way of a file from bytes to compiled code.

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"plexus/graph"
	"plexus/plugins/internal/meter"
	"plexus/sdk/abi"
)

// features is what the rewriter knows: Wasm 2 without SIMD.
const features = api.CoreFeaturesV2 &^ api.CoreFeatureSIMD

// engine compiles and instantiates. One per Host.
type engine struct {
	rt        wazero.Runtime
	cache     wazero.CompilationCache
	files     []*file
	unmetered bool   // files are compiled without gas
	dir       string // of the cache; "": in memory
}

// newEngine keeps compiled code in dir, or in memory where dir is "".
func newEngine(ctx context.Context, dir string, c wazero.RuntimeConfig) (*engine, error) {
	cache := wazero.NewCompilationCache()
	if dir != "" {
		var err error
		if cache, err = wazero.NewCompilationCacheWithDir(dir); err != nil {
			return nil, fmt.Errorf("open plugin cache %s: %w", dir, err)
		}
	}
	c = c.WithCompilationCache(cache).WithCoreFeatures(features).WithMemoryLimitPages(abi.MemoryPagesCap).WithDebugInfoEnabled(false)
	e := &engine{rt: wazero.NewRuntimeWithConfig(ctx, c), cache: cache, dir: dir}
	for _, build := range []func(context.Context, wazero.Runtime) error{meterModule, hostModule, wasiModule} {
		if err := build(ctx, e.rt); err != nil {
			return nil, fmt.Errorf("prepare the plugin engine: %w", err)
		}
	}
	return e, nil
}

func (e *engine) close(ctx context.Context) error {
	err := e.rt.Close(ctx)
	for _, f := range e.files {
		err = errors.Join(err, f.closeImage())
	}
	if cerr := e.cache.Close(ctx); err == nil {
		err = cerr
	}
	return err
}

// file is one Wasm file: what all its instances share.
type file struct {
	cid      string
	own      bool // came with the node; set before anybody else sees the file
	manifest abi.Manifest
	engine   *engine
	compiled chan struct{} // closed when the four below are what they stay
	err      error         // why it can't run
	code     wazero.CompiledModule
	meter    *meter.Result
	schemas  schemas        // nil where no plugin of it checks any
	imageMu  sync.Mutex     // guards the making of image
	image    *image         // after _initialize; set with the first instance
	noPages  bool           // memory is reset by copying all of it (a test's wish)
	pool     chan *instance // idle instances for views
	slots    chan struct{}  // bounds the instances for views
}

// fileCID names a file on the network: CIDv1, raw, sha2-256.
func fileCID(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	b := append([]byte{0x01, 0x55, 0x12, 0x20}, sum[:]...)
	return "b" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}

// examine reads and checks a file without compiling it: what can be wrong with it is found here. Errors are ErrInvalid or
// ErrTooLarge and say what is wrong with the file.
func examine(ctx context.Context, wasm []byte) (*meter.Result, abi.Manifest, error) {
	r, m, err := inspect(wasm)
	if err == nil {
		err = validate(ctx, wasm)
	}
	return r, m, err
}

// inspect is examine without the validation of the code, which costs as much as its compilation.
func inspect(wasm []byte) (r *meter.Result, m abi.Manifest, err error) {
	if m, err = readFile(wasm); err != nil {
		return nil, m, err
	}
	if r, err = meter.Rewrite(wasm, meterLimits(m, false)); err != nil {
		return nil, m, unfitFile(err)
	}
	return r, m, checkShape(r, m)
}

func unfitFile(err error) error { return fmt.Errorf("plugin file: %w: %w", err, graph.ErrInvalid) }

func meterLimits(m abi.Manifest, unmetered bool) meter.Limits {
	return meter.Limits{MemoryPages: memoryPages(m), TableSize: abi.TableSize, Depth: abi.Depth, Unmetered: unmetered}
}

// readFile reads the manifest of a file that isn't too large.
func readFile(wasm []byte) (m abi.Manifest, err error) {
	if len(wasm) > abi.MaxModuleCap {
		return m, fmt.Errorf("plugin file of %d bytes; at most %d: %w", len(wasm), abi.MaxModuleCap, graph.ErrTooLarge)
	}
	return ReadManifest(wasm)
}

// load opens and compiles a file at once. trusted leaves out the validation: for the node's own.
func (e *engine) load(ctx context.Context, wasm []byte, trusted bool) (*file, error) {
	f, err := e.open(wasm)
	if err != nil {
		return nil, err
	}
	return f, f.compile(ctx, wasm, trusted)
}

func (f *file) closeImage() error {
	f.imageMu.Lock()
	defer f.imageMu.Unlock()
	if f.image == nil || f.image.file == nil {
		return nil
	}
	return f.image.file.Close()
}

// validate has an interpreter, which is quick to build, read the module as it came.
func validate(ctx context.Context, wasm []byte) error {
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features).WithDebugInfoEnabled(false))
	_, err := rt.CompileModule(ctx, wasm)
	if cerr := rt.Close(ctx); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("plugin file isn't valid Wasm: %w: %w", firstLine(err), graph.ErrInvalid)
	}
	return nil
}

func memoryPages(m abi.Manifest) uint32 {
	pages := abi.MemoryPages
	for _, p := range m.Plugins {
		pages = max(pages, p.Limits.MemoryPages)
	}
	return uint32(min(pages, abi.MemoryPagesCap))
}

// ReadManifest reads and checks the manifest section of a Wasm file. Errors are ErrInvalid.
func ReadManifest(wasm []byte) (m abi.Manifest, err error) {
	found := false
	err = meter.Custom(wasm, func(name string, data []byte) error {
		if name != abi.SectionManifest {
			return nil
		}
		found = true
		if err := json.Unmarshal(data, &m); err != nil {
			return fmt.Errorf("section %s: %w", name, err)
		}
		return nil
	})
	switch {
	case err != nil:
		return m, fmt.Errorf("plugin file: %w: %w", err, graph.ErrInvalid)
	case !found:
		return m, fmt.Errorf("plugin file has no section %s: build it with `plexus plugin build`: %w", abi.SectionManifest, graph.ErrInvalid)
	case m.ABI != abi.Version:
		return m, fmt.Errorf("plugin file is for ABI %d, this node speaks %d: take the plugin's build for %d, or another plexus: %w", m.ABI, abi.Version, abi.Version, graph.ErrInvalid)
	}
	if err := checkManifest(m); err != nil {
		return m, fmt.Errorf("plugin manifest: %w: %w", err, graph.ErrInvalid)
	}
	return m, nil
}

func checkManifest(m abi.Manifest) error {
	if len(m.Plugins) == 0 {
		return fmt.Errorf("it lists no plugin")
	}
	names := map[string]bool{}
	for _, p := range m.Plugins {
		if !validName(p.Name) || names[p.Name] {
			return fmt.Errorf("name %q: one to 32 of a–z, 0–9 and -, a letter first, each name once", p.Name)
		}
		names[p.Name] = true
		if p.Limits.Gas < 0 || p.Limits.Gas > abi.GasCap || p.Limits.MemoryPages < 0 || p.Limits.MemoryPages > abi.MemoryPagesCap {
			return fmt.Errorf("%s: limits: gas up to %d, memory_pages up to %d", p.Name, abi.GasCap, abi.MemoryPagesCap)
		}
		for _, g := range p.Grants {
			if !slices.Contains(grants, g) {
				return fmt.Errorf("%s: grant %q isn't known; there are %s", p.Name, g, strings.Join(grants, ", "))
			}
		}
	}
	return nil
}

// grants are what a manifest may ask for beside the state and the messages.
var grants = []string{"now", "random", "schema", "timer", "trust"}

func validName(s string) bool {
	if s == "" || len(s) > 32 || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// checkShape compares exports and imports with the ABI and the manifest.
func checkShape(r *meter.Result, m abi.Manifest) error {
	if kind, ok := r.Exports[abi.ExportMemory]; !ok || kind != 2 {
		return fmt.Errorf("plugin file exports no memory named %q: %w", abi.ExportMemory, graph.ErrInvalid)
	}
	if kind, ok := r.Exports[abi.Marker]; !ok || kind != 0 {
		return fmt.Errorf("plugin file doesn't export %s: it is for another ABI, or no plugin: %w", abi.Marker, graph.ErrInvalid)
	}
	needs := map[string]bool{}
	granted := map[string]bool{}
	for _, p := range m.Plugins {
		needs[abi.ExportFold] = needs[abi.ExportFold] || len(p.Accepts) > 0
		needs[abi.ExportView] = needs[abi.ExportView] || len(p.Views) > 0
		needs[abi.ExportCommand] = needs[abi.ExportCommand] || len(p.Commands) > 0
		needs[abi.ExportReact] = needs[abi.ExportReact] || p.React
		for _, g := range p.Grants {
			granted[g] = true
		}
	}
	for name, need := range needs {
		if kind, ok := r.Exports[name]; need && (!ok || kind != 0) {
			return fmt.Errorf("plugin file doesn't export %s, which its manifest needs: %w", name, graph.ErrInvalid)
		}
	}
	return checkImports(r.Imports, granted)
}

func checkImports(imports []meter.Import, granted map[string]bool) error {
	for _, i := range imports {
		switch i.Module {
		case wasiName:
			if _, ok := wasiFunctions[i.Name]; ok {
				continue
			}
		case abi.Module:
			f, ok := hostFunctions[i.Name]
			if ok && f.grant != "" && !granted[f.grant] {
				return fmt.Errorf("plugin file calls %s, but its manifest doesn't ask for the grant %q: %w", i.Name, f.grant, graph.ErrInvalid)
			}
			if ok {
				continue
			}
		}
		return fmt.Errorf("plugin file imports %q.%q, which ABI %d doesn't have: %w", i.Module, i.Name, abi.Version, graph.ErrInvalid)
	}
	return nil
}

// firstLine cuts an engine's error before its stack trace.
func firstLine(err error) error {
	text, _, cut := strings.Cut(err.Error(), "\n")
	if !cut {
		return err
	}
	return fmt.Errorf("%s", text)
}
