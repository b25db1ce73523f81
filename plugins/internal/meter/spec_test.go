package meter

// This file holds the differential test: each module of WebAssembly's own test suite, as wazero's module carries it,
// runs plain and rewritten, and must answer the same.

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

var testLimits = Limits{MemoryPages: 65536, TableSize: 1 << 24, Depth: 1000}

// specFeatures is everything of Wasm 2 but SIMD.
const specFeatures = api.CoreFeaturesV2 &^ api.CoreFeatureSIMD

type specFile struct {
	Commands []struct {
		Type     string `json:"type"`
		Line     int    `json:"line"`
		Filename string `json:"filename"`
		Name     string `json:"name"`
		As       string `json:"as"`
		Action   struct {
			Type   string      `json:"type"`
			Module string      `json:"module"`
			Field  string      `json:"field"`
			Args   []specValue `json:"args"`
		} `json:"action"`
	} `json:"commands"`
}

type specValue struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

func (v specValue) bits() uint64 {
	switch v.Value {
	case "null":
		return 0
	case "nan:canonical", "nan:arithmetic":
		if v.Type == "f32" {
			return 0x7fc00000
		}
		return 0x7ff8000000000000
	}
	n, err := strconv.ParseUint(v.Value, 10, 64)
	if err != nil {
		return 0
	}
	if v.Type == "externref" || v.Type == "funcref" {
		n++
	}
	return n
}

func wazeroDir(t testing.TB) string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Skipf("wazero's source isn't at hand: %v", err)
	}
	return strings.TrimSpace(string(out))
}

func specFiles(t testing.TB) []string {
	files, err := filepath.Glob(filepath.Join(wazeroDir(t), "internal/integration_test/spectest/v*/testdata/*.json"))
	if err != nil || len(files) == 0 {
		t.Skip("wazero's source has no spec tests")
	}
	return files
}

// side is one of the two runtimes.
type side struct {
	rt      wazero.Runtime
	modules map[string]api.Module
	last    api.Module
	refills int
}

func newSide(t testing.TB, c wazero.RuntimeConfig) *side {
	ctx := context.Background()
	s := &side{rt: wazero.NewRuntimeWithConfig(ctx, c.WithCoreFeatures(specFeatures)), modules: map[string]api.Module{}}
	t.Cleanup(func() { s.rt.Close(ctx) })
	_, err := s.rt.NewHostModuleBuilder(Prefix).NewFunctionBuilder().WithGoModuleFunction(
		api.GoModuleFunc(func(_ context.Context, m api.Module, _ []uint64) {
			s.refills++
			if int32(m.ExportedGlobal(DepthGlobal).Get()) < 0 {
				panic("depth")
			}
			g := m.ExportedGlobal(GasGlobal).(api.MutableGlobal)
			g.Set(g.Get() + 1<<20)
		}), nil, nil).Export(Refill).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	b := s.rt.NewHostModuleBuilder("spectest")
	none := api.GoModuleFunc(func(context.Context, api.Module, []uint64) {})
	for name, params := range map[string][]api.ValueType{
		"print": nil, "print_i32": {api.ValueTypeI32}, "print_i64": {api.ValueTypeI64}, "print_f32": {api.ValueTypeF32},
		"print_f64": {api.ValueTypeF64}, "print_i32_f32": {api.ValueTypeI32, api.ValueTypeF32}, "print_f64_f64": {api.ValueTypeF64, api.ValueTypeF64},
	} {
		b.NewFunctionBuilder().WithGoModuleFunction(none, params, nil).Export(name)
	}
	if _, err := b.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *side) instantiate(wasm []byte, name string) error {
	s.last = nil
	m, err := s.rt.InstantiateWithConfig(context.Background(), wasm, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return err
	}
	s.last = m
	if name != "" {
		s.modules[name] = m
	}
	return nil
}

func (s *side) call(module, field string, args []uint64) (results []uint64, types []api.ValueType, trap bool, ok bool) {
	m := s.last
	if module != "" {
		m = s.modules[module]
	}
	if m == nil {
		return nil, nil, false, false
	}
	if g, has := m.ExportedGlobal(DepthGlobal).(api.MutableGlobal); has {
		g.Set(uint64(testLimits.Depth))
	}
	f := m.ExportedFunction(field)
	if f == nil {
		return nil, nil, false, false
	}
	results, err := f.Call(context.Background(), args...)
	return results, f.Definition().ResultTypes(), err != nil, true
}

func same(a, b uint64, t api.ValueType) bool {
	switch t {
	case api.ValueTypeI32:
		return uint32(a) == uint32(b)
	case api.ValueTypeF32:
		x, y := math.Float32frombits(uint32(a)), math.Float32frombits(uint32(b))
		return uint32(a) == uint32(b) || x != x && y != y
	case api.ValueTypeF64:
		x, y := math.Float64frombits(a), math.Float64frombits(b)
		return a == b || x != x && y != y
	case api.ValueTypeExternref, api.ValueTypeI64:
		return a == b
	}
	return (a == 0) == (b == 0) // function references are addresses
}

func TestSpecSuiteAnswersTheSame(t *testing.T) {
	total := struct{ modules, refused, calls, traps int }{}
	for _, file := range specFiles(t) {
		if strings.HasPrefix(filepath.Base(file), "simd") {
			continue
		}
		var spec specFile
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &spec); err != nil {
			t.Fatal(err)
		}
		plain, metered := newSide(t, wazero.NewRuntimeConfigCompiler()), newSide(t, wazero.NewRuntimeConfigCompiler())
		for _, c := range spec.Commands {
			where := filepath.Base(file) + ":" + strconv.Itoa(c.Line)
			switch c.Type {
			case "module":
				wasm, err := os.ReadFile(filepath.Join(filepath.Dir(file), c.Filename))
				if err != nil {
					t.Fatal(err)
				}
				total.modules++
				plain.last, metered.last = nil, nil
				r, err := Rewrite(wasm, testLimits)
				if err != nil {
					total.refused++
					continue
				}
				errPlain, errMetered := plain.instantiate(wasm, c.Name), metered.instantiate(r.Module, c.Name)
				if (errPlain == nil) != (errMetered == nil) {
					t.Errorf("%s: plain: %v, rewritten: %v", where, errPlain, errMetered)
					plain.last, metered.last = nil, nil
				}
			case "action", "assert_return", "assert_trap", "assert_exhaustion":
				if c.Action.Type != "invoke" {
					continue
				}
				args := make([]uint64, len(c.Action.Args))
				for i, a := range c.Action.Args {
					args[i] = a.bits()
				}
				want, types, wantTrap, ok := plain.call(c.Action.Module, c.Action.Field, args)
				got, _, gotTrap, ok2 := metered.call(c.Action.Module, c.Action.Field, args)
				if !ok || !ok2 {
					continue
				}
				total.calls++
				if wantTrap != gotTrap {
					t.Errorf("%s: %s trapped: plain %v, rewritten %v", where, c.Action.Field, wantTrap, gotTrap)
					continue
				}
				if wantTrap {
					total.traps++
				}
				for i := range want {
					if !same(want[i], got[i], types[i]) {
						t.Errorf("%s: %s result %d: plain %x, rewritten %x", where, c.Action.Field, i, want[i], got[i])
					}
				}
			}
		}
	}
	t.Logf("%d modules (%d refused: imported memories, tables, globals), %d calls, %d traps", total.modules, total.refused, total.calls, total.traps)
	if total.calls < 10_000 {
		t.Errorf("only %d calls compared", total.calls)
	}
}
