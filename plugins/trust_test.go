package plugins

// This file tests that views, commands and reactions may ask the user's trust, and a fold never.

import (
	"errors"
	"strings"
	"testing"

	"plexus/graph"
	"plexus/sdk/abi"
)

// truster asks function for what; its view and command say the answer + 1, its fold asks too.
func truster(function, what string, grants ...string) []byte {
	w := wasm{imports: []wasmImport{{function, 2, 1}, importWrite}, data: what}
	ask := ops(num(16), num(int64(len(what))), callFn(0))
	tell := ops(num(1024), ask, num(1), []byte{0x6a, 0x3a, 0, 0}, num(1024), num(1), callFn(1), num(0)) // i32.add, i32.store8
	w.funcs = append(w.funcs,
		wasmFunc{export: abi.ExportFold, params: 1, results: 1, code: ops(ask, []byte{0x1a}, num(0))}, // drop
		wasmFunc{export: abi.ExportView, params: 1, results: 1, code: tell})
	return w.build(abi.Plugin{Name: "ask", Version: "1", Accepts: []string{"x"}, Grants: grants, Views: []abi.Command{{Name: "all"}}})
}

// someTrust trusts ann alone, and says something of one action.
type someTrust struct{ ann graph.NodeID }

func (s someTrust) Level(_ graph.ID, node graph.NodeID) int {
	if node == s.ann {
		return abi.TrustTrusted
	}
	return abi.TrustUnknown
}

func (someTrust) Needed(_ graph.ID, plugin, action string) int {
	if plugin == "ask" && action == "act" {
		return abi.TrustNobody
	}
	return abi.Absent
}

func TestTrust(t *testing.T) {
	ann, bob := graph.NodeIDOf(key("ann")), graph.NodeIDOf(key("bob"))
	policy := someTrust{ann}
	for _, row := range []struct {
		name, function, what string
		trust                Trust
		want                 string
	}{
		{"trusted", "trust_level", ann.String(), policy, "3"},
		{"unknown", "trust_level", bob.String(), policy, "1"},
		{"no Node", "trust_level", "bob", policy, "0"},
		{"nobody's policy", "trust_level", ann.String(), nil, "0"},
		{"needed", "trust_needed", "act", policy, "5"},
		{"of another action", "trust_needed", "other", policy, "0"},
		{"needed by nobody's policy", "trust_needed", "act", nil, "0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := bareReplica(t, truster(row.function, row.what, "trust"))
			r.trust = row.trust
			r.run()
			t.Cleanup(r.close)
			got, err := r.host.View(r.ctx(), r.space.ID(), "ask", "all", nil, graph.NodeID{})
			if err != nil || string(got) != row.want {
				t.Errorf("%s, want %s (%v)", got, row.want, err)
			}
		})
	}
}

// What a user trusts is no part of the state: a fold that asks is marked, on all replicas alike.
func TestFoldMayNotAskTrust(t *testing.T) {
	r := newReplica(t, truster("trust_level", graph.NodeIDOf(key("ann")).String(), "trust"))
	r.say("ann", "x", obj{})
	r.hash("ask")
	list, err := r.host.Plugins(r.ctx(), r.space.ID())
	r.must(err)
	if list[0].Marked != 1 || !strings.Contains(list[0].Reason, "the user's trust is for views") {
		t.Errorf("%+v", list[0])
	}
}

func TestTrustNeedsItsGrant(t *testing.T) {
	e := load(t, truster("trust_level", "x", "trust")).engine
	if _, err := e.load(t.Context(), truster("trust_needed", "x"), false); !errors.Is(err, graph.ErrInvalid) || !strings.Contains(err.Error(), `the grant "trust"`) {
		t.Errorf("without its grant: %v", err)
	}
}
