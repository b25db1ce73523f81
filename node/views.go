package node

// This file passes questions about plugin state to the plugins.

import (
	"context"
	"encoding/json"
	"iter"

	"plexus/graph"
	"plexus/sdk/client"
)

// View asks a plugin's view in a Space on behalf of a Node ("" for nobody).
func (n *Node) View(ctx context.Context, spaceID, plugin, view string, params json.RawMessage, caller string) (json.RawMessage, error) {
	sp, id, err := n.viewed(spaceID, caller)
	if err != nil {
		return nil, err
	}
	return n.plugins.View(ctx, sp.ID(), plugin, view, params, id)
}

// AnswerView is View, and says what the answer comes from.
func (n *Node) AnswerView(ctx context.Context, spaceID, plugin, view string, params json.RawMessage, caller string) (client.Answer, error) {
	sp, id, err := n.viewed(spaceID, caller)
	if err != nil {
		return client.Answer{}, err
	}
	a, err := n.plugins.Answer(ctx, sp.ID(), plugin, view, params, id)
	return client.Answer(a), err
}

// WatchView yields a view's answer and each one that differs from the last, as plugins.Host.Watch does.
func (n *Node) WatchView(ctx context.Context, spaceID, plugin, view string, params json.RawMessage, caller string) iter.Seq2[json.RawMessage, error] {
	sp, id, err := n.viewed(spaceID, caller)
	if err != nil {
		return func(yield func(json.RawMessage, error) bool) { yield(nil, err) }
	}
	return n.plugins.Watch(ctx, sp.ID(), plugin, view, params, id)
}

func (n *Node) viewed(spaceID, caller string) (*graph.Space, graph.NodeID, error) {
	sp, err := n.space(spaceID)
	if err != nil || caller == "" {
		return sp, graph.NodeID{}, err
	}
	id, err := graph.ParseNodeID(caller)
	if err != nil {
		return nil, id, notFound("Node", caller)
	}
	return sp, id, nil
}

// Waiting lists what waits for a Node this host holds, over all Spaces. A plugin that can't answer is left out, and logged.
func (n *Node) Waiting(ctx context.Context, nodeID string) ([]client.Waiting, error) {
	id, err := n.localID(nodeID)
	if err != nil {
		return nil, err
	}
	got, err := n.plugins.Waiting(ctx, id)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		n.cfg.Logger.Warn("not all that waits is known", "node", nodeID, "err", err)
	}
	out := []client.Waiting{}
	for _, w := range got {
		sp, err := n.log.Space(w.Space)
		if err != nil {
			return nil, err
		}
		out = append(out, client.Waiting{
			SpaceID: w.Space.String(), Space: sp.Genesis().Name, Plugin: w.Plugin, View: w.View, Items: w.Items, More: w.More,
		})
	}
	return out, nil
}

// StateHash returns the hash that equal replicas share, and whether the state covers all visible messages.
func (n *Node) StateHash(ctx context.Context, spaceID, plugin string) (hash string, current bool, err error) {
	sp, err := n.space(spaceID)
	if err != nil {
		return "", false, err
	}
	return n.plugins.StateHash(ctx, sp.ID(), plugin)
}
