package api

// This file holds the MCP server: who a call is made for, and both current wires of streamable HTTP on one URL. The
// tools stand in mcp_tools.go, their schemas in mcp_schema.go.

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"plexus/graph"
	"plexus/sdk/client"
)

// newWire is the first protocol version without sessions. The SDK's stateful handler refuses it and its stateless one
// lacks what older clients need, so the header decides.
const newWire = "2026-07-28"

// MCPCaller says on whose behalf a tool is called: the operations, and the Node's ID ("" where not known).
type MCPCaller func(ctx context.Context, req *mcp.CallToolRequest) (Service, string, error)

// NewMCPServer returns an MCP server with the three tools. It serves any transport.
func NewMCPServer(version string, caller MCPCaller) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "plexus", Title: "Plexus", Version: version}, &mcp.ServerOptions{
		Instructions: mcpInstructions,
		Capabilities: &mcp.ServerCapabilities{}, // nil would announce logging, which is deprecated
	})
	t := mcpTools{caller: caller}
	s.AddTool(spaceTool(), t.space)
	s.AddTool(sendTool(), t.send)
	s.AddTool(readTool(), t.read)
	return s
}

// MCPOptions configures the handler at /mcp.
type MCPOptions struct {
	Version string
	NoAuth  bool // every session without a token gets a fresh Node

	// Both, or a URL with plugin_tools=true serves the three tools alone.
	Commands Commands
	Plugins  Plugins
}

// MCP is the handler for /mcp.
type MCP struct {
	servers *mcpServers
	handler http.Handler
}

// ServeHTTP serves both wires. With plugin_tools=true in the URL the commands of the plugins in the Spaces joined are tools too.
func (m *MCP) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.handler.ServeHTTP(w, r) }

// Refresh lists the commands anew, for whoever asked for them; sessions are told of what has changed.
func (m *MCP) Refresh(ctx context.Context) error { return m.servers.refresh(ctx) }

// NewMCP returns the handler for /mcp. A bearer token decides the Node; the Host and Origin headers are checked by
// whoever mounts it.
func NewMCP(accounts Accounts, o MCPOptions) *MCP {
	w := &mcpWay{accounts: accounts, noAuth: o.NoAuth, nodes: map[string]string{}}
	m := &MCP{servers: newMCPServers(w, o)}
	h := mcpHandler(m.servers.of)
	bearer := auth.RequireBearerToken(w.verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(h)
	m.handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if o.NoAuth && r.Header.Get("Authorization") == "" {
			h.ServeHTTP(rw, r)
			return
		}
		if r.Header.Get("Authorization") == "" {
			rw.Header().Set("WWW-Authenticate", "Bearer")
		}
		bearer.ServeHTTP(rw, r)
	})
	return m
}

// MCPHandler serves both wires on one URL.
func MCPHandler(s *mcp.Server) http.Handler {
	return mcpHandler(func(*http.Request) *mcp.Server { return s })
}

func mcpHandler(get func(*http.Request) *mcp.Server) http.Handler {
	stateful := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		SessionTimeout: mcpSessionIdle, MaxRequestBodyBytes: mcpMaxBody, DisableLocalhostProtection: true,
	})
	stateless := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Stateless: true, MaxRequestBodyBytes: mcpMaxBody, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= newWire {
			stateless.ServeHTTP(w, r)
			return
		}
		stateful.ServeHTTP(w, r)
	})
}

// mcpWay finds the Node behind an HTTP request.
type mcpWay struct {
	accounts Accounts
	noAuth   bool

	mu    sync.Mutex        // guards the two below; never held over a call of accounts
	nodes map[string]string // no-auth mode: session (or client name) → Node
	order []string          // their age, for the bound
}

func (w *mcpWay) verify(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	id, err := w.accounts.Authenticate(ctx, token)
	switch {
	case errors.Is(err, graph.ErrUnauthorized):
		return nil, auth.ErrInvalidToken
	case err != nil:
		return nil, err
	}
	return &auth.TokenInfo{UserID: id}, nil // the SDK holds a session to its UserID
}

func (w *mcpWay) caller(ctx context.Context, req *mcp.CallToolRequest) (Service, string, error) {
	id, err := w.node(ctx, req)
	if err != nil {
		return nil, "", err
	}
	s, err := w.accounts.As(id)
	return s, id, err
}

func (w *mcpWay) node(ctx context.Context, req *mcp.CallToolRequest) (string, error) {
	extra := req.Extra
	if extra != nil && extra.TokenInfo != nil {
		return extra.TokenInfo.UserID, nil
	}
	if !w.noAuth {
		return "", &client.Error{Code: client.CodeUnauthorized, Detail: "no token", Hint: "send Authorization: Bearer TOKEN; plexus token prints one"}
	}
	if extra != nil && extra.Header.Get("X-Node-ID") != "" {
		return extra.Header.Get("X-Node-ID"), nil
	}
	name := mcpClientName(req)
	key := "name:" + name
	if id := req.Session.ID(); id != "" {
		key = "session:" + id
	}
	w.mu.Lock()
	id, ok := w.nodes[key]
	w.mu.Unlock()
	if ok {
		return id, nil
	}
	n, err := w.accounts.Create(ctx, client.NodeCreate{Name: name})
	if err != nil {
		return "", err
	}
	return w.remember(key, n.ID), nil
}

// remember keeps a Node for its session; the oldest make room. Of two that raced, the first stays.
func (w *mcpWay) remember(key, id string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if old, ok := w.nodes[key]; ok {
		return old
	}
	if len(w.order) >= mcpMaxNodes {
		delete(w.nodes, w.order[0])
		w.order = w.order[1:]
	}
	w.nodes[key] = id
	w.order = append(w.order, key)
	return id
}

// mcpClientName is what the MCP client calls itself, fit for a Node's name.
func mcpClientName(req *mcp.CallToolRequest) string {
	name := ""
	if info := req.ClientInfo(); info != nil {
		name = strings.TrimSpace(info.Name)
	}
	if name == "" {
		name = "mcp-client"
	}
	return name
}
