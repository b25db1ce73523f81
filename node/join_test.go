package node

// This file tests two nodes that meet: by a ticket, over real connections on loopback.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"plexus/graph"
	"plexus/node/api"
	"plexus/sdk/client"
)

func withPeers(c *Config) {
	c.NoP2P = false
	c.P2P.Listen = []string{"/ip4/127.0.0.1/tcp/0"}
	c.P2P.NoMDNS, c.P2P.NoPortMap, c.P2P.NoAutoNAT = true, true, true
	c.P2P.SyncEvery = time.Second
}

// pair starts two nodes; the second joins the first by a ticket.
func pair(t *testing.T, role string, change ...func(*Config)) (a, b *Node) {
	t.Helper()
	change = append([]func(*Config){withPeers}, change...)
	a, b = open(t, t.TempDir(), change...), open(t, t.TempDir(), change...)
	run(t, a)
	run(t, b)
	inv, err := a.Invite(t.Context(), client.InviteCreate{Role: role})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := joinSoon(t.Context(), b, inv.Ticket); err != nil {
		t.Fatal(err)
	}
	return a, b
}

// joinSoon waits until Run has begun.
func joinSoon(ctx context.Context, n *Node, ticket string) (client.JoinResult, error) {
	for {
		got, err := n.Join(ctx, ticket)
		if !errors.Is(err, graph.ErrClosed) || ctx.Err() != nil {
			return got, err
		}
	}
}

// waitFor listens until a message is there.
func waitFor(t *testing.T, s api.Service, space, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for ev, err := range s.Listen(ctx, client.ListenQuery{SpaceID: space, FromStart: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Message.ID == id {
			return
		}
	}
	t.Fatalf("message %s never came", id)
}

func TestTwoNodesMeet(t *testing.T) {
	a, b := pair(t, "")
	ann, annID := register(t, a, "ann")
	bob, bobID := register(t, b, "bob")
	space := join(t, ann, "plan")
	if got := join(t, bob, "plan"); got != space {
		t.Fatalf("another space: %s, %s", got, space)
	}
	waitFor(t, bob, space, say(t, ann, space, "from ann").ID)
	waitFor(t, ann, space, say(t, bob, space, "from bob").ID)
	eventually(t, "both know both", func() bool {
		for _, n := range []*Node{a, b} {
			nodes, err := n.Nodes(t.Context())
			if err != nil || len(nodes) != 2 || nodes[0].Name != "ann" || nodes[1].Name != "bob" {
				return false
			}
			info, err := n.SpaceInfo(t.Context(), space)
			if err != nil || len(info.Nodes) != 2 || info.MessageCount != 2 {
				return false
			}
		}
		return true
	})
	m, err := bob.Send(t.Context(), space, client.SendMessage{Content: content("to ann"), Refs: &client.Ref{Nodes: []string{annID}}})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "ann's inbox", func() bool {
		p, err := a.Inbox(t.Context(), annID, "", 0, true)
		return err == nil && len(p.Messages) == 1 && p.Messages[0].ID == m.ID && p.Messages[0].Sender == bobID
	})
	s, err := b.Status(t.Context())
	if err != nil || len(s.Peers) != 1 || s.Role != "writer" {
		t.Errorf("status: %+v, %v", s, err)
	}
}

func TestJoinEnrolsNodesAndSaysWhatStaysBehind(t *testing.T) {
	a, b := open(t, t.TempDir(), withPeers), open(t, t.TempDir(), withPeers)
	run(t, a)
	run(t, b)
	bob, bobID := register(t, b, "bob")
	old := join(t, bob, "before")
	m := say(t, bob, old, "left behind")
	inv, err := a.Invite(t.Context(), client.InviteCreate{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := joinSoon(t.Context(), b, inv.Ticket)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.LeftBehind, []string{"before"}) || got.Role != "writer" || got.Inviter != a.Host().String() {
		t.Errorf("join: %+v", got)
	}
	p, err := bob.Read(t.Context(), client.ReadQuery{SpaceID: old, All: true})
	if err != nil || len(p.Messages) != 1 || p.Messages[0].ID != m.ID {
		t.Errorf("the old space isn't readable: %+v, %v", p, err)
	}
	if now := join(t, bob, "before"); now == old {
		t.Error("the new network has the old space")
	}
	eventually(t, "the other host knows bob", func() bool {
		n, err := a.Node(t.Context(), bobID)
		return err == nil && n.Name == "bob"
	})
	again, err := b.Join(t.Context(), inv.Ticket)
	if err != nil || again.Network != got.Network {
		t.Errorf("joining again by the used ticket: %+v, %v", again, err)
	}
	invites, err := a.Invites(t.Context())
	if err != nil || len(invites) != 1 || invites[0].Used != 1 {
		t.Errorf("invites: %+v, %v", invites, err)
	}
}

func TestReaderReadsAndIsNotHeard(t *testing.T) {
	a, b := pair(t, "reader")
	ann, _ := register(t, a, "ann")
	bob, _ := register(t, b, "bob")
	space := join(t, ann, "plan")
	if got := join(t, bob, "plan"); got != space {
		t.Fatalf("another space: %s, %s", got, space)
	}
	waitFor(t, bob, space, say(t, ann, space, "hear").ID)
	_, err := bob.Send(t.Context(), space, client.SendMessage{Content: content("x")})
	if !errors.Is(err, graph.ErrForbidden) {
		t.Errorf("a reader's send: %v", err)
	}
}

func TestRevokedHostFallsSilent(t *testing.T) {
	a, b := pair(t, "")
	ann, _ := register(t, a, "ann")
	bob, bobID := register(t, b, "bob")
	space := join(t, ann, "plan")
	join(t, bob, "plan")
	kept := say(t, bob, space, "before")
	waitFor(t, ann, space, kept.ID)
	if err := b.Revoke(t.Context(), a.Host().String()); !errors.Is(err, graph.ErrForbidden) {
		t.Errorf("a writer revokes the founder: %v", err)
	}
	if err := a.Revoke(t.Context(), b.Host().String()); err != nil {
		t.Fatal(err)
	}
	p, err := ann.Read(t.Context(), client.ReadQuery{SpaceID: space, All: true})
	if err != nil || len(p.Messages) != 1 || p.Messages[0].ID != kept.ID {
		t.Errorf("what was said before: %+v, %v", p, err)
	}
	eventually(t, "bob is gone from the directory", func() bool {
		nodes, err := a.Nodes(t.Context())
		return err == nil && len(nodes) == 1 && nodes[0].ID != bobID
	})
	eventually(t, "the peer is let go", func() bool {
		s, err := a.Status(t.Context())
		if err != nil {
			return false
		}
		for _, p := range s.Peers {
			if p.Connected {
				return false
			}
		}
		return true
	})
}

// TestPartitionHeals lets both sides write on while they are apart.
func TestPartitionHeals(t *testing.T) {
	a, b := pair(t, "")
	ann, _ := register(t, a, "ann")
	bob, _ := register(t, b, "bob")
	space := join(t, ann, "plan")
	join(t, bob, "plan")
	waitFor(t, bob, space, say(t, ann, space, "together").ID)
	if err := b.SetOffline(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if s, err := b.Status(t.Context()); err != nil || !s.Offline {
		t.Errorf("status: %+v, %v", s, err)
	}
	for i := range 50 {
		say(t, ann, space, fmt.Sprint("ann ", i))
		say(t, bob, space, fmt.Sprint("bob ", i))
	}
	if err := b.SetOffline(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	eventually(t, "both have all, in one order", func() bool {
		var orders [2][]string
		for i, s := range []api.Service{ann, bob} {
			p, err := s.Read(t.Context(), client.ReadQuery{SpaceID: space, All: true, Order: "canonical"})
			if err != nil {
				t.Fatal(err)
			}
			orders[i] = idsOf(p)
		}
		return len(orders[0]) == 101 && slices.Equal(orders[0], orders[1])
	})
	eventually(t, "both have equal digests", func() bool {
		x, errX := a.Status(t.Context())
		y, errY := b.Status(t.Context())
		return errX == nil && errY == nil && x.Spaces[0].Digest == y.Spaces[0].Digest && x.Spaces[0].Entries == y.Spaces[0].Entries
	})
}

func TestFailedJoinEndsRun(t *testing.T) {
	n := open(t, t.TempDir(), withPeers, func(c *Config) { c.Join = "plexus1nonsense" })
	if err := n.Run(t.Context()); !errors.Is(err, graph.ErrInvalid) {
		t.Errorf("run with a bad ticket: %v", err)
	}
}

func TestJoinAtStart(t *testing.T) {
	a := open(t, t.TempDir(), withPeers)
	run(t, a)
	inv, err := a.Invite(t.Context(), client.InviteCreate{})
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, t.TempDir(), withPeers, func(c *Config) { c.Join, c.Listen = inv.Ticket, "127.0.0.1:0" })
	run(t, b)
	eventually(t, "the node is in the network and announced", func() bool {
		_, err := os.Stat(filepath.Join(b.cfg.Dir, "daemon.json"))
		return err == nil && b.network().ID == a.network().ID
	})
}

// eventually asks again and again, for what comes by the network.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("it never came true that %s", what)
		}
	}
}
