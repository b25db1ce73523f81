package scripted

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The script sees the results so far; its tool is called by the name that the harness gave it, whole or streamed; without tools there is a title.
func TestTurns(t *testing.T) {
	m, err := Serve(func(results []string) Turn {
		if len(results) == 0 {
			return Turn{Tool: "ioa_send", Args: map[string]any{"n": 1}}
		}
		return Turn{Text: "heard " + results[0]}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		http.DefaultClient.CloseIdleConnections()
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	const tools = `"tools":[{"function":{"name":"plexus_ioa_send"}}]`
	for body, want := range map[string]string{
		`{"messages":[],` + tools + `}`:                                                        `"name":"plexus_ioa_send"`,
		`{"messages":[{"role":"tool","content":"yes"}],` + tools + `}`:                         `"content":"heard yes"`,
		`{"messages":[{"role":"tool","content":[{"type":"text","text":"no"}]}],` + tools + `}`: `"content":"heard no"`,
		`{"messages":[]}`: `"content":"A title"`,
		`{"stream":true,"messages":[],` + tools + `}`: `"finish_reason":"tool_calls"`,
		`{`: "unexpected EOF",
	} {
		resp, err := http.Post(m.URL+"/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(raw), want) {
			t.Errorf("%s: %v\n%s", body, err, raw)
		}
	}
}

func TestOpenCodesConfiguration(t *testing.T) {
	home := t.TempDir()
	cmd, err := OpenCode(t.Context(), "/bin/true", home, "http://127.0.0.1:1/v1", "plexus", "mcp")
	if err != nil || cmd.Dir != home || cmd.Run() != nil {
		t.Fatal(err)
	}
	if _, err := OpenCode(t.Context(), "/bin/true", home+"/nowhere", "", "plexus"); err == nil {
		t.Error("a home that isn't there is taken")
	}
	quoted, _ := json.Marshal(`{"id": "bafy1"}`)
	for result, want := range map[string]string{`{"id":"bafy0"}`: "bafy0", string(quoted): "bafy1", "nothing": ""} {
		if got := Field(result, "id"); got != want {
			t.Errorf("%s: %q, want %q", result, got, want)
		}
	}
}
