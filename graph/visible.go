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
		err := s.apply(ctx, r)
		if errors.Is(err, errDamaged) {
			if err = s.Rebuild(ctx); err == nil {
				err = s.apply(ctx, r)
			}
		}
		if err != nil {
			return fmt.Errorf("apply rights to space %s: %w", s.ID(), err)
		}
	}
	return nil
}

// apply brings the Space up to the rights.
func (s *Space) apply(ctx context.Context, r Rights) error {
	s.mu.Lock()
	s.rights = r
	names := s.changed()
	s.mu.Unlock()
	if err := s.reviewAll(ctx, names); err != nil {
		return err
	}
	_, err := s.welcome(ctx)
	return err
}

// changed lists the authors whose standing isn't as it was applied, whose cuts may come to something else by now, or whose review
// wasn't finished. The caller holds the mutex.
func (s *Space) changed() (names []NodeID) {
	for id, a := range s.authors {
		st := s.standing(id)
		if a.pending || !st.equal(a.standing) || len(st.Cuts) > 0 && a.limit.seq == 0 {
			names = append(names, id)
		}
	}
	slices.SortFunc(names, NodeID.Compare)
	return names
}

// standing is an admitted author's. What is admitted stays known, whatever the rights say; before the first Apply since the
// Log was opened it is as it was applied last. The caller holds the mutex.
func (s *Space) standing(id NodeID) Standing {
	if s.rights == (nobody{}) {
		return s.authors[id].standing
	}
	st := s.rights.Standing(s.genesis, id).sorted()
	st.Known = true
	return st
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
