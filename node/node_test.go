package node

// This file holds what the tests of the package share: nodes in temporary data dirs.

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"plexus/node/api"
	"plexus/sdk/client"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("PLEXUS_TEST_KILLED"); dir != "" {
		killed(dir, os.Getenv("PLEXUS_TEST_CALLBACK"))
		return
	}
	var err error
	if compiled, err = os.MkdirTemp("", "plexus-node-test"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(compiled)
		os.Exit(code)
	}))
}

// compiled is where tests that run the node's own patterns keep them compiled, so that it is done once.
var compiled string

// ready waits until the node's own plugins are compiled, which takes long on a busy machine.
func ready(t *testing.T, n *Node, space string) {
	t.Helper()
	eventually(t, "the plugins are there", func() bool {
		_, err := n.View(t.Context(), space, capabilityPlugin, "find", nil, "")
		return err == nil
	})
}

// open opens a node that stays alone, and closes it at the test's end.
func open(t testing.TB, dir string, change ...func(*Config)) *Node {
	t.Helper()
	cfg := Config{Dir: dir, NoP2P: true, Listen: "none", Cache: compiled, Plugins: [][]byte{}} // compiling them takes longer than most tests
	for _, c := range change {
		c(&cfg)
	}
	n, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

func accessKey(t testing.TB, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "access.key"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// register makes a Node and returns its operations and its ID.
func register(t testing.TB, n *Node, name string) (api.Service, string) {
	t.Helper()
	r := registerAs(t, n, client.NodeCreate{Name: name, Description: name + " at work"})
	s, err := n.As(r.ID)
	if err != nil {
		t.Fatal(err)
	}
	return s, r.ID
}

func registerAs(t testing.TB, n *Node, c client.NodeCreate) client.AuthResponse {
	t.Helper()
	r, err := n.Register(t.Context(), client.AuthRegister{NodeCreate: c, AccessKey: accessKey(t, n.cfg.Dir)}, "")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func join(t testing.TB, s api.Service, name string) string {
	t.Helper()
	info, err := s.Space(t.Context(), client.SpaceCreate{Name: name, Description: "here"})
	if err != nil {
		t.Fatal(err)
	}
	return info.ID
}

func say(t testing.TB, s api.Service, space, text string) client.Message {
	t.Helper()
	m, err := s.Send(t.Context(), space, client.SendMessage{Content: content(text)})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func content(text string) json.RawMessage {
	b, _ := json.Marshal(map[string]string{"text": text})
	return b
}

// run runs a node until stop is called, which returns what Run returned.
func run(t testing.TB, n *Node) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(3 * time.Minute): // under the race detector the first compilation of the plugins takes long
			t.Fatal("Run doesn't end")
			return nil
		}
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return stop
}
