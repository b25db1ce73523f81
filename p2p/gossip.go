package p2p

// This file holds gossip: a GossipSub topic for each Space, whose validator is the one way in. A message is a block,
// its ID is the block's. What gossip loses, sync finds.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"

	"plexus/graph"
)

const topicPrefix = "/plexus/1/"

// gossip is the pubsub router and its topics.
type gossip struct {
	h       *Host
	ps      *pubsub.PubSub
	arrived arrivals

	mu     sync.Mutex // owns what follows
	topics map[graph.ID]*topic
}

// topic is one Space's.
type topic struct {
	space *graph.Space
	topic *pubsub.Topic
	since time.Time     // joined; until a heartbeat has grafted peers, what is published may reach nobody
	in    chan delivery // unbuffered: validators wait in line, as many as their concurrency allows
	relay pubsub.RelayCancelFunc
	left  chan struct{} // closed when the topic is left
}

// delivery is a verified entry on its way to the Space, whose validator waits for the verdict.
type delivery struct {
	entry   *graph.Entry
	from    peer.ID
	verdict chan<- pubsub.ValidationResult
}

func newGossip(ctx context.Context, h *Host) (*gossip, error) {
	g := &gossip{h: h, topics: map[graph.ID]*topic{}}
	ps, err := pubsub.NewGossipSub(
		ctx, &memberHost{Host: h.host, member: h.member},
		pubsub.WithMessageSignaturePolicy(pubsub.StrictNoSign), // the block is signed
		pubsub.WithNoAuthor(),
		pubsub.WithMessageIdFn(messageID),
		pubsub.WithPeerFilter(func(p peer.ID, _ string) bool { return h.member(p) }),
		pubsub.WithFloodPublish(false), // it goes round the peer filter
		pubsub.WithMaxMessageSize(maxGossip),
		pubsub.WithPeerOutboundQueueSize(outboundQueue),
		pubsub.WithValidateQueueSize(outboundQueue),
		pubsub.WithPeerExchange(false),
		pubsub.WithRawTracer(meshed{h}),
	)
	if err != nil {
		return nil, fmt.Errorf("gossip: %w", err)
	}
	g.ps = ps
	return g, nil
}

// messageID is the block's ID.
func messageID(m *pb.Message) string {
	id := graph.BlockID(m.Data)
	return string(id[:])
}

// memberHost is the libp2p host as GossipSub sees it: it can open no stream to a guest and gets none from one, so
// that a guest doesn't even learn which topics there are.
type memberHost struct {
	host.Host
	member func(peer.ID) bool
}

func (m *memberHost) NewStream(ctx context.Context, p peer.ID, protos ...protocol.ID) (network.Stream, error) {
	if !m.member(p) {
		return nil, fmt.Errorf("gossip with %s: %w", p, graph.ErrForbidden)
	}
	return m.Host.NewStream(ctx, p, protos...)
}

func (m *memberHost) SetStreamHandler(id protocol.ID, f network.StreamHandler) {
	m.Host.SetStreamHandler(id, m.only(f))
}

func (m *memberHost) SetStreamHandlerMatch(id protocol.ID, match func(protocol.ID) bool, f network.StreamHandler) {
	m.Host.SetStreamHandlerMatch(id, match, m.only(f))
}

func (m *memberHost) only(f network.StreamHandler) network.StreamHandler {
	return func(s network.Stream) {
		if !m.member(s.Conn().RemotePeer()) {
			reset(s)
			return
		}
		f(s)
	}
}

// join makes a Space's topic; false: it was there, or gossip hasn't begun.
func (h *Host) join(space graph.ID) bool {
	g := h.gossiping()
	if g == nil {
		return false
	}
	sp, err := h.space(space[:])
	if err != nil {
		return false
	}
	made, err := g.join(sp)
	if err != nil {
		h.log.Error("join topic", "space", space, "err", err)
	}
	return made
}

// gossiping returns the router while Run runs, else nil.
func (h *Host) gossiping() *gossip {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.begin == nil || h.closed {
		return nil
	}
	return h.gossip
}

func (g *gossip) join(sp *graph.Space) (made bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	id := sp.ID()
	if g.topics[id] != nil {
		return false, nil
	}
	t := &topic{space: sp, since: time.Now(), in: make(chan delivery), left: make(chan struct{})}
	name := topicPrefix + id.String()
	check := func(ctx context.Context, from peer.ID, m *pubsub.Message) pubsub.ValidationResult {
		return g.validate(ctx, t, from, m)
	}
	if err := g.ps.RegisterTopicValidator(name, check, pubsub.WithValidatorConcurrency(maxPending)); err != nil {
		return false, fmt.Errorf("validate topic %s: %w", name, err)
	}
	if t.topic, err = g.ps.Join(name); err != nil {
		return false, fmt.Errorf("join topic %s: %w", name, err)
	}
	// Relay is being in the mesh without a queue to read: readers follow the Log.
	if t.relay, err = t.topic.Relay(); err != nil {
		return false, fmt.Errorf("relay topic %s: %w", name, err)
	}
	g.topics[id] = t
	g.h.task(func(ctx context.Context) { g.deliver(ctx, t) })
	return true, nil
}

// leave gives up the topics of Spaces that are of another Network than the current one.
func (g *gossip) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, t := range g.topics {
		if g.h.current(t.space) {
			continue
		}
		delete(g.topics, id)
		close(t.left)
		t.relay()
		if err := errors.Join(t.topic.Close(), g.ps.UnregisterTopicValidator(t.topic.String())); err != nil && g.h.running() {
			g.h.log.Warn("leave topic", "space", id, "err", err)
		}
	}
}

// validate is the topic's validator, run in a goroutine of its own for each message.
func (g *gossip) validate(ctx context.Context, t *topic, from peer.ID, m *pubsub.Message) pubsub.ValidationResult {
	if from == g.h.host.ID() {
		return pubsub.ValidationAccept
	}
	if !g.h.member(from) || !g.h.current(t.space) {
		return pubsub.ValidationIgnore
	}
	e, err := graph.Decode(m.Data)
	if err == nil && e.Body().Space != t.space.ID() {
		err = fmt.Errorf("entry %s is of another space: %w", e.ID(), graph.ErrInvalid)
	}
	if err != nil {
		v := verdict(err)
		if v == pubsub.ValidationReject {
			g.h.fault(from, breachf("gossip: %v", err))
		}
		return v
	}
	answer := make(chan pubsub.ValidationResult, 1)
	select {
	case t.in <- delivery{e, from, answer}:
	case <-t.left:
		return pubsub.ValidationIgnore
	case <-ctx.Done():
		return pubsub.ValidationIgnore
	}
	select {
	case v := <-answer:
		return v
	case <-t.left:
		return pubsub.ValidationIgnore
	case <-ctx.Done():
		return pubsub.ValidationIgnore
	}
}

// current says whether a Space belongs to the Network we are in now.
func (h *Host) current(sp *graph.Space) bool {
	n := h.network()
	return n != nil && (sp.ID() == n.ID || sp.Genesis().Network == n.ID)
}

// verdict maps an error to what GossipSub makes of it (protocol.md §9): reject costs the sender, ignore costs nobody.
func verdict(err error) pubsub.ValidationResult {
	switch {
	case err == nil:
		return pubsub.ValidationAccept
	case errors.Is(err, graph.ErrInvalid), errors.Is(err, graph.ErrTooLarge):
		return pubsub.ValidationReject
	default:
		return pubsub.ValidationIgnore
	}
}

// deliver adds what came for one Space, as many at a time as have gathered.
func (g *gossip) deliver(ctx context.Context, t *topic) {
	for {
		var batch []delivery
		select {
		case <-ctx.Done():
			return
		case <-t.left:
			return
		case d := <-t.in:
			batch = append(batch, d)
		}
		for more := true; more && len(batch) < gossipBatch; {
			select {
			case d := <-t.in:
				batch = append(batch, d)
			default:
				more = false
			}
		}
		for len(batch) > 0 {
			from, rest := batch[0].from, batch[:0:0]
			var same []delivery
			for _, d := range batch {
				if d.from == from {
					same = append(same, d)
				} else {
					rest = append(rest, d)
				}
			}
			g.add(ctx, t, from, same)
			batch = rest
		}
	}
}

// add takes in what one peer delivered and tells each validator its verdict.
func (g *gossip) add(ctx context.Context, t *topic, from peer.ID, batch []delivery) {
	entries := make([]*graph.Entry, len(batch))
	for i, d := range batch {
		entries[i] = d.entry
	}
	n, err := nodeID(from)
	var res graph.AddResult
	if err == nil {
		res, err = g.h.admit(ctx, n, t.space, entries)
	}
	verdicts := map[graph.ID]pubsub.ValidationResult{}
	for _, id := range res.Held {
		verdicts[id] = pubsub.ValidationIgnore
	}
	for _, r := range res.Refused {
		verdicts[r.ID] = verdict(r)
	}
	for _, d := range batch {
		v, ok := verdicts[d.entry.ID()]
		if !ok {
			v = verdict(err)
		}
		d.verdict <- v
	}
	if err != nil && ctx.Err() == nil {
		g.h.log.Error("gossip", "space", t.space.ID(), "err", err)
	}
	if len(res.Refused) > 0 {
		g.h.fault(from, breachf("gossip: %v", res.Refused[0]))
	}
	if len(res.Missing) > 0 {
		g.h.ask(from, t.space.ID(), res.Missing)
	}
}

// ask has missing parents fetched from the peer whose entry named them: it has them.
func (h *Host) ask(p peer.ID, space graph.ID, missing []graph.ID) {
	if l := h.linkOf(p); l != nil {
		l.askFetch(space, missing[:min(len(missing), fetchIDs)])
	}
}

// publish follows the Log and gossips what was said here. A peer's entry was gossiped by its author; what gossip lost, sync carries.
func (h *Host) publish(ctx context.Context) {
	for st, err := range h.cfg.Log.Tail(ctx, h.cfg.Log.Last()) {
		if err != nil {
			if ctx.Err() == nil {
				h.log.Error("gossip follows the log no more", "err", err)
			}
			return
		}
		if st.Event == graph.Withdrawn || h.gossip.arrived.take(st.Entry.ID()) {
			continue
		}
		b := st.Entry.Body()
		if h.cfg.Now().Sub(b.Time.Std()) > gossipFresh {
			continue // imported, or shown late by a grant
		}
		h.join(b.Space)
		if h.alone() {
			continue // a peer that comes is synced with at once
		}
		if t := h.gossip.topic(b.Space); t != nil {
			if err := t.topic.Publish(ctx, st.Entry.Block()); err != nil && ctx.Err() == nil {
				h.log.Debug("publish", "entry", st.Entry.ID(), "err", err)
			}
			if time.Since(t.since) < graftTime {
				h.askEach(b.Space)
			}
		}
	}
}

// askEach has a Space compared with every peer.
func (h *Host) askEach(space graph.ID) {
	for _, l := range h.allLinks() {
		l.askSpace(space)
	}
}

func (g *gossip) topic(space graph.ID) *topic {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.topics[space]
}
