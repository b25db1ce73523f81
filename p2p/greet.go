package p2p

// This file holds the handshake: each side's Spaces with their digests, and the genesis blocks one of them lacks.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plexus/graph"
)

// greeting is one side's hello, all frames of it.
type greeting struct {
	network graph.ID
	at      time.Time
	part    bool
	spaces  map[graph.ID]graph.Digest
	records [][]byte
}

// ours makes our greeting: about all Spaces of the Network, or those asked about.
func (h *Host) ours(network graph.ID, only map[graph.ID]bool) greeting {
	g := greeting{network: network, at: h.cfg.Now(), part: only != nil, spaces: map[graph.ID]graph.Digest{}}
	for _, sp := range h.spaces(network) {
		if (only == nil || only[sp.ID()]) && len(g.spaces) < maxSpaces {
			g.spaces[sp.ID()] = sp.Digest()
		}
	}
	if !g.part {
		g.records = h.peerRecords()
	}
	return g
}

// spaces lists the Spaces of a Network, its own log first.
func (h *Host) spaces(network graph.ID) []*graph.Space {
	var out []*graph.Space
	if sp, err := h.cfg.Log.Space(network); err == nil {
		out = append(out, sp)
	}
	for _, id := range h.cfg.Log.Spaces() {
		if sp, err := h.cfg.Log.Space(id); err == nil && sp.Genesis().Network == network && id != network {
			out = append(out, sp)
		}
	}
	return out
}

// space returns a Space of the current Network; a peer naming another gets the same answer as for none.
func (h *Host) space(id []byte) (*graph.Space, error) {
	key, err := id32(id)
	if err != nil {
		return nil, err
	}
	g := h.network()
	sp, err := h.cfg.Log.Space(key)
	if err != nil {
		return nil, err
	}
	if g == nil || sp.ID() != g.ID && sp.Genesis().Network != g.ID {
		return nil, fmt.Errorf("space %s: %w in this network", sp.ID(), graph.ErrNotFound)
	}
	return sp, nil
}

// sendGreeting writes as many frames as it takes.
func sendGreeting(w *wire, g greeting) error {
	f := hello{Network: g.network[:], Time: g.at.UnixMicro(), Part: g.part, Records: g.records}
	for id, d := range g.spaces {
		if len(f.Spaces) == maxListed {
			f.More = true
			if err := w.put(frameHello, f); err != nil {
				return err
			}
			f.Spaces, f.Records, f.More = nil, nil, false
		}
		f.Spaces = append(f.Spaces, listed{Space: id[:], Count: d.Count, Heads: d.Heads[:]})
	}
	return w.send(frameHello, f)
}

// takeGreeting reads what sendGreeting writes, the first frame's body being read already.
func takeGreeting(w *wire, body []byte) (greeting, error) {
	g := greeting{spaces: map[graph.ID]graph.Digest{}}
	for first := true; ; first = false {
		var f hello
		var err error
		if first {
			err = parse(body, &f)
		} else {
			err = w.expect(frameHello, &f, frameTimeout)
		}
		if err != nil {
			return g, err
		}
		if err := g.add(f); err != nil {
			return g, err
		}
		if !f.More {
			return g, nil
		}
	}
}

func (g *greeting) add(f hello) error {
	network, err := id32(f.Network)
	if err != nil {
		return err
	}
	if len(f.Spaces) > maxListed || len(g.spaces)+len(f.Spaces) > maxSpaces || len(f.Records) > maxRecords {
		return breachf("a hello over its bounds")
	}
	if f.More && len(f.Spaces) == 0 {
		return breachf("an empty hello that goes on")
	}
	g.network, g.part, g.at = network, f.Part, time.UnixMicro(f.Time)
	g.records = append(g.records, f.Records...)
	if len(g.records) > maxRecords {
		return breachf("%d peer records", len(g.records))
	}
	for _, l := range f.Spaces {
		space, err := id32(l.Space)
		if err != nil {
			return err
		}
		heads, err := id32(l.Heads)
		if err != nil {
			return err
		}
		g.spaces[space] = graph.Digest{Count: l.Count, Heads: heads}
	}
	return nil
}

// differing lists the Spaces both have with different digests, the Network's own log first.
func differing(a, b greeting) []graph.ID {
	var out []graph.ID
	for id, d := range a.spaces {
		if o, ok := b.spaces[id]; !ok || o == d || o.Count == 0 && d.Count == 0 {
			continue
		}
		out = append(out, id)
		if id == a.network {
			out[0], out[len(out)-1] = out[len(out)-1], out[0]
		}
	}
	return out
}

// unknown lists the Spaces of b that a lacks.
func unknown(a, b greeting) []graph.ID {
	var out []graph.ID
	for id := range b.spaces {
		if _, ok := a.spaces[id]; !ok {
			out = append(out, id)
		}
	}
	return out
}

// genesisBlocks returns the blocks of those Spaces that are here and belong to the Network.
func (h *Host) genesisBlocks(ids []graph.ID) [][]byte {
	var out [][]byte
	for _, id := range ids {
		if sp, err := h.space(id[:]); err == nil {
			out = append(out, sp.Genesis().Block)
		}
	}
	return out
}

// adopt creates the named Spaces a peer tells of, within its quota, and returns those that are here now.
func (h *Host) adopt(ctx context.Context, from graph.NodeID, blocks [][]byte) ([]graph.ID, error) {
	network := h.network()
	var out []graph.ID
	for _, b := range blocks {
		g, err := graph.DecodeGenesis(b)
		if err != nil {
			return out, breachf("genesis: %v", err)
		}
		if network == nil || g.Kind != graph.GenesisNamed || g.Network != network.ID {
			continue // another Network's, or a kind of later versions
		}
		if _, err := h.cfg.Log.Space(g.ID); err == nil {
			out = append(out, g.ID)
			continue
		}
		if !h.mayTell(from) {
			h.log.Warn("space not taken over: the peer has told of too many", "peer", from, "space", g.ID)
			continue
		}
		if _, err := h.cfg.Log.Create(ctx, g); err != nil {
			if errors.Is(err, graph.ErrConflict) {
				h.log.Warn("space not taken over", "peer", from, "space", g.ID, "err", err)
				continue
			}
			return out, fmt.Errorf("create space %s: %w", g.ID, err)
		}
		if err := h.book.setTold(g.ID, from); err != nil {
			return out, err
		}
		h.tell(g.ID, from)
		out = append(out, g.ID)
	}
	return out, nil
}

// mayTell counts a Space against a host's quota, or says that it is full.
func (h *Host) mayTell(from graph.NodeID) bool {
	if len(h.cfg.Log.Spaces()) >= maxSpaces {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.told[from] >= maxPerHost {
		return false
	}
	h.told[from]++
	return true
}

// Follow tells of a Space that was created here: its topic is joined and peers are told. Idempotent.
func (h *Host) Follow(space graph.ID) { h.tell(space, h.id) }

// tell joins a Space's topic and has all peers but the one that told of it asked about it.
func (h *Host) tell(space graph.ID, except graph.NodeID) {
	if !h.join(space) {
		return
	}
	for _, l := range h.allLinks() {
		if l.node != except {
			l.askSpace(space)
		}
	}
}

// followAll joins the topics of all Spaces of the Network.
func (h *Host) followAll() {
	if g := h.network(); g != nil {
		for _, sp := range h.spaces(g.ID) {
			h.join(sp.ID())
		}
	}
}
