package graph

// This file holds visibility: what rights and cuts leave to be seen, and bringing a Space up to rights that changed. What is
// admitted never changes here.

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Apply sets the rights from now on. Each Space is brought up to them: Shown and Withdrawn records are appended, entries of
// authors now known are admitted from the held ones. A big change takes several transactions; what a crash leaves undone is made good
// by OpenLog or the next Apply. All is durable when Apply returns.
func (l *Log) Apply(ctx context.Context, r Rights) error {
	if l.closed.Load() {
		return ErrClosed
	}
	l.applying.Lock()
	defer l.applying.Unlock()
	l.mu.Lock()
	l.rights = r
	l.mu.Unlock()
	for _, s := range l.list() {
		if err := s.apply(ctx, r); err != nil {
			return fmt.Errorf("apply rights to space %s: %w", s.ID(), err)
		}
	}
	return nil
}

// apply brings the Space up to the rights.
func (s *Space) apply(ctx context.Context, r Rights) error {
	s.mu.Lock()
	s.rights = r
	done, err := s.review(ctx, s.changed(), nothing)
	if err == nil {
		_, done, err = s.welcome(ctx, done)
	}
	s.mu.Unlock()
	return errors.Join(err, done())
}

// changed lists the authors whose standing isn't as it was applied, or whose cuts may come to something else by now.
func (s *Space) changed() (names []NodeID) {
	for id, a := range s.authors {
		st := s.standing(id)
		if !st.equal(a.standing) || len(st.Cuts) > 0 && a.limit.seq == 0 {
			names = append(names, id)
		}
	}
	slices.SortFunc(names, NodeID.Compare)
	return names
}

// standing is an admitted author's. What is admitted stays known, whatever the rights say.
func (s *Space) standing(id NodeID) Standing {
	st := s.rights.Standing(s.genesis, id).sorted()
	st.Known = true
	return st
}

// flip is an entry whose visibility changes.
type flip struct {
	key  Key
	meta meta
}

// review looks at the authors anew: it settles what their cuts come to and flips what that changes. Flips are committed in
// chunks; the authors' rows are written with the last, so that a crash in between makes the next review do the rest. The caller
// holds the mutex; the returned done follows the given one, in an error's case too.
func (s *Space) review(ctx context.Context, names []NodeID, done func() error) (func() error, error) {
	rows := map[NodeID]*author{}
	var flips []flip
	for _, id := range names {
		was, a := s.authors[id], *s.authors[id]
		a.standing = s.standing(id)
		var err error
		if a.limit, err = s.settle(id, a.standing.Cuts); err != nil {
			return done, err
		}
		if rows[id] != nil || a.standing.equal(was.standing) && a.limit == was.limit {
			continue
		}
		if flips, err = s.flips(ctx, id, &a, flips); err != nil {
			return done, err
		}
		rows[id] = &a
	}
	slices.SortFunc(flips, func(a, b flip) int { return a.key.Compare(b.key) })
	return s.flipAll(flips, rows, done)
}

// flipAll commits flips and, with the last of them, the authors' rows.
func (s *Space) flipAll(flips []flip, rows map[NodeID]*author, done func() error) (func() error, error) {
	for len(flips) > 0 || len(rows) > 0 {
		b := s.begin(NodeID{})
		n, size := 0, 0
		for n < len(flips) && n < chunkEntries && size < chunkBytes {
			block, err := b.flip(flips[n])
			if err != nil {
				return done, err
			}
			size += block
			n++
		}
		if flips = flips[n:]; len(flips) == 0 {
			b.authors, rows = rows, nil
		}
		d, err := b.commit()
		if err != nil {
			return done, err
		}
		done = both(done, d)
	}
	return done, nil
}

// settle finds what cuts leave of an author's chain: the past of the deepest entry that lies in the past of them all. A
// cut that isn't admitted here, or is another author's, leaves nothing (yet).
func (s *Space) settle(author NodeID, cuts []ID) (limit, error) {
	if len(cuts) == 0 {
		return limit{all: true}, nil
	}
	var low limit
	for i, id := range cuts {
		m, err := s.log.meta(id)
		if errors.Is(err, ErrNotFound) || err == nil && (m.space != s.num || m.author != author) {
			return limit{}, nil
		}
		if err != nil {
			return limit{}, err
		}
		cut := limit{seq: m.seq, id: id}
		if i == 0 {
			low = cut
			continue
		}
		if low, err = s.meet(author, low, cut); err != nil {
			return limit{}, err
		}
	}
	return low, nil
}

// meet returns the last entry that lies in the past of both.
func (s *Space) meet(author NodeID, a, b limit) (limit, error) {
	if !s.authors[author].forked {
		if a.seq < b.seq {
			return a, nil
		}
		return b, nil
	}
	for a.id != b.id {
		if a.seq == 0 || b.seq == 0 {
			return limit{}, nil
		}
		back := &a
		if b.seq > a.seq {
			back = &b
		}
		var err error
		if *back, err = s.previous(*back); err != nil {
			return limit{}, err
		}
	}
	return a, nil
}

// previous goes one back in the own chain; before the first entry is limit{}.
func (s *Space) previous(l limit) (limit, error) {
	e, err := s.find(l.id)
	if err != nil {
		return limit{}, err
	}
	if e.body.Seq <= 1 {
		return limit{}, nil
	}
	return limit{seq: e.body.Seq - 1, id: e.body.Prev[0]}, nil
}

// find reads an admitted entry of this Space.
func (s *Space) find(id ID) (*Entry, error) {
	m, err := s.log.meta(id)
	if err != nil {
		return nil, err
	}
	if m.space != s.num {
		return nil, fmt.Errorf("entry '%s': %w", id, ErrNotFound)
	}
	return s.log.entry(place{s.num, Key{m.time, id}})
}

// flips appends the author's entries whose visibility isn't what it should be.
func (s *Space) flips(ctx context.Context, id NodeID, a *author, out []flip) ([]flip, error) {
	path, err := s.path(id, a)
	if err != nil {
		return nil, err
	}
	prefix := append(spaceKey(ksChain, s.num, 32), id[:]...)
	for kv, err := range s.log.st.Scan(prefix, prefixEnd(prefix), false) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		if len(kv.Key) != 77 || len(kv.Value) != 8 {
			return nil, corrupt("chain", kv.Value)
		}
		seq, eid := get64[uint64](kv.Key[37:]), ID(kv.Key[45:])
		m, err := s.log.meta(eid)
		if err != nil {
			return nil, err
		}
		if m.may(a.shows(seq, eid, path)) != (m.flags&visible != 0) {
			out = append(out, flip{Key{m.time, eid}, m})
		}
	}
	return out, nil
}

// path is the set of the entries a limit leaves of a forked chain; nil where seq alone decides.
func (s *Space) path(id NodeID, a *author) (map[ID]bool, error) {
	if !a.forked || a.limit.all || !a.standing.May {
		return nil, nil
	}
	path := map[ID]bool{}
	for l := a.limit; l.seq > 0; {
		path[l.id] = true
		var err error
		if l, err = s.previous(l); err != nil {
			return nil, fmt.Errorf("chain of %s: %w", id, err)
		}
	}
	return path, nil
}

// shows says whether standing and limit leave an entry of the author to be seen.
func (a *author) shows(seq uint64, id ID, path map[ID]bool) bool {
	switch {
	case !a.standing.May:
		return false
	case a.limit.all:
		return true
	case path != nil:
		return path[id]
	}
	return seq <= a.limit.seq
}

// flip turns an entry's visibility round. It returns the block's size.
func (b *batch) flip(f flip) (int, error) {
	e, err := b.s.log.entry(place{b.s.num, f.key})
	if err != nil {
		return 0, err
	}
	m := f.meta
	m.flags ^= visible
	if !m.kind.tells() {
		b.write(e, &m, false, false)
		b.remember = append(b.remember, record{entry: e, meta: &m})
		return len(e.block), nil
	}
	if m.flags&visible == 0 {
		b.hide(e, &m)
		b.record(Withdrawn, e, &m, false, false)
		b.write(e, &m, false, false)
		return len(e.block), nil
	}
	first := m.shown == 0
	p := b.record(Shown, e, &m, false, first)
	if first {
		m.shown = p
	}
	b.show(e, &m, first)
	b.write(e, &m, false, first)
	return len(e.block), nil
}
