package graph

// This file holds admission: what becomes of an entry that is offered. protocol.md §4.

import (
	"errors"
	"fmt"
)

// batch is one transaction in the making, over the Space as it is. Nothing of the Space but the pool of entries that wait
// for a parent changes before commit. The Space's mutex is held from begin to commit.
type batch struct {
	s    *Space
	from NodeID
	now  Time
	also []Op

	ops       []Op
	numbers   [][]byte // places in ops where arrival numbers go, counted from 1 until commit
	records   []record
	metas     map[ID]*meta // of the entries admitted by this batch
	authors   map[NodeID]*author
	heads     map[ID]*head // added; nil: no head any more
	sums      map[sumAt]*[SumSize]byte
	stat      stat
	quotas    map[NodeID]quota
	strangers map[ID]bool // held by this batch
	queue     []*waiting  // their last parent has come
	cut       []NodeID    // authors one of whose cuts has come
	future    map[ID]futureChange
	futures   map[NodeID]int // put in, by host
	result    AddResult
	remember  []record // flipped without a record: for the cache
	held      []*Entry // of this batch, waiting for a parent
	refused   []refusal
	indexes   map[NodeID]uint32 // given by this batch
	fault     error             // why it can't be written
}

// record is an arrival record of the batch; its number is its index, until commit.
type record struct {
	event Event
	entry *Entry
	meta  *meta
	fresh bool // meta.pos is the record's number
	first bool // meta.shown is the record's number
}

type refusal struct {
	id   ID
	rule Rule
}

func (s *Space) begin(from NodeID) *batch {
	return &batch{
		s: s, from: from, now: TimeOf(s.log.now()), stat: s.stat,
		metas: map[ID]*meta{}, authors: map[NodeID]*author{}, heads: map[ID]*head{},
		sums: map[sumAt]*[SumSize]byte{}, quotas: map[NodeID]quota{},
	}
}

// offer decides what becomes of an entry, and then of those that waited for it. An error is the store's.
func (b *batch) offer(e *Entry, from NodeID) error {
	if err := b.decide(&waiting{entry: e, from: from}, true); err != nil {
		return err
	}
	for len(b.queue) > 0 {
		w := b.queue[0]
		b.queue = b.queue[1:]
		if err := b.decide(w, false); err != nil {
			return err
		}
	}
	return nil
}

// decide puts an entry on one of the lists. Only what came with this batch (offered) is listed as held or known.
func (b *batch) decide(w *waiting, offered bool) error {
	e := w.entry
	if e.body.Space != b.s.ID() {
		b.refuse(e, &InvalidError{Field: "space", Rule: RuleSpace, Detail: "belongs to space " + e.body.Space.String()}, offered)
		return nil
	}
	known, err := b.known(e)
	if err != nil {
		return err
	}
	if known {
		if offered {
			b.result.Known++
		}
		return nil
	}
	if e.body.Time > b.now+Time(MaxFuture.Microseconds()) {
		b.wait(e, offered)
		b.holdFuture(e, w.from)
		return nil
	}
	a := b.author(e.body.Author)
	if a == nil {
		b.wait(e, offered)
		return b.holdStranger(e, w.from)
	}
	missing, bad, err := b.check(e)
	switch {
	case err != nil:
		return err
	case bad != nil:
		b.s.pool.drop(e.id)
		b.refuse(e, bad, offered)
	case len(missing) > 0:
		b.wait(e, offered)
		b.held = append(b.held, e)
		b.s.pool.hold(w, missing)
	default:
		b.s.pool.drop(e.id)
		b.admit(e, a)
	}
	return nil
}

func (b *batch) wait(e *Entry, offered bool) {
	if offered {
		b.result.Held = append(b.result.Held, e.id)
	}
}

// refuse lists an entry as refused for good.
func (b *batch) refuse(e *Entry, bad *InvalidError, offered bool) {
	bad.ID = e.id
	b.refused = append(b.refused, refusal{e.id, bad.Rule})
	if offered {
		b.result.Refused = append(b.result.Refused, bad)
	}
}

// known says whether an entry is admitted already. A seq past the author's tip says no without asking the store.
func (b *batch) known(e *Entry) (bool, error) {
	a := b.authors[e.body.Author]
	if a == nil {
		a = b.s.authors[e.body.Author]
	}
	if a == nil || e.body.Seq > a.seq {
		return false, nil
	}
	m, err := b.meta(e.id)
	return m != nil, err
}

// author returns what the batch knows of an author, to be read only; nil where the author was never granted.
func (b *batch) author(id NodeID) *author {
	if a := b.authors[id]; a != nil {
		return a
	}
	if a := b.s.authors[id]; a != nil {
		return a
	}
	st := b.s.rights.Standing(b.s.genesis, id).sorted()
	if !st.Known {
		return nil
	}
	return &author{standing: st, limit: limit{all: len(st.Cuts) == 0}}
}

// meta returns an admitted entry's meta, of any Space of the Log; nil where there is none.
func (b *batch) meta(id ID) (*meta, error) {
	if m := b.metas[id]; m != nil {
		return m, nil
	}
	m, err := b.s.log.meta(id)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if m.space == b.s.num {
		b.s.log.recent.put(id, m, nil)
	}
	return &m, nil
}

// check holds an entry against its parents: those that are missing, and the first rule that is broken whatever comes.
func (b *batch) check(e *Entry) (missing []ID, bad *InvalidError, err error) {
	c := parentCheck{e: e, space: b.s.num}
	for i, id := range e.body.Prev {
		m, err := b.meta(id)
		if err != nil {
			return nil, nil, err
		}
		if m == nil {
			missing = append(missing, id)
		} else if bad := c.prev(i, id, m); bad != nil {
			return nil, bad, nil
		}
	}
	for _, id := range e.body.Refs.Messages {
		m, err := b.meta(id)
		if err != nil {
			return nil, nil, err
		}
		if m == nil {
			missing = append(missing, id)
		} else if bad := c.ref(id, m); bad != nil {
			return nil, bad, nil
		}
	}
	return missing, nil, nil
}

// parentCheck holds an entry against one parent after the other.
type parentCheck struct {
	e       *Entry
	space   num
	authors []NodeID // of the prevs so far
}

// prev checks the rules of protocol.md §4.2.
func (c *parentCheck) prev(i int, id ID, m *meta) *InvalidError {
	if bad := c.parent("prev", id, m); bad != nil {
		return bad
	}
	own := m.author == c.e.body.Author
	first := i == 0 && c.e.body.Seq > 1
	switch {
	case first && !own:
		return &InvalidError{Field: "prev", Rule: RulePrevAuthor, Detail: fmt.Sprintf("prev[0] %s is another author's", id)}
	case !first && own:
		return &InvalidError{Field: "prev", Rule: RulePrevAuthor, Detail: fmt.Sprintf("%s is the author's own", id)}
	case first && m.seq+1 != c.e.body.Seq:
		return &InvalidError{Field: "seq", Rule: RuleSeq, Detail: fmt.Sprintf("%d after %d", c.e.body.Seq, m.seq)}
	}
	for _, a := range c.authors {
		if a == m.author {
			return &InvalidError{Field: "prev", Rule: RulePrevAuthor, Detail: "two of author " + a.String()}
		}
	}
	c.authors = append(c.authors, m.author)
	return nil
}

// ref checks a parent of the public graph.
func (c *parentCheck) ref(id ID, m *meta) *InvalidError {
	if bad := c.parent("refs.messages", id, m); bad != nil {
		return bad
	}
	if m.kind != kMessage {
		return &InvalidError{Field: "refs.messages", Rule: RuleParentKind, Detail: id.String() + " is no message"}
	}
	return nil
}

// parent checks what holds of every parent.
func (c *parentCheck) parent(field string, id ID, m *meta) *InvalidError {
	if m.space != c.space {
		return &InvalidError{Field: field, Rule: RuleParentSpace, Detail: id.String() + " lies in another space"}
	}
	if m.time >= c.e.body.Time {
		return &InvalidError{Field: "time", Rule: RuleTimeOrder, Detail: "not after " + id.String()}
	}
	return nil
}

// admit takes an entry in: everything that is written for it.
func (b *batch) admit(e *Entry, a *author) {
	n := *a
	a = &n
	b.authors[e.body.Author] = a
	a.tip(e.body.Seq, e.id, e.body.Time)
	if len(a.standing.Cuts) > 0 && contains(a.standing.Cuts, e.id) {
		b.cut = append(b.cut, e.body.Author)
	}
	m := &meta{space: b.s.num, kind: kindOf(e.body.Kind), time: e.body.Time, seq: e.body.Seq, author: e.body.Author}
	if m.kind == kMessage {
		if _, ok := e.Message(); !ok {
			m.flags |= malformed
		}
	}
	event := Added
	if m.may(a.writes()) {
		m.flags |= visible
		if m.kind.tells() {
			event = Shown
		}
	}
	first := event == Shown
	m.pos = b.record(event, e, m, true, first)
	if first {
		m.shown = m.pos
		b.show(e, m, true)
	}
	b.metas[e.id] = m
	b.write(e, m, true, first)
	b.index(e, m)
	b.unfuture(e)
	b.stat.admitted++
	b.s.pool.wake(e.id, &b.queue)
}

// may says whether an entry is visible where its author's word is.
func (m *meta) may(author bool) bool { return author && m.flags&malformed == 0 && m.kind != kOther }

func contains(ids []ID, id ID) bool {
	for _, o := range ids {
		if o == id {
			return true
		}
	}
	return false
}
