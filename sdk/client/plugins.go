package client

// This file holds plugins as a Space's members see them: what there is, and commands.

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
)

// Plugin is one plugin of a Space, and how far its state has come here.
type Plugin struct {
	Name     string         `json:"name"`
	Version  string         `json:"version"`
	File     string         `json:"file"` // the CID of the Wasm file
	About    string         `json:"about,omitempty"`
	Accepts  []string       `json:"accepts"` // content types
	Views    []PluginAction `json:"views"`
	Commands []PluginAction `json:"commands"`
	Current  bool           `json:"current"`          // the state covers all visible messages
	Folded   uint64         `json:"folded"`           // messages in the state
	Marked   uint64         `json:"marked"`           // of these, how many were refused or trapped
	Reason   string         `json:"reason,omitempty"` // of the last one marked
	Fault    string         `json:"fault,omitempty"`  // why a pinned plugin can't run; then name and file alone are known
}

// PluginAction is a view or a command. Params is the JSON Schema of its parameters.
type PluginAction struct {
	Name   string          `json:"name"`
	About  string          `json:"about,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
}

// Plugins lists a Space's plugins by name.
func (c *Client) Plugins(ctx context.Context, spaceID string) ([]Plugin, error) {
	var out []Plugin
	err := c.get(ctx, "/spaces/"+url.PathEscape(spaceID)+"/plugins", nil, &out)
	return out, err
}

// Do has a plugin's command look at the state and say what follows, on behalf of the caller; it returns the messages sent, in order. params is a
// JSON object or nil. A refusal is the plugin's own ("checkpoint … is already answered"). It isn't repeated on a broken connection: whether
// it was done, the state shows.
func (c *Client) Do(ctx context.Context, spaceID, plugin, command string, params json.RawMessage) ([]Message, error) {
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	var out []Message
	_, err := c.call(ctx, request{method: http.MethodPost, path: pluginPath(spaceID, plugin) + "/commands/" + url.PathEscape(command), body: params}, &out)
	return out, err
}
