package node

// This file holds Listen: replay from a cursor, then follow. There is no queue between the log and the reader, so there is no
// gap between the two and nothing to overflow: a slow reader is read for slowly.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"plexus/graph"
	"plexus/sdk/client"
)

// Listen replays what is after the cursor, then follows until ctx ends, which is no error. An error is yielded last.
func (p *participant) Listen(ctx context.Context, q client.ListenQuery) iter.Seq2[client.Event, error] {
	return func(yield func(client.Event, error) bool) {
		var err error
		if q.Inbox {
			err = p.listenInbox(ctx, q, yield)
		} else {
			err = p.listenSpace(ctx, q, yield)
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, errStop) {
			yield(client.Event{}, err)
		}
	}
}

var errStop = errors.New("the reader stopped")

type yielder = func(client.Event, error) bool

// from resolves where a stream starts.
func (p *participant) from(sp *graph.Space, q client.ListenQuery) (graph.Pos, error) {
	switch {
	case q.After != "":
		st, err := p.node.cursor(sp, q.After)
		return st.Pos, err
	case q.FromStart:
		return 0, nil
	}
	return p.node.log.Last(), nil
}

func (p *participant) listenSpace(ctx context.Context, q client.ListenQuery, yield yielder) error {
	sp, err := p.node.space(q.SpaceID)
	if err != nil {
		return err
	}
	after, err := p.from(sp, q)
	if err != nil {
		return err
	}
	var f filter = everything{}
	start := after
	switch {
	case q.Head != "":
		var b *branch
		if b, err = newBranch(sp, q); err == nil {
			f, start = b, min(after, b.at)
		}
	case q.MessageID != "":
		f, err = newSubgraph(ctx, sp, q.MessageID)
	}
	if err != nil {
		return err
	}
	for st, err := range sp.Tail(ctx, start) {
		if err != nil {
			return err
		}
		if err := emit(st, f, after, false, yield); err != nil {
			return err
		}
	}
	return nil
}

// emit passes a record on if it is a message, the filter wants it and it is after the cursor; the filter sees what is before the
// cursor too, to know where it stands.
func emit(st graph.Stored, f filter, after graph.Pos, spans bool, yield yielder) error {
	if st.Event == graph.Added || st.Entry.Body().Kind != graph.KindMessage {
		return nil
	}
	kind := f.pick(st)
	if kind == "" || st.Pos <= after {
		return nil
	}
	m, err := public(st.Entry, spans)
	if err != nil {
		return err
	}
	if st.Event == graph.Withdrawn {
		kind = "withdrawn"
	}
	if !yield(client.Event{Type: kind, Message: m}, nil) {
		return errStop
	}
	return nil
}

// filter chooses the messages of a stream: "message" or "fork", or "" for those that aren't in it. It is asked in arrival order.
type filter interface {
	pick(st graph.Stored) string
}

type everything struct{}

func (everything) pick(graph.Stored) string { return "message" }

// addressed picks what names a Node.
type addressed struct{ node graph.NodeID }

func (a addressed) pick(st graph.Stored) string {
	if slices.Contains(st.Entry.Body().Refs.Nodes, a.node) {
		return "message"
	}
	return ""
}

// subgraph picks a message, what it answers, and what answers it.
type subgraph struct {
	up, down map[graph.ID]struct{} // the message itself is in both
}

func newSubgraph(ctx context.Context, sp *graph.Space, message string) (*subgraph, error) {
	s := &subgraph{up: map[graph.ID]struct{}{}, down: map[graph.ID]struct{}{}}
	for _, side := range []struct {
		d   graph.Direction
		set map[graph.ID]struct{}
	}{{graph.Upstream, s.up}, {graph.Downstream, s.down}} {
		p := graph.Page{HasAfter: true, Limit: graph.MaxPage}
		for {
			got, err := related(ctx, sp, message, side.d, p)
			if err != nil {
				return nil, err
			}
			for _, st := range got {
				side.set[st.Entry.ID()] = struct{}{}
			}
			if len(got) < p.Limit {
				break
			}
			p.After = got[len(got)-1].Pos
		}
	}
	return s, nil
}

func (s *subgraph) pick(st graph.Stored) string {
	id := st.Entry.ID()
	if _, ok := s.up[id]; ok {
		return "message"
	}
	if _, ok := s.down[id]; ok {
		return "message"
	}
	for _, ref := range st.Entry.Body().Refs.Messages {
		if _, ok := s.down[ref]; ok {
			s.down[id] = struct{}{}
			return "message"
		}
	}
	return ""
}

// branch follows one line of replies from a head. A reply to the head becomes the head; a reply to one of the last
// first parents is a fork.
type branch struct {
	at    graph.Pos
	line  []graph.ID // the head, its first parent, that one's …, at most depth + 1
	seen  map[graph.ID]string
	depth int
}

func newBranch(sp *graph.Space, q client.ListenQuery) (*branch, error) {
	missing := invalid("head message not found: %s", clip(q.Head))
	if q.ForkDepth < 0 {
		return nil, invalid("fork_depth must be greater than 0")
	}
	id, err := graph.ParseID(q.Head)
	if err != nil {
		return nil, missing
	}
	st, err := sp.Message(id)
	if errors.Is(err, graph.ErrNotFound) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	b := &branch{at: st.Pos, depth: min(max(q.ForkDepth, 1), graph.MaxPage), seen: map[graph.ID]string{}}
	for e := st.Entry; len(b.line) <= b.depth; {
		b.line = append(b.line, e.ID())
		refs := e.Body().Refs.Messages
		if len(refs) == 0 {
			break
		}
		if e, _, err = sp.Entry(refs[0]); err != nil {
			return nil, fmt.Errorf("follow a branch: %w", err)
		}
	}
	return b, nil
}

func (b *branch) pick(st graph.Stored) string {
	if st.Pos <= b.at {
		return ""
	}
	id, refs := st.Entry.ID(), st.Entry.Body().Refs.Messages
	if kind, ok := b.seen[id]; ok {
		return kind
	}
	kind := ""
	for _, ref := range refs {
		switch slices.Index(b.line, ref) {
		case -1:
		case 0:
			kind = "message"
		default:
			kind = cmp.Or(kind, "fork")
		}
	}
	if kind == "message" {
		b.line = append([]graph.ID{id}, b.line[:min(len(b.line), b.depth)]...)
	}
	if kind != "" {
		b.seen[id] = kind
	}
	return kind
}

func (p *participant) listenInbox(ctx context.Context, q client.ListenQuery, yield yielder) error {
	if p.anonymous() {
		return invalid("caller node identity is required")
	}
	after, err := p.from(nil, q)
	if err != nil {
		return err
	}
	for st, err := range p.node.log.Tail(ctx, after) {
		if err != nil {
			return err
		}
		if err := emit(st, addressed{p.id}, after, true, yield); err != nil {
			return err
		}
	}
	return nil
}
