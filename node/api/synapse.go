package api

// This file holds Synapse's envelope at the doors: with format=synapse a Message goes out and comes in as UnifiedSynapseMessage. The mapping
// itself is sdk/client's (docs/synapse.md).

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"plexus/graph"
	"plexus/sdk/client"
)

var pFormat = param{
	name: "format", kind: isChoice, of: []string{"synapse"},
	doc: "synapse: each Message is given, and where one is sent taken, as Synapse's UnifiedSynapseMessage.",
}

// formats says whether a route knows the parameter format.
func (t *route) formats() bool {
	return slices.ContainsFunc(t.params, func(p param) bool { return p.name == pFormat.name })
}

func (x *exchange) synapse() bool { return x.route.formats() && x.text(pFormat.name) == "synapse" }

// formatted makes envelopes of messages where that was asked for.
func (x *exchange) formatted(out any) any {
	if !x.synapse() {
		return out
	}
	switch out := out.(type) {
	case client.Message:
		return x.envelope(&out)
	case []client.Message:
		list := make([]client.UnifiedSynapseMessage, len(out))
		for i := range out {
			list[i] = x.envelope(&out[i])
		}
		return list
	}
	return out
}

// envelope is a message's, with how far this host's user trusts its sender.
func (x *exchange) envelope(m *client.Message) client.UnifiedSynapseMessage {
	e := m.Synapse()
	if x.h.cfg.Trust != nil && e.Sender != nil {
		space := m.SpaceID
		if space == "" {
			space = x.r.PathValue("id")
		}
		e.Sender.TrustLevel = x.h.cfg.Trust.TrustLevel(space, e.Sender.AgentID)
	}
	return e
}

// encoder is how a stream of this exchange writes a message.
func (x *exchange) encoder() func([]byte, *client.Message) []byte {
	if x.synapse() {
		return func(b []byte, m *client.Message) []byte { return x.envelope(m).AppendJSON(b) }
	}
	return appendMessage
}

func appendEnvelopes(b []byte, list []client.UnifiedSynapseMessage) []byte {
	b = append(b, '[')
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = e.AppendJSON(b)
	}
	return append(b, ']')
}

// orSynapse makes a send take an envelope as well.
func (a action) orSynapse() action {
	plain := a.serve
	known := fieldsOf(reflect.TypeFor[client.UnifiedSynapseMessage]())
	a.serve = func(x *exchange) error {
		if !x.synapse() {
			return plain(x)
		}
		body, err := x.readBody()
		if err != nil {
			return err
		}
		var raw json.RawMessage
		if err := decode(body, known, &raw); err != nil {
			return err
		}
		m, err := sendEnvelope(x, raw)
		if err != nil {
			return err
		}
		return x.reply(m)
	}
	return a
}

func sendEnvelope(x *exchange, raw json.RawMessage) (client.Message, error) {
	var none client.Message
	e, err := client.DecodeSynapse(raw)
	if err != nil {
		return none, envelopeFault(err)
	}
	if e.Sender != nil && e.Sender.AgentID != x.caller.node {
		return none, &Fault{
			Kind: graph.ErrForbidden, Detail: "sender.agent_id names another Node than the token's", Hint: "leave sender out; a token owns one Node",
		}
	}
	in, err := e.Send()
	if err != nil {
		return none, envelopeFault(err)
	}
	return sendMessage(x, in)
}

// envelopeFault gives the mapping's error its kind.
func envelopeFault(err error) error {
	var e *client.Error
	if errors.As(err, &e) {
		return invalid(e.Detail, e.Hint)
	}
	return err
}

// orEnvelope says, where a route knows format, that what is a message, or messages, may be envelopes instead.
func orEnvelope(op *huma.Operation, t *route, reg huma.Registry) {
	if !t.formats() {
		return
	}
	one := schemaOf(reg, reflect.TypeFor[client.UnifiedSynapseMessage]())
	or := func(m *huma.MediaType, s *huma.Schema) { m.Schema = &huma.Schema{AnyOf: []*huma.Schema{m.Schema, s}} }
	if op.RequestBody != nil {
		or(op.RequestBody.Content["application/json"], one)
	}
	for _, m := range op.Responses[strconv.Itoa(t.status)].Content {
		if m.Schema.Type == huma.TypeArray {
			or(m, &huma.Schema{Type: huma.TypeArray, Items: one})
		} else {
			or(m, one)
		}
	}
}

// refineEnvelope says of the envelope what Go's types can't.
func refineEnvelope(s *huma.Schema) {
	least, most := 0.0, 9.0
	s.AdditionalProperties = false
	s.Properties["type"].Pattern = "^[a-z][a-z0-9_]*:[a-z][a-z0-9_]*$"
	s.Properties["payload"].Type = huma.TypeObject
	s.Properties["priority"].Minimum, s.Properties["priority"].Maximum = &least, &most
	for _, name := range []string{"timestamp", "expires_at"} {
		s.Properties[name].Format = "date-time"
	}
}
