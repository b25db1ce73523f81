package node

// This file tests callbacks: over restarts and kills on either side, given up, disabled, and where they may not go.

import (
	"bufio"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"plexus/graph"
	"plexus/node/api"
	"plexus/sdk/client"
)

// callback waits until a task's only callback is in a state.
func (s *shop) callback(task, state string) client.Callback {
	s.t.Helper()
	var last client.Callback
	eventually(s.t, "the callback is "+state, func() bool {
		cs := s.poll(task).Callbacks
		if len(cs) == 1 {
			last = cs[0]
		}
		return last.State == state
	})
	return last
}

// slowly makes a node try a second time only much later.
func (s *shop) slowly() { s.node.gateway.pace.first, s.node.gateway.pace.last = time.Hour, time.Hour }

func TestCallbackOverARestart(t *testing.T) {
	s := newShop(t)
	r := newReceiver(t, func(n int) int { return map[bool]int{true: 500, false: 200}[n == 1] })
	s.slowly()
	task := s.submit(client.TaskRequest{Mode: client.ModeCallback, CallbackURL: r.srv.URL})
	open := s.submit(client.TaskRequest{Mode: client.ModeCallback, CallbackURL: r.srv.URL})
	s.finish(task.ID, 1)
	eventually(t, "the first try has failed", func() bool { cs := s.poll(task.ID).Callbacks; return len(cs) == 1 && cs[0].Attempts == 1 })
	c := s.poll(task.ID).Callbacks[0]
	if c.State != client.CallbackWaiting || c.Status != 500 || c.NextAt == "" {
		t.Errorf("between tries: %+v", c)
	}
	s.close()
	s = s.again()
	if got := s.poll(task.ID); got.Status != "completed" || got.Callbacks[0].State != client.CallbackWaiting {
		t.Errorf("after the restart: %+v", got)
	}
	s.makeDue(task.ID)
	s.callback(task.ID, client.CallbackDelivered)
	got := r.deliveries()
	if len(got) != 2 || got[0].header.Get("webhook-id") != got[1].header.Get("webhook-id") || string(got[0].body) != string(got[1].body) {
		t.Errorf("%d deliveries, or they differ", len(got))
	}
	// A task that was open goes on being followed.
	s.finish(open.ID, 2)
	s.callback(open.ID, client.CallbackDelivered)
}

// makeDue brings a task's first callback forward, as time would.
func (s *shop) makeDue(task string) {
	s.t.Helper()
	g := s.node.gateway
	id, err := graph.ParseID(task)
	if err != nil {
		s.t.Fatal(err)
	}
	k := eventKey{id, 1}
	e, err := readJSON[eventRecord](g.rec.event, k.bytes())
	if err != nil {
		s.t.Fatal(err)
	}
	caller, err := graph.ParseNodeID(s.made.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.node.write(append(drop(g.rec.due, dueKey(caller, e.Due, k)), mark(g.rec.due, dueKey(caller, 1, k))...)); err != nil {
		s.t.Fatal(err)
	}
	poke(g.post)
}

// A receiver that isn't there is told when it is back.
func TestCallbackToAReceiverThatWasKilled(t *testing.T) {
	s := newShop(t)
	r := newReceiver(t, always(200))
	addr, url := r.srv.Listener.Addr().String(), r.srv.URL
	r.srv.CloseClientConnections()
	r.srv.Close()
	task := s.submit(client.TaskRequest{Mode: client.ModeCallback, CallbackURL: url})
	s.finish(task.ID, 1)
	eventually(t, "tries fail", func() bool { cs := s.poll(task.ID).Callbacks; return len(cs) == 1 && cs[0].Attempts >= 2 })
	if c := s.poll(task.ID).Callbacks[0]; c.Error != "it refused the connection" || c.Status != 0 {
		t.Errorf("meanwhile: %+v", c)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Skipf("somebody has taken the port meanwhile: %v", err)
	}
	back := httptest.NewUnstartedServer(r)
	back.Listener.Close()
	back.Listener = l
	back.Start()
	t.Cleanup(back.Close)
	s.callback(task.ID, client.CallbackDelivered)
}

func TestCallbackEnds(t *testing.T) {
	s := newShop(t)
	s.node.gateway.pace.tries = 3
	for name, c := range map[string]struct {
		answer, attempts int
		state            string
	}{
		"any 2xx":           {299, 1, client.CallbackDelivered},
		"gone":              {410, 1, client.CallbackDisabled},
		"no redirect":       {307, 3, client.CallbackFailed},
		"refused each time": {400, 3, client.CallbackFailed},
		"broken each time":  {500, 3, client.CallbackFailed},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t, always(c.answer))
			task := s.submit(client.TaskRequest{Mode: client.ModeCallback, CallbackURL: r.srv.URL})
			s.finish(task.ID, 1)
			got := s.callback(task.ID, c.state)
			if got.Attempts != c.attempts || got.Status != c.answer || got.NextAt != "" || len(r.deliveries()) != c.attempts {
				t.Errorf("%+v, %d deliveries", got, len(r.deliveries()))
			}
		})
	}
	for range s.node.gateway.rec.due.Scan(nil, nil, false) {
		t.Error("something is due yet")
	}
}

// 410 ends what was asked for before; who asks anew is told anew.
func TestCallbackGone(t *testing.T) {
	s := newShop(t)
	r := newReceiver(t, func(n int) int { return map[bool]int{true: 410, false: 200}[n == 1] })
	ask := client.TaskRequest{Mode: client.ModeCallback, CallbackURL: r.srv.URL}
	first, second := s.submit(ask), s.submit(ask)
	s.finish(first.ID, 1)
	s.callback(first.ID, client.CallbackDisabled)
	s.finish(second.ID, 1)
	if c := s.callback(second.ID, client.CallbackDisabled); c.Attempts != 0 {
		t.Errorf("tried: %+v", c)
	}
	anew := s.submit(ask)
	s.finish(anew.ID, 1)
	s.callback(anew.ID, client.CallbackDelivered)
}

func TestCallbackRetryAfter(t *testing.T) {
	s := newShop(t)
	s.node.gateway.pace.last = time.Hour
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1800")
		w.WriteHeader(429)
	}))
	t.Cleanup(busy.Close)
	task := s.submit(client.TaskRequest{Mode: client.ModeCallback, CallbackURL: busy.URL})
	s.finish(task.ID, 1)
	eventually(t, "it was tried", func() bool { cs := s.poll(task.ID).Callbacks; return len(cs) == 1 && cs[0].Attempts == 1 })
	at, err := time.Parse(time.RFC3339Nano, s.poll(task.ID).Callbacks[0].NextAt)
	if wait := time.Until(at); err != nil || wait < 25*time.Minute || wait > 31*time.Minute {
		t.Errorf("the next try is in %s, %v", wait, err)
	}
}

// One receiver that hangs holds up its own caller alone.
func TestCallbackToAReceiverThatHangs(t *testing.T) {
	s := newShop(t)
	release := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then net/http sees who leaves
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(hanging.Close)
	t.Cleanup(func() { close(release) })
	for range postingOne * 2 {
		task := s.submit(client.TaskRequest{Mode: client.ModeCallback, CallbackURL: hanging.URL})
		s.finish(task.ID, 1)
	}
	made := s.caller(client.CallerCreate{Name: "other", Spaces: []string{s.space}})
	s.call = s.client(made.Token)
	r := newReceiver(t, always(200))
	task := s.submit(client.TaskRequest{Mode: client.ModeCallback, CallbackURL: r.srv.URL})
	s.finish(task.ID, 1)
	s.callback(task.ID, client.CallbackDelivered)
}

// What we sign, Standard Webhooks' own library verifies.
func TestCallbacksAreStandardWebhooks(t *testing.T) {
	s := newShop(t)
	r := newReceiver(t, always(200))
	task := s.submit(client.TaskRequest{Mode: client.ModeCallback, CallbackURL: r.srv.URL})
	s.finish(task.ID, map[string]any{"é": "<&>"})
	s.callback(task.ID, client.CallbackDelivered)
	d := r.deliveries()[0]
	wh, err := standardwebhooks.NewWebhook(s.made.WebhookSecret)
	if err != nil {
		t.Fatal(err)
	}
	if err := wh.Verify(d.body, d.header); err != nil {
		t.Error(err)
	}
	if id := d.header.Get("webhook-id"); strings.Contains(id, ".") || d.header.Get("Content-Type") != "application/json" || !strings.HasPrefix(d.header.Get("User-Agent"), "plexus/") {
		t.Errorf("headers %v", d.header)
	}
	if err := wh.Verify(append(d.body, ' '), d.header); err == nil {
		t.Error("another body is verified")
	}
}

func TestPauses(t *testing.T) {
	p := pace{first: 5 * time.Second, last: 6 * time.Hour, jitter: func() float64 { return 0 }}
	want := []time.Duration{5 * time.Second, 15 * time.Second, 45 * time.Second, 135 * time.Second, 405 * time.Second}
	for i, w := range want {
		if got := p.pause(i + 1); got != w {
			t.Errorf("after try %d: %s, want %s", i+1, got, w)
		}
	}
	if got := p.pause(1000); got != p.last {
		t.Errorf("at last: %s", got)
	}
	p.jitter = func() float64 { return 1 }
	if got := p.pause(1); got != 2500*time.Millisecond {
		t.Errorf("by chance: %s", got)
	}
	// The whole of it ends within the age, and gives a receiver that is down for a day its callback.
	var total time.Duration
	p.jitter = jitter
	for n := 1; n < callbackTries; n++ {
		total += p.pause(n)
	}
	if total < 24*time.Hour/2 || total > callbackAge {
		t.Errorf("all tries take %s", total)
	}
	g := &gateway{pace: p, node: &Node{cfg: Config{Now: time.Now}}}
	g.pace.tries, g.pace.age = callbackTries, callbackAge
	for name, c := range map[string]struct {
		e    eventRecord
		want string
	}{
		"the last but one": {eventRecord{State: client.CallbackWaiting, Attempts: callbackTries - 1, Created: g.now()}, client.CallbackWaiting},
		"the last":         {eventRecord{State: client.CallbackWaiting, Attempts: callbackTries, Created: g.now()}, client.CallbackFailed},
		"young":            {eventRecord{State: client.CallbackWaiting, Attempts: 1, Created: g.now() - graph.Time((callbackAge - time.Minute).Microseconds())}, client.CallbackWaiting},
		"old":              {eventRecord{State: client.CallbackWaiting, Attempts: 1, Created: g.now() - graph.Time(callbackAge.Microseconds())}, client.CallbackFailed},
	} {
		if g.later(&c.e, 0); c.e.State != c.want {
			t.Errorf("%s: %s", name, c.e.State)
		}
	}
}

func TestCallbackURLs(t *testing.T) {
	public, inside := &gateway{}, &gateway{nets: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.1.0.0/16")}}
	for url, want := range map[string]struct{ public, inside bool }{
		"https://shop.example/hooks?a=1":                      {true, true},
		"https://shop.example:8443":                           {true, true},
		"https://93.184.215.14/":                              {true, true},
		"https://[2606:4700::1111]/":                          {true, true},
		"http://shop.example/hooks":                           {false, true}, // in the clear only to what is allowed, which is known at the dial
		"http://127.0.0.1:9000/hooks":                         {false, true},
		"https://127.0.0.1/":                                  {false, true},
		"https://[::ffff:127.0.0.1]/":                         {false, true},
		"http://93.184.215.14/":                               {false, false},
		"https://10.1.2.3/":                                   {false, true},
		"https://10.2.2.3/":                                   {false, false},
		"https://169.254.169.254/latest/":                     {false, false},
		"https://[::1]/":                                      {false, false},
		"https://[fe80::1]/":                                  {false, false},
		"https://[fc00::1]/":                                  {false, false},
		"https://[64:ff9b::7f00:1]/":                          {false, false},
		"https://[2002:7f00:1::]/":                            {false, false},
		"https://0.0.0.0/":                                    {false, false},
		"https://100.64.0.1/":                                 {false, false},
		"https://192.168.1.1/":                                {false, false},
		"https://224.0.0.1/":                                  {false, false},
		"https://255.255.255.255/":                            {false, false},
		"https://user:word@shop.example/":                     {false, false},
		"https://shop.example/#part":                          {false, false},
		"ftp://shop.example/":                                 {false, false},
		"//shop.example/":                                     {false, false},
		"/hooks":                                              {false, false},
		"https:shop.example":                                  {false, false},
		"https://":                                            {false, false},
		"https://shop.example:x/":                             {false, false},
		"https://a/" + strings.Repeat("x", MaxCallbackURL-10): {true, true},
		"https://a/" + strings.Repeat("x", MaxCallbackURL-9):  {false, false},
	} {
		if err := public.checkURL(url); (err == nil) != want.public || err != nil && !errors.Is(err, graph.ErrInvalid) {
			t.Errorf("%.80s, public alone: %v", url, err)
		}
		if err := inside.checkURL(url); (err == nil) != want.inside {
			t.Errorf("%.80s, with networks: %v", url, err)
		}
	}
}

// The address that is dialled is judged, whatever the name said before.
func TestCallbackDials(t *testing.T) {
	r := newReceiver(t, always(200))
	_, port, err := net.SplitHostPort(r.srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	secure := httptest.NewTLSServer(r)
	t.Cleanup(secure.Close)
	for name, c := range map[string]struct {
		nets []netip.Prefix
		url  string
		says string // "": it is delivered
	}{
		"allowed":                  {loopbackNets, r.srv.URL, ""},
		"a name that leads there":  {loopbackNets, "http://localhost:" + port, ""},
		"not allowed":              {nil, r.srv.URL, "the address isn't allowed"},
		"a name that isn't":        {nil, "http://localhost:" + port, "the address isn't allowed"},
		"another network":          {[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, "http://localhost:" + port, "the address isn't allowed"},
		"over TLS, not allowed":    {nil, secure.URL, "the address isn't allowed"},
		"a certificate of nobody":  {loopbackNets, secure.URL, "its certificate isn't good"},
		"a name that isn't there":  {loopbackNets, "https://nowhere.invalid/", "its name was not found"},
		"a port nobody listens at": {loopbackNets, "http://127.0.0.1:1/", "it refused the connection"},
	} {
		t.Run(name, func(t *testing.T) {
			g := &gateway{nets: c.nets, pace: pace{timeout: callbackWait}, node: &Node{cfg: Config{Now: time.Now}}}
			g.http = g.newClient()
			defer g.http.CloseIdleConnections()
			status, _, err := g.postOnce(t.Context(), callerRecord{}, c.url, eventKey{}, []byte("{}"))
			switch {
			case c.says == "" && (err != nil || status != 200):
				t.Errorf("%d, %v", status, err)
			case c.says != "" && (err == nil || whyFailed(err) != c.says):
				t.Errorf("%v: %q", err, whyFailed(err))
			}
		})
	}
}

func TestCallbackOverTLS(t *testing.T) {
	r := newReceiver(t, always(200))
	secure := httptest.NewTLSServer(r)
	t.Cleanup(secure.Close)
	cas := x509.NewCertPool()
	cas.AddCert(secure.Certificate())
	g := &gateway{nets: loopbackNets, cas: cas, pace: pace{timeout: callbackWait}, node: &Node{cfg: Config{Now: time.Now}}}
	g.http = g.newClient()
	defer g.http.CloseIdleConnections()
	for range 2 { // the second over the same connection
		if status, _, err := g.postOnce(t.Context(), callerRecord{}, secure.URL, eventKey{}, []byte("{}")); err != nil || status != 200 {
			t.Errorf("%d, %v", status, err)
		}
	}
	// The certificate is for 127.0.0.1, and not for the name that leads there.
	other := strings.Replace(secure.URL, "127.0.0.1", "localhost", 1)
	if _, _, err := g.postOnce(t.Context(), callerRecord{}, other, eventKey{}, []byte("{}")); err == nil || whyFailed(err) != "its certificate isn't good" {
		t.Errorf("another name: %v", err)
	}
}

func TestCallbackTimeout(t *testing.T) {
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then net/http sees who leaves
		<-r.Context().Done()
	}))
	t.Cleanup(hanging.Close)
	g := &gateway{nets: loopbackNets, pace: pace{timeout: 50 * time.Millisecond}, node: &Node{cfg: Config{Now: time.Now}}}
	g.http = g.newClient()
	defer g.http.CloseIdleConnections()
	if _, _, err := g.postOnce(t.Context(), callerRecord{}, hanging.URL, eventKey{}, []byte("{}")); err == nil || whyFailed(err) != "it didn't answer in time" {
		t.Error(err)
	}
}

// calledBack is the process that is killed: it submits a task whose callback can't be delivered yet, ends it, and says so.
func calledBack(dir, url string) error {
	ctx := context.Background()
	n, err := Open(Config{Dir: dir, NoP2P: true, Listen: "none", Callbacks: loopbackNets, Cache: os.Getenv("PLEXUS_TEST_CACHE")})
	if err != nil {
		return err
	}
	n.gateway.pace.first, n.gateway.pace.last = time.Millisecond, time.Millisecond
	go func() { _ = n.Run(ctx) }()
	key, err := os.ReadFile(dir + "/access.key")
	if err != nil {
		return err
	}
	r, err := n.Register(ctx, client.AuthRegister{NodeCreate: client.NodeCreate{Name: "worker", Description: "d"}, AccessKey: strings.TrimSpace(string(key))}, "")
	if err != nil {
		return err
	}
	as, err := n.As(r.ID)
	if err != nil {
		return err
	}
	space, err := as.Space(ctx, client.SpaceCreate{Name: "orders"})
	if err != nil {
		return err
	}
	made, err := n.P2A().AddCaller(ctx, client.CallerCreate{Name: "shop", Spaces: []string{space.ID}})
	if err != nil {
		return err
	}
	task, err := n.P2A().Submit(ctx, made.ID, client.TaskRequest{TaskType: "pack", Mode: client.ModeCallback, CallbackURL: url})
	if err != nil {
		return err
	}
	fmt.Println("task", made.ID, made.WebhookSecret, task.ID)
	for _, command := range []string{"confirm", "start", "complete"} {
		if _, err := n.Do(ctx, space.ID, "task", command, []byte(`{"task":"`+task.ID+`"}`), r.ID); err != nil {
			return err
		}
	}
	select {} // until it is killed
}

// kill -9 in the middle of tries: the next process delivers, with the same id.
func TestCallbackAfterAKill(t *testing.T) {
	dir := t.TempDir()
	tried := make(chan struct{}, 1)
	r := newReceiver(t, func(int) int { poke(tried); return 503 })
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PLEXUS_TEST_KILLED="+dir, "PLEXUS_TEST_CALLBACK="+r.srv.URL, "PLEXUS_TEST_CACHE="+compiled)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	f := strings.Fields(line)
	if err != nil || len(f) != 4 {
		t.Fatalf("%q, %v", line, err)
	}
	<-tried
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	before := r.deliveries()
	r.mu.Lock()
	r.answer = always(200)
	r.mu.Unlock()
	s := openShop(t, dir)
	var p api.P2A = s.node.P2A()
	eventually(t, "it is delivered", func() bool {
		task, err := p.Task(t.Context(), f[1], f[3], 0)
		return err == nil && len(task.Callbacks) == 1 && task.Callbacks[0].State == client.CallbackDelivered
	})
	got := r.deliveries()
	last := got[len(got)-1]
	ev, err := client.VerifyWebhook(last.header, last.body, time.Now(), f[2])
	if err != nil || ev.Data.ID != f[3] || ev.ID != before[0].header.Get("webhook-id") {
		t.Errorf("%+v, %v", ev, err)
	}
}
