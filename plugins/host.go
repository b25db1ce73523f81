package plugins

// This file holds the Host: what a node opens, runs and asks.

import (
	"context"
	"encoding/json"
	"log/slog"

	"plexus/graph"
)

// Config is what Open needs; Log alone is required.
type Config struct {
	Log      *graph.Log
	CacheDir string       // compiled code is kept here; "" keeps it in memory, and each start compiles anew
	Logger   *slog.Logger // nil: discards
}

// Attestor is what a graph.Rights may also be: it says what the access log says of a Node in a Space. A fold sees both;
// a change of either refolds from the Node's first message. Role is "admin", "writer", "reader" or ""; kind
// is "human", "agent" or "".
type Attestor interface {
	Attest(space graph.ID, node graph.NodeID) (role, kind string)
}

// Host runs the plugins of every Space of one Log. Safe for concurrent use.
type Host struct {
	log *graph.Log
}

// Info says what a plugin is and how far its state has come.
type Info struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	File    string   `json:"file"` // the CID of the Wasm file
	About   string   `json:"about,omitempty"`
	Accepts []string `json:"accepts"`
	Views   []string `json:"views"`
	Current bool     `json:"current"` // the state covers all visible messages
	Folded  uint64   `json:"folded"`  // messages in the state
	Marked  uint64   `json:"marked"`  // of these, how many were refused or trapped; their writes are left out
	Reason  string   `json:"reason,omitempty"` // of the last one marked
}

// Open reads where the state stands. It compiles nothing and starts nothing: Run does.
func Open(c Config) (*Host, error) { return &Host{log: c.Log}, nil }

// Run compiles what is needed, follows the Log and folds until ctx ends (then it returns nil) or the store fails.
// It is called once; it works in the caller's goroutine.
func (h *Host) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Close frees compiled code and instances, after Run has returned and no View runs. Safe twice.
func (h *Host) Close() error { return nil }

// View asks a plugin's view in a Space, on behalf of a Node (zero: nobody). params is a JSON object or nil. It waits,
// for at most ViewWait, until the state covers what was durable when it was called; after that it
// answers from the last consistent state there is.
//
// Errors: ErrNotFound for an unknown Space, plugin or view (the text lists those there are); ErrInvalid for params
// that aren't an object or that the plugin refuses; ErrUnavailable while a plugin has no state yet.
func (h *Host) View(ctx context.Context, space graph.ID, plugin, view string, params json.RawMessage, caller graph.NodeID) (json.RawMessage, error) {
	return nil, graph.ErrUnavailable
}

// StateHash returns the hex SHA-256 over the plugin's sorted state in a Space, which equal replicas share, and whether
// the state covers all that was durable when it was called; it waits for that as View does.
func (h *Host) StateHash(ctx context.Context, space graph.ID, plugin string) (hash string, current bool, err error) {
	return "", false, graph.ErrUnavailable
}

// Plugins lists the plugins of a Space by name; ErrNotFound for an unknown Space.
func (h *Host) Plugins(space graph.ID) ([]Info, error) { return []Info{}, nil }
