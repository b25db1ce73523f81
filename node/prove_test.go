package node

// This file tests golden traces at install, over a real node: a plugin whose trace comes out otherwise isn't run, and the list says why.

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"plexus/graph"
	"plexus/plugins"
	"plexus/plugins/kit"
	"plexus/sdk/client"
)

// withTrace is a file with a golden trace of one message that has this hash and gas; "": what is right.
func withTrace(t *testing.T, guest, hash string, gas int64) []byte {
	t.Helper()
	trace := &kit.Trace{Trace: kit.TraceVersion, Messages: []kit.TraceMessage{{ID: "a", By: "ann", Type: "x", Content: json.RawMessage(`{}`)}}}
	wasm := guestFile(t, guest)
	f, err := kit.Open(t.Context(), wasm, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close(t.Context())
	o, err := f.Replay(t.Context(), "count", trace)
	if err != nil {
		t.Fatal(err)
	}
	if trace.Hash, trace.Gas = hash, map[string]int64{"a": gas}; hash == "" {
		trace.Hash, trace.Gas["a"] = o.Hash, o.Gas["a"]+gas
	}
	b, err := trace.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return plugins.AppendSection(wasm, "plexus.trace.count", b)
}

func TestGoldenTraceAtInstall(t *testing.T) {
	n := open(t, t.TempDir())
	run(t, n)
	ann, _ := register(t, n, "ann")
	space := join(t, ann, "plan")
	if _, err := ann.Send(t.Context(), space, client.SendMessage{ContentType: "x", Content: json.RawMessage(`{}`)}); err != nil {
		t.Fatal(err)
	}
	pin := func(wasm []byte) {
		t.Helper()
		if _, err := n.Pin(t.Context(), space, client.Pin{Wasm: wasm}); err != nil {
			t.Fatal(err)
		}
	}
	is := func(state, version, says string) {
		t.Helper()
		eventually(t, fmt.Sprintf("count %s is %s: %q", version, state, says), func() bool {
			p := pluginNamed(t, n, space, "count")
			return p.State == state && p.Version == version && strings.Contains(p.Fault, says)
		})
	}
	pin(withTrace(t, "count1", strings.Repeat("0", 64), 0))
	is(client.StateRefused, "", "golden trace comes out otherwise")
	pin(withTrace(t, "count1", "", 0))
	is(client.StateCurrent, "1", "")
	pin(withTrace(t, "count2", "", 5))
	is(client.StateRefused, "1", "in the trace")
	pin(withTrace(t, "count2", "", 0))
	is(client.StateCurrent, "2", "")
	if _, err := n.View(t.Context(), space, "count", "value", nil, ""); err != nil {
		t.Error(err)
	}
}

// An engine that isn't the author's runs none of the node's own plugins either, and says so.
func TestWrongEngineRunsNothing(t *testing.T) {
	n := open(t, t.TempDir(), func(c *Config) {
		c.Plugins = [][]byte{withTrace(t, "count1", "", 0)}
		c.astray = func(string, graph.ID) string { return "wrong" }
	})
	run(t, n)
	ann, _ := register(t, n, "ann")
	space := join(t, ann, "plan")
	eventually(t, "it is refused", func() bool {
		p := pluginNamed(t, n, space, "count")
		return p.State == client.StateRefused && strings.Contains(p.Fault, "wazero") && !p.Pinned
	})
	status, err := n.Status(t.Context())
	if err != nil || len(status.Refused) != 1 || status.Refused[0].Plugin != "count" || status.Refused[0].Spaces != 1 || !strings.Contains(status.Refused[0].Why, "golden trace") {
		t.Errorf("status: %+v, %v", status.Refused, err)
	}
}
