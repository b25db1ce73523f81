package node

// This file runs the contract of api.Service over the node itself.

import (
	"testing"

	"plexus/node/api"
	"plexus/node/api/servicetest"
	"plexus/sdk/client"
)

type world struct{ n *Node }

func (w world) Node(t testing.TB, name, description string) (api.Service, string) {
	t.Helper()
	r := registerAs(t, w.n, client.NodeCreate{Name: name, Description: description})
	s, err := w.n.As(r.ID)
	if err != nil {
		t.Fatal(err)
	}
	return s, r.ID
}

func TestService(t *testing.T) {
	servicetest.Run(t, func(t testing.TB) servicetest.World { return world{open(t, t.TempDir())} })
}
