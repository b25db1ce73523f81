package node

// This file tests the beginning and end of a node: first start, restart, what is refused.

import (
	"slices"
	"testing"

	"plexus/sdk/client"
)

func TestRestartKeepsEverything(t *testing.T) {
	dir := t.TempDir()
	n := open(t, dir)
	s, id := register(t, n, "ann")
	space := join(t, s, "plan")
	m := say(t, s, space, "hello")
	host, network := n.Host(), n.network().ID
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}

	n = open(t, dir)
	if n.Host() != host || n.network().ID != network {
		t.Fatal("the host or its network changed")
	}
	again, err := n.As(id)
	if err != nil {
		t.Fatal(err)
	}
	page, err := again.Read(t.Context(), client.ReadQuery{SpaceID: space, All: true})
	if err != nil || len(page.Messages) != 1 || page.Messages[0].ID != m.ID {
		t.Fatalf("read after a restart: %+v, %v", page, err)
	}
	if say(t, again, space, "and on").Sender != id {
		t.Error("another sender")
	}
	nodes, err := n.Nodes(t.Context())
	if err != nil || len(nodes) != 1 || nodes[0].Name != "ann" {
		t.Errorf("nodes: %+v, %v", nodes, err)
	}
}

func TestHosts(t *testing.T) {
	for listen, want := range map[string][]string{
		"none": {"a"}, ":80": {"a"}, "0.0.0.0:80": {"a"}, "[::]:80": {"a"},
		"192.0.2.1:80": {"a", "192.0.2.1"}, "plexus.example:80": {"a", "plexus.example"},
	} {
		c := Config{Listen: listen, Hosts: []string{"a"}}
		if got := c.hosts(); !slices.Equal(got, want) {
			t.Errorf("listening on %s: %v, want %v", listen, got, want)
		}
	}
}
