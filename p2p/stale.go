package p2p

// This file holds the search for connections that are dead without our knowing: a peer that lost its power and is back dials anew, and
// what is written into the old connection reaches nobody until it times out.

import (
	"context"
	"fmt"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/protocol/ping"
	msmux "github.com/multiformats/go-multistream"
)

// freshen asks the older connections of a peer that has made a new one for a sign of life, and closes those that give none. GossipSub then
// begins anew with the peer, and all Spaces are compared with it: what it was told meanwhile is lost.
func (h *Host) freshen(p peer.ID, made network.Conn) {
	for _, c := range h.host.Network().ConnsToPeer(p) {
		if c.ID() == made.ID() || c.Stat().Opened.After(made.Stat().Opened) {
			continue
		}
		h.task(func(ctx context.Context) {
			err := alive(ctx, c)
			if err == nil || ctx.Err() != nil {
				return
			}
			h.log.Debug("a connection is dead", "peer", p, "err", err)
			_ = c.Close() // whatever is wrong with it, it is gone
			if l := h.linkOf(p); l != nil {
				l.ask(func(j *job) { j.all = true })
			}
		})
	}
}

// alive makes the way to the peer and back over one connection.
func alive(ctx context.Context, c network.Conn) error {
	ctx, cancel := context.WithTimeout(network.WithAllowLimitedConn(ctx, "sign of life"), aliveTimeout)
	defer cancel()
	s, err := c.NewStream(ctx)
	if err != nil {
		return fmt.Errorf("open a stream: %w", err)
	}
	defer reset(s)
	defer context.AfterFunc(ctx, func() { reset(s) })()
	return msmux.SelectProtoOrFail(ping.ID, s)
}
