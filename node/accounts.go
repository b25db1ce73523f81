package node

// This file holds accounts: who a token belongs to, how a Node comes to be, and which identities are bound to it.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plexus/graph"
	"plexus/graph/access"
	"plexus/node/api"
	"plexus/sdk/client"
)

// Authenticate returns the Node a token owns; ErrUnauthorized else.
func (n *Node) Authenticate(_ context.Context, token string) (string, error) {
	id, err := n.rec.tokenOwner(token)
	if errors.Is(err, graph.ErrNotFound) {
		return "", &api.Fault{Kind: graph.ErrUnauthorized, Detail: "invalid token"}
	}
	if err != nil {
		return "", fmt.Errorf("look a token up: %w", err)
	}
	return id.String(), nil
}

// CheckAccessKey returns ErrForbidden for any but the host's key.
func (n *Node) CheckAccessKey(key string) error {
	if n.cfg.NoAuth || n.keys.checkAccess(key) {
		return nil
	}
	return forbidden("the host's key is in the file access.key of its data directory", "invalid access key")
}

// Register makes a Node and a token for it, or a further token for one the caller has proved to own: by that Node's
// token (owner), or by an identity that is bound to it.
func (n *Node) Register(ctx context.Context, in client.AuthRegister, owner string) (client.AuthResponse, error) {
	if err := n.CheckAccessKey(in.AccessKey); err != nil {
		return client.AuthResponse{}, err
	}
	kind := access.Agent
	switch in.Kind {
	case "", string(access.Agent):
	case string(access.Human):
		kind = access.Human
	default:
		return client.AuthResponse{}, invalid("kind must be 'human' or 'agent'")
	}
	local, err := checkCreate(in.NodeCreate, kind)
	if err != nil {
		return client.AuthResponse{}, err
	}
	n.accounts.Lock()
	defer n.accounts.Unlock()
	token := newSecret()
	old, err := n.claimed(in.NodeCreate, owner)
	switch {
	case err != nil:
	case old != nil:
		local, err = n.update(ctx, *old, local, in.NodeCreate, token)
	default:
		local, err = n.create(ctx, local, token)
	}
	if err != nil {
		return client.AuthResponse{}, err
	}
	return client.AuthResponse{ID: local.ID.String(), Name: local.Name, Token: token}, nil
}

// Create makes a Node without a token.
func (n *Node) Create(ctx context.Context, in client.NodeCreate) (client.Node, error) {
	local, err := checkCreate(in, access.Agent)
	if err != nil {
		return client.Node{}, err
	}
	n.accounts.Lock()
	defer n.accounts.Unlock()
	for _, b := range local.Identities {
		if err := n.checkUnbound(b, graph.NodeID{}); err != nil {
			return client.Node{}, err
		}
	}
	if local, err = n.create(ctx, local, ""); err != nil {
		return client.Node{}, err
	}
	return local.public(), nil
}

// checkCreate reads what a caller says of a new Node.
func checkCreate(in client.NodeCreate, kind access.Kind) (localNode, error) {
	l := localNode{Name: strings.TrimSpace(in.Name), Description: strings.TrimSpace(in.Description), Kind: string(kind)}
	switch {
	case l.Name == "":
		return l, invalid("name is required")
	case len(l.Name) > MaxName:
		return l, invalid("name is over %d bytes", MaxName)
	case len(l.Description) > MaxDescription:
		return l, invalid("description is over %d bytes", MaxDescription)
	case len(in.Identities) > MaxIdentities:
		return l, invalid("identities are over %d", MaxIdentities)
	}
	if m := in.Meta; len(m) > 0 && string(m) != "null" {
		if err := graph.CheckPayload(m); err != nil {
			return l, invalid("meta must be a JSON object: %v", err)
		}
		if len(m) > MaxMeta {
			return l, invalid("meta is over %d bytes", MaxMeta)
		}
		if string(m) != "{}" {
			l.Meta = m
		}
	}
	for _, b := range in.Identities {
		if err := checkIdentity(b); err != nil {
			return l, err
		}
		if !slices.ContainsFunc(l.Identities, same(b)) {
			l.Identities = append(l.Identities, b)
		}
	}
	return l, nil
}

func checkIdentity(b client.IdentityBinding) error {
	switch {
	case b.Namespace == "" || b.Subject == "":
		return invalid("an identity needs namespace and subject")
	case len(b.Namespace) > MaxIdentity || len(b.Subject) > MaxIdentity:
		return invalid("an identity's namespace and subject have at most %d bytes", MaxIdentity)
	case len(b.Claims) > MaxMeta:
		return invalid("an identity's claims are over %d bytes", MaxMeta)
	case len(b.Claims) > 0 && !json.Valid(b.Claims):
		return invalid("an identity's claims are no JSON")
	}
	return nil
}

func same(a client.IdentityBinding) func(client.IdentityBinding) bool {
	return func(b client.IdentityBinding) bool { return a.Namespace == b.Namespace && a.Subject == b.Subject }
}

// claimed returns the Node a registration is about, where there is proof; nil for a new one.
func (n *Node) claimed(in client.NodeCreate, owner string) (*localNode, error) {
	var found *graph.NodeID
	if in.ID != "" {
		if id, err := graph.ParseNodeID(in.ID); err == nil {
			if _, err := n.rec.localNode(id); err == nil {
				if in.ID != owner {
					return nil, forbidden("send that Node's token with the registration", "node '%s' is another's", in.ID)
				}
				found = &id
			}
		}
	}
	for _, b := range in.Identities {
		id, err := n.rec.boundTo(b.Namespace, b.Subject)
		if errors.Is(err, graph.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look an identity up: %w", err)
		}
		if found != nil && *found != id {
			return nil, conflict("identity %s/%s is bound to node '%s'", clip(b.Namespace), clip(b.Subject), id)
		}
		found = &id
	}
	if found == nil {
		return nil, nil
	}
	local, err := n.rec.localNode(*found)
	return &local, err
}

// create makes the key, enrols the Node and keeps all about it in one transaction. The caller holds accounts.
func (n *Node) create(ctx context.Context, local localNode, token string) (localNode, error) {
	key, err := n.keys.create()
	if err != nil {
		return local, err
	}
	local.ID = graph.NodeIDOf(key)
	if err := n.enrol(ctx, key, access.Kind(local.Kind)); err != nil {
		return local, errors.Join(err, n.keys.forget(local.ID))
	}
	ops, err := n.rec.setLocal(local)
	if err != nil {
		return local, err
	}
	for _, b := range local.Identities {
		ops = append(ops, n.rec.bind(b, local.ID)...)
	}
	if token != "" {
		ops = append(ops, n.rec.setToken(token, local.ID)...)
	}
	return local, n.writeProfile(ctx, key, local, ops)
}

// update gives a Node a further token, and what else the registration says of it.
func (n *Node) update(ctx context.Context, old, now localNode, in client.NodeCreate, token string) (localNode, error) {
	was := old
	old.Name = now.Name
	if in.Description != "" {
		old.Description = now.Description
	}
	if len(in.Meta) > 0 {
		old.Meta = now.Meta
	}
	ops := n.rec.setToken(token, old.ID)
	for _, b := range now.Identities {
		if err := n.checkUnbound(b, old.ID); err != nil {
			return old, err
		}
		ops = append(ops, n.rec.bind(b, old.ID)...)
		old.Identities = append(slices.DeleteFunc(slices.Clone(old.Identities), same(b)), b)
	}
	set, err := n.rec.setLocal(old)
	if err != nil {
		return old, err
	}
	ops = append(ops, set...)
	if old.Name == was.Name && old.Description == was.Description && string(old.Meta) == string(was.Meta) {
		return old, n.write(ops)
	}
	key, err := n.keys.key(old.ID)
	if err != nil {
		return old, err
	}
	return old, n.writeProfile(ctx, key, old, ops)
}

// checkUnbound returns ErrConflict where an identity is bound to another Node than id.
func (n *Node) checkUnbound(b client.IdentityBinding, id graph.NodeID) error {
	at, err := n.rec.boundTo(b.Namespace, b.Subject)
	if errors.Is(err, graph.ErrNotFound) || err == nil && at == id {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look an identity up: %w", err)
	}
	return conflict("identity %s/%s is bound to node '%s'", clip(b.Namespace), clip(b.Subject), at)
}

// As returns the operations on behalf of a Node this host holds; "" is a reader without a name.
func (n *Node) As(nodeID string) (api.Service, error) {
	if nodeID == "" {
		return &participant{node: n}, nil
	}
	id, err := graph.ParseNodeID(nodeID)
	if err != nil {
		return nil, notFound("Node", nodeID)
	}
	key, err := n.keys.key(id)
	if err != nil {
		return nil, notFound("Node", nodeID)
	}
	return &participant{node: n, id: id, key: key}, nil
}
