package p2p

// This file holds what the tests in p2p_test need from inside: peers that lie.

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"plexus/graph"
)

// Lie is a way of not telling the truth when asked.
type Lie int

// The lies.
const (
	Honest      Lie = iota
	OurFrontier     // "I have just what you have", and sends nothing
	OurDigest       // "we are in sync"
	Garbage         // bytes of no meaning
	Silence         // takes everything, says nothing
	BadBlock        // a block that doesn't verify
	Endless         // ranges that differ for ever
)

// Answer makes a host that was not Run answer sync streams with a lie, and do nothing else, until ctx ends.
func (h *Host) Answer(ctx context.Context, lie Lie) {
	h.gossip = &gossip{h: h, topics: map[graph.ID]*topic{}}
	for _, sp := range h.spaces(h.net.ID) {
		h.gossip.topics[sp.ID()] = &topic{space: sp} // it has no router and joins nothing
	}
	h.mu.Lock()
	h.begin = func() context.Context {
		h.tasks.Add(1)
		return ctx
	}
	h.mu.Unlock()
	h.host.SetStreamHandler(protoSync, h.handle(func(ctx context.Context, w *wire, p peer.ID) error {
		n, err := nodeID(p)
		if err != nil {
			return err
		}
		a := &answering{h: h, w: w, l: &link{peer: p, node: n}, st: h.statsOf(n)}
		for {
			t, body, err := w.next(answerTimeout)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err == nil {
				err = a.lie(ctx, lie, t, body)
			}
			if err != nil {
				return err
			}
		}
	}))
}

func (a *answering) lie(ctx context.Context, lie Lie, t frameType, body []byte) error {
	switch {
	case lie == Garbage:
		b := make([]byte, 4096)
		_, _ = rand.Read(b)
		if _, err := a.w.w.Write(b); err != nil {
			return err
		}
		return a.w.flush()
	case lie == Silence:
		<-ctx.Done()
		return ctx.Err()
	case lie == OurDigest && t == frameHello:
		theirs, err := takeGreeting(a.w, body)
		if err != nil {
			return err
		}
		theirs.at, theirs.records = time.Now(), nil
		return sendGreeting(a.w, theirs)
	case lie == OurFrontier && t == frameOpen:
		return a.mirror(ctx, body)
	case lie == BadBlock && t == frameOpen:
		if _, err := takeFrontier(a.w); err != nil {
			return err
		}
		if err := a.w.put(frameTips, tips{}); err != nil {
			return err
		}
		return a.w.send(frameBlocks, blocks{[][]byte{{0x82, 1, 2}}})
	case lie == Endless && t == frameOpen:
		return a.mirror(ctx, body)
	case lie == Endless && t == frameRange:
		var f ranges
		if err := parse(body, &f); err != nil {
			return err
		}
		fake := append([]byte{0x61, 0, 0, 1}, make([]byte, 16)...)
		return a.w.send(frameRange, ranges{Space: f.Space, Message: fake})
	default:
		return a.answer(ctx, t, body)
	}
}

// mirror gives the asker's own frontier back, and no blocks.
func (a *answering) mirror(_ context.Context, body []byte) error {
	var f open
	if err := parse(body, &f); err != nil {
		return err
	}
	sp, err := a.h.space(f.Space)
	if err != nil {
		return err
	}
	for {
		var t tips
		if err := a.w.expect(frameTips, &t, frameTimeout); err != nil {
			return err
		}
		if err := a.w.put(frameTips, t); err != nil {
			return err
		}
		if !t.More {
			break
		}
	}
	if err := a.w.send(frameEnd, end{}); err != nil {
		return err
	}
	for {
		if _, done, err := readBatch(a.w); err != nil || done {
			if err != nil {
				return err
			}
			break
		}
	}
	d := sp.Digest()
	if err := a.w.send(frameState, state{Count: d.Count, Heads: d.Heads[:]}); err != nil {
		return err
	}
	_, err = takeState(a.w)
	return err
}
