package graph

// This file holds the Space and its door for what has been said: Add. Send is the other one.

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
)

// Space is one message graph with its indexes. Safe for concurrent use; one mutex, held for one store transaction.
type Space struct {
	log     *Log
	num     num
	genesis Genesis
	mark    mark // of this Space's records
	line    line // sends

	mu      sync.Mutex // owns what follows; taken before Log.commit
	rights  Rights     // as applied
	authors map[NodeID]*author
	heads   headSet
	stat    stat
	digest  *Digest // nil: to be made anew
	pool    pool
	index   map[NodeID]uint32 // of authors in clocks
	quotas  map[NodeID]quota  // strangers held, by delivering host
	future  futures
	refused map[Rule]uint64
	dead    idSet // refused for good lately: not asked for again
}

// stat counts.
type stat struct{ admitted, messages uint64 }

func newSpace(l *Log, n num, g Genesis) *Space {
	return &Space{
		log: l, num: n, genesis: g, rights: nobody{},
		authors: map[NodeID]*author{}, quotas: map[NodeID]quota{}, refused: map[Rule]uint64{},
		index:  map[NodeID]uint32{},
		future: futures{hosts: map[NodeID]int{}, at: map[ID]futureEntry{}}, dead: idSet{max: maxDead},
	}
}

// ID and Genesis say which Space it is; Name is the genesis' name.
func (s *Space) ID() ID { return s.genesis.ID }

// Genesis returns the Space's first block.
func (s *Space) Genesis() Genesis { return s.genesis }

// load reads what the Space keeps in memory.
func (s *Space) load() error {
	b, err := s.log.st.Get(statKey(s.num))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if err == nil {
		if len(b) != 16 {
			return corrupt("stat", b)
		}
		s.stat = stat{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}
	}
	for kv, err := range s.scan(ksAuthor) {
		if err != nil {
			return err
		}
		a, err := readAuthor(kv.Value)
		if err != nil {
			return err
		}
		s.authors[NodeID(kv.Key[5:])] = a
	}
	for kv, err := range s.scan(ksHead) {
		if err != nil {
			return err
		}
		if len(kv.Value) != 40 {
			return corrupt("head", kv.Value)
		}
		s.heads.add(ID(kv.Key[5:]), head{get64[Time](kv.Value), NodeID(kv.Value[8:])})
	}
	if err := s.loadHeld(); err != nil {
		return err
	}
	if err := s.loadClocks(); err != nil {
		return err
	}
	for kv, err := range s.log.st.Scan(spaceKey(ksArrival, s.num, 0), spaceKey(ksArrival, s.num+1, 0), true) {
		if err != nil {
			return err
		}
		s.mark.rise(get64[Pos](kv.Key[5:]))
		break
	}
	return nil
}

// scan yields a whole keyspace of the Space.
func (s *Space) scan(ks byte) iter.Seq2[KV, error] {
	return s.log.st.Scan(spaceKey(ks, s.num, 0), spaceKey(ks, s.num+1, 0), false)
}

// AddResult is what became of a batch. Every entry of the batch is in exactly one of the lists, which are in canonical order.
type AddResult struct {
	New     []Stored        // admitted now, with those that waited for them; durable when Add returns
	Known   int             // were here already
	Held    []ID            // wait: for a parent, for their time, or for a grant of their author
	Missing []ID            // parents nobody has offered yet: ask for these
	Refused []*InvalidError // broke a rule for good
}

// AddOptions say where a batch came from and what is written with it.
type AddOptions struct {
	From NodeID // the delivering host, for quotas; zero: local (import)
	Also []Op   // from Records.Ops: written in the same transaction
}

// Add takes verified entries in: the only way in. It checks seq, prev, parents, time and the author's standing,
// and writes entries, indexes, heads and arrival records in one transaction. Order within the batch doesn't
// matter; canonical order is fastest. A refused or held entry never fails the batch; an error means nothing was written. What is
// held is bounded: an entry over the bound, or pushed out by a later one, has to be offered again (sync does).
func (s *Space) Add(ctx context.Context, entries []*Entry, o AddOptions) (AddResult, error) {
	if err := ctx.Err(); err != nil {
		return AddResult{}, err
	}
	s.mu.Lock()
	b := s.begin(o.From)
	b.also = o.Also
	done, err := b.run(canonical(entries))
	s.mu.Unlock()
	if err = s.finish(ctx, b, done, err); err != nil {
		return AddResult{}, fmt.Errorf("add to space %s: %w", s.ID(), err)
	}
	return b.result, nil
}

// run offers the entries and commits. The caller holds the mutex, and gives what is returned to finish after giving it back.
func (b *batch) run(entries []*Entry) (done func() error, err error) {
	for _, e := range entries {
		if err := b.offer(e, b.from); err != nil {
			return nothing, err
		}
	}
	return b.commit()
}

// finish waits for the disk, and looks anew at authors one of whose cuts has come with the batch.
func (s *Space) finish(ctx context.Context, b *batch, done func() error, err error) error {
	if err == nil {
		err = done()
	}
	if err == nil {
		err = s.reviewAll(context.WithoutCancel(ctx), b.cut) // it is written: what follows from it is too
	}
	return err
}

// canonical returns the entries sorted by time and ID, so that parents come before their children.
func canonical(entries []*Entry) []*Entry {
	order := func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(a.body.Time, b.body.Time), a.id.Compare(b.id))
	}
	if slices.IsSortedFunc(entries, order) {
		return entries
	}
	entries = slices.Clone(entries)
	slices.SortFunc(entries, order)
	return entries
}

// Refused counts the entries refused for good since the Log was opened, by rule.
func (s *Space) Refused() map[Rule]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[Rule]uint64, len(s.refused))
	for r, n := range s.refused {
		out[r] = n
	}
	return out
}
