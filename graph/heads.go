package graph

// This file holds the heads: the admitted entries nobody's prev or refs name.

import (
	"crypto/sha256"
	"maps"
	"slices"
)

// head is an admitted entry nobody names.
type head struct {
	time   Time
	author NodeID
}

// headSet is the heads of a Space, in order and by author: a member that forks its chain a million times makes a million heads, and
// nobody else's send or digest may have to sort them. The zero value is empty. Owned by the Space's mutex.
type headSet struct {
	ids     []ID // sorted
	authors map[NodeID]map[ID]Time
	heads   map[ID]head
}

// has says whether an entry is a head.
func (s *headSet) has(id ID) bool {
	_, ok := s.heads[id]
	return ok
}

// add puts a head in.
func (s *headSet) add(id ID, h head) {
	if s.has(id) {
		return
	}
	if s.heads == nil {
		s.heads, s.authors = map[ID]head{}, map[NodeID]map[ID]Time{}
	}
	s.heads[id] = h
	if s.authors[h.author] == nil {
		s.authors[h.author] = map[ID]Time{}
	}
	s.authors[h.author][id] = h.time
	at, _ := slices.BinarySearchFunc(s.ids, id, ID.Compare)
	s.ids = slices.Insert(s.ids, at, id)
}

// remove takes a head out.
func (s *headSet) remove(id ID) {
	h, ok := s.heads[id]
	if !ok {
		return
	}
	delete(s.heads, id)
	if delete(s.authors[h.author], id); len(s.authors[h.author]) == 0 {
		delete(s.authors, h.author)
	}
	at, _ := slices.BinarySearchFunc(s.ids, id, ID.Compare)
	s.ids = slices.Delete(s.ids, at, at+1)
}

// digest hashes the heads.
func (s *headSet) digest() (sum [32]byte) {
	h := sha256.New()
	for i := range s.ids {
		h.Write(s.ids[i][:])
	}
	h.Sum(sum[:0])
	return sum
}

// others picks the heads an author's next entry names beside its own and its refs: one per author, the oldest of them if there are too
// many, sorted by ID. changed is what a batch makes of the heads: added, or nil for no head any more.
func (s *headSet) others(self NodeID, refs []ID, changed map[ID]*head) []Key {
	picks := make(map[NodeID]Key, len(s.authors))
	for author := range s.authors {
		if k, ok := s.oldest(author, refs, changed); ok && author != self {
			picks[author] = k
		}
	}
	for id, h := range changed {
		if h == nil || h.author == self || slices.Contains(refs, id) {
			continue
		}
		if k, ok := picks[h.author]; !ok || (Key{h.time, id}).Compare(k) < 0 {
			picks[h.author] = Key{h.time, id}
		}
	}
	keys := slices.SortedFunc(maps.Values(picks), Key.Compare)
	keys = keys[:min(len(keys), MaxPrev-1)]
	slices.SortFunc(keys, func(a, b Key) int { return a.ID.Compare(b.ID) })
	return keys
}

// oldest returns an author's oldest head that refs don't name; of a chain forked past counting, the oldest of some.
func (s *headSet) oldest(author NodeID, refs []ID, changed map[ID]*head) (k Key, ok bool) {
	seen := 0
	for id, t := range s.authors[author] {
		if _, gone := changed[id]; gone || slices.Contains(refs, id) {
			continue
		}
		if h := (Key{t, id}); !ok || h.Compare(k) < 0 {
			k, ok = h, true
		}
		if seen++; seen == someHeads {
			break
		}
	}
	return k, ok
}
