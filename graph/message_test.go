package graph

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// ReadPayload reads a payload as if a message had come with it.
func readPayload(payload []byte) (Message, bool) {
	return (&Entry{body: Body{Kind: KindMessage, Payload: payload}}).Message()
}

func TestEncodePayload(t *testing.T) {
	for name, c := range map[string]struct {
		draft Draft
		want  string
	}{
		"content alone": {Draft{Content: json.RawMessage(`{}`)}, `{"content":{}}`},
		"all, in order": {
			Draft{Kind: KindMessage, ContentType: "a:b", Content: json.RawMessage(`{"x":1}`), Meta: json.RawMessage(`{"m":2}`), Schema: json.RawMessage(`{"type":"object"}`)},
			`{"content_type":"a:b","content":{"x":1},"meta":{"m":2},"content_schema":{"type":"object"}}`,
		},
		"nulls left out":   {Draft{Content: json.RawMessage(`{}`), Meta: json.RawMessage(`null`), Schema: json.RawMessage(`null`)}, `{"content":{}}`},
		"empty left out":   {Draft{Content: json.RawMessage(`{}`), Meta: json.RawMessage{}}, `{"content":{}}`},
		"boolean schema":   {Draft{Content: json.RawMessage(`{}`), Schema: json.RawMessage(`false`)}, `{"content":{},"content_schema":false}`},
		"digits and space": {Draft{Content: json.RawMessage(`{"n": 12345678901234567890,  "m":1.10,"e":1E400}`)}, `{"content":{"n": 12345678901234567890,  "m":1.10,"e":1E400}}`},
		"space around":     {Draft{Content: json.RawMessage("\n { \"a\": 1 }\t"), Meta: json.RawMessage(" null ")}, `{"content":{ "a": 1 }}`},
		"type escaped":     {Draft{ContentType: "a\"\\\n<é>", Content: json.RawMessage(`{}`)}, `{"content_type":"a\"\\\u000a<é>","content":{}}`},
		"another kind":     {Draft{Kind: KindProfile, Payload: json.RawMessage(` {"name":"n"} `)}, ` {"name":"n"} `},
	} {
		got, err := c.draft.EncodePayload()
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
}

func TestEncodePayloadRefuses(t *testing.T) {
	object := json.RawMessage(`{}`)
	for name, c := range map[string]struct {
		draft Draft
		field string
	}{
		"no content":        {Draft{}, "content"},
		"content null":      {Draft{Content: json.RawMessage(`null`)}, "content"},
		"content a string":  {Draft{Content: json.RawMessage(`"hi"`)}, "content"},
		"content an array":  {Draft{Content: json.RawMessage(`[]`)}, "content"},
		"content no JSON":   {Draft{Content: json.RawMessage(`{`)}, "content"},
		"content two":       {Draft{Content: json.RawMessage(`{},"meta":{}`)}, "content"},
		"content twice":     {Draft{Content: json.RawMessage(`{"a":{"b":1,"b":2}}`)}, "content"},
		"content surrogate": {Draft{Content: json.RawMessage(`{"a":"\udfff"}`)}, "content"},
		"content not utf-8": {Draft{Content: json.RawMessage("{\"a\":\"\xff\"}")}, "content"},
		"content too deep":  {Draft{Content: json.RawMessage(strings.Repeat(`{"a":`, MaxDepth-1) + "{}" + strings.Repeat("}", MaxDepth-1))}, "content"},
		"meta an array":     {Draft{Content: object, Meta: json.RawMessage(`[]`)}, "meta"},
		"meta closes":       {Draft{Content: object, Meta: json.RawMessage(`{}}`)}, "meta"},
		"schema a string":   {Draft{Content: object, Schema: json.RawMessage(`"x"`)}, "content_schema"},
		"type too long":     {Draft{ContentType: strings.Repeat("t", MaxType+1), Content: object}, "content_type"},
		"type not utf-8":    {Draft{ContentType: "\xff", Content: object}, "content_type"},
		"payload beside":    {Draft{Content: object, Payload: object}, "payload"},
		"content beside":    {Draft{Kind: KindProfile, Content: object, Payload: object}, "content"},
		"kind without":      {Draft{Kind: KindProfile}, "payload"},
		"kind with array":   {Draft{Kind: KindProfile, Payload: json.RawMessage(`[]`)}, "payload"},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := c.draft.EncodePayload()
			wantRule(t, err, RulePayload)
			var inv *InvalidError
			if errors.As(err, &inv); inv.Field != c.field || b != nil || !errors.Is(err, ErrInvalid) {
				t.Errorf("field %q, want %q", inv.Field, c.field)
			}
		})
	}
}

func TestPayloadEdges(t *testing.T) {
	deep := strings.Repeat(`{"a":`, MaxDepth-2) + "{}" + strings.Repeat("}", MaxDepth-2)
	if _, err := (Draft{Content: json.RawMessage(deep), ContentType: strings.Repeat("t", MaxType)}).EncodePayload(); err != nil {
		t.Error(err)
	}
	const frame = `{"content":{"t":""}}`
	fill := func(n int) json.RawMessage { return json.RawMessage(`{"t":"` + strings.Repeat("x", n) + `"}`) }
	b, err := Draft{Content: fill(MaxPayload - len(frame))}.EncodePayload()
	if err != nil || len(b) != MaxPayload {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	if _, ok := readPayload(b); !ok {
		t.Error("the largest payload reads as malformed")
	}
	for _, n := range []int{MaxPayload - len(frame) + 1, MaxPayload + 1} {
		_, err = Draft{Content: fill(n)}.EncodePayload()
		wantRule(t, err, RulePayloadSize)
		if !errors.Is(err, ErrTooLarge) {
			t.Errorf("%v isn't ErrTooLarge", err)
		}
	}
	over := []byte(`{"content":` + string(fill(MaxPayload)) + `}`)
	wantRule(t, CheckPayload(over), RulePayloadSize)
	if _, ok := readPayload(over); ok {
		t.Error("a payload over the limit reads as a message")
	}
	wantRule(t, CheckPayload([]byte(`[]`)), RulePayload)
	wantRule(t, CheckPayload(nil), RulePayload)
}

func TestMessage(t *testing.T) {
	b := testBody(1)
	b.Payload = []byte("\n{ \"meta\" : {\"p\": 1} , \"content\":\t{\"a\" : 1.10} , \"future\": [1], \"content_type\":\"p2p:\\u0074ask\",\"content_schema\": true }\n")
	b.Refs = Refs{testIDs(2), testNodes(1)}
	e := mustSeal(t, b, testKey(1))
	m, ok := e.Message()
	if !ok || m.ID != e.ID() || m.Space != b.Space || m.Sender != b.Author || m.CreatedAt != b.Time {
		t.Fatalf("%+v, %v", m, ok)
	}
	if string(m.Content) != `{"a" : 1.10}` || string(m.Meta) != `{"p": 1}` || m.ContentType != "p2p:task" || string(m.ContentSchema) != "true" {
		t.Fatalf("%+v", m)
	}
	if len(m.Refs.Messages) != 2 || len(m.Refs.Nodes) != 1 {
		t.Fatalf("%+v", m.Refs)
	}
}

// ReadPayloads are payloads of messages, and whether each reads as one.
func readPayloads() map[string]bool {
	return map[string]bool{
		`{"content":{}}`: true, `{"content":{},"meta":null,"content_type":null,"content_schema":null}`: true,
		`{"content":{},"content_type":""}`: true, `{"content":{},"x":{"y":[null]}}`: true,
		`{"content":{},"content_type":"` + strings.Repeat("t", MaxType) + `"}`: true,

		``: false, `{}`: false, `[]`: false, `null`: false, `{"content":null}`: false, `{"content":"x"}`: false, `{"content":[]}`: false, `{"content":1}`: false,
		`{"content":{},"content":{}}`: false, `{"content":{},"meta":[]}`: false, `{"content":{},"meta":"x"}`: false,
		`{"content":{},"content_type":1}`: false, `{"content":{},"content_type":{}}`: false, `{"content":{},"content_schema":"x"}`: false,
		`{"content":{},"content_schema":[]}`: false, `{"content":{},"content_schema":3}`: false, `{"content":{}} {}`: false,
		`{"content":{},"content_type":"` + strings.Repeat("t", MaxType+1) + `"}`: false, `{"Content":{}}`: false, "{\"content\":{\"a\":\"\xff\"}}": false,
	}
}

func TestMessageMalformed(t *testing.T) {
	for payload, want := range readPayloads() {
		m, ok := readPayload([]byte(payload))
		if ok != want {
			t.Errorf("%.60s: %v, want %v", payload, ok, want)
		}
		if !ok && m.Content != nil {
			t.Errorf("%.60s: content beside false", payload)
		}
	}
	if _, ok := (&Entry{body: Body{Kind: KindProfile, Payload: []byte(`{"content":{}}`)}}).Message(); ok {
		t.Error("a profile reads as a message")
	}
}

func TestMessageType(t *testing.T) {
	for payload, want := range map[string]string{
		`{"content":{}}`: "", `{"content":{"type":"a"}}`: "a", `{"content":{"type":"a"},"content_type":"b"}`: "b",
		`{"content":{"type":1}}`: "", `{"content":{"x":{"type":"a"}}}`: "", `{"content":{"type":"a"},"content_type":""}`: "a",
		`{"content":{"\u0074ype":"\u0061"}}`: "a", `{"content":{"type":null}}`: "", `{"content":{"a":[{}],"type":"z","b":1}}`: "z",
	} {
		m, ok := readPayload([]byte(payload))
		if !ok || m.Type() != want {
			t.Errorf("%s: %q, want %q", payload, m.Type(), want)
		}
	}
	if (Message{}).Type() != "" {
		t.Error("no content, but a type")
	}
}
