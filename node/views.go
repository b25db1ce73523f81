package node

// This file passes questions about plugin state to the plugins.

import (
	"context"
	"encoding/json"

	"plexus/graph"
)

// View asks a plugin's view in a Space on behalf of a Node ("" for nobody).
func (n *Node) View(ctx context.Context, spaceID, plugin, view string, params json.RawMessage, caller string) (json.RawMessage, error) {
	sp, err := n.space(spaceID)
	if err != nil {
		return nil, err
	}
	var id graph.NodeID
	if caller != "" {
		if id, err = graph.ParseNodeID(caller); err != nil {
			return nil, notFound("Node", caller)
		}
	}
	return n.plugins.View(ctx, sp.ID(), plugin, view, params, id)
}

// StateHash returns the hash that equal replicas share, and whether the state covers all visible messages.
func (n *Node) StateHash(ctx context.Context, spaceID, plugin string) (hash string, current bool, err error) {
	sp, err := n.space(spaceID)
	if err != nil {
		return "", false, err
	}
	return n.plugins.StateHash(ctx, sp.ID(), plugin)
}
