package node

// This file measures how soon a node with many messages is up.

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"plexus/sdk/client"
)

func TestStartWithManyMessages(t *testing.T) {
	if testing.Short() {
		t.Skip("sends very many messages")
	}
	dir := t.TempDir()
	n := open(t, dir)
	s, id := register(t, n, "ann")
	space := join(t, s, "plan")
	start := time.Now()
	var wg sync.WaitGroup
	failed := make(chan error, 64)
	for w := range cap(failed) {
		wg.Go(func() {
			for i := range many / cap(failed) {
				if _, err := s.Send(t.Context(), space, client.SendMessage{Content: content(fmt.Sprint(w, i))}); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
	t.Logf("sent %d in %s by %d at once", many/cap(failed)*cap(failed), time.Since(start).Round(time.Millisecond), cap(failed))
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	start = time.Now()
	n = open(t, dir)
	opened := time.Since(start)
	s, err := n.As(id)
	if err != nil {
		t.Fatal(err)
	}
	m := say(t, s, space, "the first after the start")
	up := time.Since(start)
	p, err := s.Read(t.Context(), client.ReadQuery{SpaceID: space, All: true, Limit: 1})
	if err != nil || len(p.Messages) != 1 || p.Messages[0].ID != m.ID {
		t.Errorf("read: %+v, %v", p, err)
	}
	if c := join(t, s, "plan"); c != space {
		t.Error("another space")
	}
	t.Logf("opened in %s, first send acknowledged after %s", opened.Round(time.Millisecond), up.Round(time.Millisecond))
}
