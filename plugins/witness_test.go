package plugins

// This file tests what is told of states: those that cover all there is, by their hash.

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"plexus/graph"
	"plexus/sdk/abi"
)

func TestWitnesses(t *testing.T) {
	one, two := counter("count", "1", 'a'), counter("idle", "1", 'a')
	r := newReplica(t, one, two)
	of := func() []Witness {
		t.Helper()
		w, err := r.host.Witnesses(r.space.ID())
		r.must(err)
		return w
	}
	r.hash("count")
	if w := of(); len(w) != 0 {
		t.Errorf("nothing is folded, yet %+v", w)
	}
	r.say("ann", "x", obj{})
	hash := r.hash("count")
	r.hash("idle")
	if w := of(); len(w) != 2 || w[0] != (Witness{"count", fileCID(one), hash}) || w[1].Plugin != "idle" {
		t.Errorf("%+v, want count at %s", w, hash)
	}
	r.say("ann", "x", obj{})
	if next := r.hash("count"); next == hash || of()[0].Hash != next {
		t.Errorf("%s after %s", next, hash)
	}
	slot := r.host.slots[slotKey{r.space.ID(), "idle"}]
	for took, told := range map[time.Duration]int{time.Hour: 1, 0: 2} { // one that was dear a moment ago is left out
		slot.hashed.Store(&hashed{at: time.Now(), took: took})
		if w := of(); len(w) != told {
			t.Errorf("a hash took %v: %+v", took, w)
		}
	}
	r.must(r.log.Apply(r.ctx(), &rights{void: map[graph.NodeID]bool{id("ann"): true}}))
	r.until("withdrawn", func() bool { return len(of()) == 0 })
	if e := r.host.Engine(); !strings.HasPrefix(e, "wazero ") {
		t.Error(e)
	}
	if w, err := r.host.Witnesses(graph.BlockID([]byte("x"))); err != nil || len(w) > 0 {
		t.Errorf("of no Space: %+v, %v", w, err)
	}
}

// nodeGuests are the files that the tests of node use: what each makes of a message differs by a byte, or it takes none.
func nodeGuests() map[string][]byte {
	guest := func(version string, value, code byte) []byte {
		w := wasm{imports: []wasmImport{importRead, importSet, importWrite}}
		w.funcs = []wasmFunc{
			{export: abi.ExportFold, params: 1, results: 1, code: ops(
				num(64), callFn(0), num(0), num(int64(value)), opStore, num(100), num(40), num(0), num(1), callFn(1), num(int64(code)))},
			{export: abi.ExportView, params: 1, results: 1, code: ops(num(0), num(int64(value)), opStore, num(0), num(1), callFn(2), num(0))},
		}
		return w.build(abi.Plugin{Name: "count", Version: version, Accepts: []string{"x"}, Views: []abi.Command{{Name: "value"}}})
	}
	return map[string][]byte{"count1": guest("1", 1, 0), "count2": guest("2", 2, 0), "refuse": guest("3", 3, 16)}
}

func TestNodeGuests(t *testing.T) {
	for name, want := range nodeGuests() {
		path := "../node/testdata/" + name + ".wasm"
		if os.Getenv("PLEXUS_UPDATE") != "" {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s isn't what is made here (PLEXUS_UPDATE=1 writes it): %v", path, err)
		}
	}
}
