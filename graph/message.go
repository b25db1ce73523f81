package graph

// This file holds the public Message: the payload's JSON shape, the rules a local send is checked by, and the
// reading of a received one. protocol.md §3.6.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Draft is what someone wants to say. Kind "" is "message". A message's payload is built from the four JSON
// fields; for another kind Payload is the whole payload and the four stay empty.
type Draft struct {
	Kind        Kind
	ContentType string
	Content     json.RawMessage // an object, verbatim
	Meta        json.RawMessage // an object or nil
	Schema      json.RawMessage // content_schema or nil
	Refs        Refs
	Payload     json.RawMessage // kinds other than message
}

// Message is the public form of an entry of kind message.
type Message struct {
	ID            ID
	Space         ID
	Sender        NodeID
	CreatedAt     Time
	ContentType   string
	Content       json.RawMessage
	Meta          json.RawMessage
	ContentSchema json.RawMessage
	Refs          Refs
}

// EncodePayload makes a Draft's payload JSON and checks it with CheckPayload (and, for a message, that content is
// an object). The sender's bytes stay as they came, but for white space around a part: numbers keep their digits. A message's keys are written in the
// order content_type, content, meta, content_schema; an empty content_type and a meta or schema that is nil or null
// are left out. Errors are *InvalidError with the Field at fault.
func (d Draft) EncodePayload() ([]byte, error) {
	if d.Kind != "" && d.Kind != KindMessage {
		return d.encodeOther()
	}
	if d.Payload != nil {
		return nil, payloadError("payload", "is given beside content: a message has content alone")
	}
	d.Content, d.Meta, d.Schema = trim(d.Content), trim(d.Meta), trim(d.Schema)
	if err := d.checkParts(); err != nil {
		return nil, err
	}
	b := make([]byte, 0, 64+len(d.ContentType)+len(d.Content)+len(d.Meta)+len(d.Schema))
	b = append(b, '{')
	if d.ContentType != "" {
		b = append(appendJSONString(append(b, `"content_type":`...), d.ContentType), ',')
	}
	b = append(append(b, `"content":`...), d.Content...)
	if !absent(d.Meta) {
		b = append(append(b, `,"meta":`...), d.Meta...)
	}
	if !absent(d.Schema) {
		b = append(append(b, `,"content_schema":`...), d.Schema...)
	}
	b = append(b, '}')
	if len(b) > MaxPayload {
		return nil, sizeError(len(b))
	}
	return b, nil
}

func (d Draft) encodeOther() ([]byte, error) {
	if d.ContentType != "" || d.Content != nil || d.Meta != nil || d.Schema != nil {
		return nil, payloadError("content", "is a message's; an entry of kind "+string(d.Kind)+" has a payload")
	}
	if err := CheckPayload(d.Payload); err != nil {
		return nil, err
	}
	return bytes.Clone(d.Payload), nil
}

// CheckParts checks each part by itself, so that none can close the object it is put into and go on outside.
func (d Draft) checkParts() error {
	if len(d.ContentType) > MaxType {
		return payloadError("content_type", fmt.Sprintf("is over %d bytes", MaxType))
	}
	if !utf8.ValidString(d.ContentType) {
		return payloadError("content_type", "isn't UTF-8")
	}
	if absent(d.Content) {
		return payloadError("content", "is required: a JSON object")
	}
	if n := len(d.Content) + len(d.Meta) + len(d.Schema); n > MaxPayload {
		return sizeError(n)
	}
	for _, part := range []struct {
		field string
		text  json.RawMessage
		bool  bool
	}{{"content", d.Content, false}, {"meta", d.Meta, false}, {"content_schema", d.Schema, true}} {
		if absent(part.text) {
			continue
		}
		kind, err := checkJSON(part.text, 1)
		if err != nil {
			return payloadError(part.field, err.Error())
		}
		if kind != '{' && !(part.bool && kind == 'b') {
			return payloadError(part.field, "must be a JSON object, not "+jsonKind(kind))
		}
	}
	return nil
}

// Trim takes off the white space around a part; what is inside stays.
func trim(text json.RawMessage) json.RawMessage { return bytes.Trim(text, " \t\r\n") }

// Absent says whether a part of a payload counts as not given: nothing, or null.
func absent(text json.RawMessage) bool {
	return len(text) == 0 || string(text) == "null"
}

// CheckPayload refuses what a local send may not say: over MaxPayload, not UTF-8, not one JSON object, duplicate
// keys, lone surrogates, depth over MaxDepth. Errors are *InvalidError (RulePayload, RulePayloadSize).
func CheckPayload(payload []byte) error {
	if len(payload) > MaxPayload {
		return sizeError(len(payload))
	}
	kind, err := checkJSON(payload, 0)
	if err != nil {
		return payloadError("payload", err.Error())
	}
	if kind != '{' {
		return payloadError("payload", "must be a JSON object, not "+jsonKind(kind))
	}
	return nil
}

func payloadError(field, detail string) *InvalidError {
	return &InvalidError{Field: field, Rule: RulePayload, Detail: detail}
}

func sizeError(n int) *InvalidError {
	return &InvalidError{
		Field: "payload", Rule: RulePayloadSize,
		Detail: fmt.Sprintf("%d bytes, at most %d are allowed: send larger things as a blob", n, MaxPayload),
	}
}

// Message reads an entry's payload. ok is false where the entry is of another kind or malformed (protocol.md §3.6);
// such an entry is kept, not shown and not folded. The parts alias the entry's block.
func (e *Entry) Message() (m Message, ok bool) {
	if e.body.Kind != KindMessage || CheckPayload(e.body.Payload) != nil {
		return Message{}, false
	}
	m = Message{ID: e.id, Space: e.body.Space, Sender: e.body.Author, CreatedAt: e.body.Time, Refs: e.body.Refs}
	for key, value := range members(e.body.Payload) {
		if string(value) == "null" && string(key) != "content" {
			continue
		}
		fits := true
		switch string(key) {
		case "content":
			m.Content, fits = value, value[0] == '{'
		case "meta":
			m.Meta, fits = value, value[0] == '{'
		case "content_schema":
			m.ContentSchema, fits = value, value[0] == '{' || value[0] == 't' || value[0] == 'f'
		case "content_type":
			m.ContentType, fits = jsonString(value)
			fits = fits && len(m.ContentType) <= MaxType
		}
		if !fits {
			return Message{}, false
		}
	}
	return m, m.Content != nil
}

// Type returns the content type a plugin matches: content_type, else a string content.type, else "". The Message is
// one that [Entry.Message] returned.
func (m Message) Type() string {
	if m.ContentType != "" {
		return m.ContentType
	}
	for key, value := range members(m.Content) {
		if string(key) == "type" {
			s, _ := jsonString(value)
			return s
		}
	}
	return ""
}
