//go:build conformance

package main

//lint:file-ignore SA1019 the suite asks for what is deprecated, as long as clients speak it

// This file holds the tools that only answer, and those that talk while they work: progress, logging, a stream that
// is closed on the way.

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const step = 50 * time.Millisecond // between a working tool's notices

func text(s string) *mcp.TextContent { return &mcp.TextContent{Text: s} }

func embedded(uri, mime, s string) mcp.Content {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: mime, Text: s}}
}

func result(c ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: c} }

// addTool gives a fixture its schema: strings by name, all required.
func addTool(s *mcp.Server, name string, args []string, h func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
	props := map[string]any{}
	for _, a := range args {
		props[a] = map[string]string{"type": "string"}
	}
	schema := map[string]any{"type": "object", "properties": props}
	if len(args) > 0 {
		schema["required"] = args
	}
	s.AddTool(&mcp.Tool{Name: name, Description: "fixture", InputSchema: schema}, h)
}

func argument(r *mcp.CallToolRequest, name string) string {
	var a map[string]string
	_ = json.Unmarshal(r.Params.Arguments, &a) // nothing there is an empty answer
	return a[name]
}

func wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(step):
	}
}

func addContentTools(s *mcp.Server) {
	image := &mcp.ImageContent{Data: pixel, MIMEType: "image/png"}
	for name, c := range map[string][]mcp.Content{
		"test_simple_text":       {text("This is a simple text response for testing.")},
		"test_image_content":     {image},
		"test_audio_content":     {&mcp.AudioContent{Data: tone, MIMEType: "audio/wav"}},
		"test_embedded_resource": {embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")},
		"test_multiple_content_types": {
			text("Multiple content types test:"), image,
			embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`),
		},
	} {
		addTool(s, name, nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return result(c...), nil })
	}
	addTool(s, "test_error_handling", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r := result(text("This tool intentionally returns an error for testing"))
		r.IsError = true
		return r, nil
	})
	s.AddTool(&mcp.Tool{Name: "json_schema_2020_12_tool", Description: "fixture", InputSchema: json.RawMessage(schema2020)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return result(text("ok")), nil
		})
	s.AddTool(&mcp.Tool{Name: "test_header_argument", Description: "fixture", InputSchema: json.RawMessage(
		`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return result(text(argument(r, "region"))), nil
		})
}

// schema2020 uses every kind of keyword the suite looks for: what is advertised must reach the client as it is.
const schema2020 = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},
"phone":{"type":"string"},"email":{"type":"string"}},
"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},
"additionalProperties":false}`

func addTalkingTools(s *mcp.Server) {
	addTool(s, "test_tool_with_progress", nil, progress)
	addTool(s, "test_streaming_elicitation", nil, progress)
	addTool(s, "test_tool_with_logging", nil, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if i > 0 {
				wait(ctx)
			}
			if err := r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: line}); err != nil {
				return nil, err
			}
		}
		return result(text("logged")), nil
	})
	addTool(s, "test_logging_tool", nil, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "one line"}) // the client may not want it
		return result(text("done")), nil
	})
	addTool(s, "test_reconnection", nil, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r.Extra != nil && r.Extra.CloseSSEStream != nil {
			r.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: step})
		}
		wait(ctx)
		return result(text("went on after the stream was closed")), nil
	})
	addTool(s, "test_trigger_tool_change", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		addTool(s, "test_appears", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return result(), nil })
		return result(text("changed")), nil
	})
	addTool(s, "test_trigger_prompt_change", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddPrompt(&mcp.Prompt{Name: "test_appears", Description: "fixture"},
			func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{}, nil
			})
		return result(text("changed")), nil
	})
	addTool(s, "test_missing_capability", nil, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if c := r.ClientCapabilities(); c != nil && c.Sampling != nil {
			return result(text("sampling is there")), nil
		}
		data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{
			RequiredCapabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}},
		})
		if err != nil {
			return nil, err
		}
		return nil, &jsonrpc.Error{
			Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the client must be able to sample", Data: data,
		}
	})
}

func progress(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	token := r.Params.GetProgressToken()
	for i := range 3 {
		if i > 0 {
			wait(ctx)
		}
		if token == nil {
			continue
		}
		err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(50 * i), Total: 100})
		if err != nil {
			return nil, fmt.Errorf("tell progress: %w", err)
		}
	}
	return result(text("worked")), nil
}
