package node

// This file holds what is known of members' plugin states: whoever holds the same messages must have made the same of them (protocol.md
// §5.9). What a member says changes nothing but what is shown here.

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"plexus/graph"
	"plexus/p2p"
	"plexus/plugins"
	"plexus/sdk/client"
)

// stand is what a state is made of.
type stand struct{ log, access graph.Digest }

// place is a plugin in a Space as a member sees it.
type place struct {
	peer   graph.NodeID
	space  graph.ID
	plugin string
}

// difference is what differs there.
type difference struct {
	file        string // CID
	here, there [32]byte
	engine      string // the member's
	at          time.Time
	sure        bool // it was found twice
}

// comparing is what was compared. The zero value is ready.
type comparing struct {
	mu     sync.Mutex                          // owns what follows
	same   map[graph.NodeID]map[graph.ID]stand // Spaces in which nothing is left to compare, while they stand there
	differ map[place]difference                //
	unsure bool                                // something was found once
}

// witness is the node as p2p.Witness.
type witness struct{ node *Node }

// States hears a member's and answers with this host's of the same Spaces.
func (w witness) States(_ context.Context, from graph.NodeID, theirs p2p.States) (p2p.States, error) {
	n := w.node
	n.hear(from, theirs)
	ours := p2p.States{Engine: n.plugins.Engine(), Schedule: plugins.Schedule}
	for _, s := range theirs.Spaces {
		if sp, err := n.foldedSpace(s.Space); err == nil {
			if st, ok := n.statesOf(sp); ok {
				ours.Spaces = append(ours.Spaces, st)
			}
		}
	}
	return ours, nil
}

// foldedSpace returns a Space of the Network whose messages plugins fold.
func (n *Node) foldedSpace(id graph.ID) (*graph.Space, error) {
	sp, err := n.log.Space(id)
	if err == nil && (sp.Genesis().Kind == graph.GenesisNetwork || sp.Genesis().Network != n.members.network()) {
		err = graph.ErrNotFound
	}
	return sp, err
}

func (n *Node) standOf(sp *graph.Space) (stand, error) {
	network, err := n.log.Space(n.members.network())
	if err != nil {
		return stand{}, err
	}
	return stand{sp.Digest(), network.Digest()}, nil
}

// statesOf returns what plugins have made of a Space; ok only where there is something, and nothing came in between.
func (n *Node) statesOf(sp *graph.Space) (out p2p.SpaceStates, ok bool) {
	before, err := n.standOf(sp)
	if err != nil {
		return out, false
	}
	list, err := n.plugins.Witnesses(sp.ID())
	if err != nil {
		n.cfg.Logger.Warn("plugin states can't be compared", "space", sp.ID().String(), "err", err)
		return out, false
	}
	out = p2p.SpaceStates{Space: sp.ID(), Log: before.log, Access: before.access}
	for _, w := range list {
		s := p2p.PluginState{Plugin: w.Plugin, File: w.File}
		if _, err := hex.Decode(s.Hash[:], []byte(w.Hash)); err != nil {
			return out, false
		}
		out.Plugins = append(out.Plugins, s)
	}
	after, err := n.standOf(sp)
	return out, err == nil && after == before && len(out.Plugins) > 0
}

// due are the states to tell a member: of Spaces not compared with it as they stand.
func (n *Node) due(peer graph.NodeID, spaces []*graph.Space) p2p.States {
	ours := p2p.States{Engine: n.plugins.Engine(), Schedule: plugins.Schedule}
	for i, first := 0, rand.IntN(len(spaces)+1); i < len(spaces) && len(ours.Spaces) < p2p.MaxStateSpaces; i++ {
		sp := spaces[(first+i)%len(spaces)]
		if at, err := n.standOf(sp); err != nil || n.comparing.settled(peer, sp.ID(), at) {
			continue
		}
		if s, ok := n.statesOf(sp); ok {
			ours.Spaces = append(ours.Spaces, s)
		}
	}
	return ours
}

// hear compares a member's states with this host's.
func (n *Node) hear(from graph.NodeID, theirs p2p.States) {
	if theirs.Schedule != plugins.Schedule {
		return
	}
	for _, s := range theirs.Spaces {
		sp, err := n.foldedSpace(s.Space)
		if err != nil {
			continue
		}
		ours, ok := n.statesOf(sp)
		if !ok || ours.Log != s.Log || ours.Access != s.Access {
			continue
		}
		done := len(ours.Plugins) == len(s.Plugins)
		for _, mine := range ours.Plugins {
			i := slices.IndexFunc(s.Plugins, func(p p2p.PluginState) bool { return p.Plugin == mine.Plugin })
			switch {
			case i < 0:
				done = false // it is still folding there
			case s.Plugins[i].File == mine.File:
				done = n.compared(place{from, sp.ID(), mine.Plugin}, mine, s.Plugins[i].Hash, theirs.Engine) && done
			}
		}
		if done {
			n.comparing.settle(from, sp.ID(), stand{ours.Log, ours.Access})
		}
	}
}

// compared notes one comparison, and is false where it must be made again: a difference counts when it is found twice, and ends when it is found no more.
func (n *Node) compared(at place, mine p2p.PluginState, theirs [32]byte, engine string) bool {
	now := n.cfg.Now()
	d := difference{file: mine.File, here: mine.Hash, there: theirs, engine: strings.ToValidUTF8(engine, "?"), at: now}
	if n.comparing.note(at, d) {
		n.cfg.Logger.Warn("a member's plugin state differs though it holds the same messages: see plexus plugin bisect", "plugin", at.plugin, "space", at.space.String(),
			"peer", at.peer.String(), "here", hex.EncodeToString(mine.Hash[:]), "there", hex.EncodeToString(theirs[:]), "engine", d.engine)
	}
	return d.here == d.there
}

func (c *comparing) settled(peer graph.NodeID, space graph.ID, at stand) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, ok := c.same[peer][space]
	return ok && was == at
}

func (c *comparing) settle(peer graph.NodeID, space graph.ID, at stand) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.same == nil {
		c.same = map[graph.NodeID]map[graph.ID]stand{}
	}
	if c.same[peer] == nil || len(c.same[peer]) >= maxSettled {
		c.same[peer] = map[graph.ID]stand{}
	}
	c.same[peer][space] = at
}

// note keeps a difference, or forgets it where hashes are equal. news: it is to be said.
func (c *comparing) note(at place, d difference) (news bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, known := c.differ[at]
	switch {
	case d.here == d.there:
		delete(c.differ, at)
		return false
	case known && was.file == d.file && was.sure:
		d.at, d.sure = was.at, true
	case known && was.file == d.file && d.at.Sub(was.at) >= secondLook:
		d.at, d.sure, news = was.at, true, true
	case known && was.file == d.file:
		d.at = was.at
	case !known && len(c.differ) >= maxDifferences:
		return false
	}
	if c.differ == nil {
		c.differ = map[place]difference{}
	}
	c.differ[at] = d
	c.unsure = c.unsure || !d.sure
	return news
}

// keep forgets what was equal with peers that aren't connected, since they may come back with another engine, and everything of those that are no members
// any more; it says whether something was found once only.
func (c *comparing) keep(connected map[graph.NodeID]bool) (unsure bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.same {
		if !connected[p] {
			delete(c.same, p)
		}
	}
	for at := range c.differ {
		if _, member := connected[at.peer]; !member {
			delete(c.differ, at)
		}
	}
	unsure, c.unsure = c.unsure, false
	return unsure
}

// compare asks connected members what their plugins have made of the Spaces, until ctx ends.
func (n *Node) compare(ctx context.Context) error {
	defer n.prefixes.close()
	wait := firstCompare
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait/2 + rand.N(wait)):
		}
		wait = compareEvery
		if n.compareAll(ctx) {
			wait = secondLook * 2
		}
		n.prefixes.rest()
	}
}

// compareAll makes one round; again: what was found wants a second look soon.
func (n *Node) compareAll(ctx context.Context) (again bool) {
	spaces, err := n.openSpaces()
	if err != nil {
		return false
	}
	here := map[graph.NodeID]bool{}
	for _, p := range n.peers.Peers() {
		if here[p.ID] = p.Connected; !p.Connected || ctx.Err() != nil {
			continue
		}
		ours := n.due(p.ID, spaces)
		if len(ours.Spaces) == 0 {
			continue
		}
		theirs, err := n.peers.CompareStates(ctx, p.ID, ours)
		if err != nil {
			n.cfg.Logger.Debug("compare plugin states", "peer", p.ID.String(), "err", err)
			continue
		}
		n.hear(p.ID, theirs)
	}
	return n.comparing.keep(here)
}

// disagreements lists where members differ for sure, in a Space or (zero) in all, of plugins that still run with the file that was compared.
func (n *Node) disagreements(space graph.ID) []client.Disagreement {
	n.comparing.mu.Lock()
	found := map[place]difference{}
	for at, d := range n.comparing.differ {
		if d.sure && (space == graph.ID{} || at.space == space) {
			found[at] = d
		}
	}
	n.comparing.mu.Unlock()
	var out []client.Disagreement
	engine := n.plugins.Engine()
	for at, d := range found {
		if n.plugins.Running(at.space, at.plugin) != d.file {
			continue
		}
		out = append(out, client.Disagreement{
			Space: at.space.String(), Plugin: at.plugin, File: d.file, Peer: at.peer.String(), Since: graph.TimeOf(d.at).String(),
			Here: client.StateHash{Hash: hex.EncodeToString(d.here[:]), Engine: engine}, There: client.StateHash{Hash: hex.EncodeToString(d.there[:]), Engine: d.engine},
		})
	}
	slices.SortFunc(out, func(a, b client.Disagreement) int {
		return strings.Compare(a.Space+a.Plugin+a.Peer, b.Space+b.Plugin+b.Peer)
	})
	return out
}
