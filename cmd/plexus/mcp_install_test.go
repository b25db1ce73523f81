package main

// These tests hold the merging of configurations: what isn't ours stays as it is.

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMergeJSON(t *testing.T) {
	tests := []struct{ name, old, want string }{
		{"nothing", "", `{"s":{"plexus":1}}`},
		{"space", " \n", `{"s":{"plexus":1}}`},
		{"beside", `{"a":1.10,"s":{"x":{}},"b":[]}`, `{"a":1.10,"s":{"x":{},"plexus":1},"b":[]}`},
		{"again", `{"s":{"plexus":{"old":true},"x":2}}`, `{"s":{"plexus":1,"x":2}}`},
	}
	for _, tt := range tests {
		got, err := mergeJSON([]byte(tt.old), []string{"s", "plexus"}, 1)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if flat := strings.NewReplacer("\n", "", " ", "").Replace(string(got)); flat != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, flat, tt.want)
		}
	}
	for _, bad := range []string{"[]", `"x"`, "{", `{"a":}`, "// c\n{}", `{"s":[]}`, `{"s":{"a":1}`, `{"s":1}`} {
		if got, err := mergeJSON([]byte(bad), []string{"s", "plexus"}, 1); err == nil {
			t.Errorf("%s became %s", bad, got)
		}
	}
}

func TestMergeJSONKeepsTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := rapid.MapOf(rapid.String(), rapid.Int()).Draw(t, "doc")
		delete(doc, "s")
		raw, _ := json.Marshal(doc)
		got, err := mergeJSON(raw, []string{"s", "plexus"}, "x")
		if err != nil {
			t.Fatal(err)
		}
		var out map[string]json.RawMessage
		if err := json.Unmarshal(got, &out); err != nil {
			t.Fatal(err)
		}
		if len(out) != len(doc)+1 || string(out["s"]) == "" {
			t.Fatalf("%s became %s", raw, got)
		}
		twice, err := mergeJSON(got, []string{"s", "plexus"}, "x")
		if err != nil || string(twice) != string(got) {
			t.Fatalf("a second time gives %s (%v)", twice, err)
		}
	})
}

func TestMergeTOML(t *testing.T) {
	const ours = "[mcp_servers.plexus]\ncommand = \"/p\"\nargs = [\"mcp\"]\n"
	tests := []struct{ name, old, want string }{
		{"nothing", "", ours},
		{"beside", "a = 1\n", "a = 1\n\n" + ours},
		{"in the middle", "a = 1\n[mcp_servers.plexus]\ncommand = \"old\"\n[mcp_servers.plexus.env]\nA = \"b\"\n[z]\nq = 2\n", "a = 1\n[z]\nq = 2\n\n" + ours},
	}
	for _, tt := range tests {
		got, err := mergeTOML([]byte(tt.old), []string{"/p", "mcp"})
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		again, _ := mergeTOML(got, []string{"/p", "mcp"})
		if string(again) != string(got) {
			t.Errorf("%s: a second time gives %q", tt.name, again)
		}
	}
}
