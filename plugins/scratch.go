package plugins

// This file holds the scratch: one plugin's state of one Space, folded anew beside the states that readers see, and moved along the
// canonical order in both directions. By it a file is tried before it is pinned, and two hosts find where they part.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"

	"plexus/graph"
	"plexus/sdk/abi"
)

// scratchRecords is the keyspace of scratches, emptied at each start.
const scratchRecords = "scratch"

// Scratch is a state in the making. One goroutine uses it; whoever makes it closes it, before the Host, and bounds how many there are: each may take as
// much disk as the state that readers see, and an undo record for every message.
type Scratch struct {
	of     *Host // whose Close waits for this one's
	host   *Host // holds nothing but what folds
	slot   *slot
	engine *engine // its own, for a file that no Space has yet; nil else
	last   Folded
}

// Scratch begins a state of a Space from nothing. wasm is the file to fold with, nil for the one that readers see now; it is checked as a stranger's.
//
// Errors: ErrNotFound for an unknown Space or plugin; ErrInvalid or ErrTooLarge with what is wrong with the file; ErrUnavailable where nothing runs yet.
func (h *Host) Scratch(ctx context.Context, space graph.ID, plugin string, wasm []byte) (*Scratch, error) {
	sp, err := h.log.Space(space)
	if err != nil {
		return nil, err
	}
	if !h.scratching.TryRLock() {
		return nil, graph.ErrClosed
	}
	s := &Scratch{of: h}
	var pl *spec
	if wasm == nil {
		pl, _, err = h.current(ctx, space, plugin)
	} else {
		pl, err = s.load(ctx, h.config, wasm, plugin)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	c := h.config
	c.observe = func(f Folded) { s.last = f }
	s.host = &Host{
		log: h.log, records: h.log.Records(scratchRecords), config: c, logger: h.logger, names: names{}, engine: pl.file.engine,
		folders: map[*file]*instance{}, stillborn: map[*file]error{}, attestor: attestorOf(h.log.Rights()),
	}
	p, err := openProjection(s.host.records, h.scratches.Add(1))
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.slot = &slot{space: sp, spec: pl, cur: p, ended: true}
	s.host.slots, s.host.seen = map[slotKey]*slot{{space, plugin}: s.slot}, math.MaxUint64 // views wait for nothing
	p.meta.Whole = true
	s.slot.publish()
	return s, nil
}

// load compiles a file in an engine of its own, which ends with the scratch. What it compiles stays in the cache for the pin that may follow.
func (s *Scratch) load(ctx context.Context, c Config, wasm []byte, plugin string) (*spec, error) {
	c.Files, c.loaded = nil, nil
	l, err := c.load(ctx)
	if err != nil {
		return nil, err
	}
	s.engine = l.engine
	f, err := l.engine.load(ctx, wasm, false)
	if err != nil {
		return nil, err
	}
	for _, p := range f.manifest.Plugins {
		if p.Name == plugin {
			return newSpec(f, p), nil
		}
	}
	return nil, fmt.Errorf("file %s has no plugin %q: %w", f.cid, plugin, graph.ErrNotFound)
}

// Plugin is what the manifest says of the plugin, File its file's CID.
func (s *Scratch) Plugin() abi.Plugin { return s.slot.spec.plugin }

// File is the CID of the file that folds.
func (s *Scratch) File() string { return s.slot.spec.file.cid }

// Count says how many messages are folded, how many of these are marked, and the bytes of state.
func (s *Scratch) Count() (folded, marked uint64, size int64) {
	m := s.slot.cur.meta
	return m.Folded, m.Marked, m.Bytes
}

// Seek brings the state to what the visible messages up to a key make of it, that key's included, by folding on or taking back. told hears of each fold; it may be
// nil. Where ctx ends first, the next Seek goes on from there.
func (s *Scratch) Seek(ctx context.Context, to graph.Key, told func(Folded)) error {
	p := s.slot.cur
	end := after(to)
	if end.Compare(p.meta.Next) < 0 {
		if err := p.rollback(end); err != nil {
			return err
		}
		return s.commit()
	}
	n := 0
	for g, err := range s.host.reader.ahead(ctx, s.slot.space, p.meta.Next, end, -1, audienceOf([]*slot{s.slot})) {
		if err == nil && s.of.leaving.Load() {
			err = graph.ErrClosed
		}
		if err != nil {
			return errors.Join(err, s.commit())
		}
		if g.ok {
			s.last = Folded{}
			if err := s.host.foldMessage(ctx, s.slot, g); err != nil {
				return errors.Join(err, s.commit())
			}
			if told != nil && s.last.Plugin != "" {
				told(s.last)
			}
		}
		p.meta.Next = after(g.key)
		if n++; n%stepMessages == 0 {
			if err := s.commit(); err != nil {
				return err
			}
		}
	}
	p.meta.Next = end
	return s.commit()
}

// All brings the state to what every visible message makes of it.
func (s *Scratch) All(ctx context.Context, told func(Folded)) error {
	return s.Seek(ctx, graph.Key{Time: graph.MaxTime, ID: graph.ID(bytes.Repeat([]byte{0xff}, 32))}, told)
}

func (s *Scratch) commit() error {
	p := s.slot.cur
	ops, err := p.take()
	if err == nil {
		err = s.host.records.ApplyNoSync(ops...)
	}
	if err != nil {
		return fmt.Errorf("write scratch state: %w", err)
	}
	p.committed(overlayBytes)
	s.slot.publish()
	return nil
}

// Hash is the state's, as docs/plugins.md §8 has it.
func (s *Scratch) Hash() (string, error) { return hashState(s.slot.cur.layers()) }

// View asks a view of the state as it is.
func (s *Scratch) View(ctx context.Context, view string, params json.RawMessage, caller graph.NodeID) (json.RawMessage, error) {
	return s.host.View(ctx, s.slot.space.ID(), s.slot.spec.plugin.Name, view, params, caller)
}

// Close drops the state.
func (s *Scratch) Close() error {
	ctx := context.Background()
	var err error
	if s.slot != nil {
		err = s.host.records.ApplyNoSync(dropNum(s.slot.cur.num)...)
		for _, i := range s.host.folders {
			i.close(ctx)
		}
		s.slot = nil
	}
	if s.engine != nil {
		err = errors.Join(err, s.engine.close(ctx))
		s.engine = nil
	}
	if s.of != nil {
		s.of.scratching.RUnlock()
		s.of = nil
	}
	return err
}

// KeyDiffer counts the keys by which two states differ, and names some.
type KeyDiffer struct {
	Added, Removed, Changed int
	Some                    []string // keys, at most maxKeysNamed
}

// Differ compares two scratches' keys and values: Added are those that b has and s lacks.
func (s *Scratch) Differ(b *Scratch) (d KeyDiffer, err error) {
	next, stop := pull(s)
	defer stop()
	mine, err := next()
	if err != nil {
		return d, err
	}
	count := func(n *int, key []byte) {
		if *n++; len(d.Some) < maxKeysNamed {
			d.Some = append(d.Some, string(key))
		}
	}
	for kv, err := range b.pairs() {
		if err != nil {
			return d, err
		}
		for mine.Key != nil && bytes.Compare(mine.Key, kv.Key) < 0 {
			count(&d.Removed, mine.Key)
			if mine, err = next(); err != nil {
				return d, err
			}
		}
		if mine.Key == nil || !bytes.Equal(mine.Key, kv.Key) {
			count(&d.Added, kv.Key)
			continue
		}
		if !bytes.Equal(mine.Value, kv.Value) {
			count(&d.Changed, kv.Key)
		}
		if mine, err = next(); err != nil {
			return d, err
		}
	}
	for ; mine.Key != nil && err == nil; mine, err = next() {
		count(&d.Removed, mine.Key)
	}
	return d, err
}

// pairs are the state's keys and values, in order.
func (s *Scratch) pairs() iter.Seq2[graph.KV, error] {
	return func(yield func(graph.KV, error) bool) {
		prefix := append(numPrefix(s.slot.cur.num), kindState)
		for kv, err := range s.host.records.Scan(prefix, append(numPrefix(s.slot.cur.num), kindState+1), false) {
			if err == nil {
				kv.Key = kv.Key[len(prefix):]
			}
			if !yield(kv, err) {
				return
			}
		}
	}
}

// pull hands out pairs one by one; behind the last, one without a key.
func pull(s *Scratch) (next func() (graph.KV, error), stop func()) {
	step, stop := iter.Pull2(s.pairs())
	return func() (graph.KV, error) {
		kv, err, ok := step()
		if !ok {
			return graph.KV{}, nil
		}
		return kv, err
	}, stop
}
