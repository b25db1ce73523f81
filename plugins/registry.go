package plugins

// This file holds the slots of every Space: which ones there shall be, by the node's own patterns and by pins, and the registry in
// which they lie on disk.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"plexus/graph"
	"plexus/plugins/internal/meter"
)

const registryKind = 'r'

// stateFormat is how projections lie on disk; those of another are made anew.
const stateFormat = 2

// registered is the record of a slot: which projection readers see, and what made it.
type registered struct {
	Format   int         `json:"format"`
	Num      uint32      `json:"num"`
	File     string      `json:"file"`
	Schedule int         `json:"schedule"`
	Build    *registered `json:"build,omitempty"` // what is being made beside it
}

func (r *registered) valid() bool { return r.Format == stateFormat && r.Schedule == meter.Schedule }

func registryKey(k slotKey) []byte {
	b := append([]byte{registryKind}, k.space[:]...)
	return append(b, k.name...)
}

// readRegistry opens the slots on disk and drops projections none of them owns: those of plugins that the Space has no more, or made by another gas schedule.
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
		k := slotKey{name: string(kv.Key[33:])}
		copy(k.space[:], kv.Key[1:])
		space, err := h.log.Space(k.space)
		if err == nil && wanted[k.space] == nil {
			if wanted[k.space], bad[k.space], err = h.wanted(ctx, space); err != nil {
				return err
			}
		}
		var more []uint32
		if sp := wanted[k.space][k.name]; sp != nil || bad[k.space][k.name].err != nil {
			if more, err = h.reopen(space, k.name, &r, sp); err != nil {
				return err
			}
		}
		if len(more) == 0 {
			ops = append(ops, graph.Op{Kind: graph.Del, Key: bytes.Clone(kv.Key)})
		}
		owned = append(owned, more...)
	}
	return h.records.ApplyNoSync(append(ops, gaps(owned)...)...)
}

// reopen makes the slot of a record and returns the projections that it owns; none where what it was made by isn't here any more. sp is the plugin that shall run, nil
// where that can't: what ran goes on beside the build of another, or in its place.
func (h *Host) reopen(space *graph.Space, name string, r *registered, sp *spec) (owned []uint32, err error) {
	if sp != nil && r.Build != nil && r.Build.File != sp.file.cid {
		r.Build = nil
	}
	ran := sp
	if sp == nil || sp.file.cid != r.File {
		ran = h.before(r.File, name)
	}
	if ran == nil && r.Build != nil && sp != nil {
		r, ran = r.Build, sp
	}
	if ran == nil || !r.valid() {
		return nil, nil
	}
	s, err := h.addSlot(space, ran, r.Num)
	if err != nil {
		return nil, err
	}
	owned = append(owned, r.Num)
	if s.cur.meta.Root != 0 {
		owned = append(owned, s.cur.meta.Root)
	}
	if r.Build != nil && r.Build.valid() && sp != nil {
		if s.build, err = openProjection(h.records, r.Build.Num); err != nil {
			return nil, err
		}
		s.next, s.ended = sp, false
		h.work[s] = true
		owned = append(owned, r.Build.Num)
	}
	h.nextNum = max(h.nextNum, slices.Max(owned))
	return owned, nil
}

// before returns the plugin that ran until another file was pinned, nil where it isn't here any more.
func (h *Host) before(cid, name string) *spec {
	for _, sp := range h.own {
		if sp.file.cid == cid && sp.plugin.Name == name {
			return sp
		}
	}
	sp, _ := h.pinnedSpec(cid, name)
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
func (h *Host) addSlot(space *graph.Space, sp *spec, num uint32) (*slot, error) {
	p, err := openProjection(h.records, num)
	if err != nil {
		return nil, err
	}
	s := &slot{space: space, spec: sp, cur: p, ended: h.started && p.meta.Whole && p.meta.Ended && p.meta.Dirty == nil}
	s.publish()
	h.state.Lock()
	h.slots[slotKey{space.ID(), sp.plugin.Name}] = s
	h.state.Unlock()
	if !s.ended || s.cur.meta.Moving {
		h.work[s] = true
	}
	return s, nil
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
		if err := h.disagrees(sp.file.cid, sp.plugin.Name); err != nil {
			bad[sp.plugin.Name] = broken{sp.file.cid, err}
			continue
		}
		out[sp.plugin.Name] = sp
	}
	pins, err := pinned(ctx, space, h.attestor)
	if err != nil {
		return nil, nil, err
	}
	for name, cid := range pins {
		delete(out, name)
		delete(bad, name)
		sp, err := h.pinnedSpec(cid, name)
		if err == nil {
			err = h.disagrees(cid, name)
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
	arrived, compiled := h.arrived, h.compiled
	h.arrived, h.compiled = false, false
	h.mu.Unlock()
	ids := h.log.Spaces()
	if len(ids) == len(h.known) && len(h.repin) == 0 && !arrived && !compiled {
		return nil, nil
	}
	if compiled { // what waited for it looks, whether anything is written or not
		h.announce()
	}
	if arrived {
		clear(h.faults)
	}
	for _, id := range ids {
		if h.known[id] && !h.repin[id] && !arrived && !compiled {
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
		other := sp != nil && !sp.same(s.plugin())
		waits := s.cur.meta.Whole && (bad[k.name].err != nil || other && !sp.file.ready())
		wrong := bad[k.name].err != nil && bad[k.name].file == s.plugin().file.cid // it ran until its traces were replayed
		if sp == nil && !waits || wrong || other && !s.cur.meta.Whole {
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
		s, err := h.addSlot(space, sp, h.number())
		if err != nil {
			return nil, err
		}
		op, err := s.register()
		return []graph.Op{op}, err
	}
	if s.plugin().same(sp) {
		if s.plugin() != sp {
			s.adopt(sp)
			h.work[s] = true
		}
		return nil, nil
	}
	if !sp.file.ready() { // what ran goes on until it is
		return nil, nil
	}
	h.work[s] = true
	return h.rebuild(s, sp)
}

// drop ends a slot.
func (h *Host) drop(k slotKey, s *slot) []graph.Op {
	ops := append(s.cur.drop(), graph.Op{Kind: graph.Del, Key: registryKey(k)})
	if s.build != nil {
		ops = append(ops, s.build.drop()...)
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

// register is the op that writes a slot's record.
func (s *slot) register() (graph.Op, error) {
	r := registered{Format: stateFormat, Num: s.cur.num, File: s.spec.file.cid, Schedule: meter.Schedule}
	if s.build != nil {
		r.Build = &registered{Format: stateFormat, Num: s.build.num, File: s.next.file.cid, Schedule: meter.Schedule}
	}
	b, err := json.Marshal(r)
	return graph.Op{Kind: graph.Set, Key: registryKey(slotKey{s.space.ID(), s.spec.plugin.Name}), Value: b}, err
}
