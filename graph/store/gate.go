package store

// This file holds the count of those inside a store, which Close waits for.

import "sync"

// gate lets readers and writers in until it is shut. The zero value is open.
type gate struct {
	mu     sync.Mutex
	inside int
	closed bool
	empty  chan struct{} // made by shut, closed by the last to leave
}

// enter says whether the store is open; who got true calls leave.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.inside++
	return true
}

// leave takes one enter back.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.closed && g.inside == 0 {
		close(g.empty)
	}
}

// shut lets nobody in any more and waits for those inside. It is true for the first caller alone; the others wait too.
func (g *gate) shut() bool {
	g.mu.Lock()
	first := !g.closed
	if first {
		g.closed = true
		g.empty = make(chan struct{})
		if g.inside == 0 {
			close(g.empty)
		}
	}
	empty := g.empty
	g.mu.Unlock()
	<-empty
	return first
}
