package api_test

// This file tests the table of errors, and the edges of the limits.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"plexus/graph"
	"plexus/node/api"
	"plexus/sdk/client"
)

// failing answers every view with one error.
type failing struct{ err error }

func (f failing) AnswerView(context.Context, string, string, string, json.RawMessage, string) (client.Answer, error) {
	return client.Answer{JSON: json.RawMessage(`{}`)}, f.err
}

func (f failing) WatchView(context.Context, string, string, string, json.RawMessage, string) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) { yield(json.RawMessage(`{}`), f.err) }
}

func (f failing) Waiting(context.Context, string) ([]client.Waiting, error) {
	return []client.Waiting{}, f.err
}

func (f failing) StateHash(context.Context, string, string) (string, bool, error) {
	return "h", true, f.err
}

func TestErrorsBecomeAnswers(t *testing.T) {
	for _, c := range []struct {
		err          error
		status       int
		code, detail string
		hint         string // a part of it
	}{
		{graph.ErrInvalid, 422, "invalid_input", "invalid_input", ""},
		{&graph.InvalidError{Field: "content", Rule: graph.RulePayload, Detail: "no"}, 422, "invalid_input", "…", ""},
		{&graph.InvalidError{Rule: graph.RulePayloadSize}, 413, "too_large", "…", "send less"},
		{fmt.Errorf("Space 'x' not found: %w", graph.ErrNotFound), 404, "not_found", "Space 'x' not found", ""},
		{fmt.Errorf("open: %w", fmt.Errorf("deeper: %w", graph.ErrConflict)), 409, "conflict", "open: deeper", ""},
		{graph.ErrUnauthorized, 401, "unauthorized", "…", "register"},
		{graph.ErrForbidden, 403, "forbidden", "…", "token"},
		{graph.ErrTooLarge, 413, "too_large", "…", "send less"},
		{graph.ErrUnavailable, 503, "unavailable", "…", "try again"},
		{graph.ErrClosed, 503, "unavailable", "…", "try again"},
		{context.DeadlineExceeded, 504, "timeout", "…", "try again"},
		{&api.Fault{Kind: graph.ErrConflict, Detail: "task t1 is already claimed", Hint: "read the task"}, 409, "conflict", "task t1 is already claimed", "read the task"},
		{errors.New("open /secret/place: no"), 500, "internal", "internal error", "log"},
	} {
		t.Run(c.err.Error(), func(t *testing.T) {
			w := open(t)
			h := api.New(api.Config{Accounts: w.node, Directory: w.node, Inbox: w.node, Views: failing{c.err}, Admin: w.node})
			r := w.over(h).do("GET", "/spaces/s/plugins/p/views/v", "", "X-Access-Key", w.key)
			p := r.problem()
			if r.status != c.status || p.Status != c.status || p.Code != c.code || c.detail != "…" && p.Detail != c.detail || !strings.Contains(p.Hint, c.hint) || p.Detail == "" {
				t.Errorf("%d %+v", r.status, p)
			}
			if strings.Contains(r.body, "/secret") {
				t.Error("an internal error tells of the machine")
			}
			if got := r.header.Get("WWW-Authenticate"); (got != "") != (c.status == 401) {
				t.Errorf("WWW-Authenticate: %q", got)
			}
		})
	}
}

// params shows what a view is given.
type params struct{ failing }

func (params) AnswerView(_ context.Context, space, plugin, view string, p json.RawMessage, caller string) (client.Answer, error) {
	answer := fmt.Appendf(nil, `{"at":%q,"params":%s,"caller":%q}`, space+"/"+plugin+"/"+view, p, caller)
	return client.Answer{JSON: answer, File: "file", Current: true}, nil
}

func TestViews(t *testing.T) {
	w := open(t)
	ada := w.register("ada")
	h := api.New(api.Config{Accounts: w.node, Directory: w.node, Inbox: w.node, Views: params{}, Admin: w.node})
	u := user{w.over(h), ada.AuthResponse}
	for query, want := range map[string]string{
		"":                           `{}`,
		"?a=1&b=%22x":                `{"a":"1","b":"\"x"}`,
		"?params=%7B%22a%22:1.10%7D": `{"a":1.10}`,
	} {
		r := u.do("GET", "/spaces/s/plugins/p/views/v"+query, "")
		if want := fmt.Sprintf(`{"at":"s/p/v","params":%s,"caller":%q}`, want, ada.ID); r.body != want {
			t.Errorf("%q: %s, want %s", query, r.body, want)
		}
		if r.header.Get(client.HeaderPluginFile) != "file" || r.header.Get(client.HeaderPluginCurrent) != "true" {
			t.Errorf("it comes from %v", r.header)
		}
	}
	wantProblem(t, u.do("GET", "/spaces/s/plugins/p/views/v?params=x", ""), 422, "params is not valid JSON")
	wantProblem(t, u.do("GET", "/spaces/s/plugins/p/views/v?params=[]", ""), 422, "params must be a JSON object")
	if r := u.do("GET", "/spaces/s/plugins/p/state", ""); r.body != `{"hash":"h","current":true}` {
		t.Errorf("state: %d %s", r.status, r.body)
	}
}

func TestLimitsAtTheirEdge(t *testing.T) {
	w := open(t)
	ada := w.register("ada")
	space := ada.join("desk")
	path := "/spaces/" + space + "/messages"

	pad := func(n int) string { return `{"content":{}` + strings.Repeat(" ", n-len(`{"content":{}}`)) + `}` }
	if r := ada.do("POST", path, pad(api.MaxBody)); r.status != 201 {
		t.Errorf("a body of MaxBody: %d %s", r.status, r.body)
	}
	wantProblem(t, ada.do("POST", path, pad(api.MaxBody+1)), 413, fmt.Sprintf("the body is over %d bytes", api.MaxBody))

	frame := len(`{"content":{"a":""}}`)
	fits := `{"content":{"a":"` + strings.Repeat("x", graph.MaxPayload-frame) + `"}}`
	if r := ada.do("POST", path, fits); r.status != 201 {
		t.Errorf("a payload of MaxPayload: %d %.200s", r.status, r.body)
	}
	wantProblem(t, ada.do("POST", path, strings.Replace(fits, "x", "xx", 1)), 413, "")

	for n, want := range map[int]int{255: 201, 256: 422} {
		if r := ada.do("POST", path, `{"content":{}}`, "Idempotency-Key", strings.Repeat("k", n)); r.status != want {
			t.Errorf("a key of %d bytes: %d %s", n, r.status, r.body)
		}
	}
	node := make([]string, 0, graph.MaxRefNodes)
	for range 3 {
		node = append(node, w.register("n").ID)
	}
	refs, _ := json.Marshal(client.Ref{Nodes: node})
	big := `{"refs":` + string(refs) + `,` + fits[1:] // over MaxPayload as a body, within it as a payload
	if r := ada.do("POST", path, big); r.status != http.StatusCreated {
		t.Errorf("a full payload with refs beside it: %d %.200s", r.status, r.body)
	}
}

func TestSlowBody(t *testing.T) {
	w := open(t, func(c *api.Config) { c.BodyWait = 20 * time.Millisecond })
	ada := w.register("ada")
	conn := ada.stall("/health") // its answer is read first
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST /nodes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\n{\"name\":", ada.Token)
	if resp, err = http.ReadResponse(r, nil); err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	wantProblem(t, reply{resp.StatusCode, resp.Header, string(body)}, 422, "the body didn't arrive within 20ms")
}

// breaking is an Admin whose export fails after the first bytes.
type breaking struct{ api.Admin }

func (breaking) Export(_ context.Context, _ string, w io.Writer) error {
	if _, err := w.Write(make([]byte, 64<<10)); err != nil {
		return err
	}
	return errors.New("disk gone")
}

func TestBrokenExportIsNoFile(t *testing.T) {
	w := open(t)
	h := api.New(api.Config{Accounts: w.node, Directory: w.node, Inbox: w.node, Views: w.node, Admin: breaking{w.node}})
	if r, err := w.over(h).try("GET", "/admin/spaces/x/export", "", "X-Access-Key", w.key); err == nil {
		t.Errorf("half a file looks whole: %d, %d bytes", r.status, len(r.body))
	}
}
