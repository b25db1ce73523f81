// Package sim is a simulated world for tests: machines with a real Log on a memory store and a real libp2p host, over a
// simulated network whose links can be cut. It is meant for testing/synctest, where minutes take milliseconds.
//
// It isn't a node: of what node does it has only the follower that evaluates access rights.
package sim

import (
	"context"
	"crypto/ed25519"
	crand "crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/x/simlibp2p"
	"github.com/marcopolo/simnet"
	ma "github.com/multiformats/go-multiaddr"

	"plexus/graph"
	"plexus/graph/access"
	"plexus/graph/store"
	"plexus/p2p"
)

// Options are a World's settings; the zero value works.
type Options struct {
	Latency time.Duration // one way; zero: 5 ms
	Jitter  time.Duration // added to Latency, evenly from nothing to this
	Loss    float64       // share of packets that never arrive, 0 to 1
	Mbps    int           // of each link, both ways; zero: 1000
	Logger  *slog.Logger  // of every machine; nil: discards
}

// World is a network of machines.
type World struct {
	t   testing.TB
	o   Options
	net *simnet.Simnet
	n   int

	mu   sync.Mutex     // owns what follows
	side map[string]int // IP → side of the line; machines on different sides don't hear each other
}

// New makes an empty world. It ends with the test, after its machines.
func New(t testing.TB, o Options) *World {
	t.Helper()
	if o.Latency == 0 {
		o.Latency = 5 * time.Millisecond
	}
	if o.Mbps == 0 {
		o.Mbps = 1000
	}
	w := &World{t: t, o: o, side: map[string]int{}}
	w.net = &simnet.Simnet{LatencyFunc: w.latency, Logger: slog.New(slog.DiscardHandler)}
	w.net.Start()
	t.Cleanup(w.net.Close)
	return w
}

// never is how long a packet takes that is lost: longer than any test.
const never = 24 * time.Hour

// latency of a packet across the line, and of one that is lost, is never.
func (w *World) latency(p *simnet.Packet) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.side[ip(p.From)] != w.side[ip(p.To)] || rand.Float64() < w.o.Loss {
		return never
	}
	return w.o.Latency + time.Duration(rand.Float64()*float64(w.o.Jitter))
}

func ip(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}

// Cut draws a line: machines on different sides don't hear each other. Side 0 is where everybody begins.
func (w *World) Cut(side int, machines ...*Machine) {
	for _, m := range machines {
		w.CutPlace(side, m.ip)
	}
}

// CutPlace is Cut for what Transport made.
func (w *World) CutPlace(side int, ips ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ip := range ips {
		w.side[ip] = side
	}
}

// Heal takes all lines away.
func (w *World) Heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.side)
}

// Transport returns the libp2p options of one more place in this world, and the address to listen on there: for
// hosts that are no Machine.
func (w *World) Transport() (opts []libp2p.Option, ip, listen string) {
	w.n++
	ip = simnet.IntToPublicIPv4(w.n).String()
	link := simnet.LinkSettings{BitsPerSecond: w.o.Mbps * simlibp2p.OneMbps}
	return []libp2p.Option{
		simlibp2p.QUICSimnet(w.net, simnet.NodeBiDiLinkSettings{Downlink: link, Uplink: link}),
		libp2p.DisableIdentifyAddressDiscovery(), // it stalls synctest
		libp2p.ResourceManager(&network.NullResourceManager{}),
	}, ip, fmt.Sprintf("/ip4/%s/udp/8000/quic-v1", ip)
}

// Machine is a host with its data, which outlives a stop.
type Machine struct {
	Name string
	Key  ed25519.PrivateKey // the host's, and the author's of what Say says
	Log  *graph.Log
	Host *p2p.Host // nil while stopped

	w      *World
	cfg    p2p.Config
	st     graph.Store
	opts   []libp2p.Option
	ip     string
	listen string
	home   graph.Genesis // the Network it is in
	cancel context.CancelFunc
	lives  sync.WaitGroup

	ungovern context.CancelFunc // ends the follower of the access entries
}

// Machine makes a machine in a Network of its own, stopped. set, where not nil, changes the host's settings.
func (w *World) Machine(name string, set func(*p2p.Config)) *Machine {
	w.t.Helper()
	_, key, err := ed25519.GenerateKey(crand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	home, err := graph.NewNetwork(name, key)
	if err != nil {
		w.t.Fatal(err)
	}
	m := &Machine{Name: name, Key: key, w: w, st: store.Memory(), home: home}
	m.opts, m.ip, m.listen = w.Transport()
	m.Log, err = graph.OpenLog(m.st, graph.LogOptions{Rights: access.Evaluate(home, nil)})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := m.Log.Create(w.t.Context(), home); err != nil {
		w.t.Fatal(err)
	}
	m.cfg = p2p.Config{Key: key, Log: m.Log, Listen: []string{m.listen}, Transport: m.opts, Logger: w.o.Logger}
	if set != nil {
		set(&m.cfg)
	}
	w.t.Cleanup(func() {
		m.Stop()
		if err := errors.Join(m.Log.Close(), m.st.Close()); err != nil {
			w.t.Errorf("close %s: %v", name, err)
		}
	})
	return m
}

// ID returns the machine's host ID.
func (m *Machine) ID() graph.NodeID { return graph.NodeIDOf(m.Key) }

// Peer returns the machine's libp2p name and address.
func (m *Machine) Peer() peer.AddrInfo {
	id, err := peer.IDFromBytes(m.ID().Bytes())
	if err != nil {
		m.w.t.Fatal(err)
	}
	return peer.AddrInfo{ID: id, Addrs: []ma.Multiaddr{ma.StringCast(m.listen)}}
}

// Network returns the Network the machine is in.
func (m *Machine) Network() graph.Genesis { return m.home }

// Idle makes the machine's host, listening but not running: for peers that don't behave. The caller closes it.
func (m *Machine) Idle() *p2p.Host {
	t := m.w.t
	t.Helper()
	cfg := m.cfg
	cfg.Network = m.home
	if cfg.Logger != nil {
		cfg.Logger = cfg.Logger.With("at", m.Name)
	}
	h, err := p2p.New(cfg)
	if err != nil {
		t.Fatalf("start %s: %v", m.Name, err)
	}
	return h
}

// Start puts the machine on the network.
func (m *Machine) Start() {
	t := m.w.t
	t.Helper()
	h := m.Idle()
	m.Host = h
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	m.lives.Go(func() {
		if err := h.Run(ctx); err != nil {
			t.Errorf("run %s: %v", m.Name, err)
		}
	})
	m.govern(ctx, h)
}

// Stop takes it off. It may be started again, with the same key, data and address.
func (m *Machine) Stop() {
	if m.Host == nil {
		return
	}
	m.ungovern()
	m.cancel()
	m.lives.Wait()
	if err := m.Host.Close(); err != nil {
		m.w.t.Errorf("stop %s: %v", m.Name, err)
	}
	m.Host = nil
}

// Crash takes it off as if its power had gone: nobody hears that it leaves. It may be started again, and then listens on port.
func (m *Machine) Crash(port int) {
	m.w.mu.Lock()
	before := m.w.side[m.ip]
	m.w.mu.Unlock()
	m.w.Cut(nowhere, m)
	m.Stop()
	m.w.Cut(before, m)
	m.listen = fmt.Sprintf("/ip4/%s/udp/%d/quic-v1", m.ip, port)
	m.cfg.Listen = []string{m.listen}
}

// nowhere is a side of the line where nobody else is.
const nowhere = -1

// govern keeps the Log's rights up to the Network's access entries, until the machine stops or changes its Network.
func (m *Machine) govern(ctx context.Context, h *p2p.Host) {
	t := m.w.t
	if m.ungovern != nil {
		m.ungovern()
	}
	ctx, m.ungovern = context.WithCancel(ctx)
	follow, err := Govern(ctx, m.Log, m.home, h.RightsChanged)
	if err != nil {
		t.Fatalf("govern %s: %v", m.Name, err)
	}
	m.lives.Go(func() {
		if err := follow(); err != nil && ctx.Err() == nil {
			t.Errorf("govern %s: %v", m.Name, err)
		}
	})
}

// Govern evaluates a Network's access entries that are here and applies them; follow does so with each that comes,
// until ctx ends. changed is told after each.
func Govern(ctx context.Context, log *graph.Log, g graph.Genesis, changed func(upTo graph.Pos)) (follow func() error, err error) {
	sp, err := log.Space(g.ID)
	if err != nil {
		return nil, err
	}
	ev, last := access.NewEvaluator(g), log.Last()
	apply := func(upTo graph.Pos) error {
		err := log.Apply(ctx, ev.State())
		changed(upTo)
		return err
	}
	for e, err := range sp.Kind(ctx, graph.KindAccess) {
		if err != nil {
			return nil, err
		}
		ev.Add(e)
	}
	return func() error {
		for st, err := range sp.Tail(ctx, last) {
			if err != nil {
				return err
			}
			if st.Entry.Body().Kind != graph.KindAccess {
				continue
			}
			ev.Add(st.Entry)
			if err := apply(st.Pos); err != nil {
				return err
			}
		}
		return nil
	}, apply(last)
}

// Invite makes a ticket.
func (m *Machine) Invite(role string, uses int) string {
	m.w.t.Helper()
	ticket, _, err := m.Host.Invite(m.w.t.Context(), role, uses, time.Now().Add(24*time.Hour))
	if err != nil {
		m.w.t.Fatalf("%s invites: %v", m.Name, err)
	}
	return ticket
}

// Join takes a ticket and goes over to its Network, as a node does.
func (m *Machine) Join(ticket string) (p2p.JoinResult, error) {
	res, err := m.Host.Join(m.w.t.Context(), ticket)
	if err != nil {
		return res, err
	}
	m.home = res.Network
	m.govern(context.Background(), m.Host)
	if err := m.await(func() bool { return m.role() > access.None }); err != nil {
		return res, err
	}
	m.Host.SetNetwork(res.Network)
	return res, nil
}

func (m *Machine) role() access.Role {
	st, ok := m.Log.Rights().(*access.State)
	if !ok {
		return access.None
	}
	h, _ := st.Host(m.ID())
	return h.Role
}

// await polls, in virtual time.
func (m *Machine) await(done func() bool) error {
	for range 3000 {
		if done() {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("%s: nothing after 30 seconds", m.Name)
}

// Space creates a named Space, or returns the one that is here.
func (m *Machine) Space(name string) *graph.Space {
	t := m.w.t
	t.Helper()
	g, err := graph.NamedSpace(m.home.ID, name)
	if err != nil {
		t.Fatal(err)
	}
	sp, err := m.Log.Create(t.Context(), g)
	if err != nil {
		t.Fatalf("%s creates space %s: %v", m.Name, name, err)
	}
	if m.Host != nil {
		m.Host.Follow(sp.ID())
	}
	return sp
}

// Say sends a message by the machine's key.
func (m *Machine) Say(space, text string) graph.ID {
	t := m.w.t
	t.Helper()
	d := graph.Draft{Content: []byte(fmt.Sprintf(`{"text":%q}`, text))}
	st, err := m.Space(space).Send(t.Context(), m.Key, d, nil)
	if err != nil {
		t.Fatalf("%s says %q in %s: %v", m.Name, text, space, err)
	}
	return st.Entry.ID()
}

// Equal waits until the machines have equal digests of a Space and checks each copy. It fails the test after limit.
func (w *World) Equal(limit time.Duration, space string, machines ...*Machine) {
	w.t.Helper()
	deadline := time.Now().Add(limit)
	for {
		first := machines[0].digest(space)
		same := true
		for _, m := range machines[1:] {
			same = same && m.digest(space) == first
		}
		if same {
			break
		}
		if time.Now().After(deadline) {
			for _, m := range machines {
				p, f, s := m.Space(space).HeldCounts()
				w.t.Errorf("%s: %+v, held %d %d %d", m.Name, m.digest(space), p, f, s)
				if m.Host != nil {
					w.t.Errorf("%s: peers %+v", m.Name, m.Host.Peers())
				}
			}
			w.t.Fatalf("space %s differs after %v", space, limit)
		}
		time.Sleep(50 * time.Millisecond)
	}
	for _, m := range machines {
		r, err := m.Space(space).Check(w.t.Context())
		if err != nil || len(r.Problems) > 0 {
			w.t.Errorf("%s: check %s: %v %v", m.Name, space, err, r.Problems)
		}
	}
}

func (m *Machine) digest(space string) graph.Digest {
	g, err := graph.NamedSpace(m.home.ID, space)
	if err != nil {
		m.w.t.Fatal(err)
	}
	sp, err := m.Log.Space(g.ID)
	if err != nil {
		return graph.Digest{}
	}
	return sp.Digest()
}
