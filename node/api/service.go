// Package api is how a person or an agent talks to a node: REST, SSE, MCP. It holds no rules of its own: it
// checks who is asking, turns wire shapes into calls of the small interfaces below, and errors into answers.
package api

// This file holds what the package asks of a node. *node.Node has them all; *client.Client is a Service too.

import (
	"context"
	"encoding/json"
	"io"
	"iter"

	"plexus/sdk/client"
)

// Service is IOA's three operations, and the stream, on behalf of one Node. There is no fourth.
//
// Errors wrap graph's sentinels; their text is what a person reads.
type Service interface {
	Space(ctx context.Context, in client.SpaceCreate) (client.SpaceInfo, error)
	Send(ctx context.Context, spaceID string, in client.SendMessage) (client.Message, error)
	Read(ctx context.Context, q client.ReadQuery) (client.Page, error)
	// Listen replays what is after the cursor, then follows until ctx ends. A slow consumer loses nothing.
	Listen(ctx context.Context, q client.ListenQuery) iter.Seq2[client.Event, error]
}

// Accounts says who is asking.
type Accounts interface {
	// Authenticate returns the Node a token owns; ErrUnauthorized else.
	Authenticate(ctx context.Context, token string) (nodeID string, err error)
	// Register makes a Node with a new key, enrols it, and returns a token for it. in.AccessKey must be the host's
	// (ErrForbidden "invalid access key"). owner, where not "", is a Node whose token the caller proved; with in.ID equal to it, or a
	// bound identity of it, that Node is returned instead of a new one.
	Register(ctx context.Context, in client.AuthRegister, owner string) (client.AuthResponse, error)
	// CheckAccessKey returns ErrForbidden for any but the host's key.
	CheckAccessKey(key string) error
	// As returns the operations on behalf of a Node this host holds; ErrNotFound else.
	As(nodeID string) (Service, error)
	// Create makes a Node without a token (POST /nodes).
	Create(ctx context.Context, in client.NodeCreate) (client.Node, error)
}

// Directory looks up Nodes and Spaces.
type Directory interface {
	Nodes(ctx context.Context) ([]client.Node, error)
	Node(ctx context.Context, id string) (client.Node, error)
	Resolve(ctx context.Context, namespace, subject string) (client.Node, error)
	Bind(ctx context.Context, nodeID string, b client.IdentityBinding) (client.Node, error) // ErrConflict: bound elsewhere
	Unbind(ctx context.Context, nodeID string, b client.IdentityBinding) (client.Node, error)
	Spaces(ctx context.Context) ([]client.SpaceInfo, error)
	SpaceInfo(ctx context.Context, id string) (client.SpaceInfo, error)
	Find(ctx context.Context, q client.FindQuery) (client.Page, error)
}

// Inbox is what waits for a Node. Delivered is not read: an item stays until it is acknowledged.
type Inbox interface {
	// Inbox returns messages that name the Node, oldest first after the cursor; unacked leaves out acknowledged ones.
	Inbox(ctx context.Context, nodeID, after string, limit int, unacked bool) (client.Page, error)
	// Ack acknowledges messages; one already acknowledged is no error, one that isn't in the inbox is ErrNotFound.
	Ack(ctx context.Context, nodeID string, messageIDs []string) error
}

// Views reads plugin state.
type Views interface {
	AnswerView(ctx context.Context, spaceID, plugin, view string, params json.RawMessage, caller string) (client.Answer, error)
	// WatchView yields the answer and each one that differs from the last, until ctx ends; a slow consumer gets the newest. An error is yielded last.
	WatchView(ctx context.Context, spaceID, plugin, view string, params json.RawMessage, caller string) iter.Seq2[json.RawMessage, error]
	// Waiting lists what waits for a Node this host holds, over all Spaces, as the plugins' views say it.
	Waiting(ctx context.Context, nodeID string) ([]client.Waiting, error)
	// StateHash returns the hash that equal replicas share, and whether the state covers all visible messages.
	StateHash(ctx context.Context, spaceID, plugin string) (hash string, current bool, err error)
}

// Commands says which commands of plugins there are for a Node, in the Spaces it joined; "" is for nobody, in all Spaces.
type Commands interface {
	Commands(ctx context.Context, nodeID string) ([]client.PluginCommand, error)
	// WatchCommands yields the list as JSON and each that differs from the last, until ctx ends; a slow consumer gets the newest. An error is yielded last.
	WatchCommands(ctx context.Context, nodeID string) iter.Seq2[json.RawMessage, error]
}

// Admin is the host's own business; its routes need the access key.
type Admin interface {
	Status(ctx context.Context) (client.Status, error)
	Invite(ctx context.Context, in client.InviteCreate) (client.Invite, error)
	Invites(ctx context.Context) ([]client.Invite, error)
	RevokeInvite(ctx context.Context, id string) error
	Revoke(ctx context.Context, subject string) error
	Join(ctx context.Context, ticket string) (client.JoinResult, error)
	// SetOffline closes every connection to other hosts and refuses new ones, or comes back and redials.
	SetOffline(ctx context.Context, offline bool) error
	Verify(ctx context.Context) (client.VerifyReport, error)
	Export(ctx context.Context, spaceID string, w io.Writer) error
	Import(ctx context.Context, r io.Reader) (client.ImportResult, error)
}
