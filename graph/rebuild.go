package graph

// This file holds the rebuild of a Space's indexes from its blocks and arrival records.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Rebuild writes all indexes anew from the entries; arrival numbers are kept where their records are whole. What can't be read any more
// is dropped with what lies behind it, and is taken in again when a peer sends it. The Space stands still meanwhile.
//
// A crash in between is made good when the Log is opened: the rebuild is done again.
func (s *Space) Rebuild(ctx context.Context) error {
	orphans, err := s.rebuildLocked(ctx)
	if err == nil {
		err = s.reviewAll(ctx, s.outdated())
	}
	if err == nil && len(orphans) > 0 {
		_, err = s.Add(ctx, orphans, AddOptions{})
	}
	if err != nil {
		return fmt.Errorf("rebuild space %s: %w", s.ID(), err)
	}
	return nil
}

// open reads the Space's memory. Where an index is damaged, or a rebuild was under way, all are rebuilt.
func (s *Space) open(ctx context.Context) error {
	err := s.load()
	if err != nil && !errors.Is(err, errDamaged) {
		return err
	}
	_, half := s.log.st.Get(rebuildKey(s.num))
	if half != nil && !isNotFound(half) {
		return half
	}
	if err == nil && half != nil {
		return nil
	}
	return s.Rebuild(ctx)
}

// outdated lists the authors whose standing isn't as applied.
func (s *Space) outdated() []NodeID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, none := s.rights.(nobody); none {
		return nil
	}
	return s.changed()
}

// rebuildLocked does it under the mutex and returns the entries whose parents are lost.
func (s *Space) rebuildLocked(ctx context.Context) (orphans []*Entry, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &rebuild{s: s, have: map[ID]bool{}}
	r.d = newDerivation(s.log, s, func(string, ...any) {})
	r.d.lossy = true
	s.log.recent.forget()
	for _, step := range []func(context.Context) error{r.begin, r.rows, r.arrivals, r.wipe, r.blocks, r.strangers, r.end} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	s.log.recent.forget()
	return r.orphans, s.reload()
}

// rebuild is one under way.
type rebuild struct {
	s       *Space
	d       *derivation
	have    map[ID]bool // entries written
	last    Pos         // the last number given before
	orphans []*Entry
	size    int // of their blocks
	ops     []Op
}

// begin leaves a mark that it isn't done.
func (r *rebuild) begin(context.Context) error {
	r.s.log.commit.Lock()
	r.last = r.s.log.next
	r.s.log.commit.Unlock()
	return r.write(Op{Kind: Set, Key: rebuildKey(r.s.num)})
}

// write applies ops and waits for the disk.
func (r *rebuild) write(ops ...Op) error {
	wait, err := r.s.log.st.Apply(ops)
	if err == nil {
		err = wait()
	}
	return err
}

// put collects an op and writes when there are many.
func (r *rebuild) put(o Op) error {
	if r.ops = append(r.ops, o); len(r.ops) < chunkEntries {
		return nil
	}
	ops := r.ops
	r.ops = nil
	return r.write(ops...)
}

// rows reads the authors' standing as far as it can be read. An unreadable one is made anew from the rights.
func (r *rebuild) rows(context.Context) error {
	for kv, err := range r.s.scan(ksAuthor) {
		if err != nil {
			return err
		}
		r.d.row(kv.Key, kv.Value)
	}
	return nil
}

// arrivals reads the arrival records and removes those that can't be used.
func (r *rebuild) arrivals(ctx context.Context) error {
	for kv, err := range r.s.scan(ksArrival) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && !r.d.arrival(kv.Key, kv.Value) {
			err = r.put(Op{Kind: Del, Key: slices.Clone(kv.Key)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wipe removes what is derived: whole keyspaces, and the Space's records in those that all share.
func (r *rebuild) wipe(ctx context.Context) error {
	for _, ks := range derived {
		if ks == ksBlock || ks == ksAuthor { // written over
			continue
		}
		if err := r.put(Op{Kind: DelRange, Key: spaceKey(ks, r.s.num, 0), Value: spaceKey(ks, r.s.num+1, 0)}); err != nil {
			return err
		}
	}
	for _, ks := range []byte{ksEntry, ksInbox} {
		for kv, err := range r.s.log.st.Scan([]byte{ks}, []byte{ks + 1}, false) {
			if err == nil {
				err = ctx.Err()
			}
			if err == nil && r.mine(ks, kv) {
				err = r.put(Op{Kind: Del, Key: slices.Clone(kv.Key)})
			}
			if err != nil {
				return err
			}
		}
	}
	ops := r.ops
	r.ops = nil
	return r.write(ops...)
}

// mine says whether a record of a shared keyspace is this Space's, or nobody's that can be read.
func (r *rebuild) mine(ks byte, kv KV) bool {
	if ks == ksInbox {
		return len(kv.Key) != 41 || len(kv.Value) != placeSize || readPlace(kv.Value).space == r.s.num
	}
	m, err := readMeta(kv.Value)
	return err != nil || len(kv.Key) != 33 || m.space == r.s.num
}

// blocks derives and writes, a chunk at a time.
func (r *rebuild) blocks(ctx context.Context) error {
	view := openView(r.s.scan(ksBlock))
	defer view.stop()
	return decodeBlocks(ctx, r.s, view.pull, func(chunk []decoded) error {
		for _, d := range chunk {
			if d.err != nil || !r.whole(d.entry) {
				r.drop(d)
				continue
			}
			m, err := r.d.entry(d.entry, d.head.flags)
			if err != nil {
				return err
			}
			r.have[d.entry.id] = true
			r.s.log.recent.put(d.entry.id, *m, nil)
		}
		if len(chunk) == 0 {
			return nil
		}
		return r.flush(lastKey(chunk[len(chunk)-1].key).Time)
	})
}

// whole says whether all parents are there and fit.
func (r *rebuild) whole(e *Entry) bool {
	for _, p := range e.Parents() {
		if !r.have[p] {
			return false
		}
	}
	missing, bad, err := r.d.b.check(e)
	return err == nil && bad == nil && len(missing) == 0
}

// drop removes a block. A sound one without its parents is offered again at the end.
func (r *rebuild) drop(d decoded) {
	r.d.b.del(d.key)
	if d.err == nil && r.size+len(d.entry.block) <= MaxHeldBytes {
		r.orphans = append(r.orphans, d.entry)
		r.size += len(d.entry.block)
	}
}

// flush writes what was derived; entries without an arrival record get their number.
func (r *rebuild) flush(before Time) error {
	b := r.d.b
	w := &batch{s: r.s, numbers: b.numbers, records: b.records}
	w.ops = r.d.take(before)
	for author, i := range b.indexes {
		b.s.index[author] = i
	}
	b.indexes = nil
	done, last, err := r.s.log.write(w)
	if err != nil {
		return err
	}
	for i, rec := range w.records {
		m := *rec.meta
		if m.pos = last - Pos(len(w.records)) + Pos(i+1); m.shown != 0 {
			m.shown = m.pos
		}
		r.s.log.recent.put(rec.entry.id, m, nil)
	}
	return done()
}

// strangers derives what is kept of held entries; those that can't be read go.
func (r *rebuild) strangers(ctx context.Context) error {
	for kv, err := range r.s.scan(ksStranger) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && !r.d.stranger(kv.Key, kv.Value) {
			err = r.put(Op{Kind: Del, Key: slices.Clone(kv.Key)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// end writes heads, authors, sums and counts, drops what belongs to nothing, and takes the mark away.
func (r *rebuild) end(ctx context.Context) error {
	for kv, err := range r.s.scan(ksAuthor) {
		if err != nil {
			return err
		}
		if len(kv.Key) != 37 || r.d.b.authors[NodeID(kv.Key[5:])] == nil {
			r.d.b.del(slices.Clone(kv.Key))
		}
	}
	r.ops = append(r.ops, r.d.finish()...)
	if err := r.runs(ctx); err != nil {
		return err
	}
	return r.write(append(r.ops, Op{Kind: Del, Key: rebuildKey(r.s.num)})...)
}

// runs drops the arrivals of what isn't here, and makes the Space's runs anew from the others.
func (r *rebuild) runs(ctx context.Context) error {
	l := r.s.log
	l.commit.Lock()
	defer l.commit.Unlock()
	for kv, err := range l.st.Scan([]byte{ksRun}, []byte{ksRun + 1}, false) {
		if err == nil && len(kv.Value) == 12 && num(binary.BigEndian.Uint32(kv.Value)) == r.s.num {
			err = r.put(Op{Kind: Del, Key: slices.Clone(kv.Key)})
		}
		if err != nil {
			return err
		}
	}
	var first, last Pos
	for kv, err := range r.s.scan(ksArrival) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		a, err := readArrival(kv.Key, kv.Value)
		switch was := r.d.arrivals[a.at.key.ID]; {
		case err != nil || a.pos <= r.last && (was == nil || !was.claimed):
			err = r.put(Op{Kind: Del, Key: slices.Clone(kv.Key)})
		case a.pos == last+1 && last > 0:
			last = a.pos
		default:
			err = r.run(first, last)
			first, last = a.pos, a.pos
		}
		if err != nil {
			return err
		}
	}
	if err := r.run(first, last); err != nil || last == l.next || l.next == 0 {
		return err
	}
	return r.keepLast()
}

// run puts one run, if it isn't empty.
func (r *rebuild) run(first, last Pos) error {
	if last == 0 {
		return nil
	}
	return r.put(Op{Kind: Set, Key: runKey(last), Value: put64(place{space: r.s.num}.append(nil)[:4], first)})
}

// keepLast leaves an empty run where the last number was given to a record that is gone, so that it isn't given again.
func (r *rebuild) keepLast() error {
	l := r.s.log
	v, err := l.st.Get(runKey(l.next))
	if err == nil && len(v) == 12 && num(binary.BigEndian.Uint32(v)) != r.s.num {
		return nil // another Space's
	}
	if err != nil && !isNotFound(err) {
		return err
	}
	return r.put(Op{Kind: Set, Key: runKey(l.next), Value: put64(place{space: r.s.num}.append(nil)[:4], l.next+1)})
}

// reload reads the Space's memory anew. The caller holds the mutex.
func (s *Space) reload() error {
	fresh := newSpace(s.log, s.num, s.genesis)
	s.authors, s.heads, s.stat, s.digest = fresh.authors, fresh.heads, fresh.stat, nil
	s.quotas, s.future, s.index = fresh.quotas, fresh.future, fresh.index
	return s.load()
}
