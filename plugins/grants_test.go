package plugins

// This file tests that a pinned plugin's commands have no effect the user hasn't granted, over upgrades, and that its state is the same either way.

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"plexus/graph"
	"plexus/sdk/abi"
)

// effectful is a plugin with a command that says nothing.
func effectful(version string, grants ...string) []byte {
	w := wasm{imports: []wasmImport{importRead}}
	for _, export := range []string{abi.ExportFold, abi.ExportView, abi.ExportCommand} {
		w.funcs = append(w.funcs, wasmFunc{export: export, params: 1, results: 1, code: num(0)})
	}
	return w.build(abi.Plugin{Name: "ask", Version: version, Accepts: []string{"x"}, Grants: grants, Commands: []abi.Command{{Name: "go"}}})
}

func TestGrants(t *testing.T) {
	var mu sync.Mutex
	var granted []string
	grant := func(list ...string) {
		mu.Lock()
		defer mu.Unlock()
		granted = list
	}
	r := bareReplica(t)
	r.granted = func(space graph.ID, plugin, g string) bool {
		mu.Lock()
		defer mu.Unlock()
		return space == r.space.ID() && plugin == "ask" && slices.Contains(granted, g)
	}
	r.run()
	defer r.close()
	r.must(r.log.Apply(r.ctx(), admins("root")))
	pin := func(version string, grants ...string) {
		cid, _, err := r.host.AddFile(r.ctx(), effectful(version, grants...))
		r.must(err)
		d, err := PinDraft("ask", cid)
		r.pin("root", d, err)
		r.until("pinned", func() bool { return r.version("ask") == version })
	}
	command := func(missing string) {
		t.Helper()
		_, err := r.host.Command(r.ctx(), r.space.ID(), "ask", "go", nil, id("ann"))
		if missing == "" && err != nil || missing != "" && (!errors.Is(err, graph.ErrForbidden) || !strings.Contains(err.Error(), "asks for "+missing+", which")) {
			t.Errorf("with %v granted: %v; want what is missing to be %q", granted, err, missing)
		}
	}
	r.say("ann", "x", obj{})
	pin("1", "now", "random")
	before := r.hash("ask")
	command("now, random")
	grant("now")
	command("random")
	grant("now", "random")
	command("")
	pin("2", "random", "schema")
	command("")
	pin("3", "now", "timer")
	command("timer")
	if r.hash("ask") != before {
		t.Error("what is granted changes the state")
	}
	list, err := r.host.Plugins(r.ctx(), r.space.ID())
	r.must(err)
	if list[0].Name != "ask" || !slices.Equal(list[0].Grants, []string{"now", "timer"}) {
		t.Errorf("%s asks for %v", list[0].Name, list[0].Grants)
	}
}

// TestOwnPluginsNeedNoGrant: what came with the program is the user's own choice.
func TestOwnPluginsNeedNoGrant(t *testing.T) {
	r := bareReplica(t, effectful("1", "now"))
	r.granted = func(graph.ID, string, string) bool { return false }
	r.run()
	defer r.close()
	if _, err := r.host.Command(r.ctx(), r.space.ID(), "ask", "go", nil, id("ann")); err != nil {
		t.Error(err)
	}
	if list, err := r.host.Plugins(r.ctx(), r.space.ID()); err != nil || len(list[0].Grants) != 0 {
		t.Errorf("%d plugins, %v: the first asks the user for something", len(list), err)
	}
}

// TestGrantsWhilePinsChange asks what is permitted while pins are looked at anew: what a plugin may is never written under who reads it.
func TestGrantsWhilePinsChange(t *testing.T) {
	r := bareReplica(t)
	r.granted = func(graph.ID, string, string) bool { return true }
	r.run()
	defer r.close()
	r.must(r.log.Apply(r.ctx(), admins("root")))
	cid, _, err := r.host.AddFile(r.ctx(), effectful("1", "now"))
	r.must(err)
	pin := func() {
		d, err := PinDraft("ask", cid)
		r.pin("root", d, err)
	}
	pin()
	r.until("pinned", func() bool { return r.version("ask") == "1" })
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := r.host.Permit(r.space.ID(), "ask"); err != nil {
				t.Error(err)
			}
		}
	}()
	for range 20 {
		pin()
		r.until("looked at anew", func() bool { return r.version("ask") == "1" })
	}
	close(stop)
	<-done
}
