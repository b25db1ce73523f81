package node

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"plexus/graph"
	"plexus/plugins"
	"plexus/sdk/client"
)

func commandsOf(t *testing.T, n *Node, id string) (names []string, spaces map[string]int) {
	t.Helper()
	list, err := n.Commands(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	spaces = map[string]int{}
	for _, c := range list {
		name := c.Plugin + " " + c.Command
		names = append(names, name)
		spaces[name] += len(c.Spaces)
	}
	return names, spaces
}

// The list is of the Spaces that a Node has joined, and follows joins and pins.
func TestCommandsOfJoinedSpaces(t *testing.T) {
	n := open(t, t.TempDir(), func(c *Config) { c.Plugins = nil })
	stop := run(t, n)
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	ann, annID := register(t, n, "ann")
	_, bobID := register(t, n, "bob")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	step := 0
	for raw, err := range n.WatchCommands(ctx, annID) {
		if err != nil {
			t.Fatal(err)
		}
		var list []client.PluginCommand
		if err := json.Unmarshal(raw, &list); err != nil {
			t.Fatal(err)
		}
		files := map[string]bool{}
		for _, c := range list {
			files[c.Plugin+c.File] = true
		}
		switch {
		case step == 0 && len(list) != 0:
			t.Fatalf("before a Space is joined: %s", raw)
		case step == 0:
			join(t, ann, "plan")
			step = 1
		case step == 1 && len(list) > 0:
			space := join(t, ann, "garden")
			other := slices.Concat(plugins.Bundle(), []byte{0, 2, 1, 'x'})
			if _, err := n.Pin(t.Context(), space, client.Pin{Name: "checkpoint", Wasm: other}); err != nil {
				t.Fatal(err)
			}
			step = 2
		case step == 2 && len(files) > 1 && slices.ContainsFunc(list, func(c client.PluginCommand) bool {
			return c.Plugin == "checkpoint" && c.File != list[0].File && len(c.Spaces) == 1 && c.Spaces[0].Name == "garden"
		}):
			cancel()
			step = 3
		}
	}
	if step != 3 {
		t.Fatalf("it ended at step %d", step)
	}
	names, spaces := commandsOf(t, n, annID)
	if !slices.IsSorted(names) || spaces["task request"] != 2 || spaces["checkpoint submit"] != 2 {
		t.Errorf("%v %v", names, spaces)
	}
	if none, _ := commandsOf(t, n, bobID); len(none) != 0 {
		t.Errorf("who joined none: %v", none)
	}
	if all, _ := commandsOf(t, n, ""); !slices.Equal(all, names) {
		t.Errorf("of all Spaces: %v", all)
	}
	if _, err := n.Commands(t.Context(), "x"); !errors.Is(err, graph.ErrNotFound) {
		t.Errorf("no such Node: %v", err)
	}
}
