package node

// This file tests what is said of an upgrade before it is made.

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"plexus/graph"
	"plexus/sdk/client"
)

func TestDiffPlugin(t *testing.T) {
	n := open(t, t.TempDir(), func(c *Config) { c.Plugins = [][]byte{guestFile(t, "count1")} })
	run(t, n)
	ann, _ := register(t, n, "ann")
	space := join(t, ann, "plan")
	for range 7 {
		if _, err := ann.Send(t.Context(), space, client.SendMessage{ContentType: "x", Content: json.RawMessage(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	diff := func(in client.PluginDiffAsk) client.PluginDiff {
		t.Helper()
		got, err := n.DiffPlugin(t.Context(), space, in)
		if err != nil || len(got) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		return got[0]
	}
	live, _, err := n.StateHash(t.Context(), space, "count")
	if err != nil {
		t.Fatal(err)
	}
	d := diff(client.PluginDiffAsk{Wasm: guestFile(t, "count1")})
	if !d.Same || d.Old.Hash != live || d.New.Hash != live || d.Old.Folded != 7 || d.Old.Gas != d.New.Gas || d.Old.Gas == 0 || len(d.Views) != 1 || string(d.Views[0].Old) != "1" {
		t.Errorf("the same file: %+v", d)
	}
	d = diff(client.PluginDiffAsk{Wasm: guestFile(t, "count2"), Name: "count"})
	if d.Same || d.Old.Version != "1" || d.New.Version != "2" || d.Keys.Changed != 7 || d.Keys.Added+d.Keys.Removed != 0 || d.MarksDiffer != 0 ||
		d.Views[0].Same || string(d.Views[0].New) != "2" || len(d.Manifest) != 0 {
		t.Errorf("another version: %+v", d)
	}
	d = diff(client.PluginDiffAsk{Wasm: guestFile(t, "refuse"), View: "nope"})
	if d.Same || d.Keys.Removed != 7 || d.MarksDiffer != 7 || len(d.Marks) != 7 || d.Marks[0].Old != "" || d.Marks[0].New == "" || d.New.Marked != 7 || d.Views[0].NewRefused == "" {
		t.Errorf("one that refuses: %+v", d)
	}
	d = diff(client.PluginDiffAsk{Wasm: guestFile(t, "greeter")})
	if d.Old != nil || d.Same || d.New.File == "" {
		t.Errorf("a new name: %+v", d)
	}
	if now, _, err := n.StateHash(t.Context(), space, "count"); err != nil || now != live {
		t.Errorf("the live state became %s, %v", now, err)
	}
	for why, c := range map[string]struct {
		space string
		in    client.PluginDiffAsk
		is    error
		says  string
	}{
		"Space":       {"x", client.PluginDiffAsk{Wasm: guestFile(t, "count2")}, graph.ErrNotFound, "Space"},
		"file":        {space, client.PluginDiffAsk{Wasm: []byte("junk")}, graph.ErrInvalid, "Wasm"},
		"CID":         {space, client.PluginDiffAsk{Wasm: guestFile(t, "count2"), CID: fileID(nil)}, graph.ErrInvalid, "CID"},
		"name":        {space, client.PluginDiffAsk{Wasm: guestFile(t, "count2"), Name: "other"}, graph.ErrInvalid, "other"},
		"nobody's":    {space, client.PluginDiffAsk{CID: fileID([]byte("x"))}, graph.ErrNotFound, ""},
		"no CID":      {space, client.PluginDiffAsk{CID: "x"}, graph.ErrInvalid, "CID"},
		"over 16 MiB": {space, client.PluginDiffAsk{Wasm: make([]byte, 16<<20+1)}, graph.ErrTooLarge, "at most"},
	} {
		if _, err := n.DiffPlugin(t.Context(), c.space, c.in); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", why, err)
		}
	}
	n.bisecting.Lock()
	defer n.bisecting.Unlock()
	if _, err := n.DiffPlugin(t.Context(), space, client.PluginDiffAsk{Wasm: guestFile(t, "count2")}); !errors.Is(err, graph.ErrUnavailable) {
		t.Errorf("two at once: %v", err)
	}
}
