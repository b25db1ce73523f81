package api

// This file serves the user's trust in other Nodes. Reading it is for all who may call; saying it is the user's, by the access key.

import (
	"context"
	"net/http"

	"plexus/sdk/client"
)

// Trust is the user's policy. Errors: ErrInvalid for a level or action that is none, ErrNotFound for a Space or Node ID that is none.
type Trust interface {
	Trust(ctx context.Context, spaceID string) (client.TrustPolicy, error)
	SetTrust(ctx context.Context, nodeID string, in client.TrustSet) error
	SetNeeded(ctx context.Context, in client.TrustedAction) error
	// TrustLevel names how far a Node is trusted in a Space, or ("") in all. It answers quickly: it is asked for every envelope.
	TrustLevel(spaceID, nodeID string) string
}

func trustRoutes() []route {
	return []route{
		{
			method: "GET", path: "/trust", name: "trust", summary: "How far this host's user trusts each Node, and what that lets plugins do", who: member,
			params: []param{pSpaceIn}, action: give(http.StatusOK, trustPolicy),
		},
		{
			method: "PUT", path: "/trust/nodes/{id}", name: "setTrust", summary: "Trust a Node: unknown, known, trusted, owner, default", who: host,
			action: take(http.StatusNoContent, setTrust),
		},
		{
			method: "PUT", path: "/trust/actions", name: "setNeeded", who: host, action: take(http.StatusNoContent, setNeeded),
			summary: "From which level on a plugin may do something without asking: a level, nobody, default",
		},
	}
}

var pSpaceIn = param{name: "space_id", doc: "As it holds in this Space."}

func trustPolicy(x *exchange) (client.TrustPolicy, error) {
	if x.h.cfg.Trust == nil {
		return client.TrustPolicy{Nodes: []client.TrustedNode{}, Actions: []client.TrustedAction{}}, nil
	}
	return x.h.cfg.Trust.Trust(x.r.Context(), x.text("space_id"))
}

func setTrust(x *exchange, in client.TrustSet) (none, error) {
	if x.h.cfg.Trust == nil {
		return none{}, errNoTrust
	}
	return none{}, x.h.cfg.Trust.SetTrust(x.r.Context(), x.r.PathValue("id"), in)
}

func setNeeded(x *exchange, in client.TrustedAction) (none, error) {
	if x.h.cfg.Trust == nil {
		return none{}, errNoTrust
	}
	return none{}, x.h.cfg.Trust.SetNeeded(x.r.Context(), in)
}

var errNoTrust = invalid("this node keeps no trust", "")
