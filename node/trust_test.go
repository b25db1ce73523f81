package node

// This file tests the user's trust: what it is by default and once the user has spoken, that plugins heed it, and that no state differs for it.

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"plexus/graph"
	"plexus/node/api"
	"plexus/sdk/client"
)

func levelOf(t *testing.T, n *Node, space, node string) string {
	t.Helper()
	p, err := n.Trust(t.Context(), space)
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range p.Nodes {
		if tr.Node == node {
			if l := n.TrustLevel(space, node); l != tr.Level {
				t.Errorf("%s is listed as %s and is %s", node, tr.Level, l)
			}
			return tr.Level
		}
	}
	return n.TrustLevel(space, node)
}

func set(t *testing.T, n *Node, node, level, space string) {
	t.Helper()
	if err := n.SetTrust(t.Context(), node, client.TrustSet{Level: level, SpaceID: space}); err != nil {
		t.Fatal(err)
	}
}

func TestTrustLevels(t *testing.T) {
	dir := t.TempDir()
	n := open(t, dir)
	ann, annID := register(t, n, "ann")
	plan, other := join(t, ann, "plan"), join(t, ann, "other")
	shop, err := n.gateway.AddCaller(t.Context(), client.CallerCreate{Name: "shop", Spaces: []string{plan}})
	if err != nil {
		t.Fatal(err)
	}
	stranger := graph.NodeIDOf(ed25519.NewKeyFromSeed(make([]byte, 32))).String()
	want := func(space, node, level string) {
		t.Helper()
		if got := levelOf(t, n, space, node); got != level {
			t.Errorf("%s in %q is %s, want %s", node, space, got, level)
		}
	}
	want("", annID, client.TrustOwner)
	want(plan, shop.ID, client.TrustKnown) // its key is here, but it isn't the user's own
	want(plan, stranger, client.TrustUnknown)
	set(t, n, stranger, client.TrustKnown, "")
	set(t, n, stranger, client.TrustTrusted, plan)
	set(t, n, annID, client.TrustKnown, other)
	want("", stranger, client.TrustKnown)
	want(other, stranger, client.TrustKnown)
	want(plan, stranger, client.TrustTrusted)
	want(other, annID, client.TrustKnown)
	want(plan, annID, client.TrustOwner)
	if err := n.SetNeeded(t.Context(), client.TrustedAction{Action: "task/confirm", Level: client.TrustNobody, SpaceID: plan}); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []error{
		n.SetTrust(t.Context(), stranger, client.TrustSet{Level: "nobody"}), n.SetTrust(t.Context(), stranger, client.TrustSet{Level: ""}),
		n.SetNeeded(t.Context(), client.TrustedAction{Action: "task", Level: "known"}), n.SetNeeded(t.Context(), client.TrustedAction{Action: "a/b/c", Level: "known"}),
		n.SetNeeded(t.Context(), client.TrustedAction{Action: "a/b", Level: "much"}),
	} {
		if !errors.Is(bad, graph.ErrInvalid) {
			t.Errorf("%v, want invalid", bad)
		}
	}
	for _, bad := range []error{
		n.SetTrust(t.Context(), "x", client.TrustSet{Level: "known"}), n.SetTrust(t.Context(), stranger, client.TrustSet{Level: "known", SpaceID: "x"}),
		second(n.Trust(t.Context(), "x")),
	} {
		if !errors.Is(bad, graph.ErrNotFound) {
			t.Errorf("%v, want not found", bad)
		}
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}

	n = open(t, dir) // it outlives the daemon
	want(plan, stranger, client.TrustTrusted)
	p, err := n.Trust(t.Context(), plan)
	if err != nil || len(p.Actions) != 1 || p.Actions[0] != (client.TrustedAction{Action: "task/confirm", Level: client.TrustNobody, SpaceID: plan}) {
		t.Errorf("%+v %v", p, err)
	}
	if p, err := n.Trust(t.Context(), ""); err != nil || len(p.Actions) != 0 {
		t.Errorf("for all Spaces: %+v %v", p, err)
	}
	set(t, n, stranger, client.TrustDefault, plan)
	want(plan, stranger, client.TrustKnown)
	set(t, n, stranger, client.TrustDefault, "")
	want(plan, stranger, client.TrustUnknown)
}

// Two hosts, each with its user's policy. A task by a Node that is trusted is confirmed without anybody being asked, one by a Node that is only known
// waits. Each sees its own trust in views; both have one state.
func TestTrustOnTwoHosts(t *testing.T) {
	a, b := pair(t, "", func(c *Config) { c.Plugins = nil })
	ann, annID := register(t, a, "ann")
	mia, miaID := register(t, a, "mia")
	bob, bobID := register(t, b, "bob")
	space := join(t, ann, "plan")
	join(t, mia, "plan")
	join(t, bob, "plan")
	eventually(t, "each knows the others", func() bool {
		return levelOf(t, a, space, bobID) == client.TrustKnown && levelOf(t, b, space, annID) == client.TrustKnown && levelOf(t, b, space, miaID) == client.TrustKnown
	})
	if got := levelOf(t, b, space, bobID); got != client.TrustOwner {
		t.Errorf("bob is %s to his own host", got)
	}
	eventually(t, "the reaction is on", func() bool { return b.React(t.Context(), space, "task", bobID, true) == nil })
	if err := b.SetNeeded(t.Context(), client.TrustedAction{Action: "task/confirm", Level: client.TrustTrusted}); err != nil {
		t.Fatal(err)
	}
	set(t, b, annID, client.TrustTrusted, space)
	ask := func(s api.Service) string {
		t.Helper()
		m, err := s.Send(t.Context(), space, client.SendMessage{
			ContentType: "p2p:task_request", Content: json.RawMessage(`{"task_type":"t"}`), Refs: &client.Ref{Nodes: []string{bobID}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return m.ID
	}
	asked := map[string]bool{}
	var first, said client.Message
	first.ID = ask(mia)
	eventually(t, "a task of hers is confirmed", func() bool { // the reaction answers what comes once it has begun
		ask(mia)
		asked[ask(ann)] = true
		said = messageOf(t, ann, space, "p2p:task_confirm")
		return said.ID != ""
	})
	if said.Sender != bobID || string(said.Meta) != `{"auto":true}` || !asked[said.Refs.Messages[0]] {
		t.Errorf("%+v", said)
	}
	for n, want := range map[*Node]string{a: client.TrustOwner, b: client.TrustKnown} {
		eventually(t, "the view shows trust", func() bool {
			v, err := n.View(t.Context(), space, "task", "task", json.RawMessage(`{"task":"`+first.ID+`","trust":true}`), "")
			return err == nil && strings.Contains(string(v), `"trust":"`+want+`"`) && strings.Contains(string(v), `"status":"pending"`)
		})
	}
	eventually(t, "both have one state", func() bool {
		x, _, err := a.StateHash(t.Context(), space, "task")
		y, _, err2 := b.StateHash(t.Context(), space, "task")
		return err == nil && err2 == nil && x == y
	})
}

// An agent's command is refused towards a Node its user doesn't trust that far; nothing is said then.
func TestInvokeNeedsTrust(t *testing.T) {
	n := open(t, t.TempDir(), func(c *Config) { c.Plugins = nil })
	run(t, n)
	ann, annID := register(t, n, "ann")
	bob, bobID := register(t, n, "bob")
	space := join(t, ann, "plan")
	join(t, bob, "plan")
	ready(t, n, space)
	if _, err := n.Do(t.Context(), space, "capability", "declare", json.RawMessage(`{"type":"text:upper"}`), bobID); err != nil {
		t.Fatal(err)
	}
	params := json.RawMessage(`{"type":"text:upper","node":"` + bobID + `"}`)
	set(t, n, bobID, client.TrustUnknown, space)
	eventually(t, "the invocation is refused", func() bool {
		_, err := n.Do(t.Context(), space, "capability", "invoke", params, annID)
		return errors.Is(err, graph.ErrInvalid) && strings.Contains(err.Error(), "a human must decide this")
	})
	set(t, n, bobID, client.TrustDefault, space)
	if _, err := n.Do(t.Context(), space, "capability", "invoke", params, annID); err != nil {
		t.Errorf("towards one of the user's own: %v", err)
	}
}

// messageOf is the first of a type, zero where there is none.
func messageOf(t *testing.T, s api.Service, space, kind string) client.Message {
	t.Helper()
	page, err := s.Read(t.Context(), client.ReadQuery{SpaceID: space, All: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range page.Messages {
		if m.ContentType == kind {
			return m
		}
	}
	return client.Message{}
}
