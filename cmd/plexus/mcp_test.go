package main

// These tests hold `plexus mcp` with the SDK's own client: two agents talk, and a daemon that is killed between two
// calls, or is away during one, goes unseen.

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// child is a `plexus up` of a test.
type child struct {
	t    *testing.T
	dir  string
	addr string
	cmd  *exec.Cmd
}

// startChild starts a daemon on a port it can come back to.
func startChild(t *testing.T) *child {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, dir: t.TempDir(), addr: l.Addr().String()}
	l.Close()
	c.start()
	t.Cleanup(c.kill)
	return c
}

func (c *child) start() {
	c.t.Helper()
	c.cmd = exec.Command(plexus(c.t), "up", "--dir", c.dir, "--listen", c.addr, "--no-p2p")
	c.cmd.Env, c.cmd.Stderr = childEnv(), os.Stderr
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// agent starts `plexus mcp` as an MCP client does.
func (c *child) agent(name string) *mcp.ClientSession {
	c.t.Helper()
	cmd := exec.Command(plexus(c.t), "mcp", "--dir", c.dir)
	cmd.Env, cmd.Stderr = childEnv(), os.Stderr
	s, err := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, nil).
		Connect(c.t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = s.Close() })
	return s
}

// tool calls and returns the answer; a tool's error ends the test.
func tool(t *testing.T, s *mcp.ClientSession, name string, args map[string]any) map[string]any {
	t.Helper()
	out, isError := toolResult(t, s, name, args)
	if isError {
		t.Fatalf("%s: %v", name, out)
	}
	return out
}

func toolResult(t *testing.T, s *mcp.ClientSession, name string, args map[string]any) (map[string]any, bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var out map[string]any
	raw, _ := json.Marshal(res.StructuredContent)
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out, res.IsError
}

func TestMCPOutlivesTheDaemon(t *testing.T) {
	d := startChild(t)
	a, b := d.agent("planner"), d.agent("builder")
	space := tool(t, a, "ioa_space", map[string]any{"name": "plan", "description": "I plan"})
	id := space["id"].(string)
	if got := tool(t, b, "ioa_space", map[string]any{"name": "plan", "description": "I build"}); got["id"] != id || got["you"] == space["you"] {
		t.Fatalf("each client must be a Node of its own in one Space: %v and %v", space, got)
	}
	first := tool(t, a, "ioa_send", map[string]any{"space_id": id, "content": map[string]any{"text": "before"}})

	d.kill()
	d.start() // at once; the call finds it starting
	tool(t, a, "ioa_send", map[string]any{"space_id": id, "content": map[string]any{"text": "after"}})

	d.kill()
	back := time.AfterFunc(time.Second, d.start)
	defer back.Stop()
	got := tool(t, b, "ioa_read", map[string]any{"space_id": id, "after": first["id"], "wait_ms": 5000})
	if text, _ := json.Marshal(got["messages"]); !strings.Contains(string(text), "after") || strings.Contains(string(text), "before") {
		t.Errorf("got %s", text)
	}
	// the same client in a new process is the same Node
	if again := tool(t, d.agent("planner"), "ioa_space", map[string]any{"name": "plan", "description": "I plan"}); again["you"] != space["you"] {
		t.Errorf("planner was %v and is now %v", space["you"], again["you"])
	}
	file := filepath.Join(d.dir, "mcp", "planner.token")
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v %v", file, st, err)
	}
}

func TestMCPWaitsOverARestart(t *testing.T) {
	d := startChild(t)
	a, b := d.agent("planner"), d.agent("builder")
	id := tool(t, a, "ioa_space", map[string]any{"name": "plan", "description": "I plan"})["id"].(string)
	next := tool(t, b, "ioa_space", map[string]any{"name": "plan", "description": "I build"})["next"]
	restart := time.AfterFunc(300*time.Millisecond, func() { d.kill(); d.start() })
	defer restart.Stop()
	said := time.AfterFunc(1500*time.Millisecond, func() {
		_, _ = a.CallTool(t.Context(), &mcp.CallToolParams{Name: "ioa_send", Arguments: map[string]any{"space_id": id, "content": map[string]any{"text": "news"}}})
	})
	defer said.Stop()
	got := tool(t, b, "ioa_read", map[string]any{"space_id": id, "after": next, "wait_ms": 30_000})
	if text, _ := json.Marshal(got["messages"]); !strings.Contains(string(text), "news") {
		t.Errorf("got %s", text)
	}
}

func TestMCPWithoutADaemonSaysHowToStartOne(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the daemon as long as an agent would")
	}
	d := &child{t: t, dir: t.TempDir()}
	out, isError := toolResult(t, d.agent("lonely"), "ioa_space", map[string]any{"name": "x", "description": "y"})
	raw, _ := json.Marshal(out)
	if !isError || !strings.Contains(string(raw), `"unreachable"`) || !strings.Contains(string(raw), "plexus up") {
		t.Errorf("got %s", raw)
	}
}

// bearer adds a token to every request.
type bearer struct {
	token string
	*http.Transport
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.Transport.RoundTrip(r)
}

func TestMCPOverHTTP(t *testing.T) {
	d := startChild(t)
	out, err := exec.Command(plexus(t), "token", "--dir", d.dir, "--as", "web").Output()
	if err != nil {
		t.Fatal(err)
	}
	way := bearer{strings.TrimSpace(string(out)), &http.Transport{}}
	defer way.CloseIdleConnections()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "http client", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: "http://" + d.addr + "/mcp", HTTPClient: &http.Client{Transport: way}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	space := tool(t, s, "ioa_space", map[string]any{"name": "plan", "description": "over HTTP"})
	sent := tool(t, s, "ioa_send", map[string]any{"space_id": space["id"], "content": map[string]any{"text": "by HTTP"}})
	if sent["sender"] != space["you"] {
		t.Errorf("sent by %v, not by %v", sent["sender"], space["you"])
	}
	got := tool(t, d.agent("reader"), "ioa_read", map[string]any{"space_id": space["id"]})
	if text, _ := json.Marshal(got["messages"]); !strings.Contains(string(text), "by HTTP") {
		t.Errorf("got %s", text)
	}
	out2, isError := toolResult(t, s, "ioa_send", map[string]any{"space_id": "plan", "content": map[string]any{}})
	if raw, _ := json.Marshal(out2); !isError || !strings.Contains(string(raw), "call ioa_space") {
		t.Errorf("got %s", raw)
	}
}
