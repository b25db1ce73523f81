package plugins

// This file tests scratches: any prefix by any way, the same as a Host's state; another file beside it.

import (
	"encoding/json"
	"errors"
	"runtime"
	"testing"

	"plexus/graph"
)

func (r *replica) scratch(plugin string, wasm []byte) *Scratch {
	r.t.Helper()
	s, err := r.host.Scratch(r.ctx(), r.space.ID(), plugin, wasm)
	r.must(err)
	return s
}

func (r *replica) scratchHash(s *Scratch) string {
	r.t.Helper()
	h, err := s.Hash()
	r.must(err)
	return h
}

func TestScratchIsAtAnyPrefix(t *testing.T) {
	r := newReplica(t)
	var keys []graph.Key
	var hashes []string
	for i := range 9 {
		e := r.say("ann", "checkpoint", obj{"id": string(rune('a' + i)), "options": []string{"Yes"}})
		if i%3 == 2 {
			e = r.say("bob", "", obj{"option": "none"}, e.ID())
		}
		keys = append(keys, keyOf(e))
		hashes = append(hashes, r.hash("checkpoint"))
	}
	s := r.scratch("checkpoint", nil)
	empty := r.scratchHash(s)
	folds := 0
	r.must(s.All(r.ctx(), func(f Folded) {
		if folds++; f.Gas == 0 || f.Plugin != "checkpoint" {
			t.Errorf("fold %+v", f)
		}
	}))
	if folded, marked, size := s.Count(); folded != 12 || folds != 12 || marked != 3 || size == 0 {
		t.Errorf("%d folded, %d told, %d marked, %d bytes", folded, folds, marked, size)
	}
	for _, i := range []int{8, 3, 4, 0, 7, 7, 1, 8} {
		r.must(s.Seek(r.ctx(), keys[i], nil))
		if got := r.scratchHash(s); got != hashes[i] {
			t.Errorf("at %d: %s, want %s", i, got, hashes[i])
		}
	}
	mine, err := s.View(r.ctx(), "all", json.RawMessage(`{"limit":3}`), id("ann"))
	r.must(err)
	live, err := r.host.View(r.ctx(), r.space.ID(), "checkpoint", "all", json.RawMessage(`{"limit":3}`), id("ann"))
	if err != nil || string(mine) != string(live) {
		t.Errorf("view %s, want %s: %v", mine, live, err)
	}
	r.must(s.Seek(r.ctx(), graph.Key{}, nil))
	if got := r.scratchHash(s); got != empty {
		t.Errorf("taken back: %s, want %s", got, empty)
	}
	r.must(s.Close())
	r.must(s.Close())
	for kv, err := range r.log.Records(scratchRecords).Scan(nil, nil, false) {
		t.Fatalf("%x is left, %v", kv.Key, err)
	}
}

func TestScratchOfAnotherFile(t *testing.T) {
	one, two := counter("count", "1", 'a'), counter("count", "2", 'b')
	r := newReplica(t, one)
	for range 5 {
		r.say("ann", "x", obj{})
	}
	r.hash("count")
	a, b := r.scratch("count", nil), r.scratch("count", two)
	defer b.Close()
	defer a.Close()
	r.must(a.All(r.ctx(), nil))
	if d, err := a.Differ(b); err != nil || d.Removed != 5 || d.Added+d.Changed != 0 {
		t.Errorf("before it folds: %+v, %v", d, err)
	}
	if d, err := b.Differ(a); err != nil || d.Added != 5 || d.Removed+d.Changed != 0 {
		t.Errorf("the other way round: %+v, %v", d, err)
	}
	r.must(b.All(r.ctx(), nil))
	if d, err := a.Differ(b); err != nil || d.Changed != 5 || d.Added+d.Removed != 0 || len(d.Some) != 5 {
		t.Errorf("folded: %+v, %v", d, err)
	}
	if b.Plugin().Version != "2" || b.File() != fileCID(two) || a.File() != fileCID(one) || r.version("count") != "1" {
		t.Errorf("%s and %s", a.File(), b.File())
	}
}

func TestScratchRefuses(t *testing.T) {
	r := newReplica(t, counter("count", "1", 'a'))
	r.hash("count")
	for name, c := range map[string]struct {
		space  graph.ID
		plugin string
		wasm   []byte
		is     error
	}{
		"space":  {graph.BlockID([]byte("x")), "count", nil, graph.ErrNotFound},
		"plugin": {r.space.ID(), "nope", nil, graph.ErrNotFound},
		"name":   {r.space.ID(), "nope", counter("count", "2", 'b'), graph.ErrNotFound},
		"file":   {r.space.ID(), "count", []byte("junk"), graph.ErrInvalid},
	} {
		if s, err := r.host.Scratch(r.ctx(), c.space, c.plugin, c.wasm); !errors.Is(err, c.is) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

// TestAstray: a host whose engine goes wrong says so in its hash, at the message where it did and after, in its scratch too.
func TestAstray(t *testing.T) {
	r := bareReplica(t, counter("count", "1", 'a'))
	var bad graph.ID
	for i := range 4 {
		if e := r.say("ann", "x", obj{}); i == 2 {
			bad = e.ID()
		}
	}
	r.run()
	defer r.close()
	good := r.hash("count")
	r.stop()
	r.astray = func(_ string, m graph.ID) string {
		if m == bad {
			return "wrong"
		}
		return ""
	}
	r.say("ann", "x", obj{})
	r.run()
	s := r.scratch("count", nil)
	defer s.Close()
	r.must(s.All(r.ctx(), nil))
	if r.hash("count") == good || s.last.Reason != "" {
		t.Errorf("%s, %+v", r.hash("count"), s.last)
	}
	if _, marked, _ := s.Count(); marked != 1 {
		t.Errorf("%d marked", marked)
	}
}

// TestHostWaitsForScratches: what folds in one is told to end, and the Host frees nothing before.
func TestHostWaitsForScratches(t *testing.T) {
	r := newReplica(t, counter("count", "1", 'a'))
	for range 3 {
		r.say("ann", "x", obj{})
	}
	r.hash("count")
	s := r.scratch("count", nil)
	left := make(chan struct{})
	go func() {
		r.stop()
		close(left)
	}()
	for !r.host.leaving.Load() {
		runtime.Gosched()
	}
	select {
	case <-left:
		t.Error("the Host left its scratch behind")
	default:
	}
	if err := s.All(r.ctx(), nil); !errors.Is(err, graph.ErrClosed) {
		t.Errorf("it folds on: %v", err)
	}
	if _, err := r.host.Scratch(r.ctx(), r.space.ID(), "count", nil); !errors.Is(err, graph.ErrClosed) && !errors.Is(err, graph.ErrUnavailable) {
		t.Errorf("another one: %v", err)
	}
	r.must(s.Close())
	<-left
}
