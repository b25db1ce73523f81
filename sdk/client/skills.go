package client

// This file holds a plugin's skill.

import "context"

// PluginSkill is how a plugin is used: Skill is Markdown for agents, Schema the text of the JSON Schema of its messages, both as its file has
// them. What that lacks is empty.
type PluginSkill struct {
	Name   string `json:"name"`
	File   string `json:"file"` // the CID of the Wasm file
	Pinned bool   `json:"pinned,omitempty"`
	Skill  string `json:"skill"`
	Schema string `json:"schema"`
}

// Skill returns one of a Space's plugins' skill.
func (c *Client) Skill(ctx context.Context, spaceID, plugin string) (PluginSkill, error) {
	var out PluginSkill
	err := c.get(ctx, pluginPath(spaceID, plugin)+"/skill", nil, &out)
	return out, err
}
