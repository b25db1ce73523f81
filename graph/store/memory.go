package store

// This file holds the store that forgets: a graph.Store in memory, for tests and nodes without a disk.

import (
	"fmt"
	"hash/maphash"
	"iter"
	"sync"

	"plexus/graph"
)

// memory is an immutable tree and who may replace it.
type memory struct {
	gate gate
	seed maphash.Seed

	mu   sync.Mutex
	root *leaf // owned by mu; what it points to is never changed
}

// Memory returns an empty store in memory. Its wait returns at once.
func Memory() graph.Store { return &memory{seed: maphash.MakeSeed()} }

// view returns the tree as it is now.
func (m *memory) view() *leaf {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.root
}

// Get implements graph.Store.
func (m *memory) Get(key []byte) ([]byte, error) {
	if !m.gate.enter() {
		return nil, fmt.Errorf("get: %w", graph.ErrClosed)
	}
	defer m.gate.leave()
	v, ok := m.view().get(string(key))
	if !ok {
		return nil, graph.ErrNotFound
	}
	return append([]byte{}, v...), nil
}

// Scan implements graph.Store. A nil lo or hi is no bound.
func (m *memory) Scan(lo, hi []byte, reverse bool) iter.Seq2[graph.KV, error] {
	return func(yield func(graph.KV, error) bool) {
		if !m.gate.enter() {
			yield(graph.KV{}, fmt.Errorf("scan: %w", graph.ErrClosed))
			return
		}
		defer m.gate.leave()
		v := m.view()
		_, v = v.split(string(lo))
		if hi != nil {
			v, _ = v.split(string(hi))
		}
		v.each(reverse, yield)
	}
}

// Apply implements graph.Store.
func (m *memory) Apply(ops []graph.Op) (wait func() error, err error) {
	if err := checkOps(ops); err != nil {
		return nil, err
	}
	if !m.gate.enter() {
		return nil, fmt.Errorf("apply: %w", graph.ErrClosed)
	}
	defer m.gate.leave()
	m.mu.Lock()
	defer m.mu.Unlock()
	root := m.root
	for _, o := range ops {
		root = root.apply(o, m.seed)
	}
	m.root = root
	return func() error { return nil }, nil
}

// Close implements graph.Store.
func (m *memory) Close() error {
	m.gate.shut()
	return nil
}
