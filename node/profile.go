package node

// This file holds profiles: what a Node says of itself in the Network's log (name, description, meta) and in a Space
// (description, tags). The last one an author wrote holds.

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plexus/graph"
	"plexus/sdk/client"
)

// profile is the payload of an entry of kind profile. In the Network's log Tags stay empty; in a Space Name and Meta.
type profile struct {
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Meta        json.RawMessage `json:"meta,omitempty"`
	Tags        []string        `json:"tags,omitempty"`
}

// readProfile reads what an author wrote; what can't be read says nothing.
func readProfile(e *graph.Entry) profile {
	var p profile
	if graph.CheckPayload(e.Body().Payload) != nil || json.Unmarshal(e.Body().Payload, &p) != nil {
		return profile{}
	}
	if len(p.Meta) == 0 || p.Meta[0] != '{' {
		p.Meta = nil
	}
	return p
}

func (p profile) draft() (graph.Draft, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return graph.Draft{}, fmt.Errorf("write profile: %w", err)
	}
	return graph.Draft{Kind: graph.KindProfile, Payload: b}, nil
}

// writeProfile tells the Network who a Node is; also is written in the same transaction.
func (n *Node) writeProfile(ctx context.Context, key ed25519.PrivateKey, local localNode, also []graph.Op) error {
	d, err := profile{Name: local.Name, Description: local.Description, Meta: local.Meta}.draft()
	if err != nil {
		return err
	}
	sp, err := n.networkSpace()
	if err != nil {
		return err
	}
	_, err = sp.Send(ctx, key, d, func(*graph.Entry) []graph.Op { return also })
	return err
}

// lastProfile returns what an author said last in a Space; ok is false where it said nothing.
func lastProfile(sp *graph.Space, author graph.NodeID) (p profile, ok bool, err error) {
	e, err := sp.Profile(author)
	if errors.Is(err, graph.ErrNotFound) {
		return p, false, nil
	}
	if err != nil {
		return p, false, fmt.Errorf("read profile of %s: %w", author, err)
	}
	return readProfile(e), true, nil
}

// mergeTags trims, drops what is empty, and keeps the order in which tags came.
func mergeTags(old, more []string) ([]string, error) {
	out := slices.Clone(old)
	for _, t := range more {
		t = strings.TrimSpace(t)
		if t == "" || slices.Contains(out, t) {
			continue
		}
		if len(t) > MaxTag {
			return nil, invalid("tag '%s…' is over %d bytes", t[:32], MaxTag)
		}
		out = append(out, t)
	}
	if len(out) > MaxTags {
		return nil, invalid("a Node gives a Space at most %d tags", MaxTags)
	}
	return out, nil
}

// public is a Node as others see it.
func (p profile) public(id graph.NodeID) client.Node {
	c := client.Node{ID: id.String(), Name: p.Name, Description: p.Description, Meta: p.Meta}
	if c.Meta == nil {
		c.Meta = json.RawMessage("{}")
	}
	return c
}
