package node

// This file holds commands: a plugin says what follows from its state, and the Node on whose behalf it was asked sends it.

import (
	"context"
	"encoding/json"
	"fmt"

	"plexus/graph"
	"plexus/plugins"
	"plexus/sdk/client"
)

func actions(list []plugins.Action) []client.PluginAction {
	out := make([]client.PluginAction, 0, len(list))
	for _, c := range list {
		out = append(out, client.PluginAction{Name: c.Name, About: c.About, Params: json.RawMessage(c.Params)})
	}
	return out
}

// Do asks a plugin's command on behalf of a Node this host holds, and sends what it answers as that Node, in order.
func (n *Node) Do(ctx context.Context, spaceID, plugin, command string, params json.RawMessage, caller string) ([]client.Message, error) {
	sp, err := n.space(spaceID)
	if err != nil {
		return nil, err
	}
	service, err := n.As(caller)
	if err != nil {
		return nil, err
	}
	id, err := graph.ParseNodeID(caller)
	if err != nil {
		return nil, notFound("Node", caller)
	}
	drafts, err := n.plugins.Command(ctx, sp.ID(), plugin, command, params, id)
	if err != nil {
		return nil, err
	}
	out := make([]client.Message, 0, len(drafts))
	for i, d := range drafts {
		m, err := service.Send(ctx, spaceID, outgoing(d))
		if err != nil && i > 0 {
			return nil, fmt.Errorf("%d of %d messages of command %s were sent, the next: %w", i, len(drafts), command, err)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// outgoing is a draft as a Node sends it.
func outgoing(d graph.Draft) client.SendMessage {
	in := client.SendMessage{Content: d.Content, ContentType: d.ContentType, Meta: d.Meta, ContentSchema: d.Schema, Refs: &client.Ref{}}
	for _, id := range d.Refs.Messages {
		in.Refs.Messages = append(in.Refs.Messages, id.String())
	}
	for _, id := range d.Refs.Nodes {
		in.Refs.Nodes = append(in.Refs.Nodes, id.String())
	}
	return in
}
