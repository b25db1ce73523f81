package p2p

// This file holds what is said of peers: connected or not, how far each copy of a Space is from ours, whose clock is off.

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"plexus/graph"
)

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

// peerStats is what the exchanges with one peer left.
type peerStats struct {
	mu        sync.Mutex // owns what follows
	exchanged time.Time  // the last whole handshake; zero: none
	latency   time.Duration
	clock     time.Duration
	hasClock  bool
	differ    map[graph.ID]SpaceDiffer
	common    map[graph.ID]uint64 // entries of a Space when both last had the same
}

// statsOf returns a peer's, made on first use. Only members get any.
func (h *Host) statsOf(n graph.NodeID) *peerStats {
	h.mu.Lock()
	defer h.mu.Unlock()
	st := h.stats[n]
	if st == nil {
		st = &peerStats{differ: map[graph.ID]SpaceDiffer{}, common: map[graph.ID]uint64{}}
		h.stats[n] = st
	}
	return st
}

// greeted notes a handshake: when it began, how long its round trip took (0: not measured), the peer's clock in it.
func (st *peerStats) greeted(at time.Time, rtt time.Duration, theirs time.Time) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if rtt > 0 {
		st.latency = rtt
	}
	st.clock, st.hasClock = theirs.Sub(at.Add(rtt/2)), true
}

// latent notes a round trip that may have had work in it: it counts where there is none shorter.
func (st *peerStats) latent(rtt time.Duration) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.latency == 0 || rtt < st.latency {
		st.latency = rtt
	}
}

// same notes that both had a Space with this digest.
func (st *peerStats) same(space graph.ID, d graph.Digest) {
	st.mu.Lock()
	defer st.mu.Unlock()
	delete(st.differ, space)
	st.common[space] = d.Count
}

// compared notes what two frontiers say, before anything has moved.
func (st *peerStats) compared(space graph.ID, ours, theirs frontier) {
	d := SpaceDiffer{Space: space, Missing: ours.lacks(theirs), Ahead: theirs.lacks(ours)}
	if d.Missing+d.Ahead > 0 {
		st.differs(d)
	}
}

// differs notes that a Space isn't the same, and how far.
func (st *peerStats) differs(d SpaceDiffer) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.differ[d.Space] = d
}

// done notes that all Spaces have been gone through.
func (st *peerStats) done(at time.Time) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.exchanged = at
}

// fill says what was found. Of a peer that is away, what came here since both were the same counts as ahead.
func (st *peerStats) fill(s *PeerStatus, count func(graph.ID) uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	s.Latency, s.ClockOff = st.latency, st.clock
	for _, d := range st.differ {
		s.Differ = append(s.Differ, d)
	}
	for id, n := range st.common {
		if _, known := st.differ[id]; !known && !s.Connected && count(id) > n {
			s.Differ = append(s.Differ, SpaceDiffer{Space: id, Ahead: count(id) - n})
		}
	}
	slices.SortFunc(s.Differ, func(a, b SpaceDiffer) int { return a.Space.Compare(b.Space) })
	s.InSync = !st.exchanged.IsZero() && len(s.Differ) == 0
}

// connection says how a peer is connected.
func (h *Host) connection(s *PeerStatus) {
	p, err := peerID(s.ID)
	if err != nil {
		return
	}
	switch h.host.Network().Connectedness(p) {
	case network.Connected:
		s.Connected = true
	case network.Limited:
		s.Connected, s.Relayed = true, true
	}
}

// entries counts a Space's.
func (h *Host) entries(id graph.ID) uint64 {
	sp, err := h.cfg.Log.Space(id)
	if err != nil {
		return 0
	}
	return sp.Digest().Count
}

// Peers lists the Network's other member hosts, by ID.
func (h *Host) Peers() []PeerStatus {
	g := h.network()
	if g == nil {
		return nil
	}
	var out []PeerStatus
	for _, m := range h.members() {
		s := PeerStatus{ID: m.ID, Role: m.Role.String()}
		k, err := h.book.peer(g.ID, m.ID)
		if err != nil {
			h.log.Warn("address book", "peer", m.ID, "err", err)
		}
		s.Addrs = k.Addrs
		if k.Seen != 0 {
			s.LastSeen = time.UnixMicro(k.Seen).UTC()
		}
		h.connection(&s)
		h.statsOf(m.ID).fill(&s, h.entries)
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b PeerStatus) int { return a.ID.Compare(b.ID) })
	return out
}

// ClockOff compares our clock with the peers'.
func (h *Host) ClockOff() Clock {
	h.mu.Lock()
	all := make([]*peerStats, 0, len(h.stats))
	for _, st := range h.stats {
		all = append(all, st)
	}
	h.mu.Unlock()
	var offs []time.Duration
	var c Clock
	for _, st := range all {
		st.mu.Lock()
		if st.hasClock {
			offs = append(offs, st.clock)
			if st.clock.Abs() > graph.MaxFuture {
				c.Disagree++
			}
		}
		st.mu.Unlock()
	}
	c.Peers = len(offs)
	if len(offs) > 0 {
		slices.SortFunc(offs, cmp.Compare[time.Duration])
		c.Off = offs[len(offs)/2]
	}
	return c
}
