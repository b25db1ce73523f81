package node

// This file tests P2A over real HTTP: a caller's program asks, an agent of the Space works, a receiver is called back.

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"plexus/node/api"
	"plexus/sdk/client"
)

// shop is a running node with a Space, an agent in it, and a caller's client.
type shop struct {
	t     *testing.T
	node  *Node
	srv   *httptest.Server
	stop  func() error
	space string
	agent api.Service
	id    string // the agent's
	made  client.CallerSecrets
	call  *client.Client
}

var loopbackNets = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// openShop opens a node with the node's own patterns and callbacks to loopback.
func openShop(t *testing.T, dir string, change ...func(*Config)) *shop {
	t.Helper()
	n := open(t, dir, append([]func(*Config){func(c *Config) { c.Plugins, c.Callbacks = nil, loopbackNets }}, change...)...)
	p := n.gateway.pace
	p.first, p.last, p.grace = 20*time.Millisecond, 200*time.Millisecond, time.Second
	n.gateway.pace = p
	s := &shop{t: t, node: n, stop: run(t, n), srv: httptest.NewServer(n.Handler())}
	t.Cleanup(s.srv.Close)
	return s
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := openShop(t, t.TempDir())
	s.agent, s.id = register(t, s.node, "worker")
	s.space = join(t, s.agent, "orders")
	s.ready()
	s.made = s.caller(client.CallerCreate{Name: "web shop", Spaces: []string{s.space}, RatePerMin: 100_000})
	s.call = s.client(s.made.Token)
	return s
}

func (s *shop) caller(in client.CallerCreate) client.CallerSecrets {
	s.t.Helper()
	made, err := s.admin().AddCaller(s.t.Context(), in)
	if err != nil {
		s.t.Fatal(err)
	}
	return made
}

func (s *shop) client(token string) *client.Client {
	tr := &http.Transport{}
	s.t.Cleanup(tr.CloseIdleConnections)
	return &client.Client{URL: s.srv.URL, Token: token, HTTP: &http.Client{Transport: tr}}
}

func (s *shop) admin() *client.Client {
	c := s.client("")
	c.AccessKey = accessKey(s.t, s.node.cfg.Dir)
	return c
}

// close ends the node, as a stop does.
func (s *shop) close() {
	s.t.Helper()
	s.srv.Close()
	if err := s.stop(); err != nil {
		s.t.Fatal(err)
	}
	if err := s.node.Close(); err != nil {
		s.t.Fatal(err)
	}
}

// again opens the data dir of a node that was closed.
func (s *shop) again() *shop {
	s.t.Helper()
	next := openShop(s.t, s.node.cfg.Dir)
	next.space, next.id, next.made = s.space, s.id, s.made
	var err error
	if next.agent, err = next.node.As(s.id); err != nil {
		s.t.Fatal(err)
	}
	next.call = next.client(s.made.Token)
	next.ready()
	return next
}

func (s *shop) ready() {
	s.t.Helper()
	ready(s.t, s.node, s.space)
}

// do runs a command of the task plugin as the agent.
func (s *shop) do(command string, params map[string]any) {
	s.t.Helper()
	s.doAs(s.id, "task", command, params)
}

func (s *shop) doAs(id, plugin, command string, params map[string]any) {
	s.t.Helper()
	b, err := json.Marshal(params)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.node.Do(s.t.Context(), s.space, plugin, command, b, id); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shop) finish(task string, result any) {
	s.t.Helper()
	for _, command := range []string{"confirm", "start"} {
		s.do(command, map[string]any{"task": task})
	}
	s.do("complete", map[string]any{"task": task, "result": result})
}

func (s *shop) submit(in client.TaskRequest) client.Task {
	s.t.Helper()
	if in.TaskType == "" {
		in.TaskType = "pack"
	}
	t, err := s.call.Submit(s.t.Context(), in)
	if err != nil {
		s.t.Fatal(err)
	}
	return t
}

func (s *shop) poll(id string) client.Task {
	s.t.Helper()
	t, err := s.call.Poll(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return t
}

// receiver is a program that takes callbacks, and answers what answer says.
type receiver struct {
	t   *testing.T
	srv *httptest.Server

	mu     sync.Mutex // owns what is below
	got    []delivery
	answer func(n int) int // of the nth delivery, from 1
}

type delivery struct {
	header http.Header
	body   []byte
}

func newReceiver(t *testing.T, answer func(n int) int) *receiver {
	r := &receiver{t: t, answer: answer}
	r.srv = httptest.NewServer(r)
	t.Cleanup(r.srv.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	r.got = append(r.got, delivery{req.Header.Clone(), body})
	status := r.answer(len(r.got))
	r.mu.Unlock()
	if status/100 == 3 {
		w.Header().Set("Location", "http://"+req.Host+"/elsewhere")
	}
	w.WriteHeader(status)
}

func (r *receiver) deliveries() []delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]delivery(nil), r.got...)
}

func always(status int) func(int) int { return func(int) int { return status } }

func TestSubmitAndPoll(t *testing.T) {
	s := newShop(t)
	task := s.submit(client.TaskRequest{Title: "order 17", Payload: json.RawMessage(`{"order":17}`)})
	if task.Status != "pending" || task.Final || task.Mode != client.ModeAsync || task.Poll != "/p2a/tasks/"+task.ID || task.SpaceID != s.space {
		t.Fatalf("submitted: %+v", task)
	}
	if got := s.poll(task.ID); got.Status != "pending" || got.Title != "order 17" || got.CreatedAt != task.CreatedAt {
		t.Errorf("polled: %+v", got)
	}
	s.do("confirm", map[string]any{"task": task.ID})
	s.do("start", map[string]any{"task": task.ID})
	s.do("progress", map[string]any{"task": task.ID, "percent": 40, "text": "wrapping"})
	if got := s.poll(task.ID); got.Status != "executing" || got.By != s.id || got.Percent == nil || *got.Percent != 40 || got.Text != "wrapping" {
		t.Errorf("under way: %+v", got)
	}
	s.do("complete", map[string]any{"task": task.ID, "result": map[string]any{"parcel": "p1"}, "artefacts": []any{map[string]any{"name": "label", "cid": "bafy"}}})
	got, err := s.call.Wait(t.Context(), task.ID)
	if err != nil || got.Status != "completed" || !got.Final || string(got.Result) != `{"parcel":"p1"}` || len(got.Artefacts) != 1 {
		t.Errorf("ended: %+v, %v", got, err)
	}
	// The gateway accepts the result as the task's author.
	eventually(t, "the result is accepted", func() bool {
		v, err := s.node.View(t.Context(), s.space, "task", "task", json.RawMessage(`{"task":"`+task.ID+`"}`), "")
		return err == nil && strings.Contains(string(v), `"accepted":true`)
	})
	eventually(t, "nothing of it is followed any more", func() bool {
		g := s.node.gateway
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.tasks) == 0 && len(g.of) == 0 && len(g.open) == 0 && len(g.waiting) == 0
	})
}

func TestCallback(t *testing.T) {
	s := newShop(t)
	r := newReceiver(t, func(n int) int { return map[bool]int{true: 503, false: 204}[n < 3] })
	task := s.submit(client.TaskRequest{Mode: client.ModeCallback, CallbackURL: r.srv.URL + "/hook?shop=1"})
	s.finish(task.ID, "done")
	eventually(t, "the callback is delivered", func() bool {
		cs := s.poll(task.ID).Callbacks
		return len(cs) == 1 && cs[0].State == client.CallbackDelivered
	})
	got := r.deliveries()
	if len(got) != 3 {
		t.Fatalf("%d deliveries", len(got))
	}
	for i, d := range got {
		ev, err := client.VerifyWebhook(d.header, d.body, time.Now(), s.made.WebhookSecret)
		if err != nil || ev.Type != "task.completed" || ev.Data.ID != task.ID || string(ev.Data.Result) != `"done"` {
			t.Errorf("delivery %d: %+v, %v", i, ev, err)
		}
		if d.header.Get("webhook-id") != got[0].header.Get("webhook-id") || string(d.body) != string(got[0].body) {
			t.Errorf("delivery %d differs from the first", i)
		}
	}
	if c := s.poll(task.ID).Callbacks[0]; c.Attempts != 3 || c.Status != 204 || c.NextAt != "" || c.ID != got[0].header.Get("webhook-id") {
		t.Errorf("what became of it: %+v", c)
	}
}
