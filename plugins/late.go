package plugins

// This file holds what becomes of messages behind the fold: those that come late, are withdrawn or shown again, or whose senders
// are now seen as others.

import (
	"fmt"

	"plexus/graph"
)

// note takes a record of the arrival log to heart. What lies ahead of the fold will be met there.
func (s *slot) note(r graph.Stored) error {
	p, k := s.active(), keyOf(r.Entry)
	s.ended = false
	if k.Compare(p.meta.Next) >= 0 {
		return nil
	}
	folded, err := p.folded(k.ID)
	if err != nil {
		return err
	}
	if r.Event == graph.Withdrawn {
		if folded {
			p.touch(k)
			p.unfold(k.ID)
		}
		return nil
	}
	m, ok := r.Entry.Message()
	if folded || !ok {
		return nil
	}
	accepted, err := s.accepts(p, m, m.Type())
	if accepted {
		p.touch(k)
	}
	return err
}

// unfold takes a message from those that are folded. It is not undone: only another fold of the message may bring it back.
func (p *projection) unfold(id graph.ID) { p.put(string(kindFolded)+string(id[:]), nil, false) }

// passed is told of a message that isn't for the plugin. A reply may have been, before what it replies to was taken out.
func (s *slot) passed(p *projection, m graph.Message, k graph.Key) error {
	if !s.plugin().plugin.Replies || m.Type() != "" || k.Compare(p.meta.Stale) >= 0 {
		return nil
	}
	folded, err := p.folded(k.ID)
	if folded {
		p.unfold(k.ID)
	}
	return err
}

// attested compares what senders were seen as with what they are now.
func (s *slot) attested(a Attestor) error {
	p := s.active()
	for kv, err := range p.layers().authors() {
		if err != nil {
			return err
		}
		first, ok := readOrder(kv.Value)
		if !ok || len(kv.Key) != 1+32 {
			return fmt.Errorf("plugin state %d: %w", p.num, errUndo)
		}
		var node graph.NodeID
		copy(node[:], kv.Key[1:])
		if string(kv.Value[40:]) != attest(a, s.space.ID(), node) {
			p.touch(first)
		}
	}
	return nil
}

// remedy is what was done about a slot before it is folded on.
type remedy struct {
	ops  []graph.Op
	rush bool // readers would see less than before: it must catch up before anything is committed
	hold bool // it isn't folded in this round
}

// prepare takes out what is wrong with the active projection: by undo; where that doesn't reach, from a step, in place or in a layer where
// readers see it; where no step reaches, by a build from nothing.
func (h *Host) prepare(s *slot) (r remedy, err error) {
	if s.build == nil && s.cur.meta.Moving {
		r.hold = true
		r.ops, err = h.sink(s)
		return r, err
	}
	p := s.active()
	d := p.meta.Dirty
	if r.hold = !s.plugin().file.ready(); r.hold || d == nil {
		return r, nil
	}
	seen := p == s.cur && p.meta.Whole
	step := p.stepBelow(*d)
	switch {
	case d.Compare(p.meta.Next) >= 0:
	case d.Compare(p.meta.Floor) >= 0:
		err, r.rush = p.rollback(*d), seen
	case !seen && step >= 0:
		err = p.rewind(step)
	case seen || p.meta.Root != 0:
		r.ops, err = h.under(s, *d)
		return r, err
	default:
		r.ops, err = h.rebuild(s, s.plugin())
		return r, err
	}
	p.meta.Dirty = nil
	return r, err
}

// sink moves a layer down, and registers the root when it is one again.
func (h *Host) sink(s *slot) ([]graph.Op, error) {
	ops, done, err := s.cur.sink()
	if err != nil || !done {
		return ops, err
	}
	op, err := s.register()
	return append(ops, op), err
}
