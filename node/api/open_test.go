package api_test

// This file makes the node the tests talk to.

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plexus/node"
	"plexus/p2p"
)

// openNode starts a node on a temporary directory, and returns it with its access key. With peers it listens for them,
// on loopback.
func openNode(tb testing.TB, noAuth, peers bool) (backend, string) {
	tb.Helper()
	dir := tb.TempDir()
	n, err := node.Open(node.Config{
		Dir: dir, Listen: "none", NoAuth: noAuth, NoP2P: !peers,
		P2P: p2p.Config{
			Listen: []string{"/ip4/127.0.0.1/tcp/0"}, NoMDNS: true, NoRelay: true, NoHolePunch: true, NoPortMap: true, NoAutoNAT: true,
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Errorf("run: %v", err)
		}
		if err := n.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	key, err := os.ReadFile(filepath.Join(dir, "access.key"))
	if err != nil {
		tb.Fatal(err)
	}
	return n, strings.TrimSpace(string(key))
}
