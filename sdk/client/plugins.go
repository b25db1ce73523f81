package client

// This file holds plugins as a Space's members see them: what there is, commands, and pins.

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
	React    bool           `json:"react,omitempty"`  // it speaks by itself, where a Node turns that on
	Current  bool           `json:"current"`          // the state covers all visible messages
	Folded   uint64         `json:"folded"`           // messages in the state
	Marked   uint64         `json:"marked"`           // of these, how many were refused or trapped
	Reason   string         `json:"reason,omitempty"` // of the last one marked
	Fault    string         `json:"fault,omitempty"`  // why a pinned plugin can't run: what ran before goes on, or name and file alone are known
	Pinned   bool           `json:"pinned,omitempty"` // by an admin, in this Space; else it is the node's own
	State    string         `json:"state"`            // one of the States below

	Asks    []string `json:"asks,omitempty"`    // effects its commands and reactions want the user of this machine to grant
	Granted []string `json:"granted,omitempty"` // those that are

	Disagree []Disagreement `json:"disagree,omitempty"` // members whose state differs though they hold the same messages
}

// Disagreement is a member whose state of a plugin differs from this host's, although both hold the same messages and run the same file: one of their
// engines is wrong, or what one keeps is damaged. Which one, BisectPlugin helps to see.
type Disagreement struct {
	Space  string    `json:"space"`
	Plugin string    `json:"plugin"`
	File   string    `json:"file"`  // CID
	Peer   string    `json:"peer"`  // the member's host
	Since  string    `json:"since"` // when it was found
	Here   StateHash `json:"here"`
	There  StateHash `json:"there"`
}

// StateHash is a plugin's state by its hash, and what made it.
type StateHash struct {
	Hash   string `json:"hash"`
	Engine string `json:"engine"` // name, version, machine, compiler or interpreter
}

// The states of a plugin here.
const (
	StateMissing   = "missing"   // pinned; its file is being fetched from other members
	StateRefused   = "refused"   // its file can't run, or its golden trace comes out otherwise here
	StateCompiling = "compiling" // pinned; its file is here
	StateFolding   = "folding"   // the state is behind the messages
	StateCurrent   = "current"
)

// Pin asks for a pin: the file's CID, or the Wasm file itself.
type Pin struct {
	CID  string `json:"cid"`
	Name string `json:"name,omitempty"` // which of the file's plugins; "": all
	Wasm []byte `json:"-"`              // the file; CID, where not "", must be its
}

// Pinned says what was pinned.
type Pinned struct {
	File    string   `json:"file"` // CID
	Plugins []string `json:"plugins"`
}

// PluginAction is a view or a command. Params is the JSON Schema of its parameters.
type PluginAction struct {
	Name   string          `json:"name"`
	About  string          `json:"about,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
}

// Waiting is what waits for a Node in one Space, by one plugin's view: the items as that view gives them.
type Waiting struct {
	SpaceID string            `json:"space_id"`
	Space   string            `json:"space"` // its name
	Plugin  string            `json:"plugin"`
	View    string            `json:"view"` // where the items stand, and where there are more: the rest
	Items   []json.RawMessage `json:"items"`
	More    bool              `json:"more,omitempty"`
}

// Waiting lists what waits for the caller to act, over all Spaces: decisions, answers, votes, tasks. nodeID "" is the caller.
func (c *Client) Waiting(ctx context.Context, nodeID string) ([]Waiting, error) {
	var out []Waiting
	err := c.get(ctx, "/nodes/"+c.self(nodeID)+"/waiting", nil, &out)
	return out, err
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

// PinPlugin pins a file's plugins in a Space, which takes the host's access key, and that the host is an admin. A file given by CID alone must be at a
// member's that is connected.
func (c *Client) PinPlugin(ctx context.Context, spaceID string, in Pin) (Pinned, error) {
	var out Pinned
	path := "/spaces/" + url.PathEscape(spaceID) + "/plugins"
	if in.Wasm == nil {
		err := c.post(ctx, path, in, &out, true)
		return out, err
	}
	v := url.Values{}
	set(v, "cid", in.CID)
	set(v, "name", in.Name)
	_, err := c.call(ctx, request{
		method: http.MethodPost, path: path, query: v, body: in.Wasm, header: http.Header{"Content-Type": {wasmType}}, replayable: true,
	}, &out)
	return out, err
}

// UnpinPlugin takes a pin back; the node's own pattern of that name, where there is one, runs again.
func (c *Client) UnpinPlugin(ctx context.Context, spaceID, plugin string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: pluginPath(spaceID, plugin), replayable: true}, nil)
	return err
}

// PluginGrants are the effects a pinned plugin asks the user of a machine for ("now", "random", "timer", "trust"), and those that are granted.
type PluginGrants struct {
	Asks    []string `json:"asks"`
	Granted []string `json:"granted"`
}

// Grants is the body of PUT /spaces/{id}/plugins/{name}/grants.
type Grants struct {
	Grants []string `json:"grants"`
}

// Grant lets a pinned plugin's commands and reactions have these effects on this machine, and no others; it takes the host's access key. Whatever is
// granted, folds come out the same.
func (c *Client) Grant(ctx context.Context, spaceID, plugin string, grants []string) (PluginGrants, error) {
	body, err := json.Marshal(Grants{append([]string{}, grants...)})
	if err != nil {
		return PluginGrants{}, err
	}
	var out PluginGrants
	_, err = c.call(ctx, request{method: http.MethodPut, path: pluginPath(spaceID, plugin) + "/grants", body: body, replayable: true}, &out)
	return out, err
}

// React is the body of PUT /spaces/{id}/plugins/{name}/react.
type React struct {
	On bool `json:"on"`
}

// React has a plugin speak by itself, as the caller, or no longer.
func (c *Client) React(ctx context.Context, spaceID, plugin string, on bool) error {
	body, err := json.Marshal(React{on})
	if err != nil {
		return err
	}
	_, err = c.call(ctx, request{method: http.MethodPut, path: pluginPath(spaceID, plugin) + "/react", body: body, replayable: true}, nil)
	return err
}

// BisectAsk is the body of POST /spaces/{id}/plugins/{name}/bisect.
type BisectAsk struct {
	Peer string `json:"peer,omitempty"` // a member's host; "": one that differs, or else any that is connected
}

// Bisection is the first message at which a plugin's state here and at a member part, or that they agree.
type Bisection struct {
	Space   string   `json:"space"`
	Plugin  string   `json:"plugin"`
	File    string   `json:"file"` // CID
	Peer    string   `json:"peer"`
	Agree   bool     `json:"agree"`
	Message *Message `json:"message,omitempty"` // the first of which they make different things
	Here    *Judged  `json:"here,omitempty"`    // what this host makes of it
	There   *Judged  `json:"there,omitempty"`
	Until   string   `json:"until,omitempty"`   // they agree up to this entry; from here on they hold different messages
	Damaged string   `json:"damaged,omitempty"` // the host whose kept state isn't what the messages give, though the engines agree
	Note    string   `json:"note,omitempty"`
	Rounds  int      `json:"rounds"`
	Seconds float64  `json:"seconds"`
}

// Judged is what an engine made of one message, and the state after it.
type Judged struct {
	StateHash
	Outcome string `json:"outcome"` // folded, refused, trapped; "": it isn't for the plugin
	Reason  string `json:"reason,omitempty"`
	Gas     int64  `json:"gas"`
}

// BisectPlugin finds the first message that this host's engine and a member's make different things of. It takes the host's access key, and
// folds the Space anew on both: seconds, or minutes for a large one.
func (c *Client) BisectPlugin(ctx context.Context, spaceID, plugin string, in BisectAsk) (Bisection, error) {
	var out Bisection
	err := c.post(ctx, pluginPath(spaceID, plugin)+"/bisect", in, &out, false)
	return out, err
}

// PluginDiffAsk asks what would change if a file were pinned: the file, or its CID, and which views to compare.
type PluginDiffAsk struct {
	CID    string          `json:"cid"`
	Name   string          `json:"name,omitempty"`   // which of the file's plugins; "": all
	View   string          `json:"view,omitempty"`   // this view alone; "": those that need no parameters, and the golden trace's
	Params json.RawMessage `json:"params,omitempty"` // of View
	Wasm   []byte          `json:"-"`                // the file; CID, where not "", must be its
}

// PluginDiff is what the messages of a Space become with another file's plugin.
type PluginDiff struct {
	Space       string      `json:"space"`
	Plugin      string      `json:"plugin"`
	Old         *PluginSide `json:"old,omitempty"` // nil: nothing runs under this name
	New         PluginSide  `json:"new"`
	Same        bool        `json:"same"` // state and views
	Keys        KeyDiff     `json:"keys"`
	Marks       []MarkDiff  `json:"marks"`        // messages that one refuses and the other doesn't, or for another reason: some …
	MarksDiffer int         `json:"marks_differ"` // … of so many
	Views       []ViewDiff  `json:"views"`
	Manifest    []string    `json:"manifest,omitempty"` // what the file says of itself: "+grant now", "-view all"
}

// PluginSide is what one version made of the messages.
type PluginSide struct {
	File    string `json:"file"` // CID
	Version string `json:"version"`
	Hash    string `json:"hash"`
	Folded  uint64 `json:"folded"`
	Marked  uint64 `json:"marked"`
	Bytes   int64  `json:"bytes"` // of state
	Gas     int64  `json:"gas"`   // of all folds
	MostGas int64  `json:"most_gas"`
}

// KeyDiff counts keys of the state that only one version has, or has with another value.
type KeyDiff struct {
	Added   int      `json:"added"`
	Removed int      `json:"removed"`
	Changed int      `json:"changed"`
	Some    []string `json:"some,omitempty"` // of these keys
}

// MarkDiff is a message that the versions judge differently; "": it is taken.
type MarkDiff struct {
	Message string `json:"message"`
	Old     string `json:"old,omitempty"`
	New     string `json:"new,omitempty"`
}

// ViewDiff is one view's answer by both.
type ViewDiff struct {
	View       string          `json:"view"`
	Params     json.RawMessage `json:"params,omitempty"`
	Same       bool            `json:"same"`
	Old        json.RawMessage `json:"old,omitempty"`
	OldRefused string          `json:"old_refused,omitempty"`
	New        json.RawMessage `json:"new,omitempty"`
	NewRefused string          `json:"new_refused,omitempty"`
}

// DiffPlugin says what would change if a file were pinned, without pinning it: the Space is folded with it anew. It takes the host's access key. A file
// given by CID alone must be here or at a member's that is connected.
func (c *Client) DiffPlugin(ctx context.Context, spaceID string, in PluginDiffAsk) ([]PluginDiff, error) {
	var out []PluginDiff
	path := "/spaces/" + url.PathEscape(spaceID) + "/plugins/diff"
	if in.Wasm == nil {
		err := c.post(ctx, path, in, &out, true)
		return out, err
	}
	v := url.Values{}
	set(v, "cid", in.CID)
	set(v, "name", in.Name)
	set(v, "view", in.View)
	set(v, "params", string(in.Params))
	_, err := c.call(ctx, request{
		method: http.MethodPost, path: path, query: v, body: in.Wasm, header: http.Header{"Content-Type": {wasmType}}, replayable: true,
	}, &out)
	return out, err
}

const wasmType = "application/wasm"
