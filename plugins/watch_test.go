package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strconv"
	"testing"

	"plexus/graph"
)

// watching pulls the answers of the view pending, each as its number of checkpoints.
func (r *replica) watching(ctx context.Context) (next func() int, stop func()) {
	pull, stop := iter.Pull2(r.host.Watch(ctx, r.space.ID(), "checkpoint", "pending", nil, id("bob")))
	return func() int {
		r.t.Helper()
		answer, err, ok := pull()
		if !ok || err != nil {
			r.t.Fatalf("the watch ended: %v", err)
		}
		var out struct{ Checkpoints []any }
		r.must(json.Unmarshal(answer, &out))
		return len(out.Checkpoints)
	}, stop
}

func checkpoint(i int) obj {
	return obj{"id": "c" + strconv.Itoa(i), "title": "T", "options": []string{"Yes"}}
}

func TestWatchFollowsAView(t *testing.T) {
	early := bareReplica(t)
	defer early.close()
	late := early.say("ann", "checkpoint", checkpoint(9))
	r := newReplica(t)
	r.now.set(early.now.read().Add(1e9))
	next, stop := r.watching(t.Context())
	if n := next(); n != 0 {
		t.Fatalf("at first %d", n)
	}
	first := r.say("ann", "checkpoint", checkpoint(1))
	if n := next(); n != 1 {
		t.Errorf("after one %d", n)
	}
	r.say("ann", "elsewhere", obj{}) // changes no answer
	r.add(late)
	if n := next(); n != 2 {
		t.Errorf("after a late one %d", n)
	}
	// Nobody pulls meanwhile: what lies between isn't kept.
	for i := range 5 {
		r.say("ann", "checkpoint", checkpoint(i+2))
	}
	if n := next(); n != 7 {
		t.Errorf("a slow reader gets %d", n)
	}
	r.say("bob", "", obj{"option": "Yes"}, first.ID())
	if n := next(); n != 6 {
		t.Errorf("after an answer %d", n)
	}
	stop()
}

func TestWatchEnds(t *testing.T) {
	r := newReplica(t)
	for answer, err := range r.host.Watch(t.Context(), r.space.ID(), "checkpoint", "nope", nil, graph.NodeID{}) {
		if !errors.Is(err, graph.ErrNotFound) || answer != nil {
			t.Errorf("no such view: %s, %v", answer, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for _, err := range r.host.Watch(ctx, r.space.ID(), "checkpoint", "pending", nil, graph.NodeID{}) {
		r.must(err)
		n++
		cancel()
	}
	for range r.host.Watch(t.Context(), r.space.ID(), "checkpoint", "pending", nil, graph.NodeID{}) {
		n++
		r.stop() // Run ends
	}
	if n != 2 {
		t.Errorf("%d answers", n)
	}
}
