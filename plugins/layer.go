package plugins

// This file holds the layer, a projection that lies over another, its root: the root's state as it was at a place, and what has been folded from there on. So a
// message that comes late is put in its place while readers go on seeing the root, at the cost of what has changed since that place and
// nothing more. When the layer has caught up, readers see it over its root, and its keys are moved down, some in each round; then it is the root.
//
// Of the root count: state keys that the layer has neither under 's' nor under 'd'; marks below the place; Nodes whose first message is below
// the place. Which messages are folded ('f') is kept in the root alone: a record is the same in both, and those from the place on are
// decided again, one by one, before anybody asks for them.

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"

	"plexus/graph"
)

// above is where a layer lies.
type above struct {
	Root   uint32    `json:"root,omitempty"` // 0: it is no layer
	From   graph.Key `json:"from"`
	Cut    bool      `json:"cut,omitempty"`    // not all steps down to From are kept
	Moving bool      `json:"moving,omitempty"` // readers see it; its keys are being moved into the root
}

// layers are the stored keys of a projection.
type layers struct {
	records graph.Records
	num     uint32
	above
}

func (p *projection) layers() layers { return layers{p.records, p.num, p.meta.above} }

// get looks a stored key up.
func (l layers) get(k string) ([]byte, bool, error) {
	num := l.num
	if l.Root != 0 && k[0] == kindFolded {
		num = l.Root
	}
	v, ok, err := l.stored(num, k)
	if ok || err != nil || l.Root == 0 {
		return v, ok, err
	}
	switch k[0] {
	case kindState:
		if _, gone, err := l.stored(num, string(kindGone)+k[1:]); gone || err != nil {
			return nil, false, err
		}
		return l.stored(l.Root, k)
	case kindAuthor:
		v, ok, err := l.stored(l.Root, k)
		if !ok || err != nil {
			return nil, false, err
		}
		first, ok := readOrder(v)
		return v, ok && l.holds(first), nil
	}
	return nil, false, nil
}

// holds says whether what the root has at a place is the layer's too.
func (l layers) holds(k graph.Key) bool { return l.Moving || k.Compare(l.From) < 0 }

func (l layers) stored(num uint32, k string) ([]byte, bool, error) {
	v, err := l.records.Get(append(numPrefix(num), k...))
	if errors.Is(err, graph.ErrNotFound) {
		return nil, false, nil
	}
	return v, err == nil, err
}

// all yields the stored keys of one number from a key on, of the kind that key begins with, without the number.
func (l layers) all(num uint32, from string) iter.Seq2[graph.KV, error] {
	return func(yield func(graph.KV, error) bool) {
		for kv, err := range l.records.Scan(append(numPrefix(num), from...), append(numPrefix(num), from[0]+1), false) {
			if err == nil {
				kv.Key = kv.Key[5:]
			}
			if !yield(kv, err) {
				return
			}
		}
	}
}

// state yields the stored state keys from one on, in order, "s" before each. Keys and values are the caller's until the next turn.
func (l layers) state(from string) iter.Seq2[graph.KV, error] {
	if l.Root == 0 {
		return l.all(l.num, from)
	}
	return func(yield func(graph.KV, error) bool) {
		next, stop := iter.Pull2(l.all(l.num, from))
		defer stop()
		top, err, more := next()
		for below, err2 := range l.all(l.Root, from) {
			for more && err == nil && bytes.Compare(top.Key, below.Key) < 0 {
				if !yield(top, nil) {
					return
				}
				top, err, more = next()
			}
			if err = errors.Join(err, err2); err != nil {
				yield(graph.KV{}, err)
				return
			}
			if more && bytes.Equal(top.Key, below.Key) {
				continue
			}
			_, gone, err3 := l.stored(l.num, string(kindGone)+string(below.Key[1:]))
			if !gone && !yield(below, err3) {
				return
			}
		}
		for ; more; top, err, more = next() {
			if !yield(top, err) {
				return
			}
		}
	}
}

// marks yields the marked messages that readers see. Of a layer that is moved, those below are in the root.
func (l layers) marks() iter.Seq2[graph.KV, error] {
	return func(yield func(graph.KV, error) bool) {
		for _, num := range []uint32{l.Root, l.num} {
			if num == 0 {
				continue
			}
			for kv, err := range l.all(num, string(kindMark)) {
				if !yield(kv, err) {
					return
				}
			}
		}
	}
}

// authors yields the Nodes that were seen.
func (l layers) authors() iter.Seq2[graph.KV, error] {
	return func(yield func(graph.KV, error) bool) {
		for kv, err := range l.all(l.num, string(kindAuthor)) {
			if !yield(kv, err) {
				return
			}
		}
		if l.Root == 0 {
			return
		}
		for kv, err := range l.all(l.Root, string(kindAuthor)) {
			if first, ok := readOrder(kv.Value); err == nil && ok && !l.holds(first) {
				continue
			}
			if !yield(kv, err) {
				return
			}
		}
	}
}

// gone is the op that hides what the root has under a state key, or doesn't any more.
func (p *projection) gone(n *skipNode) graph.Op {
	key := p.key(string(kindGone) + n.key[1:])
	if n.present {
		return graph.Op{Kind: graph.Del, Key: key}
	}
	return graph.Op{Kind: graph.Set, Key: key, Value: []byte{}}
}

// lay makes a layer over p that stands at the i-th step. What was noted in this round, and where, it takes over: that is in no record yet.
func (p *projection) lay(num uint32, i int, noted *projection) (*projection, error) {
	s := p.meta.Steps[i]
	l := &projection{records: p.records, num: num, over: newOverlay()}
	l.meta = meta{counts: s.counts, Next: s.From, Floor: s.From, Reason: p.meta.Reason, Stale: p.meta.Next, above: above{Root: p.num, From: s.From}}
	if err := p.since(i, func(c change) { l.over.put(c.key, c.value, c.present, true) }); err != nil {
		return nil, err
	}
	for _, n := range noted.over.dirty {
		if n.key[0] == kindFolded {
			l.over.put(n.key, n.value, n.present, true)
		}
	}
	return l, nil
}

// surface has readers see a layer that has caught up over its root, of which only what counts is left.
func (l *projection) surface(root *projection) error {
	at := l.meta.From
	lo, hi := append(numPrefix(root.num), kindUndo), append(numPrefix(root.num), kindUndo+1)
	l.ops = append(l.ops, graph.Op{Kind: graph.DelRange, Key: lo, Value: hi},
		graph.Op{Kind: graph.DelRange, Key: root.stepKey(at), Value: append(numPrefix(root.num), kindStep+1)},
		graph.Op{Kind: graph.DelRange, Key: root.key(orderKey(kindMark, at)), Value: append(numPrefix(root.num), kindMark+1)})
	for kv, err := range root.layers().all(root.num, string(kindAuthor)) {
		if err != nil {
			return err
		}
		if first, ok := readOrder(kv.Value); !ok || first.Compare(at) >= 0 {
			l.ops = append(l.ops, graph.Op{Kind: graph.Del, Key: root.key(string(kv.Key))})
		}
	}
	below := root.meta.Steps
	if i := slices.IndexFunc(below, func(s step) bool { return s.From.Compare(at) >= 0 }); i >= 0 {
		below = below[:i]
	}
	if l.meta.Cut {
		l.ops = append(l.ops, graph.Op{Kind: graph.DelRange, Key: append(numPrefix(root.num), kindStep), Value: append(numPrefix(root.num), kindStep+1)})
		below = nil
	}
	l.meta.Steps = slices.Concat(below, l.meta.Steps)
	l.meta.Moving = true
	return nil
}

// sink moves some of a layer's keys into its root; done: all are there, and the layer is the root now.
func (p *projection) sink() (ops []graph.Op, done bool, err error) {
	lo, root := numPrefix(p.num), p.meta.Root
	size := 0
	for kv, err := range p.records.Scan(lo, numPrefix(p.num+1), false) {
		if err != nil {
			return nil, false, err
		}
		k := kv.Key[5:]
		switch k[0] {
		case kindMeta:
			continue
		case kindGone:
			ops = append(ops, graph.Op{Kind: graph.Del, Key: slices.Concat(numPrefix(root), []byte{kindState}, k[1:])})
		default:
			ops = append(ops, graph.Op{Kind: graph.Set, Key: append(numPrefix(root), k...), Value: bytes.Clone(kv.Value)})
		}
		if size += len(kv.Key) + len(kv.Value) + perKey; size >= sinkBytes {
			moved := graph.Op{Kind: graph.DelRange, Key: lo, Value: append(bytes.Clone(kv.Key), 0)}
			return append(ops, moved), false, nil
		}
	}
	ops = append(ops, dropNum(p.num)...)
	p.num, p.meta.above = root, above{}
	return ops, true, nil
}

// outcome says whether a message is folded, and whether it is marked.
func (l layers) outcome(k graph.Key) (folded, marked bool, err error) {
	if _, folded, err = l.get(string(kindFolded) + string(k.ID[:])); !folded || err != nil {
		return false, false, err
	}
	if _, marked, err = l.stored(l.num, orderKey(kindMark, k)); !marked && err == nil && l.Root != 0 {
		_, marked, err = l.stored(l.Root, orderKey(kindMark, k))
	}
	return folded, marked, err
}

// drop removes a projection; a layer that readers don't see yet leaves its root.
func (p *projection) drop() []graph.Op {
	ops := dropNum(p.num)
	if p.meta.Moving {
		ops = append(ops, dropNum(p.meta.Root)...)
	}
	return ops
}

// under makes a layer over the state that readers see, for what has come late at a place, or a projection from nothing where no step reaches it.
func (h *Host) under(s *slot, at graph.Key) ([]graph.Op, error) {
	i := s.cur.stepBelow(at)
	if i < 0 {
		return h.rebuild(s, s.spec)
	}
	h.logger.Debug("plugin state is folded again from a step", "plugin", s.spec.plugin.Name, "space", s.space.ID().String(), "behind", s.cur.depth(i))
	l, err := s.cur.lay(h.number(), i, s.active())
	if err != nil {
		return nil, fmt.Errorf("plugin state %d: %w", s.cur.num, err)
	}
	return h.build(s, s.spec, l)
}
