package client

// This file holds the small shapes of single routes.

// Health is the answer of /health and /ready.
type Health struct {
	Status string `json:"status"`
}

// InboxAck is the body of POST /nodes/{id}/inbox/ack: message IDs, at most 1,000.
type InboxAck struct {
	Messages []string `json:"messages"`
}

// PluginState is the answer of GET /spaces/{id}/plugins/{name}/state. Current says whether it covers all visible messages.
type PluginState struct {
	Hash    string `json:"hash"`
	Current bool   `json:"current"`
}

// Revoke is the body of POST /admin/revoke: the peer ID of a host or Node.
type Revoke struct {
	Subject string `json:"subject"`
}

// Join is the body of POST /admin/join.
type Join struct {
	Ticket string `json:"ticket"`
}

// Offline is the body and the answer of POST /admin/offline.
type Offline struct {
	Offline bool `json:"offline"`
}
