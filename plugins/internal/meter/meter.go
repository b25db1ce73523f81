// Package meter rewrites a Wasm module so that it is deterministic and can be stopped: gas per block, call depth,
// clamped memories and tables, canonical NaNs. It is a pure function of bytes (docs/plugins.md §7).
//
// It isn't a validator: hand it what an engine has validated. What it doesn't know it refuses, so a module in and a module out
// always mean the same but for gas, depth and NaN bits.
package meter

// This file holds Rewrite and the walk over the sections.

import (
	"errors"
	"fmt"
	"strings"
)

// Schedule is the version of the gas schedule and of the rewriting. State folded under another version isn't compared.
const Schedule = 1

// Revision tells apart what this package makes of a module, where results and gas are the same: what was kept of an older one is made anew.
const Revision = 2

// The names the rewritten module shares with its host. Guests may not use the prefix.
const (
	Prefix       = "plexus.meter"  // of every export the rewriter adds; also the module name of its import
	Refill       = "refill"        // import () → (): more gas, or a trap
	GasGlobal    = Prefix + ".gas" // export: mutable i64, what is left before the next refill; below zero: empty
	DepthGlobal  = Prefix + ".dep" // export: mutable i32, what is left of the call depth; below zero: exceeded
	globalPrefix = Prefix + ".g"   // exports: the guest's own mutable globals, for the reset
)

// ErrRefused is what every refusal wraps.
var ErrRefused = errors.New("module refused")

// Limits are written into the module.
type Limits struct {
	MemoryPages uint32 // maximum of the memory, in 64 KiB pages
	TableSize   uint32 // maximum of each table, in elements
	Depth       int32  // call depth the module starts with
	Unmetered   bool   // no gas is charged for instructions: only to measure what that costs
}

// Import is one function the guest asks for.
type Import struct{ Module, Name string }

// Result is a rewritten module and what was learned of it.
type Result struct {
	Module   []byte
	Imports  []Import        // the guest's own, in order
	Exports  map[string]byte // the guest's own: name → kind (0 func, 1 table, 2 memory, 3 global)
	Globals  []string        // exports of the mutable globals that a reset must restore
	Stateful bool            // it changes tables or drops segments: a reset needs a new instance
}

// Rewrite returns the module with everything above built in. Errors wrap ErrRefused and say what the module uses.
func Rewrite(module []byte, l Limits) (*Result, error) {
	sections, err := split(module)
	if err != nil {
		return nil, err
	}
	w := &rewriter{limits: l, result: &Result{Exports: map[string]byte{}}}
	out := append([]byte(nil), module[:8]...)
	for _, id := range order {
		body, ok := sections[id]
		if !ok && !w.needs(id) {
			continue
		}
		payload, err := w.section(id, body)
		if err != nil {
			return nil, fmt.Errorf("%w: %s section: %w", ErrRefused, sectionNames[id], err)
		}
		out = append(out, id)
		out = appendU32(out, uint32(len(payload)))
		out = append(out, payload...)
	}
	w.result.Module = out
	return w.result, nil
}

// The sections, in the order they must come.
const (
	secCustom    = 0
	secType      = 1
	secImport    = 2
	secFunction  = 3
	secTable     = 4
	secMemory    = 5
	secGlobal    = 6
	secExport    = 7
	secStart     = 8
	secElement   = 9
	secCode      = 10
	secData      = 11
	secDataCount = 12
)

var (
	order        = []byte{secType, secImport, secFunction, secTable, secMemory, secGlobal, secExport, secStart, secElement, secDataCount, secCode, secData}
	sectionNames = [...]string{"custom", "type", "import", "function", "table", "memory", "global", "export", "start", "element", "code", "data", "data count"}
)

// rank is a section's place in the order, for the check that none comes twice or late.
func rank(id byte) int {
	for i, o := range order {
		if o == id {
			return i + 1
		}
	}
	return 0
}

// split cuts a module into its sections; custom ones are left out.
func split(module []byte) (map[byte][]byte, error) {
	sections := map[byte][]byte{}
	last := 0
	err := walk(module, func(id byte, body []byte) error {
		if id == secCustom {
			return nil
		}
		r := rank(id)
		if r == 0 {
			return fmt.Errorf("%w: unknown section %d", ErrRefused, id)
		}
		if r <= last {
			return fmt.Errorf("%w: %s section twice or out of order", ErrRefused, sectionNames[id])
		}
		last = r
		sections[id] = body
		return nil
	})
	return sections, err
}

func walk(module []byte, visit func(id byte, body []byte) error) error {
	if len(module) < 8 || string(module[:8]) != "\x00asm\x01\x00\x00\x00" {
		return fmt.Errorf("%w: no Wasm 1 module (a component? build a core module)", ErrRefused)
	}
	r := &reader{b: module, i: 8}
	for r.more() {
		id := r.byte()
		body := r.bytes(r.u32())
		if r.err != nil {
			return fmt.Errorf("%w: %w", ErrRefused, r.err)
		}
		if err := visit(id, body); err != nil {
			return err
		}
	}
	return nil
}

// Custom yields the module's custom sections in file order. It needs nothing else of the module to be right.
func Custom(module []byte, yield func(name string, data []byte) error) error {
	return walk(module, func(id byte, body []byte) error {
		if id != secCustom {
			return nil
		}
		r := &reader{b: body}
		name := r.name()
		if r.err != nil {
			return fmt.Errorf("%w: custom section: %w", ErrRefused, r.err)
		}
		return yield(name, body[r.i:])
	})
}

// AppendCustom adds a custom section at the module's end.
func AppendCustom(module []byte, name string, data []byte) []byte {
	body := appendName(nil, name)
	body = append(body, data...)
	module = append(module, secCustom)
	module = appendU32(module, uint32(len(body)))
	return append(module, body...)
}

// rewriter holds what later sections need of earlier ones.
type rewriter struct {
	limits    Limits
	result    *Result
	types     []funcType
	wrap      map[uint32]uint32 // type index → type index of () → its results, for functions with several results
	imported  uint32            // the guest's imported functions; the refill import gets this index
	functions []uint32          // type indexes of defined functions
	importTyp []uint32          // type indexes of imported functions
	globals   uint32            // the guest's globals; gas is this index, depth the next
	mutable   []uint32          // indexes of the guest's mutable globals
	refillTyp uint32
}

type funcType struct{ params, results []byte }

// needs says which sections must be made even where the guest has none.
func (w *rewriter) needs(id byte) bool {
	return id == secType || id == secImport || id == secGlobal || id == secExport
}

func (w *rewriter) section(id byte, body []byte) ([]byte, error) {
	if body == nil {
		body = []byte{0}
	}
	r := &reader{b: body}
	var out []byte
	switch id {
	case secType:
		out = w.typeSection(r)
	case secImport:
		out = w.importSection(r)
	case secFunction:
		out = w.functionSection(r, body)
	case secTable:
		out = w.tableSection(r)
	case secMemory:
		out = w.memorySection(r)
	case secGlobal:
		out = w.globalSection(r)
	case secExport:
		out = w.exportSection(r)
	case secStart:
		out = appendU32(nil, w.function(r.u32()))
	case secElement:
		out = w.elementSection(r)
	case secCode:
		out = w.codeSection(r)
	default: // data, data count: as they are
		return body, nil
	}
	if r.err == nil && r.more() {
		r.failf("%d bytes too many", len(body)-r.i)
	}
	return out, r.err
}

// function maps a function index: the refill import stands behind the guest's own imports.
func (w *rewriter) function(i uint32) uint32 {
	if i >= w.imported {
		return i + 1
	}
	return i
}

func reserved(name string) bool { return strings.HasPrefix(name, Prefix) }
