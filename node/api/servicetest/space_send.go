package servicetest

// This file tests Space and Send.

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"plexus/graph"
	"plexus/sdk/client"
)

func testSpace(t *testing.T, w World) {
	ann, bob := newMember(t, w, "ann"), newMember(t, w, "bob")
	made, err := ann.Space(t.Context(), client.SpaceCreate{Name: "  plan ", Description: "to lead", Tags: []string{" a ", "", "b", "a"}})
	if err != nil {
		t.Fatal(err)
	}
	if made.Name != "plan" || made.MessageCount != 0 || len(made.Nodes) != 1 {
		t.Fatalf("space: %+v", made)
	}
	if n := made.Nodes[0]; n.ID != ann.id || n.Name != "ann" || n.Description != "to lead" || string(n.Meta) != "{}" {
		t.Errorf("node: %+v", n)
	}
	same(t, "tags", made.Tags, []string{"a", "b"})

	joined, err := bob.Space(t.Context(), client.SpaceCreate{Name: "plan", Tags: []string{"b", "c"}})
	if err != nil {
		t.Fatal(err)
	}
	if joined.ID != made.ID || len(joined.Nodes) != 2 {
		t.Fatalf("joined another space, or alone: %+v", joined)
	}
	if d := joined.Nodes[1].Description; d != "bob at work" {
		t.Errorf("description %q isn't the Node's own", d)
	}
	same(t, "merged tags", joined.Tags, []string{"a", "b", "c"})

	changed, err := ann.Space(t.Context(), client.SpaceCreate{Name: "plan", Description: "to follow", Tags: []string{"d"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range changed.Nodes {
		if n.ID == ann.id && n.Description != "to follow" {
			t.Errorf("description stayed %q", n.Description)
		}
	}
	if len(changed.Tags) != 4 {
		t.Errorf("tags %v, want four", changed.Tags)
	}
	ann.says(made.ID, "hello")
	again, err := ann.Space(t.Context(), client.SpaceCreate{Name: "plan", Description: "to follow"})
	if err != nil || again.MessageCount != 1 || len(again.Nodes) != 2 {
		t.Errorf("joining is no message, a message is one: %+v, %v", again, err)
	}
}

func testSpaceRefusals(t *testing.T, w World) {
	ann := newMember(t, w, "ann")
	s, _ := w.Node(t, "quiet", "")
	_, err := ann.Space(t.Context(), client.SpaceCreate{Name: "  ", Description: "d"})
	refused(t, err, "invalid_input", "Space name is required")
	_, err = s.Space(t.Context(), client.SpaceCreate{Name: "plan", Description: " "})
	refused(t, err, "invalid_input", "Space description is required")
	_, err = ann.Space(t.Context(), client.SpaceCreate{Name: strings.Repeat("n", graph.MaxSpaceName+1), Description: "d"})
	refused(t, err, "invalid_input", "name")
	if _, err = ann.Space(t.Context(), client.SpaceCreate{Name: strings.Repeat("n", graph.MaxSpaceName), Description: "d"}); err != nil {
		t.Error(err)
	}
}

func testSend(t *testing.T, w World) {
	ann, bob := newMember(t, w, "ann"), newMember(t, w, "bob")
	space := ann.join("plan")
	root := ann.says(space, "root")
	before := time.Now().Add(-time.Minute)
	m, err := bob.Send(t.Context(), space, client.SendMessage{
		Content: text("reply"), ContentType: "note", Meta: json.RawMessage(`{"priority":1}`),
		Refs: &client.Ref{Messages: []string{root, root}, Nodes: []string{ann.id}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if m.Sender != bob.id || m.ContentType != "note" || string(m.Meta) != `{"priority":1}` || m.SpaceID != "" {
		t.Errorf("message: %+v", m)
	}
	same(t, "refs.messages", m.Refs.Messages, []string{root})
	same(t, "refs.nodes", m.Refs.Nodes, []string{ann.id})
	at, err := time.Parse(time.RFC3339Nano, m.CreatedAt)
	if err != nil || at.Before(before) || !strings.HasSuffix(m.CreatedAt, "Z") {
		t.Errorf("created_at %q, %v", m.CreatedAt, err)
	}
	if b, err := json.Marshal(ann.read(client.ReadQuery{SpaceID: space, MessageID: root}).Messages[0].Refs); err != nil || string(b) != `{"messages":[],"nodes":[]}` {
		t.Errorf("refs of a root: %s, %v", b, err)
	}
	empty, err := ann.Send(t.Context(), space, client.SendMessage{Content: json.RawMessage(`{}`), Refs: nil})
	if err != nil || string(empty.Content) != "{}" {
		t.Errorf("an empty object: %+v, %v", empty, err)
	}
}

func testSendRefusals(t *testing.T, w World) {
	ann := newMember(t, w, "ann")
	space, other := ann.join("plan"), ann.join("elsewhere")
	foreign := ann.says(other, "not here")
	stranger := "12D3KooWGzxzKZYveHXtpG6AsrUJBcWxHBFS2HsEoGTxrMLvKXtf"
	long := json.RawMessage(`{"t":"` + strings.Repeat("x", graph.MaxPayload) + `"}`)
	for _, tc := range []struct {
		name, space  string
		in           client.SendMessage
		code, detail string
	}{
		{"no space", "x", client.SendMessage{Content: text("a")}, "not_found", "Space 'x' not found"},
		{"no content", space, client.SendMessage{}, "invalid_input", "content is required"},
		{"null", space, client.SendMessage{Content: json.RawMessage("null")}, "invalid_input", "content is required"},
		{"a string", space, client.SendMessage{Content: json.RawMessage(`"hi"`)}, "invalid_input", "content"},
		{"an array", space, client.SendMessage{Content: json.RawMessage(`[1]`)}, "invalid_input", "content"},
		{"a duplicate key", space, client.SendMessage{Content: json.RawMessage(`{"a":1,"a":2}`)}, "invalid_input", ""},
		{"meta an array", space, client.SendMessage{Content: text("a"), Meta: json.RawMessage(`[]`)}, "invalid_input", "meta"},
		{"over the limit", space, client.SendMessage{Content: long}, "too_large", ""},
		{"an unknown ref", space, client.SendMessage{Content: text("a"), Refs: refsOf([]string{"x"})}, "invalid_input", "refs.messages: 'x' not found in space '" + space + "'"},
		{"another space's", space, client.SendMessage{Content: text("a"), Refs: refsOf([]string{foreign})}, "invalid_input", "refs.messages: '" + foreign + "' not found in space '" + space + "'"},
		{"an unknown node", space, client.SendMessage{Content: text("a"), Refs: refsOf([]string{stranger})}, "invalid_input", "refs.nodes: '" + stranger + "' not found"},
		{"no node's name", space, client.SendMessage{Content: text("a"), Refs: &client.Ref{Nodes: []string{"ann"}}}, "invalid_input", "refs.nodes: 'ann' not found"},
		{"no schema", space, client.SendMessage{Content: text("a"), ContentSchema: json.RawMessage(`{"type":"foo"}`)}, "invalid_input", "content_schema is not valid JSON Schema"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ann.Send(t.Context(), tc.space, tc.in)
			refused(t, err, tc.code, tc.detail)
		})
	}
	if p := ann.read(client.ReadQuery{SpaceID: space, All: true}); len(p.Messages) != 0 {
		t.Errorf("something was written: %+v", p)
	}
}

func testVerbatim(t *testing.T, w World) {
	ann := newMember(t, w, "ann")
	space := ann.join("plan")
	for _, c := range []string{`{"n":12345678901234567890,"f":1.10,"e":1E400}`, `{ "b" : 1 , "a" : [ ] }`, `{"t":"\u00e9é\u2028</script>"}`} {
		m, err := ann.Send(t.Context(), space, client.SendMessage{Content: json.RawMessage(c)})
		if err != nil {
			t.Fatal(err)
		}
		got := ann.read(client.ReadQuery{SpaceID: space, MessageID: m.ID}).Messages[0]
		if string(got.Content) != c || string(m.Content) != c {
			t.Errorf("content %s came back as %s, %s", c, m.Content, got.Content)
		}
	}
}

func testIdempotency(t *testing.T, w World) {
	ann, bob := newMember(t, w, "ann"), newMember(t, w, "bob")
	space, other := ann.join("plan"), ann.join("elsewhere")
	send := func(m member, space, s, key string) (client.Message, error) {
		return m.Send(t.Context(), space, client.SendMessage{Content: text(s), IdempotencyKey: key})
	}
	first, err := send(ann, space, "a", "k1")
	if err != nil {
		t.Fatal(err)
	}
	again, err := send(ann, space, "a", "k1")
	if err != nil || again.ID != first.ID || string(again.Content) != string(first.Content) {
		t.Errorf("a retry gave %+v, %v", again, err)
	}
	_, err = send(ann, space, "b", "k1")
	refused(t, err, "conflict", "k1")
	_, err = send(ann, other, "a", "k1")
	refused(t, err, "conflict", "k1")
	if m, err := send(bob, space, "a", "k1"); err != nil || m.ID == first.ID {
		t.Errorf("keys are each Node's own: %+v, %v", m, err)
	}
	if m, err := send(ann, space, "a", "k2"); err != nil || m.ID == first.ID {
		t.Errorf("another key is another message: %+v, %v", m, err)
	}
	results := make(chan string, 8)
	for range cap(results) {
		go func() {
			m, err := send(ann, space, "c", "k3")
			results <- fmt.Sprint(m.ID, err)
		}()
	}
	want := <-results
	for range cap(results) - 1 {
		if got := <-results; got != want {
			t.Errorf("at once: %s and %s", got, want)
		}
	}
	if n := len(ann.read(client.ReadQuery{SpaceID: space, All: true}).Messages); n != 4 {
		t.Errorf("%d messages, want 4", n)
	}
}

func testSchema(t *testing.T, w World) {
	ann := newMember(t, w, "ann")
	space := ann.join("plan")
	send := func(schema string) (client.Message, error) {
		return ann.Send(t.Context(), space, client.SendMessage{Content: text("x"), ContentSchema: json.RawMessage(schema)})
	}
	for _, s := range []string{
		`{}`, `true`, `{"type":"object","required":["nothing there"]}`, `{"$ref":"#"}`,
		`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"string"}`,
	} {
		m, err := send(s)
		if err != nil || string(m.ContentSchema) != s {
			t.Errorf("schema %s: %+v, %v", s, m, err)
		}
	}
	for _, s := range []string{
		`{"type":"foo"}`, `{"minLength":-1}`, `[]`, `"string"`, `{"pattern":"("}`, `{"$ref":"#/nowhere"}`,
		`{"$ref":"https://example.com/schema.json"}`, `{"$ref":"file:///etc/passwd"}`, `{"$ref":"other.json"}`,
	} {
		_, err := send(s)
		refused(t, err, "invalid_input", "content_schema")
		if s != `{"$ref":"file:///etc/passwd"}` && strings.Contains(err.Error(), "file://") {
			t.Errorf("schema %s: the error names a path: %v", s, err)
		}
	}
	if m, err := send(`null`); err != nil || len(m.ContentSchema) != 0 {
		t.Errorf("a null schema is none: %+v, %v", m, err)
	}
}
