package p2p

// This file holds who may talk to us: the roster that the Log's rights are, and the gates that ask it.

import (
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/control"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"

	"plexus/graph"
	"plexus/graph/access"
)

// roster is what p2p asks of the Log's rights. *access.State is one.
type roster interface {
	Host(graph.NodeID) (access.Host, bool)
	Hosts() []access.Host
	Invite(access.Hash) (access.Invite, error)
	Allows(author graph.NodeID, d graph.Draft) error
}

// roster returns the rights, or nil where there are none yet.
func (h *Host) roster() roster {
	r, _ := h.cfg.Log.Rights().(roster)
	return r
}

// role returns a host's role in the current Network, access.None for who is no member.
func (h *Host) role(n graph.NodeID) access.Role {
	r := h.roster()
	if r == nil {
		return access.None
	}
	m, _ := r.Host(n)
	return m.Role
}

// shut says whether a host's key was revoked, for good.
func (h *Host) shut(n graph.NodeID) bool {
	r := h.roster()
	if r == nil {
		return false
	}
	m, _ := r.Host(n)
	return m.Revoked
}

// member says whether a libp2p peer may have more than the join protocol.
func (h *Host) member(p peer.ID) bool {
	n, err := nodeID(p)
	return err == nil && h.role(n) > access.None && !h.gate.barred(p)
}

// members lists the other member hosts.
func (h *Host) members() []access.Host {
	r := h.roster()
	if r == nil {
		return nil
	}
	return slices.DeleteFunc(r.Hosts(), func(m access.Host) bool { return m.Role == access.None || m.ID == h.id })
}

// nodeID and peerID convert between libp2p's name of a host and ours.
func nodeID(p peer.ID) (graph.NodeID, error) { return graph.NodeIDFromBytes([]byte(p)) }

func peerID(n graph.NodeID) (peer.ID, error) { return peer.IDFromBytes(n.Bytes()) }

// gate is the connection gater: it keeps everybody out while offline, the revoked for good, and who broke the protocol
// for a while. It can't tell guests from members, since a guest may come to join; streams do that.
type gate struct {
	now  func() time.Time
	shut func(graph.NodeID) bool

	mu      sync.Mutex // owns what follows
	offline bool
	bans    map[peer.ID]ban
}

type ban struct {
	until time.Time
	times int
}

func (g *gate) InterceptPeerDial(p peer.ID) bool                 { return !g.barred(p) }
func (g *gate) InterceptAddrDial(p peer.ID, _ ma.Multiaddr) bool { return !g.barred(p) }
func (g *gate) InterceptAccept(network.ConnMultiaddrs) bool      { return !g.isOffline() }

func (g *gate) InterceptSecured(_ network.Direction, p peer.ID, _ network.ConnMultiaddrs) bool {
	n, err := nodeID(p)
	return err == nil && !g.barred(p) && !g.shut(n)
}

func (g *gate) InterceptUpgraded(network.Conn) (bool, control.DisconnectReason) {
	return !g.isOffline(), 0
}

func (g *gate) isOffline() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.offline
}

func (g *gate) setOffline(off bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.offline = off
}

func (g *gate) barred(p peer.ID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.offline || g.now().Before(g.bans[p].until)
}

// ban keeps a peer out: 10 seconds the first time, twice as long each time after.
func (g *gate) ban(p peer.ID) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.bans[p]
	d := min(firstBan<<min(b.times, 16), maxBan)
	g.bans[p] = ban{until: g.now().Add(d), times: b.times + 1}
	if len(g.bans) > maxBans {
		for q, o := range g.bans {
			if q != p && !g.now().Before(o.until) {
				delete(g.bans, q)
			}
		}
	}
	return d
}
