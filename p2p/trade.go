package p2p

// This file holds the exchange of one Space's entries, the same on both sides: frontiers, then what the other lacks by
// them, both ways at once, then digests. protocol.md §5.4.

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"golang.org/x/sync/errgroup"

	"plexus/graph"
)

// frontier is a replica's tips by author. over: it has too many to tell.
type frontier struct {
	seqs map[graph.NodeID]uint64
	over bool
}

// traded says what an exchange did and left.
type traded struct {
	sent, got     uint64
	ours, theirs  graph.Digest
	stillToArrive []graph.ID // parents the peer's entries name and that aren't here
}

func (t traded) equal() bool { return t.ours == t.theirs }

// sendFrontier writes our tips and returns them.
func (h *Host) sendFrontier(ctx context.Context, w *wire, sp *graph.Space) (frontier, error) {
	f := frontier{seqs: map[graph.NodeID]uint64{}}
	var packed [][]byte
	var cur []byte
	for t, err := range sp.Frontier(ctx) {
		if err != nil {
			return f, fmt.Errorf("read frontier of %s: %w", sp.ID(), err)
		}
		if len(f.seqs) == maxFrontier {
			return frontier{over: true}, w.send(frameTips, tips{Over: true})
		}
		f.seqs[t.Author] = t.Seq
		if len(cur) == maxTips*tipSize {
			packed, cur = append(packed, cur), nil
		}
		cur = packTip(cur, t)
	}
	for _, p := range packed {
		if err := w.put(frameTips, tips{Tips: p, More: true}); err != nil {
			return f, err
		}
	}
	return f, w.send(frameTips, tips{Tips: cur})
}

// takeFrontier reads the other side's tips.
func takeFrontier(w *wire) (frontier, error) {
	f := frontier{seqs: map[graph.NodeID]uint64{}}
	for {
		var t tips
		if err := w.expect(frameTips, &t, frameTimeout); err != nil {
			return f, err
		}
		if t.Over {
			return frontier{over: true}, nil
		}
		if t.More && len(t.Tips) == 0 {
			return f, breachf("an empty frontier that goes on")
		}
		err := unpackTips(t.Tips, func(tip graph.ChainTip) error {
			if len(f.seqs) == maxFrontier {
				return breachf("a frontier of more than %d authors", maxFrontier)
			}
			f.seqs[tip.Author] = max(f.seqs[tip.Author], tip.Seq)
			return nil
		})
		if err != nil || !t.More {
			return f, err
		}
	}
}

// lacks counts the entries that f lacks of what o has, by their tips.
func (f frontier) lacks(o frontier) uint64 {
	var n uint64
	for author, seq := range o.seqs {
		if have := f.seqs[author]; seq > have {
			n += seq - have
		}
	}
	return n
}

// trade streams both ways: to the peer what it lacks by its frontier, from the peer what it finds we lack.
func (h *Host) trade(ctx context.Context, w *wire, from graph.NodeID, sp *graph.Space, theirs frontier) (traded, error) {
	var t traded
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		missing := func(func(*graph.Entry, error) bool) {}
		entries := iter.Seq2[*graph.Entry, error](missing)
		if !theirs.over {
			entries = sp.Since(gctx, theirs.seqs)
		}
		n, err := sendEntries(w, entries)
		t.sent = n
		return stop(w, err)
	})
	g.Go(func() error {
		n, missing, err := h.receive(gctx, w, from, sp)
		t.got, t.stillToArrive = n, missing
		return stop(w, err)
	})
	if err := g.Wait(); err != nil {
		return t, err
	}
	t.ours = sp.Digest()
	if err := w.send(frameState, state{Count: t.ours.Count, Heads: t.ours.Heads[:]}); err != nil {
		return t, err
	}
	var err error
	t.theirs, err = takeState(w)
	return t, err
}

// stop ends the stream where one direction failed, so that the other doesn't wait.
func stop(w *wire, err error) error {
	if err != nil {
		reset(w.s)
	}
	return err
}

func takeState(w *wire) (graph.Digest, error) {
	var st state
	if err := w.expect(frameState, &st, answerTimeout); err != nil {
		return graph.Digest{}, err
	}
	heads, err := id32(st.Heads)
	return graph.Digest{Count: st.Count, Heads: heads}, err
}

// sendEntries writes entries in batches, then an end.
func sendEntries(w *wire, entries iter.Seq2[*graph.Entry, error]) (uint64, error) {
	b := batcher{w: w}
	for e, err := range entries {
		if err != nil {
			return b.n, fmt.Errorf("read entries to send: %w", err)
		}
		if err := b.add(e.Block()); err != nil {
			return b.n, err
		}
	}
	return b.n, b.end()
}

// batcher gathers blocks into frames.
type batcher struct {
	w    *wire
	cur  [][]byte
	size int
	n    uint64
}

func (b *batcher) add(block []byte) error {
	if len(b.cur) == maxBatch || b.size+len(block) > maxBatchBytes {
		if err := b.flush(); err != nil {
			return err
		}
	}
	b.cur, b.size, b.n = append(b.cur, block), b.size+len(block), b.n+1
	return nil
}

func (b *batcher) flush() error {
	if len(b.cur) == 0 {
		return nil
	}
	err := b.w.put(frameBlocks, blocks{b.cur})
	b.cur, b.size = b.cur[:0], 0
	return err
}

func (b *batcher) end() error {
	if err := b.flush(); err != nil {
		return err
	}
	return b.w.send(frameEnd, end{b.n})
}

// receive takes blocks in until the end frame: read and verified here, added by another goroutine, so that the network, the
// processor and the disk work at once. It returns how many came and which parents are missing after them.
func (h *Host) receive(ctx context.Context, w *wire, from graph.NodeID, sp *graph.Space) (n uint64, missing []graph.ID, err error) {
	batches := make(chan []*graph.Entry, 2)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		for {
			select {
			case <-gctx.Done():
				return gctx.Err()
			case b, ok := <-batches:
				if !ok {
					return nil
				}
				if missing, err = h.take(gctx, from, sp, b); err != nil {
					return stop(w, err)
				}
			}
		}
	})
	readErr := func() error {
		defer close(batches)
		for {
			entries, done, err := readBatch(w)
			if err != nil || done {
				return err
			}
			n += uint64(len(entries))
			select {
			case batches <- entries:
			case <-gctx.Done():
				return gctx.Err()
			}
		}
	}()
	if err := g.Wait(); err != nil {
		return n, missing, err
	}
	return n, missing, readErr
}

// readBatch reads one frame of blocks and verifies them; done: it was the end.
func readBatch(w *wire) (entries []*graph.Entry, done bool, err error) {
	t, body, err := w.next(answerTimeout)
	if err != nil {
		return nil, false, err
	}
	if t == frameEnd {
		var e end
		return nil, true, parse(body, &e)
	}
	var b blocks
	if err := parseAs(frameBlocks, &b, t, body); err != nil {
		return nil, false, err
	}
	if len(b.Blocks) == 0 || len(b.Blocks) > maxBatch {
		return nil, false, breachf("%d blocks in a frame", len(b.Blocks))
	}
	entries, errs := graph.DecodeBatch(b.Blocks)
	for _, err := range errs {
		if err != nil {
			return nil, false, breachf("block: %v", err)
		}
	}
	return entries, false, nil
}

// take adds a peer's entries to a Space: the package's one call of Add. Access entries are waited for until the Log's
// rights have them, since they decide what of the next entries is admitted.
func (h *Host) take(ctx context.Context, from graph.NodeID, sp *graph.Space, entries []*graph.Entry) (missing []graph.ID, err error) {
	res, err := h.admit(ctx, from, sp, entries)
	if err != nil {
		return nil, err
	}
	if len(res.Refused) > 0 {
		return nil, breachf("entry: %v", res.Refused[0])
	}
	return res.Missing, nil
}

func (h *Host) admit(ctx context.Context, from graph.NodeID, sp *graph.Space, entries []*graph.Entry) (graph.AddResult, error) {
	h.gossip.arrived.mark(entries)
	res, err := sp.Add(ctx, entries, graph.AddOptions{From: from})
	if err != nil {
		h.gossip.arrived.unmark(entries)
		return res, fmt.Errorf("add %d entries to space %s: %w", len(entries), sp.ID(), err)
	}
	if len(res.New) < len(entries) {
		h.gossip.arrived.settle(entries, res)
	}
	if sp.Genesis().Kind != graph.GenesisNetwork {
		return res, nil
	}
	var last graph.Pos
	for _, st := range res.New {
		if st.Entry.Body().Kind == graph.KindAccess {
			last = max(last, st.Pos)
		}
	}
	if last > 0 {
		h.rights.wait(ctx, last, rightsTimeout)
	}
	return res, nil
}

// sendBlocks writes the blocks of these IDs that are here, then an end.
func sendBlocks(w *wire, sp *graph.Space, ids []graph.ID) error {
	b := batcher{w: w}
	for _, id := range ids {
		block, err := sp.Block(id)
		if errors.Is(err, graph.ErrNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read block %s: %w", id, err)
		}
		if err := b.add(block); err != nil {
			return err
		}
	}
	return b.end()
}
