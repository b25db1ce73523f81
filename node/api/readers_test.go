package api_test

// This file tests readers that are slow, dead, or many: nothing is lost, nobody is waited for without end.

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plexus/node/api"
	"plexus/sdk/client"
)

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
	flood(t, w, ada, space, 700, strings.Repeat("x", 16<<10))
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
