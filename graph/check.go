package graph

// This file holds the walk over everything (verify).

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

// Report is what Check found.
type Report struct {
	Entries  int
	Messages int      // visible ones
	Problems []string // empty: all is well; each names the key or entry and what is wrong with it
}

// problem adds to the report, up to a bound.
func (r *Report) problem(format string, args ...any) {
	switch {
	case len(r.Problems) < maxProblems:
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	case len(r.Problems) == maxProblems:
		r.Problems = append(r.Problems, "and more: rebuild the indexes, then check again")
	}
}

// Check walks the Space as it is now, while it goes on: hashes, signatures, rules, and each index against the entries. It takes some 300
// bytes of memory an entry at most. What is found is in the report; an error is one that stopped the walk.
func (s *Space) Check(ctx context.Context) (Report, error) {
	c, err := s.check(ctx, nil)
	if err == nil && len(c.differ) > 0 {
		c, err = s.check(ctx, c.differ) // again, to name what differs
	}
	if err != nil {
		return Report{}, fmt.Errorf("check space %s: %w", s.ID(), err)
	}
	return c.report, nil
}

// checker is one walk.
type checker struct {
	s      *Space
	d      *derivation
	views  map[byte]*view
	tables map[byte]*table
	differ map[byte]bool // keyspaces that aren't as they should be
	report Report
}

// table is what a keyspace should hold and what it does: a sum of the records' hashes, which needs no memory, and where detail is
// asked for, each record's.
type table struct {
	want, have       [SumSize]byte
	wanted, existing map[string][32]byte // nil: no detail
}

func (s *Space) check(ctx context.Context, detail map[byte]bool) (*checker, error) {
	c := &checker{s: s, views: map[byte]*view{}, tables: map[byte]*table{}, differ: map[byte]bool{}}
	defer c.stop()
	c.d = newDerivation(&Log{st: s.log.st, now: s.log.now}, s, c.report.problem)
	for _, ks := range derived {
		t := &table{}
		if detail[ks] {
			t.wanted, t.existing = map[string][32]byte{}, map[string][32]byte{}
		}
		c.tables[ks] = t
	}
	c.open()
	for _, step := range []func(context.Context) error{c.genesis, c.rows, c.arrivals, c.blocks, c.limits, c.strangers, c.futures, c.compare} {
		if err := step(ctx); err != nil {
			return c, err
		}
	}
	return c, nil
}

// open begins to read every keyspace at one moment: with the Space's mutex held, so that the views fit together. The walk itself
// holds nothing.
func (c *checker) open() {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	c.d.b.s.index = maps.Clone(s.index)
	for _, ks := range append(derived[:], ksArrival, ksStranger, ksFuture) {
		c.views[ks] = openView(s.scan(ks))
	}
}

func (c *checker) stop() {
	for _, v := range c.views {
		v.stop()
	}
}

// each hands every record of a keyspace to f.
func (c *checker) each(ctx context.Context, ks byte, f func(key, value []byte)) error {
	return c.views[ks].each(ctx, func(k, v []byte) error {
		f(k, v)
		return nil
	})
}

// hash is what one record adds to its keyspace's sum.
func hash(key, value []byte) [32]byte {
	b := binary.AppendUvarint(make([]byte, 0, 2+len(key)+len(value)), uint64(len(key)))
	return sha256.Sum256(append(append(b, key...), value...))
}

// should notes a record there should be.
func (c *checker) should(key, value []byte) {
	t := c.tables[key[0]]
	if t == nil {
		c.shared(Op{Key: key, Value: value})
		return
	}
	note(&t.want, t.wanted, key, value)
}

// is notes a record there is.
func (c *checker) is(key, value []byte) {
	t := c.tables[key[0]]
	note(&t.have, t.existing, key, value)
}

func note(sum *[SumSize]byte, records map[string][32]byte, key, value []byte) {
	h := hash(key, value)
	one := IDSum(h)
	AddSum(sum, one[:])
	if records != nil {
		records[string(key)] = h
	}
}

// shared holds a record of a keyspace all Spaces share against the store, by its key.
func (c *checker) shared(o Op) {
	have, err := c.s.log.st.Get(o.Key)
	switch {
	case err == nil && bytes.Equal(have, o.Value):
	case err != nil && !isNotFound(err):
		c.report.problem("%s: %v", recordName(o.Key), err)
	case c.moved(o):
	case err != nil:
		c.report.problem("%s: is missing", recordName(o.Key))
	default:
		c.report.problem("%s: isn't what follows from the entry", recordName(o.Key))
	}
}

// moved says whether a record of a shared keyspace differs only because the entry's visibility changed since the walk began.
func (c *checker) moved(o Op) bool {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.log.st.Get(o.Key)
	if o.Key[0] == ksInbox {
		h, e := s.log.block(readPlace(o.Value))
		return e == nil && (h.flags&visible == 0) == isNotFound(err) && (err != nil || bytes.Equal(v, o.Value))
	}
	if err != nil {
		return false
	}
	was, err := readMeta(o.Value)
	if err != nil {
		return false
	}
	now, err := readMeta(v)
	if err != nil {
		return false
	}
	h, err := s.log.block(place{s.num, Key{was.time, ID(o.Key[1:])}})
	if err != nil || now.flags != h.flags || now.shown != h.shown {
		return false
	}
	now.flags, now.shown = was.flags, was.shown
	return bytes.Equal(now.append(nil), o.Value)
}

// genesis checks the Space's first block.
func (c *checker) genesis(context.Context) error {
	key := genesisKey(c.s.num)
	v, err := c.s.log.st.Get(key)
	if err != nil && !isNotFound(err) {
		return err
	}
	if g, err := DecodeGenesis(v); err != nil || g.ID != c.s.ID() {
		c.report.problem("%s: isn't the genesis of this space", recordName(key))
	}
	return nil
}

// rows reads the authors, and checks that clocks know each by an index of its own.
func (c *checker) rows(ctx context.Context) error {
	index := c.d.b.s.index
	seen := map[uint32]bool{}
	for author, i := range index {
		if seen[i] || int(i) >= len(index) {
			c.report.problem("author %s: its index %d is another's or too great", author, i)
		}
		seen[i] = true
		c.should(append(ancestorKey(c.s.num, ancestorAuthor), author[:]...), binary.BigEndian.AppendUint32(nil, i))
	}
	return c.each(ctx, ksAuthor, func(k, v []byte) {
		c.is(k, v)
		c.d.row(k, v)
	})
}

func (c *checker) arrivals(ctx context.Context) error {
	return c.each(ctx, ksArrival, func(k, v []byte) { _ = c.d.arrival(k, v) })
}

// blocks checks and derives every entry.
func (c *checker) blocks(ctx context.Context) error {
	return decodeBlocks(ctx, c.s, c.views[ksBlock].pull, func(chunk []decoded) error {
		for _, r := range chunk {
			c.is(r.key, r.value)
			if r.err != nil {
				c.report.problem("%s: %v", recordName(r.key), r.err)
				c.should(r.key, r.value) // it is named already
				continue
			}
			if err := c.entry(r); err != nil {
				return err
			}
		}
		if len(chunk) == 0 {
			return nil
		}
		for _, o := range c.d.take(lastKey(chunk[len(chunk)-1].key).Time) {
			c.should(o.Key, o.Value)
		}
		return nil
	})
}

// entry checks one entry against its parents and derives what follows from it.
func (c *checker) entry(r decoded) error {
	missing, bad, err := c.d.b.check(r.entry)
	if err != nil && !isDamage(err) {
		return err
	}
	switch {
	case err != nil:
		c.report.problem("entry %s: a parent: %v", r.entry.id, err)
	case bad != nil:
		bad.ID = r.entry.id
		c.report.problem("%v", bad)
	case len(missing) > 0:
		c.report.problem("entry %s: its parent %s is missing", r.entry.id, missing[0])
	}
	m, err := c.d.entry(r.entry, r.head.flags)
	if err != nil {
		return err
	}
	c.d.b.s.log.recent.put(r.entry.id, *m, nil)
	c.report.Entries++
	if m.kind == kMessage && m.flags&visible != 0 {
		c.report.Messages++
	}
	return nil
}

func (c *checker) strangers(ctx context.Context) error {
	return c.each(ctx, ksStranger, func(k, v []byte) { _ = c.d.stranger(k, v) })
}

// futures checks the names of entries ahead of our clock.
func (c *checker) futures(ctx context.Context) error {
	return c.each(ctx, ksFuture, func(k, v []byte) {
		if len(k) != 45 || len(v) != 32 {
			c.report.problem("%s: no name of a future entry", recordName(k))
		}
	})
}

// limits checks what the authors' cuts come to. One whose cut has only just come is about to be reviewed.
func (c *checker) limits(context.Context) error {
	for id, row := range c.d.rows {
		got, err := c.d.b.s.settle(id, row.standing.Cuts)
		if err != nil && !isDamage(err) {
			return err
		}
		if err == nil && got != row.limit && row.limit != (limit{}) {
			c.report.problem("author %s: its cuts come to %d, not %d", id, got.seq, row.limit.seq)
		}
	}
	return nil
}

// compare reads the remaining indexes and holds each against what it should be.
func (c *checker) compare(ctx context.Context) error {
	for _, o := range c.d.finish() {
		c.should(o.Key, o.Value)
	}
	for _, ks := range derived {
		if ks != ksBlock && ks != ksAuthor { // read already
			if err := c.each(ctx, ks, c.is); err != nil {
				return err
			}
		}
		if t := c.tables[ks]; t.want != t.have {
			c.differ[ks] = true
			c.name(t)
		}
	}
	for id, a := range c.d.arrivals {
		if !a.claimed {
			c.report.problem("arrival %d: is of entry %s, which isn't here", a.pos, id)
		}
	}
	return nil
}

// name names the records that differ, in order.
func (c *checker) name(t *table) {
	var keys []string
	for k := range t.existing {
		if _, ok := t.wanted[k]; !ok {
			keys = append(keys, k)
		}
	}
	keys = slices.AppendSeq(keys, maps.Keys(t.wanted))
	slices.Sort(keys)
	for _, k := range keys {
		want, ok := t.wanted[k]
		have, exists := t.existing[k]
		switch {
		case !exists:
			c.report.problem("%s: is missing", recordName([]byte(k)))
		case !ok:
			c.report.problem("%s: belongs to no entry", recordName([]byte(k)))
		case want != have:
			c.report.problem("%s: isn't what follows from the entries", recordName([]byte(k)))
		}
	}
}

// recordName tells a person which record a key is.
func recordName(key []byte) string {
	names := map[byte]string{
		ksGenesis: "genesis", ksRun: "run", ksEntry: "entry", ksInbox: "inbox", ksStat: "stat", ksBlock: "block", ksArrival: "arrival",
		ksChain: "chain", ksAuthor: "author", ksHead: "head", ksChild: "child", ksRoot: "root", ksNamed: "named", ksProfile: "profile",
		ksKind: "kind", ksSum: "sum", ksAncestor: "ancestor", ksStranger: "stranger", ksWaits: "waits", ksQuota: "quota", ksFuture: "future", ksRebuild: "rebuild",
	}
	name := names[key[0]]
	switch {
	case key[0] == ksBlock && len(key) == 45:
		return fmt.Sprintf("block of entry %s", lastKey(key).ID)
	case key[0] == ksEntry && len(key) == 33:
		return fmt.Sprintf("record of entry %s", ID(key[1:]))
	case name == "":
		name = "unknown"
	}
	return fmt.Sprintf("%s record %x", name, key[1:])
}
