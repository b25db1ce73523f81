package api_test

// This file tests the doors of P2A: wrong input at each route, the edges of what may wait, and arbitrary bodies. What stands behind them is
// tested in package node.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"plexus/graph"
	"plexus/node/api"
	"plexus/sdk/client"
)

// desk is a P2A with one caller, which remembers what it was asked for last.
type desk struct {
	mu      sync.Mutex // owns what is below
	asked   client.TaskRequest
	query   client.TaskQuery
	answers chan struct{} // Answered was called
	end     string        // the status of a task that was waited for
	hold    chan struct{} // nil, or waited for by Task
	waiting chan struct{}
}

const (
	deskToken = api.CallerPrefix + "token"
	otherDesk = api.CallerPrefix + "other"
)

func (d *desk) Caller(_ context.Context, token string) (client.Caller, error) {
	if token != deskToken && token != otherDesk {
		return client.Caller{}, &api.Fault{Kind: graph.ErrUnauthorized, Detail: "invalid token"}
	}
	return client.Caller{ID: token, Name: "shop", Spaces: []string{"s"}, RatePerMin: 100_000}, nil
}

func (d *desk) Submit(_ context.Context, caller string, in client.TaskRequest) (client.Task, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = in
	return client.Task{ID: "t", SpaceID: caller, TaskType: in.TaskType, Status: "pending", Mode: in.Mode, Poll: "/p2a/tasks/t"}, nil
}

func (d *desk) Task(ctx context.Context, caller, id string, wait time.Duration) (client.Task, error) {
	if id == "none" {
		return client.Task{}, fmt.Errorf("Task 'none' not found: %w", graph.ErrNotFound)
	}
	d.mu.Lock()
	hold, waiting := d.hold, d.waiting
	t := client.Task{ID: id, SpaceID: caller, Status: "pending", Mode: d.asked.Mode, Text: wait.String()}
	if d.end != "" {
		t.Status, t.Final = d.end, true
	}
	d.mu.Unlock()
	if hold != nil && wait > 0 {
		waiting <- struct{}{}
		select {
		case <-hold:
		case <-ctx.Done():
		}
	}
	return t, nil
}

func (d *desk) Answered(context.Context, string, string) error {
	d.answers <- struct{}{}
	return nil
}

func (d *desk) Tasks(_ context.Context, _ string, q client.TaskQuery) (client.TaskPage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.query = q
	return client.TaskPage{Next: "t2"}, nil
}

func (d *desk) Cancel(_ context.Context, _, id, reason string) (client.Task, error) {
	return client.Task{ID: id, Reason: reason, Status: "cancelled", Final: true}, nil
}

func (d *desk) Inform(_ context.Context, _, id string, in client.TaskInfo) (client.Task, error) {
	return client.Task{ID: id, Text: in.Text, Result: in.Payload}, nil
}

func (d *desk) Offers(context.Context, string) ([]client.Offer, error) { return nil, nil }

func (d *desk) AddCaller(_ context.Context, in client.CallerCreate) (client.CallerSecrets, error) {
	return client.CallerSecrets{Caller: client.Caller{Name: in.Name, Spaces: in.Spaces}, Token: deskToken}, nil
}

func (d *desk) Callers(context.Context) ([]client.Caller, error) { return nil, nil }

func (d *desk) RevokeCaller(_ context.Context, name string) error {
	if name == "none" {
		return graph.ErrNotFound
	}
	return nil
}

func (d *desk) RotateCaller(_ context.Context, name string, in client.CallerRotate) (client.CallerSecrets, error) {
	return client.CallerSecrets{Caller: client.Caller{Name: name, Revoked: in.Webhook}}, nil
}

// atDesk is a handler with a desk behind it.
func atDesk(w *world, d *desk) *world {
	return w.over(api.New(api.Config{Accounts: w.node, Directory: w.node, Inbox: w.node, Views: w.node, Admin: w.node, P2A: d, Callers: d}))
}

func TestP2AInput(t *testing.T) {
	w := open(t)
	at := atDesk(w, &desk{})
	ada := w.register("ada")
	token := []string{"Authorization", "Bearer " + deskToken}
	for _, c := range []struct {
		method, path, body string
		headers            []string
		status             int
		detail             string
	}{
		{"POST", "/p2a/tasks", `{"task_type":"x"}`, nil, 401, "a caller's token is required"},
		{"POST", "/p2a/tasks", `{"task_type":"x"}`, []string{"X-Access-Key", w.key}, 401, "a caller's token is required"},
		{"POST", "/p2a/tasks", `{"task_type":"x"}`, []string{"Authorization", "Bearer " + ada.Token}, 403, "this needs a caller's token, not a Node's"},
		{"POST", "/p2a/tasks", `{"task_type":"x"}`, []string{"Authorization", "Bearer p2a_x"}, 401, "invalid token"},
		{"POST", "/p2a/tasks", ``, token, 422, "the body is not valid JSON: it ends early"},
		{"POST", "/p2a/tasks", `[]`, token, 422, "the body must be a JSON object"},
		{"POST", "/p2a/tasks", `{}`, token, 422, "task_type is required"},
		{"POST", "/p2a/tasks", `{"task_type":1}`, token, 422, "task_type must be a string"},
		{"POST", "/p2a/tasks", `{"task_type":"x","payload":[]}`, token, 422, "payload must be a JSON object"},
		{"POST", "/p2a/tasks", `{"task_type":"x","payload":{"a":1,"a":2}}`, token, 422, "…"},
		{"POST", "/p2a/tasks", `{"task_type":"x","nodes":"n"}`, token, 422, "nodes must be an array"},
		{"POST", "/p2a/tasks", `{"task_type":"x","priority":"high"}`, token, 422, "priority must be an integer"},
		{"POST", "/p2a/tasks", `{"task_type":"x","what":1}`, token, 422, "unknown field 'what'"},
		{"POST", "/p2a/tasks", `{"task_type":"x","task_type":"y"}`, token, 422, "duplicate field 'task_type'"},
		{"POST", "/p2a/tasks", `{"task_type":"x","mode":"slow"}`, token, 422, "mode must be 'async', 'sync', 'callback' or 'hybrid'"},
		{"POST", "/p2a/tasks", `{"task_type":"x","mode":"callback"}`, token, 422, "callback_url is required in mode callback"},
		{"POST", "/p2a/tasks", `{"task_type":"x","mode":"hybrid"}`, token, 422, "callback_url is required in mode hybrid"},
		{"POST", "/p2a/tasks", `{"task_type":"x","callback_url":"https://a"}`, token, 422, "callback_url has no meaning in mode async"},
		{"POST", "/p2a/tasks", `{"task_type":"x","mode":"sync","callback_url":"https://a"}`, token, 422, "callback_url has no meaning in mode sync"},
		{"POST", "/p2a/tasks", `{"task_type":"x","wait_s":1}`, token, 422, "wait_s has no meaning in mode async"},
		{"POST", "/p2a/tasks", `{"task_type":"x","mode":"sync","wait_s":61}`, token, 422, "wait_s must be from 1 to 60"},
		{"POST", "/p2a/tasks", `{"task_type":"x","mode":"sync","wait_s":-1}`, token, 422, "wait_s must be from 1 to 60"},
		{"GET", "/p2a/tasks", "", nil, 401, "a caller's token is required"},
		{"GET", "/p2a/tasks?limit=0", "", token, 422, "limit must be greater than 0"},
		{"GET", "/p2a/tasks?status=gone", "", token, 422, "status must be…"},
		{"GET", "/p2a/tasks/t", "", nil, 401, "a caller's token is required"},
		{"GET", "/p2a/tasks/none", "", token, 404, "Task 'none' not found"},
		{"GET", "/p2a/tasks/t?wait_s=61", "", token, 422, "wait_s must be from 1 to 60"},
		{"GET", "/p2a/tasks/t?wait_s=x", "", token, 422, "wait_s must be greater than 0"},
		{"POST", "/p2a/tasks/t/cancel", `{}`, nil, 401, "a caller's token is required"},
		{"POST", "/p2a/tasks/t/cancel", `{"reason":1}`, token, 422, "reason must be a string"},
		{"POST", "/p2a/tasks/t/info", `{}`, nil, 401, "a caller's token is required"},
		{"POST", "/p2a/tasks/t/info", `{}`, token, 422, "text or payload is required"},
		{"POST", "/p2a/tasks/t/info", `{"payload":1}`, token, 422, "payload must be a JSON object"},
		{"GET", "/p2a/capabilities", "", nil, 401, "a caller's token is required"},
		{"POST", "/admin/callers", `{}`, nil, 401, "access key required"},
		{"POST", "/admin/callers", `{}`, token, 403, "a caller's token opens /p2a alone"},
		{"POST", "/admin/callers", `{"spaces":"s"}`, []string{"X-Access-Key", w.key}, 422, "spaces must be an array"},
		{"GET", "/admin/callers", "", nil, 401, "access key required"},
		{"DELETE", "/admin/callers/none", "", []string{"X-Access-Key", w.key}, 404, ""},
		{"DELETE", "/admin/callers/shop", "", nil, 401, "access key required"},
		{"POST", "/admin/callers/shop/rotate", `{"webhook":1}`, []string{"X-Access-Key", w.key}, 422, "webhook must be a boolean"},
		{"POST", "/admin/callers/shop/rotate", `{}`, nil, 401, "access key required"},
		{"GET", "/nodes", "", token, 403, "a caller's token opens /p2a alone"},
		{"POST", "/spaces", `{"name":"x"}`, token, 403, "a caller's token opens /p2a alone"},
		{"PUT", "/p2a/tasks/t", "", token, 405, "method not allowed"},
	} {
		t.Run(c.method+" "+c.path+" "+c.body, func(t *testing.T) {
			wantProblem(t, at.do(c.method, c.path, c.body, c.headers...), c.status, c.detail)
		})
	}
}

// A node without P2A says so at each of its doors, and in no-auth mode a token is needed all the same.
func TestP2AIsAbsent(t *testing.T) {
	w := open(t)
	for method, paths := range map[string][]string{
		"GET": {"/p2a/tasks", "/p2a/tasks/t", "/p2a/capabilities", "/admin/callers"}, "POST": {"/p2a/tasks", "/p2a/tasks/t/cancel", "/admin/callers", "/admin/callers/x/rotate"},
		"DELETE": {"/admin/callers/x"},
	} {
		for _, path := range paths {
			wantProblem(t, w.do(method, path, "{}", "X-Access-Key", w.key), 422, "this node takes no P2A callers")
		}
	}
	d := &desk{}
	free := w.over(api.New(api.Config{Accounts: w.node, Directory: w.node, Inbox: w.node, Views: w.node, Admin: w.node, P2A: d, Callers: d, NoAuth: true}))
	wantProblem(t, free.do("GET", "/p2a/tasks", "", "X-Node-ID", "x"), 401, "a caller's token is required")
}

func TestP2AAnswers(t *testing.T) {
	w := open(t)
	d := &desk{answers: make(chan struct{}, 8)}
	at := atDesk(w, d)
	token := []string{"Authorization", "Bearer " + deskToken}
	r := at.do("POST", "/p2a/tasks", `{"task_type":"x","payload":{"a": 1.10}}`, append(token, "Idempotency-Key", "k")...)
	task := decode[client.Task](t, r, 201)
	if r.header.Get("Location") != "/p2a/tasks/t" || task.Mode != "async" || d.asked.IdempotencyKey != "k" || string(d.asked.Payload) != `{"a": 1.10}` || d.asked.WaitS != 0 {
		t.Errorf("%+v, %v, asked %+v", task, r.header, d.asked)
	}
	d.end = "completed"
	for body, want := range map[string]struct {
		wait     string
		answered int
	}{
		`{"task_type":"x","mode":"sync"}`:                                              {"30s", 0},
		`{"task_type":"x","mode":"sync","wait_s":60}`:                                  {"1m0s", 0},
		`{"task_type":"x","mode":"hybrid","wait_s":1,"callback_url":"https://a.test"}`: {"1s", 1},
	} {
		if got := decode[client.Task](t, at.do("POST", "/p2a/tasks", body, token...), 201); got.Text != want.wait || !got.Final {
			t.Errorf("%s: %+v", body, got)
		}
		for range want.answered {
			<-d.answers
		}
	}
	if n := len(d.answers); n != 0 {
		t.Errorf("%d that weren't hybrid are noted as answered", n)
	}
	for path, want := range map[string]int{"/p2a/tasks": 50, "/p2a/tasks?limit=200": 200, "/p2a/tasks?limit=201": 200, "/p2a/tasks?limit=1&status=failed": 1} {
		r := at.do("GET", path, "", token...)
		if r.status != 200 || r.body != "[]" || d.query.Limit != want || !strings.Contains(r.header.Get("Link"), "after=t2") {
			t.Errorf("%s: %d %s, %+v, %v", path, r.status, r.body, d.query, r.header)
		}
	}
	if r := at.do("GET", "/p2a/capabilities", "", token...); r.body != "[]" {
		t.Errorf("offers: %s", r.body)
	}
	if got := decode[client.Task](t, at.do("GET", "/p2a/tasks/t?wait_s=60", "", token...), 200); got.Text != "1m0s" {
		t.Errorf("waited: %+v", got)
	}
	if got := decode[client.Task](t, at.do("POST", "/p2a/tasks/t/cancel", `{"reason":"r"}`, token...), 200); got.Reason != "r" {
		t.Errorf("cancelled: %+v", got)
	}
	if got := decode[client.Task](t, at.do("POST", "/p2a/tasks/t/info", `{"payload":{"a":1}}`, token...), 200); string(got.Result) != `{"a":1}` {
		t.Errorf("informed: %+v", got)
	}
}

// So many requests of one caller wait at once; the next is told to come again, and another caller isn't held up.
func TestP2AWaiting(t *testing.T) {
	const most = 64
	w := open(t)
	d := &desk{hold: make(chan struct{}), waiting: make(chan struct{}, most)}
	at := atDesk(w, d)
	token := []string{"Authorization", "Bearer " + deskToken}
	answers := make(chan int, most)
	for range most {
		go func() {
			r, err := at.try("GET", "/p2a/tasks/t?wait_s=60", "", token...)
			if err != nil {
				t.Error(err)
			}
			answers <- r.status
		}()
	}
	for range most {
		<-d.waiting
	}
	for _, r := range []reply{
		at.do("GET", "/p2a/tasks/t?wait_s=1", "", token...), at.do("POST", "/p2a/tasks", `{"task_type":"never","mode":"sync"}`, token...),
	} {
		p := r.problem()
		if r.status != 429 || p.Code != client.CodeRateLimited || r.header.Get("Retry-After") != "1" {
			t.Errorf("one more: %d %s", r.status, r.body)
		}
	}
	if d.asked.TaskType == "never" {
		t.Error("a task was made, and its request refused")
	}
	if r := at.do("GET", "/p2a/tasks/t", "", token...); r.status != 200 {
		t.Errorf("one that doesn't wait: %d", r.status)
	}
	close(d.hold)
	if r := at.do("GET", "/p2a/tasks/t?wait_s=1", "", "Authorization", "Bearer "+otherDesk); r.status != 200 {
		t.Errorf("another caller: %d", r.status)
	}
	for range most {
		if status := <-answers; status != 200 {
			t.Errorf("one of those that waited: %d", status)
		}
	}
}

func FuzzP2ABodies(f *testing.F) {
	paths := []string{"/p2a/tasks", "/p2a/tasks/t/cancel", "/p2a/tasks/t/info", "/admin/callers", "/admin/callers/shop/rotate"}
	for _, seed := range []string{
		``, `{}`, `[]`, `null`, `{"task_type":"x"}`, `{"task_type":""}`, `{"task_type":"x","payload":{"a":1e999}}`, `{"task_type":"x","payload":null}`, `{"task_type":"\u0000"}`,
		`{"task_type":"x","mode":"sync","wait_s":1}`, `{"task_type":"x","mode":"sync","wait_s":1e9}`, `{"task_type":"x","mode":"callback","callback_url":"https://a"}`,
		`{"task_type":"x","priority":-1,"nodes":["a",null],"deadline":"x"}`, `{"text":"x","payload":{}}`, `{"reason":"\ud800"}`, `{"name":"n","spaces":["s"],"types":[]}`,
		`{"webhook":true}`, "{\"task_type\":\"\xff\"}", `{"task_type":"x","payload":` + strings.Repeat(`{"a":`, 80) + `1` + strings.Repeat(`}`, 81),
	} {
		for i := range paths {
			f.Add(uint8(i), []byte(seed))
		}
	}
	w := open(f)
	d := &desk{}
	h := api.New(api.Config{Accounts: w.node, Directory: w.node, Inbox: w.node, Views: w.node, Admin: w.node, P2A: d, Callers: d})
	f.Fuzz(func(t *testing.T, n uint8, body []byte) {
		path := paths[int(n)%len(paths)]
		req := httptest.NewRequest("POST", "http://localhost"+path, bytes.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+deskToken)
		if strings.HasPrefix(path, "/admin") {
			req.Header.Del("Authorization")
			req.Header.Set("X-Access-Key", w.key)
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		switch {
		case rec.Code == http.StatusTooManyRequests: // the fuzzer is fast
		case rec.Code >= 500:
			t.Fatalf("%s with %q: %d %s", path, body, rec.Code, rec.Body)
		case rec.Code >= 400:
			wantProblem(t, reply{rec.Code, rec.Header(), rec.Body.String()}, rec.Code, "")
		case path == "/p2a/tasks":
			checkAsked(t, d.asked)
		}
	})
}

// checkAsked says what holds of every request that came through the door.
func checkAsked(t *testing.T, in client.TaskRequest) {
	t.Helper()
	tells := in.Mode == client.ModeCallback || in.Mode == client.ModeHybrid
	waits := in.Mode == client.ModeSync || in.Mode == client.ModeHybrid
	if in.TaskType == "" || tells != (in.CallbackURL != "") || waits != (in.WaitS > 0) || in.WaitS > 60 || len(in.Payload) > 0 && !json.Valid(in.Payload) {
		t.Errorf("taken: %+v", in)
	}
}
