package meter

// This file holds what broken modules do to the rewriter: nothing but an error; and to the engine behind it: nothing at all.

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestMutatedModules changes, cuts and splices spec modules. What the rewriter takes of what the engine takes, the engine must take
// rewritten. (go test -fuzz stalls on this one; a loop doesn't.)
func TestMutatedModules(t *testing.T) {
	files := specModules(t)
	ctx := context.Background()
	plain := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(specFeatures))
	defer plain.Close(ctx)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	n, taken := 60_000, 0
	if testing.Short() {
		n = 2_000
	}
	for range n {
		b := mutate(rng, files[rng.IntN(len(files))], files[rng.IntN(len(files))])
		r, err := Rewrite(b, testLimits)
		if err != nil {
			if !errors.Is(err, ErrRefused) {
				t.Fatalf("an error of another kind: %v", err)
			}
			continue
		}
		code, err := plain.CompileModule(ctx, b)
		if err != nil {
			continue
		}
		code.Close(ctx)
		taken++
		code, err = plain.CompileModule(ctx, r.Module)
		if err != nil {
			t.Errorf("valid before, not after: %v (%d bytes, seed %d)", err, len(b), seed)
			continue
		}
		code.Close(ctx)
	}
	t.Logf("%d mutated modules, %d of them valid and taken", n, taken)
}

func specModules(t testing.TB) (modules [][]byte) {
	files, err := filepath.Glob(filepath.Join(wazeroDir(t), "internal/integration_test/spectest/v*/testdata/*.wasm"))
	if err != nil || len(files) == 0 {
		t.Skip("wazero's source has no spec tests")
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && len(b) >= 8 && len(b) < 64<<10 {
			modules = append(modules, b)
		}
	}
	return modules
}

func mutate(rng *rand.Rand, a, b []byte) []byte {
	out := append([]byte(nil), a...)
	for range 1 + rng.IntN(4) {
		if len(out) < 9 {
			break
		}
		at := 8 + rng.IntN(len(out)-8)
		switch rng.IntN(5) {
		case 0:
			out[at] ^= 1 << rng.IntN(8)
		case 1:
			out[at] = byte(rng.IntN(256))
		case 2:
			out = append(out[:at], out[at+1:]...)
		case 3:
			out = append(out[:at], append([]byte{byte(rng.IntN(256))}, out[at:]...)...)
		case 4:
			if from := rng.IntN(len(b)); rng.IntN(8) == 0 {
				out = append(out[:at], b[from:]...)
			}
		}
	}
	return out
}

func TestRefusals(t *testing.T) {
	module := func(sections ...byte) []byte { return append([]byte("\x00asm\x01\x00\x00\x00"), sections...) }
	for name, b := range map[string][]byte{
		"nothing":           nil,
		"component":         []byte("\x00asm\x0d\x00\x01\x00"),
		"section twice":     module(1, 1, 0, 1, 1, 0),
		"out of order":      module(3, 1, 0, 1, 1, 0),
		"unknown section":   module(13, 1, 0),
		"cut":               module(1, 5, 0),
		"imported memory":   module(2, 7, 1, 1, 'a', 1, 'b', 2, 0, 1),
		"two memories":      module(5, 5, 2, 0, 1, 0, 1),
		"shared memory":     module(5, 4, 1, 3, 1, 1),
		"memory64":          module(5, 3, 1, 4, 1),
		"memory too large":  module(5, 5, 1, 0, 0x81, 0x80, 0x04),
		"five tables":       module(4, 16, 5, 0x70, 0, 1, 0x70, 0, 1, 0x70, 0, 1, 0x70, 0, 1, 0x70, 0, 1),
		"v128":              module(1, 5, 1, 0x60, 1, 0x7b, 0),
		"reserved export":   append(module(7, 16, 1, 12), append([]byte("plexus.meter"), 0, 0)...),
		"code for nothing":  module(10, 4, 1, 2, 0, 0x0b),
		"SIMD":              module(1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 10, 6, 1, 4, 0, 0xfd, 0, 0x0b),
		"tail call":         module(1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 10, 6, 1, 4, 0, 0x12, 0, 0x0b),
		"code behind end":   module(1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 10, 5, 1, 3, 0, 0x0b, 0x0b),
		"else without if":   module(1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 10, 5, 1, 3, 0, 0x05, 0x0b),
		"call to nowhere":   module(1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 10, 6, 1, 4, 0, 0x10, 9, 0x0b),
		"thousands locals":  module(1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 10, 8, 1, 6, 1, 0x91, 0xce, 0, 0x7f, 0x0b),
		"global with call":  module(6, 6, 1, 0x7f, 0, 0x10, 0, 0x0b),
		"element flags":     module(9, 2, 1, 8),
		"number over bytes": module(1, 6, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00),
	} {
		if _, err := Rewrite(b, Limits{MemoryPages: 65536, TableSize: 10, Depth: 10}); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCustomSections(t *testing.T) {
	b := []byte("\x00asm\x01\x00\x00\x00")
	b = AppendCustom(b, "one", []byte("first"))
	b = AppendCustom(b, "two", nil)
	got := ""
	if err := Custom(b, func(name string, data []byte) error { got += name + "=" + string(data) + ";"; return nil }); err != nil || got != "one=first;two=;" {
		t.Errorf("%q %v", got, err)
	}
	r, err := Rewrite(b, testLimits)
	if err != nil {
		t.Fatal(err)
	}
	if err := Custom(r.Module, func(name string, _ []byte) error { t.Errorf("section %s is left", name); return nil }); err != nil {
		t.Error(err)
	}
}
