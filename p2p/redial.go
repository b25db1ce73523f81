package p2p

// This file holds how hosts meet again: known members are dialled with growing pauses, and found on the LAN and, where
// asked for, by a DHT.

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/discovery/mdns"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	ma "github.com/multiformats/go-multiaddr"

	"plexus/graph"
)

// redial dials members that aren't connected.
type redial struct {
	h    *Host
	wake chan struct{}

	mu    sync.Mutex // owns what follows
	state map[graph.NodeID]*absence
	busy  int
}

// absence is one member out of reach.
type absence struct {
	next    time.Time // not dialled before
	pause   time.Duration
	dialing bool
}

func newRedial(h *Host) *redial {
	return &redial{h: h, wake: make(chan struct{}, 1), state: map[graph.NodeID]*absence{}}
}

func (r *redial) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// run dials whoever is due until ctx ends.
func (r *redial) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-r.wake:
		}
		timer.Reset(r.round())
	}
}

// round begins dials to those due and returns when to look again.
func (r *redial) round() time.Duration {
	h := r.h
	g := h.network()
	if g == nil || h.Offline() {
		h.first.begin(nil)
		return maxRedial
	}
	wait := maxRedial
	var waitFor []graph.NodeID
	for _, m := range h.members() {
		p, err := peerID(m.ID)
		if err != nil {
			continue
		}
		if h.connected(p) {
			waitFor = append(waitFor, m.ID)
			continue
		}
		addrs := h.addrsOf(*g, m.ID, p)
		if len(addrs) == 0 {
			continue
		}
		waitFor = append(waitFor, m.ID)
		due, in := r.due(m.ID)
		if !due {
			wait = min(wait, in)
			continue
		}
		h.task(func(ctx context.Context) { r.dial(ctx, m.ID, peer.AddrInfo{ID: p, Addrs: addrs}) })
	}
	h.first.begin(waitFor)
	return max(wait, 10*time.Millisecond)
}

// due says whether to dial now, and takes a place among the dials; else when to look again.
func (r *redial) due(n graph.NodeID) (bool, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.state[n]
	if a == nil {
		a = &absence{pause: firstRedial}
		r.state[n] = a
	}
	if a.dialing {
		return false, openTimeout
	}
	if in := time.Until(a.next); in > 0 {
		return false, in
	}
	if r.busy >= maxDials {
		return false, firstRedial
	}
	a.dialing = true
	r.busy++
	return true, 0
}

func (r *redial) dial(ctx context.Context, n graph.NodeID, ai peer.AddrInfo) {
	dctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if sw, ok := r.h.host.Network().(*swarm.Swarm); ok {
		sw.Backoff().Clear(ai.ID) // ours is the one that counts
	}
	err := r.h.host.Connect(dctx, ai)
	r.mu.Lock()
	r.busy--
	a := r.state[n]
	if a != nil {
		a.dialing = false
		a.next = time.Now().Add(a.pause/2 + rand.N(a.pause))
		a.pause = min(2*a.pause, maxRedial)
	}
	r.mu.Unlock()
	if err != nil {
		r.h.log.Debug("dial", "peer", n, "err", err)
		r.h.first.done(n)
	}
	r.wakeUp()
}

// lost begins anew with a member that was just connected.
func (r *redial) lost(n graph.NodeID) {
	r.mu.Lock()
	r.state[n] = &absence{pause: firstRedial, next: time.Now().Add(rand.N(firstRedial))}
	r.mu.Unlock()
	r.wakeUp()
}

// found forgets the pauses of a member that is connected.
func (r *redial) found(n graph.NodeID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.state[n]; a != nil && !a.dialing {
		delete(r.state, n)
	}
}

// soon dials a member as soon as can be: something new is known of it.
func (r *redial) soon(n graph.NodeID) {
	r.mu.Lock()
	if a := r.state[n]; a == nil || !a.dialing {
		r.state[n] = &absence{pause: firstRedial}
	}
	r.mu.Unlock()
	r.wakeUp()
}

// reset dials everybody anew.
func (r *redial) reset() {
	r.mu.Lock()
	for n, a := range r.state {
		if a.dialing {
			a.next, a.pause = time.Time{}, firstRedial
		} else {
			delete(r.state, n)
		}
	}
	r.mu.Unlock()
	r.wakeUp()
}

// addrsOf gathers a member's addresses: what libp2p has now, and the book's.
func (h *Host) addrsOf(g graph.Genesis, n graph.NodeID, p peer.ID) []ma.Multiaddr {
	addrs := h.host.Peerstore().Addrs(p)
	if k, err := h.book.peer(g.ID, n); err == nil {
		addrs = append(addrs, parseAddrs(k.Addrs)...)
	}
	return addrs
}

// relays are the connected members, as relays to choose from.
func (h *Host) relays() []peer.AddrInfo {
	var out []peer.AddrInfo
	for _, l := range h.allLinks() {
		out = append(out, peer.AddrInfo{ID: l.peer, Addrs: h.host.Peerstore().Addrs(l.peer)})
	}
	return out
}

// look finds members on the LAN, and over the DHT where it is on, until ctx ends.
func (h *Host) look(ctx context.Context) {
	if h.cfg.DHT {
		h.task(h.rendezvous)
	}
	if h.cfg.NoMDNS || h.cfg.Transport != nil {
		return
	}
	s := mdns.NewMdnsService(h.host, "_plexus._udp", neighbour{h})
	if err := s.Start(); err != nil {
		h.log.Warn("no discovery on the LAN", "err", err)
		return
	}
	<-ctx.Done()
	if err := s.Close(); err != nil {
		h.log.Debug("close mdns", "err", err)
	}
}

// neighbour hears of hosts on the LAN; only members are dialled.
type neighbour struct{ h *Host }

// HandlePeerFound is called by mDNS.
func (n neighbour) HandlePeerFound(ai peer.AddrInfo) { n.h.heard(ai) }

// heard takes note of where a member may be.
func (h *Host) heard(ai peer.AddrInfo) {
	if ai.ID == h.host.ID() || !h.member(ai.ID) || h.connected(ai.ID) {
		return
	}
	h.host.Peerstore().AddAddrs(ai.ID, ai.Addrs, addrTTL)
	if n, err := nodeID(ai.ID); err == nil {
		h.redial.soon(n)
	}
}

// tend takes in entries whose time has come, and fetches those of which only the name was kept.
func (h *Host) tend(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(tendEvery):
		}
		g := h.network()
		if g == nil {
			continue
		}
		for _, sp := range h.spaces(g.ID) {
			if _, future, _ := sp.HeldCounts(); future == 0 {
				continue
			}
			_, fetch, err := sp.Due(ctx)
			if err != nil && ctx.Err() == nil {
				h.log.Error("take in what is due", "space", sp.ID(), "err", err)
			}
			if links := h.allLinks(); len(fetch) > 0 && len(links) > 0 {
				links[rand.IntN(len(links))].askFetch(sp.ID(), fetch)
			}
		}
	}
}
