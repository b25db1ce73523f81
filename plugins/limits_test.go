package plugins

// This file holds the limits, each at its edge: what is just allowed, and what is just too much.

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"plexus/graph"
	"plexus/sdk/abi"
)

// outcomeOf folds one message with a guest and returns the mark's reason, "" for none.
func outcomeOf(t *testing.T, w wasm, limits abi.Limits, fold ...[]byte) string {
	t.Helper()
	w.funcs = append(w.funcs, wasmFunc{export: abi.ExportFold, params: 1, results: 1, locals: 4, code: ops(fold...)})
	r := newReplica(t, w.build(abi.Plugin{Name: "p", Accepts: []string{"x"}, Limits: limits}))
	r.say("ann", "x", obj{})
	r.hash("p")
	list, err := r.host.Plugins(r.ctx(), r.space.ID())
	r.must(err)
	return list[0].Reason
}

// A text of several pieces has the hash of the whole.
func TestLongTextsAreHashed(t *testing.T) {
	for _, n := range []int64{0, hashPiece, hashPiece + 1, 2*hashPiece + 77} {
		r := newReplica(t, guest("hash", wasm{imports: []wasmImport{{"sha256", 3, 0}, importSet}, data: "key", pages: 33},
			num(64), num(n), num(32), callFn(0), num(16), num(3), num(32), num(32), callFn(1), num(0)))
		r.say("ann", "x", obj{})
		r.hash("hash")
		got, err := r.host.records.Get(append(numPrefix(1), "skey"...))
		r.must(err)
		if want := sha256.Sum256(make([]byte, n)); !bytes.Equal(got, want[:]) {
			t.Errorf("%d bytes: %x, want %x", n, got, want)
		}
	}
}

func TestLimitsAtTheirEdge(t *testing.T) {
	// times repeats code n times, counting in local 1.
	times := func(n int64, code ...[]byte) []byte {
		return ops(num(n), set(1), opLoop, ops(code...), get(1), num(-1), opAdd, []byte{0x22, 1}, []byte{0x0d, 0}, opEnd)
	}
	// down calls itself n times deep.
	down := wasm{funcs: []wasmFunc{{params: 1, code: ops(get(0), []byte{0x04, 0x40}, get(0), num(-1), opAdd, callFn(0), opEnd)}}}
	write := wasm{imports: []wasmImport{importWrite}, pages: 5}
	state := wasm{imports: []wasmImport{importSet}, pages: 3}
	table := wasm{table: true}
	grown := func(op []byte, n int64) []byte { // traps where growing by n fails
		return ops(num(n), op, num(-1), []byte{0x46, 0x04, 0x40, 0x00}, opEnd, num(0))
	}
	growTable := func(n int64) []byte {
		return ops([]byte{0xd0, 0x70}, num(n), []byte{0xfc, 15, 0}, num(-1), []byte{0x46, 0x04, 0x40, 0x00}, opEnd, num(0))
	}
	for name, test := range map[string]struct {
		w          wasm
		limits     abi.Limits
		good, over []byte
		reason     string
	}{
		"key": {
			state,
			abi.Limits{},
			ops(num(0), num(abi.MaxKey), num(0), num(0), callFn(0), num(0)),
			ops(num(0), num(abi.MaxKey+1), num(0), num(0), callFn(0), num(0)), "at most 256",
		},
		"value": {
			state,
			abi.Limits{},
			ops(num(0), num(1), num(0), num(abi.MaxValue), callFn(0), num(0)),
			ops(num(0), num(1), num(0), num(abi.MaxValue+1), callFn(0), num(0)), "at most 65536",
		},
		"signed": {
			wasm{imports: []wasmImport{{"ed25519_verify", 4, 1}}, pages: 17},
			abi.Limits{},
			ops(num(0), num(0), num(0), num(abi.MaxSigned), callFn(0), opDrop, num(0)),
			ops(num(0), num(0), num(0), num(abi.MaxSigned+1), callFn(0), opDrop, num(0)), "at most 1048576",
		},
		"outputs": {
			write,
			abi.Limits{},
			ops(times(abi.MaxOutputs, num(0), num(1), callFn(0)), num(0)),
			ops(times(abi.MaxOutputs+1, num(0), num(1), callFn(0)), num(0)), "outputs",
		},
		"output": {
			write,
			abi.Limits{},
			ops(num(0), num(abi.MaxOutput), callFn(0), num(0)),
			ops(num(0), num(abi.MaxOutput), callFn(0), num(0), num(1), callFn(0), num(0)), "bytes of output",
		},
		"memory":        {wasm{}, abi.Limits{}, grown(opGrow, abi.MemoryPages-1), grown(opGrow, abi.MemoryPages), "unreachable"},
		"more memory":   {wasm{}, abi.Limits{MemoryPages: abi.MemoryPages + 1}, grown(opGrow, abi.MemoryPages), grown(opGrow, abi.MemoryPages+1), "unreachable"},
		"table":         {table, abi.Limits{}, growTable(abi.TableSize - 1), growTable(abi.TableSize), "unreachable"},
		"depth":         {down, abi.Limits{}, ops(num(abi.Depth-2), callFn(0), num(0)), ops(num(abi.Depth-1), callFn(0), num(0)), "nested too deep"},
		"gas":           {wasm{}, abi.Limits{}, ops(times(abi.Gas/10), num(0)), ops(times(abi.Gas/4), num(0)), "out of gas"},
		"more gas":      {wasm{}, abi.Limits{Gas: abi.GasCap}, ops(times(abi.Gas/4), num(0)), ops(times(abi.GasCap/4), num(0)), "out of gas"},
		"reason's text": {write, abi.Limits{}, num(0), ops(num(2<<16), num(2*abi.MaxReason), callFn(0), num(1)), strings.Repeat("\x00", 64)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := outcomeOf(t, test.w, test.limits, test.good); got != "" {
				t.Errorf("just allowed: %q", got)
			}
			got := outcomeOf(t, test.w, test.limits, test.over)
			if !strings.Contains(got, test.reason) || len(got) > maxReason {
				t.Errorf("just too much: %.100q (%d bytes), want %q", got, len(got), test.reason)
			}
		})
	}
}

// A state may grow to MaxState; the message that would go beyond is taken out whole, and others are folded again.
func TestStateIsBounded(t *testing.T) {
	w := wasm{imports: []wasmImport{importSet, importRead}, pages: 2}
	fill := ops( // until it traps: a key from the counter, 64 KiB
		opLoop, num(0), get(1), num(1), opAdd, []byte{0x22, 1}, opStore, num(0), num(4), num(0), num(abi.MaxValue), callFn(0), br(0), opEnd, num(0))
	w.funcs = append(w.funcs, wasmFunc{export: abi.ExportFold, params: 1, results: 1, locals: 2, code: fill})
	r := newReplica(t, w.build(abi.Plugin{Name: "p", Accepts: []string{"x"}, Limits: abi.Limits{Gas: abi.GasCap}}))
	empty := r.hash("p")
	r.say("ann", "x", obj{})
	if r.hash("p") == empty {
		t.Error("the mark isn't part of the hash")
	}
	list, err := r.host.Plugins(r.ctx(), r.space.ID())
	r.must(err)
	if !strings.Contains(list[0].Reason, fmt.Sprint(abi.MaxState)) || r.host.slots[slotKey{r.space.ID(), "p"}].pub.meta.Bytes != 0 {
		t.Errorf("%+v", list[0])
	}
}

// A view that doesn't end, writes, or puts out nonsense is its plugin's fault, and the next one is answered.
func TestViewsAreFenced(t *testing.T) {
	for name, test := range map[string]struct {
		code []byte
		data string
		text string
	}{
		"endless":     {ops(opLoop, br(0), opEnd, num(0)), "", "out of gas"},
		"writes":      {ops(num(16), num(1), num(16), num(1), callFn(1), num(0)), "k", "only a fold may write"},
		"no output":   {num(0), "", "0 outputs"},
		"two outputs": {ops(num(16), num(1), callFn(0), num(16), num(1), callFn(0), num(0)), "\x01", "2 outputs"},
		"no CBOR":     {ops(num(16), num(1), callFn(0), num(0)), "\xff", "well-formed"},
		"bytes":       {ops(num(16), num(1), callFn(0), num(0)), "\x40", "byte string"},
	} {
		w := wasm{imports: []wasmImport{importWrite, importSet}, data: test.data + "ok"}
		w.funcs = append(w.funcs, wasmFunc{export: abi.ExportView, params: 1, results: 1, code: test.code})
		r := newReplica(t, w.build(abi.Plugin{Name: "p", Views: []abi.Command{{Name: "v"}}}))
		_, err := r.host.View(r.ctx(), r.space.ID(), "p", "v", nil, graph.NodeID{})
		if err == nil || !strings.Contains(err.Error(), test.text) || errors.Is(err, graph.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Hammer: views from many goroutines while messages come and the host restarts its folds.
func TestHammerViews(t *testing.T) {
	r := newReplica(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 * maxInstances {
		wg.Add(1)
		go func() {
			defer wg.Done()
			last := -1
			for {
				select {
				case <-stop:
					return
				default:
				}
				b, err := r.host.View(r.ctx(), r.space.ID(), "checkpoint", "all", json.RawMessage(`{"limit":200}`), graph.NodeID{})
				var p page
				if err != nil || json.Unmarshal(b, &p) != nil {
					t.Errorf("view: %v", err)
					return
				}
				if len(p.Checkpoints) < last {
					t.Errorf("%d checkpoints after %d", len(p.Checkpoints), last)
				}
				last = len(p.Checkpoints)
			}
		}()
	}
	for i := range 100 {
		r.say("ann", "checkpoint", obj{"id": fmt.Sprint(i)})
		var p page
		if i%10 == 0 { // a view that is asked after a send sees it
			r.view("all", `{"limit":200}`, &p)
			if len(p.Checkpoints) != i+1 {
				t.Errorf("%d checkpoints after %d were sent", len(p.Checkpoints), i+1)
			}
		}
	}
	close(stop)
	wg.Wait()
}
