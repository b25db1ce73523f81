package client

// This file holds Synapse's envelope: a Message written as UnifiedSynapseMessage, and read back. docs/synapse.md has the mapping field by field,
// docs/vectors/synapse.json its golden vectors.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// SynapseVersion is the version of Synapse that envelopes are written in. Any 1.x is read.
const SynapseVersion = "1.0.0"

// UnifiedSynapseMessage is Synapse's envelope (§6.1 of its Raw Protocol 1.0.0). To send one, Type and Payload are enough: the node
// makes the ID and the time, and knows who sends.
type UnifiedSynapseMessage struct {
	ID            string          `json:"id,omitempty"`      // to send: the sender's own; it serves as idempotency key
	Version       string          `json:"version,omitempty"` // "" is SynapseVersion
	Type          string          `json:"type"`              // domain:action
	Sender        *AgentEndpoint  `json:"sender,omitempty"`
	Receiver      *AgentEndpoint  `json:"receiver,omitempty"`
	GroupID       string          `json:"group_id,omitempty"`
	CorrelationID string          `json:"correlation_id,omitempty"`
	ReplyTo       string          `json:"reply_to,omitempty"`
	Payload       json.RawMessage `json:"payload"`
	Priority      *int            `json:"priority,omitempty"` // 0–9
	Signature     string          `json:"signature,omitempty"`
	Timestamp     string          `json:"timestamp,omitempty"` // RFC 3339
	ExpiresAt     string          `json:"expires_at,omitempty"`
	IOA           *SynapseIOA     `json:"ioa,omitempty"`
}

// AgentEndpoint says who sends or receives. TrustLevel is how far the reader's own user trusts the Node; what a sender says of it counts for nothing.
type AgentEndpoint struct {
	AgentID    string `json:"agent_id"`
	SystemID   string `json:"system_id,omitempty"`
	Endpoint   string `json:"endpoint,omitempty"`
	TrustLevel string `json:"trust_level,omitempty"`
}

// SynapseIOA is what a Message holds and Synapse's own fields can't say. Each part is there only where it differs from what they do say.
type SynapseIOA struct {
	SpaceID       string          `json:"space_id,omitempty"`
	ContentType   *string         `json:"content_type,omitempty"`
	Refs          *Ref            `json:"refs,omitempty"`
	Meta          json.RawMessage `json:"meta,omitempty"`
	ContentSchema json.RawMessage `json:"content_schema,omitempty"`
}

const (
	ioaDomain   = "ioa:"        // of the types that have no domain of their own
	untypedName = "ioa:message" // the type of what has none, or none that Synapse could write
)

// Synapse writes a Message as an envelope. The envelope's Message is this one again.
func (m Message) Synapse() UnifiedSynapseMessage {
	e := m.seedFields(overridesOf(m.Meta))
	plain := e.assemble()
	ext := SynapseIOA{SpaceID: m.SpaceID, ContentSchema: m.ContentSchema}
	if plain.ContentType != m.ContentType {
		ext.ContentType = &m.ContentType
	}
	if !slices.Equal(plain.Refs.Messages, m.Refs.Messages) || !slices.Equal(plain.Refs.Nodes, m.Refs.Nodes) {
		ext.Refs = &m.Refs
	}
	e.IOA = &ext
	if !bytes.Equal(e.assemble().Meta, m.Meta) {
		ext.Meta = m.Meta
	}
	if ext.SpaceID == "" && ext.ContentType == nil && ext.Refs == nil && ext.Meta == nil && ext.ContentSchema == nil {
		e.IOA = nil
	}
	return e
}

// seedFields writes what the seed's own fields can say of a message.
func (m Message) seedFields(over overrides) UnifiedSynapseMessage {
	e := UnifiedSynapseMessage{
		ID: m.ID, Version: SynapseVersion, Type: typeName(m.effectiveType()), Sender: over.Sender.of(m.Sender), Payload: m.Content,
		Timestamp: m.CreatedAt, Signature: over.Signature, GroupID: m.group(over), CorrelationID: m.ID,
	}
	if over.Version != "" && isVersion1(over.Version) {
		e.Version = over.Version
	}
	if len(m.Refs.Nodes) > 0 {
		e.Receiver = over.Receiver.of(m.Refs.Nodes[0])
	}
	e.Priority, e.ExpiresAt = timing(m.Meta)
	around := slices.DeleteFunc(slices.Clone(m.Refs.Messages), func(id string) bool { return id == e.GroupID })
	if len(around) > 0 {
		e.CorrelationID, e.ReplyTo = around[0], around[len(around)-1]
	}
	if over.CorrelationID != "" {
		e.CorrelationID = over.CorrelationID
	}
	if r := over.ReplyTo; r != nil && (*r == "" || slices.Contains(m.Refs.Messages, *r)) {
		e.ReplyTo = *r
	}
	return e
}

// effectiveType is what a plugin matches: content_type, else content.type where that is text.
func (m Message) effectiveType() string {
	if m.ContentType != "" {
		return m.ContentType
	}
	var text string
	_ = json.Unmarshal(member(m.Content, "type"), &text) // else it is none
	return text
}

// group is the group a message is of: one of the domain "group" belongs to the first message it refers to, or founds one.
func (m Message) group(over overrides) string {
	switch {
	case over.GroupID != nil:
		return *over.GroupID
	case !strings.HasPrefix(m.ContentType, "group:"):
		return ""
	case len(m.Refs.Messages) > 0:
		return m.Refs.Messages[0]
	}
	return m.ID
}

// timing reads priority and expires_at where meta has them in the form the envelope has.
func timing(meta json.RawMessage) (priority *int, expires string) {
	fields := members(meta)
	if p := fields["priority"]; len(p) == 1 && '0' <= p[0] && p[0] <= '9' {
		n := int(p[0] - '0')
		priority = &n
	}
	var at string
	if json.Unmarshal(fields["expires_at"], &at) == nil && isTime(at) {
		expires = at
	}
	return priority, expires
}

// Message reads an envelope: the Message it was made from, or, of an agent that knows nothing of IOA, one whose envelope is the
// same in every field of the seed's. sender.trust_level is dropped. An *Error says which field is wrong.
func (e UnifiedSynapseMessage) Message() (Message, error) {
	if err := e.check(); err != nil {
		return Message{}, err
	}
	m := e.assemble()
	if name := e.differs(m.seedFields(overridesOf(m.Meta))); name != "" {
		return Message{}, badField(name, "is at odds with what ioa or payload says", "say it once: leave the part of ioa out, or payload.type")
	}
	return m, nil
}

// Send reads an envelope as a message to be sent. Its ID is the idempotency key; timestamp and sender are the node's to say.
func (e UnifiedSynapseMessage) Send() (SendMessage, error) {
	m, err := e.Message()
	return SendMessage{
		Content: m.Content, ContentType: m.ContentType, Refs: &m.Refs, Meta: m.Meta, ContentSchema: m.ContentSchema, IdempotencyKey: e.ID,
	}, err
}

// assemble makes the message, whatever is wrong with the envelope.
func (e UnifiedSynapseMessage) assemble() Message {
	ext := SynapseIOA{}
	if e.IOA != nil {
		ext = *e.IOA
	}
	m := Message{
		ID: e.ID, SpaceID: ext.SpaceID, CreatedAt: e.Timestamp, ContentType: contentType(e.Type), Content: e.Payload, ContentSchema: ext.ContentSchema,
		Refs: e.refs(),
	}
	if e.Sender != nil {
		m.Sender = e.Sender.AgentID
	}
	if ext.ContentType != nil {
		m.ContentType = *ext.ContentType
	}
	m.Meta = e.meta(m, ext.Meta)
	return m
}

// refs are ioa.refs, or what group, correlation, reply and receiver come to. What is no message's ID can't be referred to.
func (e UnifiedSynapseMessage) refs() (r Ref) {
	if e.IOA != nil && e.IOA.Refs != nil {
		return *e.IOA.Refs
	}
	for _, id := range []string{e.GroupID, e.CorrelationID, e.ReplyTo} {
		if isMessageID(id) && id != e.ID && !slices.Contains(r.Messages, id) {
			r.Messages = append(r.Messages, id)
		}
	}
	if e.Receiver != nil {
		r.Nodes = []string{e.Receiver.AgentID}
	}
	return r
}

// meta adds to ioa.meta what has no other place: priority, expires_at, and as "synapse" what the message by itself would not give back.
func (e UnifiedSynapseMessage) meta(m Message, meta json.RawMessage) json.RawMessage {
	have := members(meta)
	add := func(name string, v any) {
		if have[name] == nil {
			meta = withMember(meta, name, v)
		}
	}
	if e.Priority != nil {
		add("priority", *e.Priority)
	}
	if e.ExpiresAt != "" {
		add("expires_at", e.ExpiresAt)
	}
	if over := e.overrides(m); !over.empty() {
		add("synapse", over)
	}
	return meta
}

// differs names the first of the seed's fields in which e isn't f; what may be left out counts as the same.
func (e UnifiedSynapseMessage) differs(f UnifiedSynapseMessage) string {
	ends := func(a, b *AgentEndpoint) bool {
		return a == nil || b != nil && a.AgentID == b.AgentID && a.SystemID == b.SystemID && a.Endpoint == b.Endpoint
	}
	for _, row := range []struct {
		name string
		same bool
	}{
		{"version", e.Version == "" || e.Version == f.Version},
		{"type", e.Type == f.Type},
		{"sender", ends(e.Sender, f.Sender)},
		{"receiver", ends(e.Receiver, f.Receiver) && (e.Receiver == nil) == (f.Receiver == nil)},
		{"group_id", e.GroupID == f.GroupID},
		{"correlation_id", e.CorrelationID == "" || e.CorrelationID == f.CorrelationID},
		{"reply_to", e.ReplyTo == f.ReplyTo},
		{"priority", e.Priority == f.Priority || e.Priority != nil && f.Priority != nil && *e.Priority == *f.Priority},
		{"signature", e.Signature == f.Signature},
		{"expires_at", e.ExpiresAt == f.ExpiresAt},
	} {
		if !row.same {
			return row.name
		}
	}
	return ""
}

// check says what is wrong with an envelope by itself.
func (e UnifiedSynapseMessage) check() error {
	switch {
	case len(e.ID) > maxEnvelopeID:
		return badField("id", fmt.Sprintf("is over %d bytes", maxEnvelopeID), "")
	case !isVersion1(e.Version):
		return badField("version", fmt.Sprintf("%q isn't spoken here", e.Version), "this node speaks "+SynapseVersion+", and reads any 1.x")
	case !isTypeName(e.Type):
		return badField("type", fmt.Sprintf("must be domain:action in small letters, digits and underscores, not %q", e.Type), "such as p2p:task_request; an IOA type such as checkpoint is ioa:checkpoint")
	case !isObject(e.Payload):
		return badField("payload", "must be a JSON object", `wrap a text: {"text":"…"}`)
	case e.Priority != nil && (*e.Priority < 0 || *e.Priority > 9):
		return badField("priority", "must be a whole number from 0 to 9", "")
	case e.Timestamp != "" && !isTime(e.Timestamp):
		return badField("timestamp", "must be a time like 2026-11-30T15:04:05Z", "")
	case e.ExpiresAt != "" && !isTime(e.ExpiresAt):
		return badField("expires_at", "must be a time like 2026-11-30T15:04:05Z", "")
	case e.Sender != nil && e.Sender.AgentID == "":
		return badField("sender.agent_id", "is required", "or leave sender out: the token says who sends")
	case e.Receiver != nil && e.Receiver.AgentID == "":
		return badField("receiver.agent_id", "is required", "give a Node's ID")
	case e.ReplyTo != "" && !isMessageID(e.ReplyTo):
		return badField("reply_to", "must be a message's ID", "take it from the id of the envelope you answer")
	}
	if e.IOA != nil && len(e.IOA.Meta) > 0 && !isObject(e.IOA.Meta) {
		return badField("ioa.meta", "must be a JSON object", "")
	}
	return nil
}

func badField(name, what, hint string) error {
	return &Error{Code: CodeInvalid, Detail: name + " " + what, Hint: hint}
}
