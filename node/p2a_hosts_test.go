package node

// This file tests P2A between two hosts, over real connections: the caller is at one, the agent at the other, with a cut between them.

import (
	"encoding/json"
	"net/http/httptest"
	"testing"
	"time"

	"plexus/sdk/client"
)

// twoShops are two hosts of one Network: the callers' shop, with an agent of its own, and a far one with another.
func twoShops(t *testing.T) (s, far *shop) {
	t.Helper()
	own := func(c *Config) { c.Plugins, c.Callbacks = nil, loopbackNets }
	a, b := open(t, t.TempDir(), withPeers, own), open(t, t.TempDir(), withPeers, own)
	s = &shop{t: t, node: a, stop: run(t, a), srv: httptest.NewServer(a.Handler())}
	t.Cleanup(s.srv.Close)
	far = &shop{t: t, node: b, stop: run(t, b)}
	inv, err := a.Invite(t.Context(), client.InviteCreate{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := joinSoon(t.Context(), b, inv.Ticket); err != nil {
		t.Fatal(err)
	}
	s.agent, s.id = register(t, a, "near")
	far.agent, far.id = register(t, b, "far")
	s.space = join(t, s.agent, "orders")
	far.space = join(t, far.agent, "orders")
	s.ready()
	far.ready()
	s.made = s.caller(client.CallerCreate{Name: "web shop", Spaces: []string{s.space}, RatePerMin: 100_000})
	s.call = s.client(s.made.Token)
	return s, far
}

// sees waits until a host's task plugin has a task in a state.
func (s *shop) sees(task, status string) {
	s.t.Helper()
	eventually(s.t, "the task is "+status, func() bool {
		var v taskView
		raw, err := s.node.View(s.t.Context(), s.space, "task", "task", json.RawMessage(`{"task":"`+task+`"}`), "")
		return err == nil && json.Unmarshal(raw, &v) == nil && v.Status == status
	})
}

func TestFarAgent(t *testing.T) {
	s, far := twoShops(t)
	r := newReceiver(t, always(200))
	task := s.submit(client.TaskRequest{Mode: client.ModeCallback, CallbackURL: r.srv.URL})
	far.sees(task.ID, "pending")
	far.finish(task.ID, "from afar")
	if got := s.callback(task.ID, client.CallbackDelivered); got.Attempts != 1 {
		t.Errorf("%+v", got)
	}
	ev, err := client.VerifyWebhook(r.deliveries()[0].header, r.deliveries()[0].body, time.Now(), s.made.WebhookSecret)
	if err != nil || string(ev.Data.Result) != `"from afar"` || ev.Data.By != far.id {
		t.Errorf("%+v, %v", ev, err)
	}
}

// Two agents take a task while a cut lies between them. The first result that the caller is told of holds, although the rival confirmed before: the
// host accepted it in the caller's name.
func TestRivalAgents(t *testing.T) {
	s, far := twoShops(t)
	task := s.submit(client.TaskRequest{})
	far.sees(task.ID, "pending")
	if err := far.node.SetOffline(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	far.do("confirm", map[string]any{"task": task.ID}) // first by its time
	s.finish(task.ID, "near")
	if got, err := s.call.Wait(t.Context(), task.ID); err != nil || string(got.Result) != `"near"` {
		t.Fatalf("meanwhile: %+v, %v", got, err)
	}
	eventually(t, "the result is accepted", func() bool {
		var v taskView
		raw, err := s.node.View(t.Context(), s.space, "task", "task", json.RawMessage(`{"task":"`+task.ID+`"}`), "")
		return err == nil && json.Unmarshal(raw, &v) == nil && v.Accepted
	})
	if err := far.node.SetOffline(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	far.sees(task.ID, "completed")
	eventually(t, "both hold the same", func() bool {
		a, _, errA := s.node.StateHash(t.Context(), s.space, "task")
		b, _, errB := far.node.StateHash(t.Context(), far.space, "task")
		return errA == nil && errB == nil && a == b
	})
	if got := s.poll(task.ID); got.Status != "completed" || got.By != s.id || string(got.Result) != `"near"` {
		t.Errorf("after the rival came: %+v", got)
	}
}
