package p2p

// This file holds two things that goroutines wait for: the Log's rights catching up, and the first exchange with everybody.

import (
	"context"
	"fmt"
	"sync"
	"time"

	"plexus/graph"
)

// watermark is a position that only rises.
type watermark struct {
	mu   sync.Mutex // owns what follows
	pos  graph.Pos
	next chan struct{} // closed when pos rises
}

func newWatermark() *watermark { return &watermark{next: make(chan struct{})} }

func (w *watermark) raise(to graph.Pos) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if to > w.pos {
		w.pos = to
		close(w.next)
		w.next = make(chan struct{})
	}
}

// wait returns when the position is reached, ctx ends, or it took too long: what waits goes on with what there is.
func (w *watermark) wait(ctx context.Context, pos graph.Pos, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for {
		w.mu.Lock()
		reached, next := w.pos >= pos, w.next
		w.mu.Unlock()
		if reached {
			return
		}
		select {
		case <-next:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// settling is the set of known peers that haven't been tried since the start.
type settling struct {
	ready chan struct{} // closed when all have been

	mu      sync.Mutex // owns what follows
	begun   bool
	pending map[graph.NodeID]bool
}

func newSettling() *settling {
	return &settling{ready: make(chan struct{}), pending: map[graph.NodeID]bool{}}
}

// begin says whom to wait for. Only the first call counts.
func (s *settling) begin(peers []graph.NodeID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		return
	}
	s.begun = true
	for _, n := range peers {
		s.pending[n] = true
	}
	if len(peers) == 0 {
		close(s.ready)
	}
}

// done strikes one off.
func (s *settling) done(n graph.NodeID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.pending[n] {
		return
	}
	delete(s.pending, n)
	if len(s.pending) == 0 {
		close(s.ready)
	}
}

func (s *settling) wait(ctx context.Context) error {
	select {
	case <-s.ready:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the first exchange with peers: %w", ctx.Err())
	}
}
