package api_test

// This file holds what the tests share: a node on a temporary directory behind a real HTTP server, and a small caller.

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"plexus/node/api"
	"plexus/sdk/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long anything may take before a test gives up: long, for slow machines.
const patience = 2 * time.Minute

// backend is all a node offers the package.
type backend interface {
	api.Accounts
	api.Directory
	api.Inbox
	api.Views
	api.Admin
	api.Trust
}

// world is one node behind a server.
type world struct {
	tb   testing.TB
	node backend
	key  string
	url  string
	http *http.Client
}

// open starts a node and serves it. tune may change the configuration.
func open(tb testing.TB, tune ...func(*api.Config)) *world {
	tb.Helper()
	return serve(tb, false, tune...)
}

func serve(tb testing.TB, peers bool, tune ...func(*api.Config)) *world {
	tb.Helper()
	cfg := api.Config{Version: "1.2.3"}
	for _, f := range tune {
		f(&cfg)
	}
	n, key := openNode(tb, cfg.NoAuth, peers)
	cfg.Accounts, cfg.Directory, cfg.Inbox, cfg.Views, cfg.Admin, cfg.Trust = n, n, n, n, n, n
	h := api.New(cfg)
	srv := httptest.NewServer(h)
	tr := &http.Transport{}
	tb.Cleanup(func() {
		_ = h.Close()
		tr.CloseIdleConnections()
		srv.Close()
	})
	return &world{tb: tb, node: n, key: key, url: srv.URL, http: &http.Client{Transport: tr, Timeout: patience}}
}

func noAuth(c *api.Config) { c.NoAuth = true }

// reply is an answer, read whole.
type reply struct {
	status int
	header http.Header
	body   string
}

func (r reply) problem() client.Problem {
	var p client.Problem
	_ = json.Unmarshal([]byte(r.body), &p)
	return p
}

// try makes a request; headers come as name, value, name, value.
func (w *world) try(method, path, body string, headers ...string) (reply, error) {
	req, err := http.NewRequest(method, w.url+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := w.http.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(b)}, err
}

func (w *world) do(method, path, body string, headers ...string) reply {
	w.tb.Helper()
	r, err := w.try(method, path, body, headers...)
	if err != nil {
		w.tb.Fatalf("%s %s: %v", method, path, err)
	}
	return r
}

// user is a registered Node and its token.
type user struct {
	w *world
	client.AuthResponse
}

func (w *world) register(name string) user {
	w.tb.Helper()
	body := fmt.Sprintf(`{"name":%q,"description":"%s's own","access_key":%q}`, name, name, w.key)
	return user{w, decode[client.AuthResponse](w.tb, w.do("POST", "/auth/register", body), http.StatusCreated)}
}

func (u user) do(method, path, body string, headers ...string) reply {
	u.w.tb.Helper()
	return u.w.do(method, path, body, append(headers, "Authorization", "Bearer "+u.Token)...)
}

// join creates or joins a Space and returns its ID.
func (u user) join(name string) string {
	u.w.tb.Helper()
	return decode[client.SpaceInfo](u.w.tb, u.do("POST", "/spaces", fmt.Sprintf(`{"name":%q,"description":"works"}`, name)), http.StatusOK).ID
}

// send sends a body and returns the message.
func (u user) send(space, body string) client.Message {
	u.w.tb.Helper()
	return decode[client.Message](u.w.tb, u.do("POST", "/spaces/"+space+"/messages", body), http.StatusCreated)
}

// say sends a text with references.
func (u user) say(space, text string, messages, nodes []string) client.Message {
	u.w.tb.Helper()
	refs, _ := json.Marshal(client.Ref{Messages: messages, Nodes: nodes})
	return u.send(space, fmt.Sprintf(`{"content":{"text":%q},"refs":%s}`, text, refs))
}

// read reads one page and returns the IDs and the next link.
func (u user) read(path string) (ids []string, next string) {
	u.w.tb.Helper()
	r := u.do("GET", path, "")
	for _, m := range decode[[]client.Message](u.w.tb, r, http.StatusOK) {
		ids = append(ids, m.ID)
	}
	if link := r.header.Get("Link"); link != "" {
		next = strings.TrimPrefix(strings.Split(link, ">")[0], "<")
	}
	return ids, next
}

func decode[T any](tb testing.TB, r reply, status int) (v T) {
	tb.Helper()
	if r.status != status {
		tb.Fatalf("status %d, want %d: %.300s", r.status, status, r.body)
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(r.body)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		tb.Fatalf("answer %s: %v", r.body, err)
	}
	return v
}

func ids(ms ...client.Message) []string {
	var out []string
	for _, m := range ms {
		out = append(out, m.ID)
	}
	return out
}

// codes are the names of errors by status.
var codes = map[int]string{
	400: "invalid_input", 401: "unauthorized", 403: "forbidden", 404: "not_found", 405: "invalid_input",
	409: "conflict", 413: "too_large", 422: "invalid_input", 503: "unavailable",
}

// wantProblem checks that an answer is a problem with this status and detail ("": any; a trailing … matches a prefix).
func wantProblem(tb testing.TB, r reply, status int, detail string) {
	tb.Helper()
	p := r.problem()
	if r.status != status || p.Status != status {
		tb.Errorf("status %d (in the body %d), want %d: %.300s", r.status, p.Status, status, r.body)
	}
	if got := r.header.Get("Content-Type"); got != "application/problem+json" {
		tb.Errorf("content type %q", got)
	}
	if p.Code != codes[status] {
		tb.Errorf("code %q, want %q", p.Code, codes[status])
	}
	prefix, open := strings.CutSuffix(detail, "…")
	if p.Detail == "" || !open && detail != "" && p.Detail != detail || open && !strings.HasPrefix(p.Detail, prefix) {
		tb.Errorf("detail %q, want %q", p.Detail, detail)
	}
}

func basic(user string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"))
}

// over is the same node behind another handler.
func (w *world) over(h http.Handler) *world {
	w.tb.Helper()
	srv := httptest.NewServer(h)
	w.tb.Cleanup(func() {
		w.http.CloseIdleConnections()
		srv.Close()
	})
	other := *w
	other.url = srv.URL
	return &other
}
