package p2p

// This file holds a sync session as the side that is asked runs it: each frame is a request.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"plexus/graph"
	"plexus/graph/reconcile"
)

// answering is one inbound session.
type answering struct {
	h       *Host
	w       *wire
	l       *link
	st      *peerStats
	greets  bool               // a whole handshake was part of it
	greeted time.Time          // our greeting went out and nothing came since
	ranges  *reconcile.Session // of the Space in hand
	space   graph.ID
}

// answerSync serves a member's stream. Who is no member gets its stream reset, without a byte.
func (h *Host) answerSync(ctx context.Context, w *wire, p peer.ID) error {
	if !h.member(p) {
		return fmt.Errorf("peer is no member: %w", graph.ErrForbidden)
	}
	l := h.linkOf(p)
	if l == nil {
		h.reconsider(p)
		if l = h.linkOf(p); l == nil {
			return fmt.Errorf("peer has no link: %w", graph.ErrUnavailable)
		}
	}
	if !l.enter() {
		return w.send(frameRefuse, refuse{"busy"})
	}
	defer l.exit()
	a := &answering{h: h, w: w, l: l, st: h.statsOf(l.node)}
	for {
		t, body, err := w.next(answerTimeout)
		a.roundTrip()
		if errors.Is(err, io.EOF) {
			a.finish()
			return nil
		}
		if err != nil {
			return err
		}
		if err := a.answer(ctx, t, body); err != nil {
			return err
		}
	}
}

// roundTrip measures from our greeting to what came next: the side that is asked has no better way.
func (a *answering) roundTrip() {
	if !a.greeted.IsZero() {
		a.st.latent(time.Since(a.greeted))
		a.greeted = time.Time{}
	}
}

// finish notes a whole handshake that came to its end.
func (a *answering) finish() {
	if a.greets {
		a.st.done(a.h.cfg.Now())
		a.l.met(time.Now())
		a.h.first.done(a.l.node)
	}
}

func (a *answering) answer(ctx context.Context, t frameType, body []byte) error {
	switch t {
	case frameHello:
		return a.hello(body)
	case frameGenesis:
		return a.genesis(ctx, body)
	case frameOpen:
		return a.open(ctx, body)
	case frameRange:
		return a.byRanges(ctx, body)
	case frameWant:
		return a.want(body)
	case framePush:
		return a.push(ctx, body)
	default:
		return breachf("frame %d where a request was due", t)
	}
}

func (a *answering) hello(body []byte) error {
	g := a.h.network()
	theirs, err := takeGreeting(a.w, body)
	if err != nil {
		return err
	}
	if g == nil || theirs.network != g.ID {
		return a.w.send(frameRefuse, refuse{"network"})
	}
	var only map[graph.ID]bool
	if theirs.part {
		only = map[graph.ID]bool{}
		for id := range theirs.spaces {
			only[id] = true
		}
	}
	a.greets = a.greets || !theirs.part
	a.st.greeted(a.h.cfg.Now(), 0, theirs.at)
	a.h.learnRecords(g.ID, theirs.records, true)
	ours := a.h.ours(g.ID, only)
	a.h.note(a.st, ours, theirs)
	a.greeted = time.Now()
	return sendGreeting(a.w, ours)
}

// genesis takes blocks we lack and gives those asked for; Want in the answer names what we have of those offered.
func (a *answering) genesis(ctx context.Context, body []byte) error {
	var f genesis
	if err := parse(body, &f); err != nil {
		return err
	}
	ids, err := unpackIDs(f.Want)
	if err != nil {
		return err
	}
	if len(ids) > maxListed || len(f.Blocks) > maxListed {
		return breachf("%d genesis blocks and %d wanted", len(f.Blocks), len(ids))
	}
	made, err := a.h.adopt(ctx, a.l.node, f.Blocks)
	if err != nil {
		return err
	}
	return a.w.send(frameGenesis, genesis{Blocks: a.h.genesisBlocks(ids), Want: packIDs(made)})
}

// open is the exchange by frontiers.
func (a *answering) open(ctx context.Context, body []byte) error {
	var f open
	if err := parse(body, &f); err != nil {
		return err
	}
	theirs, err := takeFrontier(a.w)
	if err != nil {
		return err
	}
	sp, err := a.h.space(f.Space)
	if err != nil {
		return a.refuse(err)
	}
	ours, err := a.h.sendFrontier(ctx, a.w, sp)
	if err != nil {
		return err
	}
	a.h.join(sp.ID())
	a.st.compared(sp.ID(), ours, theirs)
	t, err := a.h.trade(ctx, a.w, a.l.node, sp, theirs)
	if err != nil {
		return err
	}
	if t.equal() {
		a.st.same(sp.ID(), t.ours)
	} else {
		a.st.differs(differ(sp.ID(), t))
	}
	return nil
}

// byRanges answers one message of range reconciliation.
func (a *answering) byRanges(ctx context.Context, body []byte) error {
	var f ranges
	if err := parse(body, &f); err != nil {
		return err
	}
	sp, err := a.h.space(f.Space)
	if err != nil {
		return a.refuse(err)
	}
	if f.First {
		a.ranges, a.space = reconcile.NewSession(sp, false, reconcile.Options{Frame: maxRange}), sp.ID()
	}
	if a.ranges == nil || a.space != sp.ID() {
		return breachf("a range message without a beginning")
	}
	out, _, _, err := a.ranges.Step(ctx, f.Message)
	if err != nil {
		if errors.Is(err, graph.ErrInvalid) || errors.Is(err, graph.ErrTooLarge) {
			return breachf("%v", err)
		}
		return err
	}
	return a.w.send(frameRange, ranges{Space: f.Space, Message: out})
}

func (a *answering) want(body []byte) error {
	var f want
	if err := parse(body, &f); err != nil {
		return err
	}
	ids, err := unpackIDs(f.IDs)
	if err != nil {
		return err
	}
	sp, err := a.h.space(f.Space)
	if err != nil {
		return a.refuse(err)
	}
	return sendBlocks(a.w, sp, ids)
}

// push takes blocks in and answers with the digest after them.
func (a *answering) push(ctx context.Context, body []byte) error {
	var f push
	if err := parse(body, &f); err != nil {
		return err
	}
	sp, err := a.h.space(f.Space)
	if err != nil {
		return err // blocks follow: there is no way to say no but to end
	}
	if _, _, err := a.h.receive(ctx, a.w, a.l.node, sp); err != nil {
		return err
	}
	d := sp.Digest()
	return a.w.send(frameState, state{Count: d.Count, Heads: d.Heads[:]})
}

// refuse answers a request for what isn't here.
func (a *answering) refuse(err error) error {
	if !errors.Is(err, graph.ErrNotFound) {
		return err
	}
	return a.w.send(frameRefuse, refuse{"space"})
}
