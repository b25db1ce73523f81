// Package scripted is a stand-in for a language model, on OpenAI's chat wire, and a real agent harness that is driven by it: so that an agent's
// whole way to our tools is walked without a network and without chance. It is for tests and examples.
package scripted

// This file holds the model: each turn of its script looks at the tool results so far and says what to call next.

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// maxRequest bounds what a harness may send: all its tools and the talk so far come each time.
const maxRequest = 16 << 20

// Turn is what the model does next: call a tool, or (Tool "") end with text.
type Turn struct {
	Tool string // suffix of the tool's name as the harness offers it, e.g. "ioa_send"
	Args map[string]any
	Text string
}

// Script maps the results of the calls so far (the text of each tool message) to the next turn. It may be called by several goroutines.
type Script func(results []string) Turn

// Model serves a script on loopback.
type Model struct {
	URL string // what a harness takes for the API's base

	server *http.Server
	ended  chan error
}

// Serve starts a model; Close ends it.
func Serve(s Script) (*Model, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve a scripted model: %w", err)
	}
	m := &Model{URL: "http://" + l.Addr().String() + "/v1", ended: make(chan error, 1)}
	m.server = &http.Server{Handler: handler(s), ReadHeaderTimeout: 10 * time.Second}
	go func() { m.ended <- m.server.Serve(l) }()
	return m, nil
}

// Close ends the model and waits for it.
func (m *Model) Close() error {
	err := m.server.Close()
	if served := <-m.ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

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

func handler(s Script) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req chatRequest
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var results []string
		for _, m := range req.Messages {
			if m.Role == "tool" {
				results = append(results, m.text())
			}
		}
		next := Turn{Text: "A title"} // a harness asks for a title without offering tools
		if len(req.Tools) > 0 {
			next = s(results)
		}
		reply(w, req, next, len(results))
	})
}

// reply writes one assistant turn, streamed or whole.
func reply(w http.ResponseWriter, req chatRequest, next Turn, n int) {
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
