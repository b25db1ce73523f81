package plugins

// This file holds the proof that engines don't matter: compiler and interpreter, an instance used again and one made anew, memory
// reset by the page and copied whole give the same state for the same gas.

import (
	"context"
	"fmt"
	"testing"

	"github.com/tetratelabs/wazero"

	"plexus/graph"
)

func TestEnginesAgree(t *testing.T) {
	source := bareReplica(t)
	defer source.close()
	trace(source, 60)
	var entries []*graph.Entry
	for e, err := range source.space.Range(source.ctx(), keyMin, keyMax) {
		source.must(err)
		entries = append(entries, e)
	}
	files := [][]byte{bundle, spy(), floats()}
	names := []string{"checkpoint", "spy", "floats"}
	var want []string
	for _, way := range []struct {
		name    string
		runtime wazero.RuntimeConfig
		change  func(*file)
	}{
		{"compiler", wazero.NewRuntimeConfig(), func(*file) {}},
		{"interpreter", wazero.NewRuntimeConfigInterpreter(), func(*file) {}},
		{"new instances", wazero.NewRuntimeConfig(), func(f *file) { f.meter.Stateful = true }},
		{"copied whole", wazero.NewRuntimeConfig(), func(f *file) { f.noPages = true }},
	} {
		e, err := newEngine(context.Background(), "", way.runtime)
		source.must(err)
		l := &loaded{engine: e}
		for _, wasm := range files {
			f, err := e.load(context.Background(), wasm, true)
			source.must(err)
			way.change(f)
			l.files = append(l.files, f)
		}
		r := bareReplica(t)
		r.add(entries...)
		r.loaded = l
		r.run()
		var got []string
		for _, n := range names {
			got = append(got, r.hash(n))
		}
		r.stop()
		got = append(got, fmt.Sprint(r.host.gas, " gas"))
		r.close()
		source.must(e.close(context.Background()))
		if want == nil {
			want = got
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, the compiler %v", way.name, got, want)
		}
	}
}

// trace has people ask and answer, and say things of type x.
func trace(r *replica, n int) {
	var last graph.ID
	for i := range n {
		switch i % 3 {
		case 0:
			last = r.say("ann", "checkpoint", obj{"id": fmt.Sprint(i), "title": "Deploy?", "options": []string{"Yes", "No"}}).ID()
		case 1:
			r.say("bob", "", obj{"option": "Yes", "feedback": "Please do."}, last)
		case 2:
			r.say("cem", "x", obj{"n": i, "f": 1.5, "s": "text"})
		}
	}
}

// floats stores what NaNs look like.
func floats() []byte {
	store := []byte{0x39, 3, 0} // f64.store
	zero := []byte{0x44, 0, 0, 0, 0, 0, 0, 0, 0}
	minus := []byte{0x44, 0, 0, 0, 0, 0, 0, 0, 0x80}
	return guest("floats", wasm{imports: []wasmImport{importSet}, data: "nan"},
		num(200), zero, zero, []byte{0xa3}, store, // 0/0
		num(208), minus, zero, []byte{0xa3}, store,
		num(216), []byte{0x44, 1, 0, 0, 0, 0, 0, 0xf0, 0xff}, zero, []byte{0xa0}, store, // a signalling NaN + 0
		num(16), num(3), num(200), num(24), callFn(0), num(0))
}

func TestNaNsAreCanonical(t *testing.T) {
	r := newReplica(t, floats())
	r.say("ann", "x", obj{})
	r.hash("floats")
	v, err := r.host.records.Get(append(numPrefix(1), "snan"...))
	r.must(err)
	for i := range 3 {
		if got := fmt.Sprintf("%x", v[8*i:8*i+8]); got != "000000000000f87f" {
			t.Errorf("NaN %d is %s", i, got)
		}
	}
}
