package client

// This file holds the shapes of the host's own routes (status, invites, joining, verify).

// Status is what `plexus status` prints.
type Status struct {
	Host     string        `json:"host"`    // this host's peer ID
	Network  string        `json:"network"` // the default Network's ID
	Name     string        `json:"network_name,omitempty"`
	Role     string        `json:"role"` // this host's role in it
	Version  string        `json:"version"`
	Addrs    []string      `json:"addrs"`
	Uptime   float64       `json:"uptime_s"`
	ClockOff string        `json:"clock_off,omitempty"` // said where peers disagree with our clock
	Offline  bool          `json:"offline,omitempty"`
	Spaces   []SpaceStatus `json:"spaces"`
	Peers    []PeerStatus  `json:"peers"`

	Disagree []Disagreement  `json:"disagree,omitempty"` // members whose plugin states differ from this host's
	Refused  []RefusedPlugin `json:"refused,omitempty"`  // plugins that aren't run here
}

// RefusedPlugin is a plugin that isn't run here: its file can't be, or its golden trace comes out otherwise.
type RefusedPlugin struct {
	Plugin string `json:"plugin"`
	File   string `json:"file"` // CID
	Why    string `json:"why"`
	Spaces int    `json:"spaces"` // in which it should run
}

// SpaceStatus is one Space's state on this host.
type SpaceStatus struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Entries  uint64 `json:"entries"`
	Messages int    `json:"messages"`
	Heads    int    `json:"heads"`
	Digest   string `json:"digest"`
	Waiting  int    `json:"waiting"` // held: parent, future, stranger together
	Forked   int    `json:"forked,omitempty"`
}

// PeerStatus is one other host.
type PeerStatus struct {
	ID        string       `json:"id"`
	Connected bool         `json:"connected"`
	Role      string       `json:"role,omitempty"`
	Addrs     []string     `json:"addrs,omitempty"`
	LastSeen  string       `json:"last_seen,omitempty"`
	LatencyMS float64      `json:"latency_ms,omitempty"`
	Spaces    []PeerDiffer `json:"spaces,omitempty"` // those that differ
	InSync    bool         `json:"in_sync"`          // every shared Space had an equal digest at the last exchange
}

// PeerDiffer says how far a peer's copy of a Space is from ours: "differs from peer X by n".
type PeerDiffer struct {
	Space   string `json:"space"`
	Missing uint64 `json:"missing"` // entries the peer has and we lack, by its last frontier
	Ahead   uint64 `json:"ahead"`   // entries we have and the peer lacks
}

// InviteCreate asks for a ticket.
type InviteCreate struct {
	Role      string `json:"role,omitempty"`       // admin, writer (default), reader
	Uses      int    `json:"uses,omitempty"`       // 0: 1
	ExpiresIn string `json:"expires_in,omitempty"` // a Go duration; "" is 24h
}

// Invite is a ticket's state. Ticket is given once, when it is made.
type Invite struct {
	ID      string `json:"id"`
	Ticket  string `json:"ticket,omitempty"`
	Role    string `json:"role"`
	Uses    int    `json:"uses"`
	Used    int    `json:"used"`
	Expires string `json:"expires"`
	Revoked bool   `json:"revoked,omitempty"`
}

// JoinResult says what a join did.
type JoinResult struct {
	Network    string   `json:"network"`
	Name       string   `json:"name,omitempty"`
	Role       string   `json:"role"`
	Inviter    string   `json:"inviter"`
	LeftBehind []string `json:"left_behind,omitempty"` // Spaces of the Network that was the default before
}

// VerifyReport is what `plexus verify` prints.
type VerifyReport struct {
	Spaces   int      `json:"spaces"`
	Entries  int      `json:"entries"`
	Messages int      `json:"messages"`
	Problems []string `json:"problems"`
}

// ImportResult says what an import did.
type ImportResult struct {
	Space   string `json:"space"`
	New     int    `json:"new"`
	Known   int    `json:"known"`
	Held    int    `json:"held"`
	Refused int    `json:"refused"`
}
