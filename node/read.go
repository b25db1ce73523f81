package node

// This file holds Read: IOA's modes by their precedence, and paging.

import (
	"context"
	"errors"
	"fmt"

	"plexus/graph"
	"plexus/sdk/client"
)

// Read returns one page of a Space: a message's related subgraph; else all; else, for a known caller, what concerns
// it; else the roots. Without a limit it begins with the oldest; a limit without a cursor asks for the newest.
func (p *participant) Read(ctx context.Context, q client.ReadQuery) (client.Page, error) {
	sp, err := p.node.space(q.SpaceID)
	if err != nil {
		return client.Page{}, err
	}
	dir, err := direction(q.Direction)
	if err != nil {
		return client.Page{}, err
	}
	if q.Order != "" && q.Order != "canonical" {
		return client.Page{}, invalid("order must be 'canonical'")
	}
	page, err := p.node.page(sp, q.After, q.Limit)
	if err != nil {
		return client.Page{}, err
	}
	var got []graph.Stored
	switch {
	case q.MessageID != "":
		got, err = related(ctx, sp, q.MessageID, dir, page)
	case q.All && q.Order != "":
		return canonical(ctx, sp, q)
	case q.All:
		got, err = sp.All(ctx, page)
	case !p.anonymous():
		got, err = sp.ForCaller(ctx, p.id, page)
	default:
		got, err = sp.Roots(ctx, page)
	}
	if err != nil {
		return client.Page{}, err
	}
	return pageOf(got, page, false)
}

func direction(s string) (graph.Direction, error) {
	switch s {
	case "":
		return graph.Both, nil
	case "upstream":
		return graph.Upstream, nil
	case "downstream":
		return graph.Downstream, nil
	}
	return 0, invalid("direction must be 'upstream' or 'downstream'")
}

// page turns a cursor and a limit into what the graph reads by. A zero limit means everything, from the oldest, as much
// as a page holds. sp is nil where the answer spans Spaces.
func (n *Node) page(sp *graph.Space, after string, limit int) (graph.Page, error) {
	if limit < 0 {
		return graph.Page{}, invalid("limit must be greater than 0")
	}
	p := graph.Page{Limit: min(limit, graph.MaxPage)}
	if limit == 0 {
		p.Limit, p.HasAfter = graph.MaxPage, true
	}
	if after == "" {
		return p, nil
	}
	st, err := n.cursor(sp, after)
	p.After, p.HasAfter = st.Pos, true
	return p, err
}

// cursor finds the message a cursor names; a void one will do. sp is nil for any Space.
func (n *Node) cursor(sp *graph.Space, after string) (graph.Stored, error) {
	space := ""
	if sp != nil {
		space = sp.ID().String()
	}
	id, err := graph.ParseID(after)
	if err != nil {
		return graph.Stored{}, afterNotFound(after, space)
	}
	st, err := n.log.Find(id)
	if errors.Is(err, graph.ErrNotFound) || err == nil && sp != nil && st.Entry.Body().Space != sp.ID() {
		return graph.Stored{}, afterNotFound(after, space)
	}
	if err != nil {
		return graph.Stored{}, fmt.Errorf("find cursor: %w", err)
	}
	return st, nil
}

func related(ctx context.Context, sp *graph.Space, message string, d graph.Direction, p graph.Page) ([]graph.Stored, error) {
	id, err := graph.ParseID(message)
	if err != nil {
		return nil, messageNotFound(message, sp.ID().String())
	}
	got, err := sp.Related(ctx, id, d, p)
	if errors.Is(err, graph.ErrNotFound) {
		return nil, messageNotFound(message, sp.ID().String())
	}
	return got, err
}

// pageOf makes the wire form of a page. Next is set where more may follow.
func pageOf(got []graph.Stored, p graph.Page, spans bool) (client.Page, error) {
	out := client.Page{Messages: make([]client.Message, 0, len(got))}
	for _, st := range got {
		m, err := public(st.Entry, spans)
		if err != nil {
			return client.Page{}, err
		}
		out.Messages = append(out.Messages, m)
	}
	if p.HasAfter && len(got) > 0 && len(got) == p.Limit {
		out.Next = out.Messages[len(out.Messages)-1].ID
	}
	return out, nil
}

// canonical reads a Space in the order all replicas share, oldest first after the cursor.
func canonical(ctx context.Context, sp *graph.Space, q client.ReadQuery) (client.Page, error) {
	limit := min(q.Limit, graph.MaxPage)
	if limit == 0 {
		limit = graph.MaxPage
	}
	var from graph.Key
	if q.After != "" {
		id, err := graph.ParseID(q.After)
		if err != nil {
			return client.Page{}, afterNotFound(q.After, sp.ID().String())
		}
		e, _, err := sp.Entry(id)
		if err != nil {
			return client.Page{}, fmt.Errorf("find cursor: %w", err)
		}
		from = graph.Key{Time: e.Body().Time, ID: id}
	}
	out := client.Page{Messages: []client.Message{}}
	for e, err := range sp.Range(ctx, from, graph.Key{Time: graph.MaxTime + 1}) {
		if err != nil {
			return client.Page{}, err
		}
		if q.After != "" && e.ID() == from.ID {
			continue
		}
		if len(out.Messages) == limit {
			out.Next = out.Messages[limit-1].ID
			break
		}
		m, err := public(e, false)
		if err != nil {
			return client.Page{}, err
		}
		out.Messages = append(out.Messages, m)
	}
	return out, nil
}
