package client

// These tests hold the client against small servers of their own; node/api's suite holds it against the daemon.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(int) { sharedHTTP.CloseIdleConnections() }))
}

// serve starts a server and returns a Client of it that has its own connections.
func serve(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	tr := &http.Transport{}
	t.Cleanup(func() { tr.CloseIdleConnections(); s.CloseClientConnections(); s.Close() })
	return &Client{URL: s.URL, HTTP: &http.Client{Transport: tr}}
}

func TestProofOfWhoAsks(t *testing.T) {
	tests := []struct {
		name          string
		make          func(url string) *Client
		bearer, keyIs string
	}{
		{"none", func(u string) *Client { return &Client{URL: u} }, "", ""},
		{"token", func(u string) *Client { return &Client{URL: u, Token: "t"} }, "Bearer t", ""},
		{"key", func(u string) *Client { return &Client{URL: u, AccessKey: "k"} }, "", "k"},
		{"key in the URL", func(u string) *Client { return &Client{URL: strings.Replace(u, "//", "//k@", 1) + "/"} }, "", "k"},
		{"both", func(u string) *Client { return &Client{URL: u, Token: "t", AccessKey: "k"} }, "Bearer t", "k"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got http.Header
			var path string
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				got, path = r.Header, r.URL.Path
				io.WriteString(w, "[]")
			})
			d := tt.make(c.URL)
			d.HTTP = c.HTTP
			if _, err := d.Spaces(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got.Get("Authorization") != tt.bearer || got.Get("X-Access-Key") != tt.keyIs || path != "/spaces" {
				t.Errorf("sent %q, %q to %q", got.Get("Authorization"), got.Get("X-Access-Key"), path)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		status     int
		body       string
		code, text string
		is         func(error) bool
	}{
		{404, `{"detail":"Space 'x' not found","code":"not_found","hint":"h"}`, CodeNotFound, "Space 'x' not found", IsNotFound},
		{422, `{"detail":"content is required"}`, CodeInvalid, "content is required", IsInvalid},
		{401, `{"detail":"invalid token"}`, CodeUnauthorized, "invalid token", IsAuth},
		{403, `plain text`, CodeForbidden, "plain text", IsAuth},
		{409, `{"detail":"bound elsewhere"}`, CodeConflict, "bound elsewhere", IsConflict},
		{413, `{}`, CodeTooLarge, "the daemon answered 413 Request Entity Too Large", IsInvalid},
		{500, ``, CodeInternal, "the daemon answered 500 Internal Server Error", func(err error) bool { return IsCode(err, CodeInternal) }},
		{503, `{"detail":"leaving"}`, CodeUnavailable, "leaving", func(err error) bool { return IsCode(err, CodeUnavailable) }},
		{504, `{"detail":"slow"}`, CodeTimeout, "slow", func(err error) bool { return IsCode(err, CodeTimeout) }},
	}
	for _, tt := range tests {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(tt.status); io.WriteString(w, tt.body) })
		_, err := c.Node(t.Context(), "x")
		var e *Error
		if !errors.As(err, &e) || e.Code != tt.code || e.Detail != tt.text || e.Status != tt.status || !tt.is(err) {
			t.Errorf("%d %s: got %#v", tt.status, tt.body, err)
		}
		if !errors.Is(err, &Error{Code: tt.code}) {
			t.Errorf("%d: errors.Is by code fails", tt.status)
		}
	}
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	c := &Client{URL: "http://secret@" + l.Addr().String()}
	_, err = c.Spaces(t.Context())
	if !IsUnreachable(err) || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	for _, bad := range []string{"127.0.0.1:8765", "ftp://x", "http://", "::"} {
		if _, err := (&Client{URL: bad}).Spaces(t.Context()); !IsInvalid(err) {
			t.Errorf("URL %q: got %v", bad, err)
		}
	}
}

func TestTimeoutIsTheCallersOwn(t *testing.T) {
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Spaces(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// cut answers nothing: the connection ends.
func cut(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		conn.Close()
	}
}

func TestSendIsRepeatedUnderOneKey(t *testing.T) {
	var keys, bodies []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		keys, bodies = append(keys, r.Header.Get("Idempotency-Key")), append(bodies, string(b))
		if len(keys) < 3 {
			cut(w)
			return
		}
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"id":"m1"}`)
	})
	m, err := c.Send(t.Context(), "s", SendMessage{Content: json.RawMessage(`{"n":12345678901234567890}`)})
	if err != nil || m.ID != "m1" {
		t.Fatal(m, err)
	}
	if len(keys) != 3 || keys[0] == "" || keys[0] != keys[1] || keys[1] != keys[2] || bodies[0] != bodies[2] {
		t.Errorf("keys %q, bodies %q", keys, bodies)
	}
	if !strings.Contains(bodies[0], "12345678901234567890") {
		t.Errorf("the number's digits are lost: %s", bodies[0])
	}
}

func TestSendKeepsTheBytes(t *testing.T) {
	tests := []struct {
		in   SendMessage
		want string
	}{
		{SendMessage{}, `{}`},
		{SendMessage{Content: json.RawMessage(`{ "a" : "<&>" }`)}, `{"content":{ "a" : "<&>" }}`},
		{SendMessage{ContentType: "x", Refs: &Ref{}}, `{"content_type":"x","refs":{"messages":[],"nodes":[]}}`},
		{
			SendMessage{Content: json.RawMessage(`{}`), Meta: json.RawMessage(`{"m":1.10}`), ContentSchema: json.RawMessage(`true`), ContentType: "x"},
			`{"content":{},"meta":{"m":1.10},"content_schema":true,"content_type":"x"}`,
		},
	}
	for _, tt := range tests {
		got, err := tt.in.encode()
		if err != nil || string(got) != tt.want {
			t.Errorf("got %s, want %s (%v)", got, tt.want, err)
		}
	}
	if _, err := (SendMessage{Content: json.RawMessage(`{"a":}`)}).encode(); !IsInvalid(err) {
		t.Errorf("got %v", err)
	}
}

func TestInviteIsNotRepeated(t *testing.T) {
	var n atomic.Int32
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { n.Add(1); cut(w) })
	if _, err := c.Invite(t.Context(), InviteCreate{}); !IsUnreachable(err) {
		t.Errorf("got %v", err)
	}
	if n.Load() > 1 {
		t.Errorf("asked %d times", n.Load())
	}
}

func TestRetryForWaitsForARestart(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"id":"inv"}`) })}
	defer s.Close()
	back := time.AfterFunc(100*time.Millisecond, func() {
		if l, err := net.Listen("tcp", addr); err == nil {
			_ = s.Serve(l)
		}
	})
	defer back.Stop()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	c := &Client{URL: "http://" + addr, RetryFor: 10 * time.Second, HTTP: &http.Client{Transport: tr}}
	if _, err := c.Invite(t.Context(), InviteCreate{}); err != nil {
		t.Error(err)
	}
}

func TestNext(t *testing.T) {
	tests := map[string]string{
		``: "",
		`</spaces/s/messages?after=m9&limit=2>; rel="next"`:                  "m9",
		`<http://h/x?after=a>; rel="prev", <http://h/x?after=b>; rel="next"`: "b",
		`</x?after=a>; rel="prev"`:                                           "",
		`garbage`:                                                            "",
	}
	for link, want := range tests {
		if got := next(http.Header{"Link": {link}}); got != want {
			t.Errorf("%s: %q, want %q", link, got, want)
		}
	}
}

func TestQueries(t *testing.T) {
	var got string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Method + " " + r.URL.RequestURI()
		if strings.Contains(r.URL.Path, "/views/") || strings.HasSuffix(r.URL.Path, "/state") {
			io.WriteString(w, `{}`)
			return
		}
		io.WriteString(w, `[]`)
	})
	ctx := t.Context()
	tests := []struct {
		want string
		call func() error
	}{
		{"GET /spaces/s%2F1/messages?all=true&limit=3&order=canonical", func() error {
			_, err := c.Read(ctx, ReadQuery{SpaceID: "s/1", All: true, Limit: 3, Order: "canonical"})
			return err
		}},
		{"GET /spaces/s/messages?direction=upstream&message_id=m", func() error {
			_, err := c.Read(ctx, ReadQuery{SpaceID: "s", MessageID: "m", Direction: "upstream"})
			return err
		}},
		{"GET /messages?ref_node=n&sender=x", func() error { _, err := c.Find(ctx, FindQuery{Sender: "x", RefNode: "n"}); return err }},
		{"GET /nodes/me/inbox?after=m&limit=5&unacked=true", func() error { _, err := c.Inbox(ctx, "", "m", 5, true); return err }},
		{"GET /spaces/s/plugins/p/views/v?params=%7B%22a%22%3A1%7D", func() error {
			_, err := c.View(ctx, "s", "p", "v", json.RawMessage(`{"a":1}`))
			return err
		}},
		{"GET /spaces/s/plugins/p/state", func() error { _, _, err := c.StateHash(ctx, "s", "p"); return err }},
	}
	for _, tt := range tests {
		if err := tt.call(); err != nil || got != tt.want {
			t.Errorf("got %s, want %s (%v)", got, tt.want, err)
		}
	}
}

// frame writes one event.
func frame(w io.Writer, id, text string) {
	fmt.Fprintf(w, "id: %s\nevent: message\ndata: {\"id\":%q,\"content\":{\"text\":%q}}\n\n", id, id, text)
}

func TestListenResumesWithoutAGap(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	var asked []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Last-Event-ID"))
		w.Header().Set("Content-Type", "text/event-stream")
		switch len(asked) {
		case 1:
			io.WriteString(w, ": keepalive\n\nid: m0\n\n") // a cursor alone
		case 2:
			frame(w, "m1", "one")
			frame(w, "m2", long)
			io.WriteString(w, "id: m3\nevent: message\ndata: {\"id\":\"m3\"") // cut in the middle
			w.(http.Flusher).Flush()
			cut(w)
			return
		case 3:
			frame(w, "m3", "three")
		}
	})
	var got []string
	for ev, err := range c.Listen(t.Context(), ListenQuery{SpaceID: "s"}) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, ev.Message.ID); len(got) == 3 {
			break
		}
	}
	if fmt.Sprint(got) != "[m1 m2 m3]" || fmt.Sprint(asked) != "[ m0 m2]" {
		t.Errorf("got %v, asked after %v", got, asked)
	}
}

func TestListenEnds(t *testing.T) {
	t.Run("by its context", func(t *testing.T) {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) { w.(http.Flusher).Flush(); <-r.Context().Done() })
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		for _, err := range c.Listen(ctx, ListenQuery{SpaceID: "s"}) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("refused", func(t *testing.T) {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404); io.WriteString(w, `{"detail":"no"}`) })
		var last error
		for _, err := range c.Listen(t.Context(), ListenQuery{SpaceID: "s"}) {
			last = err
		}
		if !IsNotFound(last) {
			t.Errorf("got %v", last)
		}
	})
	t.Run("told by an event", func(t *testing.T) {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "event: error\ndata: {\"status\":403,\"code\":\"forbidden\",\"detail\":\"revoked\"}\n\n")
		})
		var last error
		for _, err := range c.Listen(t.Context(), ListenQuery{SpaceID: "s"}) {
			last = err
		}
		if !IsCode(last, CodeForbidden) {
			t.Errorf("got %v", last)
		}
	})
}

func TestListenPaths(t *testing.T) {
	tests := []struct {
		q    ListenQuery
		want string
	}{
		{ListenQuery{SpaceID: "s"}, "/spaces/s/sse"},
		{ListenQuery{SpaceID: "s", FromStart: true}, "/spaces/s/sse?from=start"},
		{ListenQuery{SpaceID: "s", Head: "h", ForkDepth: 2}, "/spaces/s/sse?fork_depth=2&head=h"},
		{ListenQuery{SpaceID: "s", MessageID: "m"}, "/spaces/s/messages/m/sse"},
		{ListenQuery{Inbox: true}, "/nodes/me/sse"},
	}
	for _, tt := range tests {
		var got string
		c := serve(t, func(w http.ResponseWriter, r *http.Request) { got = r.URL.RequestURI(); w.WriteHeader(404) })
		for range c.Listen(t.Context(), tt.q) {
		}
		if got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.q, got, tt.want)
		}
	}
}

func TestExportImport(t *testing.T) {
	car := bytes.Repeat([]byte{1, 2, 3}, 1000)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Write(car)
			return
		}
		b, _ := io.ReadAll(r.Body)
		if r.Header.Get("Content-Type") != "application/vnd.ipld.car" || !bytes.Equal(b, car) {
			w.WriteHeader(422)
			return
		}
		io.WriteString(w, `{"space":"s","new":3}`)
	})
	var out bytes.Buffer
	if err := c.Export(t.Context(), "s", &out); err != nil || !bytes.Equal(out.Bytes(), car) {
		t.Fatal(err)
	}
	res, err := c.Import(t.Context(), &out)
	if err != nil || res.New != 3 {
		t.Error(res, err)
	}
}

func FuzzStream(f *testing.F) {
	f.Add([]byte("id: a\nevent: message\ndata: {}\n\n"))
	f.Add([]byte(":\n\ndata: {\ndata: }\n\nid\n\n"))
	f.Add([]byte("event: error\ndata: x\n\n\r\n\r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s := stream{client: &Client{}, take: messages(func(Event, error) bool { return true })}
		_ = s.read(newReader(bytes.NewReader(raw)))
	})
}
