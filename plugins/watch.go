package plugins

// This file holds the watching of a view: its answer, and each one that differs from the last.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"plexus/graph"
)

// Watch yields a view's answer as View gives it, then, until ctx ends, each that differs from the one before. It holds nothing back for a slow consumer:
// who comes for the next gets the newest. A state that changes quickly is asked at most every 100 ms. An error, View's, is yielded last.
func (h *Host) Watch(ctx context.Context, space graph.ID, plugin, view string, params json.RawMessage, caller graph.NodeID) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		var last json.RawMessage
		for seen, ok := (outlook{}), true; ok; seen, ok = h.waitOther(ctx, slotKey{space, plugin}, seen) {
			if last == nil {
				seen, _ = h.outlook(slotKey{space, plugin}) // before the answer, so that what comes meanwhile is looked at again
			}
			answer, err := h.View(ctx, space, plugin, view, params, caller)
			switch {
			case ctx.Err() != nil:
				return
			case errors.Is(err, graph.ErrUnavailable) && last != nil:
				seen = outlook{} // another version is about to take over
			case err != nil:
				yield(nil, err)
				return
			case !bytes.Equal(answer, last):
				if last = answer; !yield(answer, nil) {
					return
				}
			}
		}
	}
}

// outlook is what an answer depends on: which state it is, in which edition, and what the access log says. The zero outlook is none.
type outlook struct {
	num     uint32
	edition uint64
	rights  graph.Rights
}

func (o outlook) same(p outlook) bool {
	return o.num == p.num && o.edition == p.edition && sameRights(o.rights, p.rights)
}

// outlook looks at a slot; ended: Run has.
func (h *Host) outlook(k slotKey) (o outlook, ended bool) {
	h.state.RLock()
	defer h.state.RUnlock()
	if s := h.slots[k]; s != nil {
		o.num, o.edition = s.pub.num, s.pub.edition
	}
	o.rights = h.log.Rights()
	return o, h.fault != nil || h.engine == nil
}

// waitOther returns once a slot is another than it was seen as; false when ctx ends or Run has.
func (h *Host) waitOther(ctx context.Context, k slotKey, seen outlook) (outlook, bool) {
	if !pause(ctx, nil, watchPause) {
		return seen, false
	}
	for {
		change := h.change()
		now, ended := h.outlook(k)
		if ended || !now.same(seen) {
			return now, !ended
		}
		if !pause(ctx, change, idleWait) { // rights may change without a commit
			return seen, false
		}
	}
}

// pause waits for something to happen or the time to pass; false when ctx ends.
func pause(ctx context.Context, change <-chan struct{}, most time.Duration) bool {
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-change:
	case <-t.C:
	}
	return true
}
