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
