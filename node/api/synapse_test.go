package api_test

// This file tests Synapse's envelope at the doors: every read and stream gives it, a send takes it, and what is wrong is named.

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"plexus/node/api"
	"plexus/sdk/client"
)

func TestEveryReadGivesEnvelopes(t *testing.T) {
	w := open(t)
	ada, bob := w.register("ada"), w.register("bob")
	space := ada.join("desk")
	root := ada.say(space, "root", nil, []string{bob.ID})
	stream := bob.listen("/spaces/" + space + "/sse?from=start&format=synapse")
	branch := bob.listen("/spaces/" + space + "/messages/" + root.ID + "/sse?from=start&format=synapse")
	inbox := bob.listen("/nodes/me/sse?from=start&format=synapse")
	listen := bob.listen("/spaces/" + space + "/messages?listen=true&all=true&from=start&format=synapse")
	for _, path := range []string{
		"/spaces/" + space + "/messages?all=true", "/spaces/" + space + "/messages?message_id=" + root.ID, "/messages?sender=" + ada.ID, "/nodes/me/inbox?",
	} {
		plain := decode[[]client.Message](t, bob.do("GET", path, ""), 200)
		r := bob.do("GET", path+"&format=synapse", "")
		list := decode[[]json.RawMessage](t, r, 200)
		if len(list) != 1 || len(plain) != 1 {
			t.Fatalf("%s: %s", path, r.body)
		}
		sameMessage(t, list[0], plain[0])
	}
	for _, s := range []*sse{stream, branch, inbox, listen} {
		ev := s.next()
		want := root
		if s == inbox {
			want.SpaceID = space
		}
		sameMessage(t, []byte(ev.data), want)
		if ev.id != root.ID || ev.kind != "message" {
			t.Errorf("%+v", ev)
		}
	}
	if p := bob.do("GET", "/messages?format=xml", ""); p.status != 422 || p.problem().Detail != "format must be 'synapse'" {
		t.Errorf("an unknown format: %d %s", p.status, p.body)
	}
}

// sameMessage reads an envelope and compares.
func sameMessage(t *testing.T, raw []byte, want client.Message) {
	t.Helper()
	e, err := client.DecodeSynapse(raw)
	if err == nil {
		var m client.Message
		if m, err = e.Message(); err == nil {
			got, _ := json.Marshal(m)
			if b, _ := json.Marshal(want); string(got) != string(b) {
				t.Errorf("%s is\n%s, want\n%s", raw, got, b)
			}
			return
		}
	}
	t.Errorf("%s: %v", raw, err)
}

func TestEnvelopeIsVerbatim(t *testing.T) {
	w := open(t)
	ada := w.register("ada")
	path := "/spaces/" + ada.join("desk") + "/messages?format=synapse"
	payload := `{ "n": 12345678901234567890, "f":1.10, "s":"<&>", "z":1, "a":2 }`
	r := ada.do("POST", path, `{"type":"p2p:task_request","payload":`+payload+`,"priority":3}`)
	if r.status != 201 || !strings.Contains(r.body, `"payload":`+payload+`,"priority":3,`) {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if r := ada.do("GET", path+"&all=true", ""); !strings.Contains(r.body, `"payload":`+payload+`,`) {
		t.Errorf("%s", r.body)
	}
	m := decode[[]client.Message](t, ada.do("GET", strings.Replace(path, "format=synapse", "all=true", 1), ""), 200)[0]
	if m.ContentType != "p2p:task_request" || string(m.Meta) != `{"priority":3}` {
		t.Errorf("%+v", m)
	}
}

func TestSendEnvelope(t *testing.T) {
	w := open(t)
	ada, bob := w.register("ada"), w.register("bob")
	space := ada.join("desk")
	path := "/spaces/" + space + "/messages?format=synapse"
	task := decode[client.UnifiedSynapseMessage](t, ada.do("POST", path,
		`{"id":"u1","version":"1.0.0","type":"p2p:task_request","sender":{"agent_id":"`+ada.ID+`"},"receiver":{"agent_id":"`+bob.ID+`"},"correlation_id":"u1",`+
			`"payload":{"task_type":"x"},"timestamp":"2026-11-30T15:04:05Z"}`), 201)
	if task.ID == "u1" || task.CorrelationID != task.ID || task.Receiver.AgentID != bob.ID || task.Timestamp == "2026-11-30T15:04:05Z" {
		t.Errorf("%+v", task)
	}
	answer := `{"id":"u2","type":"p2p:task_confirm","correlation_id":"` + task.ID + `","reply_to":"` + task.ID + `","payload":{}}`
	first := decode[client.UnifiedSynapseMessage](t, bob.do("POST", path, answer), 201)
	again := decode[client.UnifiedSynapseMessage](t, bob.do("POST", path, answer), 201)
	if first.ID != again.ID || first.ReplyTo != task.ID || first.CorrelationID != task.ID {
		t.Errorf("sent twice with one id: %+v, %+v", first, again)
	}
	for _, row := range []struct {
		body, detail string
		status       int
	}{
		{`{}`, "type must be", 422},
		{`{"type":"p2p:ack"}`, "payload must be", 422},
		{`{"type":"p2p:ack","payload":{},"content":{}}`, "unknown field 'content'", 422},
		{`{"type":"p2p:ack","payload":{},"payload":{}}`, "duplicate field 'payload'", 422},
		{`{"type":"p2p:ack","payload":{"a":1,"a":2}}`, "the body", 422},
		{`{"type":"p2p:ack","payload":{},"receiver":{"agent":"x"}}`, "unknown field 'receiver.agent'", 422},
		{`{"type":"p2p:ack","payload":{},"receiver":{"agent_id":"x"}}`, "refs.nodes: 'x' not found", 422},
		{`{"type":"p2p:ack","payload":{},"reply_to":"bafyrei` + strings.Repeat("a", 52) + `"}`, "refs.messages: 'bafyrei", 422},
		{`{"type":"p2p:ack","payload":{},"sender":{"agent_id":"` + ada.ID + `"}}`, "sender.agent_id names another Node", 403},
		{`{"type":"p2p:ack","payload":{},"version":"2.0.0"}`, "version", 422},
		{`[]`, "the body must be a JSON object", 422},
	} {
		r := bob.do("POST", path, row.body)
		wantProblem(t, r, row.status, "")
		if !strings.Contains(r.problem().Detail, row.detail) {
			t.Errorf("%s: %s, want %s", row.body, r.body, row.detail)
		}
	}
}

func TestEnvelopesByTheClient(t *testing.T) {
	w := open(t)
	ada := w.register("ada")
	space := ada.join("desk")
	c := &client.Client{URL: w.url, Token: ada.Token, HTTP: w.http}
	sent, err := c.SendSynapse(t.Context(), space, client.UnifiedSynapseMessage{Type: "ioa:note", Payload: json.RawMessage(`{"text":"hi"}`)})
	if err != nil {
		t.Fatal(err)
	}
	page, err := c.ReadSynapse(t.Context(), client.ReadQuery{SpaceID: space, All: true, Limit: 1})
	if err != nil || len(page.Messages) != 1 || page.Messages[0].ID != sent.ID || page.Messages[0].Type != "ioa:note" || string(page.Messages[0].Payload) != `{"text":"hi"}` {
		t.Errorf("%+v %v", page, err)
	}
	if _, err := c.SendSynapse(t.Context(), space, client.UnifiedSynapseMessage{Type: "Note", Payload: json.RawMessage(`{}`)}); !client.IsInvalid(err) {
		t.Errorf("a wrong type: %v", err)
	}
}

// FuzzSynapseBodies: what an envelope's door is given is sent or refused, and never our fault.
func FuzzSynapseBodies(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[]`, `{"type":"a:b","payload":{}}`, `{"type":"a:b","payload":{},"ioa":{"meta":{"synapse":{"reply_to":""}},"refs":{"messages":["x"],"nodes":[]}}}`,
		`{"type":"ioa:message","payload":{"type":"x"},"priority":9}`, `{"type":"a:b","payload":{},"sender":null,"group_id":"g","correlation_id":"c","signature":"s"}`,
	} {
		f.Add([]byte(seed))
	}
	w := open(f)
	ada := w.register("ada")
	space := ada.join("desk")
	h := api.New(api.Config{Accounts: w.node, Directory: w.node, Inbox: w.node, Views: w.node, Admin: w.node})
	f.Fuzz(func(t *testing.T, body []byte) {
		req := httptest.NewRequest(http.MethodPost, "http://localhost/spaces/"+space+"/messages?format=synapse", strings.NewReader(string(body)))
		req.Header.Set("Authorization", "Bearer "+ada.Token)
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		switch {
		case rec.Code == 201:
			if e, err := client.DecodeSynapse(rec.Body.Bytes()); err != nil || e.ID == "" {
				t.Errorf("%q: %s (%v)", body, rec.Body, err)
			}
		case rec.Code >= 500:
			t.Errorf("%q: %d %s", body, rec.Code, rec.Body)
		}
	})
}
