package api_test

// This file tests the streams: nothing is lost, whoever is slow, late, cut off or early.

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plexus/graph"
	"plexus/node/api"
	"plexus/sdk/client"
)

// event is one block of a stream. A comment has only that; a bare cursor only the id.
type event struct {
	id, kind, data, comment string
}

func (e event) message(tb testing.TB) client.Message {
	tb.Helper()
	var m client.Message
	if err := json.Unmarshal([]byte(e.data), &m); err != nil {
		tb.Fatalf("event %+v: %v", e, err)
	}
	return m
}

// sse reads one stream.
type sse struct {
	tb    testing.TB
	resp  *http.Response
	lines *bufio.Reader
}

// listen opens a stream as u; it ends with the test, or when patience does.
func (u user) listen(path string, headers ...string) *sse {
	tb := u.w.tb
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	req, err := http.NewRequestWithContext(ctx, "GET", u.w.url+path, nil)
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+u.Token)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := u.w.http.Do(req)
	if err != nil {
		cancel()
		tb.Fatal(err)
	}
	tb.Cleanup(func() { cancel(); resp.Body.Close() })
	if resp.StatusCode != 200 {
		tb.Fatalf("%s: %s", path, resp.Status)
	}
	return &sse{tb, resp, bufio.NewReader(resp.Body)}
}

// block reads up to the next empty line; false at the end of the stream.
func (s *sse) block() (e event, ok bool) {
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return e, false
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			return e, true
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "":
			e.comment = value
		case "id":
			e.id = value
		case "event":
			e.kind = value
		case "data":
			if e.data != "" {
				s.tb.Errorf("a second data line: %q", value)
			}
			e.data = value
		default:
			s.tb.Errorf("a line of no kind: %q", line)
		}
	}
}

// next reads the next event, past comments and bare cursors.
func (s *sse) next() event {
	s.tb.Helper()
	for {
		e, ok := s.block()
		if !ok {
			s.tb.Fatal("the stream ended")
		}
		if e.data != "" {
			return e
		}
	}
}

// expect reads as many events as there are IDs and compares.
func (s *sse) expect(want ...string) {
	s.tb.Helper()
	for i, id := range want {
		if e := s.next(); e.id != id || e.kind != "message" || e.message(s.tb).ID != id {
			s.tb.Fatalf("event %d: %+v\nwant message %s", i, e, id)
		}
	}
}

func TestStreamHeadersComeAtOnce(t *testing.T) {
	w := open(t)
	ada := w.register("ada")
	space := ada.join("desk")
	s := ada.listen("/spaces/" + space + "/sse") // returns before anything was ever said
	if got := s.resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("content type %q", got)
	}
	if got := s.resp.Header.Get("Cache-Control"); got != "no-cache" {
		t.Errorf("cache control %q", got)
	}
	s.expect(ada.say(space, "first ever", nil, nil).ID)
}

func TestStreamFrames(t *testing.T) {
	w := open(t)
	ada := w.register("ada")
	space := ada.join("desk")
	s := ada.listen("/spaces/" + space + "/sse")
	m := ada.send(space, "{\"content\":{\n\"a\" :\r\n 1.10},\"content_type\":\"x\"}")
	e := s.next()
	if e.id != m.ID || e.kind != "message" {
		t.Errorf("frame %+v", e)
	}
	if got := e.message(t); got.ContentType != "x" || !strings.Contains(string(got.Content), "1.10") || got.Sender != ada.ID {
		t.Errorf("data %s", e.data)
	}
	big := strings.Repeat("x", 150<<10)
	if id := ada.say(space, big, nil, nil).ID; s.next().id != id {
		t.Error("a large message doesn't come through")
	}
}

func TestStreamResumes(t *testing.T) {
	w := open(t)
	ada := w.register("ada")
	space := ada.join("desk")
	path := "/spaces/" + space + "/sse"
	var sent []string
	for i := range 6 {
		sent = append(sent, ada.say(space, fmt.Sprint(i), nil, nil).ID)
	}
	ada.listen(path, "Last-Event-ID", sent[2]).expect(sent[3:]...)
	ada.listen(path + "?after=" + sent[3]).expect(sent[4:]...)
	ada.listen(path+"?after="+sent[0], "Last-Event-ID", sent[4]).expect(sent[5])
	ada.listen(path + "?from=start").expect(sent...)
	ada.listen("/spaces/" + space + "/messages?listen=true&all=true&after=" + sent[4]).expect(sent[5])

	live := ada.listen(path)
	if e, ok := live.block(); !ok || e != (event{id: sent[5]}) {
		t.Errorf("a stream without cursor opens with %+v, want the bare id %s", e, sent[5])
	}
	late := ada.say(space, "late", nil, nil).ID
	live.expect(late)
}

func TestStreamKinds(t *testing.T) {
	w := open(t)
	ada, bob := w.register("ada"), w.register("bob")
	space, other := ada.join("desk"), ada.join("other")
	root := ada.say(space, "root", nil, nil).ID
	a1 := ada.say(space, "a1", []string{root}, nil).ID

	all := bob.listen("/spaces/" + space + "/sse")
	branch := bob.listen("/spaces/" + space + "/sse?head=" + a1)
	related := bob.listen("/spaces/" + space + "/messages/" + root + "/sse")
	inbox := bob.listen("/nodes/me/sse")
	concerns := bob.listen("/spaces/" + space + "/messages?listen=true")
	thread := bob.listen("/spaces/" + space + "/messages?listen=1&message_id=" + root)

	a2 := ada.say(space, "a2", []string{a1}, nil).ID
	fork := ada.say(space, "fork", []string{a1}, nil).ID
	a3 := ada.say(space, "a3", []string{a2}, nil).ID
	loose := ada.say(space, "loose", nil, nil).ID
	own := bob.say(space, "own", nil, nil).ID
	toBob := ada.say(space, "to bob", nil, []string{bob.ID}).ID
	far := ada.say(other, "far to bob", nil, []string{bob.ID}).ID

	all.expect(a2, fork, a3, loose, own, toBob)
	related.expect(a2, fork, a3)
	thread.expect(a2, fork, a3)
	concerns.expect(loose, toBob)
	branch.expect(a2)
	if e := branch.next(); e.kind != "fork" || e.message(t).ID != fork {
		t.Errorf("%+v, want a fork event", e)
	}
	branch.expect(a3)
	for i, want := range []string{toBob, far} {
		if m := inbox.next().message(t); m.ID != want || m.SpaceID != []string{space, other}[i] {
			t.Errorf("inbox: %+v, want %s with its space_id", m, want)
		}
	}
}

// fading is an Accounts whose streams say that a message is withdrawn, and then fail. (That takes two hosts and a revoke
// that crosses a message; node's tests have that.)
type fading struct {
	api.Accounts
	void client.Message
}

type fadingService struct {
	api.Service
	fading
}

func (f fading) As(id string) (api.Service, error) {
	s, err := f.Accounts.As(id)
	return fadingService{s, f}, err
}

func (f fadingService) Listen(context.Context, client.ListenQuery) iter.Seq2[client.Event, error] {
	return func(yield func(client.Event, error) bool) {
		if yield(client.Event{Type: "withdrawn", Message: f.void}, nil) {
			yield(client.Event{}, graph.ErrUnavailable)
		}
	}
}

func TestStreamSaysWhatIsWithdrawn(t *testing.T) {
	w := open(t)
	ada := w.register("ada")
	space := ada.join("desk")
	void := ada.say(space, "void", nil, nil)
	h := api.New(api.Config{Accounts: fading{w.node, void}, Directory: w.node, Inbox: w.node, Views: w.node, Admin: w.node})
	s := user{w.over(h), ada.AuthResponse}.listen("/spaces/" + space + "/sse")
	if e := s.next(); e.kind != "withdrawn" || e.id != "" || e.message(t).ID != void.ID {
		t.Errorf("%+v, want %s withdrawn, without a cursor", e, void.ID)
	}
	if e := s.next(); e.kind != "error" || !strings.Contains(e.data, `"code":"unavailable"`) {
		t.Errorf("%+v, want the problem that ended the stream", e)
	}
	if e, ok := s.block(); ok {
		t.Errorf("after an error the stream goes on: %+v", e)
	}
}

// A reader that is cut off again and again misses nothing and gets nothing twice.
func TestStreamSurvivesCuts(t *testing.T) {
	const n = 300
	w := open(t)
	ada := w.register("ada")
	space := ada.join("desk")
	var wg sync.WaitGroup
	wg.Go(func() { flood(t, w, ada, space, n, "x") })
	var got []string
	for cut := 1; len(got) < n; cut++ {
		headers := []string{"Accept", "text/event-stream"}
		path := "/spaces/" + space + "/sse?from=start"
		if len(got) > 0 {
			headers = append(headers, "Last-Event-ID", got[len(got)-1])
		}
		s := ada.listen(path, headers...)
		for range min(cut, n-len(got)) {
			got = append(got, s.next().id)
		}
		s.resp.Body.Close()
	}
	wg.Wait()
	if want := ada.everything(space); !slices.Equal(got, want) {
		t.Errorf("%d events over many connections aren't the %d messages", len(got), len(want))
	}
}

func TestStreamIsKeptAlive(t *testing.T) {
	w := open(t, func(c *api.Config) { c.KeepAlive = 5 * time.Millisecond })
	ada := w.register("ada")
	s := ada.listen("/spaces/" + ada.join("desk") + "/sse")
	for range 3 {
		if e, ok := s.block(); !ok || e != (event{comment: "keepalive"}) {
			t.Fatalf("%+v, want a keepalive", e)
		}
	}
}
