package node

// This file holds the search for the first message that two hosts' plugins make different things of: hashes at prefixes, here and at a
// member, closer and closer (protocol.md §5.9).

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"plexus/graph"
	"plexus/node/api"
	"plexus/p2p"
	"plexus/plugins"
	"plexus/sdk/client"
)

// bisection is one search.
type bisection struct {
	node    *Node
	space   *graph.Space
	scratch *plugins.Scratch
	at      stand // the scratch is of
	peer    graph.NodeID
	plugin  string
	out     client.Bisection

	here, there p2p.Prefixes // the last answers
	foreign     bool         // the logs differ before a difference of states was found
}

// Bisect finds the first message that a plugin's state here and at a member part at; peer "" is one that was found to differ, or else any
// that is connected.
func (n *Node) Bisect(ctx context.Context, spaceID, plugin string, in client.BisectAsk) (client.Bisection, error) {
	sp, err := n.space(spaceID)
	if err != nil {
		return client.Bisection{}, err
	}
	if n.peers == nil {
		return client.Bisection{}, alone()
	}
	if !n.bisecting.TryLock() {
		return client.Bisection{}, busy("another diff or bisect runs on this host")
	}
	defer n.bisecting.Unlock()
	b := bisection{node: n, space: sp, plugin: plugin}
	if err := b.fresh(ctx); err != nil {
		return client.Bisection{}, err
	}
	begun := time.Now()
	if b.peer, err = n.suspect(sp, plugin, in.Peer); err == nil {
		b.out = client.Bisection{Space: spaceID, Plugin: plugin, Peer: b.peer.String(), File: b.scratch.File()}
		err = b.run(ctx)
		b.out.Seconds = time.Since(begun).Seconds()
	}
	return b.out, errors.Join(err, b.scratch.Close())
}

// fresh begins a scratch, or another where the logs have grown: what comes late would be missing in it.
func (b *bisection) fresh(ctx context.Context) error {
	at, err := b.node.standOf(b.space)
	if err != nil || b.scratch != nil && b.at == at {
		return err
	}
	s, err := b.node.plugins.Scratch(ctx, b.space.ID(), b.plugin, nil)
	if err != nil {
		return err
	}
	if b.scratch != nil {
		err = b.scratch.Close()
	}
	b.scratch, b.at = s, at
	return err
}

func busy(what string) error {
	return &api.Fault{Kind: graph.ErrUnavailable, Detail: what, Hint: "try again in a minute"}
}

// suspect chooses the member to ask.
func (n *Node) suspect(sp *graph.Space, plugin, peer string) (graph.NodeID, error) {
	if peer != "" {
		id, err := graph.ParseNodeID(peer)
		if err != nil {
			return id, notFound("Peer", peer)
		}
		return id, nil
	}
	for _, d := range n.disagreements(sp.ID()) {
		if d.Plugin == plugin {
			return graph.ParseNodeID(d.Peer)
		}
	}
	for _, p := range n.peers.Peers() {
		if p.Connected {
			return p.ID, nil
		}
	}
	return graph.NodeID{}, &api.Fault{Kind: graph.ErrUnavailable, Detail: "no other member is connected", Hint: "plexus peers shows who is there"}
}

// run narrows down (from, to] until it holds one entry.
func (b *bisection) run(ctx context.Context) error {
	all := graph.Key{Time: graph.MaxTime, ID: graph.ID(bytes.Repeat([]byte{0xff}, 32))}
	_, total, err := b.space.RangeSum(ctx, graph.Key{}, all)
	if err != nil || total == 0 {
		b.out.Agree = err == nil
		return err
	}
	from, to := graph.Key{}, all
	for b.out.Rounds < maxRounds {
		keys, err := b.keys(ctx, from, to)
		if err != nil {
			return err
		}
		if err := b.ask(ctx, keys); err != nil {
			return err
		}
		b.out.Rounds++
		first := b.part(keys)
		switch {
		case first < 0 && to == all:
			return b.agree(ctx)
		case first < 0: // an entry that was missing has come
			from, to = behind(to), all
			continue
		case first > 0:
			from = behind(keys[first-1])
		}
		if to = keys[first]; b.alone(ctx, from, to) {
			return b.name(ctx, to)
		}
	}
	return fmt.Errorf("bisect %s: not found in %d rounds: %w", b.plugin, maxRounds, graph.ErrUnavailable)
}

// alone says whether a range holds one entry.
func (b *bisection) alone(ctx context.Context, from, to graph.Key) bool {
	_, n, err := b.space.RangeSum(ctx, from, behind(to))
	return err == nil && n == 1
}

// keys spreads as many keys over a range as can be asked for at once: fewer where states are large, since each is hashed.
func (b *bisection) keys(ctx context.Context, from, to graph.Key) ([]graph.Key, error) {
	_, n, err := b.space.RangeSum(ctx, from, behind(to))
	if err != nil {
		return nil, err
	}
	_, _, size := b.scratch.Count()
	k := min(n, p2p.MaxPrefixes, max(2, int(hashedBytes/(size+1))))
	var keys []graph.Key
	for j := 1; j <= k; j++ {
		key, err := b.space.RangeNth(ctx, from, behind(to), j*n/k-1)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// ask gets both answers, at the same time.
func (b *bisection) ask(ctx context.Context, keys []graph.Key) error {
	if err := b.fresh(ctx); err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		b.here, err = b.node.pointsOf(gctx, b.scratch, b.space, keys)
		return err
	})
	g.Go(func() (err error) {
		b.there, err = b.askPeer(gctx, p2p.PrefixAsk{Space: b.space.ID(), Plugin: b.plugin, File: b.scratch.File(), Keys: keys})
		return err
	})
	if err := g.Wait(); err != nil {
		return fmt.Errorf("bisect %s: %w", b.plugin, err)
	}
	if b.there.Schedule != plugins.Schedule {
		return conflict("%s meters by gas schedule %d, this host by %d: their states can't be compared", b.peer, b.there.Schedule, plugins.Schedule)
	}
	return nil
}

// askPeer asks the member, and again one that is still folding or asked too much.
func (b *bisection) askPeer(ctx context.Context, ask p2p.PrefixAsk) (got p2p.Prefixes, err error) {
	for try := range maxAsks {
		got, err = b.node.peers.AskPrefixes(ctx, b.peer, ask)
		late := errors.Is(err, context.DeadlineExceeded)
		if err == nil || ctx.Err() != nil || !late && !errors.Is(err, graph.ErrUnavailable) {
			return got, err
		}
		if late {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(try+1) * askAgain):
		}
	}
	return got, err
}

// part returns the first key behind which something differs, states or logs; -1 for none.
func (b *bisection) part(keys []graph.Key) int {
	for i := range keys {
		here, there := b.here.Points[i], b.there.Points[i]
		if b.foreign = here.Fingerprint != there.Fingerprint; b.foreign || here.Hash != there.Hash {
			return i
		}
	}
	return -1
}

// name describes the entry at a key, from which on something differs.
func (b *bisection) name(ctx context.Context, at graph.Key) error {
	if b.foreign {
		b.out.Agree, b.out.Until = true, at.ID.String()
		b.out.Note = "both make the same of the messages before this one; from here on they don't hold the same ones yet, so that states can't be compared"
		return nil
	}
	if err := b.ask(ctx, []graph.Key{at}); err != nil {
		return err
	}
	st, err := b.space.Message(at.ID)
	if err != nil {
		return fmt.Errorf("bisect %s: states part at entry %s, which is no message here: %w", b.plugin, at.ID, err)
	}
	m, err := public(st.Entry, false)
	if err != nil {
		return err
	}
	b.out.Message = &m
	b.out.Here, b.out.There = judged(b.here), judged(b.there)
	return nil
}

func judged(p p2p.Prefixes) *client.Judged {
	return &client.Judged{
		StateHash: client.StateHash{Hash: hex.EncodeToString(p.Points[0].Hash[:]), Engine: p.Engine}, Outcome: p.Outcome, Reason: p.Reason, Gas: int64(p.Gas),
	}
}

// agree says so, and whether what each keeps is what its messages make, folded anew: else that is what differs.
func (b *bisection) agree(ctx context.Context) error {
	b.out.Agree = true
	folded := b.here.Points[len(b.here.Points)-1].Hash
	ours, ok := b.node.statesOf(b.space)
	if !ok {
		return nil
	}
	theirs, err := b.node.peers.CompareStates(ctx, b.peer, p2p.States{Engine: b.here.Engine, Schedule: plugins.Schedule, Spaces: []p2p.SpaceStates{ours}})
	if err != nil {
		return fmt.Errorf("bisect %s: %w", b.plugin, err)
	}
	b.node.hear(b.peer, theirs)
	switch {
	case !kept(ours, b.plugin, folded):
		b.out.Damaged, b.out.Note = b.node.Host().String(), "folded anew, both make the same; but the state kept on this host isn't that one"
	case len(theirs.Spaces) > 0 && theirs.Spaces[0].Log == ours.Log && theirs.Spaces[0].Access == ours.Access && !kept(theirs.Spaces[0], b.plugin, folded):
		b.out.Damaged, b.out.Note = b.peer.String(), "folded anew, both make the same; but the state kept on the peer isn't that one"
	}
	return nil
}

// kept says whether a plugin's state is the given one; one that isn't told isn't wrong.
func kept(s p2p.SpaceStates, plugin string, hash [32]byte) bool {
	i := slices.IndexFunc(s.Plugins, func(p p2p.PluginState) bool { return p.Plugin == plugin })
	return i < 0 || s.Plugins[i].Hash == hash
}
