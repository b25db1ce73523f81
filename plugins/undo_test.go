package plugins

// This file tests what bounds undo records and steps.

import (
	"testing"
	"time"
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
