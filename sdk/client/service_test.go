package client_test

// This file runs the contract of api.Service over HTTP: what a node does, a client of it does alike.

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plexus/node"
	"plexus/node/api"
	"plexus/node/api/servicetest"
	"plexus/sdk/client"
)

// world makes Nodes of one daemon, each behind a client of its own.
type world struct{ owner *client.Client }

func (w world) Node(t testing.TB, name, description string) (api.Service, string) {
	t.Helper()
	who, err := w.owner.Register(t.Context(), client.AuthRegister{NodeCreate: client.NodeCreate{Name: name, Description: description}})
	if err != nil {
		t.Fatal(err)
	}
	return &client.Client{URL: w.owner.URL, Token: who.Token, NodeID: who.ID, HTTP: w.owner.HTTP}, who.ID
}

func openWorld(t testing.TB) servicetest.World {
	t.Helper()
	dir := t.TempDir()
	n, err := node.Open(node.Config{Dir: dir, Listen: "none", NoP2P: true})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(n.Handler())
	tr := &http.Transport{MaxIdleConnsPerHost: 16}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		s.CloseClientConnections()
		s.Close()
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	key, err := os.ReadFile(filepath.Join(dir, "access.key"))
	if err != nil {
		t.Fatal(err)
	}
	return world{&client.Client{URL: s.URL, AccessKey: strings.TrimSpace(string(key)), HTTP: &http.Client{Transport: tr}}}
}

func TestService(t *testing.T) { servicetest.Run(t, openWorld) }
