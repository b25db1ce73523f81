package plugins

// This file holds a round of Run: take records in, fold, commit.

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"plexus/graph"
	"plexus/plugins/internal/meter"
)

const (
	cursorKey    = "c"
	registryKind = 'r'
)

// registered is the record of a slot: which projection readers see, and what made it.
type registered struct {
	Num      uint32 `json:"num"`
	File     string `json:"file"`
	Schedule int    `json:"schedule"`
}

func registryKey(k slotKey) []byte {
	b := append([]byte{registryKind}, k.space[:]...)
	return append(b, k.name...)
}

func (h *Host) readCursor() error {
	b, err := h.records.Get([]byte(cursorKey))
	switch {
	case errors.Is(err, graph.ErrNotFound):
		return nil
	case err != nil:
		return err
	case len(b) != 8:
		return fmt.Errorf("the cursor is damaged")
	}
	h.cursor, h.started = graph.Pos(binary.BigEndian.Uint64(b)), true
	return nil
}

// readRegistry opens the slots on disk and drops projections none of them owns: builds that a crash cut short, and states made by
// another file or gas schedule than the Space has now.
func (h *Host) readRegistry(ctx context.Context) error {
	var ops []graph.Op
	owned := []uint32{}
	wanted, bad := map[graph.ID]map[string]*spec{}, map[graph.ID]map[string]broken{}
	for kv, err := range h.records.Scan([]byte{registryKind}, []byte{registryKind + 1}, false) {
		if err != nil {
			return err
		}
		var r registered
		if err := json.Unmarshal(kv.Value, &r); err != nil || len(kv.Key) < 34 {
			return fmt.Errorf("plugin registry is damaged: %w", errors.Join(err, errUndo))
		}
		h.nextNum = max(h.nextNum, r.Num)
		k := slotKey{name: string(kv.Key[33:])}
		copy(k.space[:], kv.Key[1:])
		space, err := h.log.Space(k.space)
		if err == nil && wanted[k.space] == nil {
			if wanted[k.space], bad[k.space], err = h.wanted(ctx, space); err != nil {
				return err
			}
		}
		sp := wanted[k.space][k.name]
		if bad[k.space][k.name].err != nil {
			sp = h.before(ctx, r.File, k.name)
		}
		if sp == nil || sp.file.cid != r.File || r.Schedule != meter.Schedule {
			ops = append(ops, graph.Op{Kind: graph.Del, Key: bytes.Clone(kv.Key)})
			continue
		}
		owned = append(owned, r.Num)
		if err := h.addSlot(space, sp, r.Num); err != nil {
			return err
		}
	}
	return h.records.ApplyNoSync(append(ops, gaps(owned)...)...)
}

// before returns the plugin that ran until another file was pinned which can't, nil where it isn't here any more.
func (h *Host) before(ctx context.Context, cid, name string) *spec {
	for _, sp := range h.own {
		if sp.file.cid == cid && sp.plugin.Name == name {
			return sp
		}
	}
	sp, err := h.pinnedSpec(ctx, cid, name)
	if err != nil {
		return nil
	}
	return sp
}

// gaps removes every projection but the given ones.
func gaps(owned []uint32) []graph.Op {
	kept := map[uint32]bool{}
	for _, n := range owned {
		kept[n] = true
	}
	var ops []graph.Op
	lo := numPrefix(0)
	for n := uint32(0); len(kept) > 0; n++ {
		if !kept[n] {
			continue
		}
		delete(kept, n)
		ops = append(ops, graph.Op{Kind: graph.DelRange, Key: lo, Value: numPrefix(n)})
		lo = numPrefix(n + 1)
	}
	return append(ops, graph.Op{Kind: graph.DelRange, Key: lo, Value: []byte{'p' + 1}})
}

// addSlot opens a slot whose projection has a number.
func (h *Host) addSlot(space *graph.Space, sp *spec, num uint32) error {
	p, err := openProjection(h.records, num)
	if err != nil {
		return err
	}
	s := &slot{space: space, spec: sp, cur: p, ended: h.started && p.meta.Whole && p.meta.Dirty == nil}
	s.publish()
	h.state.Lock()
	h.slots[slotKey{space.ID(), sp.plugin.Name}] = s
	h.state.Unlock()
	if !s.ended {
		h.work[s] = true
	}
	return nil
}

// broken is a pinned plugin that can't run.
type broken struct {
	file string
	err  error
}

// wanted returns the plugins a Space shall have, by name: the node's own, and those pinned, which go before. A pinned one that can't
// run stands in bad: what ran before goes on in its place, and isn't called current.
func (h *Host) wanted(ctx context.Context, space *graph.Space) (out map[string]*spec, bad map[string]broken, err error) {
	out, bad = map[string]*spec{}, map[string]broken{}
	if space.Genesis().Kind == graph.GenesisNetwork {
		return out, bad, nil // its log has no messages
	}
	for _, sp := range h.own {
		out[sp.plugin.Name] = sp
	}
	pins, err := pinned(ctx, space, h.attestor)
	if err != nil {
		return nil, nil, err
	}
	for name, cid := range pins {
		delete(out, name)
		sp, err := h.pinnedSpec(ctx, cid, name)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil {
			bad[name] = broken{cid, err}
			continue
		}
		out[name] = sp
	}
	return out, bad, nil
}

// discover makes the slots of new Spaces, and brings those up to date whose pins may have changed.
func (h *Host) discover(ctx context.Context) (ops []graph.Op, err error) {
	h.mu.Lock()
	arrived := h.arrived
	h.arrived = false
	h.mu.Unlock()
	ids := h.log.Spaces()
	if len(ids) == len(h.known) && len(h.repin) == 0 && !arrived {
		return nil, nil
	}
	if arrived {
		clear(h.faults)
	}
	for _, id := range ids {
		if h.known[id] && !h.repin[id] && !arrived {
			continue
		}
		more, err := h.assign(ctx, id)
		if err != nil {
			return nil, err
		}
		ops = append(ops, more...)
		h.known[id] = true
	}
	clear(h.repin)
	return ops, nil
}

// assign gives a Space the slots it shall have.
func (h *Host) assign(ctx context.Context, id graph.ID) (ops []graph.Op, err error) {
	space, err := h.log.Space(id)
	if err != nil {
		return nil, err
	}
	wanted, bad, err := h.wanted(ctx, space)
	if err != nil {
		return nil, err
	}
	h.state.Lock()
	maps.DeleteFunc(h.broken, func(k slotKey, _ broken) bool { return k.space == id })
	for name, b := range bad {
		h.broken[slotKey{id, name}] = b
	}
	h.state.Unlock()
	for k, s := range h.slots {
		if k.space != id {
			continue
		}
		sp := wanted[k.name]
		waits := bad[k.name].err != nil && s.cur.meta.Whole
		if sp == nil && !waits || sp != nil && sp != s.plugin() && !s.cur.meta.Whole {
			ops = append(ops, h.drop(k, s)...)
			continue
		}
		if s.waits != waits {
			s.waits, h.work[s] = waits, true
		}
	}
	for name, sp := range wanted {
		k := slotKey{id, name}
		more, err := h.want(k, space, sp)
		if err != nil {
			return nil, err
		}
		ops = append(ops, more...)
	}
	return ops, nil
}

// want makes a slot, or has another file's plugin built beside the one that runs.
func (h *Host) want(k slotKey, space *graph.Space, sp *spec) ([]graph.Op, error) {
	s := h.slots[k]
	if s == nil {
		num := h.number()
		if err := h.addSlot(space, sp, num); err != nil {
			return nil, err
		}
		op, err := register(k, sp, num)
		return []graph.Op{op}, err
	}
	if s.plugin() == sp {
		return nil, nil
	}
	h.work[s] = true
	return h.rebuild(s, sp)
}

// drop ends a slot.
func (h *Host) drop(k slotKey, s *slot) []graph.Op {
	ops := append(dropNum(s.cur.num), graph.Op{Kind: graph.Del, Key: registryKey(k)})
	if s.build != nil {
		ops = append(ops, dropNum(s.build.num)...)
	}
	h.state.Lock()
	delete(h.slots, k)
	h.state.Unlock()
	delete(h.work, s)
	return ops
}

// dropNum removes a projection.
func dropNum(num uint32) []graph.Op {
	return []graph.Op{{Kind: graph.DelRange, Key: numPrefix(num), Value: numPrefix(num + 1)}}
}

func (h *Host) number() uint32 {
	h.nextNum++
	return h.nextNum
}

func register(k slotKey, sp *spec, num uint32) (graph.Op, error) {
	b, err := json.Marshal(registered{Num: num, File: sp.file.cid, Schedule: meter.Schedule})
	return graph.Op{Kind: graph.Set, Key: registryKey(k), Value: b}, err
}

// round takes in what has come, folds a bit of everything that has work, and commits. busy: there is more to do at once.
func (h *Host) round(ctx context.Context) (busy bool, err error) {
	if err := h.checkRights(); err != nil {
		return false, err
	}
	cursor, more, err := h.drain(ctx)
	if err != nil {
		return false, err
	}
	ops, err := h.discover(ctx)
	if err != nil {
		return false, err
	}
	stepped, err := h.step(ctx)
	if err != nil {
		return false, err
	}
	ops = append(ops, stepped...)
	done := slices.Collect(maps.Keys(h.work))
	maps.DeleteFunc(h.work, func(s *slot, _ bool) bool { return s.settled() })
	if err := h.commit(ops, done, cursor); err != nil {
		return false, err
	}
	return more || len(h.work) > 0, nil
}

// drain notes the records after the cursor; more: there were too many for one round.
func (h *Host) drain(ctx context.Context) (cursor graph.Pos, more bool, err error) {
	cursor = h.cursor
	last := h.log.Last()
	if !h.started { // first start: everything will be met by the folds
		h.started = true
		return last, false, nil
	}
	if last <= cursor {
		return cursor, false, nil
	}
	n := 0
	for r, err := range h.log.Tail(ctx, cursor) {
		if err != nil {
			return h.cursor, false, err
		}
		cursor = r.Pos
		if err := h.note(r); err != nil {
			return h.cursor, false, err
		}
		if n++; r.Pos >= last || n >= h.config.bounds.drain {
			return cursor, r.Pos < last, nil
		}
	}
	return cursor, false, ctx.Err()
}

func (h *Host) note(r graph.Stored) error {
	b := r.Entry.Body()
	if b.Kind == graph.KindPlugin {
		h.repin[b.Space] = true
	}
	if r.Event == graph.Added || b.Kind != graph.KindMessage {
		return nil
	}
	for k, s := range h.slots { // a Space without slots yet gets them from discover, and all its messages
		if k.space != b.Space {
			continue
		}
		if err := s.note(r); err != nil {
			return err
		}
		h.work[s] = true
	}
	return nil
}

// checkRights has every slot compare its senders where the rights are others than at the last look.
func (h *Host) checkRights() error {
	rights := h.log.Rights()
	if sameRights(rights, h.rights) {
		return nil
	}
	h.rights, h.attestor = rights, attestorOf(rights)
	for id := range h.known {
		h.repin[id] = true
	}
	for _, s := range h.slots {
		if err := s.attested(h.attestor); err != nil {
			return err
		}
		if s.active().meta.Dirty != nil {
			s.ended = false
			h.work[s] = true
		}
	}
	return nil
}

// level is how far a projection has come: those of one Space that have come equally far are folded in one pass.
type level struct {
	space graph.ID
	next  graph.Key
	rush  bool
}

// step brings every slot that has work on, and returns what is to be written.
func (h *Host) step(ctx context.Context) (ops []graph.Op, err error) {
	levels := map[level][]*slot{}
	for s := range h.work {
		prepared, rush, err := h.prepare(s)
		if err != nil {
			return nil, err
		}
		ops = append(ops, prepared...)
		l := level{s.space.ID(), s.active().meta.Next, rush}
		levels[l] = append(levels[l], s)
	}
	for l, slots := range levels {
		budget := h.config.bounds.step
		if l.rush {
			budget = -1
		}
		if err := h.pass(ctx, slots, budget); err != nil {
			return nil, err
		}
		for _, s := range slots {
			more, err := h.settle(s)
			if err != nil {
				return nil, err
			}
			ops = append(ops, more...)
		}
	}
	return ops, nil
}

// settle returns what is to be written for a slot; a build that has caught up takes over.
func (h *Host) settle(s *slot) ([]graph.Op, error) {
	ops, err := s.active().take()
	if err != nil || s.build == nil || !s.ended {
		return ops, err
	}
	ops = append(ops, dropNum(s.cur.num)...)
	s.cur, s.spec, s.build, s.next = s.build, s.next, nil, nil
	op, err := register(slotKey{s.space.ID(), s.spec.plugin.Name}, s.spec, s.cur.num)
	return append(ops, op), err
}

// rebuild starts a projection from nothing beside the one readers see. That one is noted no more records, so it is marked wrong from the
// start: should a crash cut the build short, nobody takes it for right.
func (h *Host) rebuild(s *slot, sp *spec) ([]graph.Op, error) {
	h.logger.Debug("plugin state is made anew", "plugin", sp.plugin.Name, "space", s.space.ID().String())
	var ops []graph.Op
	if s.build != nil {
		ops = dropNum(s.build.num)
	}
	p, err := openProjection(h.records, h.number())
	if err != nil {
		return nil, err
	}
	s.build, s.next, s.ended = p, sp, false
	s.cur.touch(graph.Key{})
	kept, err := s.cur.take()
	return append(ops, kept...), err
}

// commit writes everything in one batch and shows it to readers.
func (h *Host) commit(ops []graph.Op, done []*slot, cursor graph.Pos) error {
	if len(ops) == 0 && cursor == h.cursor && len(h.listed) == len(h.known) {
		return nil
	}
	ops = append(ops, graph.Op{Kind: graph.Set, Key: []byte(cursorKey), Value: binary.BigEndian.AppendUint64(nil, uint64(cursor))})
	h.state.Lock()
	err := h.records.ApplyNoSync(ops...)
	if err == nil {
		h.cursor, h.seen = cursor, cursor
		most := max(overlayLeast, overlayBytes/max(1, len(h.slots)))
		for _, s := range done {
			s.active().committed(most)
			s.cur.committed(most)
			s.publish()
		}
		if len(h.listed) < len(h.known) {
			h.listed = maps.Clone(h.known)
		}
	}
	h.state.Unlock()
	if err != nil {
		return fmt.Errorf("write plugin state: %w", err)
	}
	h.announce()
	return nil
}

// waitUntil waits for the slot to cover the log up to a position, for at most ViewWait.
func (h *Host) waitUntil(ctx context.Context, k slotKey, target graph.Pos) {
	h.wait(ctx, func() bool {
		s := h.slots[k]
		return h.seen >= target && (s != nil && s.pub.settled || s == nil && h.listed[k.space])
	})
}

// wait waits until something is so, for at most ViewWait, or until Run has ended. ok is asked under state.
func (h *Host) wait(ctx context.Context, ok func() bool) {
	ctx, cancel := context.WithTimeout(ctx, h.config.bounds.wait)
	defer cancel()
	for {
		change := h.change()
		h.state.RLock()
		done := ok() || h.fault != nil
		h.state.RUnlock()
		if done {
			return
		}
		h.kick()
		select {
		case <-change:
		case <-ctx.Done():
			return
		}
	}
}
