package graph

// This file holds the cache of what was admitted lately: the parents of what comes next, and what every reader that
// follows wants at the same time.

import "sync"

// recent keeps metas and entries in two generations: a full young one becomes the old one, and the old one is forgotten.
// Only those who hold the entry's Space's mutex put; anyone reads. A nil entry means that only the meta is kept.
type recent struct {
	mu         sync.Mutex
	young, old map[ID]remembered
	size       int // of young
}

type remembered struct {
	meta  meta
	entry *Entry
}

// cost is what it takes up, about.
func (r remembered) cost() int {
	if r.entry == nil {
		return 200 + 8*len(r.meta.clock)
	}
	return 700 + 2*len(r.entry.block) + 8*len(r.meta.clock)
}

// meta returns an entry's meta.
func (c *recent) meta(id ID) (meta, bool) {
	r, ok := c.find(id)
	return r.meta, ok
}

// entry returns an entry, or nil.
func (c *recent) entry(id ID) *Entry {
	r, _ := c.find(id)
	return r.entry
}

func (c *recent) find(id ID) (remembered, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.young[id]; ok {
		return r, true
	}
	r, ok := c.old[id]
	return r, ok
}

// forget empties the cache.
func (c *recent) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old, c.size = nil, nil, 0
}

// put keeps what is given; an entry known already stays with its meta.
func (c *recent) put(id ID, m meta, e *Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := remembered{m, e}
	was, ok := c.young[id]
	if ok {
		c.size -= was.cost()
	} else {
		was = c.old[id]
	}
	if e == nil {
		r.entry = was.entry
	}
	if c.young == nil {
		c.young = make(map[ID]remembered)
	}
	c.young[id] = r
	c.size += r.cost()
	if c.size > maxRecent {
		c.young, c.old, c.size = nil, c.young, 0
	}
}
