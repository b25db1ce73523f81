package access

// This file holds invites: tickets an admin published by the hash of their secret, with uses and expiry.

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"plexus/graph"
)

// Invite is a ticket's state. Used may exceed Uses: across a partition two inviters can each admit the last one. Both
// stay, and Over reports it.
type Invite struct {
	Hash    Hash
	Author  graph.NodeID // the admin that made it
	Role    Role
	Uses    int
	Used    int        // hosts whose grant by it stands
	Expires graph.Time // 0: never
	Revoked bool       // taken back, or its author is no admin any more
}

// Over says by how many more than its uses an invite was used.
func (i Invite) Over() int { return max(0, i.Used-i.Uses) }

// Invites lists all invites that stand, by hash.
func (s *State) Invites() []Invite { return slices.Clone(s.invites) }

// Invite returns one, or ErrNotFound.
func (s *State) Invite(h Hash) (Invite, error) {
	i, ok := s.invited[h]
	if !ok {
		return Invite{}, fmt.Errorf("no invite %s in this Network: %w", h, graph.ErrNotFound)
	}
	return s.invites[i], nil
}

// CheckInvite returns an invite that may be used now; else ErrNotFound (never made, or not yet synced here) or
// ErrForbidden with the reason: revoked, expired, used up.
func (s *State) CheckInvite(h Hash, now time.Time) (Invite, error) {
	i, err := s.Invite(h)
	switch {
	case err != nil:
		return i, err
	case i.Revoked:
		return i, fmt.Errorf("the invite was revoked; ask for a new ticket: %w", graph.ErrForbidden)
	case i.Expires != 0 && graph.TimeOf(now) >= i.Expires:
		return i, fmt.Errorf("the invite expired at %s; ask for a new ticket: %w", i.Expires, graph.ErrForbidden)
	case i.Used >= i.Uses:
		return i, fmt.Errorf("the invite is used up (%d of %d); ask for a new ticket: %w", i.Used, i.Uses, graph.ErrForbidden)
	}
	return i, nil
}

func (s *State) allowsUninvite(a *host, h Hash) error {
	i, err := s.Invite(h)
	if err != nil {
		return err
	}
	if !a.above(s.hosts[i.Author]) {
		return fmt.Errorf("revoke invite %s: it is of %s, who isn't below this host: %w", h, i.Author, graph.ErrForbidden)
	}
	return nil
}

// invites gathers them once the tree stands. Of two with one hash the first in canonical order counts.
func (t *tree) invites(stmts []*stmt) ([]Invite, map[Hash]int) {
	byHash := map[Hash]*Invite{}
	used := map[Hash]map[graph.NodeID]bool{}
	for _, s := range stmts {
		h := t.hosts[s.author]
		if h == nil || !t.stands(h, s, Admin) {
			continue
		}
		switch {
		case s.Op.Op == OpInvite && byHash[*s.Invite] == nil:
			byHash[*s.Invite] = &Invite{
				Hash: *s.Invite, Author: s.author, Role: s.Role, Uses: s.Uses, Expires: s.Expires,
				Revoked: h.role < Admin,
			}
		case s.Op.Op == OpGrant && s.Invite != nil:
			if used[*s.Invite] == nil {
				used[*s.Invite] = map[graph.NodeID]bool{}
			}
			used[*s.Invite][s.Host] = true
		}
	}
	t.uninvite(stmts, byHash)
	out := make([]Invite, 0, len(byHash))
	for h, i := range byHash {
		i.Used = len(used[h])
		out = append(out, *i)
	}
	slices.SortFunc(out, func(a, b Invite) int { return slices.Compare(a.Hash[:], b.Hash[:]) })
	index := make(map[Hash]int, len(out))
	for n, i := range out {
		index[i.Hash] = n
	}
	return out, index
}

// uninvite marks what its author, or someone above that one, took back.
func (t *tree) uninvite(stmts []*stmt, byHash map[Hash]*Invite) {
	for _, s := range stmts {
		if s.Op.Op != OpUninvite || byHash[*s.Invite] == nil {
			continue
		}
		h, i := t.hosts[s.author], byHash[*s.Invite]
		if h != nil && t.stands(h, s, Admin) && h.above(t.hosts[i.Author]) {
			i.Revoked = true
		}
	}
}

// policy returns the one that holds: of the admin nearest the root, the last.
func (t *tree) policy(stmts []*stmt) json.RawMessage {
	var best *stmt
	for _, s := range stmts {
		if h := t.hosts[s.author]; s.Op.Op != OpPolicy || h == nil || !t.stands(h, s, Admin) {
			continue
		}
		if best == nil || t.rank(s) < t.rank(best) || t.rank(s) == t.rank(best) && later(s, best) {
			best = s
		}
	}
	if best == nil {
		return nil
	}
	return best.Policy
}
