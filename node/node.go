package node

// This file holds the Node: its settings, what it owns, and its beginning and end. Run is in run.go.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"plexus/graph"
	"plexus/graph/access"
	"plexus/graph/store"
	"plexus/node/api"
	"plexus/p2p"
	"plexus/plugins"
	"plexus/plugins/kit"
)

// Config is Open's settings. Dir is needed; the rest works as zero.
type Config struct {
	Dir     string   // the data dir: one per host, one process at a time
	Name    string   // the label of a Network made on first start
	Listen  string   // the HTTP address; "" is DefaultListen, "none" serves none
	Hosts   []string // names under which browsers may call, beside loopback and the one in Listen
	NoAuth  bool     // development: X-Node-ID is believed. On loopback only
	Version string

	P2P   p2p.Config // Key, Log, Network, Now, Logger, Witness and, where nil, Files are filled in
	NoP2P bool       // stay alone: nothing listens for peers
	Join  string     // a ticket that Run takes to its inviter before it serves; a failed join ends Run

	Callbacks []netip.Prefix // networks beside the public Internet, such as 127.0.0.0/8, where P2A callbacks may go, in the clear too

	Cache   string           // where compiled plugins are kept; "" is a directory in Dir
	Plugins [][]byte         // Wasm files of the plugins that every Space has; nil: the node's own patterns
	Page    http.Handler     // the web page; nil: none
	Now     func() time.Time // nil: time.Now
	Logger  *slog.Logger     // nil: discards

	disk   store.Options                                      // tests: another file system
	astray func(plugin string, message graph.ID) (why string) // tests: plugins.Config.Astray
}

func (c *Config) fill() error {
	if c.Dir == "" {
		return invalid("no data dir is given")
	}
	if c.Name == "" {
		c.Name = "plexus"
	}
	if c.Listen == "" {
		c.Listen = DefaultListen
	}
	if c.Cache == "" {
		c.Cache = filepath.Join(c.Dir, "cache")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.disk.Log = c.Logger
	if c.NoAuth && c.Listen != "none" && !loopback(c.Listen) {
		return invalid("without authentication the node listens on loopback only, not on %s", c.Listen)
	}
	return nil
}

// hosts are the names under which browsers may call: those given, and the one that is listened on.
func (c *Config) hosts() []string {
	host, _, err := net.SplitHostPort(c.Listen)
	if ip := net.ParseIP(host); err != nil || host == "" || ip != nil && ip.IsUnspecified() {
		return c.Hosts
	}
	return append(slices.Clone(c.Hosts), host)
}

func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Node is a host with the Nodes it holds. It is api's Accounts, Directory, Inbox, Views and Admin; As gives the
// operations on behalf of one Node. Safe for concurrent use.
type Node struct {
	cfg     Config
	started time.Time

	store    graph.Store
	log      *graph.Log
	rec      records
	keys     *keystore
	members  *members
	peers    *p2p.Host // nil: alone
	plugins  *plugins.Host
	fetching fetching // of plugin files

	comparing comparing  // plugin states, with members
	prefixes  prefixes   // of plugin states, for members
	bisecting sync.Mutex // one search or comparison of versions at a time

	gateway  *gateway
	handler  *api.Handler
	mcp      *api.MCP
	listener net.Listener // nil: no HTTP

	accounts sync.Mutex            // one change of Nodes and identities at a time
	joining  sync.Mutex            // one change of Network at a time; taken before accounts
	sends    [sendLocks]sync.Mutex // of equal idempotency keys
	idemDue  atomic.Int64          // no idempotency key expires before this graph.Time; 0: not looked yet
	settled  chan struct{}         // closed once the own chains are known to be complete
	settle   sync.Once
	running  atomic.Bool
	enrolled atomic.Pointer[access.State] // enrolAll has seen it
	switched chan struct{}                // told when another Network became the current one
	reacted  chan struct{}                // told when a reaction is turned on or off

	closing sync.Once
	closed  error
}

// Open opens a data dir, making it on first start: the host's key, a Network of its own with the host as founder, and
// the access key. It opens ports, and starts nothing.
//
// Errors: ErrConflict for a data dir or port in use, ErrForbidden for keys that others can read, ErrUnavailable for a
// damaged store; each says what to do.
func Open(cfg Config) (_ *Node, err error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	n := &Node{cfg: cfg, started: cfg.Now(), settled: make(chan struct{}), switched: make(chan struct{}, 1), reacted: make(chan struct{}, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	if n.keys, err = openKeys(cfg.Dir); err != nil {
		return nil, err
	}
	if n.store, err = store.Open(filepath.Join(cfg.Dir, "db"), cfg.disk); err != nil {
		return nil, err
	}
	if n.log, err = graph.OpenLog(n.store, graph.LogOptions{Now: cfg.Now}); err != nil {
		return nil, err
	}
	n.rec = openRecords(n.log)
	n.members = newMembers(n.log)
	if err := n.openNetwork(context.Background()); err != nil {
		return nil, err
	}
	return n, n.openEdges()
}

// openEdges opens what looks outward: peers, plugins, HTTP.
func (n *Node) openEdges() (err error) {
	if n.cfg.NoP2P {
		n.settle.Do(func() { close(n.settled) })
	} else if err := n.openPeers(); err != nil {
		return err
	}
	n.plugins, err = plugins.Open(plugins.Config{
		Log: n.log, CacheDir: n.cfg.Cache, FileDir: filepath.Join(n.cfg.Dir, "plugins"), Files: n.cfg.Plugins, Logger: n.cfg.Logger, Astray: n.cfg.astray, Prove: kit.Prove,
		Trust: trust{n}, Granted: n.granted,
	})
	if err != nil {
		return fmt.Errorf("open plugins: %w", err)
	}
	if n.gateway, err = newGateway(n); err != nil {
		return err
	}
	n.mcp = api.NewMCP(n, api.MCPOptions{Version: n.cfg.Version, NoAuth: n.cfg.NoAuth, Commands: n, Plugins: n})
	n.handler = api.New(api.Config{
		Accounts: n, Directory: n, Inbox: n, Views: n, Admin: n, Plugins: n, Skills: n, P2A: n.gateway, Callers: n.gateway,
		Commands: n, Trust: n, MCP: n.mcp,
		Page: n.cfg.Page, Metrics: newMetrics(n), NoAuth: n.cfg.NoAuth, Hosts: n.cfg.hosts(), Version: n.cfg.Version, Logger: n.cfg.Logger,
	})
	if n.cfg.Listen == "none" {
		return nil
	}
	if n.listener, err = net.Listen("tcp", n.cfg.Listen); err != nil {
		return conflict("listen on %s: %v; choose another address with --listen", n.cfg.Listen, rootCause(err))
	}
	return nil
}

// rootCause is the last word of a network error: "address already in use".
func rootCause(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

func (n *Node) openPeers() (err error) {
	c := n.cfg.P2P
	c.Key, c.Log, c.Network, c.Now, c.Logger = n.keys.host, n.log, n.network(), n.cfg.Now, n.cfg.Logger
	c.Witness = witness{n}
	if c.Files == nil {
		c.Files = lent{n}
	}
	if n.peers, err = p2p.New(c); err != nil {
		return fmt.Errorf("open peer-to-peer host: %w", err)
	}
	return nil
}

// Handler serves the node's HTTP interface, for who brings a server.
func (n *Node) Handler() http.Handler { return n.handler }

// URL is where Run serves HTTP, "" where it doesn't.
func (n *Node) URL() string {
	if n.listener == nil {
		return ""
	}
	return "http://" + n.listener.Addr().String()
}

// Host returns this host's ID.
func (n *Node) Host() graph.NodeID { return graph.NodeIDOf(n.keys.host) }

// Close frees everything Open got, after Run has returned. It is safe twice.
func (n *Node) Close() error {
	n.closing.Do(func() {
		var errs []error
		if n.listener != nil {
			if err := n.listener.Close(); !errors.Is(err, net.ErrClosed) {
				errs = append(errs, err)
			}
		}
		if n.handler != nil {
			errs = append(errs, n.handler.Close())
		}
		if n.plugins != nil {
			errs = append(errs, n.plugins.Close())
		}
		if n.peers != nil {
			errs = append(errs, n.peers.Close())
		}
		if n.log != nil {
			errs = append(errs, n.log.Close())
		}
		if n.store != nil {
			errs = append(errs, n.store.Close())
		}
		n.closed = errors.Join(errs...)
	})
	return n.closed
}
