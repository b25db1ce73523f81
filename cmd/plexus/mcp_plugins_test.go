package main

// These tests hold `plexus mcp --plugin-tools` and its like over HTTP with the SDK's own client against a real daemon: tools come with the Space joined,
// change with what is pinned, and a call ends as a message.

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"plexus/plugins"
)

// told is a client that hears of changed lists.
func told() (*mcp.Client, chan struct{}) {
	c := make(chan struct{}, 100)
	return mcp.NewClient(&mcp.Implementation{Name: "planner", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { c <- struct{}{} },
	}), c
}

// awaitTools lists the tools anew at each notice until they are as they should be.
func awaitTools(t *testing.T, s *mcp.ClientSession, told chan struct{}, what string, right func(map[string]*mcp.Tool) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		select {
		case <-told:
		case <-ctx.Done():
			t.Fatalf("no notice of %s", what)
		}
		res, err := s.ListTools(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		tools := map[string]*mcp.Tool{}
		for _, tool := range res.Tools {
			tools[tool.Name] = tool
		}
		if right(tools) {
			return
		}
	}
}

func (c *child) run(args ...string) string {
	c.t.Helper()
	cmd := exec.Command(plexus(c.t), append(args, "--dir", c.dir)...)
	cmd.Env = childEnv()
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("plexus %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestMCPPluginTools(t *testing.T) {
	d := startChild(t)
	for name, connect := range map[string]func(*mcp.Client) (*mcp.ClientSession, error){
		"stdio": func(c *mcp.Client) (*mcp.ClientSession, error) {
			cmd := exec.Command(plexus(t), "mcp", "--plugin-tools", "--dir", d.dir)
			cmd.Env, cmd.Stderr = childEnv(), os.Stderr
			return c.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
		},
		"HTTP": func(c *mcp.Client) (*mcp.ClientSession, error) {
			way := bearer{d.run("token", "--as", "web"), &http.Transport{}}
			t.Cleanup(way.CloseIdleConnections)
			to := &mcp.StreamableClientTransport{Endpoint: "http://" + d.addr + "/mcp?plugin_tools=true", HTTPClient: &http.Client{Transport: way}}
			return c.Connect(t.Context(), to, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, notices := told()
			s, err := connect(c)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			res, err := s.ListTools(t.Context(), nil)
			if err != nil || len(res.Tools) != 3 {
				t.Fatalf("before a Space is joined: %d tools, %v", len(res.Tools), err)
			}
			plan := "plan over " + name
			id := tool(t, s, "ioa_space", map[string]any{"name": plan, "description": "I plan"})["id"]
			awaitTools(t, s, notices, "the Space joined", func(tools map[string]*mcp.Tool) bool { return tools["checkpoint_submit"] != nil })

			sent := tool(t, s, "checkpoint_submit", map[string]any{"space_id": plan, "id": "c1", "title": "Go?", "options": []string{"Yes", "No"}})
			if raw, _ := json.Marshal(sent); !strings.Contains(string(raw), `"content_type":"checkpoint"`) {
				t.Errorf("sent %s", raw)
			}
			if _, isError := toolResult(t, s, "checkpoint_submit", map[string]any{"title": "Go?"}); !isError {
				t.Error("a checkpoint without an id is taken")
			}
			if view := d.run("view", id.(string), "checkpoint", "pending"); !strings.Contains(view, "Go?") {
				t.Errorf("the view: %s", view)
			}

			// Another build of the same patterns, as an upgrade would be; then it goes again.
			file := filepath.Join(t.TempDir(), "p.wasm")
			other := slices.Concat(plugins.Bundle(), []byte{0, 3, 1, 'x', byte(len(name))})
			if err := os.WriteFile(file, other, 0o600); err != nil {
				t.Fatal(err)
			}
			tool(t, s, "ioa_space", map[string]any{"name": "second over " + name, "description": "I plan"})
			awaitTools(t, s, notices, "a second Space", func(tools map[string]*mcp.Tool) bool {
				raw, _ := json.Marshal(tools["checkpoint_submit"])
				return strings.Contains(string(raw), "second over")
			})
			d.run("plugin", "pin", file, "--name", "checkpoint", "--space", plan)
			versions := func(tools map[string]*mcp.Tool) (n int) {
				for name := range tools {
					if strings.HasSuffix(name, "checkpoint_submit") {
						n++
					}
				}
				return n
			}
			awaitTools(t, s, notices, "the upgrade", func(tools map[string]*mcp.Tool) bool { return versions(tools) == 2 })
			d.run("plugin", "unpin", "checkpoint", "--space", plan)
			awaitTools(t, s, notices, "the unpin", func(tools map[string]*mcp.Tool) bool { return versions(tools) == 1 })
		})
	}
}
