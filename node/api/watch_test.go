package api_test

// This file tests streams of answers: the first at once, each that differs, none twice over a lost connection, the newest for the slow.

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"plexus/graph"
	"plexus/node/api"
	"plexus/sdk/client"
)

// scripted is a view whose answers a test gives; the newest alone is kept for a watcher, as a node does.
type scripted struct {
	failing
	answers chan string
	left    chan struct{} // told when a watcher is gone, where not nil
	fault   error         // after the answers
}

func (s scripted) WatchView(ctx context.Context, _, _, _ string, params json.RawMessage, caller string) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		if s.left != nil {
			defer func() { s.left <- struct{}{} }()
		}
		for {
			select {
			case <-ctx.Done():
				return
			case a, ok := <-s.answers:
				if !ok {
					if s.fault != nil {
						yield(nil, s.fault)
					}
					return
				}
				if !yield(json.RawMessage(`{"n":`+a+`,"params":`+string(params)+`}`), nil) {
					return
				}
			}
		}
	}
}

func (s scripted) handler(w *world) *api.Handler {
	return api.New(api.Config{Accounts: w.node, Directory: w.node, Inbox: w.node, Views: s, Admin: w.node})
}

func TestViewsAreFollowed(t *testing.T) {
	w := open(t)
	ada := w.register("ada")
	s := scripted{answers: make(chan string), left: make(chan struct{}, 3)}
	h := s.handler(w)
	srv := httptest.NewServer(h)
	defer srv.Close()
	defer h.Close()
	w.url = srv.URL
	give := func(a string) { go func() { s.answers <- a }() }

	give("1")
	one := ada.listen("/spaces/s/plugins/p/views/v/sse?x=y")
	first := one.next()
	give("2")
	second := one.next()
	if first.kind != "answer" || first.data != `{"n":1,"params":{"x":"y"}}` || second.data != `{"n":2,"params":{"x":"y"}}` || first.id == second.id || first.id == "" {
		t.Errorf("%+v, %+v", first, second)
	}
	one.resp.Body.Close()
	<-s.left // else it might take the next answer

	// Back again: the answer it has isn't given twice, but its cursor is; another one is.
	give("2")
	two := ada.listen("/spaces/s/plugins/p/views/v?x=y", "Accept", "text/event-stream; q=1", "Last-Event-ID", second.id)
	if e, ok := two.block(); !ok || e.id != second.id || e.data != "" {
		t.Errorf("the answer that is known: %+v", e)
	}
	give("3")
	if e := two.next(); e.data != `{"n":3,"params":{"x":"y"}}` {
		t.Errorf("the next: %+v", e)
	}
	two.resp.Body.Close()
	<-s.left
	give("4")
	if e := ada.listen("/spaces/s/plugins/p/views/v/sse", "Last-Event-ID", second.id).next(); e.data != `{"n":4,"params":{}}` {
		t.Errorf("after it has changed: %+v", e)
	}
	// Who accepts JSON gets the answer, once.
	if r := ada.do("GET", "/spaces/s/plugins/p/views/v", ""); r.status != 200 || string(r.body) != "{}" {
		t.Errorf("once: %d %s", r.status, r.body)
	}
}

func TestFollowedViewsThatFail(t *testing.T) {
	w := open(t)
	ada := w.register("ada")
	srv := httptest.NewServer(api.New(api.Config{Accounts: w.node, Directory: w.node, Inbox: w.node, Admin: w.node, Views: failing{graph.ErrNotFound}}))
	defer srv.Close()
	w.url = srv.URL
	if r := ada.do("GET", "/spaces/s/plugins/p/views/v/sse", ""); r.status != 404 {
		t.Errorf("before the first answer: %d %s", r.status, r.body)
	}
	s := scripted{answers: make(chan string, 1), fault: errors.Join(graph.ErrNotFound, errors.New("plugin p has no view v"))}
	s.answers <- "1"
	close(s.answers)
	late := httptest.NewServer(s.handler(w))
	defer late.Close()
	c := client.Client{URL: late.URL, Token: ada.Token}
	n := 0
	var last error
	for _, err := range c.WatchView(t.Context(), "s", "p", "v", nil) {
		if last = err; err == nil {
			n++
		}
	}
	if n != 1 || !client.IsNotFound(last) {
		t.Errorf("%d answers, then %v", n, last)
	}
}

// The client goes on over lost connections.
func TestWatchViewOverALostConnection(t *testing.T) {
	w := open(t)
	ada := w.register("ada")
	s := scripted{answers: make(chan string)}
	srv := httptest.NewServer(s.handler(w))
	defer srv.Close()
	c := client.Client{URL: srv.URL, Token: ada.Token}
	give := func(answers ...string) {
		go func() {
			for _, a := range answers {
				s.answers <- a
			}
		}()
	}
	give("1")
	var got []string
	for a, err := range c.WatchView(t.Context(), "s", "p", "v", json.RawMessage(`{"k":1}`)) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, string(a)); len(got) == 2 {
			break
		}
		srv.CloseClientConnections()
		give("1", "2") // the first is the one it has
	}
	if strings.Join(got, " ") != `{"n":1,"params":{"k":1}} {"n":2,"params":{"k":1}}` {
		t.Errorf("%q", got)
	}
}

// A quiet stream of answers gets comments, as the others do.
func TestFollowedViewsAreKeptAlive(t *testing.T) {
	w := open(t)
	s := scripted{answers: make(chan string, 1)}
	s.answers <- "1"
	h := api.New(api.Config{Accounts: w.node, Directory: w.node, Inbox: w.node, Views: s, Admin: w.node, KeepAlive: time.Millisecond})
	srv := httptest.NewServer(h)
	defer srv.Close()
	defer h.Close()
	ada := w.register("ada")
	w.url = srv.URL
	quiet := ada.listen("/spaces/s/plugins/p/views/v/sse")
	quiet.next()
	for range 3 {
		if e, ok := quiet.block(); !ok || e.comment != "keepalive" {
			t.Errorf("%+v", e)
		}
	}
}
