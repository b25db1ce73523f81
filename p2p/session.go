package p2p

// This file holds a sync session as the side that begins it runs it: fetch what is missing by name, greet, then go
// through the Spaces that differ.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/protocol"

	"plexus/graph"
	"plexus/graph/reconcile"
)

// The protocols beside libp2p's own and GossipSub.
const (
	protoSync protocol.ID = "/plexus/sync/1.0.0"
	protoJoin protocol.ID = "/plexus/join/1.0.0"
)

// session runs one job with a peer.
func (h *Host) session(ctx context.Context, l *link, j job) error {
	octx, cancel := context.WithTimeout(network.WithAllowLimitedConn(ctx, "sync"), openTimeout)
	defer cancel()
	s, err := h.host.NewStream(octx, l.peer, protoSync)
	if err != nil {
		return fmt.Errorf("open stream to %s: %w", l.peer, err)
	}
	stop := context.AfterFunc(ctx, func() { reset(s) })
	defer stop()
	w := newWire(s)
	if err := h.run(ctx, w, l, j); err != nil {
		reset(s)
		return err
	}
	if err := s.Close(); err != nil {
		return fmt.Errorf("close stream to %s: %w", l.peer, err)
	}
	return nil
}

func (h *Host) run(ctx context.Context, w *wire, l *link, j job) error {
	for space, ids := range j.fetch {
		deeper, err := h.fetch(ctx, w, l.node, space, ids)
		if err != nil {
			return err
		}
		if deeper && !j.all {
			if j.spaces == nil {
				j.spaces = map[graph.ID]bool{}
			}
			j.spaces[space] = true
		}
	}
	if !j.all && len(j.spaces) == 0 {
		return nil
	}
	g := h.network()
	if g == nil {
		return nil
	}
	if j.all {
		j.spaces = nil
	}
	return h.greet(ctx, w, l, *g, j.spaces)
}

// fetch asks for entries by ID. deeper says that what came has missing parents too: then the Space is gone through whole.
func (h *Host) fetch(ctx context.Context, w *wire, from graph.NodeID, space graph.ID, ids map[graph.ID]bool) (deeper bool, err error) {
	sp, err := h.space(space[:])
	if err != nil {
		return false, nil // gone with its Network
	}
	var lacking []graph.ID
	for id := range ids {
		if !sp.Has(id) {
			lacking = append(lacking, id)
		}
	}
	if len(lacking) == 0 {
		return false, nil
	}
	missing, err := h.wantBlocks(ctx, w, from, sp, lacking)
	return len(missing) > 0, err
}

// wantBlocks asks for blocks by ID and takes them in.
func (h *Host) wantBlocks(ctx context.Context, w *wire, from graph.NodeID, sp *graph.Space, ids []graph.ID) ([]graph.ID, error) {
	space := sp.ID()
	if err := w.send(frameWant, want{Space: space[:], IDs: packIDs(ids)}); err != nil {
		return nil, err
	}
	_, missing, err := h.receive(ctx, w, from, sp)
	return missing, err
}

// greet exchanges hellos and goes through what differs.
func (h *Host) greet(ctx context.Context, w *wire, l *link, g graph.Genesis, only map[graph.ID]bool) error {
	st := h.statsOf(l.node)
	ours := h.ours(g.ID, only)
	at := h.cfg.Now()
	begun := time.Now()
	if err := sendGreeting(w, ours); err != nil {
		return err
	}
	t, body, err := w.next(answerTimeout)
	if err != nil {
		return err
	}
	rtt := time.Since(begun)
	if t == frameRefuse {
		return parseAs(frameHello, nil, t, body)
	}
	if t != frameHello {
		return breachf("frame %d where a hello was due", t)
	}
	theirs, err := takeGreeting(w, body)
	if err != nil {
		return err
	}
	if theirs.network != g.ID {
		return fmt.Errorf("peer %s is in another network now: %w", l.node, graph.ErrForbidden)
	}
	st.greeted(at, rtt, theirs.at)
	h.learnRecords(g.ID, theirs.records, true)
	if err := h.swapGenesis(ctx, w, l.node, &ours, &theirs); err != nil {
		return err
	}
	h.note(st, ours, theirs)
	if err := h.settle(ctx, w, l, st, ours, theirs); err != nil {
		return err
	}
	if only == nil {
		st.done(h.cfg.Now())
		l.met(time.Now())
	}
	return nil
}

// swapGenesis gives and gets the genesis blocks of Spaces that one side lacks, and notes them in the greetings.
func (h *Host) swapGenesis(ctx context.Context, w *wire, from graph.NodeID, ours, theirs *greeting) error {
	lack, give := unknown(*ours, *theirs), unknown(*theirs, *ours)
	for len(lack) > 0 || len(give) > 0 {
		l, g := lack[:min(len(lack), maxListed)], give[:min(len(give), maxListed)]
		lack, give = lack[len(l):], give[len(g):]
		if err := w.send(frameGenesis, genesis{Blocks: h.genesisBlocks(g), Want: packIDs(l)}); err != nil {
			return err
		}
		var answer genesis
		if err := w.expect(frameGenesis, &answer, answerTimeout); err != nil {
			return err
		}
		made, err := h.adopt(ctx, from, answer.Blocks)
		if err != nil {
			return err
		}
		none := graph.Digest{}
		for _, id := range made {
			ours.spaces[id] = none // differs from whatever they have but nothing
			if sp, err := h.cfg.Log.Space(id); err == nil {
				ours.spaces[id] = sp.Digest()
			}
		}
		accepted, err := unpackIDs(answer.Want)
		if err != nil {
			return err
		}
		for _, id := range accepted {
			if _, ok := ours.spaces[id]; ok {
				theirs.spaces[id] = none
			}
		}
	}
	return nil
}

// note marks what is the same by the greetings.
func (h *Host) note(st *peerStats, ours, theirs greeting) {
	for id, d := range ours.spaces {
		if o, ok := theirs.spaces[id]; ok && o == d {
			st.same(id, d)
		}
	}
}

// settle goes through the Spaces that differ, one after the other, and now and then audits one that doesn't seem to.
func (h *Host) settle(ctx context.Context, w *wire, l *link, st *peerStats, ours, theirs greeting) error {
	for _, id := range differing(ours, theirs) {
		sp, err := h.space(id[:])
		if err != nil {
			continue
		}
		var no *refused
		if err := h.level(ctx, w, l.node, st, sp); err != nil && !errors.As(err, &no) {
			return fmt.Errorf("space %s: %w", id, err)
		}
	}
	if ours.part || !l.auditDue(h.cfg.AuditEvery) {
		return nil
	}
	all := h.spaces(ours.network)
	sp := all[rand.IntN(len(all))]
	if _, ok := theirs.spaces[sp.ID()]; !ok {
		return nil
	}
	r, ok, err := reconcile.Sample(ctx, sp, rand.Uint64(), auditIDs)
	if err != nil || !ok {
		return err
	}
	_, err = h.byRanges(ctx, w, l.node, sp, reconcile.Options{Frame: maxRange, Audit: []reconcile.Range{r}})
	return err
}

// auditDue says whether it is time to audit, and sets the clock anew.
func (l *link) auditDue(every time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.audited.IsZero() {
		l.audited = time.Now().Add(-rand.N(every))
	}
	if time.Since(l.audited) < every {
		return false
	}
	l.audited = time.Now()
	return true
}

// level brings one Space level with a peer: by frontiers while that moves anything, else by ranges.
func (h *Host) level(ctx context.Context, w *wire, from graph.NodeID, st *peerStats, sp *graph.Space) error {
	h.join(sp.ID())
	for range maxFrontiers {
		t, err := h.byFrontier(ctx, w, from, st, sp)
		if err != nil {
			return err
		}
		if t.equal() {
			st.same(sp.ID(), t.ours)
			return nil
		}
		st.differs(differ(sp.ID(), t))
		if t.sent+t.got > 0 && len(t.stillToArrive) == 0 {
			continue
		}
		moved, err := h.byRanges(ctx, w, from, sp, reconcile.Options{Frame: maxRange})
		if err != nil {
			return err
		}
		if moved == 0 {
			return nil // what differs is held: for its time, or for a grant
		}
	}
	return nil
}

// differ says how far two digests are apart: by their counts, and by one at least.
func differ(space graph.ID, t traded) SpaceDiffer {
	d := SpaceDiffer{Space: space}
	switch {
	case t.theirs.Count > t.ours.Count:
		d.Missing = t.theirs.Count - t.ours.Count
	case t.ours.Count > t.theirs.Count:
		d.Ahead = t.ours.Count - t.theirs.Count
	default:
		d.Missing, d.Ahead = 1, 1
	}
	return d
}

func (h *Host) byFrontier(ctx context.Context, w *wire, from graph.NodeID, st *peerStats, sp *graph.Space) (traded, error) {
	space := sp.ID()
	if err := w.put(frameOpen, open{space[:]}); err != nil {
		return traded{}, err
	}
	ours, err := h.sendFrontier(ctx, w, sp)
	if err != nil {
		return traded{}, err
	}
	theirs, err := takeFrontier(w)
	if err != nil {
		return traded{}, err
	}
	st.compared(space, ours, theirs)
	return h.trade(ctx, w, from, sp, theirs)
}

// byRanges finds the difference by range reconciliation and transfers it, both ways. moved counts the entries.
func (h *Host) byRanges(ctx context.Context, w *wire, from graph.NodeID, sp *graph.Space, o reconcile.Options) (moved int, err error) {
	s := reconcile.NewSession(sp, true, o)
	msg, err := s.Initiate(ctx)
	if err != nil {
		return 0, fmt.Errorf("reconcile: %w", err)
	}
	space := sp.ID()
	for first := true; msg != nil; first = false {
		if err := w.send(frameRange, ranges{Space: space[:], Message: msg, First: first}); err != nil {
			return moved, err
		}
		var answer ranges
		if err := w.expect(frameRange, &answer, answerTimeout); err != nil {
			return moved, err
		}
		out, have, lack, err := s.Step(ctx, answer.Message)
		if err != nil && !errors.Is(err, graph.ErrTooLarge) {
			if errors.Is(err, graph.ErrInvalid) {
				return moved, breachf("%v", err)
			}
			return moved, err
		}
		n, terr := h.transfer(ctx, w, from, sp, have, lack)
		moved += n
		if terr != nil {
			return moved, terr
		}
		if err != nil {
			return moved, err // found so far isn't all
		}
		msg = out
	}
	return moved, nil
}

// transfer fetches what we lack and pushes what the peer lacks.
func (h *Host) transfer(ctx context.Context, w *wire, from graph.NodeID, sp *graph.Space, have, lack []graph.ID) (moved int, err error) {
	space := sp.ID()
	for ; len(lack) > 0; lack = lack[min(len(lack), maxIDs):] {
		part := lack[:min(len(lack), maxIDs)]
		before := sp.Digest().Count
		if _, err := h.wantBlocks(ctx, w, from, sp, part); err != nil {
			return moved, err
		}
		moved += int(sp.Digest().Count - before)
	}
	for ; len(have) > 0; have = have[min(len(have), maxIDs):] {
		part := have[:min(len(have), maxIDs)]
		if err := w.put(framePush, push{space[:]}); err != nil {
			return moved, err
		}
		if err := sendBlocks(w, sp, part); err != nil {
			return moved, err
		}
		if _, err := takeState(w); err != nil {
			return moved, err
		}
		moved += len(part)
	}
	return moved, nil
}
