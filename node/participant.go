package node

// This file holds a participant: one Node of this host, and its first operation, Space. Send is in send.go, Read in
// read.go, Listen in listen.go.

import (
	"context"
	"crypto/ed25519"
	"slices"
	"strings"

	"plexus/graph"
	"plexus/graph/access"
	"plexus/sdk/client"
)

// participant is api.Service on behalf of one Node; without a key it only reads.
type participant struct {
	node *Node
	id   graph.NodeID
	key  ed25519.PrivateKey
}

func (p *participant) anonymous() bool { return p.key == nil }

// mayWrite says why a participant may not, before anything is written.
func (p *participant) mayWrite() error {
	if p.anonymous() {
		return invalid("caller node identity is required")
	}
	at, ok := p.node.state().Node(p.id)
	switch {
	case !ok:
		return forbidden("join the network again, or register a new Node", "node '%s' isn't enrolled in this network", p.id)
	case at.Revoked:
		return forbidden("a revoked key never comes back: register a new Node on a host that is a member", "node '%s' was revoked", p.id)
	case at.Host != p.node.Host():
		return forbidden("send from the host it lives on", "node '%s' lives on host %s by now", p.id, at.Host)
	case at.Role < access.Writer:
		return forbidden("ask an admin for a role that may write", "node '%s' is a %s here and may only read", p.id, at.Role)
	}
	return p.node.clockRight()
}

// Space creates a Space or joins it, and says what the Node is there for. An unchanged re-join writes nothing.
func (p *participant) Space(ctx context.Context, in client.SpaceCreate) (client.SpaceInfo, error) {
	if p.anonymous() {
		return client.SpaceInfo{}, invalid("caller node identity is required")
	}
	name, description := strings.TrimSpace(in.Name), strings.TrimSpace(in.Description)
	if name == "" {
		return client.SpaceInfo{}, invalid("Space name is required")
	}
	if description == "" {
		local, err := p.node.rec.localNode(p.id)
		if err != nil {
			return client.SpaceInfo{}, err
		}
		description = local.Description
	}
	switch {
	case description == "":
		return client.SpaceInfo{}, invalid("Space description is required")
	case len(description) > MaxDescription:
		return client.SpaceInfo{}, invalid("Space description is over %d bytes", MaxDescription)
	}
	tags, err := mergeTags(nil, in.Tags)
	if err != nil {
		return client.SpaceInfo{}, err
	}
	g, err := graph.NamedSpace(p.node.members.network(), name)
	if err != nil {
		return client.SpaceInfo{}, err
	}
	if err := p.mayWrite(); err != nil && !p.mayRead() {
		return client.SpaceInfo{}, err
	}
	sp, err := p.node.openSpace(ctx, g)
	if err != nil {
		return client.SpaceInfo{}, err
	}
	if p.mayWrite() == nil {
		if err := p.join(ctx, sp, description, tags); err != nil {
			return client.SpaceInfo{}, err
		}
	}
	return p.node.spaceInfo(ctx, sp)
}

// mayRead says whether the Node is a reader in good standing: it joins without being heard.
func (p *participant) mayRead() bool {
	at, ok := p.node.state().Node(p.id)
	return ok && at.Role == access.Reader
}

// join writes the Node's profile in a Space if it says something new.
func (p *participant) join(ctx context.Context, sp *graph.Space, description string, tags []string) error {
	old, joined, err := lastProfile(sp, p.id)
	if err != nil {
		return err
	}
	if tags, err = mergeTags(old.Tags, tags); err != nil {
		return err
	}
	if joined && old.Description == description && slices.Equal(old.Tags, tags) {
		return nil
	}
	d, err := profile{Description: description, Tags: tags}.draft()
	if err != nil {
		return err
	}
	if err := p.node.waitSettled(ctx); err != nil {
		return err
	}
	_, err = sp.Send(ctx, p.key, d, nil)
	return err
}

// openSpace makes a Space, or returns the one that is there, and tells the peers.
func (n *Node) openSpace(ctx context.Context, g graph.Genesis) (*graph.Space, error) {
	sp, err := n.log.Create(ctx, g)
	if err == nil && n.peers != nil {
		n.peers.Follow(g.ID)
	}
	return sp, err
}
