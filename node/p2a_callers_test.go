package node

// This file tests callers: what a token opens and what it doesn't, its end, its rate, and the bounds of both.

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plexus/node/api"
	"plexus/sdk/client"
)

func TestCallersScope(t *testing.T) {
	s := newShop(t)
	other := join(t, s.agent, "returns")
	made := s.caller(client.CallerCreate{Name: "narrow", Spaces: []string{s.space, other}, Types: []string{"pack", "ship"}})
	narrow := s.client(made.Token)
	ctx := t.Context()
	mine := s.submit(client.TaskRequest{})
	for _, c := range []struct {
		name string
		err  error
		is   func(error) bool
	}{
		{"no Space of two", second(narrow.Submit(ctx, client.TaskRequest{TaskType: "pack"})), client.IsInvalid},
		{"another Space", second(narrow.Submit(ctx, client.TaskRequest{TaskType: "pack", Space: "elsewhere"})), client.IsAuth},
		{"another type", second(narrow.Submit(ctx, client.TaskRequest{TaskType: "burn", Space: other})), client.IsAuth},
		{"another's task", second(narrow.Poll(ctx, mine.ID)), client.IsNotFound},
		{"another's cancelled", second(narrow.Cancel(ctx, mine.ID, "")), client.IsNotFound},
		{"another's informed", second(narrow.Inform(ctx, mine.ID, client.TaskInfo{Text: "x"})), client.IsNotFound},
		{"behind another's", second(narrow.Tasks(ctx, client.TaskQuery{After: mine.ID})), client.IsInvalid},
		{"no task", second(narrow.Poll(ctx, "x")), client.IsNotFound},
		{"retry of another's", second(narrow.Submit(ctx, client.TaskRequest{TaskType: "pack", Space: other, RetryOf: mine.ID})), client.IsInvalid},
		{"as a Node: Spaces", second(narrow.Spaces(ctx)), client.IsAuth},
		{"as a Node: say", second(narrow.Send(ctx, s.space, client.SendMessage{Content: content("x")})), client.IsAuth},
		{"as a Node: do", second(narrow.Do(ctx, s.space, "task", "cancel", nil)), client.IsAuth},
		{"as the host", second(narrow.Callers(ctx)), client.IsAuth},
	} {
		if !c.is(c.err) {
			t.Errorf("%s: %v", c.name, c.err)
		}
	}
	for _, space := range []string{other, "returns"} {
		if task, err := narrow.Submit(ctx, client.TaskRequest{TaskType: "ship", Space: space}); err != nil || task.SpaceID != other {
			t.Errorf("by %q: %+v, %v", space, task, err)
		}
	}
	if page, err := narrow.Tasks(ctx, client.TaskQuery{}); err != nil || len(page.Tasks) != 2 {
		t.Errorf("its tasks: %+v, %v", page, err)
	}
	// A Node's token isn't a caller's, nor is the access key.
	node := registerAs(t, s.node, client.NodeCreate{Name: "node"})
	for name, c := range map[string]*client.Client{"a Node": s.client(node.Token), "nobody": s.client(""), "the host": s.admin(), "a wrong token": s.client(api.CallerPrefix + "x")} {
		if _, err := c.Tasks(ctx, client.TaskQuery{}); !client.IsAuth(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCallersEnd(t *testing.T) {
	s := newShop(t)
	ctx := t.Context()
	r := newReceiver(t, always(500))
	task := s.submit(client.TaskRequest{Mode: client.ModeCallback, CallbackURL: r.srv.URL})
	s.finish(task.ID, 1)
	eventually(t, "a callback is tried", func() bool { return len(r.deliveries()) > 0 })
	eventually(t, "it is listed with a callback that waits", func() bool {
		all, err := s.admin().Callers(ctx)
		return err == nil && all[0].Waiting == 1 && all[0].OpenTasks == 0
	})
	waits := make(chan error, 1)
	go func() {
		_, err := s.call.Submit(context.WithoutCancel(ctx), client.TaskRequest{TaskType: "pack", Mode: client.ModeSync, WaitS: 60})
		waits <- err
	}()
	s.pending()
	start := time.Now()
	if err := s.admin().RevokeCaller(ctx, "web shop"); err != nil {
		t.Fatal(err)
	}
	if err := <-waits; !client.IsAuth(err) || time.Since(start) > 50*time.Second {
		t.Errorf("revoked while waiting, after %s: %v", time.Since(start), err)
	}
	if _, err := s.call.Poll(ctx, task.ID); !client.IsAuth(err) || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("revoked: %v", err)
	}
	eventually(t, "its callbacks end", func() bool {
		for range s.node.gateway.rec.due.Scan(nil, nil, false) {
			return false
		}
		return true
	})
	for _, err := range []error{s.admin().RevokeCaller(ctx, "web shop"), second(s.admin().RotateCaller(ctx, "web shop", client.CallerRotate{}))} {
		if !client.IsNotFound(err) {
			t.Errorf("again: %v", err)
		}
	}
	// The name is free again, for another caller.
	made := s.caller(client.CallerCreate{Name: "web shop", Spaces: []string{s.space}, ExpiresIn: "1s"})
	if made.ID == s.made.ID || made.Expires == "" {
		t.Errorf("made again: %+v", made.Caller)
	}
	if _, err := s.client(made.Token).Poll(ctx, task.ID); !client.IsNotFound(err) {
		t.Errorf("its predecessor's task: %v", err)
	}
	eventually(t, "it expires", func() bool {
		_, err := s.client(made.Token).Tasks(ctx, client.TaskQuery{})
		return client.IsAuth(err)
	})
	if all, err := s.admin().Callers(ctx); err != nil || len(all) != 2 || !all[0].Revoked || all[1].Revoked {
		t.Errorf("listed: %+v, %v", all, err)
	}
}

func TestCallersRotate(t *testing.T) {
	s := newShop(t)
	ctx := t.Context()
	task := s.submit(client.TaskRequest{})
	rotated, err := s.admin().RotateCaller(ctx, s.made.ID, client.CallerRotate{})
	if err != nil || rotated.Token == s.made.Token || rotated.WebhookSecret != "" {
		t.Fatalf("%+v, %v", rotated.Caller, err)
	}
	if _, err := s.call.Poll(ctx, task.ID); !client.IsAuth(err) {
		t.Errorf("the old token: %v", err)
	}
	s.call = s.client(rotated.Token)
	if got := s.poll(task.ID); got.ID != task.ID {
		t.Errorf("the new one: %+v", got)
	}
	secret, err := s.admin().RotateCaller(ctx, "web shop", client.CallerRotate{Webhook: true})
	if err != nil || secret.Token != "" || secret.WebhookSecret == s.made.WebhookSecret {
		t.Fatalf("%+v, %v", secret.Caller, err)
	}
	r := newReceiver(t, always(200))
	told := s.submit(client.TaskRequest{Mode: client.ModeCallback, CallbackURL: r.srv.URL})
	s.finish(told.ID, 1)
	eventually(t, "it is told", func() bool { return len(r.deliveries()) == 1 })
	d := r.deliveries()[0]
	for name, one := range map[string]string{"old": s.made.WebhookSecret, "new": secret.WebhookSecret} {
		if _, err := client.VerifyWebhook(d.header, d.body, time.Now(), one); err != nil {
			t.Errorf("the %s secret: %v", name, err)
		}
	}
	// A day later the old one signs no more.
	c, err := s.node.gateway.named("web shop")
	if err != nil {
		t.Fatal(err)
	}
	end := c.Secrets[0].Until
	if n := len(strings.Fields(signatures(c.Secrets, end-1, "x", 1, nil))); n != 2 {
		t.Errorf("%d signatures before its end", n)
	}
	if n := len(strings.Fields(signatures(c.Secrets, end, "x", 1, nil))); n != 1 {
		t.Errorf("%d signatures after it", n)
	}
}

// Tokens aren't on disk, nor in what the host lists.
func TestTokensAreHashed(t *testing.T) {
	s := newShop(t)
	all, err := s.admin().Callers(t.Context())
	if err != nil || strings.Contains(fmt.Sprintf("%+v", all), s.made.Token) {
		t.Errorf("listed: %+v, %v", all, err)
	}
	s.close()
	err = filepath.WalkDir(s.node.cfg.Dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if bytes.Contains(b, []byte(s.made.Token)) {
			t.Errorf("%s holds the token", d.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCallersRate(t *testing.T) {
	s := newShop(t)
	made := s.caller(client.CallerCreate{Name: "slow", Spaces: []string{s.space}, RatePerMin: 3})
	ask := func(token string) *http.Response {
		t.Helper()
		req, err := http.NewRequest(http.MethodGet, s.srv.URL+"/p2a/tasks", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := s.call.HTTP.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		return resp
	}
	var statuses []int
	var last *http.Response
	for range 4 {
		last = ask(made.Token)
		statuses = append(statuses, last.StatusCode)
	}
	if !slices.Equal(statuses, []int{200, 200, 200, 429}) {
		t.Errorf("statuses %v", statuses)
	}
	if h := last.Header; h.Get("RateLimit-Policy") != `"caller";q=3;w=60` || !strings.HasPrefix(h.Get("RateLimit"), `"caller";r=0;t=`) || h.Get("Retry-After") == "" {
		t.Errorf("headers %v", h)
	}
	_, err := s.client(made.Token).Tasks(t.Context(), client.TaskQuery{})
	if e, ok := err.(*client.Error); !ok || e.Code != client.CodeRateLimited || e.RetryAfter < time.Second || e.RetryAfter > 20*time.Second {
		t.Errorf("%+v", err)
	}
	if resp := ask(s.made.Token); resp.StatusCode != 200 {
		t.Errorf("another caller: %d", resp.StatusCode)
	}
}

func TestCallersBounds(t *testing.T) {
	s := newShop(t)
	admin := s.admin()
	spaces := make([]string, MaxCallerSpaces+1)
	types := make([]string, MaxCallerTypes+1)
	for i := range spaces {
		spaces[i], types[i] = s.space, fmt.Sprint("t", i)
	}
	fits := client.CallerCreate{
		Name: strings.Repeat("n", MaxName), Spaces: spaces[1:], Types: append([]string{strings.Repeat("t", MaxTaskType)}, types[2:]...), RatePerMin: MaxCallerRate, ExpiresIn: "1h",
	}
	made, err := admin.AddCaller(t.Context(), fits)
	if err != nil || len(made.Spaces) != 1 || !strings.HasPrefix(made.Token, api.CallerPrefix) || !strings.HasPrefix(made.WebhookSecret, "whsec_") {
		t.Fatalf("at every bound: %+v, %v", made.Caller, err)
	}
	for name, change := range map[string]func(*client.CallerCreate){
		"no name":        func(c *client.CallerCreate) { c.Name = " " },
		"a long name":    func(c *client.CallerCreate) { c.Name += "n" },
		"no Space":       func(c *client.CallerCreate) { c.Spaces = nil },
		"many Spaces":    func(c *client.CallerCreate) { c.Spaces = spaces },
		"many types":     func(c *client.CallerCreate) { c.Types = types },
		"an empty type":  func(c *client.CallerCreate) { c.Types = []string{""} },
		"a long type":    func(c *client.CallerCreate) { c.Types = []string{strings.Repeat("t", MaxTaskType+1)} },
		"no rate":        func(c *client.CallerCreate) { c.RatePerMin = -1 },
		"a high rate":    func(c *client.CallerCreate) { c.RatePerMin = MaxCallerRate + 1 },
		"a wrong end":    func(c *client.CallerCreate) { c.ExpiresIn = "soon" },
		"an end before":  func(c *client.CallerCreate) { c.ExpiresIn = "-1h" },
		"an end at once": func(c *client.CallerCreate) { c.ExpiresIn = "0s" },
	} {
		bad := fits
		bad.Name = "other"
		if strings.Contains(name, "name") {
			bad.Name = fits.Name
		}
		if change(&bad); !client.IsInvalid(second(admin.AddCaller(t.Context(), bad))) {
			t.Errorf("%s is taken", name)
		}
	}
	if _, err := admin.AddCaller(t.Context(), client.CallerCreate{Name: "x", Spaces: []string{"nowhere"}}); !client.IsNotFound(err) {
		t.Errorf("no such Space: %v", err)
	}
	if _, err := admin.AddCaller(t.Context(), client.CallerCreate{Name: "web shop", Spaces: []string{s.space}}); !client.IsConflict(err) {
		t.Errorf("a name twice: %v", err)
	}
	if all, err := admin.Callers(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("what was refused was made: %+v, %v", all, err)
	}
}

// So many callers, and so many open tasks of one.
func TestCallersAreBounded(t *testing.T) {
	n := open(t, t.TempDir())
	g := n.gateway
	for i := range MaxCallers - 1 {
		c := callerRecord{Name: fmt.Sprint(i), Token: []byte{byte(i >> 8), byte(i)}}
		c.ID[0], c.ID[1] = byte(i>>8), byte(i)
		ops, err := setJSON(g.rec.caller, c.ID[:], c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.store.Apply(ops); err != nil {
			t.Fatal(err)
		}
	}
	s, _ := register(t, n, "worker")
	space := join(t, s, "orders")
	if _, err := g.AddCaller(t.Context(), client.CallerCreate{Name: "last", Spaces: []string{space}}); err != nil {
		t.Fatal(err)
	}
	if _, err := g.AddCaller(t.Context(), client.CallerCreate{Name: "more", Spaces: []string{space}}); err == nil || !strings.Contains(err.Error(), "as many as it may") {
		t.Errorf("one more: %v", err)
	}
	c, err := g.named("last")
	if err != nil {
		t.Fatal(err)
	}
	g.open[c.ID] = MaxOpenTasks - 1
	if err := g.take(c.ID); err != nil {
		t.Errorf("the last open task: %v", err)
	}
	if err := g.take(c.ID); err == nil || !strings.Contains(err.Error(), "without an end") {
		t.Errorf("one more: %v", err)
	}
	g.giveBack(c.ID)
	if err := g.take(c.ID); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
}

func TestFitsWhatIsDeclared(t *testing.T) {
	s := newShop(t)
	ctx := t.Context()
	if offers, err := s.call.Offers(ctx); err != nil || offers == nil || len(offers) != 0 {
		t.Errorf("nothing is on offer: %+v, %v", offers, err)
	}
	_, second := register(t, s.node, "second")
	declare := func(id string, version string, required ...any) {
		s.doAs(id, "capability", "declare", map[string]any{
			"type": "pack", "version": version, "input_schema": map[string]any{"type": "object", "required": required},
			"output_schema": map[string]any{"type": "object", "required": []any{"parcel"}},
		})
	}
	declare(s.id, "1", "order")
	declare(second, "2", "order", "colour")
	s.doAs(s.id, "capability", "declare", map[string]any{"type": "ship"})
	offers, err := s.call.Offers(ctx)
	if err != nil || len(offers) != 3 || offers[0].TaskType != "pack" || !strings.Contains(string(offers[0].InputSchema), "order") || offers[0].OutputSchema == nil {
		t.Errorf("on offer: %+v, %v", offers, err)
	}
	if _, err := s.call.Submit(ctx, client.TaskRequest{TaskType: "pack", Payload: []byte(`{"colour":1}`)}); !client.IsInvalid(err) || err.Error() != "payload.order is missing" {
		t.Errorf("fits nobody: %v", err)
	}
	if _, err := s.call.Submit(ctx, client.TaskRequest{TaskType: "pack", Payload: []byte(`{"order":1}`), Nodes: []string{second}}); !client.IsInvalid(err) {
		t.Errorf("doesn't fit whom it names: %v", err)
	}
	one := s.submit(client.TaskRequest{Payload: []byte(`{"order":1}`)})
	if got := s.poll(one.ID); !slices.Equal(got.Nodes, []string{s.id}) {
		t.Errorf("asked of %v, want who takes it", got.Nodes)
	}
	both := s.submit(client.TaskRequest{Payload: []byte(`{"order":1,"colour":2}`)})
	if got := s.poll(both.ID); len(got.Nodes) != 2 {
		t.Errorf("asked of %v, want both", got.Nodes)
	}
	if free := s.submit(client.TaskRequest{TaskType: "sing"}); len(s.poll(free.ID).Nodes) != 0 {
		t.Error("what nobody declared isn't for anyone")
	}
	s.finish(one.ID, map[string]any{"parcel": 1})
	if got := s.poll(one.ID); got.ResultFits == nil || !*got.ResultFits {
		t.Errorf("fits: %+v", got)
	}
	bad := s.submit(client.TaskRequest{Payload: []byte(`{"order":1}`)})
	s.finish(bad.ID, map[string]any{"letter": 1})
	if got := s.poll(bad.ID); got.ResultFits == nil || *got.ResultFits || !strings.Contains(got.ResultProblem, "parcel") {
		t.Errorf("doesn't fit: %+v", got)
	}
	for id, want := range map[string]string{one.ID: `"accepted":true`, bad.ID: `"disputed":true`} {
		eventually(t, "the author says what it thinks of the result: "+want, func() bool {
			v, err := s.node.View(context.WithoutCancel(ctx), s.space, "task", "task", []byte(`{"task":"`+id+`"}`), "")
			return err == nil && strings.Contains(string(v), want)
		})
	}
}
