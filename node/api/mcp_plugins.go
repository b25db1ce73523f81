package api

// This file holds plugins' commands as MCP tools, which a client asks for (plugin_tools=true, plexus mcp --plugin-tools): an agent pays for each. A tool is a
// command, whatever the number of Spaces; which Space is meant, its argument space_id says. The SDK tells sessions when the list changes.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"plexus/sdk/client"
)

// MCPDo has a command asked on behalf of whoever calls the tool, and returns what was sent.
type MCPDo func(ctx context.Context, req *mcp.CallToolRequest, spaceID string, c client.PluginCommand, params json.RawMessage) ([]client.Message, error)

// PluginTools keeps plugins' commands as tools of one server. Safe for concurrent use.
type PluginTools struct {
	server *mcp.Server
	do     MCPDo

	mu   sync.Mutex // guards have
	have map[string][]byte
}

// NewPluginTools starts with none.
func NewPluginTools(s *mcp.Server, do MCPDo) *PluginTools {
	return &PluginTools{server: s, do: do, have: map[string][]byte{}}
}

// Set makes the tools those of a list; sessions are told where that changes any.
func (p *PluginTools) Set(list []client.PluginCommand) {
	p.mu.Lock()
	defer p.mu.Unlock()
	want := map[string]bool{}
	for _, t := range pluginToolsOf(list) {
		def, err := json.Marshal([]any{t.tool, t.command})
		if err != nil {
			continue // a schema that is no JSON: HTTP and CLI still take its command
		}
		want[t.tool.Name] = true
		if !bytes.Equal(p.have[t.tool.Name], def) {
			p.have[t.tool.Name] = def
			p.server.AddTool(t.tool, p.handler(t))
		}
	}
	gone := slices.DeleteFunc(slices.Sorted(maps.Keys(p.have)), func(name string) bool { return want[name] })
	if len(gone) == 0 {
		return
	}
	for _, name := range gone {
		delete(p.have, name)
	}
	p.server.RemoveTools(gone...)
}

// pluginTool is a command as a tool.
type pluginTool struct {
	tool    *mcp.Tool
	command client.PluginCommand
	nested  bool // the parameters stand in params
}

// pluginToolsOf names the commands of a list, of which the first of a name gets it plain: another version of the plugin gets its file's CID behind it.
func pluginToolsOf(list []client.PluginCommand) []pluginTool {
	taken := map[string]bool{"ioa_space": true, "ioa_send": true, "ioa_read": true}
	var out []pluginTool
	for _, c := range list {
		if len(out) == mcpMaxTools {
			break
		}
		name := toolName(c.Plugin + "_" + c.Command)
		if taken[name] {
			name = toolName(c.File[max(0, len(c.File)-6):] + "_" + name)
		}
		if taken[name] || len(c.Spaces) == 0 {
			continue
		}
		taken[name] = true
		t := pluginTool{command: c}
		schema, nested := toolSchema(c)
		t.nested = nested
		t.tool = &mcp.Tool{
			Name: name, Title: fmt.Sprintf("%s: %s", c.Plugin, c.Command), Description: clipText(cmp.Or(c.About, c.Plugin+" "+c.Command), mcpMaxAbout),
			InputSchema: schema, Annotations: &mcp.ToolAnnotations{DestructiveHint: new(bool), OpenWorldHint: yes()},
		}
		out = append(out, t)
	}
	return out
}

// toolName is a name that all clients take: up to 64 of letters, digits, _ and -.
func toolName(s string) string {
	b := []byte(s[:min(len(s), mcpMaxName)])
	for i, c := range b {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			b[i] = '_'
		}
	}
	return string(b)
}

func clipText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// toolSchema is the command's schema with the Space beside its parameters; nested: with the parameters in an object of their own, since the schema is none of
// a plain object's, or has a space_id itself.
func toolSchema(c client.PluginCommand) (schema json.RawMessage, nested bool) {
	var doc, properties map[string]json.RawMessage
	var required []string
	params := c.Params
	if len(params) == 0 {
		params = json.RawMessage(`{"type":"object"}`)
	}
	plain := json.Unmarshal(params, &doc) == nil && string(doc["type"]) == `"object"` &&
		(doc["properties"] == nil || json.Unmarshal(doc["properties"], &properties) == nil) &&
		(doc["required"] == nil || json.Unmarshal(doc["required"], &required) == nil) && properties["space_id"] == nil
	if !plain {
		properties, required = map[string]json.RawMessage{"params": params}, []string{"params"}
		doc = map[string]json.RawMessage{"type": json.RawMessage(`"object"`), "additionalProperties": json.RawMessage("false")}
	}
	if properties == nil {
		properties = map[string]json.RawMessage{}
	}
	properties["space_id"] = appendJSON(nil, map[string]string{"type": "string", "description": "which Space, by id or name: " + spaceNames(c.Spaces)})
	if len(c.Spaces) > 1 {
		required = append([]string{"space_id"}, required...)
	}
	doc["properties"] = appendJSON(nil, properties)
	if len(required) > 0 {
		doc["required"] = appendJSON(nil, required)
	}
	return appendJSON(nil, doc), !plain
}

func spaceNames(list []client.SpaceName) string {
	var names []string
	for _, s := range list[:min(len(list), mcpNamedSpaces)] {
		names = append(names, s.Name)
	}
	if more := len(list) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return clipText(strings.Join(names, ", "), mcpMaxAbout)
}

// mcpSent is what a command's tool answers.
type mcpSent struct {
	Messages []client.Message `json:"messages"`
}

func (p *PluginTools) handler(t pluginTool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		space, params, err := t.arguments(req.Params.Arguments)
		if err != nil {
			return mcpFailed(err), nil
		}
		sent, err := p.do(ctx, req, space, t.command, params)
		if err != nil {
			return mcpFailed(mcpWithHint(err)), nil
		}
		return mcpAnswer(mcpSent{sent}), nil
	}
}

// arguments takes the Space out of a call's arguments; what is left is the command's.
func (t pluginTool) arguments(raw json.RawMessage) (space string, params json.RawMessage, err error) {
	args := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(raw)) > 0 && json.Unmarshal(raw, &args) != nil {
		return "", nil, mcpWrong("pass one JSON object", "%s: the arguments are no JSON object", t.tool.Name)
	}
	if err := mcpArguments(args).text("space_id", &space); err != nil {
		return "", nil, err
	}
	delete(args, "space_id")
	if space, err = t.space(space); err != nil {
		return "", nil, err
	}
	if t.nested {
		return space, args["params"], nil
	}
	return space, appendJSON(nil, args), nil
}

func (t pluginTool) space(given string) (string, error) {
	all := t.command.Spaces
	if given == "" && len(all) == 1 {
		return all[0].ID, nil
	}
	if given == "" {
		return "", mcpWrong("one of: "+spaceNames(all), "space_id is required")
	}
	var named []string
	for _, s := range all {
		if s.ID == given {
			return s.ID, nil
		}
		if s.Name == given {
			named = append(named, s.ID)
		}
	}
	switch len(named) {
	case 1:
		return named[0], nil
	case 0:
		return "", mcpWrong("call ioa_space to join it, or take one of: "+spaceNames(all), "no Space %q with the plugin %s is joined", clipText(given, 128), t.command.Plugin)
	}
	return "", mcpWrong("give the id", "%d Spaces are named %q: %s", len(named), given, strings.Join(named, ", "))
}
