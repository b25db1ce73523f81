// Package client talks to a Plexus node over HTTP. It also holds the JSON shapes of that interface, which the
// server itself uses (docs/adr/002), so that the two can't drift. Standard library alone.
package client

import "encoding/json"

// Ref holds the two kinds of pointer a message has. Both are always arrays in JSON, never null.
type Ref struct {
	Messages []string `json:"messages"`
	Nodes    []string `json:"nodes"`
}

// MarshalJSON writes [] for nil.
func (r Ref) MarshalJSON() ([]byte, error) {
	type plain Ref
	if r.Messages == nil {
		r.Messages = []string{}
	}
	if r.Nodes == nil {
		r.Nodes = []string{}
	}
	return json.Marshal(plain(r))
}

// IdentityBinding ties a Node to an identity its host system owns; (Namespace, Subject) is unique per host.
type IdentityBinding struct {
	Namespace string          `json:"namespace"`
	Subject   string          `json:"subject"`
	Claims    json.RawMessage `json:"claims,omitempty"`
}

// Node is a participant.
type Node struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Meta        json.RawMessage   `json:"meta"` // {} by default
	Identities  []IdentityBinding `json:"identities,omitempty"`
}

// SpaceInfo describes a Space; each Node's Description is the one for this Space.
type SpaceInfo struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Tags         []string `json:"tags,omitempty"`
	Nodes        []Node   `json:"nodes"`
	MessageCount int      `json:"message_count"`
}

// Message is what was said.
type Message struct {
	ID            string          `json:"id"`
	SpaceID       string          `json:"space_id,omitempty"` // in answers that span Spaces
	Sender        string          `json:"sender"`
	CreatedAt     string          `json:"created_at"`
	ContentType   string          `json:"content_type,omitempty"`
	Content       json.RawMessage `json:"content"`
	Refs          Ref             `json:"refs"`
	Meta          json.RawMessage `json:"meta,omitempty"`
	ContentSchema json.RawMessage `json:"content_schema,omitempty"`
}

// SendMessage is the body of a send. Content must be a JSON object.
type SendMessage struct {
	Content        json.RawMessage `json:"content"`
	ContentType    string          `json:"content_type,omitempty"`
	Refs           *Ref            `json:"refs,omitempty"`
	Meta           json.RawMessage `json:"meta,omitempty"`
	ContentSchema  json.RawMessage `json:"content_schema,omitempty"`
	IdempotencyKey string          `json:"-"` // the Idempotency-Key header; "" for none
}

// NodeCreate is the body of POST /nodes.
type NodeCreate struct {
	ID          string            `json:"id,omitempty"`
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Meta        json.RawMessage   `json:"meta,omitempty"`
	Identities  []IdentityBinding `json:"identities,omitempty"`
}

// AuthRegister is the body of POST /auth/register.
type AuthRegister struct {
	NodeCreate
	AccessKey string `json:"access_key"`
	Kind      string `json:"kind,omitempty"` // "human" or "agent" (default)
}

// AuthResponse is its answer.
type AuthResponse struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Token string `json:"token"`
}

// SpaceCreate is the body of POST /spaces: create or join.
type SpaceCreate struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags,omitempty"`
}

// ReadQuery selects messages of one Space, by the precedence of ioa_read: MessageID, All, the caller, roots.
type ReadQuery struct {
	SpaceID   string
	MessageID string
	Direction string // "", "upstream", "downstream"
	All       bool
	After     string // a message ID
	Limit     int    // 0: default
	Order     string // with All: "" arrival order, "canonical" the order all replicas share, from the oldest
}

// FindQuery selects messages across Spaces; fields left empty don't narrow.
type FindQuery struct {
	SpaceID, MessageID, NodeID, Sender, RefMessage, RefNode string
	After                                                   string
	Limit                                                   int
}

// Page is one page of messages in arrival order. Next, where not empty, is the cursor for more.
type Page struct {
	Messages []Message
	Next     string
}

// ListenQuery selects a stream: replay after a cursor, then follow.
type ListenQuery struct {
	SpaceID   string // "" with Inbox: all Spaces
	MessageID string // this message's related subgraph
	Head      string // follow one branch from this message
	ForkDepth int    // with Head: 0 is 1
	Inbox     bool   // messages that name the caller
	After     string // a message ID; "" replays nothing, unless FromStart
	FromStart bool
}

// Event is one item of a stream. Type is "message", "fork" or "withdrawn".
type Event struct {
	Type    string
	Message Message
}

// Problem is the body of every error (RFC 9457); Detail is what IOA clients read.
type Problem struct {
	Title  string `json:"title,omitempty"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
	Hint   string `json:"hint,omitempty"`
}
