package graph

// This file holds the walk over what all Spaces share: arrival numbers, entries by ID, inboxes, the table of Spaces.

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
)

// Check walks what the Spaces share, and looks for records that belong to none. Space.Check has the rest; Entries and Messages of the
// report are 0.
func (l *Log) Check(ctx context.Context) (Report, error) {
	c := logChecker{l: l, runs: map[num]uint64{}}
	l.commit.Lock()
	c.last = l.next
	views := map[byte]*view{}
	for _, ks := range []byte{ksGenesis, ksRun, ksEntry, ksInbox} {
		views[ks] = openView(l.st.Scan([]byte{ks}, []byte{ks + 1}, false))
		defer views[ks].stop()
	}
	l.commit.Unlock()
	for _, step := range []struct {
		ks byte
		f  func(key, value []byte) error
	}{{ksGenesis, c.genesis}, {ksRun, c.run}, {ksEntry, c.entry}, {ksInbox, c.inbox}} {
		if err := views[step.ks].each(ctx, step.f); err != nil {
			return Report{}, fmt.Errorf("check log: %w", err)
		}
	}
	for _, step := range []func(context.Context) error{c.counts, c.strays} {
		if err := step(ctx); err != nil {
			return Report{}, fmt.Errorf("check log: %w", err)
		}
	}
	return c.report, nil
}

// logChecker is one walk.
type logChecker struct {
	l       *Log
	last    Pos // the last number given when the walk began
	reached Pos // the end of the runs so far
	runs    map[num]uint64
	report  Report
}

// known says whether a number is a Space's.
func (c *logChecker) known(n num) bool {
	c.l.mu.RLock()
	defer c.l.mu.RUnlock()
	return c.l.byNum[n] != nil
}

func (c *logChecker) genesis(key, _ []byte) error {
	if len(key) != 5 || !c.known(num(binary.BigEndian.Uint32(key[1:]))) {
		c.report.problem("%s: is no space's", recordName(key))
	}
	return nil
}

// run checks that runs don't overlap, and that a run's arrivals are all there. An empty one keeps the place of the last number.
func (c *logChecker) run(key, value []byte) error {
	if len(key) != 9 || len(value) != 12 {
		c.report.problem("%s: no run", recordName(key))
		return nil
	}
	n, first, last := num(binary.BigEndian.Uint32(value)), get64[Pos](value[4:]), get64[Pos](key[1:])
	if first <= c.reached || last == 0 || last+1 < first || last > c.last || !c.known(n) {
		c.report.problem("%s: space %d, %d … %d, after %d", recordName(key), n, first, last, c.reached)
		return nil
	}
	c.reached = last
	c.runs[n] += uint64(last + 1 - first)
	want := first
	for kv, err := range c.l.st.Scan(arrivalKey(n, first), arrivalKey(n, last+1), false) {
		if err != nil {
			return err
		}
		if len(kv.Key) == 13 && get64[Pos](kv.Key[5:]) == want {
			want++
		}
	}
	if want != last+1 {
		c.report.problem("%s: arrival %d of space %d is missing", recordName(key), want, n)
	}
	return nil
}

// counts checks that there are no arrivals outside the runs.
func (c *logChecker) counts(ctx context.Context) error {
	for _, s := range c.l.list() {
		n := uint64(0)
		for _, err := range c.l.st.Scan(arrivalKey(s.num, 0), arrivalKey(s.num, c.last+1), false) {
			if n++; err == nil && n%1024 == 0 {
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
		}
		if n != c.runs[s.num] {
			c.report.problem("space %s: %d arrival records, but its runs have %d", s.ID(), n, c.runs[s.num])
		}
	}
	return nil
}

// entry checks that the block is where the record says.
func (c *logChecker) entry(key, value []byte) error {
	m, err := readMeta(value)
	if err != nil || len(key) != 33 || !c.known(m.space) {
		c.report.problem("%s: belongs to no space", recordName(key))
		return nil
	}
	_, err = c.l.st.Get(blockKey(m.space, Key{m.time, ID(key[1:])}))
	if isNotFound(err) {
		c.report.problem("%s: its block is missing", recordName(key))
		return nil
	}
	return err
}

// inbox checks that the message names the node, at that number.
func (c *logChecker) inbox(key, value []byte) error {
	if len(key) != 41 || len(value) != placeSize {
		c.report.problem("%s: names no message", recordName(key))
		return nil
	}
	at := readPlace(value)
	h, err := c.l.block(at)
	if err != nil && !isNotFound(err) {
		return err
	}
	var e *Entry
	if err == nil {
		e, err = decodeStored(at.key.ID, h.block)
	}
	if err != nil || h.shown != get64[Pos](key[33:]) || !slices.Contains(e.body.Refs.Nodes, NodeID(key[1:33])) {
		c.report.problem("%s: isn't what follows from message %s", recordName(key), at.key.ID)
		return nil
	}
	if h.flags&visible == 0 && c.stays(at.space, key) {
		c.report.problem("%s: message %s isn't shown", recordName(key), at.key.ID)
	}
	return nil
}

// stays says whether a record of a message that isn't shown is there still, now that nothing is under way in the Space.
func (c *logChecker) stays(n num, key []byte) bool {
	c.l.mu.RLock()
	s := c.l.byNum[n]
	c.l.mu.RUnlock()
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := c.l.st.Get(key)
	if err != nil {
		return false
	}
	h, err := c.l.block(readPlace(v))
	return err != nil || h.flags&visible == 0
}

// strays looks for keyspaces nobody knows and records of Spaces that don't exist.
func (c *logChecker) strays(ctx context.Context) error {
	gaps := [][2][]byte{{nil, {ksGenesis}}, {{ksInbox + 1}, {ksStat}}, {{ksRebuild + 1}, nil}}
	for _, g := range gaps {
		for kv, err := range c.l.st.Scan(g[0], g[1], false) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
			c.report.problem("%s", recordName(kv.Key))
		}
	}
	for ks := ksStat; ks <= ksRebuild; ks++ {
		if err := c.spaces(ks); err != nil {
			return err
		}
	}
	return nil
}

// spaces goes from Space to Space through a keyspace.
func (c *logChecker) spaces(ks byte) error {
	for from := []byte{ks}; ; {
		var key []byte
		for kv, err := range c.l.st.Scan(from, []byte{ks + 1}, false) {
			if err != nil {
				return err
			}
			key = slices.Clone(kv.Key)
			break
		}
		if key == nil {
			return nil
		}
		if len(key) < 5 {
			c.report.problem("%s: belongs to no space", recordName(key))
			from = append(key, 0)
			continue
		}
		n := num(binary.BigEndian.Uint32(key[1:]))
		if !c.known(n) {
			c.report.problem("%s: belongs to no space", recordName(key))
		}
		if from = prefixEnd(key[:5]); from[0] != ks {
			return nil
		}
	}
}
