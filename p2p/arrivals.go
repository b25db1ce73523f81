package p2p

// This file holds the memory of what came from peers, so that only what was said here is published.

import (
	"sync"

	"plexus/graph"
)

// arrivals remembers which entries came from peers until the follower has passed them: in two generations, so that
// what never comes by is forgotten.
type arrivals struct {
	mu       sync.Mutex // owns what follows
	cur, old map[graph.ID]struct{}
}

func (a *arrivals) mark(entries []*graph.Entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range entries {
		if a.cur == nil || len(a.cur) >= maxArrived {
			a.old, a.cur = a.cur, map[graph.ID]struct{}{}
		}
		a.cur[e.ID()] = struct{}{}
	}
}

func (a *arrivals) unmark(entries []*graph.Entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range entries {
		delete(a.cur, e.ID())
		delete(a.old, e.ID())
	}
}

// settle forgets those of a batch that were known or refused: the follower won't meet them.
func (a *arrivals) settle(entries []*graph.Entry, res graph.AddResult) {
	keep := make(map[graph.ID]bool, len(res.New)+len(res.Held))
	for _, st := range res.New {
		keep[st.Entry.ID()] = true
	}
	for _, id := range res.Held {
		keep[id] = true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range entries {
		if id := e.ID(); !keep[id] {
			delete(a.cur, id)
			delete(a.old, id)
		}
	}
}

// take says whether an entry came from a peer, and forgets it.
func (a *arrivals) take(id graph.ID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, cur := a.cur[id]
	_, old := a.old[id]
	delete(a.cur, id)
	delete(a.old, id)
	return cur || old
}
