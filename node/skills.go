package node

// This file holds the skill of a plugin: what its file says to those who want to use it.

import (
	"context"
	"fmt"

	"plexus/graph"
	"plexus/plugins"
	"plexus/sdk/client"
)

// Skill returns the SKILL.md and the schema of one of a Space's plugins, as the file has them that is pinned, or else runs.
func (n *Node) Skill(ctx context.Context, spaceID, plugin string) (client.PluginSkill, error) {
	list, err := n.Plugins(ctx, spaceID)
	if err != nil {
		return client.PluginSkill{}, err
	}
	for _, p := range list {
		if p.Name != plugin {
			continue
		}
		wasm, err := n.fileOf(p)
		if err != nil {
			return client.PluginSkill{}, fmt.Errorf("skill of plugin %s: %w", plugin, err)
		}
		text, schema, err := plugins.Skill(wasm, plugin)
		return client.PluginSkill{Name: p.Name, File: p.File, Pinned: p.Pinned, Skill: string(text), Schema: string(schema)}, err
	}
	return client.PluginSkill{}, fmt.Errorf("no plugin %q in space %s: %w", plugin, spaceID, graph.ErrNotFound)
}

func (n *Node) fileOf(p client.Plugin) ([]byte, error) {
	if own := n.plugins.Own(p.File); own != nil { // also where it goes on in place of a pinned one
		return own, nil
	}
	return n.plugins.File(p.File)
}
