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
	"github.com/libp2p/go-libp2p/p2p/discovery/util"

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
	disc := routing.NewRoutingDiscovery(d)
	for ctx.Err() == nil {
		g := h.network()
		if g == nil {
			pause(ctx, lookEvery)
			continue
		}
		round, cancel := context.WithTimeout(ctx, lookEvery)
		name := rendezvousName(g.ID)
		util.Advertise(round, disc, name)
		h.task(func(context.Context) { h.lookUp(round, disc, name) })
		<-round.Done()
		cancel()
	}
}

func (h *Host) lookUp(ctx context.Context, disc *routing.RoutingDiscovery, name string) {
	found, err := disc.FindPeers(ctx, name)
	if err != nil {
		h.log.Debug("look up members", "err", err)
		return
	}
	for ai := range found {
		h.heard(ai)
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
