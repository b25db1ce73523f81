package graph

// This file holds the index behind HappenedBefore: for each entry, how far its author provably knew every other author's
// chain. It is a clock (author → highest seq in the entry's past), written as what changed since the author's own
// previous entry, and in full every 64th entry, so that a clock is read with one short scan.
//
// The keyspace has two parts, behind 0x1c and num:
//
//	0 author        its index in this Space (4), given by admission
//	1 index seq id  a clock: a full one where seq is a multiple of 64, else what changed: (index, seq) pairs as varints
//
// The author's own chain is left out of a clock: an entry knows its own past up to seq − 1. An entry whose clock is its
// predecessor's has no record. A clock is a function of the entry's past alone; of a forked author it says the highest seq
// of any branch, so that "no" is certain and "yes" needs a walk.

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// clockEvery is how often an author's clock is written in full.
const clockEvery = 64

// clock is the highest seq known of each author, by index. Immutable; missing ones are 0.
type clock []uint64

func (c clock) at(i uint32) uint64 {
	if int(i) < len(c) {
		return c[i]
	}
	return 0
}

// loadClocks reads the authors' indexes.
func (s *Space) loadClocks() error {
	clear(s.index)
	prefix := ancestorKey(s.num, ancestorAuthor)
	for kv, err := range s.log.st.Scan(prefix, prefixEnd(prefix), false) {
		if err != nil {
			return err
		}
		if len(kv.Key) != 38 || len(kv.Value) != 4 {
			return corrupt("ancestor", kv.Value)
		}
		s.index[NodeID(kv.Key[6:])] = binary.BigEndian.Uint32(kv.Value)
	}
	return nil
}

const (
	ancestorAuthor byte = 0
	ancestorClock  byte = 1
)

func ancestorKey(s num, part byte) []byte { return append(spaceKey(ksAncestor, s, 53), part) }

// clockKey is where an entry's clock lies.
func clockKey(s num, author uint32, seq uint64, id ID) []byte {
	b := binary.BigEndian.AppendUint32(ancestorKey(s, ancestorClock), author)
	return append(put64(b, seq), id[:]...)
}

// authorIndex returns an author's index, giving the next one where there is none.
func (b *batch) authorIndex(author NodeID) uint32 {
	if i, ok := b.s.index[author]; ok {
		return i
	}
	if i, ok := b.indexes[author]; ok {
		return i
	}
	if b.indexes == nil {
		b.indexes = map[NodeID]uint32{}
	}
	i := uint32(len(b.s.index) + len(b.indexes))
	b.indexes[author] = i
	b.set(append(ancestorKey(b.s.num, ancestorAuthor), author[:]...), binary.BigEndian.AppendUint32(nil, i))
	return i
}

// ancestors adds an entry's clock. What goes wrong is told by commit.
func (b *batch) ancestors(e *Entry, m *meta) {
	if err := b.tick(e, m); err != nil && b.fault == nil {
		b.fault = err
	}
}

// tick makes an entry's clock: that of its predecessor, raised by what its other parents knew.
func (b *batch) tick(e *Entry, m *meta) error {
	own := b.authorIndex(m.author)
	var before, now clock
	for i, id := range e.Parents() {
		p, err := b.parent(id)
		if err != nil {
			return err
		}
		theirs, err := b.clock(id, p)
		if err != nil {
			return err
		}
		if i == 0 && m.seq > 1 {
			before, now = theirs, theirs
			continue
		}
		now = now.raise(before, theirs, b.authorIndex(p.author), p.seq)
	}
	if i := int(own); i < len(now) && now[i] != 0 && now[i] < m.seq {
		now = now.writable(before, len(now))
		now[i] = 0 // it goes without saying
	}
	b.writeClock(clockKey(b.s.num, own, m.seq, e.id), m.seq, before, now)
	m.clock, m.clocked = now, true
	return nil
}

// parent returns the meta of a parent of an entry that is admitted.
func (b *batch) parent(id ID) (*meta, error) {
	m, err := b.meta(id)
	if err == nil && m == nil {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("clock of parent %s: %w", id, err)
	}
	return m, nil
}

// raise returns the clock with a parent in it and what the parent knew. before is the clock it may not write into.
func (c clock) raise(before, theirs clock, parent uint32, seq uint64) clock {
	for i, v := range theirs {
		if v > c.at(uint32(i)) {
			c = c.writable(before, len(theirs))
			c[i] = v
		}
	}
	if seq > c.at(parent) {
		c = c.writable(before, int(parent)+1)
		c[parent] = seq
	}
	return c
}

// writable returns a clock of at least n authors that may be written into: a copy, if it is the one before still.
func (c clock) writable(before clock, n int) clock {
	if len(c) >= n && (len(before) == 0 || &c[0] != &before[0]) {
		return c
	}
	out := make(clock, max(n, len(c)))
	copy(out, c)
	return out
}

// writeClock writes what changed, or all of it every 64th time.
func (b *batch) writeClock(key []byte, seq uint64, before, now clock) {
	if seq%clockEvery == 0 {
		before = nil
	} else if len(now) == len(before) && (len(now) == 0 || &now[0] == &before[0]) {
		return
	}
	var v []byte
	last := 0
	for i := range now {
		if now[i] == before.at(uint32(i)) {
			continue
		}
		v = binary.AppendUvarint(v, uint64(i-last))
		v = binary.AppendUvarint(v, now[i])
		last = i
	}
	if len(v) > 0 || seq%clockEvery == 0 {
		b.set(key, v)
	}
}

// clock returns the clock of an admitted entry, of this batch or the Space. The caller holds the Space's mutex.
func (b *batch) clock(id ID, m *meta) (clock, error) {
	if m.clocked {
		return m.clock, nil
	}
	own, ok := b.s.index[m.author]
	if !ok {
		return nil, corrupt("ancestor", m.author[:])
	}
	c, err := b.s.readClock(own, m, id, b.forked(m.author))
	if err != nil {
		return nil, err
	}
	m.clock, m.clocked = c, true
	b.s.log.recent.put(id, *m, nil)
	return c, nil
}

// forked says whether an author has forked, as far as the batch has come.
func (b *batch) forked(author NodeID) bool {
	before, now := b.s.authors[author], b.authors[author]
	return before != nil && before.forked || now != nil && now.forked
}

// readClock reads an admitted entry's clock from the store. own is its author's index.
func (s *Space) readClock(own uint32, m *meta, id ID, forked bool) (clock, error) {
	if forked {
		return s.walkClock(own, m.seq, id)
	}
	var c clock
	start := m.seq - m.seq%clockEvery
	for kv, err := range s.log.st.Scan(clockKey(s.num, own, start, ID{}), clockKey(s.num, own, m.seq+1, ID{}), false) {
		if err != nil {
			return nil, fmt.Errorf("read clock of %s: %w", id, err)
		}
		if c, err = c.apply(kv.Value); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// walkClock reads a clock along the own chain: of a forked author the index has the records of all branches.
func (s *Space) walkClock(own uint32, seq uint64, id ID) (clock, error) {
	var changes [][]byte
	for ; seq > 0; seq-- {
		v, err := s.log.st.Get(clockKey(s.num, own, seq, id))
		if err != nil && !isNotFound(err) {
			return nil, fmt.Errorf("read clock of %s: %w", id, err)
		}
		if changes = append(changes, v); seq%clockEvery == 0 || seq == 1 {
			break
		}
		e, err := s.find(id)
		if err != nil {
			return nil, err
		}
		id = e.body.Prev[0]
	}
	var c clock
	for _, v := range slices.Backward(changes) {
		var err error
		if c, err = c.apply(v); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// apply puts a record's pairs into a clock, which may be written into.
func (c clock) apply(v []byte) (clock, error) {
	at := uint64(0)
	for rest := v; len(rest) > 0; {
		gap, n := binary.Uvarint(rest)
		if n <= 0 {
			return nil, corrupt("ancestor", v)
		}
		seq, k := binary.Uvarint(rest[n:])
		if at += gap; k <= 0 || gap >= maxAuthors || at >= maxAuthors {
			return nil, corrupt("ancestor", v)
		}
		if rest = rest[n+k:]; int(at) >= len(c) {
			c = append(c, make(clock, int(at)+1-len(c))...)
		}
		c[at] = seq
	}
	return c, nil
}

// HappenedBefore says whether a lies in b's past (prev and refs), both admitted here; else ErrNotFound. An entry isn't in its own
// past. The cost is one short scan, whatever lies between them; where a's author has forked, an exact walk from b back to a's time.
func (s *Space) HappenedBefore(a, b ID) (bool, error) {
	ma, err := s.admitted(a)
	if err != nil {
		return false, err
	}
	mb, err := s.admitted(b)
	if err != nil || ma.time >= mb.time {
		return false, err
	}
	known, forked, err := s.known(&mb, b, ma.author)
	if err != nil || known < ma.seq {
		return false, err
	}
	if !forked {
		return true, nil
	}
	return s.reaches(b, a, ma.time)
}

// admitted returns the meta of an entry of this Space, or ErrNotFound.
func (s *Space) admitted(id ID) (meta, error) {
	m, err := s.log.meta(id)
	if err == nil && m.space != s.num {
		err = fmt.Errorf("entry '%s': %w", id, ErrNotFound)
	}
	return m, err
}

// known returns the highest seq of an author in an entry's past, and whether that author has forked.
func (s *Space) known(m *meta, id ID, author NodeID) (seq uint64, forked bool, err error) {
	s.mu.Lock()
	own, of := s.index[m.author], s.index[author]
	branched := s.authors[m.author].forked
	s.mu.Unlock()
	c := m.clock
	if !m.clocked {
		if c, err = s.readClock(own, m, id, branched); err != nil {
			return 0, false, err
		}
	}
	s.mu.Lock()
	forked = s.authors[author].forked
	again := !m.clocked && !branched && s.authors[m.author].forked // another branch came into what was read
	s.mu.Unlock()
	if again {
		if c, err = s.walkClock(own, m.seq, id); err != nil {
			return 0, false, err
		}
	}
	if seq = c.at(of); author == m.author {
		seq = max(seq, m.seq-1)
	}
	return seq, forked, nil
}

// reaches walks back from b, no further than to entries after a time, and says whether it meets a.
func (s *Space) reaches(b, a ID, after Time) (bool, error) {
	seen := map[ID]bool{b: true}
	for queue := []ID{b}; len(queue) > 0; {
		e, err := s.find(queue[0])
		if err != nil {
			return false, err
		}
		queue = queue[1:]
		for _, p := range e.Parents() {
			if p == a {
				return true, nil
			}
			if seen[p] {
				continue
			}
			seen[p] = true
			m, err := s.admitted(p)
			if err != nil {
				return false, err
			}
			if m.time > after {
				queue = append(queue, p)
			}
		}
	}
	return false, nil
}
