package graph

// This file holds what a batch writes: records, indexes, sums, and the transaction itself.

import (
	"encoding/binary"
	"fmt"
)

// set adds a write.
func (b *batch) set(key, value []byte) { b.ops = append(b.ops, Op{Kind: Set, Key: key, Value: value}) }

// del adds a removal.
func (b *batch) del(key []byte) { b.ops = append(b.ops, Op{Kind: Del, Key: key}) }

// number notes that eight bytes at an offset are an arrival number of this batch.
func (b *batch) number(v []byte, at int) { b.numbers = append(b.numbers, v[at:at+8:at+8]) }

// numbered returns a key that ends with an arrival number of this batch.
func (b *batch) numbered(key []byte) []byte {
	b.number(key, len(key)-8)
	return key
}

// record adds an arrival record and returns its number, which counts from 1 until commit.
func (b *batch) record(event Event, e *Entry, m *meta, fresh, first bool) Pos {
	p := Pos(len(b.records) + 1)
	b.records = append(b.records, record{event, e, m, fresh, first})
	a := arrival{event: event, kind: m.kind, at: place{b.s.num, Key{m.time, e.id}}}
	b.set(b.numbered(arrivalKey(b.s.num, p)), a.value())
	return p
}

// write adds the entry itself: meta and block. Of a fresh one the numbers are this batch's, of another one where it says so.
func (b *batch) write(e *Entry, m *meta, pos, shown bool) {
	v := m.append(make([]byte, 0, metaSize))
	block := append(m.appendHead(make([]byte, 0, headSize+len(e.block))), e.block...)
	if pos {
		b.number(v, metaPos)
		b.number(block, headPos)
	}
	if shown {
		b.number(v, metaShown)
		b.number(block, headShown)
	}
	b.set(entryKey(e.id), v)
	b.set(blockKey(b.s.num, Key{m.time, e.id}), block)
}

// index adds what doesn't depend on visibility: chain, heads, children, kind, sums, ancestors.
func (b *batch) index(e *Entry, m *meta) {
	k := Key{m.time, e.id}
	b.set(chainKey(b.s.num, m.author, m.seq, e.id), put64(make([]byte, 0, 8), m.time))
	for _, p := range e.body.Prev {
		b.behead(p)
	}
	for _, p := range e.body.Refs.Messages {
		b.behead(p)
		if m.kind == kMessage {
			b.set(b.numbered(childKey(b.s.num, p, m.pos)), place{b.s.num, k}.append(make([]byte, 0, placeSize)))
		}
	}
	b.heads[e.id] = &head{m.time, m.author}
	if m.kind != kMessage {
		b.set(kindKey(b.s.num, e.body.Kind, k), nil)
	}
	b.sum(k)
	b.ancestors(e, m)
}

// behead notes that an entry is named by another.
func (b *batch) behead(id ID) {
	if b.s.heads.has(id) {
		b.heads[id] = nil
	} else {
		delete(b.heads, id)
	}
}

// show adds the indexes of what is visible. m.shown is the place in pages, a number of this batch where first says so.
func (b *batch) show(e *Entry, m *meta, first bool) {
	if m.kind == kProfile {
		b.set(profileKey(b.s.num, m.author, Key{m.time, e.id}), nil)
		return
	}
	b.stat.messages++
	at := place{b.s.num, Key{m.time, e.id}}.append(make([]byte, 0, placeSize))
	for _, key := range b.visibleKeys(e, m.shown) {
		if first {
			b.numbered(key)
		}
		b.set(key, at)
	}
}

// hide removes what show added.
func (b *batch) hide(e *Entry, m *meta) {
	if m.kind == kProfile {
		b.del(profileKey(b.s.num, m.author, Key{m.time, e.id}))
		return
	}
	b.stat.messages--
	for _, key := range b.visibleKeys(e, m.shown) {
		b.del(key)
	}
}

// visibleKeys are a visible message's keys in root, named and inbox.
func (b *batch) visibleKeys(e *Entry, shown Pos) (keys [][]byte) {
	if len(e.body.Refs.Messages)+len(e.body.Refs.Nodes) == 0 {
		return [][]byte{rootKey(b.s.num, shown)}
	}
	for _, n := range e.body.Refs.Nodes {
		keys = append(keys, namedKey(b.s.num, n, shown), inboxKey(n, shown))
	}
	return keys
}

// sumAt names a running sum.
type sumAt struct {
	level  byte
	bucket uint64
}

// sum adds an entry to the running sums of its time.
func (b *batch) sum(k Key) {
	add := IDSum(k.ID)
	for _, level := range sumLevels {
		at := sumAt{level, uint64(k.Time) >> level}
		v := b.sums[at]
		if v == nil {
			v = new([SumSize]byte)
			b.sums[at] = v
		}
		AddSum(v, add[:])
	}
}

// commit writes the batch in one transaction and brings the Space's memory up to it. The caller gives the Space's mutex back
// and then calls done, which returns when all is synced and readers may see it.
func (b *batch) commit() (done func() error, err error) {
	if b.fault != nil {
		return nothing, b.fault
	}
	b.finish()
	done = nothing
	var last Pos
	if len(b.ops) > 0 {
		if done, last, err = b.s.log.write(b); err != nil {
			return nothing, err
		}
	}
	b.merge(last)
	return done, nil
}

// nothing is the done of what needs no wait.
func nothing() error { return nil }

// finish adds what is written once a batch.
func (b *batch) finish() {
	for id, h := range b.heads {
		if h == nil {
			b.del(headKey(b.s.num, id))
		} else {
			b.set(headKey(b.s.num, id), append(put64(make([]byte, 0, 40), h.time), h.author[:]...))
		}
	}
	for id, a := range b.authors {
		b.set(authorKey(b.s.num, id), a.value())
	}
	for at, v := range b.sums {
		b.ops = append(b.ops, Op{Kind: Sum, Key: sumKey(b.s.num, at.level, at.bucket), Value: v[:]})
	}
	if b.stat != b.s.stat {
		b.set(statKey(b.s.num), put64(put64(make([]byte, 0, 16), b.stat.admitted), b.stat.messages))
	}
	b.finishQuotas()
	b.ops = append(b.ops, b.also...)
}

// write gives the batch its numbers and applies it.
func (l *Log) write(b *batch) (done func() error, last Pos, err error) {
	l.commit.Lock()
	defer l.commit.Unlock()
	if l.closed.Load() {
		return nil, 0, ErrClosed
	}
	if l.broken != nil {
		return nil, 0, fmt.Errorf("the store stopped: %w; restart the node: %w", l.broken, ErrUnavailable)
	}
	base := l.next
	for _, v := range b.numbers {
		binary.BigEndian.PutUint64(v, binary.BigEndian.Uint64(v)+uint64(base))
	}
	last = base + Pos(len(b.records))
	if last > base {
		run := place{space: b.s.num}.append(nil)[:4]
		b.set(runKey(last), put64(run, base+1))
	}
	wait, err := l.st.Apply(b.ops)
	if err != nil {
		return nil, 0, err
	}
	l.next = last
	return func() error { return l.synced(b.s, wait, last, last > base) }, last, nil
}

// synced waits for the disk and lets readers see what is written.
func (l *Log) synced(s *Space, wait func() error, last Pos, records bool) error {
	if err := wait(); err != nil {
		l.commit.Lock()
		defer l.commit.Unlock()
		l.broken = err
		return err
	}
	if records {
		s.mark.rise(last)
		l.mark.rise(last)
	}
	return nil
}

// merge brings the Space's memory up to what was written. last is the number of the batch's last record.
func (b *batch) merge(last Pos) {
	s, base := b.s, last-Pos(len(b.records))
	for i, r := range b.records {
		p := base + Pos(i+1)
		b.result.New = append(b.result.New, Stored{Pos: p, Event: r.event, Entry: r.entry})
		if r.fresh {
			r.meta.pos = p
		}
		if r.first {
			r.meta.shown = p
		}
		s.log.recent.put(r.entry.id, *r.meta, r.entry)
	}
	for _, r := range b.remember {
		s.log.recent.put(r.entry.id, *r.meta, r.entry)
	}
	for id, a := range b.authors {
		s.authors[id] = a
	}
	for id, h := range b.heads {
		if h == nil {
			s.heads.remove(id)
		} else {
			s.heads.add(id, *h)
		}
	}
	for host, q := range b.quotas {
		if s.quotas[host] = q; q.count == 0 {
			delete(s.quotas, host)
		}
	}
	if b.stat.admitted != s.stat.admitted {
		s.digest = nil
	}
	s.stat = b.stat
	for _, c := range b.future {
		s.future.apply(c)
	}
	for author, i := range b.indexes {
		s.index[author] = i
	}
	for _, r := range b.refused {
		s.refused[r.rule]++
		s.dead.add(r.id)
	}
	b.result.Missing = s.missing(b.held)
}
