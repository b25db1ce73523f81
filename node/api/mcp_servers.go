package api

// This file holds the MCP servers of the HTTP door: one for all who want the three tools alone, one for each Node that wants plugins' commands too.

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"plexus/sdk/client"
)

// mcpServers hands out servers.
type mcpServers struct {
	way  *mcpWay
	o    MCPOptions
	core *mcp.Server

	mu     sync.Mutex // guards what is below; never held over a call of a node's
	byNode map[string]*nodeTools
	order  []string // their age, for the bound
}

// nodeTools is a Node's server.
type nodeTools struct {
	server *mcp.Server
	tools  *PluginTools
}

func newMCPServers(w *mcpWay, o MCPOptions) *mcpServers {
	return &mcpServers{way: w, o: o, core: NewMCPServer(o.Version, w.caller), byNode: map[string]*nodeTools{}}
}

// of returns the server for a request; nil (400) where plugin_tools is no boolean.
func (s *mcpServers) of(r *http.Request) *mcp.Server {
	want := r.URL.Query().Get("plugin_tools")
	if want == "" {
		return s.core
	}
	on, err := strconv.ParseBool(want)
	switch {
	case err != nil:
		return nil
	case !on || s.o.Commands == nil || s.o.Plugins == nil:
		return s.core
	}
	node := ""
	if info := auth.TokenInfoFromContext(r.Context()); info != nil {
		node = info.UserID
	} else if s.o.NoAuth {
		node = r.Header.Get("X-Node-ID") // without one: the commands of all Spaces
	}
	return s.node(r.Context(), node).server
}

// node returns a Node's server, which is made with its tools on first use.
func (s *mcpServers) node(ctx context.Context, node string) *nodeTools {
	s.mu.Lock()
	n := s.byNode[node]
	s.mu.Unlock()
	if n != nil {
		return n
	}
	n = &nodeTools{server: NewMCPServer(s.o.Version, s.way.caller)}
	n.tools = NewPluginTools(n.server, s.do)
	if list, err := s.o.Commands.Commands(ctx, node); err == nil { // else the next Refresh brings them
		n.tools.Set(list)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.byNode[node]; old != nil {
		return old
	}
	if len(s.order) >= mcpMaxNodes {
		delete(s.byNode, s.order[0]) // its sessions go on with the tools they have
		s.order = s.order[1:]
	}
	s.byNode[node], s.order = n, append(s.order, node)
	return n
}

// do asks a command on behalf of the Node that a call is made for.
func (s *mcpServers) do(ctx context.Context, req *mcp.CallToolRequest, spaceID string, c client.PluginCommand, params json.RawMessage) ([]client.Message, error) {
	node, err := s.way.node(ctx, req)
	if err != nil {
		return nil, err
	}
	return s.o.Plugins.Do(ctx, spaceID, c.Plugin, c.Command, params, node)
}

// refresh brings the tools of all Nodes up to date.
func (s *mcpServers) refresh(ctx context.Context) error {
	s.mu.Lock()
	nodes := make(map[string]*nodeTools, len(s.byNode))
	for id, n := range s.byNode {
		nodes[id] = n
	}
	s.mu.Unlock()
	var errs []error
	for id, n := range nodes {
		list, err := s.o.Commands.Commands(ctx, id)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		n.tools.Set(list)
	}
	return errors.Join(errs...)
}
