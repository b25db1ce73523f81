package node

// This file holds what callers see of capabilities: the check of a payload before it is sent, and what is on offer.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plexus/graph"
	"plexus/node/api"
	"plexus/sdk/client"
)

// declared is an item of the capability plugin's view find.
type declared struct {
	Node          string `json:"node"`
	Type          string `json:"type"`
	Name          string `json:"name"`
	Description   string `json:"description"`
	Version       string `json:"version"`
	EstimatedTime int    `json:"estimated_time_s"`
}

// find asks the capability plugin who can do what; a Space without that plugin has nobody. payload, where not nil, leaves out those whose input
// schema it doesn't fit.
func (g *gateway) find(ctx context.Context, space graph.ID, kind string, payload json.RawMessage) (out []declared, err error) {
	q := struct {
		Type    string          `json:"type,omitempty"`
		Payload json.RawMessage `json:"payload,omitempty"`
		After   string          `json:"after,omitempty"`
		Limit   int             `json:"limit"`
	}{kind, payload, "", viewPage}
	for len(out) < maxDeclared {
		var page struct {
			Capabilities []declared `json:"capabilities"`
			Next         string     `json:"next"`
		}
		err := g.view(ctx, space, capabilityPlugin, "find", q, graph.NodeID{}, &page)
		if errors.Is(err, graph.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, page.Capabilities...)
		if q.After = page.Next; page.Next == "" {
			break
		}
	}
	return out, nil
}

// view asks a plugin and reads its answer into out.
func (g *gateway) view(ctx context.Context, space graph.ID, plugin, view string, params any, as graph.NodeID, out any) error {
	b, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("ask view %s of %s: %w", view, plugin, err)
	}
	raw, err := g.node.plugins.View(ctx, space, plugin, view, b, as)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("read view %s of %s: %w: %w", view, plugin, err, graph.ErrUnavailable)
	}
	return nil
}

// fits holds a payload against the input schemas that are declared, and chooses whom a request names that names nobody: those who take it. Where
// nobody declared the type anyone may do it.
func (g *gateway) fits(ctx context.Context, a *asking) error {
	payload := a.in.Payload
	if payload == nil {
		payload = json.RawMessage("{}")
	}
	all, err := g.find(ctx, a.space.ID(), a.in.TaskType, nil)
	if err != nil || len(all) == 0 {
		return err
	}
	named := a.in.Nodes
	var asked []declared
	for _, d := range all {
		if len(named) == 0 || slices.Contains(named, d.Node) {
			asked = append(asked, d)
		}
	}
	if len(asked) == 0 {
		return nil // those named declared nothing
	}
	take, err := g.find(ctx, a.space.ID(), a.in.TaskType, payload)
	if err != nil {
		return err
	}
	var fit []string
	for _, d := range take {
		if len(named) == 0 || slices.Contains(named, d.Node) {
			fit = append(fit, d.Node)
		}
	}
	switch {
	case len(fit) == 0, len(named) > 0 && len(fit) < len(asked):
		return g.misfit(ctx, a, asked, fit)
	case len(named) == 0:
		a.in.Nodes = fit[:min(len(fit), maxAsked)]
	}
	return nil
}

// misfit says in the capability plugin's words what is wrong: its command invoke refuses what doesn't fit, and nothing of it is sent.
func (g *gateway) misfit(ctx context.Context, a *asking, asked []declared, fit []string) error {
	for _, d := range asked {
		if slices.Contains(fit, d.Node) {
			continue
		}
		params, err := json.Marshal(struct {
			Type    string          `json:"type"`
			Node    string          `json:"node"`
			Payload json.RawMessage `json:"payload,omitempty"`
		}{a.in.TaskType, d.Node, a.in.Payload})
		if err != nil {
			return invalid("payload is not valid JSON: %v", err)
		}
		if _, err := g.node.plugins.Command(ctx, a.space.ID(), capabilityPlugin, "invoke", params, a.caller.ID); err != nil {
			return misfitError(err)
		}
	}
	return invalid("payload doesn't fit the input schema of any Node that declared '%s'", clip(a.in.TaskType))
}

// misfitError is a refusal of the capability plugin in a caller's terms.
func misfitError(err error) error {
	if !errors.Is(err, graph.ErrInvalid) {
		return err
	}
	what := strings.TrimPrefix(err.Error(), "command invoke of "+capabilityPlugin+": ")
	what, _, _ = strings.Cut(what, ": see input_schema")
	return &api.Fault{Kind: graph.ErrInvalid, Detail: what, Hint: "GET /p2a/capabilities shows the input_schema"}
}

// Offers lists what Nodes declared in the caller's Spaces, with schemas.
func (g *gateway) Offers(ctx context.Context, caller string) ([]client.Offer, error) {
	c, err := g.callerOf(caller)
	if err != nil {
		return nil, err
	}
	out := []client.Offer{}
	for _, space := range c.Spaces {
		all, err := g.find(ctx, space, "", nil)
		if err != nil {
			return nil, err
		}
		for _, d := range all {
			if len(c.Types) > 0 && !slices.Contains(c.Types, d.Type) || len(out) == maxDeclared {
				continue
			}
			o := client.Offer{
				SpaceID: space.String(), Node: d.Node, TaskType: d.Type, Name: d.Name, Description: d.Description, Version: d.Version, EstimatedTime: d.EstimatedTime,
			}
			err := g.view(ctx, space, capabilityPlugin, "capability", map[string]string{"type": d.Type, "node": d.Node}, c.ID, &o)
			if err != nil && !errors.Is(err, graph.ErrInvalid) { // withdrawn meanwhile
				return nil, err
			}
			out = append(out, o)
		}
	}
	return out, nil
}
