package client

// This file holds Listen: a stream of Server-Sent Events that goes on over lost connections without a gap.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Listen replays what is after the cursor, then follows until ctx ends (which ends the sequence without an error). A
// lost connection is made anew from the last event's ID. An error is yielded last: the first connection failed (after
// RetryFor), or the daemon refused. Lines may have any length.
func (c *Client) Listen(ctx context.Context, q ListenQuery) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := c.setup(); err != nil {
			yield(Event{}, err)
			return
		}
		s := stream{client: c, cursor: q.After, take: messages(yield)}
		s.request = func(cursor string) request { return c.listen(q, cursor) }
		if err := s.run(ctx); err != nil {
			yield(Event{}, err)
		}
	}
}

// messages hands on events that are messages.
func messages(yield func(Event, error) bool) func(ev string, data []byte) error {
	return func(ev string, data []byte) error {
		e := Event{Type: ev}
		if ev == "" {
			e.Type = "message"
		}
		if err := json.Unmarshal(data, &e.Message); err != nil {
			return noJSON(data)
		}
		return more(yield(e, nil))
	}
}

func noJSON(data []byte) error {
	return &Error{Code: CodeInternal, Detail: "an event is no JSON: " + strconv.Quote(string(data[:min(len(data), 80)]))}
}

func more(goesOn bool) error {
	if goesOn {
		return nil
	}
	return errStopped
}

var errStopped = errors.New("the reader stopped")

// stream is one sequence of events over all its connections.
type stream struct {
	client  *Client
	request func(cursor string) request
	take    func(event string, data []byte) error // errStopped: the reader has had enough
	cursor  string                                // the last ID seen
	seen    int                                   // blocks read
	opened  bool                                  // connected at least once
}

// run goes on until ctx ends or the reader stops (nil), or until no other connection helps.
func (s *stream) run(ctx context.Context) error {
	for n := 0; ; n++ {
		before := s.seen
		err := s.follow(ctx)
		if ctx.Err() != nil || errors.Is(err, errStopped) {
			return nil
		}
		if s.seen != before {
			n = 0
		}
		if !s.goesOn(err) {
			return err
		}
		if pause(ctx, n) != nil {
			return nil
		}
	}
}

// goesOn says whether another connection may mend err.
func (s *stream) goesOn(err error) bool {
	return s.opened && (err == nil || IsUnreachable(err) || IsCode(err, CodeUnavailable) || IsCode(err, CodeInternal))
}

// follow reads one connection to its end.
func (s *stream) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return s.client.try(ctx, s.request(s.cursor), func(resp *http.Response) error {
		defer resp.Body.Close()
		s.opened = true
		quiet := time.AfterFunc(quietFor, cancel)
		defer quiet.Stop()
		err := s.read(newReader(&awake{resp.Body, quiet}))
		var known *Error
		if err == nil || errors.Is(err, errStopped) || errors.As(err, &known) {
			return err
		}
		return &Error{Code: CodeUnreachable, Detail: "the stream was lost: " + err.Error(), cause: err}
	})
}

func (c *Client) listen(q ListenQuery, cursor string) request {
	path := "/spaces/" + url.PathEscape(q.SpaceID) + "/sse"
	switch {
	case q.Inbox:
		path = "/nodes/" + c.self("") + "/sse"
	case q.MessageID != "":
		path = "/spaces/" + url.PathEscape(q.SpaceID) + "/messages/" + url.PathEscape(q.MessageID) + "/sse"
	}
	v := url.Values{}
	set(v, "head", q.Head)
	setInt(v, "fork_depth", q.ForkDepth)
	if cursor == "" && q.FromStart {
		v.Set("from", "start")
	}
	return follow(path, v, cursor)
}

// follow asks for a stream.
func follow(path string, query url.Values, cursor string) request {
	h := http.Header{"Accept": {"text/event-stream"}}
	if cursor != "" {
		h.Set("Last-Event-ID", cursor)
	}
	return request{method: http.MethodGet, path: path, query: query, header: h, replayable: false}
}

// read parses events until the stream ends; a clean end is nil.
func (s *stream) read(r *bufio.Reader) error {
	var ev, id string
	var data []byte
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil // an unfinished block is dropped: it comes again after the last ID
			}
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			if err := s.dispatch(ev, id, data); err != nil {
				return err
			}
			ev, id, data = "", "", nil
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			ev = string(value)
		case "id":
			id = string(value)
		case "data":
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, value...)
		}
	}
}

// dispatch hands one block on. A block with an ID alone only moves the cursor.
func (s *stream) dispatch(ev, id string, data []byte) error {
	if data != nil {
		if ev == "error" {
			return streamError(data)
		}
		if err := s.take(ev, data); err != nil {
			return err
		}
	}
	if id != "" {
		s.cursor = id
	}
	s.seen++
	return nil
}

func streamError(data []byte) error {
	var p Problem
	if json.Unmarshal(data, &p) != nil || p.Code == "" {
		return &Error{Code: CodeUnavailable, Detail: "the stream ended: " + string(data)}
	}
	return &Error{Status: p.Status, Code: p.Code, Detail: p.Detail, Hint: p.Hint}
}

func newReader(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, 64<<10) }

// awake puts off the timer at every read that brings something.
type awake struct {
	r io.Reader
	t *time.Timer
}

func (a *awake) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	if n > 0 {
		a.t.Reset(quietFor)
	}
	return n, err
}
