package api_test

// This file tests the streams: nothing is lost, whoever is slow, late, cut off or early.

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
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

// stall opens a stream on a raw connection and reads nothing yet.
func (u user) stall(path string) net.Conn {
	tb := u.w.tb
	tb.Helper()
	addr, _ := url.Parse(u.w.url)
	conn, err := net.Dial("tcp", addr.Host)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
		tb.Fatal(err)
	}
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", path, addr.Host, u.Token)
	return conn
}

// flood sends n messages from many senders at once, as a busy Space does.
func flood(tb testing.TB, w *world, u user, space string, n int, text string) {
	tb.Helper()
	const senders = 32
	svc, err := w.node.As(u.ID)
	if err != nil {
		tb.Fatal(err)
	}
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := s; i < n; i += senders {
				content := fmt.Sprintf(`{"n":%d,"text":%q}`, i, text)
				if _, err := svc.Send(context.Background(), space, client.SendMessage{Content: json.RawMessage(content)}); err != nil {
					tb.Errorf("send %d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// everything reads all messages of a Space, page by page.
func (u user) everything(space string) []string {
	u.w.tb.Helper()
	var got []string
	for next := "/spaces/" + space + "/messages?all=true"; next != ""; {
		var page []string
		page, next = u.read(next)
		got = append(got, page...)
	}
	return got
}

func TestStalledReaderLosesNothing(t *testing.T) {
	const n = 5000
	w := open(t, func(c *api.Config) { c.WriteWait = 5 * time.Minute }) // the flood takes its time on a slow machine
	ada := w.register("ada")
	space := ada.join("desk")
	conn := ada.stall("/spaces/" + space + "/sse?from=start")
	flood(t, w, ada, space, n, strings.Repeat("x", 2<<10)) // 10 MB: more than any socket buffer holds

	if err := conn.SetReadDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 1<<20), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &sse{t, resp, bufio.NewReader(resp.Body)}
	var got []string
	for range n {
		got = append(got, s.next().id)
	}
	if want := ada.everything(space); !slices.Equal(got, want) {
		t.Errorf("%d events, %d messages; not the same in the same order", len(got), len(want))
	}
}

func TestDeadReaderIsLetGo(t *testing.T) {
	ended := make(chan struct{})
	w := open(t, func(c *api.Config) { c.WriteWait = 50 * time.Millisecond })
	ada := w.register("ada")
	space := ada.join("desk")
	h := api.New(api.Config{Accounts: w.node, Directory: w.node, Inbox: w.node, Views: w.node, Admin: w.node, WriteWait: 50 * time.Millisecond})
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(rw, r)
		close(ended)
	}))
	defer srv.Close()
	w2 := *w
	w2.url = srv.URL
	dead := user{&w2, ada.AuthResponse}
	dead.stall("/spaces/" + space + "/sse?from=start")
	flood(t, w, ada, space, 2000, strings.Repeat("x", 16<<10))
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("a reader that takes nothing is served for ever")
	}
}

func TestShutdownEndsStreams(t *testing.T) {
	w := open(t)
	ada := w.register("ada")
	space := ada.join("desk")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: api.New(api.Config{Accounts: w.node, Directory: w.node, Inbox: w.node, Views: w.node, Admin: w.node})}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	w2 := *w
	w2.url = "http://" + l.Addr().String()
	s := user{&w2, ada.AuthResponse}.listen("/spaces/" + space + "/sse")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		t.Errorf("shutdown waits for a stream: %v", err)
	}
	if e, ok := s.block(); ok {
		t.Errorf("the stream goes on: %+v", e)
	}
	<-done
}

func TestCloseRefusesStreams(t *testing.T) {
	w := open(t)
	ada := w.register("ada")
	space := ada.join("desk")
	h := api.New(api.Config{Accounts: w.node, Directory: w.node, Inbox: w.node, Views: w.node, Admin: w.node})
	for range 2 {
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
	req := httptest.NewRequest("GET", "http://localhost/spaces/"+space+"/sse", nil)
	req.Header.Set("Authorization", "Bearer "+ada.Token)
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	wantProblem(t, reply{rec.Code, rec.Header(), rec.Body.String()}, 503, "")
	if rec.Header().Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

// Whoever subscribes while others send gets everything after the cursor the stream opened with, once and in order.
func TestHammerSubscribe(t *testing.T) {
	const n, readers = 600, 12
	w := open(t)
	ada := w.register("ada")
	space := ada.join("desk")
	ada.say(space, "zero", nil, nil)
	got := make([][]string, readers)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for r := range readers {
		wg.Go(func() {
			<-start
			if r%2 == 1 { // half of them come when sending is under way
				ada.everything(space)
			}
			s := ada.listen("/spaces/" + space + "/sse")
			first, _ := s.block()
			got[r] = append(got[r], first.id)
			for {
				e := s.next()
				got[r] = append(got[r], e.id)
				if strings.Contains(e.data, `"the end"`) {
					return
				}
			}
		})
	}
	close(start)
	flood(t, w, ada, space, n, "x")
	// A reader may come as late as now; the end is said when all have a cursor, which the next line can't know, so it
	// is said again until they are done.
	all := make(chan struct{})
	go func() { wg.Wait(); close(all) }()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for done := false; !done; {
		ada.say(space, "the end", nil, nil)
		select {
		case <-all:
			done = true
		case <-tick.C:
		}
	}
	want := ada.everything(space)
	for r, seq := range got {
		at := slices.Index(want, seq[0])
		if at < 0 || at+len(seq) > len(want) || !slices.Equal(seq, want[at:at+len(seq)]) {
			t.Errorf("reader %d: %d events from %s on aren't what was sent", r, len(seq), seq[0])
		}
	}
}
