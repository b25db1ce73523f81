package store

// This file holds the memory store's tree: a persistent treap. A change copies the path to it and leaves every older
// root as it was, so that a root is a consistent view for as long as someone holds it.

import (
	"hash/maphash"

	"plexus/graph"
)

// leaf is a node of the treap: ordered by key, a heap by weight. Immutable; nil is the empty tree.
type leaf struct {
	key         string
	value       []byte
	weight      uint64
	left, right *leaf
}

// get finds a key.
func (l *leaf) get(key string) ([]byte, bool) {
	for l != nil {
		switch {
		case key < l.key:
			l = l.left
		case key > l.key:
			l = l.right
		default:
			return l.value, true
		}
	}
	return nil, false
}

// split cuts the tree into keys < key and keys ≥ key.
func (l *leaf) split(key string) (low, high *leaf) {
	if l == nil {
		return nil, nil
	}
	c := *l
	if l.key < key {
		c.right, high = l.right.split(key)
		return &c, high
	}
	low, c.left = l.left.split(key)
	return low, &c
}

// join puts two trees together, all keys of l below those of r.
func (l *leaf) join(r *leaf) *leaf {
	if l == nil {
		return r
	}
	if r == nil {
		return l
	}
	if l.weight >= r.weight {
		c := *l
		c.right = l.right.join(r)
		return &c
	}
	c := *r
	c.left = l.join(r.left)
	return &c
}

// set returns the tree with a key's value replaced or added; value becomes the tree's. A key has the same weight each time.
func (l *leaf) set(key string, value []byte, weight uint64) *leaf {
	if l == nil || weight > l.weight { // then the key isn't below l
		low, high := l.split(key)
		return &leaf{key: key, value: value, weight: weight, left: low, right: high}
	}
	c := *l
	switch {
	case key < l.key:
		c.left = l.left.set(key, value, weight)
	case key > l.key:
		c.right = l.right.set(key, value, weight)
	default:
		c.value = value
	}
	return &c
}

// cut returns the tree without lo ≤ key < hi.
func (l *leaf) cut(lo, hi string) *leaf {
	if hi <= lo {
		return l
	}
	low, high := l.split(lo)
	_, high = high.split(hi)
	return low.join(high)
}

// apply returns the tree after one op. The op's slices are copied. The seed is random per store, so that no set of keys
// makes the tree deep.
func (l *leaf) apply(o graph.Op, seed maphash.Seed) *leaf {
	key := string(o.Key)
	switch o.Kind {
	case graph.Set:
		return l.set(key, append([]byte{}, o.Value...), maphash.String(seed, key))
	case graph.Del:
		return l.cut(key, key+"\x00")
	case graph.Sum:
		var sum [graph.SumSize]byte
		old, _ := l.get(key)
		graph.AddSum(&sum, old)
		graph.AddSum(&sum, o.Value)
		return l.set(key, sum[:], maphash.String(seed, key))
	default: // DelRange; checkOps lets no other in
		return l.cut(key, string(o.Value))
	}
}

// each yields in order, or backwards; false once the reader left. What is yielded is a copy: a reader who writes into
// it harms nobody.
func (l *leaf) each(reverse bool, yield func(graph.KV, error) bool) bool {
	if l == nil {
		return true
	}
	first, second := l.left, l.right
	if reverse {
		first, second = second, first
	}
	return first.each(reverse, yield) &&
		yield(graph.KV{Key: []byte(l.key), Value: append([]byte{}, l.value...)}, nil) &&
		second.each(reverse, yield)
}
