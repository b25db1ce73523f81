package graph

// This file holds the review of an author: every entry of its chain is looked at and made visible or void as the author's
// standing wants it. It gives the Space's mutex back between chunks; a crash in between is made good by the next Apply.

import (
	"context"
	"fmt"
)

// reviewing is a review under way.
type reviewing struct {
	author NodeID
	number uint64      // author.review: a later review ends this one
	next   []byte      // chain key to go on from; nil at the end
	path   map[ID]bool // what the limit leaves of a forked chain; nil where seq alone decides
}

// reviewAll reviews authors one after the other.
func (s *Space) reviewAll(ctx context.Context, names []NodeID) error {
	for _, id := range names {
		if err := s.review(ctx, id); err != nil {
			return fmt.Errorf("review %s: %w", id, err)
		}
	}
	return nil
}

// review settles what the author's standing and cuts come to and flips what that changes. All is durable when it returns.
func (s *Space) review(ctx context.Context, id NodeID) error {
	s.mu.Lock()
	r, done, err := s.startReview(id)
	s.mu.Unlock()
	if err == nil {
		err = done()
	}
	for err == nil && r != nil && r.next != nil {
		s.mu.Lock()
		done, err = s.reviewSome(ctx, r)
		s.mu.Unlock()
		if err == nil {
			err = done()
		}
	}
	return err
}

// startReview writes the author's new row, marked as pending; what is admitted from now on is by it. It returns nil where nothing
// changes. The caller holds the mutex.
func (s *Space) startReview(id NodeID) (r *reviewing, done func() error, err error) {
	was, a := s.authors[id], *s.authors[id]
	a.standing = s.standing(id)
	if a.limit, err = s.settle(id, a.standing.Cuts); err != nil {
		return nil, nothing, err
	}
	if !was.pending && a.limit == was.limit && a.standing.equal(was.standing) {
		return nil, nothing, nil
	}
	a.pending, a.review = true, was.review+1
	b := s.begin(NodeID{})
	b.authors[id] = &a
	done, err = b.commit()
	return &reviewing{author: id, number: a.review, next: chainKey(s.num, id, 0, ID{})}, done, err
}

// reviewSome looks at a chunk of the chain, and with the last one ends the review. The caller holds the mutex.
func (s *Space) reviewSome(ctx context.Context, r *reviewing) (done func() error, err error) {
	a := s.authors[r.author]
	if a.review != r.number {
		r.next = nil
		return nothing, nil
	}
	if r.path == nil && a.forked && a.standing.May && !a.limit.all {
		if r.path, err = s.path(a.limit); err != nil {
			return nothing, err
		}
	}
	b := s.begin(NodeID{})
	if r.next, err = b.reviewChunk(ctx, r, a); err != nil {
		return nothing, err
	}
	if r.next == nil {
		over := *a
		over.pending = false
		b.authors[r.author] = &over
	}
	return b.commit()
}

// reviewChunk flips what has to be flipped in a chunk of the chain, and returns where the next one begins; nil at the end.
func (b *batch) reviewChunk(ctx context.Context, r *reviewing, a *author) (next []byte, err error) {
	n, size := 0, 0
	for kv, err := range b.s.log.st.Scan(r.next, chainKey(b.s.num, r.author, ^uint64(0), ID{}), false) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		if n == chunkEntries || size >= chunkBytes {
			return append([]byte(nil), kv.Key...), nil
		}
		block, err := b.review(kv, a, r.path)
		if err != nil {
			return nil, err
		}
		n, size = n+1, size+block
	}
	return nil, nil
}

// review flips one entry of a chain if it has to be, and returns the size of the block written then.
func (b *batch) review(kv KV, a *author, path map[ID]bool) (int, error) {
	if len(kv.Key) != 77 {
		return 0, corrupt("chain", kv.Value)
	}
	seq, id := get64[uint64](kv.Key[37:]), ID(kv.Key[45:])
	m, err := b.s.log.meta(id)
	if err != nil || m.may(a.shows(seq, id, path)) == (m.flags&visible != 0) {
		return 0, err
	}
	e, err := b.s.log.entry(place{b.s.num, Key{m.time, id}})
	if err != nil {
		return 0, err
	}
	b.flip(e, &m)
	return len(e.block), nil
}

// flip turns an entry's visibility round.
func (b *batch) flip(e *Entry, m *meta) {
	m.flags ^= visible
	if !m.kind.tells() {
		b.write(e, m, false, false)
		b.remember = append(b.remember, record{entry: e, meta: m})
		return
	}
	if m.flags&visible == 0 {
		b.hide(e, m)
		b.record(Withdrawn, e, m, false, false)
		b.write(e, m, false, false)
		return
	}
	first := m.shown == 0
	p := b.record(Shown, e, m, false, first)
	if first {
		m.shown = p
	}
	b.show(e, m, first)
	b.write(e, m, false, first)
}

// path is the set of the entries a limit leaves of a forked chain.
func (s *Space) path(l limit) (map[ID]bool, error) {
	path := map[ID]bool{}
	for l.seq > 0 {
		path[l.id] = true
		var err error
		if l, err = s.previous(l); err != nil {
			return nil, err
		}
	}
	return path, nil
}
