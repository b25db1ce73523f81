package graph

// This file holds the reads of a Space and of all Spaces. Each is indexed: its cost follows the answer, not the Space.

import (
	"context"
	"fmt"
	"iter"
	"slices"
)

// Page bounds a read in arrival order. With After: the oldest Limit records after it. Without: the newest Limit,
// in arrival order. Limit 0 is PageSize; over MaxPage is cut to MaxPage.
type Page struct {
	After    Pos
	HasAfter bool
	Limit    int
}

// size is the limit as it counts.
func (p Page) size() int {
	if p.Limit <= 0 {
		return PageSize
	}
	return min(p.Limit, MaxPage)
}

// Direction of a Related read.
type Direction uint8

// Both is ancestors and descendants, no siblings; the message itself is always included.
const (
	Both Direction = iota
	Upstream
	Downstream
)

// Key is a place in canonical order: (Time, ID).
type Key struct {
	Time Time
	ID   ID
}

// Compare orders keys canonically.
func (k Key) Compare(o Key) int {
	if k.Time != o.Time {
		if k.Time < o.Time {
			return -1
		}
		return 1
	}
	return k.ID.Compare(o.ID)
}

// found is an index's row: what a page may hold.
type found struct {
	pos Pos
	at  place
}

// index yields the rows of an index in the direction a page wants: keys end in pos, values are places.
func (l *Log) index(prefix []byte, p Page) iter.Seq2[found, error] {
	lo := prefix
	if p.HasAfter {
		lo = put64(slices.Clone(prefix), p.After+1)
	}
	return func(yield func(found, error) bool) {
		for kv, err := range l.st.Scan(lo, prefixEnd(prefix), !p.HasAfter) {
			if err == nil && len(kv.Value) != placeSize {
				err = corrupt("index", kv.Value)
			}
			if err != nil {
				yield(found{}, err)
				return
			}
			if !yield(found{get64[Pos](kv.Key[len(prefix):]), readPlace(kv.Value)}, nil) {
				return
			}
		}
	}
}

// shown yields the Shown records of messages in a Space with first ≤ pos ≤ last.
func (l *Log) shown(s num, first, last Pos, reverse bool) iter.Seq2[found, error] {
	return func(yield func(found, error) bool) {
		for kv, err := range l.st.Scan(arrivalKey(s, first), arrivalEnd(s, last), reverse) {
			var a arrival
			if err == nil {
				a, err = readArrival(kv.Key, kv.Value)
			}
			if err != nil {
				yield(found{}, err)
				return
			}
			if a.event == Shown && a.kind == kMessage && !yield(found{a.pos, a.at}, nil) {
				return
			}
		}
	}
}

// arrivalEnd is the key behind the record at last, of the greatest last too.
func arrivalEnd(s num, last Pos) []byte {
	if last+1 == 0 {
		return spaceKey(ksArrival, s+1, 0)
	}
	return arrivalKey(s, last+1)
}

// page collects a page of visible messages: those of the rows that stand at their first Shown record and that keep
// accepts (nil: all).
func (l *Log) page(ctx context.Context, p Page, rows iter.Seq2[found, error], keep func(*Entry) bool) ([]Stored, error) {
	out := []Stored{}
	for f, err := range rows {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		e, shown, err := l.message(f.at)
		if err != nil {
			return nil, err
		}
		if shown != f.pos || keep != nil && !keep(e) {
			continue
		}
		if out = append(out, Stored{f.pos, Shown, e}); len(out) == p.size() {
			break
		}
	}
	if !p.HasAfter {
		slices.Reverse(out)
	}
	return out, nil
}

// message reads a visible message and its place in pages; shown is 0 for anything else.
func (l *Log) message(at place) (e *Entry, shown Pos, err error) {
	if r, ok := l.recent.find(at.key.ID); ok && r.entry != nil {
		if r.meta.kind != kMessage || r.meta.flags&visible == 0 {
			return nil, 0, nil
		}
		return r.entry, r.meta.shown, nil
	}
	h, err := l.block(at)
	if err != nil || h.kind != kMessage || h.flags&visible == 0 {
		return nil, 0, err
	}
	e, err = decodeStored(at.key.ID, h.block)
	return e, h.shown, err
}

// Message returns a visible message, or ErrNotFound (void and malformed ones included).
func (s *Space) Message(id ID) (Stored, error) {
	m, err := s.log.meta(id)
	if err == nil && m.space == s.num {
		var e *Entry
		var shown Pos
		if e, shown, err = s.log.message(place{s.num, Key{m.time, id}}); err == nil && shown != 0 {
			return Stored{shown, Shown, e}, nil
		}
	}
	if err != nil && !isNotFound(err) {
		return Stored{}, err
	}
	return Stored{}, fmt.Errorf("message '%s' not found in space '%s': %w", id, s.ID(), ErrNotFound)
}

// Entry returns any admitted entry and whether it is visible, or ErrNotFound.
func (s *Space) Entry(id ID) (e *Entry, visibly bool, err error) {
	m, err := s.log.meta(id)
	if err != nil {
		return nil, false, err
	}
	e, err = s.find(id)
	return e, m.flags&visible != 0, err
}

// Has says whether an entry is admitted.
func (s *Space) Has(id ID) bool {
	m, err := s.log.meta(id)
	return err == nil && m.space == s.num
}

// Roots returns visible messages whose both ref arrays are empty.
func (s *Space) Roots(ctx context.Context, p Page) ([]Stored, error) {
	return s.log.page(ctx, p, s.log.index(spaceKey(ksRoot, s.num, 8), p), nil)
}

// Addressed returns visible messages that name the node in refs.nodes.
func (s *Space) Addressed(ctx context.Context, node NodeID, p Page) ([]Stored, error) {
	return s.log.page(ctx, p, s.log.index(s.namedPrefix(node), p), nil)
}

func (s *Space) namedPrefix(node NodeID) []byte {
	return append(spaceKey(ksNamed, s.num, 40), node[:]...)
}

// ForCaller returns IOA's default read for a known caller: messages that name it or have no refs at all, less its own.
func (s *Space) ForCaller(ctx context.Context, node NodeID, p Page) ([]Stored, error) {
	rows := merge(s.log.index(spaceKey(ksRoot, s.num, 8), p), s.log.index(s.namedPrefix(node), p), !p.HasAfter)
	return s.log.page(ctx, p, rows, func(e *Entry) bool { return e.body.Author != node })
}

// merge yields two sorted sequences without common elements as one.
func merge(a, b iter.Seq2[found, error], reverse bool) iter.Seq2[found, error] {
	return func(yield func(found, error) bool) {
		nextA, stopA := iter.Pull2(a)
		defer stopA()
		nextB, stopB := iter.Pull2(b)
		defer stopB()
		fa, errA, okA := nextA()
		fb, errB, okB := nextB()
		for okA || okB {
			if okA && (errA != nil || !okB || (fa.pos < fb.pos) != reverse) {
				if !yield(fa, errA) {
					return
				}
				fa, errA, okA = nextA()
				continue
			}
			if !yield(fb, errB) {
				return
			}
			fb, errB, okB = nextB()
		}
	}
}

// All returns visible messages.
func (s *Space) All(ctx context.Context, p Page) ([]Stored, error) {
	first := Pos(0)
	if p.HasAfter {
		first = p.After + 1
	}
	return s.log.page(ctx, p, s.log.shown(s.num, first, ^Pos(0), !p.HasAfter), nil)
}

// All returns visible messages of all Spaces, by arrival.
func (l *Log) All(ctx context.Context, p Page) ([]Stored, error) {
	start := Pos(0)
	if p.HasAfter {
		start = p.After
	}
	rows := func(yield func(found, error) bool) {
		for r, err := range l.runs(start, !p.HasAfter) {
			if err != nil {
				yield(found{}, err)
				return
			}
			for f, err := range l.shown(r.space, max(r.first, start+1), r.last, !p.HasAfter) {
				if !yield(f, err) {
					return
				}
			}
		}
	}
	return l.page(ctx, p, rows, nil)
}

// Inbox returns visible messages that name the node, over all Spaces, by arrival.
func (l *Log) Inbox(ctx context.Context, node NodeID, p Page) ([]Stored, error) {
	return l.page(ctx, p, l.index(append([]byte{ksInbox}, node[:]...), p), nil)
}

// Count returns the number of visible messages.
func (s *Space) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.stat.messages)
}
