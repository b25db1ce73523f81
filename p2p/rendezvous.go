package p2p

// This file holds rendezvous over a DHT: off unless asked for. Members advertise and look for a name that only who knows
// the Network's ID can derive.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	dht "github.com/libp2p/go-libp2p-kad-dht"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/discovery/routing"

	"plexus/graph"
)

// rendezvous advertises this host and looks for the other members until ctx ends.
func (h *Host) rendezvous(ctx context.Context) {
	var first []peer.AddrInfo
	for _, s := range h.cfg.Bootstrap {
		ai, err := peer.AddrInfoFromString(s)
		if err != nil {
			h.log.Error("bootstrap address: want a multiaddr that ends in /p2p/ and a peer ID", "addr", s, "err", err)
			continue
		}
		first = append(first, *ai)
	}
	d, err := dht.New(h.host, dht.BootstrapPeers(first...), dht.Mode(dht.ModeClient))
	if err == nil {
		err = d.Bootstrap(ctx)
	}
	if err != nil {
		h.log.Error("dht", "err", err)
		return
	}
	defer d.Close()
	for _, ai := range first {
		if err := h.host.Connect(ctx, ai); err != nil {
			h.log.Warn("dht", "err", err)
		}
	}
	disc := routing.NewRoutingDiscovery(d)
	for ctx.Err() == nil {
		if g := h.network(); g != nil {
			h.rendezvousIn(ctx, disc, g.ID)
		} else {
			pause(ctx, firstLook)
		}
	}
}

// rendezvousIn advertises in a Network, and looks others up with growing pauses, until the host is in another one.
func (h *Host) rendezvousIn(ctx context.Context, disc *routing.RoutingDiscovery, network graph.ID) {
	name := rendezvousName(network)
	var again time.Time
	for wait := firstLook; ctx.Err() == nil; wait = min(2*wait, lookEvery) {
		if g := h.network(); g == nil || g.ID != network {
			return
		}
		if time.Now().After(again) {
			ttl, err := disc.Advertise(ctx, name) // fails until the DHT knows somebody
			if err != nil {
				h.log.Debug("advertise", "err", err)
				wait = firstLook
			}
			again = time.Now().Add(7 * ttl / 8)
		}
		found, err := disc.FindPeers(ctx, name)
		if err != nil {
			h.log.Debug("look up members", "err", err)
		} else {
			for ai := range found {
				h.heard(ai)
			}
		}
		pause(ctx, wait)
	}
}

// rendezvousName can't be traced back to the Network's ID.
func rendezvousName(network graph.ID) string {
	sum := sha256.Sum256(append([]byte("plexus:dht:1\x00"), network[:]...))
	return "plexus/" + hex.EncodeToString(sum[:])
}

// pause waits or returns early when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
