package node

// This file holds the inbox, which is durable and acknowledged one by one, and Find, which reads across Spaces.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"plexus/graph"
	"plexus/sdk/client"
)

// Inbox returns messages that name a Node of this host, in all Spaces, oldest first after the cursor. unacked leaves
// out those acknowledged. A limit without a cursor asks for the newest, but of the unacknowledged for the oldest.
func (n *Node) Inbox(ctx context.Context, nodeID, after string, limit int, unacked bool) (client.Page, error) {
	id, err := n.localID(nodeID)
	if err != nil {
		return client.Page{}, err
	}
	page, err := n.page(nil, after, limit)
	if err != nil {
		return client.Page{}, err
	}
	var got []graph.Stored
	if unacked {
		got, err = n.unacked(ctx, id, page)
		page.HasAfter = true
	} else {
		got, err = n.log.Inbox(ctx, id, page)
	}
	if err != nil {
		return client.Page{}, fmt.Errorf("read inbox: %w", err)
	}
	return pageOf(got, page, true)
}

// localID returns the ID of a Node this host holds, or ErrNotFound.
func (n *Node) localID(nodeID string) (graph.NodeID, error) {
	id, err := graph.ParseNodeID(nodeID)
	if err == nil {
		_, err = n.keys.key(id)
	}
	if err != nil {
		return id, notFound("Node", nodeID)
	}
	return id, nil
}

// unacked reads on from the floor, below which all is acknowledged, and raises it while it is at it.
func (n *Node) unacked(ctx context.Context, id graph.NodeID, p graph.Page) ([]graph.Stored, error) {
	floor, err := n.ackFloor(id)
	if err != nil {
		return nil, err
	}
	raise := p.After <= floor
	at, want := graph.Page{After: max(p.After, floor), HasAfter: true, Limit: graph.MaxPage}, p.Limit
	var out []graph.Stored
	for len(out) < want {
		got, err := n.log.Inbox(ctx, id, at)
		if err != nil {
			return nil, err
		}
		for _, st := range got {
			acked, err := n.acked(id, st.Entry.ID())
			if err != nil {
				return nil, err
			}
			if !acked && len(out) < want {
				out = append(out, st)
			}
			raise = raise && acked
			if raise {
				floor = st.Pos
			}
		}
		if len(got) < at.Limit {
			break
		}
		at.After = got[len(got)-1].Pos
	}
	return out, n.raiseFloor(id, floor)
}

func ackKey(id graph.NodeID, message graph.ID) []byte { return append(id[:], message[:]...) }

func (n *Node) acked(id graph.NodeID, message graph.ID) (bool, error) {
	_, err := n.rec.ack.Get(ackKey(id, message))
	if errors.Is(err, graph.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (n *Node) ackFloor(id graph.NodeID) (graph.Pos, error) {
	b, err := n.rec.ackFloor.Get(id[:])
	if errors.Is(err, graph.ErrNotFound) {
		return 0, nil
	}
	if err != nil || len(b) != 8 {
		return 0, errors.Join(err, fmt.Errorf("inbox floor of %d bytes, want 8: %w", len(b), graph.ErrUnavailable))
	}
	return graph.Pos(binary.BigEndian.Uint64(b)), nil
}

// raiseFloor needs no sync: a lost floor is found again.
func (n *Node) raiseFloor(id graph.NodeID, floor graph.Pos) error {
	old, err := n.ackFloor(id)
	if err != nil || floor <= old {
		return err
	}
	return n.rec.ackFloor.ApplyNoSync(graph.Op{Kind: graph.Set, Key: id[:], Value: binary.BigEndian.AppendUint64(nil, uint64(floor))})
}

// Ack acknowledges messages, all or none; it returns when that is on disk. One already acknowledged is no error, one that
// doesn't name the Node is ErrNotFound.
func (n *Node) Ack(_ context.Context, nodeID string, messageIDs []string) error {
	id, err := n.localID(nodeID)
	if err != nil {
		return err
	}
	var ops []graph.Op
	for _, s := range messageIDs {
		mid, err := graph.ParseID(s)
		if err != nil {
			return notInInbox(s)
		}
		st, err := n.log.Find(mid)
		if errors.Is(err, graph.ErrNotFound) || err == nil && !slices.Contains(st.Entry.Body().Refs.Nodes, id) {
			return notInInbox(s)
		}
		if err != nil {
			return err
		}
		ops = append(ops, graph.Op{Kind: graph.Set, Key: ackKey(id, mid), Value: []byte{}})
	}
	if len(ops) == 0 {
		return nil
	}
	return n.rec.ack.Apply(ops...)
}

func notInInbox(id string) error { return notFound("Message in this inbox", id) }

// Find returns messages across Spaces that fit every field given, in arrival order.
func (n *Node) Find(ctx context.Context, q client.FindQuery) (client.Page, error) {
	f, err := n.sieve(q)
	if err != nil {
		return client.Page{}, err
	}
	page, err := n.page(nil, q.After, q.Limit)
	if err != nil {
		return client.Page{}, err
	}
	got, err := f.read(ctx, page)
	if err != nil {
		return client.Page{}, err
	}
	return pageOf(got, page, true)
}

// sieve is a Find query, read.
type sieve struct {
	node                 *Node
	none                 bool // it names something that isn't here
	space                *graph.Space
	message, refMessage  *graph.ID
	any, sender, refNode *graph.NodeID
}

func (n *Node) sieve(q client.FindQuery) (s sieve, err error) {
	s.node = n
	if q.SpaceID != "" {
		if s.space, err = n.space(q.SpaceID); err != nil {
			return s, err
		}
	}
	for _, f := range []struct {
		text string
		to   **graph.ID
	}{{q.MessageID, &s.message}, {q.RefMessage, &s.refMessage}} {
		if f.text == "" {
			continue
		}
		id, err := graph.ParseID(f.text)
		s.none = s.none || err != nil
		*f.to = &id
	}
	for _, f := range []struct {
		text string
		to   **graph.NodeID
	}{{q.NodeID, &s.any}, {q.Sender, &s.sender}, {q.RefNode, &s.refNode}} {
		if f.text == "" {
			continue
		}
		id, err := graph.ParseNodeID(f.text)
		s.none = s.none || err != nil
		*f.to = &id
	}
	return s, nil
}

func (s sieve) fits(e *graph.Entry) bool {
	b := e.Body()
	return (s.space == nil || b.Space == s.space.ID()) &&
		(s.message == nil || e.ID() == *s.message) &&
		(s.refMessage == nil || slices.Contains(b.Refs.Messages, *s.refMessage)) &&
		(s.sender == nil || b.Author == *s.sender) &&
		(s.refNode == nil || slices.Contains(b.Refs.Nodes, *s.refNode)) &&
		(s.any == nil || b.Author == *s.any || slices.Contains(b.Refs.Nodes, *s.any))
}

// read pages through the narrowest index there is. Without a cursor the newest are kept.
func (s sieve) read(ctx context.Context, p graph.Page) ([]graph.Stored, error) {
	if s.none {
		return nil, nil
	}
	if s.message != nil {
		return s.one(p)
	}
	if s.plain() {
		return s.source(ctx, p)
	}
	var out []graph.Stored
	at := graph.Page{After: p.After, HasAfter: true, Limit: findScan}
	for {
		got, err := s.source(ctx, at)
		if err != nil {
			return nil, err
		}
		for _, st := range got {
			if s.fits(st.Entry) {
				out = append(out, st)
			}
		}
		switch full := len(out) >= p.Limit; {
		case full && p.HasAfter:
			return out[:p.Limit], nil
		case full:
			out = slices.Clone(out[len(out)-p.Limit:])
		}
		if len(got) < at.Limit {
			return out, nil
		}
		at.After = got[len(got)-1].Pos
	}
}

// plain says whether the source alone answers the query.
func (s sieve) plain() bool {
	return s.refMessage == nil && s.any == nil && s.sender == nil
}

func (s sieve) one(p graph.Page) ([]graph.Stored, error) {
	st, err := s.node.log.Find(*s.message)
	if errors.Is(err, graph.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if st.Event != graph.Shown || st.Entry.Body().Kind != graph.KindMessage || p.HasAfter && st.Pos <= p.After || !s.fits(st.Entry) {
		return nil, nil
	}
	return []graph.Stored{st}, nil
}

// source reads the index that leaves out most.
func (s sieve) source(ctx context.Context, p graph.Page) ([]graph.Stored, error) {
	switch {
	case s.refNode != nil && s.space != nil:
		return s.space.Addressed(ctx, *s.refNode, p)
	case s.refNode != nil:
		return s.node.log.Inbox(ctx, *s.refNode, p)
	case s.refMessage != nil:
		return s.replies(ctx, p)
	case s.space != nil:
		return s.space.All(ctx, p)
	}
	return s.node.log.All(ctx, p)
}

// replies reads below the message that is answered.
func (s sieve) replies(ctx context.Context, p graph.Page) ([]graph.Stored, error) {
	st, err := s.node.log.Find(*s.refMessage)
	if errors.Is(err, graph.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sp, err := s.node.log.Space(st.Entry.Body().Space)
	if err != nil {
		return nil, err
	}
	got, err := sp.Related(ctx, *s.refMessage, graph.Downstream, p)
	if errors.Is(err, graph.ErrNotFound) {
		return nil, nil // void: what answers it is found by its own ID only
	}
	return got, err
}
