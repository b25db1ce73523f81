package plugins

// This file holds a small assembler, so that hostile guests can be written down as they are.

import (
	"encoding/json"
	"slices"

	"plexus/plugins/internal/meter"
	"plexus/sdk/abi"
)

// wasm builds a guest: one memory, the marker, and functions in the order they are added.
type wasm struct {
	imports []wasmImport
	funcs   []wasmFunc
	pages   byte   // memory at the start
	table   bool   // one table of function references
	data    string // at address 16
	globals int    // mutable i32, zero
}

type wasmImport struct {
	name    string
	params  int
	results int
}

type wasmFunc struct {
	export  string // "": none
	params  int
	results int
	locals  int
	code    []byte
}

func section(id byte, items ...[]byte) []byte {
	body := leb(len(items))
	for _, i := range items {
		body = append(body, i...)
	}
	return append(append([]byte{id}, leb(len(body))...), body...)
}

func leb(n int) []byte {
	var b []byte
	for n >= 0x80 {
		b = append(b, byte(n)|0x80)
		n >>= 7
	}
	return append(b, byte(n))
}

// sleb is a signed number, as constants have it.
func sleb(n int64) []byte {
	var b []byte
	for {
		c := byte(n & 0x7f)
		n >>= 7
		if n == 0 && c&0x40 == 0 || n == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func str(s string) []byte { return append(leb(len(s)), s...) }

func funcType(params, results int) []byte {
	b := append([]byte{0x60}, leb(params)...)
	b = append(b, slices.Repeat([]byte{0x7f}, params)...)
	b = append(b, leb(results)...)
	return append(b, slices.Repeat([]byte{0x7f}, results)...)
}

// build gives the module with its manifest: a plugin of this name that accepts this type.
func (w wasm) build(p abi.Plugin) []byte {
	w.funcs = append(w.funcs, wasmFunc{export: abi.Marker})
	var types, imports, funcs, exports, code [][]byte
	for _, i := range w.imports {
		types = append(types, funcType(i.params, i.results))
		imports = append(imports, slices.Concat(str(abi.Module), str(i.name), []byte{0}, leb(len(types)-1)))
	}
	exports = append(exports, slices.Concat(str("memory"), []byte{2, 0}))
	for _, f := range w.funcs {
		types = append(types, funcType(f.params, f.results))
		funcs = append(funcs, leb(len(types)-1))
		if f.export != "" {
			exports = append(exports, slices.Concat(str(f.export), []byte{0}, leb(len(w.imports)+len(funcs)-1)))
		}
		body := []byte{0}
		if f.locals > 0 {
			body = slices.Concat([]byte{1}, leb(f.locals), []byte{0x7f})
		}
		body = slices.Concat(body, f.code, []byte{0x0b})
		code = append(code, append(leb(len(body)), body...))
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	out = append(out, section(1, types...)...)
	out = append(out, section(2, imports...)...)
	out = append(out, section(3, funcs...)...)
	if w.table {
		out = append(out, section(4, []byte{0x70, 0, 1})...)
	}
	out = append(out, section(5, []byte{0, max(w.pages, 1)})...)
	globals := slices.Repeat([][]byte{{0x7f, 1, 0x41, 0, 0x0b}}, w.globals)
	out = append(out, section(6, globals...)...)
	out = append(out, section(7, exports...)...)
	out = append(out, section(10, code...)...)
	out = append(out, section(11, slices.Concat([]byte{0, 0x41, 16, 0x0b}, str(w.data)))...)
	return withManifest(out, p)
}

func withManifest(module []byte, plugins ...abi.Plugin) []byte {
	b, err := json.Marshal(abi.Manifest{ABI: abi.Version, Plugins: plugins})
	if err != nil {
		panic(err)
	}
	return meter.AppendCustom(module, abi.SectionManifest, b)
}

// The instructions the guests use.
var (
	opEnd    = []byte{0x0b}
	opDrop   = []byte{0x1a}
	opLoop   = []byte{0x03, 0x40}
	opGrow   = []byte{0x40, 0}
	opAdd    = []byte{0x6a}
	opStore  = []byte{0x36, 2, 0}
	opLoad   = []byte{0x28, 2, 0}
	opReturn = []byte{0x0f}
)

func num(n int64) []byte     { return append([]byte{0x41}, sleb(n)...) }
func callFn(i int) []byte    { return append([]byte{0x10}, leb(i)...) }
func get(i int) []byte       { return append([]byte{0x20}, leb(i)...) }
func br(i int) []byte        { return append([]byte{0x0c}, leb(i)...) }
func gget(i int) []byte      { return append([]byte{0x23}, leb(i)...) }
func gset(i int) []byte      { return append([]byte{0x24}, leb(i)...) }
func ops(b ...[]byte) []byte { return slices.Concat(b...) }
func set(i int) []byte       { return append([]byte{0x21}, leb(i)...) }
