package plugins

// This file holds what takes messages out of a projection again: an undo record for each of the newest, and below these, steps. A step is
// many undo records made one: each state key that its messages changed, as it was before the first of them. So the state of a step's
// place can be had from the state of today, at a cost that grows with what has changed since, and a message that comes a month late
// is folded from the nearest step below it.
//
// A step is kept at places ever farther apart (stepRatio), so that they are few, and none is kept from which on most of all would have
// to be folded again. Their size is bounded; the oldest go first.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"plexus/graph"
)

// step is a place whose state can be had again.
type step struct {
	From graph.Key `json:"from"` // messages below are in the state
	counts
	Size int64 `json:"size"` // of its pieces
}

var errUndo = errors.New("an undo record is damaged")

// openMessage begins the journal of a message.
func (p *projection) openMessage() {
	p.journal, p.before = p.journal[:0], p.meta.counts
}

// closeMessage writes the undo record of the message in hand.
func (p *projection) closeMessage(k graph.Key) {
	size := 32
	for _, c := range p.journal {
		size += len(c.key) + len(c.value) + 8
	}
	b := binary.AppendUvarint(p.room(size), p.before.Folded)
	b = binary.AppendUvarint(b, p.before.Marked)
	b = binary.AppendUvarint(b, uint64(p.before.Bytes))
	for _, c := range p.journal {
		b = appendChange(b, c)
	}
	p.ops = append(p.ops, graph.Op{Kind: graph.Set, Key: p.key(orderKey(kindUndo, k)), Value: b})
	p.meta.Undos++
	p.meta.Undone += int64(len(b))
	p.journal = p.journal[:0]
	if p.first == nil {
		first := k
		p.first = &first
	}
}

func appendChange(b []byte, c change) []byte {
	b = binary.AppendUvarint(b, uint64(len(c.key)))
	b = append(b, c.key...)
	if !c.present {
		return append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(c.value))+1)
	return append(b, c.value...)
}

// readUndo reads an undo record.
func readUndo(b []byte) (n counts, changes []change, err error) {
	var fields [3]uint64
	for i := range fields {
		v, w := binary.Uvarint(b)
		if w <= 0 {
			return n, nil, errUndo
		}
		fields[i], b = v, b[w:]
	}
	n = counts{Folded: fields[0], Marked: fields[1], Bytes: int64(fields[2])}
	changes, err = readChanges(b)
	return n, changes, err
}

func readChanges(b []byte) ([]change, error) {
	var out []change
	for len(b) > 0 {
		n, w := binary.Uvarint(b)
		if w <= 0 || n == 0 || n > uint64(len(b)-w) {
			return nil, errUndo
		}
		c := change{key: string(b[w : w+int(n)])}
		b = b[w+int(n):]
		n, w = binary.Uvarint(b)
		if w <= 0 || n > uint64(len(b)-w)+1 {
			return nil, errUndo
		}
		b = b[w:]
		if n > 0 {
			c.present, c.value = true, bytes.Clone(b[:n-1])
			b = b[n-1:]
		}
		out = append(out, c)
	}
	return out, nil
}

// rollback takes out every message from k on. No undo record may be uncommitted. k must not lie below the floor.
func (p *projection) rollback(k graph.Key) error {
	lo, hi := p.key(orderKey(kindUndo, k)), append(numPrefix(p.num), kindUndo+1)
	counted := p.meta.counts
	for kv, err := range p.records.Scan(lo, hi, true) {
		if err != nil {
			return err
		}
		n, changes, err := readUndo(kv.Value)
		if err != nil {
			return fmt.Errorf("plugin state %d: %w", p.num, err)
		}
		for _, c := range slices.Backward(changes) {
			p.put(c.key, c.value, c.present)
		}
		counted = n
		p.meta.Undos--
		p.meta.Undone -= int64(len(kv.Value))
	}
	p.ops = append(p.ops, graph.Op{Kind: graph.DelRange, Key: lo, Value: hi})
	p.meta.counts, p.meta.Next = counted, k
	return nil
}

// trim makes the oldest undo records a step where there are too many, and thins the steps out. It is called once between two commits.
func (p *projection) trim(b bounds) error {
	if err := p.thin(); err != nil {
		return err
	}
	excess := p.meta.Undos - b.undo
	if excess > b.undo/undoSlack || p.meta.Undone > undoBytes {
		return p.coarsen(excess)
	}
	return nil
}

// coarsen makes a step of at least n of the oldest undo records, and of as many as their size demands; those of this round stay.
func (p *projection) coarsen(n int) error {
	floor := p.meta.Next
	if p.first != nil {
		floor = *p.first
	}
	lo, hi := append(numPrefix(p.num), kindUndo), p.key(orderKey(kindUndo, floor)) // behind it are those that a rollback has just taken out
	s, d := step{From: p.meta.Floor}, delta{}
	taken, size := 0, int64(0)
	for kv, err := range p.records.Scan(lo, hi, false) {
		if err != nil {
			return err
		}
		if taken >= n && p.meta.Undone-size <= undoBytes/2 {
			k, ok := readOrder(kv.Key[len(lo):])
			if !ok {
				return fmt.Errorf("plugin state %d: %w", p.num, errUndo)
			}
			floor = k
			break
		}
		before, changes, err := readUndo(kv.Value)
		if err != nil {
			return fmt.Errorf("plugin state %d: %w", p.num, err)
		}
		if taken == 0 {
			s.counts = before
		}
		taken, size = taken+1, size+int64(len(kv.Value))
		d.older(changes)
	}
	p.ops = append(p.ops, graph.Op{Kind: graph.DelRange, Key: lo, Value: p.key(orderKey(kindUndo, floor))})
	if taken > 0 && p.meta.Floor != (graph.Key{}) { // what lies before the first message needs no step
		s.Size = p.writeStep(s.From, d)
		p.meta.Steps = append(slices.Clip(p.meta.Steps), s)
	}
	p.meta.Floor, p.meta.Undos, p.meta.Undone = floor, p.meta.Undos-taken, p.meta.Undone-size
	return nil
}

// delta gathers changes, the oldest first: of each key the first counts.
type delta struct {
	seen map[string]bool
	list []change
}

func (d *delta) older(changes []change) {
	if d.seen == nil {
		d.seen = map[string]bool{}
	}
	for _, c := range changes {
		if c.key[0] == kindState && !d.seen[c.key] {
			d.seen[c.key] = true
			d.list = append(d.list, c)
		}
	}
}

// stepKey is where a step's pieces lie, without their number.
func (p *projection) stepKey(from graph.Key) []byte { return p.key(orderKey(kindStep, from)) }

// writeStep writes a step's pieces and returns their size.
func (p *projection) writeStep(from graph.Key, d delta) (size int64) {
	var piece []byte
	n := uint16(0)
	flush := func() {
		key := binary.BigEndian.AppendUint16(p.stepKey(from), n)
		p.ops = append(p.ops, graph.Op{Kind: graph.Set, Key: key, Value: piece})
		size += int64(len(piece))
		piece, n = nil, n+1
	}
	for _, c := range d.list {
		if len(piece) > 0 && len(piece)+len(c.key)+len(c.value) > stepPiece {
			flush()
		}
		piece = appendChange(piece, c)
	}
	if len(piece) > 0 {
		flush()
	}
	return size
}

// dropSteps removes the pieces of steps whose place is from lo on and below hi.
func (p *projection) dropSteps(lo, hi graph.Key) {
	p.ops = append(p.ops, graph.Op{Kind: graph.DelRange, Key: p.stepKey(lo), Value: p.stepKey(hi)})
}

// thin drops or merges steps that are more than is needed.
func (p *projection) thin() error {
	steps := p.meta.Steps
	for len(steps) > 0 && p.spare(steps) {
		hi := p.meta.Floor
		if len(steps) > 1 {
			hi = steps[1].From
		}
		p.dropSteps(steps[0].From, hi)
		p.meta.Cut = p.meta.Root != 0
		steps = steps[1:]
	}
	p.meta.Steps = steps
	for i := range len(steps) - 1 {
		if p.depth(i)*stepRatio[1] <= p.depth(i+2)*stepRatio[0] {
			return p.merge(i)
		}
	}
	return nil
}

// spare says whether the oldest step isn't worth its place: they are too large, or from the next one on lies most of all.
func (p *projection) spare(steps []step) bool {
	size := int64(0)
	for _, s := range steps {
		size += s.Size
	}
	return size > stepBytes || p.meta.Root == 0 && len(steps) > 1 && steps[1].Folded <= p.meta.Folded/2
}

// depth is how many messages were folded from a step on; the step behind the last one is the floor.
func (p *projection) depth(i int) uint64 {
	if i == len(p.meta.Steps) {
		return uint64(p.meta.Undos)
	}
	return p.meta.Folded - p.meta.Steps[i].Folded
}

// merge makes one step of the i-th and the next.
func (p *projection) merge(i int) error {
	steps := p.meta.Steps
	end := p.meta.Floor
	if i+2 < len(steps) {
		end = steps[i+2].From
	}
	d := delta{}
	for kv, err := range p.records.Scan(p.stepKey(steps[i].From), p.stepKey(end), false) {
		if err != nil {
			return err
		}
		changes, err := readChanges(kv.Value)
		if err != nil {
			return fmt.Errorf("plugin state %d: %w", p.num, err)
		}
		d.older(changes)
	}
	p.dropSteps(steps[i].From, end)
	one := steps[i]
	one.Size = p.writeStep(one.From, d)
	p.meta.Steps = slices.Concat(steps[:i], []step{one}, steps[i+2:])
	return nil
}

// stepBelow is the last step at or below a place, -1 where there is none.
func (p *projection) stepBelow(k graph.Key) int {
	i := len(p.meta.Steps) - 1
	for i >= 0 && p.meta.Steps[i].From.Compare(k) > 0 {
		i--
	}
	return i
}

// since calls do for each change of state from the newest message back to the i-th step, newest first: done in this order, they make the state
// of the step's place. No undo record may be uncommitted.
func (p *projection) since(i int, do func(change)) error {
	lo, hi := append(numPrefix(p.num), kindUndo), append(numPrefix(p.num), kindUndo+1)
	for kv, err := range p.records.Scan(lo, hi, true) {
		if err != nil {
			return err
		}
		_, changes, err := readUndo(kv.Value)
		if err != nil {
			return fmt.Errorf("plugin state %d: %w", p.num, err)
		}
		for _, c := range slices.Backward(changes) {
			if c.key[0] == kindState {
				do(c)
			}
		}
	}
	for kv, err := range p.records.Scan(p.stepKey(p.meta.Steps[i].From), append(numPrefix(p.num), kindStep+1), true) {
		if err != nil {
			return err
		}
		changes, err := readChanges(kv.Value)
		if err != nil {
			return fmt.Errorf("plugin state %d: %w", p.num, err)
		}
		for _, c := range changes {
			do(c)
		}
	}
	return nil
}

// rewind takes out every message from the i-th step on, in place: nobody reads this projection yet. Nothing may be uncommitted but what note wrote.
func (p *projection) rewind(i int) error {
	s := p.meta.Steps[i]
	if err := p.since(i, func(c change) { p.put(c.key, c.value, c.present) }); err != nil {
		return err
	}
	if err := p.forget(s.From); err != nil {
		return err
	}
	p.ops = append(p.ops, graph.Op{Kind: graph.DelRange, Key: append(numPrefix(p.num), kindUndo), Value: append(numPrefix(p.num), kindUndo+1)},
		graph.Op{Kind: graph.DelRange, Key: p.stepKey(s.From), Value: append(numPrefix(p.num), kindStep+1)},
		graph.Op{Kind: graph.DelRange, Key: p.key(orderKey(kindMark, s.From)), Value: append(numPrefix(p.num), kindMark+1)})
	p.meta.Steps = p.meta.Steps[:i]
	if p.meta.Next.Compare(p.meta.Stale) > 0 {
		p.meta.Stale = p.meta.Next
	}
	p.meta.counts, p.meta.Next, p.meta.Floor, p.meta.Undos, p.meta.Undone = s.counts, s.From, s.From, 0, 0
	return nil
}

// forget takes out the Nodes whose first message lies at a place or behind it.
func (p *projection) forget(from graph.Key) error {
	for kv, err := range p.records.Scan(append(numPrefix(p.num), kindAuthor), append(numPrefix(p.num), kindAuthor+1), false) {
		if err != nil {
			return err
		}
		first, ok := readOrder(kv.Value)
		if !ok {
			return fmt.Errorf("plugin state %d: %w", p.num, errUndo)
		}
		if first.Compare(from) >= 0 {
			p.put(string(kv.Key[5:]), nil, false)
		}
	}
	return nil
}
