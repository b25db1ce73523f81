package p2p

// This file holds the Host: its settings, its life, and what the node asks of it.

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"

	"plexus/graph"
)

// Config is New's settings. Key and Log are needed; the rest works as zero.
type Config struct {
	Key     ed25519.PrivateKey // the host's key: its peer ID, and the author of invites and grants
	Log     *graph.Log
	Network graph.Genesis // the Network to be part of; zero: none yet, only Join works
	Listen  []string      // multiaddrs; empty: QUIC and TCP on the ports of the last time, or DefaultPort, or any

	NoMDNS      bool     // don't look for members on the LAN
	NoRelay     bool     // neither use members as relays nor be one
	NoHolePunch bool     // no direct connection through NATs
	NoPortMap   bool     // don't ask the router for a port
	NoAutoNAT   bool     // don't find out whether we can be reached
	DHT         bool     // rendezvous over a DHT, by a key only members can derive
	Bootstrap   []string // multiaddrs with /p2p/ of the DHT's first peers

	Files   Files   // what members may have by CID; nil: nothing
	Witness Witness // what this host's plugins make of Spaces; nil: nothing is compared

	SyncEvery  time.Duration // between rounds of anti-entropy with a connected peer; zero: DefaultSyncEvery
	AuditEvery time.Duration // between audits of a random range with a peer; zero: DefaultAuditEvery

	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: discards

	// Transport, where not nil, takes the place of the built-in transports and resource limits: simulated
	// networks, in tests.
	Transport []libp2p.Option
}

// JoinResult says what a join gave.
type JoinResult struct {
	Network graph.Genesis
	Role    string
	Inviter graph.NodeID
}

// Host is this machine among its peers. Safe for concurrent use.
type Host struct {
	cfg  Config
	id   graph.NodeID
	log  *slog.Logger
	host host.Host
	gate *gate
	book book

	gossip *gossip // set by Run before the first stream
	redial *redial
	rights *watermark // how far the Log's rights cover the access entries
	joins  *door
	lends  *lending
	asks   *asking
	first  *settling
	ready  chan struct{} // closed when Run has begun

	mu     sync.Mutex // owns what follows
	net    *graph.Genesis
	links  map[peer.ID]*link
	guests map[peer.ID]*guest
	told   map[graph.NodeID]int // Spaces taken over, per host that told of them
	stats  map[graph.NodeID]*peerStats
	begin  func() context.Context // counts a task in and returns Run's context; nil before Run
	tasks  sync.WaitGroup
	closed bool
}

// fill checks the settings and sets what was left out.
func (c *Config) fill() error {
	if len(c.Key) != ed25519.PrivateKeySize {
		return fmt.Errorf("p2p: %w: no host key", graph.ErrInvalid)
	}
	if c.Log == nil {
		return fmt.Errorf("p2p: %w: no log", graph.ErrInvalid)
	}
	if c.SyncEvery == 0 {
		c.SyncEvery = DefaultSyncEvery
	}
	if c.AuditEvery == 0 {
		c.AuditEvery = DefaultAuditEvery
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// New checks the settings and opens the listening ports; it answers nobody until Run. A taken port is
// graph.ErrConflict and names the address.
func New(cfg Config) (*Host, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	h := &Host{
		cfg: cfg, id: graph.NodeIDOf(cfg.Key), log: cfg.Logger, book: book{cfg.Log.Records(bookName)},
		rights: newWatermark(), joins: newDoor(), lends: newLending(), asks: newAsking(), first: newSettling(), ready: make(chan struct{}),
		links: map[peer.ID]*link{}, guests: map[peer.ID]*guest{}, stats: map[graph.NodeID]*peerStats{},
	}
	h.redial = newRedial(h)
	if cfg.Network.ID != (graph.ID{}) {
		h.net = &cfg.Network
	}
	var err error
	if h.told, err = h.book.told(); err != nil {
		return nil, err
	}
	h.gate = &gate{now: cfg.Now, shut: h.shut, bans: map[peer.ID]ban{}}
	if h.host, err = newLibp2p(cfg, h.gate, h.relays, h.member); err != nil {
		return nil, fmt.Errorf("libp2p host: %w", err)
	}
	if err := listen(h.host, cfg, h.book); err != nil {
		h.host.Close()
		return nil, err
	}
	return h, nil
}

// Run meets peers, gossips and syncs until ctx ends, and returns after the last of its goroutines. It may be called once.
func (h *Host) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	events, err := h.subscribe()
	if err != nil {
		return err
	}
	defer events.Close()
	if err := h.start(ctx); err != nil {
		return err
	}
	h.host.SetStreamHandler(protoJoin, h.handle(h.answerJoin))
	h.host.SetStreamHandler(protoSync, h.handle(h.answerSync))
	h.host.SetStreamHandler(protoFile, h.handle(h.answerFile))
	if h.cfg.Witness != nil {
		h.host.SetStreamHandler(protoState, h.handle(h.answerState))
	}
	h.followAll()
	h.task(h.publish)
	h.task(h.redial.run)
	h.task(h.look)
	h.task(h.tend)
	err = h.watch(ctx, events)
	stop()
	h.leave()
	return err
}

// start lets tasks begin.
func (h *Host) start(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.begin != nil {
		return fmt.Errorf("p2p: %w", graph.ErrClosed)
	}
	var err error
	if h.gossip, err = newGossip(ctx, h); err != nil {
		return err
	}
	h.begin = func() context.Context {
		h.tasks.Add(1)
		return ctx
	}
	close(h.ready)
	return nil
}

// leave says goodbye and waits for every task.
func (h *Host) leave() {
	h.mu.Lock()
	h.closed = true
	for p := range h.guests {
		h.forget(p)
	}
	h.mu.Unlock()
	h.host.RemoveStreamHandler(protoJoin)
	h.host.RemoveStreamHandler(protoSync)
	h.host.RemoveStreamHandler(protoFile)
	h.host.RemoveStreamHandler(protoState)
	h.disconnectAll()
	h.tasks.Wait()
}

// task runs f until Run ends; after that it does nothing. It is the package's one go statement.
func (h *Host) task(f func(ctx context.Context)) {
	ctx, ok := h.enter()
	if !ok {
		return
	}
	go func() {
		defer h.tasks.Done()
		f(ctx)
	}()
}

// enter counts the caller among what Run waits for, until h.tasks.Done; false: Run isn't running.
func (h *Host) enter() (context.Context, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.begin == nil {
		return nil, false
	}
	return h.begin(), true
}

// running says whether Run is.
func (h *Host) running() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.begin != nil && !h.closed
}

// Close leaves the network and frees the ports. It is safe twice, and after Run.
func (h *Host) Close() error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	if err := h.host.Close(); err != nil {
		return fmt.Errorf("close libp2p host: %w", err)
	}
	return nil
}

// ID returns the host's own ID.
func (h *Host) ID() graph.NodeID { return h.id }

// Addrs returns the multiaddrs peers can dial, without the peer ID.
func (h *Host) Addrs() []string { return addrTexts(h.host.Addrs()) }

// network returns the current Network's genesis, or nil.
func (h *Host) network() *graph.Genesis {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.net
}

// SetNetwork switches to another Network: its Spaces are followed from now on, and peers that are no members of it are let
// go. The Log's rights must be the new Network's when it is called.
func (h *Host) SetNetwork(g graph.Genesis) {
	h.mu.Lock()
	h.net = &g
	h.stats = map[graph.NodeID]*peerStats{}
	h.mu.Unlock()
	h.disconnectAll()
	if gs := h.gossiping(); gs != nil {
		gs.leave()
	}
	h.redial.reset()
	h.followAll()
}

// RightsChanged tells that Log.Apply was called with rights that cover the Network's access entries up to a
// position. Hosts that are no longer members are disconnected before it returns; syncs that waited for the rights go on.
func (h *Host) RightsChanged(upTo graph.Pos) {
	h.rights.raise(upTo)
	for _, p := range h.host.Network().Peers() {
		h.reconsider(p)
	}
	h.redial.wakeUp()
}

// SetOffline closes all connections and gates every dial, in and out, until it is set back; then known peers are
// dialled at once. It may be set before Run.
func (h *Host) SetOffline(offline bool) {
	h.gate.setOffline(offline)
	if offline {
		h.disconnectAll()
	} else {
		h.redial.reset()
	}
}

// Offline says what SetOffline set.
func (h *Host) Offline() bool { return h.gate.isOffline() }

func (h *Host) disconnectAll() {
	for _, p := range h.host.Network().Peers() {
		h.disconnect(p)
	}
}

func (h *Host) disconnect(p peer.ID) {
	if err := h.host.Network().ClosePeer(p); err != nil {
		h.log.Debug("close connection", "peer", p, "err", err)
	}
}

// Settled waits until every member that could be reached has been synced with once, so that this host's own chains
// are complete before it seals, or ctx ends (its error). With no known peer it returns at once.
func (h *Host) Settled(ctx context.Context) error { return h.first.wait(ctx) }
