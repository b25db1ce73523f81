package node

// This file holds plugin states at prefixes of the canonical order, folded anew: for members that look for where they and this host
// part, and for this host where it looks itself.

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"plexus/graph"
	"plexus/graph/reconcile"
	"plexus/p2p"
	"plexus/plugins"
)

// prefixes is the scratch for members' questions, one at a time, and what they have cost. The zero value is ready.
type prefixes struct {
	one sync.Mutex // a question is being answered; owns scratch and of

	scratch *plugins.Scratch // kept for the next question; nil: none
	of      prefixOf

	mu     sync.Mutex // owns what follows
	spent  time.Duration
	used   time.Time // when spent was reckoned
	closed bool
}

// prefixOf is what a scratch is of. As soon as any of it is another, the scratch is of no use.
type prefixOf struct {
	space        graph.ID
	plugin, file string
	at           stand
}

// Prefixes answers a member, within the time that members' questions may take here.
func (w witness) Prefixes(ctx context.Context, _ graph.NodeID, ask p2p.PrefixAsk) (p2p.Prefixes, error) {
	n, p := w.node, &w.node.prefixes
	sp, err := n.foldedSpace(ask.Space)
	if err != nil {
		return p2p.Prefixes{}, err
	}
	if !p.afford() || !p.one.TryLock() {
		return p2p.Prefixes{}, fmt.Errorf("plugin states at prefixes: %w", graph.ErrUnavailable)
	}
	defer p.one.Unlock()
	begun := time.Now()
	defer func() { p.spend(time.Since(begun)) }()
	if err := n.prepare(ctx, sp, ask); err != nil {
		return p2p.Prefixes{}, err
	}
	return n.pointsOf(ctx, p.scratch, sp, ask.Keys)
}

// prepare has the scratch be of what is asked.
func (n *Node) prepare(ctx context.Context, sp *graph.Space, ask p2p.PrefixAsk) error {
	p := &n.prefixes
	at, err := n.standOf(sp)
	if err != nil {
		return err
	}
	of := prefixOf{sp.ID(), ask.Plugin, ask.File, at}
	if p.scratch != nil && p.of == of {
		return nil
	}
	p.drop()
	if p.isClosed() {
		return graph.ErrClosed
	}
	s, err := n.plugins.Scratch(ctx, sp.ID(), ask.Plugin, nil)
	if err != nil {
		return err
	}
	if file := s.File(); file != ask.File {
		return errors.Join(fmt.Errorf("plugin %s runs with file %s here: %w", ask.Plugin, file, graph.ErrNotFound), s.Close())
	}
	p.scratch, p.of = s, of
	return nil
}

// pointsOf moves a scratch along keys and says what it is at each; of the last, how its fold ended.
func (n *Node) pointsOf(ctx context.Context, s *plugins.Scratch, sp *graph.Space, keys []graph.Key) (out p2p.Prefixes, err error) {
	out = p2p.Prefixes{Engine: n.plugins.Engine(), Schedule: plugins.Schedule}
	var last plugins.Folded
	for i, k := range keys {
		if i == len(keys)-1 {
			if err := s.Seek(ctx, before(k), nil); err != nil {
				return out, err
			}
		}
		if err := s.Seek(ctx, k, func(f plugins.Folded) { last = f }); err != nil {
			return out, err
		}
		at, err := pointOf(ctx, s, sp, k)
		if err != nil {
			return out, err
		}
		out.Points = append(out.Points, at)
	}
	if k := keys[len(keys)-1]; last.Message == k.ID {
		out.Outcome, out.Reason, out.Gas = outcomeOf(last), last.Reason, uint64(last.Gas)
	}
	return out, nil
}

func pointOf(ctx context.Context, s *plugins.Scratch, sp *graph.Space, k graph.Key) (at p2p.Point, err error) {
	hash, err := s.Hash()
	if err != nil {
		return at, err
	}
	if _, err := hex.Decode(at.Hash[:], []byte(hash)); err != nil {
		return at, fmt.Errorf("state hash %q: %w", hash, err)
	}
	sum, count, err := sp.RangeSum(ctx, graph.Key{}, behind(k))
	at.Fingerprint = reconcile.Fingerprint(sum, count)
	return at, err
}

func outcomeOf(f plugins.Folded) string {
	switch {
	case f.Trapped:
		return "trapped"
	case f.Reason != "":
		return "refused"
	}
	return "folded"
}

// behind is the least key greater than k.
func behind(k graph.Key) graph.Key {
	for i := len(k.ID) - 1; i >= 0; i-- {
		if k.ID[i]++; k.ID[i] != 0 {
			return k
		}
	}
	k.Time++
	return k
}

// before is the greatest key less than k.
func before(k graph.Key) graph.Key {
	for i := len(k.ID) - 1; i >= 0; i-- {
		if k.ID[i]--; k.ID[i] != 0xff {
			return k
		}
	}
	k.Time--
	return k
}

// afford says whether members' questions may take more time just now: what they took is forgotten at a quarter of the pace of the clock.
func (p *prefixes) afford() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.spent = max(0, p.spent-now.Sub(p.used)/prefixShare)
	p.used = now
	return p.spent < prefixWork && !p.closed
}

func (p *prefixes) spend(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spent += d
	p.used = time.Now()
}

func (p *prefixes) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// drop ends the scratch; the caller holds one.
func (p *prefixes) drop() {
	if p.scratch != nil {
		_ = p.scratch.Close() // what is left of it is removed at the next start
		p.scratch = nil
	}
}

// rest drops a scratch nobody has asked about for a while.
func (p *prefixes) rest() {
	p.mu.Lock()
	idle := time.Since(p.used) > prefixKept
	p.mu.Unlock()
	if idle && p.one.TryLock() {
		p.drop()
		p.one.Unlock()
	}
}

// close ends the scratch for good, after the question in hand.
func (p *prefixes) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.one.Lock()
	defer p.one.Unlock()
	p.drop()
}
