package client

// This file holds the small parts of Synapse's envelope: names, times, meta.synapse, and its JSON.

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// overrides is meta.synapse: what an envelope said that can't be told from the message it became. A pointer to "" says that the field was absent.
type overrides struct {
	Version       string  `json:"version,omitempty"`
	Sender        extras  `json:"sender,omitzero"`
	Receiver      extras  `json:"receiver,omitzero"`
	GroupID       *string `json:"group_id,omitempty"`
	CorrelationID string  `json:"correlation_id,omitempty"`
	ReplyTo       *string `json:"reply_to,omitempty"`
	Signature     string  `json:"signature,omitempty"`
}

// extras are an endpoint's fields beside agent_id, which is never the sender's to choose.
type extras struct {
	SystemID string `json:"system_id,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
}

func (x extras) of(agent string) *AgentEndpoint {
	if agent == "" {
		return nil
	}
	return &AgentEndpoint{AgentID: agent, SystemID: x.SystemID, Endpoint: x.Endpoint}
}

func (a *AgentEndpoint) extras() extras {
	if a == nil {
		return extras{}
	}
	return extras{a.SystemID, a.Endpoint}
}

// overrides is what meta.synapse must say for m to give e back.
func (e UnifiedSynapseMessage) overrides(m Message) overrides {
	o := overrides{Signature: e.Signature, Sender: e.Sender.extras(), Receiver: e.Receiver.extras()}
	if e.Version != SynapseVersion {
		o.Version = e.Version
	}
	if m.group(o) != e.GroupID {
		o.GroupID = &e.GroupID
	}
	f := m.seedFields(o)
	if e.CorrelationID != f.CorrelationID {
		o.CorrelationID = e.CorrelationID
	}
	if e.ReplyTo != f.ReplyTo {
		o.ReplyTo = &e.ReplyTo
	}
	return o
}

func (o overrides) empty() bool { return o == overrides{} }

// overridesOf reads meta.synapse; what isn't of its form counts for nothing.
func overridesOf(meta json.RawMessage) overrides {
	var o overrides
	if json.Unmarshal(member(meta, "synapse"), &o) != nil {
		return overrides{}
	}
	return o
}

// members are an object's, nil for what is none. Names count letter by letter, unlike in encoding/json's structs.
func members(raw json.RawMessage) (out map[string]json.RawMessage) {
	if !isObject(raw) || json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

func member(raw json.RawMessage, name string) json.RawMessage { return members(raw)[name] }

func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}

// withMember adds a member to an object behind the others, which stay as they are.
func withMember(object json.RawMessage, name string, v any) json.RawMessage {
	value := appendJSON(nil, v)
	head := bytes.TrimRight(object, " \t\r\n")
	if len(head) > 0 {
		head = bytes.TrimRight(head[:len(head)-1], " \t\r\n")
	}
	b := append(make([]byte, 0, len(head)+len(name)+len(value)+5), head...)
	switch {
	case len(b) == 0:
		b = append(b, '{')
	case b[len(b)-1] != '{':
		b = append(b, ',')
	}
	b = append(appendJSON(b, name), ':')
	return append(append(b, value...), '}')
}

// appendJSON appends v with <, > and & as they are.
func appendJSON(b []byte, v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // texts, numbers and structs of them: always possible
	return append(b, bytes.TrimRight(buf.Bytes(), "\n")...)
}

// appendText appends a JSON string; IDs and times are plain ASCII and take the short way.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x7f {
			return appendJSON(b, s)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

func isTime(s string) bool {
	_, err := time.Parse(time.RFC3339, s)
	return err == nil
}

func isVersion1(v string) bool {
	rest, ok := strings.CutPrefix(v+".", "1.")
	return v == "" || ok && strings.Trim(rest, "0123456789.") == "" && strings.Count(rest, ".") <= 2 && !strings.Contains("."+rest, "..")
}

// isMessageID says whether s has the form of a message's ID: a CIDv1 in base32, dag-cbor, sha2-256.
func isMessageID(s string) bool {
	return len(s) == 59 && strings.HasPrefix(s, "bafyrei") && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// isTypeName says whether a type has the seed's form (§6.2): domain:action.
func isTypeName(s string) bool {
	domain, action, ok := strings.Cut(s, ":")
	return ok && isWord(domain) && isWord(action)
}

func isWord(s string) bool {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// typeName is the envelope's type for a content type.
func typeName(kind string) string {
	switch {
	case isTypeName(kind):
		return kind
	case isWord(kind):
		return ioaDomain + kind
	}
	return untypedName
}

// contentType is typeName turned round.
func contentType(name string) string {
	if name == untypedName {
		return ""
	}
	return strings.TrimPrefix(name, ioaDomain)
}

// AppendJSON appends the envelope's JSON; payload, and what is verbatim in ioa, byte for byte.
func (e UnifiedSynapseMessage) AppendJSON(b []byte) []byte {
	sep := byte('{')
	put := func(name string, v any, has bool) {
		if !has {
			return
		}
		b = append(appendText(append(b, sep), name), ':')
		switch v := v.(type) {
		case json.RawMessage:
			b = append(b, v...)
		case string:
			b = appendText(b, v)
		default:
			b = appendJSON(b, v)
		}
		sep = ','
	}
	payload := e.Payload
	if len(payload) == 0 {
		payload = json.RawMessage("null")
	}
	put("id", e.ID, e.ID != "")
	put("version", e.Version, e.Version != "")
	put("type", e.Type, true)
	put("sender", e.Sender, e.Sender != nil)
	put("receiver", e.Receiver, e.Receiver != nil)
	put("group_id", e.GroupID, e.GroupID != "")
	put("correlation_id", e.CorrelationID, e.CorrelationID != "")
	put("reply_to", e.ReplyTo, e.ReplyTo != "")
	put("payload", payload, true)
	put("priority", e.Priority, e.Priority != nil)
	put("signature", e.Signature, e.Signature != "")
	put("timestamp", e.Timestamp, e.Timestamp != "")
	put("expires_at", e.ExpiresAt, e.ExpiresAt != "")
	if e.IOA == nil {
		return append(b, '}')
	}
	b, sep = append(b, `,"ioa":`...), '{'
	put("space_id", e.IOA.SpaceID, e.IOA.SpaceID != "")
	put("content_type", e.IOA.ContentType, e.IOA.ContentType != nil)
	put("refs", e.IOA.Refs, e.IOA.Refs != nil)
	put("meta", e.IOA.Meta, len(e.IOA.Meta) > 0)
	put("content_schema", e.IOA.ContentSchema, len(e.IOA.ContentSchema) > 0)
	if sep == '{' {
		b = append(b, '{')
	}
	return append(b, "}}"...)
}

// MarshalJSON is AppendJSON.
func (e UnifiedSynapseMessage) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil), nil }
