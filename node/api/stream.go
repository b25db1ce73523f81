package api

// This file holds Server-Sent Events: replay after a cursor, then follow, through Service.Listen. Between the store
// and the reader there is no queue: a slow reader is read for slowly, and nothing is dropped.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"plexus/graph"
	"plexus/sdk/client"
)

// follow answers with the stream of a query. keep, where not nil, chooses among its events.
func (x *exchange) follow(q client.ListenQuery, keep func(client.Event) bool) error {
	svc, err := x.service()
	if err != nil {
		return err
	}
	q.After, q.FromStart = x.cursor()
	ctx, leave, ok := x.h.live.enter(x.r.Context())
	defer leave()
	if !ok {
		return graph.ErrClosed
	}
	if err := x.anchor(ctx, svc, &q); err != nil {
		return err
	}
	out := newEvents(x, leave)
	defer out.close()
	if out.open(q.After) != nil {
		return nil
	}
	for ev, err := range svc.Listen(ctx, q) {
		if err != nil {
			x.broken(ctx, out, err)
			return nil
		}
		if keep != nil && !keep(ev) {
			continue
		}
		if out.event(&ev) != nil {
			return nil
		}
	}
	return nil
}

// cursor is where the reader wants to go on: Last-Event-ID first, since a browser that reconnects repeats the query.
func (x *exchange) cursor() (after string, fromStart bool) {
	if id := x.r.Header.Get("Last-Event-ID"); id != "" {
		return id, false
	}
	if after := x.text("after"); after != "" {
		return after, false
	}
	return "", x.text("from") == "start"
}

// anchor checks the query while there is still a status to answer with, and turns "from now on" into a cursor, so
// that what comes between the headers and Listen isn't missed.
func (x *exchange) anchor(ctx context.Context, svc Service, q *client.ListenQuery) error {
	var page client.Page
	var err error
	if q.Inbox {
		page, err = x.h.cfg.Inbox.Inbox(ctx, x.caller.node, q.After, 1, false)
	} else {
		page, err = svc.Read(ctx, client.ReadQuery{SpaceID: q.SpaceID, All: true, After: q.After, Limit: 1})
	}
	if err != nil {
		return err
	}
	if err := x.anchorMessage(ctx, q); err != nil {
		return err
	}
	if q.After != "" || q.FromStart {
		return nil
	}
	if len(page.Messages) == 0 {
		q.FromStart = true
		return nil
	}
	q.After = page.Messages[0].ID
	return nil
}

// anchorMessage checks the message a stream is about.
func (x *exchange) anchorMessage(ctx context.Context, q *client.ListenQuery) error {
	id, missing := q.MessageID, &Fault{Kind: graph.ErrNotFound, Detail: fmt.Sprintf("Message '%.128s' not found in space '%.128s'", q.MessageID, q.SpaceID)}
	if q.Head != "" {
		id, missing = q.Head, &Fault{Kind: graph.ErrInvalid, Detail: fmt.Sprintf("head message not found: %.128s", q.Head)}
	}
	if id == "" {
		return nil
	}
	page, err := x.h.cfg.Directory.Find(ctx, client.FindQuery{SpaceID: q.SpaceID, MessageID: id, Limit: 1})
	if errors.Is(err, graph.ErrNotFound) || errors.Is(err, graph.ErrInvalid) || err == nil && len(page.Messages) == 0 {
		return missing
	}
	return err
}

// broken tells the reader that the stream failed, unless it is ending anyway.
func (x *exchange) broken(ctx context.Context, out *events, err error) {
	if ctx.Err() != nil || errors.Is(err, graph.ErrClosed) {
		return
	}
	p := problemOf(err)
	if p.Status == http.StatusInternalServerError {
		x.h.cfg.Logger.Error("stream failed", "path", x.r.URL.Path, "err", err)
	}
	_ = out.write(func(b []byte) []byte {
		return append(appendJSON(append(b, "event: error\ndata: "...), p), "\n\n"...)
	})
}

// events writes one stream. Every write has a deadline; a reader that takes nothing for so long is let go.
type events struct {
	rc   *http.ResponseController
	wait time.Duration
	calm time.Duration
	stop func() // ends the stream's context
	put  func([]byte, *client.Message) []byte

	mu     sync.Mutex // owns what is below: the timer's goroutine writes too
	w      http.ResponseWriter
	buf    []byte
	timer  *time.Timer
	closed bool
}

func newEvents(x *exchange, stop func()) *events {
	cfg := &x.h.cfg
	return &events{rc: http.NewResponseController(x.w), wait: cfg.WriteWait, calm: cfg.KeepAlive, stop: stop, put: x.encoder(), w: x.w}
}

// open sends the headers at once, and the cursor the stream starts from, so that a reader who loses the
// connection before the first event misses nothing either.
func (e *events) open(cursor string) error {
	head := e.w.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("Cache-Control", "no-cache")
	head.Set("X-Accel-Buffering", "no")
	head.Set("X-Content-Type-Options", "nosniff")
	e.w.WriteHeader(http.StatusOK)
	err := e.write(func(b []byte) []byte {
		if cursor == "" {
			return b
		}
		return append(append(append(b, "id: "...), cursor...), "\n\n"...)
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	e.timer = time.AfterFunc(e.calm, e.keepAlive)
	return err
}

// event sends one event. A withdrawn message's ID is no cursor: it lies in the past.
func (e *events) event(ev *client.Event) error {
	return e.write(func(b []byte) []byte {
		if ev.Type != "withdrawn" {
			b = append(append(append(b, "id: "...), ev.Message.ID...), '\n')
		}
		b = append(append(append(b, "event: "...), ev.Type...), "\ndata: "...)
		return append(oneLine(e.put(b, &ev.Message), len(b)), "\n\n"...)
	})
}

// oneLine makes one line of what stands behind from. A line break can only stand between JSON tokens, where a space will do.
func oneLine(b []byte, from int) []byte {
	line := b[from:]
	if bytes.IndexByte(line, '\n') < 0 && bytes.IndexByte(line, '\r') < 0 {
		return b
	}
	for i, c := range line {
		if c == '\n' || c == '\r' {
			line[i] = ' '
		}
	}
	return b
}

func (e *events) write(fill func([]byte) []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.buf = fill(e.buf[:0])
	return e.flush()
}

// flush sends the buffer and puts off the next keepalive. The caller holds mu.
func (e *events) flush() error {
	// Not every writer has deadlines (tests' recorders); those that have come from the network.
	_ = e.rc.SetWriteDeadline(time.Now().Add(e.wait))
	if e.timer != nil {
		e.timer.Reset(e.calm)
	}
	if _, err := e.w.Write(e.buf); err != nil {
		return err
	}
	return e.rc.Flush()
}

// keepAlive runs on the timer's goroutine.
func (e *events) keepAlive() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.buf = append(e.buf[:0], ": keepalive\n\n"...)
	if e.flush() != nil {
		e.stop()
	}
}

// close waits for a keepalive in hand; afterwards nothing touches the writer.
func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	if e.timer != nil {
		e.timer.Stop()
	}
	_ = e.rc.SetWriteDeadline(time.Time{})
}
