package plugins

// This file holds the overlay: what a projection has read and written of its keys since the last commit and, as a
// cache, before. Ordered, so that a guest's scan sees its own writes.

import (
	"math/bits"
)

const skipLevels = 16

// overlay is the keys by name and, for scans, a skip list of those of the state. It is linked when somebody scans: most folds don't. Entries are
// never unlinked: an absent key is an entry too.
type overlay struct {
	head    skipNode
	keys    map[string]*skipNode
	pending []*skipNode // not linked yet
	dirty   []*skipNode // in the order first written
	bytes   int
	rand    uint64
}

type skipNode struct {
	key     string
	value   []byte
	present bool
	dirty   bool
	next    []*skipNode
}

func newOverlay() *overlay {
	return &overlay{head: skipNode{next: make([]*skipNode, skipLevels)}, keys: map[string]*skipNode{}, rand: 0x9e3779b97f4a7c15}
}

// level draws a height; which one makes no difference to what is read.
func (o *overlay) level() int {
	o.rand ^= o.rand << 13
	o.rand ^= o.rand >> 7
	o.rand ^= o.rand << 17
	return min(1+bits.TrailingZeros64(o.rand|1<<(2*skipLevels))/2, skipLevels)
}

// put inserts or changes an entry.
func (o *overlay) put(key string, value []byte, present, dirty bool) *skipNode {
	n := o.keys[key]
	if n == nil {
		n = o.add(key)
	}
	o.set(n, value, present, dirty)
	return n
}

// add makes an entry that isn't there yet: an absent key.
func (o *overlay) add(key string) *skipNode {
	n := &skipNode{key: key}
	o.keys[key] = n
	o.bytes += len(key) + 96
	if key[0] == kindState {
		o.pending = append(o.pending, n)
	}
	return n
}

// set changes an entry.
func (o *overlay) set(n *skipNode, value []byte, present, dirty bool) {
	o.bytes += len(value) - len(n.value)
	n.value, n.present = value, present
	if dirty && !n.dirty {
		n.dirty = true
		o.dirty = append(o.dirty, n)
	}
}

// link puts an entry into the list.
func (o *overlay) link(n *skipNode) {
	n.next = make([]*skipNode, o.level())
	at := &o.head
	for l := skipLevels - 1; l >= 0; l-- {
		for at.next[l] != nil && at.next[l].key < n.key {
			at = at.next[l]
		}
		if l < len(n.next) {
			n.next[l], at.next[l] = at.next[l], n
		}
	}
}

// after returns the first entry of the state with a key greater than the given one, or equal where inclusive.
func (o *overlay) after(key string, inclusive bool) *skipNode {
	for _, n := range o.pending {
		o.link(n)
	}
	o.pending = o.pending[:0]
	at := &o.head
	for l := skipLevels - 1; l >= 0; l-- {
		for at.next[l] != nil && (at.next[l].key < key || !inclusive && at.next[l].key == key) {
			at = at.next[l]
		}
	}
	return at.next[0]
}

// committed marks all entries as equal to the store.
func (o *overlay) committed() {
	for _, n := range o.dirty {
		n.dirty = false
	}
	o.dirty = o.dirty[:0]
}
