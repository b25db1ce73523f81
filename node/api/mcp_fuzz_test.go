package api

// This file fuzzes the arguments of the MCP tools: whatever an agent passes is taken, or refused with a code and words.

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func FuzzMCPArguments(f *testing.F) {
	for _, s := range []string{
		`{"space_id":"s1","content":{"text":"x"}}`, `{"space_id":"s1","content":"x"}`, `{"name":"n","description":"d","tags":["t"]}`,
		`{"space_id":"s1","refs":{"messages":["m"],"nodes":null},"content":{}}`, `{"space_id":"s1","limit":1e3,"all":true,"wait_ms":0}`,
		`[]`, `null`, ``, `{"content":{"a":{"b":[1,2,{"c":"\ud800"}]}}}`, `{"space_id":null}`,
	} {
		f.Add([]byte(s))
	}
	r := newRoom()
	tools := mcpTools{func(_ context.Context, _ *mcp.CallToolRequest) (Service, string, error) {
		return seat{r, "a"}, "a", nil
	}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Arguments: raw}}
		for _, call := range []mcp.ToolHandler{tools.space, tools.send, tools.read} {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond) // an agent may ask to wait
			res, err := call(ctx, req)
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			var out struct {
				Error *struct{ Code, Message string } `json:"error"`
			}
			if err := json.Unmarshal([]byte(res.Content[0].(*mcp.TextContent).Text), &out); err != nil {
				t.Fatal(err)
			}
			if res.IsError && (out.Error == nil || out.Error.Code == "" || out.Error.Message == "") {
				t.Fatalf("an error without code or words for %q", raw)
			}
		}
	})
}
