package graph

// This file holds the stream of what another replica lacks by its frontier.

import (
	"container/heap"
	"context"
	"iter"
	"slices"
)

// Since yields, in canonical order, every admitted entry that a replica with the given frontier lacks by it: for each
// author those with a greater seq. Authors absent from known are sent whole. Forks and holes below a
// tip aren't found this way; range reconciliation finds them. The cost is the answer's, and a page of keys per author with news.
func (s *Space) Since(ctx context.Context, known map[NodeID]uint64) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		lanes, most, err := s.lanes(known)
		if err != nil {
			yield(nil, err)
			return
		}
		if most && len(lanes) > 0 {
			s.sweep(ctx, known, lanes[0].keys[0])(yield)
			return
		}
		s.merge(ctx, lanes)(yield)
	}
}

// merge yields the entries of the lanes.
func (s *Space) merge(ctx context.Context, lanes laneHeap) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		var err error
		for len(lanes) > 0 {
			if err = ctx.Err(); err != nil {
				break
			}
			l := lanes[0]
			var e *Entry
			if e, err = s.log.entry(place{s.num, l.keys[0]}); err != nil {
				break
			}
			if !yield(e, nil) {
				return
			}
			if err = l.step(s); err != nil {
				break
			}
			if len(l.keys) == 0 {
				heap.Pop(&lanes)
			} else {
				heap.Fix(&lanes, 0)
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// sweep yields what known lacks by going through all entries from a key on, page by page: several times faster an entry than by
// lanes, where most of them are wanted.
func (s *Space) sweep(ctx context.Context, known map[NodeID]uint64, from Key) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		next := blockKey(s.num, from)
		for next != nil {
			var page []*Entry
			var err error
			if page, next, err = s.sweepPage(next); err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for _, e := range page {
				if e.body.Seq > known[e.body.Author] && !yield(e, nil) {
					return
				}
			}
		}
	}
}

// sweepPage reads a page of entries and where the next one begins; nil at the end. No view of the store is kept for a slow reader.
func (s *Space) sweepPage(from []byte) (page []*Entry, next []byte, err error) {
	size := 0
	for kv, err := range s.log.st.Scan(from, spaceKey(ksBlock, s.num+1, 0), false) {
		if err != nil {
			return nil, nil, err
		}
		if len(page) == sweepEntries || size >= sweepBytes {
			return page, slices.Clone(kv.Key), nil
		}
		h, err := readBlock(kv.Value)
		if err != nil {
			return nil, nil, err
		}
		e, err := decodeStored(lastKey(kv.Key).ID, slices.Clone(h.block))
		if err != nil {
			return nil, nil, err
		}
		page, size = append(page, e), size+len(h.block)
	}
	return page, nil, nil
}

// lane is one author's chain behind a seq: the next keys, in canonical order.
type lane struct {
	keys []Key
	from []byte // where to read on; nil at the end
	end  []byte
	all  bool // a forked chain isn't in order of time: its keys are read and sorted as a whole
}

// lanes makes a lane for every author with news, as a heap, and says whether they are most of the Space.
func (s *Space) lanes(known map[NodeID]uint64) (lanes laneHeap, most bool, err error) {
	s.mu.Lock()
	news := uint64(0)
	for id, a := range s.authors {
		if seq := known[id]; seq < a.seq {
			news += a.seq - seq
			prefix := append(spaceKey(ksChain, s.num, 40), id[:]...)
			lanes = append(lanes, &lane{from: put64(slices.Clone(prefix), seq+1), end: prefixEnd(prefix), all: a.forked})
		}
	}
	most = news > s.stat.admitted/2
	s.mu.Unlock()
	for _, l := range lanes {
		if err := l.fill(s); err != nil {
			return nil, false, err
		}
	}
	lanes = slices.DeleteFunc(lanes, func(l *lane) bool { return len(l.keys) == 0 })
	heap.Init(&lanes)
	return lanes, most, nil
}

// step drops the first key and reads on where it was the last.
func (l *lane) step(s *Space) error {
	if l.keys = l.keys[1:]; len(l.keys) > 0 {
		return nil
	}
	return l.fill(s)
}

// fill reads the next keys.
func (l *lane) fill(s *Space) error {
	l.keys = nil
	if l.from == nil {
		return nil
	}
	var last []byte
	for kv, err := range s.log.st.Scan(l.from, l.end, false) {
		if err == nil && (len(kv.Key) != 77 || len(kv.Value) != 8) {
			err = corrupt("chain", kv.Value)
		}
		if err != nil {
			return err
		}
		l.keys = append(l.keys, Key{get64[Time](kv.Value), ID(kv.Key[45:])})
		if len(l.keys) == lanePage && !l.all {
			last = append(slices.Clone(kv.Key), 0)
			break
		}
	}
	if l.from = last; l.all {
		slices.SortFunc(l.keys, Key.Compare)
	}
	return nil
}

// laneHeap is ordered by the lanes' next keys.
type laneHeap []*lane

// Len implements heap.Interface.
func (h laneHeap) Len() int { return len(h) }

// Less implements heap.Interface.
func (h laneHeap) Less(i, j int) bool { return h[i].keys[0].Compare(h[j].keys[0]) < 0 }

// Swap implements heap.Interface.
func (h laneHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *laneHeap) Push(x any) { *h = append(*h, x.(*lane)) }

// Pop implements heap.Interface.
func (h *laneHeap) Pop() any {
	old := *h
	l := old[len(old)-1]
	*h = old[:len(old)-1]
	return l
}
