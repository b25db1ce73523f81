package api

// This file holds the read an agent makes: a page, the cursor behind it, and the bounded wait for news.

import (
	"context"
	"strings"
	"time"

	"plexus/sdk/client"
)

// mcpCursored is a page whose Next is always a cursor to go on from, and says apart whether there is more already.
type mcpCursored struct {
	Messages []client.Message
	Next     string
	more     bool
}

// mcpReadNews reads one page. Where it is empty and no cursor was given, Next becomes the Space's newest message, so that
// the next call needn't look at all before it.
func mcpReadNews(ctx context.Context, s Service, q client.ReadQuery) (mcpCursored, error) {
	p, err := s.Read(ctx, q)
	if err != nil {
		return mcpCursored{}, err
	}
	if len(p.Messages) == 0 && q.After == "" && q.MessageID == "" {
		last, err := s.Read(ctx, client.ReadQuery{SpaceID: q.SpaceID, All: true, Limit: 1})
		if err != nil || len(last.Messages) == 0 {
			return mcpCursored{Messages: []client.Message{}}, err
		}
		// read again: what came between the two reads must not fall behind the cursor
		if p, err = s.Read(ctx, q); err != nil {
			return mcpCursored{}, err
		}
		if len(p.Messages) == 0 {
			return mcpCursored{Messages: []client.Message{}, Next: last.Messages[len(last.Messages)-1].ID}, nil
		}
	}
	out := mcpCursored{Messages: p.Messages, Next: q.After, more: p.Next != "" && q.After != ""}
	if n := len(p.Messages); n > 0 {
		out.Next = p.Messages[n-1].ID
	} else {
		out.Messages = []client.Message{}
	}
	return out, nil
}

// mcpReadWait reads, and where there is nothing, waits up to waitMS for something. Running out of time is no error: the
// page is empty then, and its cursor may have moved over messages that aren't the caller's.
func mcpReadWait(ctx context.Context, s Service, q client.ReadQuery, waitMS int) (mcpCursored, error) {
	p, err := mcpReadNews(ctx, s, q)
	if err != nil || len(p.Messages) > 0 || waitMS == 0 {
		return p, err
	}
	q.After = p.Next
	wctx, cancel := context.WithTimeout(ctx, time.Duration(waitMS)*time.Millisecond)
	defer cancel()
	l := client.ListenQuery{SpaceID: q.SpaceID, MessageID: q.MessageID, After: q.After, FromStart: q.After == ""}
	for ev, err := range s.Listen(wctx, l) {
		if err != nil {
			if wctx.Err() != nil && ctx.Err() == nil {
				break
			}
			return mcpCursored{}, err
		}
		if ev.Type == "withdrawn" {
			continue
		}
		got, err := mcpReadNews(wctx, s, q)
		switch {
		case err != nil && wctx.Err() != nil && ctx.Err() == nil:
			return p, nil
		case err != nil || len(got.Messages) > 0:
			return got, err
		}
		p.Next, q.After = ev.Message.ID, ev.Message.ID
	}
	return p, ctx.Err()
}

// mcpWithHint adds what an agent should do next, where the error doesn't say.
func mcpWithHint(err error) error {
	e := mcpProblem(err)
	if e.Hint != "" && e.Code != client.CodeNotFound {
		return err
	}
	switch d := e.Detail; {
	case e.Code == client.CodeNotFound && strings.HasPrefix(d, "Space"):
		e.Hint = "call ioa_space with the Space's name first, and use the id it returns"
	case strings.Contains(d, "refs.messages"):
		e.Hint = "refs.messages takes ids of messages in this Space; find them with ioa_read (all: true)"
	case strings.Contains(d, "refs.nodes"):
		e.Hint = "refs.nodes takes node ids, not names; ioa_space lists the nodes that are there"
	case strings.Contains(d, "after:"):
		e.Hint = "pass the next of an earlier ioa_read, or leave after out"
	case e.Code == client.CodeNotFound:
		e.Hint = "find ids with ioa_read (all: true)"
	default:
		return err
	}
	return &e
}
