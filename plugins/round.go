package plugins

// This file holds a round of Run, which takes records in, folds and commits, and how readers wait for it.

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"plexus/graph"
)

// round takes in what has come, folds a bit of everything that has work, and commits. busy: there is more to do at once.
func (h *Host) round(ctx context.Context) (busy bool, err error) {
	if err := h.checkRights(); err != nil {
		return false, err
	}
	cursor, more, err := h.drain(ctx)
	if err != nil {
		return false, err
	}
	ops, err := h.discover(ctx)
	if err != nil {
		return false, err
	}
	stepped, err := h.step(ctx)
	if err != nil {
		return false, err
	}
	ops = append(ops, stepped...)
	done := slices.Collect(maps.Keys(h.work))
	maps.DeleteFunc(h.work, func(s *slot, _ bool) bool { return s.settled() && !s.cur.meta.Moving })
	if err := h.commit(ops, done, cursor); err != nil {
		return false, err
	}
	return more || h.busy(), nil
}

// busy says whether a slot has work that can be done now.
func (h *Host) busy() bool {
	for s := range h.work {
		if s.cur.meta.Moving && s.build == nil || s.plugin().file.ready() {
			return true
		}
	}
	return false
}

// level is how far a projection has come: those of one Space that have come equally far are folded in one pass.
type level struct {
	space graph.ID
	next  graph.Key
	rush  bool
}

// step brings every slot that has work on, and returns what is to be written.
func (h *Host) step(ctx context.Context) (ops []graph.Op, err error) {
	levels := map[level][]*slot{}
	for s := range h.work {
		r, err := h.prepare(s)
		if err != nil {
			return nil, err
		}
		ops = append(ops, r.ops...)
		if r.hold {
			held, err := s.take()
			if err != nil {
				return nil, err
			}
			ops = append(ops, held...)
			continue
		}
		l := level{s.space.ID(), s.active().meta.Next, r.rush}
		levels[l] = append(levels[l], s)
	}
	for l, slots := range levels {
		budget := h.config.bounds.step
		if l.rush {
			budget = -1
		}
		if err := h.pass(ctx, slots, budget); err != nil {
			return nil, err
		}
		for _, s := range slots {
			more, err := h.settle(s)
			if err != nil {
				return nil, err
			}
			ops = append(ops, more...)
		}
	}
	return ops, nil
}

// settle returns what is to be written for a slot; a build that has caught up takes over.
func (h *Host) settle(s *slot) ([]graph.Op, error) {
	over := s.build != nil && s.ended
	layer := over && s.build.meta.Root != 0
	if layer {
		if err := s.build.surface(s.cur); err != nil {
			return nil, err
		}
	}
	ops, err := s.take()
	if err != nil || !over {
		return ops, err
	}
	if !layer {
		ops = append(ops, s.cur.drop()...)
	}
	s.cur, s.spec, s.build, s.next = s.build, s.next, nil, nil
	op, err := s.register()
	return append(ops, op), err
}

// take returns what is uncommitted of the projection that is folded.
func (s *slot) take() ([]graph.Op, error) {
	s.active().meta.Ended = s.ended
	return s.active().take()
}

// rebuild starts a projection from nothing beside the one readers see.
func (h *Host) rebuild(s *slot, sp *spec) ([]graph.Op, error) {
	h.logger.Debug("plugin state is made anew", "plugin", sp.plugin.Name, "space", s.space.ID().String())
	p, err := openProjection(h.records, h.number())
	if err != nil {
		return nil, err
	}
	return h.build(s, sp, p)
}

// build has a projection made beside the one readers see. That one is noted no more records, so it is marked wrong from the start on: should the build be
// given up, nobody takes it for right.
func (h *Host) build(s *slot, sp *spec, p *projection) (ops []graph.Op, err error) {
	if s.build != nil {
		ops = s.build.drop()
	}
	s.build, s.next, s.ended = p, sp, false
	s.cur.touch(graph.Key{})
	kept, err := s.cur.take()
	if err != nil {
		return nil, err
	}
	op, err := s.register()
	return append(append(ops, kept...), op), err
}

// commit writes everything in one batch and shows it to readers.
func (h *Host) commit(ops []graph.Op, done []*slot, cursor graph.Pos) error {
	if len(ops) == 0 && cursor == h.cursor && len(h.listed) == len(h.known) {
		return nil
	}
	ops = append(ops, graph.Op{Kind: graph.Set, Key: []byte(cursorKey), Value: binary.BigEndian.AppendUint64(nil, uint64(cursor))})
	h.state.Lock()
	err := h.records.ApplyNoSync(ops...)
	if err == nil {
		h.cursor, h.seen = cursor, cursor
		most := max(overlayLeast, overlayBytes/max(1, len(h.slots)))
		for _, s := range done {
			s.active().committed(most)
			s.cur.committed(most)
			s.publish()
		}
		if len(h.listed) < len(h.known) {
			h.listed = maps.Clone(h.known)
		}
	}
	h.state.Unlock()
	if err != nil {
		return fmt.Errorf("write plugin state: %w", err)
	}
	h.announce()
	return nil
}

// waitUntil waits for the slot to cover the log up to a position, for at most ViewWait.
func (h *Host) waitUntil(ctx context.Context, k slotKey, target graph.Pos) {
	h.wait(ctx, func() bool { return h.upTo(k, target) })
}

// waitToRead is waitUntil for readers: where a state is made beside the one they see, they soon get that one.
func (h *Host) waitToRead(ctx context.Context, k slotKey, target graph.Pos) {
	short := h.config.bounds.wait / besideShare
	h.waitFor(ctx, short, func() bool { return h.upTo(k, target) })
	h.waitFor(ctx, h.config.bounds.wait-short, func() bool {
		s := h.slots[k]
		return s != nil && s.pub.beside != "" && s.pub.meta.Whole && s.pub.spec.file.ended() || h.upTo(k, target)
	})
}

// upTo says whether a slot covers the log up to a position; under state.
func (h *Host) upTo(k slotKey, target graph.Pos) bool {
	s := h.slots[k]
	return h.seen >= target && (s != nil && s.pub.settled && s.pub.spec.file.ended() || s == nil && h.listed[k.space])
}

// covers says whether readers see what has become of a message, whose record is at a position.
func (h *Host) covers(s *slot, k graph.Key, at graph.Pos) bool {
	h.state.RLock()
	defer h.state.RUnlock()
	p := s.pub
	return h.seen >= at && (p.settled || p.beside == "" && p.meta.Dirty == nil && k.Compare(p.meta.Next) < 0)
}

// wait waits until something is so, for at most ViewWait, or until Run has ended. ok is asked under state.
func (h *Host) wait(ctx context.Context, ok func() bool) { h.waitFor(ctx, h.config.bounds.wait, ok) }

func (h *Host) waitFor(ctx context.Context, most time.Duration, ok func() bool) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		change := h.change()
		h.state.RLock()
		done := ok() || h.fault != nil
		h.state.RUnlock()
		if done {
			return
		}
		h.kick()
		select {
		case <-change:
		case <-ctx.Done():
			return
		}
	}
}
