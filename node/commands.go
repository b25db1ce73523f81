package node

// This file holds commands: a plugin says what follows from its state, and the Node on whose behalf it was asked sends it.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

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

// Commands lists the commands of the plugins in the Spaces that a Node has joined, or in all ("").
func (n *Node) Commands(ctx context.Context, nodeID string) ([]client.PluginCommand, error) {
	names, err := n.joinedSpaces(nodeID)
	if err != nil {
		return nil, err
	}
	spaces := map[graph.ID]bool{}
	for id := range names {
		spaces[id] = true
	}
	type key struct{ plugin, file, command string }
	at := map[key]int{}
	out := []client.PluginCommand{}
	for _, o := range n.plugins.Offers(ctx, spaces) {
		for _, c := range o.Commands {
			k := key{o.Plugin, o.File, c.Name}
			i, ok := at[k]
			if !ok {
				i, at[k] = len(out), len(out)
				out = append(out, client.PluginCommand{Plugin: o.Plugin, Command: c.Name, About: c.About, Params: json.RawMessage(c.Params), File: o.File})
			}
			out[i].Spaces = append(out[i].Spaces, client.SpaceName{ID: o.Space.String(), Name: names[o.Space]})
		}
	}
	slices.SortStableFunc(out, func(a, b client.PluginCommand) int {
		return cmp.Or(cmp.Compare(a.Plugin, b.Plugin), cmp.Compare(a.Command, b.Command), cmp.Compare(len(b.Spaces), len(a.Spaces)), cmp.Compare(a.File, b.File))
	})
	return out, nil
}

// joinedSpaces are those in which a Node has said what it is there for, by name.
func (n *Node) joinedSpaces(nodeID string) (map[graph.ID]string, error) {
	var id graph.NodeID
	if nodeID != "" {
		var err error
		if id, err = graph.ParseNodeID(nodeID); err != nil {
			return nil, notFound("Node", nodeID)
		}
	}
	spaces, err := n.openSpaces()
	if err != nil {
		return nil, err
	}
	out := map[graph.ID]string{}
	for _, sp := range spaces {
		joined := nodeID == ""
		if !joined {
			if _, joined, err = lastProfile(sp, id); err != nil {
				return nil, err
			}
		}
		if joined {
			out[sp.ID()] = sp.Genesis().Name
		}
	}
	return out, nil
}

// WatchCommands yields what Commands lists, as JSON, and each list that differs from the last. A slow consumer gets the newest.
func (n *Node) WatchCommands(ctx context.Context, nodeID string) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		var last []byte
		for {
			changed := n.plugins.Changed()
			list, err := n.Commands(ctx, nodeID)
			if ctx.Err() != nil {
				return
			}
			var b []byte
			if err == nil {
				b, err = json.Marshal(list)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !bytes.Equal(b, last) {
				if last = b; !yield(b, nil) {
					return
				}
			}
			if !waitChange(ctx, changed) {
				return
			}
		}
	}
}

// waitChange waits for the plugins to commit, and some time at least, so that a busy node isn't asked without end; false when ctx ends.
func waitChange(ctx context.Context, changed <-chan struct{}) bool {
	t := time.NewTimer(commandsPause)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
	}
	select {
	case <-ctx.Done():
		return false
	case <-changed:
		return true
	}
}

// freshen keeps the tools of MCP sessions current until ctx ends.
func (n *Node) freshen(ctx context.Context) error {
	for {
		changed := n.plugins.Changed()
		if err := n.mcp.Refresh(ctx); err != nil && ctx.Err() == nil {
			n.cfg.Logger.Warn("list the plugins' commands for MCP", "err", err)
		}
		if !waitChange(ctx, changed) {
			return nil
		}
	}
}
