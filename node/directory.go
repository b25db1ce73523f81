package node

// This file looks up Nodes and Spaces: those of this host from its own records, others' from the profiles that came.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"plexus/graph"
	"plexus/graph/access"
	"plexus/sdk/client"
)

// public is a Node of this host as its owner described it.
func (l localNode) public() client.Node {
	c := profile{Name: l.Name, Description: l.Description, Meta: l.Meta}.public(l.ID)
	c.Identities = slices.Clone(l.Identities)
	return c
}

// Nodes lists the Network's Nodes by name: those enrolled and not revoked.
func (n *Node) Nodes(ctx context.Context) ([]client.Node, error) {
	profiles, err := n.profiles(ctx)
	if err != nil {
		return nil, err
	}
	out := []client.Node{}
	for _, at := range n.state().Nodes() {
		if at.Revoked {
			continue
		}
		c, err := n.describe(at, profiles[at.ID])
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b client.Node) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// profiles reads what every author says of itself in the Network.
func (n *Node) profiles(ctx context.Context) (map[graph.NodeID]profile, error) {
	sp, err := n.networkSpace()
	if err != nil {
		return nil, err
	}
	out := map[graph.NodeID]profile{}
	for e, err := range sp.Profiles(ctx) {
		if err != nil {
			return nil, fmt.Errorf("read profiles: %w", err)
		}
		out[e.Body().Author] = readProfile(e)
	}
	return out, nil
}

// describe prefers what this host's records say.
func (n *Node) describe(at access.Node, p profile) (client.Node, error) {
	if at.Host == n.Host() {
		local, err := n.rec.localNode(at.ID)
		if err == nil {
			return local.public(), nil
		}
		if !errors.Is(err, graph.ErrNotFound) {
			return client.Node{}, err
		}
	}
	return p.public(at.ID), nil
}

// Node returns one Node of the Network, or ErrNotFound.
func (n *Node) Node(_ context.Context, id string) (client.Node, error) {
	nid, err := graph.ParseNodeID(id)
	if err != nil {
		return client.Node{}, notFound("Node", id)
	}
	return n.node(nid)
}

func (n *Node) node(id graph.NodeID) (client.Node, error) {
	at, ok := n.state().Node(id)
	if !ok {
		return client.Node{}, notFound("Node", id.String())
	}
	sp, err := n.networkSpace()
	if err != nil {
		return client.Node{}, err
	}
	p, _, err := lastProfile(sp, id)
	if err != nil {
		return client.Node{}, err
	}
	return n.describe(at, p)
}

// Resolve returns the Node an identity is bound to on this host, or ErrNotFound.
func (n *Node) Resolve(_ context.Context, namespace, subject string) (client.Node, error) {
	id, err := n.rec.boundTo(namespace, subject)
	if errors.Is(err, graph.ErrNotFound) {
		return client.Node{}, notFound("Identity", namespace+"/"+subject)
	}
	if err != nil {
		return client.Node{}, fmt.Errorf("look an identity up: %w", err)
	}
	return n.node(id)
}

// Bind ties an identity to a Node of this host; ErrConflict where it is tied to another.
func (n *Node) Bind(_ context.Context, nodeID string, b client.IdentityBinding) (client.Node, error) {
	if err := checkIdentity(b); err != nil {
		return client.Node{}, err
	}
	return n.rebind(nodeID, func(l *localNode) ([]graph.Op, error) {
		if err := n.checkUnbound(b, l.ID); err != nil {
			return nil, err
		}
		l.Identities = append(slices.DeleteFunc(slices.Clone(l.Identities), same(b)), b)
		if len(l.Identities) > MaxIdentities {
			return nil, invalid("a Node has at most %d identities", MaxIdentities)
		}
		return n.rec.bind(b, l.ID), nil
	})
}

// Unbind unties it; one that isn't tied to this Node is ErrNotFound.
func (n *Node) Unbind(_ context.Context, nodeID string, b client.IdentityBinding) (client.Node, error) {
	return n.rebind(nodeID, func(l *localNode) ([]graph.Op, error) {
		if !slices.ContainsFunc(l.Identities, same(b)) {
			return nil, notFound("Identity", b.Namespace+"/"+b.Subject)
		}
		l.Identities = slices.DeleteFunc(slices.Clone(l.Identities), same(b))
		return n.rec.unbind(b), nil
	})
}

// rebind changes a local Node and writes it with the ops of the change.
func (n *Node) rebind(nodeID string, change func(*localNode) ([]graph.Op, error)) (client.Node, error) {
	id, err := graph.ParseNodeID(nodeID)
	if err != nil {
		return client.Node{}, notFound("Node", nodeID)
	}
	n.accounts.Lock()
	defer n.accounts.Unlock()
	local, err := n.rec.localNode(id)
	if err != nil {
		return client.Node{}, err
	}
	ops, err := change(&local)
	if err != nil {
		return client.Node{}, err
	}
	set, err := n.rec.setLocal(local)
	if err != nil {
		return client.Node{}, err
	}
	if err := n.write(append(ops, set...)); err != nil {
		return client.Node{}, err
	}
	return local.public(), nil
}

// write writes ops of several keyspaces at once and returns when they are synced.
func (n *Node) write(ops []graph.Op) error {
	wait, err := n.store.Apply(ops)
	if err == nil {
		err = wait()
	}
	if err != nil {
		return fmt.Errorf("write records: %w", err)
	}
	return nil
}

// openSpaces lists the named Spaces of the current Network.
func (n *Node) openSpaces() ([]*graph.Space, error) {
	network := n.members.network()
	var out []*graph.Space
	for _, id := range n.log.Spaces() {
		sp, err := n.log.Space(id)
		if err != nil {
			return nil, err
		}
		if g := sp.Genesis(); g.Kind == graph.GenesisNamed && g.Network == network {
			out = append(out, sp)
		}
	}
	return out, nil
}

// space returns a Space that participants may use, or ErrNotFound in ioa-http.md's words.
func (n *Node) space(id string) (*graph.Space, error) {
	cid, err := graph.ParseID(id)
	if err != nil {
		return nil, notFound("Space", id)
	}
	sp, err := n.log.Space(cid)
	if errors.Is(err, graph.ErrNotFound) || err == nil && sp.Genesis().Kind == graph.GenesisNetwork {
		return nil, notFound("Space", id)
	}
	return sp, err
}

// Spaces lists the Spaces of the Network by name.
func (n *Node) Spaces(ctx context.Context) ([]client.SpaceInfo, error) {
	spaces, err := n.openSpaces()
	if err != nil {
		return nil, err
	}
	out := []client.SpaceInfo{}
	for _, sp := range spaces {
		info, err := n.spaceInfo(ctx, sp)
		if err != nil {
			return nil, err
		}
		out = append(out, info)
	}
	slices.SortStableFunc(out, func(a, b client.SpaceInfo) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// SpaceInfo describes one Space, or is ErrNotFound.
func (n *Node) SpaceInfo(ctx context.Context, id string) (client.SpaceInfo, error) {
	sp, err := n.space(id)
	if err != nil {
		return client.SpaceInfo{}, err
	}
	return n.spaceInfo(ctx, sp)
}

// spaceInfo lists the Nodes that joined, each with what it says of itself here, in the order they last said so.
func (n *Node) spaceInfo(ctx context.Context, sp *graph.Space) (client.SpaceInfo, error) {
	info := client.SpaceInfo{ID: sp.ID().String(), Name: sp.Genesis().Name, Nodes: []client.Node{}, MessageCount: sp.Count()}
	var joined []*graph.Entry
	for e, err := range sp.Profiles(ctx) {
		if err != nil {
			return info, fmt.Errorf("read profiles of space %s: %w", sp.ID(), err)
		}
		joined = append(joined, e)
	}
	slices.SortFunc(joined, func(a, b *graph.Entry) int {
		return cmp.Or(cmp.Compare(a.Body().Time, b.Body().Time), a.ID().Compare(b.ID()))
	})
	for _, e := range joined {
		p := readProfile(e)
		for _, t := range p.Tags {
			if !slices.Contains(info.Tags, t) {
				info.Tags = append(info.Tags, t)
			}
		}
		c, err := n.node(e.Body().Author)
		if errors.Is(err, graph.ErrNotFound) {
			c, err = client.Node{ID: e.Body().Author.String(), Meta: json.RawMessage("{}")}, nil
		}
		if err != nil {
			return info, err
		}
		c.Description = p.Description
		info.Nodes = append(info.Nodes, c)
	}
	return info, nil
}
