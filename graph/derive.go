package graph

// This file derives what a Space's indexes must hold from its blocks, its arrival records and its authors' standing, by
// the very code that writes them at admission. Check compares; Rebuild writes.

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// derived are the Space's keyspaces that follow from the others. Blocks are among them for the sake of their heads.
var derived = [...]byte{
	ksStat, ksBlock, ksChain, ksAuthor, ksHead, ksChild, ksRoot, ksNamed, ksProfile, ksKind, ksSum, ksAncestor, ksWaits, ksQuota,
}

// arrived is what the arrival records say of one entry.
type arrived struct {
	pos, shown Pos // first record, first Shown record
	last       Event
	at         place
	kind       kindByte
	claimed    bool // its block was met
}

// derivation goes over a Space's blocks in canonical order. Its batch collects what has to be written; its Space is a ghost: the same
// number and genesis, and nothing in memory.
type derivation struct {
	b        *batch
	rows     map[NodeID]*author
	paths    map[NodeID]map[ID]bool
	arrivals map[ID]*arrived
	lossy    bool // records may be missing: make up for them
	problem  func(format string, args ...any)
}

// newDerivation starts one. l is the Log the ghost reads parents from.
func newDerivation(l *Log, s *Space, problem func(string, ...any)) *derivation {
	ghost := newSpace(l, s.num, s.genesis)
	return &derivation{
		b: ghost.begin(NodeID{}), rows: map[NodeID]*author{}, paths: map[NodeID]map[ID]bool{}, arrivals: map[ID]*arrived{}, problem: problem,
	}
}

// row takes in an author's row.
func (d *derivation) row(key, value []byte) {
	a, err := readAuthor(value)
	if err != nil || len(key) != 37 {
		d.problem("%s: no author's row", recordName(key))
		return
	}
	d.rows[NodeID(key[5:])] = a
	d.b.s.authors[NodeID(key[5:])] = a
}

// arrival takes in an arrival record, and says whether it makes sense after those before it.
func (d *derivation) arrival(key, value []byte) bool {
	a, err := readArrival(key, value)
	if err != nil || len(key) != 13 || a.at.space != d.b.s.num || a.event > Withdrawn {
		d.problem("%s: no arrival record", recordName(key))
		return false
	}
	was := d.arrivals[a.at.key.ID]
	switch {
	case was == nil && a.event != Withdrawn:
		was = &arrived{pos: a.pos, at: a.at, kind: a.kind}
		d.arrivals[a.at.key.ID] = was
	case was == nil, was.last == a.event, a.event == Added, was.last == Added && a.event == Withdrawn, was.at != a.at, was.kind != a.kind:
		d.problem("%s: arrival record of entry %s doesn't follow the one before", recordName(key), a.at.key.ID)
		return false
	}
	if was.last = a.event; a.event == Shown && was.shown == 0 {
		was.shown = a.pos
	}
	return true
}

// entry derives one entry, whose stored flags are given. It returns the meta.
func (d *derivation) entry(e *Entry, stored flags) (*meta, error) {
	b, body, fresh := d.b, &e.body, false
	m := &meta{space: b.s.num, kind: kindOf(body.Kind), time: body.Time, seq: body.Seq, author: body.Author}
	if m.kind == kMessage {
		if _, ok := e.Message(); !ok {
			m.flags |= malformed
		}
	}
	row, err := d.author(e)
	if err != nil {
		return nil, err
	}
	may := m.may(row.shows(m.seq, e.id, d.paths[m.author]))
	if got := d.arrived(e, m); got != nil {
		d.arrive(e, m, got, row, may, stored)
	} else if d.lossy {
		d.number(e, m, may)
		fresh = true
	}
	n := len(b.numbers)
	first := fresh && m.shown != 0
	if m.kind.tells() && m.flags&visible != 0 {
		b.show(e, m, first)
	}
	b.write(e, m, fresh, first)
	if b.index(e, m); !fresh {
		b.numbers = b.numbers[:n] // it has its number
	}
	b.stat.admitted++
	return m, d.fault(e)
}

// fault takes back what couldn't be derived: a clock whose parent is missing is no clock.
func (d *derivation) fault(e *Entry) error {
	err := d.b.fault
	if d.b.fault = nil; err == nil || !isDamage(err) {
		return err
	}
	d.problem("entry %s: %v", e.id, err)
	return nil
}

// isDamage says whether an error is of records that are wrong or missing, rather than of the store.
func isDamage(err error) bool {
	return isNotFound(err) || errors.Is(err, errDamaged)
}

// author moves the author's tip, and returns the standing as applied.
func (d *derivation) author(e *Entry) (*author, error) {
	id := e.body.Author
	row := d.rows[id]
	if row == nil {
		row = &author{standing: Standing{Known: true}}
		d.rows[id] = row
	}
	a := d.b.authors[id]
	if a == nil {
		a = &author{standing: row.standing, limit: row.limit, pending: row.pending}
		d.b.authors[id] = a
		path, err := d.path(row)
		if err != nil && !isDamage(err) {
			return nil, err
		}
		if err != nil {
			d.problem("author %s: %v", id, err)
		}
		d.paths[id] = path
	}
	a.tip(e.body.Seq, e.id, e.body.Time)
	return row, nil
}

// path is what a limit leaves of a forked chain.
func (d *derivation) path(row *author) (map[ID]bool, error) {
	if !row.forked || !row.standing.May || row.limit.all {
		return nil, nil
	}
	return d.b.s.path(row.limit)
}

// arrived returns what the arrival records say of an entry, or nil.
func (d *derivation) arrived(e *Entry, m *meta) *arrived {
	got := d.arrivals[e.id]
	if got == nil {
		d.problem("entry %s: has no arrival record", e.id)
		return nil
	}
	if got.at.key.Time != m.time || got.kind != m.kind {
		d.problem("entry %s: its arrival record %d is of another time or kind", e.id, got.pos)
		if d.lossy {
			return nil
		}
	}
	got.claimed = true
	return got
}

// number gives an entry an arrival record, as at admission.
func (d *derivation) number(e *Entry, m *meta, may bool) {
	event := Added
	if may && m.kind.tells() {
		event = Shown
	}
	if m.pos = d.b.record(event, e, m, true, event == Shown); event == Shown {
		m.shown = m.pos
	}
	if may {
		m.flags |= visible
	}
}

// arrive sets positions and visibility by the arrival records, and holds them against the author's standing.
func (d *derivation) arrive(e *Entry, m *meta, got *arrived, row *author, may bool, stored flags) {
	m.pos, m.shown = got.pos, got.shown
	is := may
	switch {
	case m.kind.tells():
		is = got.last == Shown
	case row.pending: // under review: as far as that has come
		is = stored&visible != 0
	}
	if is {
		m.flags |= visible
	}
	if is != may && !row.pending {
		d.b.authors[m.author].pending = d.lossy // to be reviewed
		d.problem("entry %s: shown is %v, but its author's standing says %v", e.id, is, may)
	}
}

// stranger derives what is kept of a held entry, and says whether it is one.
func (d *derivation) stranger(key, value []byte) bool {
	if len(key) != 77 || len(value) < 32 {
		d.problem("%s: no held entry", recordName(key))
		return false
	}
	e, err := Decode(slices.Clone(value[32:]))
	if err != nil {
		d.problem("%s: held entry: %v", recordName(key), err)
		return false
	}
	if !slices.Equal(key, strangerKey(d.b.s.num, e.body.Author, e.body.Seq, e.id)) || e.body.Space != d.b.s.ID() {
		d.problem("%s: held entry %s lies in the wrong place", recordName(key), e.id)
		return false
	}
	k := stranger{author: e.body.Author, seq: e.body.Seq, key: Key{e.body.Time, e.id}}
	d.b.set(waitsKey(d.b.s.num, e.id), k.value())
	d.b.charge(NodeID(value[:32]), int64(len(value)-32), 1)
	return true
}

// take hands the collected writes out, with the sums that are complete before a time.
func (d *derivation) take(before Time) []Op {
	for at, v := range d.b.sums {
		if Time((at.bucket+1)<<at.level) <= before {
			d.b.ops = append(d.b.ops, Op{Kind: Sum, Key: sumKey(d.b.s.num, at.level, at.bucket), Value: v[:]})
			delete(d.b.sums, at)
		}
	}
	ops := d.b.ops
	d.b.ops, d.b.numbers, d.b.records = nil, nil, nil
	return ops
}

// finish hands the rest out: sums, heads, authors, counts.
func (d *derivation) finish() []Op {
	ops := d.take(MaxTime + 1)
	d.b.finish()
	return append(ops, d.take(0)...)
}

// decodeBlocks decodes a sequence of block records in chunks and hands each entry, or what is wrong with it, to f. The signature is checked.
func decodeBlocks(ctx context.Context, s *Space, next func() (KV, error, bool), f func([]decoded) error) error {
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var chunk []decoded
		var blocks [][]byte
		for size := 0; len(chunk) < chunkEntries && size < chunkBytes; {
			kv, err, ok := next()
			if more = ok; !ok {
				break
			}
			if err != nil {
				return err
			}
			r := decoded{key: slices.Clone(kv.Key), value: slices.Clone(kv.Value)}
			if r.head, err = readBlock(r.value); err != nil || len(kv.Key) != 45 {
				r.err = corrupt("block", kv.Value)
			}
			chunk, blocks = append(chunk, r), append(blocks, r.head.block)
			size += len(kv.Value)
		}
		entries, errs := DecodeBatch(blocks)
		for i := range chunk {
			chunk[i].judge(s, entries[i], errs[i])
		}
		if err := f(chunk); err != nil {
			return err
		}
	}
	return nil
}

// decoded is a block record, taken apart.
type decoded struct {
	key   []byte
	value []byte
	head  blockHead
	entry *Entry
	err   error // why it is no entry of this Space at this place
}

func (r *decoded) judge(s *Space, e *Entry, err error) {
	switch {
	case r.err != nil:
	case err != nil:
		r.err = err
	case e.id != lastKey(r.key).ID || e.body.Time != lastKey(r.key).Time:
		r.err = fmt.Errorf("it is entry %s, which belongs elsewhere", e.id)
	case e.body.Space != s.ID():
		r.err = fmt.Errorf("it is of space %s", e.body.Space)
	default:
		r.entry = e
	}
}
