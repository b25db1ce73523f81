package plugins

// This file holds the slot, one plugin in one Space: which projection readers see, which one is being folded, and the
// fold itself.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"plexus/graph"
	"plexus/sdk/abi"
)

// spec is a plugin that can run: its place in a file, and what the manifest says.
type spec struct {
	file    *file
	plugin  abi.Plugin
	accepts map[string]bool
	gas     int64
}

func newSpec(f *file, p abi.Plugin) *spec {
	s := &spec{file: f, plugin: p, accepts: map[string]bool{}, gas: p.Limits.Gas}
	for _, t := range p.Accepts {
		s.accepts[t] = true
	}
	if s.gas == 0 {
		s.gas = abi.Gas
	}
	return s
}

// same says whether two specs are of one plugin of one file, which may have been opened twice.
func (s *spec) same(t *spec) bool { return s.file.cid == t.file.cid && s.plugin.Name == t.plugin.Name }

// slot is owned by the goroutine of Run, but for pub.
type slot struct {
	space *graph.Space
	spec  *spec       // of cur
	cur   *projection // what readers see
	next  *spec       // of build
	build *projection // made beside it from nothing, where undo doesn't reach or another file is pinned; nil else
	ended bool        // the last pass reached the newest message
	waits bool        // another file is pinned which can't run yet: this goes on in its place

	pub    published // under Host.state
	hashed atomic.Pointer[hashed]
}

// published is what readers know of a slot.
type published struct {
	spec    *spec
	num     uint32
	meta    meta
	settled bool   // all there is has been folded
	current bool   // settled, and nothing else is pinned
	beside  string // the CID of the file by which another state is being made beside this one, which stands still; "": none is
	edition uint64 // another one wherever the state may be
}

// active is the projection that is being folded.
func (s *slot) active() *projection {
	if s.build != nil {
		return s.build
	}
	return s.cur
}

// plugin is the spec of the active projection.
func (s *slot) plugin() *spec {
	if s.build != nil {
		return s.next
	}
	return s.spec
}

// adopt takes another opening of the file that is folded.
func (s *slot) adopt(sp *spec) {
	if s.build != nil {
		s.next = sp
	} else {
		s.spec = sp
	}
}

// publish copies what readers may know; under Host.state.
func (s *slot) publish() {
	settled := s.settled()
	beside := ""
	if s.build != nil {
		beside = s.next.file.cid
	}
	s.pub = published{spec: s.spec, num: s.cur.num, meta: s.cur.meta, settled: settled, current: settled && !s.waits, beside: beside, edition: s.pub.edition + 1}
}

// settled says whether readers see all there is.
func (s *slot) settled() bool {
	return s.build == nil && s.ended && s.cur.meta.Dirty == nil && s.cur.meta.Whole
}

// touch marks the state as wrong from a place on.
func (p *projection) touch(k graph.Key) {
	if p.meta.Dirty == nil || k.Compare(*p.meta.Dirty) < 0 {
		p.meta.Dirty = &k
	}
}

func keyOf(e *graph.Entry) graph.Key { return graph.Key{Time: e.Body().Time, ID: e.ID()} }

func (p *projection) folded(id graph.ID) (bool, error) {
	_, ok, err := p.read(kindFolded, string(id[:]))
	return ok, err
}

// accepts says whether a message is for this plugin, as far as the projection has come.
func (s *slot) accepts(p *projection, m graph.Message, t string) (bool, error) {
	sp := s.plugin()
	if sp.accepts[t] {
		return true, nil
	}
	if t != "" || !sp.plugin.Replies {
		return false, nil
	}
	for _, parent := range m.Refs.Messages {
		if ok, err := p.folded(parent); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// attest is role and kind with a slash between.
func attest(a Attestor, space graph.ID, node graph.NodeID) string {
	if a == nil {
		return "/"
	}
	role, kind := a.Attest(space, node)
	return role + "/" + kind
}

// pass folds at most budget messages (below zero: all) into slots of one Space that have come equally far.
func (h *Host) pass(ctx context.Context, slots []*slot, budget int) error {
	first := slots[0]
	for _, s := range slots {
		s.ended = false
	}
	most := budget + 1 // so that it is seen whether there is more
	if budget < 0 {
		most = -1
	}
	for g, err := range h.reader.ahead(ctx, first.space, first.active().meta.Next, graph.Key{Time: graph.MaxTime + 1}, most, audienceOf(slots)) {
		if err != nil {
			return err
		}
		if budget == 0 {
			return h.trim(slots)
		}
		next := after(g.key)
		for _, s := range slots {
			if g.ok {
				err = h.foldMessage(ctx, s, g)
			}
			if err != nil {
				return err
			}
			s.active().meta.Next = next
		}
		budget--
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, s := range slots {
		s.ended, s.active().meta.Whole = true, true
	}
	return h.trim(slots)
}

func (h *Host) trim(slots []*slot) error {
	for _, s := range slots {
		if err := s.active().trim(h.config.bounds); err != nil {
			return err
		}
	}
	return nil
}

// foldMessage calls the guest for one message, where it is for this plugin.
func (h *Host) foldMessage(ctx context.Context, s *slot, g *given) error {
	p, m, k := s.active(), &g.m, g.key
	ok, err := s.accepts(p, *m, g.typ)
	if err != nil {
		return err
	}
	if !ok {
		return s.passed(p, *m, k)
	}
	p.openMessage()
	as, err := h.author(s, p, m.Sender, k)
	if err != nil {
		return err
	}
	keep := len(p.journal)
	out, err := h.callFold(ctx, s, p, g, as)
	if err != nil {
		p.revert(0)
		return fmt.Errorf("fold %s of %s: %w", m.ID, s.plugin().plugin.Name, err)
	}
	if out.reason != "" {
		p.revert(keep)
		kind := "r"
		if out.trapped {
			kind = "t"
		}
		p.fresh(orderKey(kindMark, k), []byte(kind+out.reason))
		p.meta.Marked++
		p.meta.Reason = out.reason
	}
	p.fresh(string(kindFolded)+string(k.ID[:]), []byte{})
	p.meta.Folded++
	p.closeMessage(k)
	return nil
}

// author returns role/kind of a sender and remembers the first message it was seen in.
func (h *Host) author(s *slot, p *projection, node graph.NodeID, k graph.Key) (string, error) {
	v, ok, err := p.read(kindAuthor, string(node[:]))
	if err != nil {
		return "", err
	}
	if ok {
		if as := v[40:]; string(as) != h.as {
			h.as = string(as)
		}
		return h.as, nil
	}
	as := attest(h.attestor, s.space.ID(), node)
	return as, p.write(kindAuthor, string(node[:]), []byte(orderKey(0, k)[1:]+as), true)
}

func (h *Host) callFold(ctx context.Context, s *slot, p *projection, g *given, as string) (outcome, error) {
	m, b := &g.m, abi.AppendMap(h.input[:0], 2)
	b = abi.AppendText(abi.AppendInt(b, abi.InPlugin), s.plugin().plugin.Name)
	b = g.cbor.append(abi.AppendInt(b, abi.InMessage), as)
	h.input = b
	c := &h.call
	h.world = foldWorld{host: h, slot: s, p: p, current: m.ID}
	*c = call{
		kind: callFold, spec: s.plugin(), input: b, time: int64(m.CreatedAt), seed: binary.LittleEndian.Uint64(m.ID[:]), gasLeft: s.plugin().gas,
		state: p, world: &h.world,
	}
	out, err := h.runFold(ctx, s.plugin().file, c)
	h.gas += uint64(c.gasUsed)
	h.logGuest(s.plugin().plugin.Name, m.ID, c, out)
	if h.config.observe != nil && err == nil {
		h.config.observe(Folded{Plugin: s.plugin().plugin.Name, Message: m.ID, Gas: c.gasUsed, Reason: out.reason, Trapped: out.trapped, Logs: c.logs})
	}
	return out, err
}

// runFold resets the file's instance and runs it.
func (h *Host) runFold(ctx context.Context, f *file, c *call) (outcome, error) {
	if h.config.timed {
		start := time.Now()
		defer func() { h.folding += time.Since(start) }()
	}
	inst, err := h.folder(ctx, f)
	if err != nil {
		return outcome{cutReason(err.Error()), true}, nil
	}
	return inst.run(ctx, abi.ExportFold, c)
}

func (h *Host) logGuest(plugin string, id graph.ID, c *call, out outcome) {
	if len(c.logs) > 0 {
		h.logger.Debug("plugin log", "plugin", plugin, "message", id.String(), "text", strings.Join(c.logs, ""))
	}
	if out.trapped {
		h.logger.Debug("plugin trapped", "plugin", plugin, "message", id.String(), "reason", out.reason)
	}
}

// foldWorld is what a fold sees: messages this plugin has folded, all of which come earlier in canonical order.
type foldWorld struct {
	host    *Host
	slot    *slot
	p       *projection
	current graph.ID
}

func (w *foldWorld) find(id string) (m graph.Message, ok bool, err error) {
	g, err := graph.ParseID(id)
	if err != nil {
		return m, false, nil // no message has such an ID
	}
	if ok, err := w.p.folded(g); !ok || err != nil {
		return m, false, err
	}
	return visible(w.slot.space, g)
}

// visible returns a visible message. One that was withdrawn meanwhile is absent; its record is still to come and will set it right.
func visible(space *graph.Space, id graph.ID) (m graph.Message, ok bool, err error) {
	st, err := space.Message(id)
	if errors.Is(err, graph.ErrNotFound) {
		return m, false, nil
	}
	if err != nil {
		return m, false, err
	}
	m, ok = st.Entry.Message()
	return m, ok, nil
}

func (w *foldWorld) message(id string) ([]byte, bool, error) {
	m, ok, err := w.find(id)
	if !ok || err != nil {
		return nil, false, err
	}
	v, _, err := w.p.read(kindAuthor, string(m.Sender[:]))
	if err != nil || len(v) < 40 {
		return nil, false, err
	}
	b, err := w.host.names.appendMessage(nil, m, string(v[40:]))
	return b, err == nil, err
}

// text is the verbatim JSON of the current message or an earlier one.
func (w *foldWorld) text(id string) ([]byte, bool, error) {
	if id == w.current.String() {
		return payloadText(w.slot.space, w.current)
	}
	m, ok, err := w.find(id)
	if !ok || err != nil {
		return nil, false, err
	}
	return payloadText(w.slot.space, m.ID)
}

func payloadText(space *graph.Space, id graph.ID) ([]byte, bool, error) {
	e, _, err := space.Entry(id)
	if errors.Is(err, graph.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return e.Body().Payload, true, nil
}

func (w *foldWorld) happenedBefore(a, b string) (bool, error) {
	x, errA := graph.ParseID(a)
	y, errB := graph.ParseID(b)
	if errA != nil || errB != nil {
		return false, nil
	}
	if y != w.current {
		if ok, err := w.p.folded(y); !ok || err != nil {
			return false, err
		}
	}
	return before(w.slot.space, x, y)
}

// before is false for an entry that isn't here: it can't lie in the past of one that is.
func before(space *graph.Space, a, b graph.ID) (bool, error) {
	ok, err := space.HappenedBefore(a, b)
	if errors.Is(err, graph.ErrNotFound) {
		return false, nil
	}
	return ok, err
}
