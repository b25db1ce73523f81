package node

// This file tests what a revoke does to what was said: kept, withdrawn, and cut off later by an admin's host.

import (
	"context"
	"errors"
	"testing"
	"time"

	"plexus/graph"
	"plexus/graph/access"
	"plexus/sdk/client"
)

// TestWithdrawn voids all that a Node said in a Space: streams tell, pages leave it out, its IDs stay cursors.
func TestWithdrawn(t *testing.T) {
	n := open(t, t.TempDir())
	ann, _ := register(t, n, "ann")
	bob, bobID := register(t, n, "bob")
	space := join(t, ann, "plan")
	join(t, bob, "plan")
	a := say(t, ann, space, "a")
	b := say(t, bob, space, "b")
	cited, err := ann.Send(t.Context(), space, client.SendMessage{Content: content("re b"), Refs: &client.Ref{Messages: []string{b.ID}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	events := make(chan client.Event)
	go func() {
		defer close(events)
		for ev, err := range ann.Listen(ctx, client.ListenQuery{SpaceID: space, After: cited.ID}) {
			if err != nil {
				t.Error(err)
				return
			}
			select {
			case events <- ev:
			case <-ctx.Done():
			}
		}
	}()
	id, err := graph.ParseNodeID(bobID)
	if err != nil {
		t.Fatal(err)
	}
	sid, err := graph.ParseID(space)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.say(t.Context(), access.Revoke(id, []access.Cut{{Space: sid, Nodes: map[graph.NodeID]*graph.ID{}}})); err != nil {
		t.Fatal(err)
	}
	if ev := <-events; ev.Type != "withdrawn" || ev.Message.ID != b.ID {
		t.Errorf("event %+v, want %s withdrawn", ev, b.ID)
	}
	cancel()
	for range events {
	}
	p, err := ann.Read(t.Context(), client.ReadQuery{SpaceID: space, All: true})
	if err != nil || len(p.Messages) != 2 || p.Messages[0].ID != a.ID || p.Messages[1].ID != cited.ID {
		t.Errorf("read: %+v, %v", p, err)
	}
	if p, err = ann.Read(t.Context(), client.ReadQuery{SpaceID: space, All: true, After: b.ID}); err != nil || len(p.Messages) != 1 || p.Messages[0].ID != cited.ID {
		t.Errorf("a void cursor: %+v, %v", p, err)
	}
	if _, err := ann.Read(t.Context(), client.ReadQuery{SpaceID: space, MessageID: b.ID}); !errors.Is(err, graph.ErrNotFound) {
		t.Errorf("a void message: %v", err)
	}
	if _, err := ann.Send(t.Context(), space, client.SendMessage{Content: content("x"), Refs: &client.Ref{Messages: []string{b.ID}}}); !errors.Is(err, graph.ErrInvalid) {
		t.Errorf("a ref to a void message: %v", err)
	}
	if _, err := bob.Send(t.Context(), space, client.SendMessage{Content: content("x")}); !errors.Is(err, graph.ErrForbidden) {
		t.Errorf("a revoked node sends: %v", err)
	}
	if f, err := n.Find(t.Context(), client.FindQuery{MessageID: b.ID}); err != nil || len(f.Messages) != 0 {
		t.Errorf("found: %+v, %v", f, err)
	}
}

// TestLateCut finds Spaces in which a revoked author isn't cut off yet.
func TestLateCut(t *testing.T) {
	n := open(t, t.TempDir())
	ann, _ := register(t, n, "ann")
	bob, bobID := register(t, n, "bob")
	space := join(t, bob, "plan")
	said := say(t, bob, space, "before")
	id, err := graph.ParseNodeID(bobID)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.say(t.Context(), access.Revoke(id, nil)); err != nil {
		t.Fatal(err)
	}
	sp, err := n.space(space)
	if err != nil {
		t.Fatal(err)
	}
	if s := n.state().Standing(sp.Genesis(), id); !s.May || len(s.Cuts) != 0 {
		t.Fatalf("before the cut: %+v", s)
	}
	if err := n.cutRevoked(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := n.state().Standing(sp.Genesis(), id); !s.May || len(s.Cuts) != 1 || s.Cuts[0].String() != said.ID {
		t.Errorf("after it: %+v, want a cut at %s", s, said.ID)
	}
	before := n.log.Last()
	if err := n.cutRevoked(t.Context()); err != nil || n.log.Last() != before {
		t.Errorf("cut again: %v", err)
	}
	p, err := ann.Read(t.Context(), client.ReadQuery{SpaceID: space, All: true})
	if err != nil || len(p.Messages) != 1 {
		t.Errorf("read: %+v, %v", p, err)
	}
}

func TestRevokeRefusals(t *testing.T) {
	n := open(t, t.TempDir())
	_, annID := register(t, n, "ann")
	if err := n.Revoke(t.Context(), "x"); !errors.Is(err, graph.ErrNotFound) {
		t.Errorf("nobody: %v", err)
	}
	if err := n.Revoke(t.Context(), "12D3KooWGzxzKZYveHXtpG6AsrUJBcWxHBFS2HsEoGTxrMLvKXtf"); !errors.Is(err, graph.ErrNotFound) {
		t.Errorf("a stranger: %v", err)
	}
	if err := n.Revoke(t.Context(), annID); err != nil {
		t.Error(err)
	}
	if nodes, err := n.Nodes(t.Context()); err != nil || len(nodes) != 0 {
		t.Errorf("nodes: %+v, %v", nodes, err)
	}
}

func TestAdminWithoutPeers(t *testing.T) {
	n := open(t, t.TempDir())
	ctx := t.Context()
	if _, err := n.Invite(ctx, client.InviteCreate{}); !errors.Is(err, graph.ErrUnavailable) {
		t.Errorf("invite: %v", err)
	}
	if _, err := n.Join(ctx, "plexus1x"); !errors.Is(err, graph.ErrUnavailable) {
		t.Errorf("join: %v", err)
	}
	if err := n.SetOffline(ctx, true); !errors.Is(err, graph.ErrUnavailable) {
		t.Errorf("offline: %v", err)
	}
	for _, in := range []client.InviteCreate{{Role: "king"}, {Uses: -1}, {Uses: access.MaxUses + 1}, {ExpiresIn: "soon"}, {ExpiresIn: "-1h"}} {
		if _, err := n.Invite(ctx, in); !errors.Is(err, graph.ErrInvalid) {
			t.Errorf("invite %+v: %v", in, err)
		}
	}
	if err := n.RevokeInvite(ctx, "x"); !errors.Is(err, graph.ErrNotFound) {
		t.Errorf("no invite: %v", err)
	}
	s, err := n.Status(ctx)
	if err != nil || s.Host != n.Host().String() || s.Role != "admin" || s.Spaces == nil || s.Peers == nil || s.Addrs == nil {
		t.Errorf("status: %+v, %v", s, err)
	}
	if i, err := n.Invites(ctx); err != nil || i == nil {
		t.Errorf("invites: %v, %v", i, err)
	}
}
