package plugins

// This file tests what is told of states: those that cover all there is, by their hash.

import (
	"strings"
	"testing"

	"plexus/graph"
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
	r.must(r.log.Apply(r.ctx(), &rights{void: map[graph.NodeID]bool{id("ann"): true}}))
	r.until("withdrawn", func() bool { return len(of()) == 0 })
	if e := r.host.Engine(); !strings.HasPrefix(e, "wazero ") {
		t.Error(e)
	}
	if w, err := r.host.Witnesses(graph.BlockID([]byte("x"))); err != nil || len(w) > 0 {
		t.Errorf("of no Space: %+v, %v", w, err)
	}
}
