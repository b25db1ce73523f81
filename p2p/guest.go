package p2p

// This file holds the connected hosts that are no members: each has its time to join, and some turn into members.

import (
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

// guest is a connected host that is no member.
type guest struct {
	timer  *time.Timer
	turned time.Time // when it was first seen to be a member after all
}

// welcome gives a guest its time to join.
func (h *Host) welcome(p peer.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.guests[p] != nil {
		return
	}
	g := &guest{}
	g.timer = time.AfterFunc(guestTimeout, func() {
		h.mu.Lock()
		if h.guests[p] != g || h.closed {
			h.mu.Unlock()
			return
		}
		if h.joins.busy(p) {
			g.timer.Reset(guestTimeout)
			h.mu.Unlock()
			return
		}
		delete(h.guests, p)
		h.mu.Unlock()
		h.disconnect(p)
	})
	h.guests[p] = g
}

// forget strikes a guest off. The caller has h.mu.
func (h *Host) forget(p peer.ID) {
	if g := h.guests[p]; g != nil {
		g.timer.Stop()
		delete(h.guests, p)
	}
}

// turn makes a guest a member. Gossip decided about it when it connected, so connections from before are closed: it
// has dialled again already, or we do. One in the middle of its join is left alone until that ends.
func (h *Host) turn(p peer.ID, g *guest) {
	h.mu.Lock()
	if g.turned.IsZero() {
		g.turned = time.Now()
	}
	turned := g.turned
	h.mu.Unlock()
	if h.joins.busy(p) {
		return
	}
	h.remember(p, time.Time{}, nil)
	h.mu.Lock()
	h.forget(p)
	h.mu.Unlock()
	fresh := false
	for _, c := range h.host.Network().ConnsToPeer(p) {
		if c.Stat().Opened.After(turned) {
			fresh = true
		} else if err := c.Close(); err != nil {
			h.log.Debug("close connection", "peer", p, "err", err)
		}
	}
	if fresh {
		h.link(p)
	} else if n, err := nodeID(p); err == nil {
		h.redial.soon(n)
	}
}
