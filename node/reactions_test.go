package node

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"plexus/graph"
	"plexus/node/api"
	"plexus/sdk/client"
)

// A plugin speaks as the Node that turned it on, once for each message, over a restart of the node, until it is turned off.
func TestReactions(t *testing.T) {
	greeter, err := os.ReadFile("testdata/greeter.wasm") // answers type x with type seen: plugins/react_test.go
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	with := func(c *Config) { c.Plugins = [][]byte{greeter} }
	n := open(t, dir, with)
	stop := run(t, n)
	ann, annID := register(t, n, "ann")
	_, botID := register(t, n, "bot")
	space := join(t, ann, "plan")
	for _, bad := range []error{
		n.React(t.Context(), space, "nothing", botID, true), n.React(t.Context(), "x", "gree", botID, true), n.React(t.Context(), space, "gree", "x", true),
	} {
		if !errors.Is(bad, graph.ErrNotFound) {
			t.Errorf("%v, want not found", bad)
		}
	}
	say := func(s api.Service) {
		t.Helper()
		if _, err := s.Send(t.Context(), space, client.SendMessage{ContentType: "x", Content: json.RawMessage(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	seen := func(s api.Service) (count int) {
		page, err := s.Read(t.Context(), client.ReadQuery{SpaceID: space, All: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Messages {
			if m.ContentType == "seen" {
				count++
				if m.Sender != botID {
					t.Errorf("%s speaks", m.Sender)
				}
			}
		}
		return count
	}
	if err := n.React(t.Context(), space, "gree", botID, true); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the reaction answers", func() bool {
		say(ann) // what is said before it begins isn't answered
		return seen(ann) > 0
	})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	n = open(t, dir, with)
	stop = run(t, n)
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	again, err := n.As(annID)
	if err != nil {
		t.Fatal(err)
	}
	before := seen(again)
	say(again)
	eventually(t, "it answers after a restart", func() bool { return seen(again) > before })
	if err := n.React(t.Context(), space, "gree", botID, false); err != nil {
		t.Fatal(err)
	}
	if on, err := n.rec.reactions(); err != nil || len(on) != 0 {
		t.Errorf("still on: %v %v", on, err)
	}
}

// TestReactBeforePluginsAreKnown asks a node that hasn't begun to run: it says to ask again, not that there is no such plugin.
func TestReactBeforePluginsAreKnown(t *testing.T) {
	n := open(t, t.TempDir(), func(c *Config) { c.Plugins = nil })
	ann, annID := register(t, n, "ann")
	space := join(t, ann, "plan")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.React(ctx, space, "swarm", annID, true); !errors.Is(err, graph.ErrUnavailable) || !strings.Contains(err.Error(), "ask again") {
		t.Errorf("%v, want to ask again", err)
	}
}
