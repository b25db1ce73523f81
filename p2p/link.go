package p2p

// This file holds the connected members: a link, with a goroutine of its own, for each.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/host/eventbus"

	"plexus/graph"
)

// memberTag protects members from the connection manager's trimming.
const memberTag = "plexus-member"

// link is one connected member. Its goroutine runs the sessions that this side begins.
type link struct {
	peer   peer.ID
	node   graph.NodeID
	born   time.Time
	cancel context.CancelFunc
	wake   chan struct{}

	mu      sync.Mutex // owns what follows
	todo    job
	inbound int
	last    time.Time // of the last whole handshake, by either side
	audited time.Time
}

// job is what a session is to do.
type job struct {
	all    bool                           // the whole handshake
	spaces map[graph.ID]bool              // these Spaces
	fetch  map[graph.ID]map[graph.ID]bool // Space → entries to fetch by ID
}

func (j job) empty() bool { return !j.all && len(j.spaces) == 0 && len(j.fetch) == 0 }

// ask puts work in the link's way and wakes it.
func (l *link) ask(f func(*job)) {
	l.mu.Lock()
	f(&l.todo)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *link) askSpace(id graph.ID) {
	l.ask(func(j *job) {
		if j.spaces == nil {
			j.spaces = map[graph.ID]bool{}
		}
		j.spaces[id] = true
	})
}

// askFetch asks for entries by ID; beyond the bound, for the whole Space.
func (l *link) askFetch(space graph.ID, ids []graph.ID) {
	l.ask(func(j *job) {
		if j.fetch == nil {
			j.fetch = map[graph.ID]map[graph.ID]bool{}
		}
		if j.fetch[space] == nil {
			j.fetch[space] = map[graph.ID]bool{}
		}
		for _, id := range ids {
			if len(j.fetch[space]) < fetchIDs {
				j.fetch[space][id] = true
			}
		}
	})
}

func (l *link) take() job {
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.todo
	l.todo = job{}
	return j
}

func (l *link) met(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = at
}

func (l *link) since() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.last)
}

// enter counts an inbound stream in; false: the peer has too many open.
func (l *link) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inbound >= maxInbound {
		return false
	}
	l.inbound++
	return true
}

func (l *link) exit() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inbound--
}

func (h *Host) subscribe() (event.Subscription, error) {
	sub, err := h.host.EventBus().Subscribe([]any{
		new(event.EvtPeerConnectednessChanged), new(event.EvtPeerIdentificationCompleted),
		new(event.EvtLocalAddressesUpdated),
	}, eventbus.BufSize(1024), eventbus.Name("plexus"))
	if err != nil {
		return nil, fmt.Errorf("watch connections: %w", err)
	}
	return sub, nil
}

// watch turns libp2p's events into links until ctx ends.
func (h *Host) watch(ctx context.Context, sub event.Subscription) error {
	for _, p := range h.host.Network().Peers() { // connected between New and Run
		h.reconsider(p)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case ev, ok := <-sub.Out():
			if !ok {
				return nil // the host was closed
			}
			switch ev := ev.(type) {
			case event.EvtPeerConnectednessChanged:
				h.reconsider(ev.Peer)
			case event.EvtPeerIdentificationCompleted:
				h.identified(ev)
			case event.EvtLocalAddressesUpdated:
				h.redial.reset() // another network, perhaps: what was out of reach may be near
			}
		}
	}
}

// identified is called for each connection, also one that took another's place so fast that connectedness never changed.
func (h *Host) identified(ev event.EvtPeerIdentificationCompleted) {
	p := ev.Peer
	if h.member(p) {
		h.remember(p, h.cfg.Now(), ev.SignedPeerRecord)
		h.freshen(p, ev.Conn)
	}
	h.reconsider(p)
	if l := h.linkOf(p); l != nil && time.Since(l.born) > headStart {
		l.ask(func(j *job) { j.all = true })
	}
}

func (h *Host) connected(p peer.ID) bool {
	c := h.host.Network().Connectedness(p)
	return c == network.Connected || c == network.Limited
}

// reconsider brings what we keep of a peer in line with whether it is connected and whether it is a member.
func (h *Host) reconsider(p peer.ID) {
	connected, member := h.connected(p), h.member(p)
	h.mu.Lock()
	l, guest := h.links[p], h.guests[p]
	closing := h.closed || h.begin == nil
	h.mu.Unlock()
	switch {
	case closing:
	case !connected:
		h.unlink(p)
	case member && guest != nil:
		h.turn(p, guest)
	case member && l == nil:
		h.link(p)
	case !member && l != nil:
		h.log.Info("peer is no member any more", "peer", p)
		h.unlink(p)
		h.disconnect(p)
	case !member && guest == nil:
		h.welcome(p)
	}
}

// link begins a member's link.
func (h *Host) link(p peer.ID) {
	n, err := nodeID(p)
	if err != nil {
		return
	}
	h.mu.Lock()
	if h.links[p] != nil || h.closed || h.begin == nil {
		h.mu.Unlock()
		return
	}
	ctx, cancel := context.WithCancel(context.Background()) // ends with the link, and with Run
	l := &link{peer: p, node: n, born: time.Now(), cancel: cancel, wake: make(chan struct{}, 1)}
	h.links[p] = l
	h.mu.Unlock()
	h.host.ConnManager().Protect(p, memberTag)
	h.redial.found(n)
	h.log.Info("connected", "peer", p)
	h.task(func(run context.Context) {
		defer context.AfterFunc(run, cancel)()
		h.serve(ctx, l)
	})
}

// unlink forgets a peer that has gone.
func (h *Host) unlink(p peer.ID) {
	h.mu.Lock()
	l := h.links[p]
	delete(h.links, p)
	h.forget(p)
	h.mu.Unlock()
	if l == nil {
		return
	}
	l.cancel()
	h.host.ConnManager().Unprotect(p, memberTag)
	h.remember(p, h.cfg.Now(), nil)
	h.redial.lost(l.node)
	h.log.Info("disconnected", "peer", p)
}

// linkOf returns a connected member's link, or nil.
func (h *Host) linkOf(p peer.ID) *link {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.links[p]
}

// allLinks returns the links there are.
func (h *Host) allLinks() []*link {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]*link, 0, len(h.links))
	for _, l := range h.links {
		out = append(out, l)
	}
	return out
}

// alone says whether there is no link.
func (h *Host) alone() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.links) == 0
}

// serve runs the sessions that this side begins with a peer: at once where we dialled, later where the other did (it
// begins), then by the timer and whenever asked.
func (h *Host) serve(ctx context.Context, l *link) {
	defer l.cancel()
	wait := headStart
	if h.outbound(l.peer) {
		wait = 0
	}
	failures, next := 0, time.Now().Add(wait)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		due := false
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		case <-timer.C:
			due = l.since() > h.cfg.SyncEvery/2
			next = time.Now().Add(h.nextRound(0))
		}
		j := l.take()
		j.all = j.all || due
		if !j.empty() {
			before := failures
			if failures = h.attempt(ctx, l, j, failures); failures > before {
				next = time.Now().Add(h.nextRound(failures))
			}
		}
		timer.Reset(max(time.Until(next), 0))
	}
}

// attempt runs one session and says how many have failed in a row.
func (h *Host) attempt(ctx context.Context, l *link, j job, failures int) int {
	err := h.session(ctx, l, j)
	if j.all {
		h.first.done(l.node)
	}
	if err == nil || ctx.Err() != nil {
		return 0
	}
	h.fault(l.peer, fmt.Errorf("sync: %w", err))
	return failures + 1
}

// nextRound is when the timer begins a session: jittered, so that hosts don't fall into step; sooner after a failure.
func (h *Host) nextRound(failures int) time.Duration {
	d := h.cfg.SyncEvery
	if failures > 0 {
		d = min(d, firstRetry<<min(failures-1, 16))
	}
	return d/2 + rand.N(d)
}

// outbound says whether it was us who dialled.
func (h *Host) outbound(p peer.ID) bool {
	conns := h.host.Network().ConnsToPeer(p)
	return len(conns) > 0 && conns[0].Stat().Direction == network.DirOutbound
}

// fault takes the measure of an error with a peer: a breach of protocol costs it the connection.
func (h *Host) fault(p peer.ID, err error) {
	var b *breach
	if !errors.As(err, &b) {
		h.log.Debug("peer", "peer", p, "err", err)
		return
	}
	d := h.gate.ban(p)
	h.log.Warn("peer broke the protocol: disconnected", "peer", p, "for", d, "err", err)
	h.unlink(p)
	h.disconnect(p)
}

// handle wraps a protocol's handler: its stream is reset when Run ends or the handler fails, and Run waits for it.
func (h *Host) handle(f func(ctx context.Context, w *wire, p peer.ID) error) network.StreamHandler {
	return func(s network.Stream) {
		ctx, ok := h.enter()
		if !ok {
			reset(s)
			return
		}
		defer h.tasks.Done()
		stop := context.AfterFunc(ctx, func() { reset(s) })
		defer stop()
		p := s.Conn().RemotePeer()
		if err := f(ctx, newWire(s), p); err != nil {
			reset(s)
			h.fault(p, fmt.Errorf("%s: %w", s.Protocol(), err))
			return
		}
		if err := s.Close(); err != nil {
			h.log.Debug("close stream", "peer", p, "err", err)
		}
	}
}

// reset ends a stream both ways; there is nothing to be done about an error.
func reset(s network.Stream) { _ = s.Reset() }
