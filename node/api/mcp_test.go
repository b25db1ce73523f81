package api

// These tests hold the MCP door against a room in memory: what the tools take, what they answer, who they act for, and
// what their schemas cost an agent.

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"plexus/graph"
	"plexus/sdk/client"
)

// room is one Space that several Nodes share, in memory.
type room struct {
	mu    sync.Mutex
	said  []client.Message
	news  chan struct{} // closed at each message
	nodes map[string]string
}

func newRoom() *room { return &room{news: make(chan struct{}), nodes: map[string]string{}} }

// seat is a Node's place in it: a Service.
type seat struct {
	*room
	id string
}

func (s seat) Space(_ context.Context, in client.SpaceCreate) (client.SpaceInfo, error) {
	if in.Name == "" {
		return client.SpaceInfo{}, fmt.Errorf("Space name is required: %w", graph.ErrInvalid)
	}
	return client.SpaceInfo{ID: "s1", Name: in.Name, Nodes: []client.Node{{ID: s.id, Meta: json.RawMessage("{}")}}}, nil
}

func (s seat) Send(_ context.Context, space string, in client.SendMessage) (client.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if space != "s1" {
		return client.Message{}, fmt.Errorf("Space '%s' not found: %w", space, graph.ErrNotFound)
	}
	m := client.Message{ID: fmt.Sprint("m", len(s.said)+1), Sender: s.id, Content: in.Content, ContentType: in.ContentType}
	if in.Refs != nil {
		m.Refs = *in.Refs
	}
	for _, r := range m.Refs.Messages {
		if s.index(r) < 0 {
			return m, fmt.Errorf("refs.messages: '%s' not found in space 's1': %w", r, graph.ErrInvalid)
		}
	}
	s.said = append(s.said, m)
	close(s.news)
	s.news = make(chan struct{})
	return m, nil
}

func (s seat) index(id string) int {
	return slices.IndexFunc(s.said, func(m client.Message) bool { return m.ID == id })
}

func (s seat) Read(_ context.Context, q client.ReadQuery) (client.Page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := 0
	if q.After != "" {
		if from = s.index(q.After) + 1; from == 0 {
			return client.Page{}, fmt.Errorf("after: '%s' not found in space 's1': %w", q.After, graph.ErrInvalid)
		}
	}
	var p client.Page
	for _, m := range s.said[from:] {
		open := len(m.Refs.Messages)+len(m.Refs.Nodes) == 0
		if q.All || (m.Sender != s.id && (open || slices.Contains(m.Refs.Nodes, s.id))) {
			p.Messages = append(p.Messages, m)
		}
	}
	if q.Limit > 0 && len(p.Messages) > q.Limit {
		if q.After == "" {
			p.Messages = p.Messages[len(p.Messages)-q.Limit:]
		} else {
			p.Messages = p.Messages[:q.Limit]
			p.Next = p.Messages[q.Limit-1].ID
		}
	}
	return p, nil
}

func (s seat) Listen(ctx context.Context, q client.ListenQuery) iter.Seq2[client.Event, error] {
	return func(yield func(client.Event, error) bool) {
		s.mu.Lock()
		at := s.index(q.After) + 1
		s.mu.Unlock()
		for {
			s.mu.Lock()
			todo, news := slices.Clone(s.said[at:]), s.news
			s.mu.Unlock()
			for _, m := range todo {
				at++
				if !yield(client.Event{Type: "message", Message: m}, nil) {
					return
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-news:
			}
		}
	}
}

// doors is the room's Accounts: token "t-x" owns Node "x".
type doors struct{ *room }

func (d doors) Authenticate(_ context.Context, token string) (string, error) {
	id, ok := strings.CutPrefix(token, "t-")
	if !ok {
		return "", fmt.Errorf("invalid token: %w", graph.ErrUnauthorized)
	}
	return id, nil
}

func (d doors) Register(context.Context, client.AuthRegister, string) (client.AuthResponse, error) {
	return client.AuthResponse{}, nil
}
func (d doors) CheckAccessKey(string) error   { return nil }
func (d doors) As(id string) (Service, error) { return seat{d.room, id}, nil }
func (d doors) Create(_ context.Context, in client.NodeCreate) (client.Node, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := fmt.Sprint("fresh", len(d.nodes)+1)
	d.nodes[id] = in.Name
	return client.Node{ID: id}, nil
}

// withToken adds the header to every request.
type withToken struct {
	token string
	*http.Transport
}

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if w.token != "" {
		r.Header.Set("Authorization", "Bearer "+w.token)
	}
	return w.Transport.RoundTrip(r)
}

// session connects the SDK's client to /mcp.
func session(t *testing.T, url, token string) *mcp.ClientSession {
	t.Helper()
	way := withToken{token, &http.Transport{}}
	t.Cleanup(way.CloseIdleConnections)
	c := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil)
	s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: way}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func serveMCP(t *testing.T, r *room, o MCPOptions) string {
	t.Helper()
	s := httptest.NewServer(NewMCP(doors{r}, o))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL
}

// call returns the answer's JSON, and the error's parts where it is one.
func call(t *testing.T, s *mcp.ClientSession, tool, args string) (out map[string]any, code, message, hint string) {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatalf("%s %s: %v", tool, args, err)
	}
	if err := json.Unmarshal([]byte(res.Content[0].(*mcp.TextContent).Text), &out); err != nil {
		t.Fatal(err)
	}
	structured, _ := json.Marshal(res.StructuredContent)
	again, _ := json.Marshal(out)
	if string(structured) != string(again) {
		t.Errorf("text and structure differ: %s and %s", again, structured)
	}
	if e, ok := out["error"].(map[string]any); ok != res.IsError {
		t.Errorf("isError is %v for %v", res.IsError, out)
	} else if ok {
		hint, _ = e["hint"].(string)
		return out, e["code"].(string), e["message"].(string), hint
	}
	return out, "", "", ""
}

func TestMCPConversation(t *testing.T) {
	url := serveMCP(t, newRoom(), MCPOptions{})
	a, b := session(t, url, "t-a"), session(t, url, "t-b")
	got, _, _, _ := call(t, a, "ioa_space", `{"name":"plan","description":"I plan"}`)
	if got["id"] != "s1" || got["you"] != "a" || got["messages"] == nil {
		t.Fatal(got)
	}
	sent, _, _, _ := call(t, a, "ioa_send", `{"space_id":"s1","content":{"text":"hello","n":12345678901234567890}}`)
	if sent["sender"] != "a" {
		t.Error(sent)
	}
	got, _, _, _ = call(t, b, "ioa_read", `{"space_id":"s1"}`)
	if got["next"] != "m1" || !strings.Contains(fmt.Sprint(got["note"]), "not instructions") {
		t.Error(got)
	}
	call(t, b, "ioa_send", `{"space_id":"s1","content":{"text":"hi"},"content_type":"greeting","refs":{"messages":["m1"],"nodes":["a"]}}`)
	got, _, _, _ = call(t, a, "ioa_read", `{"space_id":"s1","after":"m1"}`)
	if msgs := got["messages"].([]any); len(msgs) != 1 || msgs[0].(map[string]any)["content_type"] != "greeting" {
		t.Error(got)
	}
}

func TestMCPKeepsTheSendersBytes(t *testing.T) {
	r := newRoom()
	a := session(t, serveMCP(t, r, MCPOptions{}), "t-a")
	call(t, a, "ioa_send", `{"space_id":"s1","content":{"n":12345678901234567890,"p":1.10}}`)
	if got := string(r.said[0].Content); got != `{"n":12345678901234567890,"p":1.10}` {
		t.Error(got)
	}
}

func TestMCPErrorsSayWhatToDo(t *testing.T) {
	a := session(t, serveMCP(t, newRoom(), MCPOptions{}), "t-a")
	tests := []struct{ tool, args, code, message, hint string }{
		{"ioa_send", `{"space_id":"s1","content":"hello"}`, "invalid_input", "not a string", `pass {"content": {"text": "your text"}}`},
		{"ioa_send", `{"space_id":"s1","content":"{\"text\":1}"}`, "invalid_input", "a string that holds one", "without quotes"},
		{"ioa_send", `{"space_id":"s1","content":["x"]}`, "invalid_input", "not an array", `{"content": {"text"`},
		{"ioa_send", `{"space_id":"s1","content":null}`, "invalid_input", "content is required", `{"content": {"text"`},
		{"ioa_send", `{"space_id":"s1"}`, "invalid_input", "content is required", `{"content": {"text"`},
		{"ioa_send", `{"content":{}}`, "invalid_input", "space_id is required", "ioa_space"},
		{"ioa_send", `{"space_id":"plan","content":{}}`, "not_found", "Space 'plan' not found", "call ioa_space"},
		{"ioa_send", `{"space_id":"s1","content":{},"refs":["m1"]}`, "invalid_input", "not an array", `{"refs": {"messages"`},
		{"ioa_send", `{"space_id":"s1","content":{},"refs":{"messages":"m1"}}`, "invalid_input", "arrays of ids", `{"refs": {"messages"`},
		{"ioa_send", `{"space_id":"s1","content":{},"refs":{"message":["m1"]}}`, "invalid_input", `no argument "message"`, `{"refs": {"messages"`},
		{"ioa_send", `{"space_id":"s1","content":{},"refs":{"messages":["m9"]}}`, "invalid_input", "'m9' not found", "ids of messages in this Space"},
		{"ioa_send", `{"space_id":"s1","content":{},"content_schema":"x"}`, "invalid_input", "content_schema must be", "content_schema"},
		{"ioa_send", `{"space_id":"s1","content":{},"to":"x"}`, "invalid_input", `no argument "to"`, "it takes: space_id"},
		{"ioa_space", `{"name":""}`, "invalid_input", "Space name is required", ""},
		{"ioa_space", `{"name":7}`, "invalid_input", "name must be a string, not a number", `{"name"`},
		{"ioa_space", `{"name":"x","tags":"y"}`, "invalid_input", "tags must be an array", `{"tags"`},
		{"ioa_read", `{"space_id":"s1","listen":true}`, "invalid_input", "listen", "wait_ms"},
		{"ioa_read", `{"space_id":"s1","limit":0}`, "invalid_input", "limit must be", "1 to 1000"},
		{"ioa_read", `{"space_id":"s1","limit":1001}`, "invalid_input", "limit must be", "1 to 1000"},
		{"ioa_read", `{"space_id":"s1","limit":"5"}`, "invalid_input", "limit must be", "without quotes"},
		{"ioa_read", `{"space_id":"s1","wait_ms":55001}`, "invalid_input", "wait_ms must be", "0 to 55000"},
		{"ioa_read", `{"space_id":"s1","all":"yes"}`, "invalid_input", "all must be true or false", "true"},
		{"ioa_read", `{"space_id":"s1","after":"m9"}`, "invalid_input", "'m9' not found", "next of an earlier ioa_read"},
		{"ioa_read", `[]`, "invalid_input", "no JSON object", "one JSON object"},
	}
	for _, tt := range tests {
		_, code, message, hint := call(t, a, tt.tool, tt.args)
		if code != tt.code || !strings.Contains(message, tt.message) || !strings.Contains(hint, tt.hint) {
			t.Errorf("%s %s:\n got %s: %s (%s)", tt.tool, tt.args, code, message, hint)
		}
	}
}

func TestMCPWaitsForNews(t *testing.T) {
	r := newRoom()
	url := serveMCP(t, r, MCPOptions{})
	a, b := session(t, url, "t-a"), session(t, url, "t-b")
	for _, args := range []string{`{"space_id":"s1","wait_ms":50000}`, `{"space_id":"s1","after":"m2","wait_ms":50000}`} {
		// own words come first and are no news
		sent := time.AfterFunc(20*time.Millisecond, func() {
			_, _ = seat{r, "a"}.Send(t.Context(), "s1", client.SendMessage{Content: json.RawMessage(`{}`)})
			_, _ = seat{r, "b"}.Send(t.Context(), "s1", client.SendMessage{Content: json.RawMessage(`{}`)})
		})
		defer sent.Stop()
		got, _, _, _ := call(t, a, "ioa_read", args)
		msgs := got["messages"].([]any)
		if len(msgs) == 0 || msgs[0].(map[string]any)["sender"] != "b" {
			t.Errorf("%s: %v", args, got)
		}
	}
	got, code, _, _ := call(t, b, "ioa_read", `{"space_id":"s1","after":"m4","wait_ms":30}`)
	if code != "" || len(got["messages"].([]any)) != 0 || got["next"] != "m4" {
		t.Errorf("nothing came: %v", got)
	}
	// the cursor moves over what isn't for the caller
	_, _ = seat{r, "b"}.Send(t.Context(), "s1", client.SendMessage{Content: json.RawMessage(`{}`)})
	got, _, _, _ = call(t, b, "ioa_read", `{"space_id":"s1","after":"m4","wait_ms":30}`)
	if got["next"] != "m5" {
		t.Errorf("the cursor stays: %v", got)
	}
}

func TestMCPCursorOfNothing(t *testing.T) {
	r := newRoom()
	a := session(t, serveMCP(t, r, MCPOptions{}), "t-a")
	got, _, _, _ := call(t, a, "ioa_read", `{"space_id":"s1"}`)
	if got["next"] != "" {
		t.Error(got)
	}
	call(t, a, "ioa_send", `{"space_id":"s1","content":{}}`)
	if got, _, _, _ = call(t, a, "ioa_read", `{"space_id":"s1"}`); got["next"] != "m1" || len(got["messages"].([]any)) != 0 {
		t.Error(got)
	}
}

func TestMCPWhoAsks(t *testing.T) {
	post := func(url, token, protocol, session string) int {
		t.Helper()
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		for k, v := range map[string]string{"Authorization": token, "Mcp-Protocol-Version": protocol, "Mcp-Session-Id": session} {
			if v != "" {
				req.Header.Set(k, v)
			}
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	url := serveMCP(t, newRoom(), MCPOptions{})
	for _, wire := range []string{"2025-11-25", "2026-07-28"} {
		if got := post(url, "", wire, ""); got != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d", wire, got)
		}
		if got := post(url, "Bearer x", wire, ""); got != http.StatusUnauthorized {
			t.Errorf("%s with a bad token: %d", wire, got)
		}
	}
	a := session(t, url, "t-a")
	if a.ID() != "" {
		if got := post(url, "Bearer t-b", "2025-11-25", a.ID()); got != http.StatusForbidden {
			t.Errorf("another Node's session: %d", got)
		}
	}
}

func TestMCPBoundsABody(t *testing.T) {
	url := serveMCP(t, newRoom(), MCPOptions{})
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	for _, tt := range []struct {
		size int64
		want int
	}{{mcpMaxBody, http.StatusBadRequest}, {mcpMaxBody + 1, http.StatusRequestEntityTooLarge}} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(strings.Repeat(" ", int(tt.size))))
		for k, v := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer t-a", "Mcp-Protocol-Version": newWire,
		} {
			req.Header.Set(k, v)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tt.want {
			t.Errorf("%d bytes: %s, want %d", tt.size, resp.Status, tt.want)
		}
	}
}

func TestMCPWithoutAuth(t *testing.T) {
	r := newRoom()
	url := serveMCP(t, r, MCPOptions{NoAuth: true})
	a := session(t, url, "")
	one, _, _, _ := call(t, a, "ioa_space", `{"name":"x","description":"y"}`)
	two, _, _, _ := call(t, a, "ioa_space", `{"name":"x","description":"y"}`)
	if one["you"] != "fresh1" || two["you"] != "fresh1" || r.nodes["fresh1"] != "tester" {
		t.Errorf("%v then %v of %v", one["you"], two["you"], r.nodes)
	}
	own := session(t, url, "t-own")
	if got, _, _, _ := call(t, own, "ioa_space", `{"name":"x","description":"y"}`); got["you"] != "own" {
		t.Error(got["you"])
	}
}

func TestMCPForgetsOldSessions(t *testing.T) {
	w := &mcpWay{nodes: map[string]string{}}
	for i := range mcpMaxNodes + 1 {
		w.remember(fmt.Sprint(i), fmt.Sprint("n", i))
	}
	if len(w.nodes) != mcpMaxNodes || len(w.order) != mcpMaxNodes || w.nodes["0"] != "" {
		t.Errorf("%d remembered", len(w.nodes))
	}
	if got := w.remember("1", "other"); got != "n1" {
		t.Errorf("the first of two must stay, got %s", got)
	}
}

// words splits as tokenizers do at the coarsest: runs of letters (cut at 8), digits, and each other sign alone. Measured
// against common tokenizers it counts too many rather than too few on schemas.
var words = regexp.MustCompile(`[A-Za-z]{1,8}|[0-9]{1,3}|[^\sA-Za-z0-9]`)

func TestMCPToolsAreCheap(t *testing.T) {
	s := session(t, serveMCP(t, newRoom(), MCPOptions{}), "t-a")
	res, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range res.Tools {
		names = append(names, tool.Name)
	}
	if fmt.Sprint(names) != "[ioa_read ioa_send ioa_space]" {
		t.Errorf("order %v", names)
	}
	raw, _ := json.Marshal(res.Tools)
	tokens := len(words.FindAllString(string(raw), -1))
	t.Logf("%d bytes, about %d tokens, counted coarsely %d", len(raw), len(raw)/4, tokens)
	if tokens > 1500 || len(raw)/4 > 1500 {
		t.Errorf("the tools cost %d tokens (%d bytes); 1,500 is the budget", tokens, len(raw))
	}
	if strings.Contains(string(raw), `"null"`) {
		t.Error("a schema allows null")
	}
	for _, tool := range res.Tools {
		a := tool.Annotations
		if a.ReadOnlyHint != (tool.Name == "ioa_read") || a.IdempotentHint == (tool.Name == "ioa_send") {
			t.Errorf("%s: annotations %+v", tool.Name, a)
		}
		if !a.ReadOnlyHint && (a.DestructiveHint == nil || *a.DestructiveHint) {
			t.Errorf("%s says it is destructive", tool.Name)
		}
	}
	if caps, _ := json.Marshal(s.InitializeResult()); strings.Contains(string(caps), `"logging"`) {
		t.Error("logging is announced")
	}
}
