package graph

// This file holds what a Space keeps of each author that has an admitted entry: the chain's tip, and the standing as applied.

import (
	"encoding/binary"
	"slices"
)

// author is immutable once it is in Space.authors; a batch changes a copy.
type author struct {
	seq      uint64 // of the tip: the highest, of a fork's tips with that seq the greatest ID
	id       ID
	time     Time
	forked   bool
	standing Standing // as applied, its cuts sorted
	limit    limit    // what the cuts come to
	pending  bool     // a review isn't done: some entries may still be as standing and limit were before
	review   uint64   // counts reviews; in memory alone
}

// limit says which part of a chain cuts leave: without cuts all of it, else the own-chain past of one entry, or nothing.
type limit struct {
	all bool
	seq uint64 // 0: nothing
	id  ID
}

// writes says whether what the author says next would be visible. Whatever a cut leaves is in the past already.
func (a *author) writes() bool { return a.standing.May && a.limit.all }

// tip moves the tip to an entry that was admitted, and notices a fork.
func (a *author) tip(seq uint64, id ID, t Time) {
	if seq <= a.seq {
		a.forked = true
	}
	if seq > a.seq || seq == a.seq && id.Compare(a.id) > 0 {
		a.seq, a.id, a.time = seq, id, t
	}
}

const (
	authorForked byte = 1 << iota
	authorKnown
	authorMay
	authorAll
	authorPending
)

// value encodes: flags, tip (seq, time, id), limit (seq, id), cuts.
func (a *author) value() []byte {
	var f byte
	for i, on := range [...]bool{a.forked, a.standing.Known, a.standing.May, a.limit.all, a.pending} {
		if on {
			f |= 1 << i
		}
	}
	b := append(make([]byte, 0, 89+32*len(a.standing.Cuts)), f)
	b = append(put64(put64(b, a.seq), a.time), a.id[:]...)
	b = append(put64(b, a.limit.seq), a.limit.id[:]...)
	for _, c := range a.standing.Cuts {
		b = append(b, c[:]...)
	}
	return b
}

func readAuthor(b []byte) (*author, error) {
	if len(b) < 89 || (len(b)-89)%32 != 0 {
		return nil, corrupt("author", b)
	}
	f := b[0]
	a := &author{
		seq: binary.BigEndian.Uint64(b[1:]), time: get64[Time](b[9:]), id: ID(b[17:49]), forked: f&authorForked != 0, pending: f&authorPending != 0,
		standing: Standing{Known: f&authorKnown != 0, May: f&authorMay != 0},
		limit:    limit{all: f&authorAll != 0, seq: binary.BigEndian.Uint64(b[49:]), id: ID(b[57:89])},
	}
	for c := range slices.Chunk(b[89:], 32) {
		a.standing.Cuts = append(a.standing.Cuts, ID(c))
	}
	return a, nil
}
