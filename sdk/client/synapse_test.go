package client

// This file proves the mapping between Message and Synapse's envelope: both ways, for all there may be, against golden vectors, and whatever
// JSON comes.

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// asJSON compares messages as their readers do.
func asJSON(t interface{ Fatal(...any) }, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var (
	anyID   = rapid.StringMatching(`bafyrei[a-z2-7]{52}`)
	anyNode = rapid.StringMatching(`12D3KooW[a-zA-Z1-9]{44}`)
	anyTime = rapid.StringMatching(`20[0-9][0-9]-1[0-2]-[12][0-9]T1[0-9]:[0-5][0-9]:[0-5][0-9]\.[0-9]{6}Z`)
	anyType = rapid.OneOf(
		rapid.SampledFrom([]string{
			"", "checkpoint", "handoff", "team", "swarm", "p2p:task_request", "p2p:ack", "hil:decision", "group:create", "group:join", "capability:declare",
			"ballot:vote", "message", "ioa:message", "ioa:checkpoint", "Weird Name", "a:b:c", "é", ":", "group:",
		}), rapid.StringMatching(`[a-z_]{1,4}:[a-z_]{1,4}`), rapid.String())
)

// anyObject draws a JSON object, with the members that the mapping looks at more often than others.
func anyObject(names ...string) *rapid.Generator[json.RawMessage] {
	values := rapid.OneOf(
		rapid.SampledFrom([]string{"0", "7", "10", "-1", "1.10", "12345678901234567890", "null", "true", "[]", "{}", `"x"`, `""`, ` "a" `, `{ "a":1.0 }`}),
		rapid.Map(rapid.String(), func(s string) string { return asJSON(nil, s) }),
		rapid.Map(anyTime, func(s string) string { return `"` + s + `"` }),
		rapid.Map(rapid.MapOf(rapid.SampledFrom([]string{"version", "reply_to", "group_id", "correlation_id", "signature", "sender", "x"}),
			rapid.SampledFrom([]string{`"1.2"`, `""`, `"u1"`, `5`, `{"endpoint":"e"}`})), func(m map[string]string) string {
			var parts []string
			for k, v := range m {
				parts = append(parts, `"`+k+`":`+v)
			}
			return "{" + strings.Join(parts, ",") + "}"
		}))
	key := rapid.OneOf(rapid.SampledFrom(names), rapid.StringMatching(`[a-zA-Z]{1,3}`))
	return rapid.Custom(func(t *rapid.T) json.RawMessage {
		var parts []string
		for k, v := range rapid.MapOfN(key, values, 0, 5).Draw(t, "members") {
			parts = append(parts, rapid.SampledFrom([]string{"", " "}).Draw(t, "space")+asJSON(t, k)+":"+v)
		}
		return json.RawMessage("{" + strings.Join(parts, ",") + "}")
	})
}

func distinct(of *rapid.Generator[string], most int) *rapid.Generator[[]string] {
	return rapid.SliceOfNDistinct(of, 0, most, rapid.ID[string])
}

// anyMessage draws a Message as a node may show it.
var anyMessage = rapid.Custom(func(t *rapid.T) Message {
	m := Message{
		ID: anyID.Draw(t, "id"), Sender: anyNode.Draw(t, "sender"), CreatedAt: anyTime.Draw(t, "time"), ContentType: anyType.Draw(t, "type"),
		Content: anyObject("type", "Type", "group_id").Draw(t, "content"),
		Refs:    Ref{Messages: distinct(anyID, 4).Draw(t, "messages"), Nodes: distinct(anyNode, 3).Draw(t, "nodes")},
	}
	if rapid.Bool().Draw(t, "across") {
		m.SpaceID = anyID.Draw(t, "space")
	}
	if rapid.Bool().Draw(t, "has meta") {
		m.Meta = anyObject("priority", "expires_at", "synapse", "group_id").Draw(t, "meta")
	}
	if rapid.Bool().Draw(t, "has schema") {
		m.ContentSchema = json.RawMessage(rapid.SampledFrom([]string{"true", `{"type": "object"}`}).Draw(t, "schema"))
	}
	return m
})

func TestMessageToEnvelopeAndBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := anyMessage.Draw(rt, "message")
		e := m.Synapse()
		wire, err := DecodeSynapse(e.AppendJSON(nil))
		if err != nil {
			rt.Fatalf("%s: %v", e.AppendJSON(nil), err)
		}
		for _, e := range []UnifiedSynapseMessage{e, wire} {
			back, err := e.Message()
			if err != nil {
				rt.Fatalf("%s: %v", e.AppendJSON(nil), err)
			}
			if got, want := asJSON(rt, back), asJSON(rt, m); got != want || string(back.Content) != string(m.Content) || string(back.Meta) != string(m.Meta) {
				rt.Fatalf("by %s\n%s, want\n%s", e.AppendJSON(nil), got, want)
			}
		}
	})
}

// anyEnvelope draws one as an agent may write it that knows nothing of IOA, or little.
var anyEnvelope = rapid.Custom(func(t *rapid.T) UnifiedSynapseMessage {
	name := rapid.OneOf(anyID, rapid.StringMatching(`[a-z]{1,3}-[0-9]`))
	maybe := func(g *rapid.Generator[string], label string) string {
		if rapid.Bool().Draw(t, "has "+label) {
			return g.Draw(t, label)
		}
		return ""
	}
	end := func(label string) *AgentEndpoint {
		return &AgentEndpoint{AgentID: anyNode.Draw(t, label), SystemID: maybe(name, "system"), Endpoint: maybe(rapid.String(), "endpoint")}
	}
	e := UnifiedSynapseMessage{
		ID: name.Draw(t, "id"), Version: rapid.SampledFrom([]string{"1.0.0", "1", "1.2", "1.0.7"}).Draw(t, "version"), Sender: end("sender"),
		Type:    rapid.SampledFrom([]string{"p2p:task_request", "p2p:ack", "hil:decision", "group:create", "group:join", "ioa:message", "ioa:checkpoint"}).Draw(t, "type"),
		GroupID: maybe(name, "group"), CorrelationID: name.Draw(t, "correlation"), ReplyTo: maybe(anyID, "reply"),
		Payload: anyObject("x", "group_id").Draw(t, "payload"), Signature: maybe(rapid.String(), "signature"), Timestamp: anyTime.Draw(t, "time"),
		ExpiresAt: maybe(anyTime, "expires"),
	}
	if rapid.Bool().Draw(t, "own") {
		e.CorrelationID = rapid.SampledFrom([]string{e.ID, e.GroupID, e.ReplyTo, e.ID}).Draw(t, "same as")
		if e.CorrelationID == "" {
			e.CorrelationID = e.ID
		}
	}
	if rapid.Bool().Draw(t, "has receiver") {
		e.Receiver = end("receiver")
	}
	if rapid.Bool().Draw(t, "has priority") {
		n := rapid.IntRange(0, 9).Draw(t, "priority")
		e.Priority = &n
	}
	if rapid.Bool().Draw(t, "has meta") {
		e.IOA = &SynapseIOA{Meta: json.RawMessage(`{ "trace" : "t1" }`)}
	}
	return e
})

func TestEnvelopeToMessageAndBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e := anyEnvelope.Draw(rt, "envelope")
		m, err := e.Message()
		if err != nil {
			rt.Fatalf("%s: %v", e.AppendJSON(nil), err)
		}
		back := m.Synapse()
		back.IOA, e.IOA = nil, nil
		if got, want := asJSON(rt, back), asJSON(rt, e); got != want {
			rt.Fatalf("by %s\n%s, want\n%s", asJSON(rt, m), got, want)
		}
	})
}

// vectors is docs/vectors/synapse.json.
type vectors struct {
	Mapped []struct {
		Name     string          `json:"name"`
		Message  Message         `json:"message"`
		Envelope json.RawMessage `json:"envelope"`
	} `json:"mapped"`
	Read []struct { // by an agent that knows nothing of IOA
		Name     string          `json:"name"`
		Envelope json.RawMessage `json:"envelope"`
		Message  Message         `json:"message"`
	} `json:"read"`
	Refused []struct {
		Field    string          `json:"field"`
		Envelope json.RawMessage `json:"envelope"`
	} `json:"refused"`
}

func readVectors(t testing.TB) (v vectors) {
	t.Helper()
	b, err := os.ReadFile("../../docs/vectors/synapse.json")
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil || len(v.Mapped) < 5 || len(v.Read) < 5 || len(v.Refused) < 10 {
		t.Fatalf("vectors: %v", err)
	}
	return v
}

func TestSynapseVectors(t *testing.T) {
	v := readVectors(t)
	for _, c := range v.Mapped {
		e, err := DecodeSynapse(c.Envelope)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if got, want := asJSON(t, c.Message.Synapse()), asJSON(t, e); got != want {
			t.Errorf("%s: written as\n%s, want\n%s", c.Name, got, want)
		}
		if m, err := e.Message(); err != nil || asJSON(t, m) != asJSON(t, c.Message) {
			t.Errorf("%s: reads as\n%s, want\n%s (%v)", c.Name, asJSON(t, m), asJSON(t, c.Message), err)
		}
	}
	for _, c := range v.Read {
		e, err := DecodeSynapse(c.Envelope)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if m, err := e.Message(); err != nil || asJSON(t, m) != asJSON(t, c.Message) {
			t.Errorf("%s: reads as\n%s, want\n%s (%v)", c.Name, asJSON(t, m), asJSON(t, c.Message), err)
		}
	}
	for _, c := range v.Refused {
		e, err := DecodeSynapse(c.Envelope)
		if err == nil {
			_, err = e.Message()
		}
		if !IsInvalid(err) || !strings.Contains(err.Error(), c.Field) {
			t.Errorf("%s: %v, want %s to be named", c.Envelope, err, c.Field)
		}
	}
}

func TestEnvelopeID(t *testing.T) {
	e := UnifiedSynapseMessage{Type: "p2p:ack", Payload: json.RawMessage(`{}`)}
	for n, ok := range map[int]bool{0: true, maxEnvelopeID: true, maxEnvelopeID + 1: false} {
		e.ID = strings.Repeat("x", n)
		if in, err := e.Send(); (err == nil) != ok || ok && in.IdempotencyKey != e.ID {
			t.Errorf("an id of %d bytes: %v", n, err)
		}
	}
}

// FuzzSynapse: what comes is read or refused by name, and what is read goes both ways.
func FuzzSynapse(f *testing.F) {
	v := readVectors(f)
	for _, c := range v.Mapped {
		f.Add([]byte(c.Envelope))
	}
	for _, c := range v.Read {
		f.Add([]byte(c.Envelope))
	}
	for _, c := range v.Refused {
		f.Add([]byte(c.Envelope))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := DecodeSynapse(b)
		if err == nil {
			var m Message
			if m, err = e.Message(); err == nil {
				again, err := m.Synapse().Message()
				if err != nil || asJSON(t, again) != asJSON(t, m) {
					t.Fatalf("%s reads as %s, then as %s (%v)", b, asJSON(t, m), asJSON(t, again), err)
				}
				return
			}
		}
		if !IsInvalid(err) || err.Error() == "" {
			t.Fatalf("%s: %v", b, err)
		}
	})
}
