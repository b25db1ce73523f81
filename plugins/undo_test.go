package plugins

// This file tests what bounds undo records, steps and layers.

import (
	"fmt"
	"testing"
	"time"

	"plexus/graph"
)

func TestStepsAreFewAndBounded(t *testing.T) {
	h, _ := lateWorld(t, 3000, 1, bounds{undo: 16, step: 16, drain: 100, wait: time.Nanosecond})
	defer h.finish()
	p := h.slot().cur
	if n := len(p.meta.Steps); n < 5 || n > 24 {
		t.Errorf("%d steps", n)
	}
	spare := 0 // one goes in each round
	for i := range len(p.meta.Steps) - 1 {
		if p.depth(i)*stepRatio[1] <= p.depth(i+2)*stepRatio[0] {
			spare++
		}
	}
	if spare > 2 {
		t.Errorf("%d steps of %d could go", spare, len(p.meta.Steps))
	}
	if p.depth(0) < 3000/4 {
		t.Errorf("steps reach %d messages back", p.depth(0))
	}
	p = &projection{meta: meta{counts: counts{Folded: 100}, Steps: []step{{Size: stepBytes / 2}, {Size: stepBytes / 2, counts: counts{Folded: 51}}}}}
	if p.spare(p.meta.Steps) {
		t.Error("steps at their bound are spared")
	}
	if p.meta.Steps[1].Size++; !p.spare(p.meta.Steps) {
		t.Error("steps above their bound are kept")
	}
	p.meta.Steps = []step{{}, {counts: counts{Folded: 50}}}
	if !p.spare(p.meta.Steps) {
		t.Error("a step is kept from which on all but half would be folded")
	}
}

// TestUndoIsBoundedByBytes: at the edge nothing happens; above, the oldest records become a step.
func TestUndoIsBoundedByBytes(t *testing.T) {
	h, _ := lateWorld(t, 40, 1, bounds{undo: 1000, step: 4, drain: 100, wait: time.Nanosecond})
	defer h.finish()
	p := h.slot().cur
	real := p.meta.Undone
	p.meta.Undone = undoBytes
	h.must(p.trim(h.tight))
	if p.meta.Undos != 40 || len(p.ops) > 0 {
		t.Errorf("at the bound: %d records, %d ops", p.meta.Undos, len(p.ops))
	}
	p.meta.Undone = undoBytes + real/2
	h.must(p.trim(h.tight))
	if p.meta.Undos != 0 {
		t.Errorf("above: %d records", p.meta.Undos)
	}
}

// TestStepsLieInPieces: two changes that fill a piece are in one, and one byte more makes another.
func TestStepsLieInPieces(t *testing.T) {
	first := change{key: "sa", value: []byte("v"), present: true}
	room := stepPiece - len(appendChange(nil, first)) - len("sb")
	for more, want := range map[int]int{0: 1, 1: 2} {
		p := &projection{num: 1}
		size := p.writeStep(graph.Key{Time: 1}, delta{list: []change{first, {key: "sb", value: make([]byte, room+more), present: true}}})
		if len(p.ops) != want || size < stepPiece {
			t.Errorf("%d bytes more: %d pieces, %d bytes", more, len(p.ops), size)
		}
	}
}

// TestLayersAreMovedInParts: a layer below the bound goes in one round; at the bound another round follows.
func TestLayersAreMovedInParts(t *testing.T) {
	r := bareReplica(t)
	defer r.close()
	records := r.log.Records("layer")
	for less, want := range map[int]bool{0: false, 1: true} {
		const n = 4
		p := &projection{records: records, num: 2, over: newOverlay()}
		p.meta.Root, p.meta.Moving = 1, true
		each := sinkBytes/n - len(p.key("s0")) - perKey
		for i := range n {
			value := make([]byte, each)
			if i == 0 {
				value = value[less:]
			}
			r.must(records.Apply(graph.Op{Kind: graph.Set, Key: p.key(fmt.Sprint("s", i)), Value: value}))
		}
		moved := 0
		for rounds := 1; ; rounds++ {
			ops, done, err := p.sink()
			r.must(err)
			r.must(records.Apply(ops...))
			for _, op := range ops {
				if op.Kind == graph.Set {
					moved++
				}
			}
			if done {
				if rounds == 1 != want || moved != n || p.num != 1 || p.meta.Root != 0 {
					t.Errorf("%d bytes less: %d keys in %d rounds, then number %d", less, moved, rounds, p.num)
				}
				break
			}
		}
		for kv, err := range records.Scan(numPrefix(2), numPrefix(3), false) {
			r.must(err)
			t.Errorf("left: %q", kv.Key)
		}
	}
}
