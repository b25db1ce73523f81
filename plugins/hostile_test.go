package plugins

// This file holds the hostile guests: each is contained, marked with its reason, and the next message is folded.

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"plexus/sdk/abi"
)

// guest is a plugin whose fold is the given code; locals 1 to 4 are its own, local 0 the input's length.
func guest(name string, w wasm, fold ...[]byte) []byte {
	w.funcs = append(w.funcs, wasmFunc{export: abi.ExportFold, params: 1, results: 1, locals: 4, code: ops(fold...)})
	return w.build(abi.Plugin{Name: name, Version: "1", Accepts: []string{"x"}})
}

var (
	importSet   = wasmImport{"state_set", 4, 0}
	importWrite = wasmImport{"output_write", 2, 0}
	importRead  = wasmImport{"input_read", 1, 0}
	importNext  = wasmImport{"state_next", 6, 1}
	importLog   = wasmImport{"log", 3, 0}
	importFail  = wasmImport{"fail", 3, 0}
)

func hostile() map[string]struct {
	wasm   []byte
	reason string
} {
	imports := func(i ...wasmImport) wasm { return wasm{imports: i, data: "key"} }
	recursive := wasm{funcs: []wasmFunc{{params: 1, results: 1, code: ops(get(0), num(1), opAdd, callFn(0))}}}
	tree := wasm{funcs: []wasmFunc{{params: 1, results: 1, code: ops(
		get(0), []byte{0x45, 0x04, 0x40}, num(1), opReturn, opEnd, // if it is 0: 1
		get(0), num(-1), opAdd, callFn(0), get(0), num(-1), opAdd, callFn(0), opAdd,
	)}}}
	table := wasm{table: true}
	return map[string]struct {
		wasm   []byte
		reason string
	}{
		"infinite loop":    {guest("bad", wasm{}, opLoop, br(0), opEnd, num(0)), "out of gas"},
		"call tree":        {guest("bad", tree, num(60), callFn(0)), "out of gas"},
		"recursion":        {guest("bad", recursive, num(0), callFn(0)), "calls nested too deep"},
		"memory bomb":      {guest("bad", wasm{}, opLoop, num(1), opGrow, opDrop, br(0), opEnd, num(0)), "out of gas"},
		"four gigabytes":   {guest("bad", wasm{}, num(65535), opGrow, num(-1), []byte{0x46, 0x04, 0x40, 0x00}, opEnd, num(0)), "unreachable"},
		"table bomb":       {guest("bad", table, opLoop, []byte{0xd0, 0x70}, num(1000), []byte{0xfc, 15, 0}, opDrop, br(0), opEnd, num(0)), "out of gas"},
		"fill of memory":   {guest("bad", wasm{pages: 100}, opLoop, num(0), num(7), num(100<<16), []byte{0xfc, 11, 0}, br(0), opEnd, num(0)), "out of gas"},
		"out of bounds":    {guest("bad", wasm{}, num(-4), opLoad, opDrop, num(0)), "out of bounds memory access"},
		"division by zero": {guest("bad", wasm{}, num(1), num(0), []byte{0x6d}, opDrop, num(0)), "integer divide by zero"},
		"wild pointer":     {guest("bad", imports(importSet), num(-100), num(3), num(0), num(0), callFn(0), num(0)), "memory out of bounds"},
		"wild input":       {guest("bad", imports(importRead), num(-1), callFn(0), num(0)), "memory out of bounds"},
		"empty key":        {guest("bad", imports(importSet), num(16), num(0), num(0), num(0), callFn(0), num(0)), "an empty state key"},
		"long key":         {guest("bad", imports(importSet), num(0), num(257), num(0), num(0), callFn(0), num(0)), "at most 256"},
		"long value":       {guest("bad", wasm{imports: []wasmImport{importSet}, pages: 4}, num(16), num(3), num(0), num(65537), callFn(0), num(0)), "at most 65536"},
		"huge value":       {guest("bad", imports(importSet), num(16), num(3), num(0), num(-1), callFn(0), num(0)), "at most 65536"},
		"huge log":         {guest("bad", imports(importLog), num(0), num(0), num(-1), callFn(0), num(0)), "at most 1048576"},
		"output":           {guest("bad", wasm{imports: []wasmImport{importWrite}, pages: 8}, num(0), num(256<<10), callFn(0), num(0), num(1), callFn(0), num(0)), "bytes of output"},
		"outputs":          {guest("bad", imports(importWrite), opLoop, num(0), num(1), callFn(0), br(0), opEnd, num(0)), "more than 64 outputs"},
		"no such code":     {guest("bad", wasm{}, num(99)), "refused with code 99"},
		"reason no text":   {guest("bad", wasm{imports: []wasmImport{importWrite}, data: "\xff\xfe"}, num(16), num(2), callFn(0), num(1)), "refused with code 1"},
		"reason":           {guest("bad", imports(importWrite), num(16), num(3), callFn(0), num(1)), "key"},
		"fail":             {guest("bad", imports(importFail), num(20), num(16), num(3), callFn(0), num(0)), "key"},
		"state of a gigabyte": {guest("bad", wasm{imports: []wasmImport{importSet}, pages: 2}, opLoop,
			num(0), get(1), num(1), opAdd, []byte{0x22, 1}, opStore, // memory[0] = ++local 1
			num(0), num(4), num(0), num(65536), callFn(0), br(0), opEnd, num(0)), "out of gas"},
		"ten million keys": {guest("bad", wasm{imports: []wasmImport{importSet}, pages: 2}, opLoop,
			num(0), get(1), num(1), opAdd, []byte{0x22, 1}, opStore,
			num(0), num(4), num(0), num(0), callFn(0), br(0), opEnd, num(0)), "out of gas"},
		"endless scan": {guest("bad", wasm{imports: []wasmImport{importNext}}, opLoop,
			num(0), num(0), num(0), num(0), num(0), num(0), callFn(0), opDrop, br(0), opEnd, num(0)), "out of gas"},
	}
}

// A guest that can't even begin marks every message, once tried, and harms nobody.
func TestGuestThatCantBegin(t *testing.T) {
	for name, code := range map[string][]byte{
		"loops":     ops(opLoop, br(0), opEnd),
		"traps":     {0x00},
		"host call": ops(num(0), num(0), callFn(0)),
	} {
		w := wasm{imports: []wasmImport{importWrite}, funcs: []wasmFunc{{export: abi.ExportInit, code: code}}}
		r := newReplica(t, guest("bad", w, num(0)), good)
		start := time.Now()
		for i := range 50 {
			r.say("ann", "x", obj{"n": i})
		}
		r.hash("bad")
		r.hash("good")
		list, err := r.host.Plugins(r.ctx(), r.space.ID())
		r.must(err)
		if list[0].Marked != 50 || !strings.Contains(list[0].Reason, abi.ExportInit) || list[1].Marked != 0 || time.Since(start) > 5*time.Second {
			t.Errorf("%s: %+v after %s", name, list, time.Since(start))
		}
	}
}

// good counts: it writes one key per message.
var good = guest("good", wasm{imports: []wasmImport{importRead, importSet}},
	num(64), callFn(0), num(100), num(40), num(0), num(4), callFn(1), num(0))

func TestHostileGuestsAreContained(t *testing.T) {
	for name, bad := range hostile() {
		t.Run(name, func(t *testing.T) {
			r := newReplica(t, bad.wasm, good)
			start := time.Now()
			r.say("ann", "x", obj{"n": 1})
			r.say("ann", "x", obj{"n": 2})
			r.hash("bad")
			r.hash("good")
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %s", took)
			}
			list, err := r.host.Plugins(r.ctx(), r.space.ID())
			r.must(err)
			if list[0].Folded != 2 || list[0].Marked != 2 || !strings.Contains(list[0].Reason, bad.reason) {
				t.Errorf("bad: %+v, want the reason %q", list[0], bad.reason)
			}
			if list[1].Folded != 2 || list[1].Marked != 0 {
				t.Errorf("good: %+v", list[1])
			}
		})
	}
}

func TestHostileGuestsTakeBoundedMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for _, name := range []string{"memory bomb", "table bomb", "recursion", "state of a gigabyte"} {
		bad := hostile()[name]
		r := bareReplica(t, bad.wasm)
		r.run()
		for i := range 20 {
			r.say("ann", "x", obj{"n": i})
		}
		r.hash("bad")
		r.close()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<20 {
		t.Errorf("the heap has grown by %d MiB", grown>>20)
	}
}

// spy keeps what it can see of itself: how often it was called (a global and memory), the clock, randomness.
func spy() []byte {
	w := wasm{imports: []wasmImport{importSet, importRead}, globals: 1, pages: 1}
	return guest("spy", w,
		gget(0), num(1), opAdd, gset(0), num(1000), gget(0), opStore, // global 0 counts
		num(1004), num(1004), opLoad, num(1), opAdd, opStore, // memory counts
		num(2000), callFn(1), // the input, whose message ID makes the key
		num(2016), num(40), num(1000), num(8), callFn(0),
		num(0))
}

func TestGuestHasNoMemoryOfItsOwn(t *testing.T) {
	a := newReplica(t, spy())
	for i := range 5 {
		a.say("ann", "x", obj{"n": i})
	}
	b := bareReplica(t, spy())
	var entries []string
	for e, err := range a.space.Range(a.ctx(), keyMin, keyMax) {
		a.must(err)
		entries = append(entries, e.ID().String())
		b.add(e)
	}
	b.run()
	defer b.close()
	if x, y := a.hash("spy"), b.hash("spy"); x != y {
		t.Errorf("two replicas differ: %s, %s", x, y)
	}
	b.restart()
	c := fmt.Sprint(len(entries))
	for kv, err := range a.host.records.Scan(append(numPrefix(1), kindState), append(numPrefix(1), kindState+1), false) {
		a.must(err)
		if string(kv.Value) != "\x01\x00\x00\x00\x01\x00\x00\x00" {
			t.Errorf("of %s messages one saw the counts % x", c, kv.Value)
		}
	}
}
