package p2p

// This file holds the Host: its settings, its life, and what the node asks of it.

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"time"

	"github.com/libp2p/go-libp2p"

	"plexus/graph"
)

// Config is New's settings. Key and Log are needed; the rest works as zero.
type Config struct {
	Key     ed25519.PrivateKey // the host's key: its peer ID, and the author of invites and grants
	Log     *graph.Log
	Network graph.Genesis // the Network to be part of; zero: none yet, only Join works
	Listen  []string      // multiaddrs; empty: DefaultListen

	NoMDNS      bool     // don't look for members on the LAN
	NoRelay     bool     // neither use members as relays nor be one
	NoHolePunch bool     // no direct connection through NATs
	NoPortMap   bool     // don't ask the router for a port
	NoAutoNAT   bool     // don't find out whether we can be reached
	DHT         bool     // rendezvous over a DHT, by a key only members can derive
	Bootstrap   []string // multiaddrs with /p2p/ of the DHT's first peers

	SyncEvery  time.Duration // between rounds of anti-entropy with a connected peer; zero: DefaultSyncEvery
	AuditEvery time.Duration // between audits of a random range with a peer; zero: DefaultAuditEvery

	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: discards

	// Transport, where not nil, takes the place of the built-in transports and resource limits: simulated
	// networks, in tests.
	Transport []libp2p.Option
}

// PeerStatus is what is known of one other member host.
type PeerStatus struct {
	ID        graph.NodeID
	Role      string
	Connected bool
	Relayed   bool // connected through a third member only
	Addrs     []string
	LastSeen  time.Time     // zero: never
	Latency   time.Duration // zero: not measured
	Differ    []SpaceDiffer // Spaces whose digests differed at the last exchange
	InSync    bool          // there was an exchange, and Differ is empty
	ClockOff  time.Duration // its clock less ours, at the last exchange
}

// SpaceDiffer says how far a peer's copy of a Space is from ours, by the last exchange.
type SpaceDiffer struct {
	Space   graph.ID
	Missing uint64 // entries the peer has and we lack
	Ahead   uint64 // entries we have and the peer lacks
}

// Clock says how our clock stands among the peers'.
type Clock struct {
	Off      time.Duration // median of the peers' clocks less ours
	Peers    int           // peers asked
	Disagree int           // of these, off from us by more than graph.MaxFuture
}

// Wrong says that most of at least three peers disagree with our clock by more than graph.MaxFuture: then a
// node refuses to send.
func (c Clock) Wrong() bool { return c.Peers >= 3 && 2*c.Disagree > c.Peers }

// JoinResult says what a join gave.
type JoinResult struct {
	Network graph.Genesis
	Role    string
	Inviter graph.NodeID
}

// Host is this machine among its peers. Safe for concurrent use.
type Host struct{ _ int }

// New checks the settings and opens the listening ports; it answers nobody until Run. A taken port is
// graph.ErrConflict and names the address.
func New(cfg Config) (*Host, error) { panic("unimplemented") }

// Run meets peers, gossips and syncs until ctx ends, and returns after the last of its goroutines. It may be called once.
func (h *Host) Run(ctx context.Context) error { panic("unimplemented") }

// Close leaves the network and frees the ports. It is safe twice, and after Run.
func (h *Host) Close() error { panic("unimplemented") }

// ID returns the host's own ID.
func (h *Host) ID() graph.NodeID { panic("unimplemented") }

// Addrs returns the multiaddrs peers can dial, without the peer ID.
func (h *Host) Addrs() []string { panic("unimplemented") }

// SetNetwork switches to another Network: its Spaces are followed from now on, and peers that are no members of it are let
// go. The Log's rights must be the new Network's when it is called.
func (h *Host) SetNetwork(g graph.Genesis) { panic("unimplemented") }

// RightsChanged tells that Log.Apply was called with rights that cover the Network's access entries up to a
// position. Hosts that are no longer members are disconnected before it returns; syncs that waited for the rights go on.
func (h *Host) RightsChanged(upTo graph.Pos) { panic("unimplemented") }

// Follow tells of a Space that was created here: its topic is joined and peers are told. Idempotent.
func (h *Host) Follow(space graph.ID) { panic("unimplemented") }

// SetOffline closes all connections and gates every dial, in and out, until it is set back; then known peers are
// dialled at once. It may be set before Run.
func (h *Host) SetOffline(offline bool) { panic("unimplemented") }

// Offline says what SetOffline set.
func (h *Host) Offline() bool { panic("unimplemented") }

// Invite appends an invite to the Network's access log, by the host's key, and returns its ticket, which is
// shown once and kept nowhere, and its ID (hex of the hash the log has). ErrForbidden where this host is no admin.
func (h *Host) Invite(ctx context.Context, role string, uses int, expires time.Time) (ticket, id string, err error) {
	panic("unimplemented")
}

// Join takes a ticket to its inviter and returns the Network with its access log in this Log (the entries may be
// held until the Log has the Network's rights: the caller evaluates them, calls Log.Apply and SetNetwork). It works
// while Run does.
//
// Errors name what is wrong with the ticket: ErrTicket, ErrTicketExpired, ErrTicketUsedUp, ErrTicketRevoked,
// ErrShutOut, ErrNoAdmin; ErrUnreachable where no address answered.
func (h *Host) Join(ctx context.Context, ticket string) (JoinResult, error) { panic("unimplemented") }

// Peers lists the Network's other member hosts, by ID.
func (h *Host) Peers() []PeerStatus { panic("unimplemented") }

// ClockOff compares our clock with the peers'.
func (h *Host) ClockOff() Clock { panic("unimplemented") }

// Settled waits until every member that could be reached has been synced with once, so that this host's own chains
// are complete before it seals, or ctx ends (its error). With no known peer it returns at once.
func (h *Host) Settled(ctx context.Context) error { panic("unimplemented") }
