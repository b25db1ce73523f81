package node

// This file holds reactions: plugins that speak by themselves as a Node of this host, where that Node turned it on.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"plexus/graph"
	"plexus/plugins"
)

// reactRetry is how long a reaction whose plugin isn't there waits before it looks again: a pin or a file may come.
const reactRetry = 10 * time.Second

// reaction is one that is turned on.
type reaction struct {
	node, space graph.ID // node: a NodeID's bytes
	plugin      string
}

func (r reaction) key() []byte {
	return append(append(append([]byte{}, r.node[:]...), r.space[:]...), r.plugin...)
}

func (r records) reactions() (map[reaction]bool, error) {
	out := map[reaction]bool{}
	for kv, err := range r.react.Scan(nil, nil, false) {
		if err != nil {
			return nil, err
		}
		if len(kv.Key) < 65 {
			continue
		}
		var a reaction
		copy(a.node[:], kv.Key)
		copy(a.space[:], kv.Key[32:])
		a.plugin = string(kv.Key[64:])
		out[a] = true
	}
	return out, nil
}

// React turns a plugin's reactions in a Space on or off for a Node this host holds. What was said before they were first on isn't answered.
func (n *Node) React(ctx context.Context, spaceID, plugin, caller string, on bool) error {
	sp, err := n.space(spaceID)
	if err != nil {
		return err
	}
	id, err := graph.ParseNodeID(caller)
	if err == nil {
		_, err = n.keys.key(id)
	}
	if err != nil {
		return notFound("Node", caller)
	}
	op := graph.Op{Kind: graph.Del, Key: reaction{graph.ID(id), sp.ID(), plugin}.key()}
	if on {
		if err := n.reacts(ctx, sp.ID(), plugin); err != nil {
			return err
		}
		op.Kind, op.Value = graph.Set, []byte{1}
	}
	if err := n.rec.react.Apply(op); err != nil {
		return err
	}
	select {
	case n.reacted <- struct{}{}:
	default: // it is told already
	}
	return nil
}

// reacts checks that there is such a plugin, that it reacts, and that the user has granted what it asks for.
func (n *Node) reacts(ctx context.Context, space graph.ID, plugin string) error {
	p, err := n.known(ctx, space, plugin)
	if err != nil {
		return err
	}
	if !p.React {
		return invalid("plugin %s doesn't react", plugin)
	}
	return n.plugins.Permit(space, plugin)
}

// react runs what is turned on until ctx ends.
func (n *Node) react(ctx context.Context) error {
	running := map[reaction]context.CancelFunc{}
	group := new(errgroup.Group)
	defer func() { _ = group.Wait() }() // their errors were logged
	for {
		wanted, err := n.rec.reactions()
		if err != nil {
			return fmt.Errorf("read reactions: %w", err)
		}
		for r := range wanted {
			if running[r] != nil {
				continue
			}
			rctx, cancel := context.WithCancel(ctx)
			defer cancel()
			running[r] = cancel
			group.Go(func() error { n.reactAs(rctx, r); return nil })
		}
		for r, cancel := range running {
			if !wanted[r] {
				cancel()
				delete(running, r)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-n.reacted:
		}
	}
}

// reactAs runs one reaction; one that can't go on is tried again.
func (n *Node) reactAs(ctx context.Context, r reaction) {
	key, err := n.keys.key(graph.NodeID(r.node))
	if err != nil || n.waitSettled(ctx) != nil {
		return
	}
	for ctx.Err() == nil {
		err := n.plugins.React(ctx, plugins.Reaction{Space: r.space, Plugin: r.plugin, Key: key})
		if err == nil || errors.Is(err, graph.ErrClosed) {
			return
		}
		n.cfg.Logger.Warn("a plugin's reactions have stopped and are tried again", "plugin", r.plugin, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(reactRetry):
		}
	}
}
