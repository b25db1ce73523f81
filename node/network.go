package node

// This file holds the host's place in its Network: founding one on first start, writing access entries, enrolling the
// Nodes it holds, and shutting others out.

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"

	"plexus/graph"
	"plexus/graph/access"
)

// openNetwork reads which Network is the current one, or founds one.
func (n *Node) openNetwork(ctx context.Context) error {
	id, err := n.rec.network()
	if err != nil {
		return err
	}
	if id != (graph.ID{}) {
		return n.members.use(ctx, id)
	}
	g, err := graph.NewNetwork(n.cfg.Name, n.keys.host)
	if err != nil {
		return fmt.Errorf("found a network: %w", err)
	}
	if _, err := n.log.Create(ctx, g); err != nil {
		return fmt.Errorf("found a network: %w", err)
	}
	if err := n.rec.setNetwork(g.ID); err != nil {
		return fmt.Errorf("found a network: %w", err)
	}
	return n.members.use(ctx, g.ID)
}

// network returns the current Network's genesis.
func (n *Node) network() graph.Genesis {
	sp, err := n.networkSpace()
	if err != nil {
		return graph.Genesis{}
	}
	return sp.Genesis()
}

func (n *Node) networkSpace() (*graph.Space, error) { return n.log.Space(n.members.network()) }

// state is who may, as applied last.
func (n *Node) state() *access.State { return n.members.state.get() }

// say appends an access entry by the host's key and applies it. What wouldn't work isn't written.
func (n *Node) say(ctx context.Context, d graph.Draft) error {
	if err := n.state().Allows(n.Host(), d); err != nil {
		return err
	}
	if err := n.clockRight(); err != nil {
		return err
	}
	sp, err := n.networkSpace()
	if err != nil {
		return err
	}
	if err := n.waitSettled(ctx); err != nil {
		return err
	}
	st, err := sp.Send(ctx, n.keys.host, d, nil)
	if err != nil {
		return err
	}
	return n.members.add(ctx, st.Entry)
}

// enrol makes the host answer for a Node: with its own rights, but not as an admin.
func (n *Node) enrol(ctx context.Context, key ed25519.PrivateKey, kind access.Kind) error {
	role := min(n.state().Role(n.Host()), access.Writer)
	if role == access.None {
		return forbidden("join a network with a new data dir", "this host is no member of its network any more")
	}
	return n.say(ctx, access.Enrol(n.network().ID, n.Host(), key, role, kind))
}

// enrolAll enrols the Nodes of this host that the current Network doesn't know yet, or knows with fewer rights than
// the host has by now, and tells it their names.
func (n *Node) enrolAll(ctx context.Context) error {
	n.accounts.Lock()
	defer n.accounts.Unlock()
	host := min(n.state().Role(n.Host()), access.Writer)
	if host == access.None {
		return nil
	}
	for _, id := range n.keys.ids() {
		at, enrolled := n.state().Node(id)
		if enrolled && (at.Revoked || at.Host == n.Host() && at.Role >= host) || enrolled && at.Host != n.Host() {
			continue
		}
		local, err := n.rec.localNode(id)
		if errors.Is(err, graph.ErrNotFound) {
			continue // its registration was cut short
		}
		if err != nil {
			return err
		}
		if err := n.introduce(ctx, local); err != nil {
			return fmt.Errorf("enrol node %s: %w", id, err)
		}
	}
	return nil
}

func (n *Node) introduce(ctx context.Context, local localNode) error {
	key, err := n.keys.key(local.ID)
	if err != nil {
		return err
	}
	if err := n.enrol(ctx, key, access.Kind(local.Kind)); err != nil {
		return err
	}
	return n.writeProfile(ctx, key, local, nil)
}

// Revoke shuts a host or Node out for good; what it said so far stays.
func (n *Node) Revoke(ctx context.Context, subject string) error {
	id, err := graph.ParseNodeID(subject)
	if err != nil {
		return notFound("Node", subject)
	}
	cuts, err := n.cutsFor(ctx, id)
	if err != nil {
		return err
	}
	return n.say(ctx, access.Revoke(id, cuts))
}

// voices are the authors that speak for a subject: itself, and the Nodes of a host.
func voices(s *access.State, subject graph.NodeID) map[graph.NodeID]bool {
	out := map[graph.NodeID]bool{subject: true}
	for _, node := range s.Nodes() {
		if node.Host == subject {
			out[node.ID] = true
		}
	}
	return out
}

// cutsFor names, in every Space of the Network and its own log, the last entry of each author that speaks for the
// subject.
func (n *Node) cutsFor(ctx context.Context, subject graph.NodeID) ([]access.Cut, error) {
	authors := voices(n.state(), subject)
	network, err := n.networkSpace()
	if err != nil {
		return nil, err
	}
	spaces, err := n.openSpaces()
	if err != nil {
		return nil, err
	}
	var cuts []access.Cut
	for _, sp := range append([]*graph.Space{network}, spaces...) {
		c, err := cutNow(ctx, sp, func(id graph.NodeID) bool { return authors[id] })
		if err != nil {
			return nil, err
		}
		if len(c.Nodes) > 0 {
			cuts = append(cuts, c)
		}
	}
	return cuts, nil
}

// cutNow names the last entry of each author that is chosen.
func cutNow(ctx context.Context, sp *graph.Space, chosen func(graph.NodeID) bool) (access.Cut, error) {
	c := access.Cut{Space: sp.ID(), Nodes: map[graph.NodeID]*graph.ID{}}
	for tip, err := range sp.Frontier(ctx) {
		if err != nil {
			return c, fmt.Errorf("read frontier of space %s: %w", sp.ID(), err)
		}
		if chosen(tip.Author) {
			c.Nodes[tip.Author] = &tip.ID
		}
	}
	return c, nil
}

// cutRevoked looks for authors who lost their voice, in Spaces where nobody has cut them off yet, and does so if this
// host may.
func (n *Node) cutRevoked(ctx context.Context) error {
	s := n.state()
	if s.Role(n.Host()) < access.Admin {
		return nil
	}
	spaces, err := n.openSpaces()
	if err != nil {
		return err
	}
	cuts := map[graph.NodeID][]access.Cut{}
	for _, sp := range spaces {
		bySubject := map[graph.NodeID]access.Cut{}
		for tip, err := range sp.Frontier(ctx) {
			if err != nil {
				return fmt.Errorf("read frontier of space %s: %w", sp.ID(), err)
			}
			subject, uncut := s.Uncut(sp.Genesis(), tip.Author)
			if !uncut {
				continue
			}
			c, ok := bySubject[subject]
			if !ok {
				c = access.Cut{Space: sp.ID(), Nodes: map[graph.NodeID]*graph.ID{}}
				bySubject[subject] = c
			}
			c.Nodes[tip.Author] = &tip.ID
		}
		for subject, c := range bySubject {
			cuts[subject] = append(cuts[subject], c)
		}
	}
	for subject, c := range cuts {
		if err := n.say(ctx, access.CutOff(subject, c)); err != nil && !errors.Is(err, graph.ErrForbidden) {
			return fmt.Errorf("cut %s off: %w", subject, err)
		}
	}
	return nil
}
