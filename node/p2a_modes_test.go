package node

// This file tests the ways to ask: sync, hybrid, information, cancellation, idempotency, lists.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"plexus/graph"
	"plexus/sdk/client"
)

// pending waits for a task of the agent's to appear, which is how an agent sees one.
func (s *shop) pending() string {
	s.t.Helper()
	var out struct{ Tasks []struct{ Task string } }
	eventually(s.t, "a task is open", func() bool {
		raw, err := s.node.View(s.t.Context(), s.space, "task", "open", json.RawMessage(`{"status":"pending"}`), s.id)
		return err == nil && json.Unmarshal(raw, &out) == nil && len(out.Tasks) > 0
	})
	return out.Tasks[0].Task
}

func TestSync(t *testing.T) {
	s := newShop(t)
	answer := make(chan client.Task, 1)
	go func() {
		task, err := s.call.Submit(context.WithoutCancel(t.Context()), client.TaskRequest{TaskType: "pack", Mode: client.ModeSync, WaitS: 60})
		if err != nil {
			t.Error(err)
		}
		answer <- task
	}()
	s.finish(s.pending(), map[string]any{"parcel": 1})
	if got := <-answer; got.Status != "completed" || string(got.Result) != `{"parcel":1}` || got.Mode != client.ModeSync {
		t.Errorf("in time: %+v", got)
	}
	start := time.Now()
	late := s.submit(client.TaskRequest{Mode: client.ModeSync, WaitS: 1})
	if late.Status != "pending" || late.Final || time.Since(start) < time.Second || !strings.HasSuffix(late.Poll, late.ID) {
		t.Errorf("as it stands, after %s: %+v", time.Since(start), late)
	}
	s.finish(late.ID, "late")
	if got, err := s.call.Wait(t.Context(), late.ID); err != nil || string(got.Result) != `"late"` {
		t.Errorf("polled afterwards: %+v, %v", got, err)
	}
}

// A sync request ends when the server is told to stop: the task exists and is told of.
func TestSyncEndsWithTheServer(t *testing.T) {
	s := newShop(t)
	answer := make(chan client.Task, 1)
	go func() {
		task, err := s.call.Submit(context.WithoutCancel(t.Context()), client.TaskRequest{TaskType: "pack", Mode: client.ModeSync, WaitS: 60})
		if err != nil {
			t.Error(err)
		}
		answer <- task
	}()
	id := s.pending()
	if err := s.node.handler.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; got.ID != id || got.Status != "pending" {
		t.Errorf("%+v", got)
	}
}

func TestHybrid(t *testing.T) {
	s := newShop(t)
	r := newReceiver(t, always(200))
	hybrid := client.TaskRequest{TaskType: "pack", Mode: client.ModeHybrid, CallbackURL: r.srv.URL, WaitS: 60}
	answer := make(chan client.Task, 1)
	go func() {
		task, err := s.call.Submit(context.WithoutCancel(t.Context()), hybrid)
		if err != nil {
			t.Error(err)
		}
		answer <- task
	}()
	s.finish(s.pending(), "soon")
	soon := <-answer
	if soon.Status != "completed" {
		t.Fatalf("in time: %+v", soon)
	}
	eventually(t, "the task that was answered is closed", func() bool {
		id, _ := graph.ParseID(soon.ID)
		return !s.node.gateway.isOpen(id)
	})
	hybrid.WaitS = 1
	late := s.submit(hybrid)
	s.finish(late.ID, "late")
	eventually(t, "the late one is told by a callback", func() bool { return len(r.deliveries()) == 1 })
	ev, err := client.VerifyWebhook(r.deliveries()[0].header, r.deliveries()[0].body, time.Now(), s.made.WebhookSecret)
	if err != nil || ev.Data.ID != late.ID {
		t.Errorf("%+v, %v", ev, err)
	}
	if got := s.poll(soon.ID).Callbacks; len(got) != 0 {
		t.Errorf("the one that was answered: %+v", got)
	}
}

// Who leaves before the answer is called back.
func TestHybridWhoseCallerLeft(t *testing.T) {
	s := newShop(t)
	r := newReceiver(t, always(200))
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = s.call.Submit(ctx, client.TaskRequest{TaskType: "pack", Mode: client.ModeHybrid, CallbackURL: r.srv.URL, WaitS: 1})
	}()
	id := s.pending()
	leave()
	<-gone
	eventually(t, "the node has seen that nobody waits", func() bool {
		g := s.node.gateway
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.waiting) == 0
	})
	s.finish(id, "anyway")
	eventually(t, "the callback comes", func() bool { return len(r.deliveries()) == 1 })
}

func TestInformation(t *testing.T) {
	s := newShop(t)
	r := newReceiver(t, always(200))
	task := s.submit(client.TaskRequest{Mode: client.ModeCallback, CallbackURL: r.srv.URL})
	if _, err := s.call.Inform(t.Context(), task.ID, client.TaskInfo{Text: "unasked"}); !client.IsConflict(err) {
		t.Errorf("information nobody asked for: %v", err)
	}
	s.do("confirm", map[string]any{"task": task.ID})
	s.do("start", map[string]any{"task": task.ID})
	s.do("ask", map[string]any{"task": task.ID, "question": "Which colour?"})
	got, err := s.call.Wait(t.Context(), task.ID)
	if err != nil || got.Status != "info_needed" || got.Question != "Which colour?" || got.Final {
		t.Fatalf("asked: %+v, %v", got, err)
	}
	eventually(t, "the question is told", func() bool { return len(r.deliveries()) == 1 })
	if got, err = s.call.Inform(t.Context(), task.ID, client.TaskInfo{Payload: json.RawMessage(`{"colour":"red"}`)}); err != nil || got.Status != "executing" || got.Question != "" {
		t.Fatalf("informed: %+v, %v", got, err)
	}
	s.do("ask", map[string]any{"task": task.ID, "question": "Which size?"})
	eventually(t, "the second question is told", func() bool { return len(r.deliveries()) == 2 })
	if _, err := s.call.Inform(t.Context(), task.ID, client.TaskInfo{Text: "large"}); err != nil {
		t.Fatal(err)
	}
	s.do("fail", map[string]any{"task": task.ID, "error": "no such colour"})
	eventually(t, "the end is told", func() bool { return len(r.deliveries()) == 3 })
	var types, ids []string
	for _, d := range r.deliveries() {
		ev, err := client.VerifyWebhook(d.header, d.body, time.Now(), s.made.WebhookSecret)
		if err != nil {
			t.Error(err)
		}
		types, ids = append(types, ev.Type), append(ids, ev.ID)
	}
	if !slices.Equal(types, []string{"task.info_needed", "task.info_needed", "task.failed"}) || ids[0] == ids[1] || ids[1] == ids[2] {
		t.Errorf("events %v, ids %v", types, ids)
	}
	if got := s.poll(task.ID); got.Error != "no such colour" || len(got.Callbacks) != 3 {
		t.Errorf("ended: %+v", got)
	}
}

func TestCancel(t *testing.T) {
	s := newShop(t)
	early := s.submit(client.TaskRequest{})
	got, err := s.call.Cancel(t.Context(), early.ID, "changed my mind")
	if err != nil || got.Status != "rejected" || !got.Final {
		t.Errorf("from pending: %+v, %v", got, err) // as the task pattern has it
	}
	if got.Reason != "changed my mind" {
		t.Errorf("the reason: %q", got.Reason)
	}
	no := s.submit(client.TaskRequest{Nodes: []string{s.id}})
	s.do("reject", map[string]any{"task": no.ID, "reason": "too heavy"})
	if got := s.poll(no.ID); got.Status != "rejected" || got.Reason != "too heavy" {
		t.Errorf("rejected: %+v", got)
	}
	running := s.submit(client.TaskRequest{})
	s.do("confirm", map[string]any{"task": running.ID})
	s.do("start", map[string]any{"task": running.ID})
	for range 2 { // again is no error
		if got, err = s.call.Cancel(t.Context(), running.ID, ""); err != nil || got.Status != "cancelled" || got.Reason != "it was called off" {
			t.Errorf("from executing: %+v, %v", got, err)
		}
	}
	done := s.submit(client.TaskRequest{})
	s.finish(done.ID, 1)
	if _, err := s.call.Cancel(t.Context(), done.ID, ""); !client.IsConflict(err) {
		t.Errorf("from completed: %v", err)
	}
	retry := s.submit(client.TaskRequest{RetryOf: running.ID, MaxAttempts: 2})
	if got := s.poll(retry.ID); got.Attempt != 2 {
		t.Errorf("retried: %+v", got)
	}
	if _, err := s.call.Submit(t.Context(), client.TaskRequest{TaskType: "pack", RetryOf: done.ID}); !client.IsInvalid(err) {
		t.Errorf("retry of what is completed: %v", err)
	}
}

// A deadline passes although nobody in the Space watches.
func TestDeadline(t *testing.T) {
	s := newShop(t)
	s.submit(client.TaskRequest{}) // by now the plugins are compiled
	for name, at := range map[string]func(string) client.TaskRequest{
		"deadline": func(at string) client.TaskRequest { return client.TaskRequest{Deadline: at} },
		"expiry":   func(at string) client.TaskRequest { return client.TaskRequest{ExpiresAt: at} },
	} {
		task := s.submit(at(time.Now().Add(2 * time.Second).UTC().Format(time.RFC3339Nano)))
		if got, err := s.call.Wait(t.Context(), task.ID); err != nil || got.Status != "rejected" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, bad := range []string{"soon", time.Now().Add(-time.Second).Format(time.RFC3339)} {
		for _, in := range []client.TaskRequest{{TaskType: "pack", Deadline: bad}, {TaskType: "pack", ExpiresAt: bad}} {
			if _, err := s.call.Submit(t.Context(), in); !client.IsInvalid(err) {
				t.Errorf("%+v: %v", in, err)
			}
		}
	}
	silent := s.submit(client.TaskRequest{HeartbeatS: 1})
	s.do("confirm", map[string]any{"task": silent.ID})
	if got, err := s.call.Wait(t.Context(), silent.ID); err != nil || got.Status != "failed" || got.Reason != "its time has passed" {
		t.Errorf("heartbeat: %+v, %v", got, err)
	}
}

func TestIdempotency(t *testing.T) {
	s := newShop(t)
	in := client.TaskRequest{TaskType: "pack", Payload: json.RawMessage(`{"n":1}`), IdempotencyKey: "order-1"}
	first := s.submit(in)
	if again := s.submit(in); again.ID != first.ID {
		t.Error("a repeated request made another task")
	}
	s.finish(first.ID, 1)
	if again := s.submit(in); again.ID != first.ID || again.Status != "completed" {
		t.Errorf("repeated after its end: %+v", again)
	}
	other := in
	other.Payload = json.RawMessage(`{"n":2}`)
	if _, err := s.call.Submit(t.Context(), other); !client.IsConflict(err) {
		t.Errorf("the key for another request: %v", err)
	}
	// Another caller's keys are its own.
	made := s.caller(client.CallerCreate{Name: "other", Spaces: []string{s.space}})
	if task, err := s.client(made.Token).Submit(t.Context(), in); err != nil || task.ID == first.ID {
		t.Errorf("another caller's key: %+v, %v", task, err)
	}
	for n, ok := range map[int]bool{MaxKey: true, MaxKey + 1: false} {
		in.IdempotencyKey = strings.Repeat("k", n)
		if _, err := s.call.Submit(t.Context(), in); (err == nil) != ok {
			t.Errorf("a key of %d bytes: %v", n, err)
		}
	}
	// Many at once make one.
	in.IdempotencyKey = "at once"
	ids := make(chan string, 8)
	for range cap(ids) {
		go func() {
			task, err := s.call.Submit(context.WithoutCancel(t.Context()), in)
			if err != nil {
				t.Error(err)
			}
			ids <- task.ID
		}()
	}
	one := <-ids
	for range cap(ids) - 1 {
		if id := <-ids; id != one {
			t.Errorf("two tasks: %s, %s", one, id)
		}
	}
}

func TestList(t *testing.T) {
	s := newShop(t)
	for _, n := range []int{0, 9} {
		made := s.submit(client.TaskRequest{TaskType: "urgent", Priority: &n})
		if got := s.poll(made.ID); made.Priority != n || got.Priority != n {
			t.Errorf("priority %d: %d, %d", n, made.Priority, got.Priority)
		}
	}
	s.made = s.caller(client.CallerCreate{Name: "lister", Spaces: []string{s.space}, RatePerMin: 100_000})
	s.call = s.client(s.made.Token)
	var want []string
	for i := range 7 {
		kind := []string{"pack", "ship"}[i%2]
		want = append([]string{s.submit(client.TaskRequest{TaskType: kind, Title: fmt.Sprint(i)}).ID}, want...)
	}
	s.finish(want[2], 1)
	list := func(q client.TaskQuery) (ids []string) {
		t.Helper()
		for pages := 0; pages < 20; pages++ {
			p, err := s.call.Tasks(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if q.Limit > 0 && len(p.Tasks) > q.Limit {
				t.Errorf("a page of %d, asked for %d", len(p.Tasks), q.Limit)
			}
			for _, task := range p.Tasks {
				ids = append(ids, task.ID)
			}
			if q.After = p.Next; p.Next == "" {
				return ids
			}
		}
		t.Fatal("pages have no end")
		return nil
	}
	for _, c := range []struct {
		name string
		q    client.TaskQuery
		want []string
	}{
		{"all", client.TaskQuery{}, want},
		{"by threes", client.TaskQuery{Limit: 3}, want},
		{"one by one", client.TaskQuery{Limit: 1}, want},
		{"of a type", client.TaskQuery{TaskType: "ship", Limit: 2}, []string{want[1], want[3], want[5]}},
		{"of a state", client.TaskQuery{Status: "completed", Limit: 2}, []string{want[2]}},
		{"of a Space", client.TaskQuery{SpaceID: s.space}, want},
		{"of another", client.TaskQuery{SpaceID: "x"}, nil},
		{"behind one", client.TaskQuery{After: want[4]}, want[5:]},
	} {
		if got := list(c.q); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if _, err := s.call.Tasks(t.Context(), client.TaskQuery{After: "x"}); !client.IsInvalid(err) {
		t.Errorf("behind nothing: %v", err)
	}
}

// A result that is too long for the plugin's views comes whole.
func TestLongResult(t *testing.T) {
	s := newShop(t)
	long := strings.Repeat("x", 20_000)
	task := s.submit(client.TaskRequest{})
	s.finish(task.ID, long)
	got := s.poll(task.ID)
	var result string
	if err := json.Unmarshal(got.Result, &result); err != nil || result != long {
		t.Errorf("%d bytes, %v", len(got.Result), err)
	}
	failed := s.submit(client.TaskRequest{})
	s.do("confirm", map[string]any{"task": failed.ID})
	s.do("start", map[string]any{"task": failed.ID})
	s.do("fail", map[string]any{"task": failed.ID, "error": long})
	if got := s.poll(failed.ID); got.Error != long {
		t.Errorf("an error of %d bytes", len(got.Error))
	}
}

// Plain messages move a task as well, be they replies to its last message alone.
func TestPlainMessages(t *testing.T) {
	s := newShop(t)
	task := s.submit(client.TaskRequest{})
	last := task.ID
	for _, m := range []client.SendMessage{
		{ContentType: "p2p:task_confirm", Content: json.RawMessage(`{}`)},
		{ContentType: "p2p:task_start", Content: json.RawMessage(`{}`)},
		{ContentType: "p2p:task_complete", Content: json.RawMessage(`{"result":{"ok":true}}`)},
	} {
		m.Refs = &client.Ref{Messages: []string{last}}
		sent, err := s.agent.Send(t.Context(), s.space, m)
		if err != nil {
			t.Fatal(err)
		}
		last = sent.ID
	}
	if got, err := s.call.Wait(t.Context(), task.ID); err != nil || string(got.Result) != `{"ok":true}` {
		t.Errorf("%+v, %v", got, err)
	}
}

// What is said of tasks by callers goes by the raw bytes of HTTP too: Location, status, headers.
func TestSubmitOverHTTP(t *testing.T) {
	s := newShop(t)
	req, err := http.NewRequest(http.MethodPost, s.srv.URL+"/p2a/tasks", bytes.NewReader([]byte(`{"task_type":"pack"}`)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.made.Token)
	resp, err := s.call.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var task client.Task
	if err := json.NewDecoder(resp.Body).Decode(&task); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 201 || resp.Header.Get("Location") != "/p2a/tasks/"+task.ID || resp.Header.Get("RateLimit-Policy") != `"caller";q=100000;w=60` ||
		!strings.HasPrefix(resp.Header.Get("RateLimit"), `"caller";r=9999`) {
		t.Errorf("%d, %v", resp.StatusCode, resp.Header)
	}
}
