package graph

// This file holds the public Message: the payload's JSON shape, the rules a local send is checked by, and the
// reading of a received one. protocol.md §3.6.

import "encoding/json"

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
// an object). The sender's bytes stay as they came: numbers keep their digits.
func (d Draft) EncodePayload() ([]byte, error) { panic("unimplemented") }

// CheckPayload refuses what a local send may not say: over MaxPayload, not UTF-8, not one JSON object, duplicate
// keys, lone surrogates, depth over MaxDepth. Errors are *InvalidError (RulePayload, RulePayloadSize).
func CheckPayload(payload []byte) error { panic("unimplemented") }

// Message reads an entry's payload. ok is false where the entry is of another kind or malformed (protocol.md §3.6);
// such an entry is kept, not shown and not folded.
func (e *Entry) Message() (m Message, ok bool) { panic("unimplemented") }

// Type returns the content type a plugin matches: content_type, else a string content.type, else "".
func (m Message) Type() string { panic("unimplemented") }
