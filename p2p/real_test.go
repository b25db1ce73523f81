package p2p_test

// This file holds hosts on real sockets, in real time: the default transports, ports that are taken, and how fast a
// fresh replica fills.

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	dht "github.com/libp2p/go-libp2p-kad-dht"

	"plexus/graph"
	"plexus/graph/access"
	"plexus/graph/store"
	"plexus/internal/sim"
	"plexus/p2p"
)

// daemon is a host with its log and the follower of its rights, as node has.
type daemon struct {
	key  ed25519.PrivateKey
	home graph.Genesis
	log  *graph.Log
	host *p2p.Host
	gov  context.CancelFunc
	stop context.CancelFunc
	t    testing.TB
	wg   sync.WaitGroup
}

func newDaemon(t testing.TB, st graph.Store, listen ...string) *daemon {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	home, err := graph.NewNetwork("home", key)
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{key: key, home: home, t: t, gov: func() {}}
	if d.log, err = graph.OpenLog(st, graph.LogOptions{Rights: access.Evaluate(home, nil)}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.log.Create(t.Context(), home); err != nil {
		t.Fatal(err)
	}
	d.start(nil, listen...)
	t.Cleanup(func() {
		d.close()
		if err := errors.Join(d.host.Close(), d.log.Close(), st.Close()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d
}

func (d *daemon) start(set func(*p2p.Config), listen ...string) {
	d.t.Helper()
	c := p2p.Config{
		Key: d.key, Log: d.log, Network: d.home, Listen: listen,
		NoMDNS: true, NoPortMap: true, NoAutoNAT: true, NoRelay: true,
	}
	if set != nil {
		set(&c)
	}
	var err error
	if d.host, err = p2p.New(c); err != nil {
		d.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	d.stop = cancel
	host := d.host
	d.wg.Go(func() {
		if err := host.Run(ctx); err != nil {
			d.t.Errorf("run: %v", err)
		}
	})
	d.govern()
}

func (d *daemon) close() {
	d.gov()
	d.stop()
	d.wg.Wait()
	if err := d.host.Close(); err != nil {
		d.t.Errorf("close: %v", err)
	}
}

func (d *daemon) govern() {
	d.gov()
	ctx, cancel := context.WithCancel(context.Background())
	d.gov = cancel
	follow, err := sim.Govern(ctx, d.log, d.home, d.host.RightsChanged)
	if err != nil {
		d.t.Fatal(err)
	}
	d.wg.Go(func() {
		if err := follow(); err != nil && ctx.Err() == nil {
			d.t.Errorf("govern: %v", err)
		}
	})
}

func (d *daemon) join(inviter *daemon) {
	d.t.Helper()
	ticket, _, err := inviter.host.Invite(d.t.Context(), "writer", 1, time.Now().Add(time.Hour))
	if err != nil {
		d.t.Fatal(err)
	}
	res, err := d.host.Join(d.t.Context(), ticket)
	if err != nil {
		d.t.Fatal(err)
	}
	d.home = res.Network
	d.govern()
	until(d.t, 10*time.Second, func() bool {
		st, ok := d.log.Rights().(*access.State)
		return ok && st.Role(d.host.ID()) > access.None
	})
	d.host.SetNetwork(res.Network)
}

func (d *daemon) space(name string) *graph.Space {
	g, err := graph.NamedSpace(d.home.ID, name)
	if err != nil {
		d.t.Fatal(err)
	}
	sp, err := d.log.Create(d.t.Context(), g)
	if err != nil {
		d.t.Fatal(err)
	}
	return sp
}

// until polls by the log's own clock, a timer, without sleeping.
func until(t testing.TB, limit time.Duration, done func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	end := time.After(limit)
	for !done() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("nothing after %v", limit)
		}
	}
}

func TestRealTransports(t *testing.T) {
	for name, addrs := range map[string][]string{
		"quic": {"/ip4/127.0.0.1/udp/0/quic-v1"}, "tcp": {"/ip4/127.0.0.1/tcp/0"},
		"websocket": {"/ip4/127.0.0.1/tcp/0/ws"},
		"all":       {"/ip4/127.0.0.1/udp/0/quic-v1", "/ip4/127.0.0.1/tcp/0"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := newDaemon(t, store.Memory(), addrs...), newDaemon(t, store.Memory(), addrs...)
			b.join(a)
			sa := a.space("tea")
			a.host.Follow(sa.ID())
			for i := range 10 {
				if _, err := sa.Send(t.Context(), a.key, graph.Draft{Content: []byte(fmt.Sprintf(`{"n":%d}`, i))}, nil); err != nil {
					t.Fatal(err)
				}
			}
			until(t, 20*time.Second, func() bool { return b.space("tea").Digest() == sa.Digest() })
		})
	}
}

func TestPortTaken(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	u, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	st := store.Memory()
	defer st.Close()
	log, err := graph.OpenLog(st, graph.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range []string{
		fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", l.Addr().(*net.TCPAddr).Port),
		fmt.Sprintf("/ip4/127.0.0.1/udp/%d/quic-v1", u.LocalAddr().(*net.UDPAddr).Port),
	} {
		h, err := p2p.New(p2p.Config{Key: key, Log: log, Listen: []string{addr}, NoRelay: true, NoPortMap: true, NoAutoNAT: true})
		if h != nil || !errors.Is(err, graph.ErrConflict) || !strings.Contains(err.Error(), addr) {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if _, err := p2p.New(p2p.Config{Key: key, Log: log, Listen: []string{"localhost:80"}, NoPortMap: true, NoAutoNAT: true}); !errors.Is(err, graph.ErrInvalid) {
		t.Errorf("localhost:80: %v", err)
	}
}

// TestHammer: many speak at once on both sides, as fast as they can; every word arrives.
func TestHammer(t *testing.T) {
	a, b := newDaemon(t, store.Memory(), "/ip4/127.0.0.1/udp/0/quic-v1"), newDaemon(t, store.Memory(), "/ip4/127.0.0.1/udp/0/quic-v1")
	b.join(a)
	var wg sync.WaitGroup
	begun := time.Now()
	for _, d := range []*daemon{a, b} {
		sp := d.space("tea")
		d.host.Follow(sp.ID())
		for w := range 16 {
			wg.Go(func() {
				for i := range 100 {
					if _, err := sp.Send(t.Context(), d.key, graph.Draft{Content: []byte(fmt.Sprintf(`{"w":%d,"n":%d}`, w, i))}, nil); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	sent := time.Since(begun)
	until(t, time.Minute, func() bool {
		return a.space("tea").Count() == 3200 && a.space("tea").Digest() == b.space("tea").Digest()
	})
	t.Logf("3,200 messages: sent in %v, everywhere after %v", sent, time.Since(begun))
	for _, d := range []*daemon{a, b} {
		if r, err := d.space("tea").Check(t.Context()); err != nil || len(r.Problems) > 0 {
			t.Errorf("check: %v %v", err, r.Problems)
		}
	}
}

// BenchmarkPropagate measures from the acknowledged send on one host to its appearance in the other's log.
func BenchmarkPropagate(b *testing.B) {
	open := func() graph.Store {
		st, err := store.Open(b.TempDir(), store.Options{})
		if err != nil {
			b.Fatal(err)
		}
		return st
	}
	x, y := newDaemon(b, open(), "/ip4/127.0.0.1/udp/0/quic-v1"), newDaemon(b, open(), "/ip4/127.0.0.1/udp/0/quic-v1")
	y.join(x)
	sx, sy := x.space("tea"), y.space("tea")
	x.host.Follow(sx.ID())
	y.host.Follow(sx.ID())
	until(b, 10*time.Second, func() bool { return len(x.host.Peers()) == 1 && x.host.Peers()[0].Connected })
	arrived := make(chan graph.ID, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	y.wg.Go(func() {
		for st, err := range sy.Tail(ctx, y.log.Last()) {
			if err != nil {
				return
			}
			select {
			case arrived <- st.Entry.ID():
			case <-ctx.Done():
			}
		}
	})
	say := func() time.Duration {
		st, err := sx.Send(b.Context(), x.key, graph.Draft{Content: []byte(`{"text":"hello"}`)}, nil)
		if err != nil {
			b.Fatal(err)
		}
		begun := time.Now()
		for <-arrived != st.Entry.ID() {
		}
		return time.Since(begun)
	}
	for begun := time.Now(); time.Since(begun) < 4*time.Second; { // by then the mesh stands
		say()
	}
	var took []time.Duration
	for b.Loop() {
		took = append(took, say())
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkFreshReplica fills an empty replica with 100,000 messages over loopback, both sides in this process.
func BenchmarkFreshReplica(b *testing.B) {
	const n = 100_000
	for _, kind := range []string{"memory", "pebble"} {
		b.Run(kind, func(b *testing.B) {
			open := func() graph.Store {
				if kind == "memory" {
					return store.Memory()
				}
				st, err := store.Open(b.TempDir(), store.Options{})
				if err != nil {
					b.Fatal(err)
				}
				return st
			}
			a := newDaemon(b, open(), "/ip4/127.0.0.1/udp/0/quic-v1")
			sa := a.space("tea")
			fill(b, sa, a.key, n)
			for b.Loop() {
				b.StopTimer()
				x := newDaemon(b, open(), "/ip4/127.0.0.1/udp/0/quic-v1")
				x.join(a)
				runtime.GC()
				b.StartTimer()
				until(b, 5*time.Minute, func() bool { return x.space("tea").Digest() == sa.Digest() })
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}

func fill(b *testing.B, sp *graph.Space, key ed25519.PrivateKey, n int) {
	b.Helper()
	text := strings.Repeat("a message of some length ", 8)
	var wg sync.WaitGroup
	for w := range 32 {
		wg.Go(func() {
			for i := range n / 32 {
				d := graph.Draft{Content: []byte(fmt.Sprintf(`{"text":"%s","n":%d}`, text, w*n+i))}
				if _, err := sp.Send(b.Context(), key, d, nil); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestRendezvous: two members that know no address of each other meet over a DHT.
func TestRendezvous(t *testing.T) {
	boot, err := libp2p.New(libp2p.ListenAddrStrings("/ip4/127.0.0.1/tcp/0"), libp2p.DisableRelay())
	if err != nil {
		t.Fatal(err)
	}
	defer boot.Close()
	d, err := dht.New(boot, dht.Mode(dht.ModeServer))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	at := fmt.Sprintf("%s/p2p/%s", boot.Addrs()[0], boot.ID())
	set := func(c *p2p.Config) { c.DHT, c.Bootstrap = true, []string{at} }
	a, b := newDaemon(t, store.Memory(), "/ip4/127.0.0.1/tcp/0"), newDaemon(t, store.Memory(), "/ip4/127.0.0.1/tcp/0")
	b.join(a)
	a.close()
	b.close()
	a.start(set, "/ip4/127.0.0.1/tcp/0") // on other ports than the book says
	b.start(set, "/ip4/127.0.0.1/tcp/0")
	until(t, 30*time.Second, func() bool { return len(a.host.Peers()) == 1 && a.host.Peers()[0].Connected })
}

// TestEverythingOn: LAN discovery, relay, hole punching and AutoNAT begin and end cleanly.
func TestEverythingOn(t *testing.T) {
	if !multicast(t) {
		t.Skip("no interface here does multicast, so nothing is found on the LAN")
	}
	on := func(c *p2p.Config) { c.NoMDNS, c.NoAutoNAT, c.NoRelay = false, false, false }
	a, b := newDaemon(t, store.Memory(), "/ip4/127.0.0.1/tcp/0"), newDaemon(t, store.Memory(), "/ip4/127.0.0.1/tcp/0")
	b.join(a)
	for _, d := range []*daemon{a, b} {
		d.close()
		d.start(on, "/ip4/127.0.0.1/tcp/0", "/ip4/127.0.0.1/udp/0/quic-v1")
	}
	sp := b.space("tea")
	if _, err := sp.Send(t.Context(), b.key, graph.Draft{Content: []byte(`{}`)}, nil); err != nil {
		t.Fatal(err)
	}
	// Both are on other ports than the address book says: only the LAN can bring them together.
	until(t, 30*time.Second, func() bool { return a.space("tea").Digest() == sp.Digest() })
}

func multicast(t *testing.T) bool {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	const need = net.FlagUp | net.FlagMulticast
	return slices.ContainsFunc(all, func(i net.Interface) bool { return i.Flags&need == need && i.Flags&net.FlagLoopback == 0 })
}
