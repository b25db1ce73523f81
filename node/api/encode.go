package api

// This file writes answers. Messages are appended by hand: it is the hot path of a read, and the only way in which
// content goes out byte for byte as it came in.

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"unicode/utf8"

	"plexus/sdk/client"
)

// appendAnswer appends any answer's JSON: messages and raw JSON verbatim, the rest by reflection.
func appendAnswer(b []byte, v any) []byte {
	switch v := v.(type) {
	case client.Message:
		return appendMessage(b, &v)
	case []client.Message:
		return appendMessages(b, v)
	case client.UnifiedSynapseMessage:
		return v.AppendJSON(b)
	case []client.UnifiedSynapseMessage:
		return appendEnvelopes(b, v)
	case json.RawMessage:
		return append(b, v...)
	}
	if r := reflect.ValueOf(v); r.Kind() == reflect.Slice && r.IsNil() {
		return append(b, "[]"...) // a list is never null
	}
	return appendJSON(b, v)
}

// appendJSON appends v by reflection, with <, > and & as they are.
func appendJSON(b []byte, v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		// Our own shapes always encode; raw JSON in them was checked at its door.
		panic("encode answer: " + err.Error())
	}
	return append(b, bytes.TrimRight(buf.Bytes(), "\n")...)
}

func appendMessages(b []byte, ms []client.Message) []byte {
	b = append(b, '[')
	for i := range ms {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendMessage(b, &ms[i])
	}
	return append(b, ']')
}

// appendMessage appends a Message in the order of its fields; content, meta and content_schema verbatim.
func appendMessage(b []byte, m *client.Message) []byte {
	b = appendString(append(b, `{"id":`...), m.ID)
	if m.SpaceID != "" {
		b = appendString(append(b, `,"space_id":`...), m.SpaceID)
	}
	b = appendString(append(b, `,"sender":`...), m.Sender)
	b = appendString(append(b, `,"created_at":`...), m.CreatedAt)
	if m.ContentType != "" {
		b = appendString(append(b, `,"content_type":`...), m.ContentType)
	}
	b = append(append(b, `,"content":`...), orNull(m.Content)...)
	b = appendStrings(append(b, `,"refs":{"messages":`...), m.Refs.Messages)
	b = appendStrings(append(b, `,"nodes":`...), m.Refs.Nodes)
	b = append(b, '}')
	if len(m.Meta) > 0 {
		b = append(append(b, `,"meta":`...), m.Meta...)
	}
	if len(m.ContentSchema) > 0 {
		b = append(append(b, `,"content_schema":`...), m.ContentSchema...)
	}
	return append(b, '}')
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

func appendStrings(b []byte, ss []string) []byte {
	b = append(b, '[')
	for i, s := range ss {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, s)
	}
	return append(b, ']')
}

// appendString appends a JSON string; IDs and times are plain ASCII and take the short way.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return appendJSON(b, s)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func writeBody(w http.ResponseWriter, contentType string, status int, body []byte) {
	head := w.Header()
	head.Set("Content-Type", contentType)
	head.Set("Content-Length", strconv.Itoa(len(body)))
	head.Set("Cache-Control", "no-store")
	head.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a reader that left is noticed by net/http
}

// tidyNode makes what IOA promises of a Node true: meta is an object.
func tidyNode(n client.Node) client.Node {
	if len(n.Meta) == 0 || string(n.Meta) == "null" {
		n.Meta = json.RawMessage("{}")
	}
	return n
}

func tidyNodes(ns []client.Node) []client.Node {
	out := make([]client.Node, len(ns))
	for i, n := range ns {
		out[i] = tidyNode(n)
	}
	return out
}

func tidySpace(s client.SpaceInfo) client.SpaceInfo {
	s.Nodes = tidyNodes(s.Nodes)
	return s
}
