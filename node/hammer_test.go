package node

// This file lets everything happen at once: registrations, joins, sends, reads, streams, acknowledgements, revokes.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"plexus/graph"
	"plexus/node/api"
	"plexus/sdk/client"
)

func TestHammerNode(t *testing.T) {
	n := open(t, t.TempDir())
	_, readerID := register(t, n, "reader")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var workers, streams sync.WaitGroup
	for w := range 8 {
		workers.Go(func() { hammer(t, n, w, readerID) })
	}
	reader, err := n.As(readerID)
	if err != nil {
		t.Fatal(err)
	}
	heard := 0
	streams.Go(func() {
		for ev, err := range reader.Listen(ctx, client.ListenQuery{Inbox: true, FromStart: true}) {
			if err != nil {
				t.Error(err)
				return
			}
			if ev.Type != "message" {
				continue
			}
			heard++
			if err := n.Ack(t.Context(), readerID, []string{ev.Message.ID}); err != nil && !errors.Is(err, graph.ErrNotFound) {
				t.Error(err)
				return
			}
			if heard == 8*20 {
				return
			}
		}
	})
	workers.Wait()
	streams.Wait()
	if p, err := n.Inbox(t.Context(), readerID, "", 0, true); err != nil || len(p.Messages) != 0 {
		t.Errorf("%d messages stay unacknowledged, %v", len(p.Messages), err)
	}
	report, err := n.Verify(t.Context())
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("verify: %v, %v", report.Problems, err)
	}
}

// hammer is one worker: a Node that comes, works in a few Spaces, and is revoked in the end.
func hammer(t *testing.T, n *Node, w int, readerID string) {
	s, id := register(t, n, fmt.Sprint("worker ", w))
	spaces := []string{join(t, s, "shared"), join(t, s, fmt.Sprint("own ", w))}
	for i := range 20 {
		space := spaces[i%2]
		m := hammerSend(t, s, space, client.SendMessage{
			Content: content(fmt.Sprint(w, " ", i)), Refs: &client.Ref{Nodes: []string{readerID}}, IdempotencyKey: fmt.Sprint(i),
		})
		if i%2 == 0 && m.ID != hammerSend(t, s, space, client.SendMessage{
			Content: content(fmt.Sprint(w, " ", i)), Refs: &client.Ref{Nodes: []string{readerID}}, IdempotencyKey: fmt.Sprint(i),
		}).ID {
			t.Error("a retry made another message")
		}
		if _, err := s.Read(t.Context(), client.ReadQuery{SpaceID: space, Limit: 5}); err != nil {
			t.Error(err)
		}
		if _, err := n.Nodes(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := n.Revoke(t.Context(), id); err != nil {
		t.Error(err)
	}
	if _, err := s.Send(t.Context(), spaces[0], client.SendMessage{Content: content("too late")}); !errors.Is(err, graph.ErrForbidden) {
		t.Errorf("a revoked worker sends: %v", err)
	}
}

func hammerSend(t *testing.T, s api.Service, space string, in client.SendMessage) client.Message {
	m, err := s.Send(t.Context(), space, in)
	if err != nil {
		t.Error(err)
	}
	return m
}
