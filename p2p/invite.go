package p2p

// This file holds the invite that an admin appends to the access log, and how this host writes there at all.

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"plexus/graph"
	"plexus/graph/access"
)

// Invite appends an invite to the Network's access log, by the host's key, and returns its ticket, which is
// shown once and kept nowhere, and its ID (hex of the hash the log has). ErrForbidden where this host is no admin.
// A zero expires never does.
func (h *Host) Invite(ctx context.Context, role string, uses int, expires time.Time) (ticket, id string, err error) {
	r, err := access.ParseRole(role)
	if err != nil {
		return "", "", fmt.Errorf("invite: %w", err)
	}
	if uses < 1 || uses > maxInviteUses {
		return "", "", fmt.Errorf("invite: %d uses; give 1 to %d: %w", uses, maxInviteUses, graph.ErrInvalid)
	}
	var until graph.Time
	if !expires.IsZero() {
		if !expires.After(h.cfg.Now()) {
			return "", "", fmt.Errorf("invite: it would have expired already; give a later time: %w", graph.ErrInvalid)
		}
		until = graph.TimeOf(expires)
	}
	g := h.network()
	if g == nil {
		return "", "", fmt.Errorf("invite: this host is in no network: %w", graph.ErrForbidden)
	}
	t := Ticket{Network: g.ID, Inviter: h.id, Addrs: ticketAddrs(h.host.Addrs())}
	if _, err := rand.Read(t.Secret[:]); err != nil {
		return "", "", fmt.Errorf("invite: %w", err)
	}
	if err := h.say(ctx, *g, access.NewInvite(t.hash(), r, uses, until)); err != nil {
		return "", "", fmt.Errorf("invite: %w", err)
	}
	return t.String(), access.Hash(t.hash()).String(), nil
}

// say appends an access entry by the host's key, if it would have an effect, and waits for the Log's rights to have it.
func (h *Host) say(ctx context.Context, g graph.Genesis, d graph.Draft) error {
	r := h.roster()
	if r == nil {
		return fmt.Errorf("this host has no rights here: %w", graph.ErrForbidden)
	}
	if err := r.Allows(h.id, d); err != nil {
		return err
	}
	sp, err := h.cfg.Log.Space(g.ID)
	if err != nil {
		return fmt.Errorf("network's log: %w", err)
	}
	st, err := sp.Send(ctx, h.cfg.Key, d, nil)
	if err != nil {
		return err
	}
	h.rights.wait(ctx, st.Pos, rightsTimeout)
	return nil
}
