package client

// This file holds trust: how far this host's user trusts other Nodes, and what that lets plugins do without asking.

import (
	"context"
	"net/http"
	"net/url"
)

// The levels of trust, from the least. TrustNobody is for actions alone: ask, whoever it is. TrustDefault takes back what was said.
const (
	TrustUnknown = "unknown"
	TrustKnown   = "known"
	TrustTrusted = "trusted"
	TrustOwner   = "owner"
	TrustNobody  = "nobody"
	TrustDefault = "default"
)

// TrustPolicy is the user's policy, as it holds in one Space or, where nothing else is said, in all.
type TrustPolicy struct {
	Nodes   []TrustedNode   `json:"nodes"`
	Actions []TrustedAction `json:"actions"` // those of which something was said
}

// TrustedNode is a Node and its level. Set says that the user gave it; SpaceID that this was for this Space alone.
type TrustedNode struct {
	Node    string `json:"node"`
	Name    string `json:"name,omitempty"`
	Level   string `json:"level"`
	Set     bool   `json:"set,omitempty"`
	SpaceID string `json:"space_id,omitempty"`
}

// TrustedAction is what a plugin may do without asking for Nodes from Level on. Action is PLUGIN/ACTION, such as task/confirm.
type TrustedAction struct {
	Action  string `json:"action"`
	Level   string `json:"level"`
	SpaceID string `json:"space_id,omitempty"`
}

// TrustSet gives a Node a level, in one Space or ("") in all.
type TrustSet struct {
	Level   string `json:"level"`
	SpaceID string `json:"space_id,omitempty"`
}

// Trust returns the policy as it holds in a Space, or ("") in all. Needs the AccessKey or a Token.
func (c *Client) Trust(ctx context.Context, spaceID string) (TrustPolicy, error) {
	var out TrustPolicy
	v := url.Values{}
	set(v, "space_id", spaceID)
	err := c.get(ctx, "/trust", v, &out)
	return out, err
}

// SetTrust gives a Node a level. Needs the AccessKey: it is the user's to say.
func (c *Client) SetTrust(ctx context.Context, nodeID string, in TrustSet) error {
	return c.put(ctx, "/trust/nodes/"+url.PathEscape(nodeID), in)
}

// SetNeeded says from which level on a plugin may do something without asking. Needs the AccessKey.
func (c *Client) SetNeeded(ctx context.Context, in TrustedAction) error {
	return c.put(ctx, "/trust/actions", in)
}

func (c *Client) put(ctx context.Context, path string, in any) error {
	_, err := c.call(ctx, request{method: http.MethodPut, path: path, body: appendJSON(nil, in), replayable: true}, nil)
	return err
}
