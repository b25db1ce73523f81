package p2p

// This file holds the joiner's side of a join. protocol.md §5.6.

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"plexus/graph"
)

// Join takes a ticket to its inviter and returns the Network with its access log in this Log (the entries may be
// held until the Log has the Network's rights: the caller evaluates them, calls Log.Apply and SetNetwork). It works
// while Run does.
//
// Errors name what is wrong: ErrTicket, ErrTicketUnknown, ErrTicketExpired, ErrTicketUsedUp, ErrTicketRevoked, ErrShutOut,
// ErrNoAdmin, ErrBusy; ErrUnreachable where no address answered.
func (h *Host) Join(ctx context.Context, ticket string) (JoinResult, error) {
	t, err := ParseTicket(ticket)
	if err != nil {
		return JoinResult{}, fmt.Errorf("join: %w", err)
	}
	if t.Inviter == h.id {
		return JoinResult{}, fmt.Errorf("join: the ticket is this host's own; use it on another machine: %w", graph.ErrInvalid)
	}
	res, err := h.joinWith(ctx, t)
	if err != nil {
		return res, fmt.Errorf("join: %w", err)
	}
	return res, nil
}

func (h *Host) joinWith(ctx context.Context, t Ticket) (JoinResult, error) {
	p, err := peerID(t.Inviter)
	if err != nil {
		return JoinResult{}, err
	}
	w, err := h.call(ctx, peer.AddrInfo{ID: p, Addrs: t.Addrs})
	if err != nil {
		return JoinResult{}, err
	}
	stop := context.AfterFunc(ctx, func() { reset(w.s) })
	defer stop()
	res, err := h.askIn(ctx, w, t)
	if err != nil {
		reset(w.s)
		return res, joinFault(ctx, err)
	}
	k := known{Addrs: addrTexts(append(t.Addrs, h.host.Peerstore().Addrs(p)...)), Seen: h.cfg.Now().UnixMicro()}
	if err := h.book.put(t.Network, t.Inviter, k); err != nil {
		return res, err
	}
	if err := w.s.Close(); err != nil {
		return res, fmt.Errorf("close stream: %w", err)
	}
	return res, nil
}

// joinFault says what a joiner should make of an error in the conversation.
func joinFault(ctx context.Context, err error) error {
	var no *refused
	var c *cut
	switch {
	case errors.As(err, &no):
		return joinError(no.code)
	case ctx.Err() != nil:
		return unreachable("%v", ctx.Err())
	case errors.As(err, &c) && strings.Contains(err.Error(), "gated"):
		return unreachable("it takes no connection from this host: offline, or this host's key was revoked there")
	case errors.As(err, &c):
		return unreachable("it broke off: %v", err)
	default:
		return err
	}
}

// call connects to an inviter and opens the join stream.
func (h *Host) call(ctx context.Context, ai peer.AddrInfo) (*wire, error) {
	select {
	case <-h.ready: // Run has got that far
	case <-ctx.Done():
		return nil, fmt.Errorf("this host's network part doesn't run: %w: %w", ctx.Err(), graph.ErrUnavailable)
	}
	if h.Offline() {
		return nil, fmt.Errorf("this host is offline; plexus online, then try again: %w", graph.ErrUnavailable)
	}
	octx, cancel := context.WithTimeout(network.WithAllowLimitedConn(ctx, "join"), openTimeout)
	defer cancel()
	if err := h.host.Connect(octx, ai); err != nil {
		return nil, unreachable("%d addresses tried: %s", len(ai.Addrs), lastLine(err))
	}
	s, err := h.host.NewStream(octx, ai.ID, protoJoin)
	if err != nil {
		return nil, unreachable("it doesn't answer: %s", lastLine(err))
	}
	return newWire(s), nil
}

// lastLine shortens libp2p's dial errors, which list every address on a line of its own.
func lastLine(err error) string {
	s := err.Error()
	for i := len(s) - 1; i > 0; i-- {
		if s[i] == '\n' {
			return s[i+1:]
		}
	}
	return s
}

// askIn runs the joiner's side.
func (h *Host) askIn(ctx context.Context, w *wire, t Ticket) (JoinResult, error) {
	key := t.key()
	if err := w.send(frameAsk, ask{Network: t.Network[:], Ticket: key.Public().(ed25519.PublicKey)}); err != nil {
		return JoinResult{}, err
	}
	var n nonce
	if err := w.expect(frameNonce, &n, frameTimeout); err != nil {
		return JoinResult{}, err
	}
	if len(n.Nonce) != 32 {
		return JoinResult{}, breachf("a nonce of %d bytes", len(n.Nonce))
	}
	sig := ed25519.Sign(key, proofText(t.Network, h.id, t.Inviter, n.Nonce))
	if err := w.send(frameProof, proof{sig}); err != nil {
		return JoinResult{}, err
	}
	var in welcome
	if err := w.expect(frameWelcome, &in, joinTimeout); err != nil {
		return JoinResult{}, err
	}
	g, err := graph.DecodeGenesis(in.Genesis)
	if err != nil || g.ID != t.Network || g.Kind != graph.GenesisNetwork {
		return JoinResult{}, breachf("the genesis isn't the ticket's network: %v", err)
	}
	sp, err := h.cfg.Log.Create(ctx, g)
	if err != nil {
		return JoinResult{}, fmt.Errorf("create network %s: %w", g.ID, err)
	}
	if err := h.takeOver(ctx, w, t.Inviter, sp); err != nil {
		return JoinResult{}, err
	}
	h.learnRecords(g.ID, in.Records[:min(len(in.Records), maxRecords)], false)
	return JoinResult{Network: g, Role: in.Role, Inviter: t.Inviter}, nil
}

// takeOver takes in the access log. Most of it is held until the caller has evaluated it.
func (h *Host) takeOver(ctx context.Context, w *wire, from graph.NodeID, sp *graph.Space) error {
	for n := 0; ; {
		entries, done, err := readBatch(w)
		if err != nil || done {
			return err
		}
		if n += len(entries); n > maxAccessLog {
			return breachf("an access log of more than %d entries", maxAccessLog)
		}
		h.gossip.arrived.mark(entries)
		res, err := sp.Add(ctx, entries, graph.AddOptions{From: from})
		if err != nil {
			return fmt.Errorf("add the access log of %s: %w", sp.ID(), err)
		}
		if len(res.Refused) > 0 {
			return breachf("access log: %v", res.Refused[0])
		}
	}
}
