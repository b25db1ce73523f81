package graph

// This file holds the watermark readers wait on.

import (
	"context"
	"sync"
)

// mark is the greatest durable arrival number, and a way to wait for a greater one. It only rises.
type mark struct {
	mu     sync.Mutex
	pos    Pos
	closed bool
	risen  chan struct{} // closed at the next rise; nil while nobody waits
}

// last returns the number.
func (m *mark) last() Pos {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pos
}

// rise moves the mark up and wakes all who wait.
func (m *mark) rise(p Pos) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p > m.pos {
		m.pos = p
		m.wake()
	}
}

// close wakes all who wait, for the last time.
func (m *mark) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.wake()
}

func (m *mark) wake() {
	if m.risen != nil {
		close(m.risen)
		m.risen = nil
	}
}

// wait blocks until the mark is over p and returns it; or ctx's error, or ErrClosed.
func (m *mark) wait(ctx context.Context, p Pos) (Pos, error) {
	for {
		m.mu.Lock()
		if m.pos > p || m.closed {
			defer m.mu.Unlock()
			if m.closed {
				return m.pos, ErrClosed
			}
			return m.pos, nil
		}
		if m.risen == nil {
			m.risen = make(chan struct{})
		}
		risen := m.risen
		m.mu.Unlock()
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-risen:
		}
	}
}
