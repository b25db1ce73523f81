package graph

// This file holds the entries that wait for a parent: in memory, bounded, the oldest pushed out first.

import (
	"container/list"
	"slices"
)

// waiting is an entry whose parents aren't all here.
type waiting struct {
	entry   *Entry
	from    NodeID // the delivering host
	missing map[ID]struct{}
	all     *list.Element // its places in the three queues
	peer    *list.Element
	author  *list.Element
}

// cost is the memory an entry takes up, about.
func (w *waiting) cost() int { return len(w.entry.block) + heldOverhead + heldParent*len(w.missing) }

// pool is owned by the Space's mutex.
type pool struct {
	entries map[ID]*waiting
	wanted  map[ID]map[ID]*waiting // missing parent → who waits for it
	all     *list.List             // by arrival
	peers   map[NodeID]*list.List
	authors map[NodeID]*list.List
	bytes   int
}

// hold keeps an entry until its parents have come, and pushes out the oldest over a bound. One that is held already stays.
func (p *pool) hold(w *waiting, missing []ID) {
	if p.entries[w.entry.id] != nil {
		return
	}
	if p.entries == nil {
		*p = pool{
			entries: map[ID]*waiting{}, wanted: map[ID]map[ID]*waiting{},
			all: list.New(), peers: map[NodeID]*list.List{}, authors: map[NodeID]*list.List{},
		}
	}
	w.missing = make(map[ID]struct{}, len(missing))
	for _, id := range missing {
		w.missing[id] = struct{}{}
		if p.wanted[id] == nil {
			p.wanted[id] = map[ID]*waiting{}
		}
		p.wanted[id][w.entry.id] = w
	}
	p.entries[w.entry.id] = w
	p.bytes += w.cost()
	w.all = p.all.PushBack(w)
	w.peer = push(p.peers, w.from, w)
	w.author = push(p.authors, w.entry.body.Author, w)
	p.evict(w)
}

// push appends to one of many queues.
func push(queues map[NodeID]*list.List, key NodeID, w *waiting) *list.Element {
	if queues[key] == nil {
		queues[key] = list.New()
	}
	return queues[key].PushBack(w)
}

// evict brings the pool back under its bounds after w came.
func (p *pool) evict(w *waiting) {
	if q := p.peers[w.from]; q.Len() > MaxHeldPerPeer {
		p.remove(q.Front().Value.(*waiting))
	}
	if q := p.authors[w.entry.body.Author]; q != nil && q.Len() > MaxHeldPerAuthor {
		p.remove(q.Front().Value.(*waiting))
	}
	for p.bytes > MaxHeldBytes && p.all.Len() > 0 {
		p.remove(p.all.Front().Value.(*waiting))
	}
}

// wake takes those out that waited for nothing but this entry.
func (p *pool) wake(id ID, queue *[]*waiting) {
	var ready []*waiting
	for _, w := range p.wanted[id] {
		if len(w.missing) == 1 {
			ready = append(ready, w)
			continue
		}
		p.bytes -= w.cost()
		delete(w.missing, id)
		p.bytes += w.cost()
	}
	delete(p.wanted, id)
	slices.SortFunc(ready, func(a, b *waiting) int { return a.key().Compare(b.key()) })
	for _, w := range ready {
		p.remove(w)
		*queue = append(*queue, w)
	}
}

func (w *waiting) key() Key { return Key{w.entry.body.Time, w.entry.id} }

// drop forgets an entry, if it is held.
func (p *pool) drop(id ID) {
	if w := p.entries[id]; w != nil {
		p.remove(w)
	}
}

func (p *pool) remove(w *waiting) {
	delete(p.entries, w.entry.id)
	p.bytes -= w.cost()
	for id := range w.missing {
		delete(p.wanted[id], w.entry.id)
		if len(p.wanted[id]) == 0 {
			delete(p.wanted, id)
		}
	}
	p.all.Remove(w.all)
	pull(p.peers, w.from, w.peer)
	pull(p.authors, w.entry.body.Author, w.author)
}

// pull removes from one of many queues.
func pull(queues map[NodeID]*list.List, key NodeID, e *list.Element) {
	queues[key].Remove(e)
	if queues[key].Len() == 0 {
		delete(queues, key)
	}
}

// missing lists the parents that some of the held entries wait for and that nobody has offered: not held themselves, not waiting for
// their time or a grant, not refused.
func (s *Space) missing(held []*Entry) (ids []ID) {
	for _, e := range held {
		if w := s.pool.entries[e.id]; w != nil {
			for id := range w.missing {
				ids = append(ids, id)
			}
		}
	}
	return s.unoffered(ids)
}

// unoffered sorts the IDs and drops those that were offered already, to this Space or another one.
func (s *Space) unoffered(ids []ID) []ID {
	slices.SortFunc(ids, ID.Compare)
	ids = slices.Compact(ids)
	return slices.DeleteFunc(ids, func(id ID) bool {
		if s.pool.entries[id] != nil || s.dead.has(id) {
			return true
		}
		if _, ok := s.future.at[id]; ok {
			return true
		}
		if _, err := s.log.meta(id); err == nil {
			return true // admitted elsewhere: who named it is refused when offered again
		}
		if len(s.quotas) == 0 {
			return false
		}
		_, err := s.log.st.Get(waitsKey(s.num, id))
		return err == nil
	})
}

// Missing returns parents that held entries wait for and that nobody has offered yet, in order.
func (s *Space) Missing() []ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]ID, 0, len(s.pool.wanted))
	for id := range s.pool.wanted {
		ids = append(ids, id)
	}
	return s.unoffered(ids)
}

// HeldCounts says how many entries wait for a parent, for their time, for a grant.
func (s *Space) HeldCounts() (parent, future, stranger int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.quotas {
		stranger += int(q.count)
	}
	return len(s.pool.entries), len(s.future.at), stranger
}

// idSet remembers the last max IDs.
type idSet struct {
	max  int
	ids  map[ID]struct{}
	ring []ID
	next int
}

func (s *idSet) has(id ID) bool {
	_, ok := s.ids[id]
	return ok
}

func (s *idSet) add(id ID) {
	if s.has(id) {
		return
	}
	if s.ids == nil {
		s.ids = map[ID]struct{}{}
	}
	s.ids[id] = struct{}{}
	if len(s.ring) < s.max {
		s.ring = append(s.ring, id)
		return
	}
	delete(s.ids, s.ring[s.next])
	s.ring[s.next] = id
	s.next = (s.next + 1) % s.max
}
