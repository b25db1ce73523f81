package node

// This file holds what this machine's user lets pinned plugins do: the effects that their commands and reactions ask for. A grant is for a plugin's
// name in one Space: it holds for what an admin pins there in its place, and what that asks for beyond it waits for the user.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plexus/graph"
	"plexus/plugins"
	"plexus/sdk/client"
)

// grantKey is the key of a grant: space ID ‖ plugin ‖ "/" ‖ grant.
func grantKey(space graph.ID, plugin, grant string) []byte {
	return append(space[:], plugin+"/"+grant...)
}

// granted is plugins.Config.Granted. A store that fails grants nothing.
func (n *Node) granted(space graph.ID, plugin, grant string) bool {
	_, err := n.rec.grant.Get(grantKey(space, plugin, grant))
	return err == nil
}

// Grant lets a pinned plugin have these effects in a Space, and no others: of those it asks for, or else ErrInvalid.
func (n *Node) Grant(ctx context.Context, spaceID, plugin string, grants []string) (client.PluginGrants, error) {
	sp, err := n.space(spaceID)
	if err != nil {
		return client.PluginGrants{}, err
	}
	asks, err := n.asks(ctx, sp.ID(), plugin)
	if err != nil {
		return client.PluginGrants{}, err
	}
	var ops []graph.Op
	for kv, err := range n.rec.grant.Scan(grantKey(sp.ID(), plugin, ""), grantKey(sp.ID(), plugin, "\xff"), false) {
		if err != nil {
			return client.PluginGrants{}, fmt.Errorf("read the grants of plugin %s: %w", plugin, err)
		}
		ops = append(ops, graph.Op{Kind: graph.Del, Key: slices.Clone(kv.Key)})
	}
	for _, g := range grants {
		if !slices.Contains(asks, g) {
			return client.PluginGrants{}, invalid("plugin %s doesn't ask for %q; it asks for: %s", plugin, clip(g), orNothing(asks))
		}
		ops = append(ops, graph.Op{Kind: graph.Set, Key: grantKey(sp.ID(), plugin, g), Value: []byte{1}})
	}
	if err := n.rec.grant.Apply(ops...); err != nil {
		return client.PluginGrants{}, fmt.Errorf("keep the grants of plugin %s: %w", plugin, err)
	}
	return client.PluginGrants{Asks: append([]string{}, asks...), Granted: append([]string{}, n.grantsOf(sp.ID(), plugin, asks)...)}, nil
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// asks are the effects a plugin wants of the user: ErrNotFound where it isn't there, ErrUnavailable while it isn't here.
func (n *Node) asks(ctx context.Context, space graph.ID, plugin string) ([]string, error) {
	p, err := n.known(ctx, space, plugin)
	return p.Grants, err
}

// grantsOf are those of some effects that are granted.
func (n *Node) grantsOf(space graph.ID, plugin string, asks []string) (out []string) {
	for _, g := range asks {
		if n.granted(space, plugin, g) {
			out = append(out, g)
		}
	}
	return out
}

// known is a plugin that runs in a Space.
func (n *Node) known(ctx context.Context, space graph.ID, plugin string) (p plugins.Info, err error) {
	list, err := n.plugins.Plugins(ctx, space)
	if err != nil {
		return p, err
	}
	var names []string
	for _, p := range list {
		names = append(names, p.Name)
		if p.Name == plugin && p.Version == "" && p.Fault != "" {
			return p, fmt.Errorf("plugin %s of space %s isn't here yet: %s: ask again in a moment: %w", plugin, space, p.Fault, graph.ErrUnavailable)
		}
		if p.Name == plugin {
			return p, nil
		}
	}
	if len(list) == 0 && (n.cfg.Plugins == nil || len(n.cfg.Plugins) > 0) {
		return p, errors.Join(fmt.Errorf("the plugins of space %s aren't known yet: they are being compiled, ask again in a moment: %w", space, graph.ErrUnavailable), ctx.Err())
	}
	hint := ""
	if name := client.Closest(plugin, names); name != "" {
		hint = " (did you mean " + name + "?)"
	}
	return p, fmt.Errorf("no plugin %q in space %s%s; there are: %s: %w", clip(plugin), space, hint, strings.Join(names, ", "), graph.ErrNotFound)
}
