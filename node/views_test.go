package node

// This file tests that plugins are wired in: a state is folded, viewed, and its hash survives a restart and a rebuild.

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"plexus/graph"
	"plexus/sdk/client"
)

func TestPluginsAreWiredIn(t *testing.T) {
	dir := t.TempDir()
	own := func(c *Config) { c.Plugins = nil }
	n := open(t, dir, own)
	stop := run(t, n)
	ann, annID := register(t, n, "ann")
	space := join(t, ann, "plan")
	m, err := ann.Send(t.Context(), space, client.SendMessage{
		ContentType: "checkpoint", Content: json.RawMessage(`{"id":"c1","title":"Go?","options":["Yes","Reject"]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the checkpoint is pending", func() bool {
		v, err := n.View(t.Context(), space, "checkpoint", "pending", nil, annID)
		return err == nil && strings.Contains(string(v), m.ID)
	})
	hash, current, err := n.StateHash(t.Context(), space, "checkpoint")
	if err != nil || !current || len(hash) != 64 {
		t.Fatalf("state: %q, %t, %v", hash, current, err)
	}
	for _, err := range []error{
		second(n.View(t.Context(), "x", "checkpoint", "pending", nil, "")),
		second(n.View(t.Context(), space, "nothing", "pending", nil, "")),
		second(n.View(t.Context(), space, "checkpoint", "nothing", nil, "")),
		second(n.View(t.Context(), space, "checkpoint", "pending", nil, "x")),
	} {
		if !errors.Is(err, graph.ErrNotFound) {
			t.Errorf("%v, want not found", err)
		}
	}
	if _, err := n.Rebuild(t.Context()); !errors.Is(err, graph.ErrConflict) {
		t.Errorf("a running node rebuilds: %v", err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}

	n = open(t, dir, own)
	report, err := n.Rebuild(t.Context())
	if err != nil || len(report.Problems) > 0 || report.Messages != 1 {
		t.Errorf("rebuild: %+v, %v", report, err)
	}
	run(t, n)
	eventually(t, "the state is as it was", func() bool {
		again, current, err := n.StateHash(t.Context(), space, "checkpoint")
		return err == nil && current && again == hash
	})
}

func TestWaitingOverAllSpaces(t *testing.T) {
	n := open(t, t.TempDir(), func(c *Config) { c.Plugins = nil })
	run(t, n)
	ann, annID := register(t, n, "ann")
	bob, bobID := register(t, n, "bob")
	waits := func(node, want string) {
		t.Helper()
		var got string
		eventually(t, node+" waits for "+want, func() bool {
			all, err := n.Waiting(t.Context(), node)
			if err != nil {
				t.Fatal(err)
			}
			got = ""
			for _, w := range all {
				got += w.Space + " " + w.Plugin + " " + w.View + " " + string(w.Items[0]) + "\n"
			}
			return want == "" && got == "" || want != "" && strings.Contains(got, want)
		})
	}
	waits(bobID, "")
	for _, name := range []string{"plan", "build"} {
		space := join(t, ann, name)
		join(t, bob, name)
		m, err := ann.Send(t.Context(), space, client.SendMessage{
			ContentType: "p2p:task_request", Content: json.RawMessage(`{"task_type":"review"}`), Refs: &client.Ref{Nodes: []string{bobID}},
		})
		if err != nil {
			t.Fatal(err)
		}
		waits(bobID, name+` task waiting {"task":"`+m.ID)
		waits(annID, "")
		if _, err := n.Do(t.Context(), space, "task", "confirm", json.RawMessage(`{"task":"`+m.ID+`"}`), bobID); err != nil {
			t.Fatal(err)
		}
		waits(bobID, "")
	}
	if _, err := n.Waiting(t.Context(), "x"); !errors.Is(err, graph.ErrNotFound) {
		t.Errorf("of no Node: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestExportAndImport(t *testing.T) {
	a, b := open(t, t.TempDir()), open(t, t.TempDir())
	s, _ := register(t, a, "ann")
	space := join(t, s, "plan")
	say(t, s, space, "one")
	say(t, s, space, "two")
	var car strings.Builder
	if err := a.Export(t.Context(), space, &car); err != nil {
		t.Fatal(err)
	}
	again, err := a.Import(t.Context(), strings.NewReader(car.String()))
	if err != nil || again.Space != space || again.New != 0 || again.Known != 3 {
		t.Errorf("imported where it is: %+v, %v", again, err)
	}
	held, err := b.Import(t.Context(), strings.NewReader(car.String()))
	if err != nil || held.New != 0 || held.Held != 3 {
		t.Errorf("imported where nobody knows the author: %+v, %v", held, err)
	}
	if _, err := b.Import(t.Context(), strings.NewReader("no car")); !errors.Is(err, graph.ErrInvalid) {
		t.Errorf("imported nonsense: %v", err)
	}
	if err := a.Export(t.Context(), "x", &car); !errors.Is(err, graph.ErrNotFound) {
		t.Errorf("exported nothing: %v", err)
	}
}
