package api

// These tests hold plugins' commands as tools: named, described, called for the right Space, and told of when they change.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"plexus/graph"
	"plexus/sdk/client"
)

// shelf is what a node offers: a list that tests change, and commands that say what they were asked.
type shelf struct {
	others // not called
	mu     sync.Mutex
	list   []client.PluginCommand
	asked  string // for whom the list was asked last
}

// others is an interface under a name that no method of it has.
type others = interface{ Plugins }

func (s *shelf) set(list ...client.PluginCommand) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = list
}

func (s *shelf) Commands(_ context.Context, node string) ([]client.PluginCommand, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = node
	return s.list, nil
}

func (s *shelf) WatchCommands(context.Context, string) iter.Seq2[json.RawMessage, error] { return nil }

func (s *shelf) Do(_ context.Context, space, plugin, command string, params json.RawMessage, caller string) ([]client.Message, error) {
	if command == "refuse" {
		return nil, fmt.Errorf("command refuse of %s: not now: %w", plugin, graph.ErrInvalid)
	}
	content, err := json.Marshal(map[string]any{"at": space + "/" + plugin + "/" + command, "by": caller, "params": params})
	return []client.Message{{ID: "m1", Sender: caller, Content: content}}, err
}

func offer(plugin, command, file, params string, spaces ...string) client.PluginCommand {
	c := client.PluginCommand{Plugin: plugin, Command: command, About: "About " + command + ".", File: file, Params: json.RawMessage(params)}
	for _, s := range spaces {
		c.Spaces = append(c.Spaces, client.SpaceName{ID: "id-" + s, Name: s})
	}
	return c
}

const submitParams = `{"type":"object","required":["id"],"properties":{"id":{"type":"string"}},"$defs":{"x":{}}}`

// following is a session with its standalone stream, which counts the notices of changed lists.
func following(t *testing.T, url, token string) (*mcp.ClientSession, chan struct{}) {
	t.Helper()
	told := make(chan struct{}, 100)
	way := withToken{token, &http.Transport{}}
	t.Cleanup(way.CloseIdleConnections)
	c := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told <- struct{}{} },
	})
	s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: way}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, told
}

// tools lists names and schemas.
func tools(t *testing.T, s *mcp.ClientSession) map[string]string {
	t.Helper()
	res, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, tool := range res.Tools {
		raw, _ := json.Marshal(tool.InputSchema)
		out[tool.Name] = string(raw)
	}
	return out
}

func TestPluginTools(t *testing.T) {
	s := &shelf{}
	s.set(offer("checkpoint", "submit", "bafkone", submitParams, "kitchen", "garden"), offer("vote", "refuse", "bafk", "", "kitchen"))
	m := NewMCP(doors{newRoom()}, MCPOptions{Commands: s, Plugins: s})
	url := serveOver(t, m)

	if got := tools(t, session(t, url, "t-a")); len(got) != 3 {
		t.Errorf("without asking for them: %v", got)
	}
	if got := tools(t, session(t, url+"?plugin_tools=false", "t-a")); len(got) != 3 {
		t.Errorf("refused: %v", got)
	}
	a, told := following(t, url+"?plugin_tools=true", "t-a")
	got := tools(t, a)
	want := `{"$defs":{"x":{}},"properties":{"id":{"type":"string"},"space_id":{"description":"which Space, by id or name: kitchen, garden","type":"string"}},"required":["space_id","id"],"type":"object"}`
	if len(got) != 5 || got["checkpoint_submit"] != want || s.asked != "a" {
		t.Errorf("%v, asked for %q", got, s.asked)
	}
	out, code, _, _ := call(t, a, "checkpoint_submit", `{"space_id":"garden","id":"c1"}`)
	if text := fmt.Sprint(out); code != "" || !strings.Contains(text, "at:id-garden/checkpoint/submit") || !strings.Contains(text, "by:a") || !strings.Contains(text, "params:map[id:c1]") {
		t.Errorf("%v %s", out, code)
	}
	for args, want := range map[string]string{
		`{"id":"c1"}`: "space_id is required", `{"space_id":"cellar"}`: `no Space "cellar"`, `{"space_id":1}`: "space_id must be a string",
	} {
		if _, code, message, hint := call(t, a, "checkpoint_submit", args); code != client.CodeInvalid || !strings.Contains(message, want) || hint == "" {
			t.Errorf("%s: %s %q %q", args, code, message, hint)
		}
	}
	if _, code, message, _ := call(t, a, "vote_refuse", `{}`); code != client.CodeInvalid || !strings.Contains(message, "not now") {
		t.Errorf("a refusal: %s %q", code, message)
	}

	// Nothing changed, nobody is told; then a Space is joined, a plugin upgraded, another unpinned.
	if err := m.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.set(offer("checkpoint", "submit", "bafktwo", submitParams, "kitchen"))
	if err := m.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-told
	if got := tools(t, a); len(got) != 4 || strings.Contains(got["checkpoint_submit"], "garden") || len(told) != 0 {
		t.Errorf("after a change %v, told %d times more", got, len(told))
	}
	if got := tools(t, session(t, url+"?plugin_tools=1", "t-b")); len(got) != 4 || s.asked != "b" {
		t.Errorf("another Node: %v for %q", got, s.asked)
	}
}

// serveOver serves a handler until the test ends.
func serveOver(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL
}

func TestPluginToolsOfAWrongURL(t *testing.T) {
	s := &shelf{}
	url := serveOver(t, NewMCP(doors{newRoom()}, MCPOptions{Commands: s, Plugins: s}))
	way := withToken{"t-a", &http.Transport{}}
	defer way.CloseIdleConnections()
	_, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: url + "?plugin_tools=perhaps", HTTPClient: &http.Client{Transport: way}, DisableStandaloneSSE: true}, nil)
	if err == nil {
		t.Error("plugin_tools=perhaps is taken")
	}
}

func TestPluginToolNames(t *testing.T) {
	long := strings.Repeat("x", 100)
	list := []client.PluginCommand{
		offer("ioa", "send", "bafkaaaaaa", "", "k"), // never in place of ours
		offer("vote", "cast", "bafkbbbbbb", "", "k", "l"), offer("vote", "cast", "bafkcccccc", "", "m"), offer("vote", "cast", "bafkdcccccc", "", "n"),
		offer("p", "wild name/ü", "bafk", "", "k"), offer("p", long, "bafk", "", "k"), offer("p", "nowhere", "bafk", ""),
		offer("p", "nested", "bafk", `{"type":"object","properties":{"space_id":{}}}`, "k"), offer("p", "any", "bafk", `true`, "k"),
	}
	var names []string
	for _, tool := range pluginToolsOf(list) {
		names = append(names, tool.tool.Name)
		if nested := tool.command.Command == "nested" || tool.command.Command == "any"; tool.nested != nested {
			t.Errorf("%s: nested %v", tool.tool.Name, tool.nested)
		}
	}
	want := "aaaaaa_ioa_send vote_cast cccccc_vote_cast p_wild_name___ p_" + long[:62] + " p_nested p_any"
	if strings.Join(names, " ") != want {
		t.Errorf("%s\nwant %s", strings.Join(names, " "), want)
	}
	nested := pluginToolsOf(list)[5]
	if space, params, err := nested.arguments(json.RawMessage(`{"params":{"space_id":7}}`)); space != "id-k" || string(params) != `{"space_id":7}` || err != nil {
		t.Errorf("%s %s %v", space, params, err)
	}
	if _, _, err := nested.arguments(json.RawMessage(`[]`)); err == nil {
		t.Error("a list of arguments is taken")
	}
	twice := offer("p", "c", "f", "", "k", "k")
	twice.Spaces[1].ID = "other"
	if _, err := pluginToolsOf([]client.PluginCommand{twice})[0].space("k"); err == nil || !strings.Contains(err.Error(), "2 Spaces") {
		t.Errorf("a name of two: %v", err)
	}
}

func TestPluginToolsAreBounded(t *testing.T) {
	var list []client.PluginCommand
	for i := range mcpMaxTools + 1 {
		list = append(list, offer("p", fmt.Sprint("c", i), "f", "", "k"))
	}
	list[0].About = strings.Repeat("ä", mcpMaxAbout)
	list[0].Spaces = nil
	for i := range mcpNamedSpaces + 1 {
		list[0].Spaces = append(list[0].Spaces, client.SpaceName{ID: fmt.Sprint(i), Name: fmt.Sprint("s", i)})
	}
	got := pluginToolsOf(list)
	if len(got) != mcpMaxTools || len(got[0].tool.Description) > mcpMaxAbout+3 || !strings.Contains(fmt.Sprintf("%s", got[0].tool.InputSchema), "s9, and 1 more") {
		t.Errorf("%d tools, of which the first %q %s", len(got), got[0].tool.Description, got[0].tool.InputSchema)
	}
	s := &shelf{}
	servers := newMCPServers(&mcpWay{accounts: doors{newRoom()}, nodes: map[string]string{}}, MCPOptions{Commands: s, Plugins: s})
	for i := range mcpMaxNodes + 1 {
		servers.node(t.Context(), fmt.Sprint(i))
	}
	if len(servers.byNode) != mcpMaxNodes || servers.byNode["0"] != nil || len(servers.order) != mcpMaxNodes {
		t.Errorf("%d servers", len(servers.byNode))
	}
}

// A list that can't be had leaves the tools as they are, and is named.
func TestPluginToolsThatCantBeListed(t *testing.T) {
	s := &shelf{}
	m := NewMCP(doors{newRoom()}, MCPOptions{Commands: failingShelf{s}, Plugins: s})
	m.servers.node(t.Context(), "a")
	if err := m.Refresh(t.Context()); !errors.Is(err, graph.ErrClosed) {
		t.Errorf("%v", err)
	}
}

type failingShelf struct{ *shelf }

func (failingShelf) Commands(context.Context, string) ([]client.PluginCommand, error) {
	return nil, graph.ErrClosed
}
