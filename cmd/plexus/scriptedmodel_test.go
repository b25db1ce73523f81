package main

// This file holds a scripted stand-in for a language model, on OpenAI's chat wire, so that a real agent harness calls
// our tools without a network: each turn of the script looks at the tool results so far and says what to call next.

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// turn is what the model does next: call a tool, or (Tool "") end with text.
type turn struct {
	Tool string // suffix of the tool's name as the harness offers it, e.g. "ioa_send"
	Args map[string]any
	Text string
}

// script maps the results of the calls so far (the text of each tool message) to the next turn.
type script func(results []string) turn

type chatMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// text reads a message's content, a string or a list of parts.
func (m chatMessage) text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(m.Content, &parts)
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

type chatRequest struct {
	Messages []chatMessage `json:"messages"`
	Stream   bool          `json:"stream"`
	Tools    []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

// scriptedModel serves the script and returns its base URL.
func scriptedModel(t *testing.T, s script) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req chatRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var results []string
		for _, m := range req.Messages {
			if m.Role == "tool" {
				results = append(results, m.text())
			}
		}
		next := turn{Text: "A title"} // the harness asks for a title without offering tools
		if len(req.Tools) > 0 {
			next = s(results)
		}
		reply(w, req, next, len(results))
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/v1"
}

// reply writes one assistant turn, streamed or whole.
func reply(w http.ResponseWriter, req chatRequest, next turn, n int) {
	delta := map[string]any{"role": "assistant", "content": next.Text}
	finish := "stop"
	if next.Tool != "" {
		name := next.Tool
		for _, tool := range req.Tools {
			if strings.HasSuffix(tool.Function.Name, next.Tool) {
				name = tool.Function.Name
			}
		}
		args, _ := json.Marshal(next.Args)
		delta = map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{
			"index": 0, "id": fmt.Sprintf("call_%d", n), "type": "function",
			"function": map[string]any{"name": name, "arguments": string(args)},
		}}}
		finish = "tool_calls"
	}
	base := map[string]any{"id": "c", "created": 1, "model": "m"}
	usage := map[string]any{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
	if !req.Stream {
		base["object"] = "chat.completion"
		base["usage"] = usage
		base["choices"] = []any{map[string]any{"index": 0, "message": delta, "finish_reason": finish}}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(base)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	base["object"] = "chat.completion.chunk"
	for _, choice := range []map[string]any{
		{"index": 0, "delta": delta, "finish_reason": nil},
		{"index": 0, "delta": map[string]any{}, "finish_reason": finish},
	} {
		base["choices"] = []any{choice}
		if choice["finish_reason"] != nil {
			base["usage"] = usage
		}
		line, _ := json.Marshal(base)
		fmt.Fprintf(w, "data: %s\n\n", line)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}
