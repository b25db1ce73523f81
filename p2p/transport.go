package p2p

// This file holds how the libp2p host is put together from the settings.

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/host/autorelay"
	"github.com/libp2p/go-libp2p/p2p/net/connmgr"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/relay"
	quic "github.com/libp2p/go-libp2p/p2p/transport/quic"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	"github.com/libp2p/go-libp2p/p2p/transport/websocket"
	ma "github.com/multiformats/go-multiaddr"

	"plexus/graph"
)

// defaultListen is where a host listens when nothing is said. IPv6 addresses fail quietly where there is none.
func defaultListen(port int) []string {
	return []string{
		fmt.Sprintf("/ip4/0.0.0.0/udp/%d/quic-v1", port), fmt.Sprintf("/ip4/0.0.0.0/tcp/%d", port),
		fmt.Sprintf("/ip6/::/udp/%d/quic-v1", port), fmt.Sprintf("/ip6/::/tcp/%d", port),
	}
}

// newLibp2p makes the host without listening.
func newLibp2p(c Config, g *gate, members func() []peer.AddrInfo, member func(peer.ID) bool) (host.Host, error) {
	key, err := crypto.UnmarshalEd25519PrivateKey(ed25519.PrivateKey(c.Key))
	if err != nil {
		return nil, fmt.Errorf("host key: %w", err)
	}
	opts := []libp2p.Option{
		libp2p.Identity(key), libp2p.UserAgent("plexus"), libp2p.NoListenAddrs, libp2p.ConnectionGater(g),
		libp2p.DisableMetrics(), libp2p.Ping(false),
		// A member that is away for long isn't a sign that UDP or IPv6 leads nowhere.
		libp2p.UDPBlackHoleSuccessCounter(nil), libp2p.IPv6BlackHoleSuccessCounter(nil),
	}
	if c.Transport != nil {
		return libp2p.New(append(opts, c.Transport...)...)
	}
	cm, err := connmgr.NewConnManager(lowConns, highConns)
	if err != nil {
		return nil, fmt.Errorf("connection manager: %w", err)
	}
	opts = append(
		opts, libp2p.ConnectionManager(cm), libp2p.Transport(quic.NewTransport), libp2p.Transport(tcp.NewTCPTransport),
		libp2p.Transport(websocket.New), libp2p.ShareTCPListener(),
	)
	return libp2p.New(append(opts, reachOptions(c, members, member)...)...)
}

// reachOptions are the ways around NATs that the settings leave on.
func reachOptions(c Config, members func() []peer.AddrInfo, member func(peer.ID) bool) []libp2p.Option {
	var opts []libp2p.Option
	if !c.NoPortMap {
		opts = append(opts, libp2p.NATPortMap())
	}
	if !c.NoAutoNAT {
		opts = append(opts, libp2p.EnableAutoNATv2())
	}
	if c.NoRelay {
		return append(opts, libp2p.DisableRelay())
	}
	res := relay.DefaultResources()
	res.Limit = &relay.RelayLimit{Duration: relayDuration, Data: relayData}
	source := func(_ context.Context, n int) <-chan peer.AddrInfo {
		all := members()
		out := make(chan peer.AddrInfo, n)
		for _, ai := range all[:min(n, len(all))] {
			out <- ai
		}
		close(out)
		return out
	}
	opts = append(
		opts, libp2p.EnableRelay(), libp2p.EnableRelayService(relay.WithResources(res), relay.WithACL(relayACL{member})),
		libp2p.EnableAutoRelayWithPeerSource(source, autorelay.WithMinInterval(relayInterval)),
	)
	if !c.NoHolePunch {
		opts = append(opts, libp2p.EnableHolePunching())
	}
	return opts
}

// relayACL lets members alone use this host as a relay, and only to reach members.
type relayACL struct{ member func(peer.ID) bool }

func (r relayACL) AllowReserve(p peer.ID, _ ma.Multiaddr) bool { return r.member(p) }

func (r relayACL) AllowConnect(src peer.ID, _ ma.Multiaddr, dest peer.ID) bool {
	return r.member(dest) && r.member(src)
}

// listen opens the ports. Where nothing was said, those of the last time are taken, else the default, else any.
func listen(h host.Host, c Config, b book) error {
	if len(c.Listen) > 0 || c.Transport != nil {
		return listenOn(h, c.Listen)
	}
	tries := [][]string{defaultListen(DefaultPort), defaultListen(0)}
	if last := b.listen(); len(last) > 0 {
		tries = append([][]string{last}, tries...)
	}
	var err error
	for _, addrs := range tries {
		if err = listenOn(h, addrs); err == nil {
			return b.setListen(addrTexts(sockets(h)))
		}
		if !errors.Is(err, graph.ErrConflict) {
			return err
		}
	}
	return err
}

// listenOn opens all of the addresses but those of an address family the machine lacks, or none.
func listenOn(h host.Host, addrs []string) error {
	for _, s := range addrs {
		a, err := ma.NewMultiaddr(s)
		if err != nil {
			return fmt.Errorf("listen on %q: no multiaddr, such as /ip4/0.0.0.0/udp/4765/quic-v1: %w", s, graph.ErrInvalid)
		}
		sw := h.Network().(*swarm.Swarm)
		err = sw.AddListenAddr(a)
		if err == nil || strings.HasPrefix(s, "/ip6/::/") && !errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		sw.ListenClose(sw.ListenAddresses()...)
		if errors.Is(err, syscall.EADDRINUSE) || strings.Contains(err.Error(), "address already in use") {
			return fmt.Errorf("listen on %s: the port is taken; stop what uses it or choose another: %w", s, graph.ErrConflict)
		}
		return fmt.Errorf("listen on %s: %w: %w", s, err, graph.ErrInvalid)
	}
	return nil
}

// sockets returns what is really listened on: relayed addresses left out.
func sockets(h host.Host) []ma.Multiaddr {
	return slices.DeleteFunc(h.Network().ListenAddresses(), func(a ma.Multiaddr) bool {
		_, err := a.ValueForProtocol(ma.P_CIRCUIT)
		return err == nil
	})
}
