package client

// This file holds WatchView: a view's answers, over lost connections too.

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
)

// WatchView yields a view's answer, and then, until ctx ends (which ends the sequence without an error), each one that differs from the last. Whoever
// is slow gets the newest. A lost connection is made anew. An error is yielded last, as with Listen.
func (c *Client) WatchView(ctx context.Context, spaceID, plugin, view string, params json.RawMessage) iter.Seq2[json.RawMessage, error] {
	v := url.Values{}
	set(v, "params", string(params))
	return c.watch(ctx, pluginPath(spaceID, plugin)+"/views/"+url.PathEscape(view)+"/sse", v)
}

// SpaceName is a Space by ID and name.
type SpaceName struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// PluginCommand is a command of a plugin, and the Spaces in which it can be given.
type PluginCommand struct {
	Plugin  string          `json:"plugin"`
	Command string          `json:"command"`
	About   string          `json:"about,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"` // the JSON Schema of its parameters
	File    string          `json:"file"`             // the CID of the plugin's file: other Spaces may have another version
	Spaces  []SpaceName     `json:"spaces"`
}

// Commands lists the commands of the plugins in the Spaces the caller has joined.
func (c *Client) Commands(ctx context.Context) ([]PluginCommand, error) {
	var out []PluginCommand
	err := c.get(ctx, "/nodes/"+c.self("")+"/commands", nil, &out)
	return out, err
}

// WatchCommands yields what Commands gives, and each list that differs from the last, as WatchView does: it changes with what is pinned, unpinned, upgraded or
// joined.
func (c *Client) WatchCommands(ctx context.Context) iter.Seq2[[]PluginCommand, error] {
	return func(yield func([]PluginCommand, error) bool) {
		for raw, err := range c.watch(ctx, "/nodes/"+c.self("")+"/commands/sse", nil) {
			var list []PluginCommand
			if err == nil && json.Unmarshal(raw, &list) != nil {
				err = noJSON(raw)
			}
			if !yield(list, err) || err != nil {
				return
			}
		}
	}
}

// watch yields the answers of a stream of them. The one that still holds after a lost connection isn't given twice: the daemon knows it by its ID.
func (c *Client) watch(ctx context.Context, path string, query url.Values) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		if err := c.setup(); err != nil {
			yield(nil, err)
			return
		}
		s := stream{client: c}
		s.request = func(cursor string) request { return follow(path, query, cursor) }
		s.take = func(_ string, data []byte) error {
			if !json.Valid(data) {
				return noJSON(data)
			}
			return more(yield(data, nil))
		}
		if err := s.run(ctx); err != nil {
			yield(nil, err)
		}
	}
}
