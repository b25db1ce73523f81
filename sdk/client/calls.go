package client

// This file holds the calls a Node makes: IOA's three operations (Listen stands in listen.go), its inbox, and what
// it may look up.

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Space creates the Space of that name or joins it; doing so again changes nothing but the description and tags.
func (c *Client) Space(ctx context.Context, in SpaceCreate) (SpaceInfo, error) {
	var out SpaceInfo
	err := c.post(ctx, "/spaces", in, &out, true)
	return out, err
}

// Send says something in a Space. Without an IdempotencyKey it makes one, so that a try repeated after a lost
// connection can't become a second message.
func (c *Client) Send(ctx context.Context, spaceID string, in SendMessage) (Message, error) {
	var out Message
	key := in.IdempotencyKey
	if key == "" {
		key = idempotencyKey()
	}
	body, err := in.encode()
	if err != nil {
		return out, err
	}
	_, err = c.call(ctx, request{
		method: http.MethodPost, path: "/spaces/" + url.PathEscape(spaceID) + "/messages",
		header: http.Header{"Idempotency-Key": {key}}, body: body, replayable: true,
	}, &out)
	return out, err
}

// idempotencyKey is one that nobody else has.
func idempotencyKey() string { return rand.Text() }

// Read returns one page of a Space's messages.
func (c *Client) Read(ctx context.Context, q ReadQuery) (Page, error) {
	return c.page(ctx, "/spaces/"+url.PathEscape(q.SpaceID)+"/messages", readValues(q))
}

func readValues(q ReadQuery) url.Values {
	v := url.Values{}
	set(v, "message_id", q.MessageID)
	set(v, "direction", q.Direction)
	set(v, "after", q.After)
	set(v, "order", q.Order)
	setInt(v, "limit", q.Limit)
	if q.All {
		v.Set("all", "true")
	}
	return v
}

// Find returns one page of messages across Spaces.
func (c *Client) Find(ctx context.Context, q FindQuery) (Page, error) {
	v := url.Values{}
	set(v, "space_id", q.SpaceID)
	set(v, "message_id", q.MessageID)
	set(v, "node_id", q.NodeID)
	set(v, "sender", q.Sender)
	set(v, "ref_message", q.RefMessage)
	set(v, "ref_node", q.RefNode)
	set(v, "after", q.After)
	setInt(v, "limit", q.Limit)
	return c.page(ctx, "/messages", v)
}

// Inbox returns messages that name a Node ("" is the Token's own), oldest first after the cursor; unacked leaves out
// acknowledged ones.
func (c *Client) Inbox(ctx context.Context, nodeID, after string, limit int, unacked bool) (Page, error) {
	v := url.Values{}
	set(v, "after", after)
	setInt(v, "limit", limit)
	if unacked {
		v.Set("unacked", "true")
	}
	return c.page(ctx, "/nodes/"+c.self(nodeID)+"/inbox", v)
}

// Ack acknowledges messages in a Node's inbox; one already acknowledged is no error.
func (c *Client) Ack(ctx context.Context, nodeID string, messageIDs []string) error {
	in := struct {
		Messages []string `json:"messages"`
	}{messageIDs}
	return c.post(ctx, "/nodes/"+c.self(nodeID)+"/inbox/ack", in, nil, true)
}

// Nodes returns every Node known here.
func (c *Client) Nodes(ctx context.Context) ([]Node, error) {
	var out []Node
	err := c.get(ctx, "/nodes", nil, &out)
	return out, err
}

// Node returns one Node; "" is the Token's own.
func (c *Client) Node(ctx context.Context, id string) (Node, error) {
	var out Node
	err := c.get(ctx, "/nodes/"+c.self(id), nil, &out)
	return out, err
}

// Resolve finds the Node bound to an identity.
func (c *Client) Resolve(ctx context.Context, namespace, subject string) (Node, error) {
	var out Node
	err := c.get(ctx, "/nodes/resolve", url.Values{"namespace": {namespace}, "subject": {subject}}, &out)
	return out, err
}

// Bind ties a Node to an identity; a conflict where that is another Node's.
func (c *Client) Bind(ctx context.Context, nodeID string, b IdentityBinding) (Node, error) {
	return c.identity(ctx, http.MethodPut, nodeID, b)
}

// Unbind takes an identity from a Node.
func (c *Client) Unbind(ctx context.Context, nodeID string, b IdentityBinding) (Node, error) {
	return c.identity(ctx, http.MethodDelete, nodeID, b)
}

func (c *Client) identity(ctx context.Context, method, nodeID string, b IdentityBinding) (Node, error) {
	var out Node
	body, err := json.Marshal(b)
	if err != nil {
		return out, err
	}
	_, err = c.call(ctx, request{method: method, path: "/nodes/" + c.self(nodeID) + "/identities", body: body, replayable: true}, &out)
	return out, err
}

// Spaces returns every Space known here.
func (c *Client) Spaces(ctx context.Context) ([]SpaceInfo, error) {
	var out []SpaceInfo
	err := c.get(ctx, "/spaces", nil, &out)
	return out, err
}

// SpaceInfo describes one Space.
func (c *Client) SpaceInfo(ctx context.Context, id string) (SpaceInfo, error) {
	var out SpaceInfo
	err := c.get(ctx, "/spaces/"+url.PathEscape(id), nil, &out)
	return out, err
}

// View asks a plugin for one of its views; params is a JSON object or nil.
func (c *Client) View(ctx context.Context, spaceID, plugin, view string, params json.RawMessage) (json.RawMessage, error) {
	a, err := c.AnswerView(ctx, spaceID, plugin, view, params)
	return a.JSON, err
}

// The headers of a view's answer.
const (
	HeaderPluginFile    = "Plexus-Plugin-File"
	HeaderPluginCurrent = "Plexus-Plugin-Current"
)

// Answer is what a view said, and of which state.
type Answer struct {
	JSON    json.RawMessage
	File    string // CID of the plugin file that answered and had folded the state
	Current bool   // the state covered what reads showed when it was asked, and no other file is pinned
}

// AnswerView is View, and says what the answer comes from.
func (c *Client) AnswerView(ctx context.Context, spaceID, plugin, view string, params json.RawMessage) (a Answer, err error) {
	v := url.Values{}
	set(v, "params", string(params))
	r := request{method: http.MethodGet, path: pluginPath(spaceID, plugin) + "/views/" + url.PathEscape(view), query: v, replayable: true}
	header, err := c.call(ctx, r, &a.JSON)
	a.File, a.Current = header.Get(HeaderPluginFile), header.Get(HeaderPluginCurrent) == "true"
	return a, err
}

// StateHash returns the hash that equal replicas of a plugin's state share, and whether it covers all visible messages.
func (c *Client) StateHash(ctx context.Context, spaceID, plugin string) (hash string, current bool, err error) {
	var out struct {
		Hash    string `json:"hash"`
		Current bool   `json:"current"`
	}
	err = c.get(ctx, pluginPath(spaceID, plugin)+"/state", nil, &out)
	return out.Hash, out.Current, err
}

func pluginPath(spaceID, plugin string) string {
	return "/spaces/" + url.PathEscape(spaceID) + "/plugins/" + url.PathEscape(plugin)
}

// self is the path part for a Node: the one given, the Client's, or "me".
func (c *Client) self(id string) string {
	if id == "" {
		id = c.NodeID
	}
	if id == "" {
		id = "me"
	}
	return url.PathEscape(id)
}

func (c *Client) get(ctx context.Context, path string, v url.Values, out any) error {
	_, err := c.call(ctx, request{method: http.MethodGet, path: path, query: v, replayable: true}, out)
	return err
}

func (c *Client) post(ctx context.Context, path string, in, out any, replayable bool) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	_, err = c.call(ctx, request{method: http.MethodPost, path: path, body: body, replayable: replayable}, out)
	return err
}

func (c *Client) page(ctx context.Context, path string, v url.Values) (Page, error) {
	var p Page
	h, err := c.call(ctx, request{method: http.MethodGet, path: path, query: v, replayable: true}, &p.Messages)
	if err != nil {
		return Page{}, err
	}
	p.Next = next(h)
	return p, nil
}

// next is the cursor in a Link header's rel="next".
func next(h http.Header) string {
	for _, line := range h.Values("Link") {
		for _, link := range strings.Split(line, ",") {
			target, params, ok := strings.Cut(link, ">")
			if !ok || !strings.Contains(params, `rel="next"`) {
				continue
			}
			u, err := url.Parse(strings.TrimPrefix(strings.TrimSpace(target), "<"))
			if err == nil {
				return u.Query().Get("after")
			}
		}
	}
	return ""
}

func set(v url.Values, k, s string) {
	if s != "" {
		v.Set(k, s)
	}
}

func setInt(v url.Values, k string, n int) {
	if n != 0 {
		v.Set(k, strconv.Itoa(n))
	}
}
