package node

// This file holds who may, kept current: the access entries of the Networks this host has logs of, evaluated and
// applied to the Log.

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"plexus/graph"
	"plexus/graph/access"
)

// members evaluates access entries. One mutex: evaluations and what follows from them come one after the other.
type members struct {
	log *graph.Log

	mu       sync.Mutex // owns what follows
	networks map[graph.ID]*access.Evaluator
	states   map[graph.ID]*access.State
	seen     map[graph.ID]graph.Pos // up to here the log was read
	current  graph.ID

	state holder
}

// holder hands out the State that was applied last.
type holder struct {
	mu sync.RWMutex
	s  *access.State
}

func (h *holder) get() *access.State {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.s
}

func (h *holder) set(s *access.State) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.s = s
}

func newMembers(log *graph.Log) *members {
	return &members{log: log, networks: map[graph.ID]*access.Evaluator{}, states: map[graph.ID]*access.State{}, seen: map[graph.ID]graph.Pos{}}
}

// use makes a Network the current one, reads its access entries and applies them.
func (m *members) use(ctx context.Context, network graph.ID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current = network
	for _, id := range m.log.Spaces() {
		sp, err := m.log.Space(id)
		if err != nil {
			return err
		}
		if g := sp.Genesis(); g.Kind == graph.GenesisNetwork && m.networks[id] == nil {
			m.networks[id] = access.NewEvaluator(g)
		}
	}
	if m.networks[network] == nil {
		return fmt.Errorf("network %s: %w", network, graph.ErrNotFound)
	}
	for id := range m.networks {
		if err := m.read(ctx, id); err != nil {
			return err
		}
	}
	return m.apply(ctx)
}

// read takes in the access entries of a Network. Applying them can admit more, so it goes on until there are no more.
func (m *members) read(ctx context.Context, network graph.ID) error {
	sp, err := m.log.Space(network)
	if err != nil {
		return err
	}
	for {
		before, last := m.networks[network].Len(), m.log.Last()
		for e, err := range sp.Kind(ctx, graph.KindAccess) {
			if err != nil {
				return fmt.Errorf("read access log: %w", err)
			}
			m.networks[network].Add(e)
		}
		m.seen[network] = last
		if m.states[network] != nil && m.networks[network].Len() == before {
			return nil
		}
		m.states[network] = m.networks[network].State()
		if err := m.apply(ctx); err != nil {
			return err
		}
	}
}

// apply hands the States to the Log. The caller holds the mutex.
func (m *members) apply(ctx context.Context) error {
	current := m.states[m.current]
	if current == nil {
		current = m.networks[m.current].State()
		m.states[m.current] = current
	}
	var others []*access.State
	for id, s := range m.states {
		if id != m.current {
			others = append(others, s)
		}
	}
	st := current.Beside(others...)
	if err := m.log.Apply(ctx, st); err != nil {
		return fmt.Errorf("apply access rules: %w", err)
	}
	m.state.set(st)
	return nil
}

// add takes in an entry this host wrote itself into the current Network's access log.
func (m *members) add(ctx context.Context, e *graph.Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	ev := m.networks[m.current]
	before := ev.Len()
	if ev.Add(e); ev.Len() == before {
		return nil
	}
	m.states[m.current] = ev.State()
	return m.apply(ctx)
}

// catchUp takes in whatever has arrived in a Network's access log.
func (m *members) catchUp(ctx context.Context, network graph.ID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.networks[network] == nil {
		return nil
	}
	return m.read(ctx, network)
}

// follow takes in what arrives in a Network's access log until ctx ends; after each entry it tells upTo which arrival
// position is covered. A burst is evaluated once: the first of it finds the rest there.
func (m *members) follow(ctx context.Context, sp *graph.Space, upTo func(context.Context, graph.Pos) error) error {
	for st, err := range sp.Tail(ctx, m.seenUpTo(sp.ID())) {
		if err != nil {
			return ignoreEnd(ctx, fmt.Errorf("follow access log: %w", err))
		}
		if st.Event != graph.Added || st.Entry.Body().Kind != graph.KindAccess {
			continue
		}
		if !m.has(sp.ID(), st.Entry.ID()) {
			if err := m.catchUp(ctx, sp.ID()); err != nil {
				return ignoreEnd(ctx, err)
			}
		}
		if err := upTo(ctx, st.Pos); err != nil {
			return ignoreEnd(ctx, err)
		}
	}
	return nil
}

func (m *members) seenUpTo(network graph.ID) graph.Pos {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen[network]
}

func (m *members) has(network, entry graph.ID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	ev := m.networks[network]
	return ev != nil && ev.Has(entry)
}

// ignoreEnd is nil where err comes of stopping.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, graph.ErrClosed) {
		return nil
	}
	return err
}

// network returns the current Network's ID.
func (m *members) network() graph.ID { return m.state.get().Network() }
