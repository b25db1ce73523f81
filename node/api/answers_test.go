package api_test

// This file holds the table of answers IOA clients check against.

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"plexus/node/api"
	"plexus/sdk/client"
)

const lost = "bafyreiaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

func TestAnswers(t *testing.T) {
	w := open(t)
	ada, bob := w.register("ada"), w.register("bob")
	space := ada.join("desk")
	other := ada.join("other")
	far := ada.say(other, "far", nil, nil).ID
	send := "/spaces/" + space + "/messages"
	long := strings.Repeat("x", api.MaxBody)

	for _, c := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		detail                   string
	}{
		{"no token", "GET", "/nodes", "", []string{}, 401, "authorization token required"},
		{"no token, send", "POST", send, `{"content":{}}`, []string{}, 401, "authorization token required"},
		{"other scheme", "GET", "/nodes", "", []string{"Authorization", "Digest x"}, 401, "authorization token required"},
		{"bad token", "GET", "/nodes", "", []string{"Authorization", "Bearer nonsense"}, 401, "invalid token"},
		{"bad token, send", "POST", send, `{"content":{}}`, []string{"Authorization", "Bearer nonsense"}, 401, "invalid token"},
		{"wrong key to register", "POST", "/auth/register", `{"name":"x","access_key":"wrong"}`, []string{}, 403, "invalid access key"},
		{"no key to register", "POST", "/auth/register", `{"name":"x"}`, []string{}, 403, "invalid access key"},
		{"wrong key", "POST", "/spaces", `{"name":"x","description":"y"}`, []string{"X-Access-Key", "wrong", "Authorization", "Bearer " + ada.Token}, 403, "invalid access key"},
		{"wrong key in the URL", "GET", "/spaces", "", []string{"Authorization", "Basic d3Jvbmc6"}, 403, "invalid access key"},
		{"token on an admin route", "GET", "/admin/status", "", nil, 403, "this needs the host's access key"},
		{"nothing on an admin route", "GET", "/admin/status", "", []string{}, 401, "access key required"},
		{"another's X-Node-ID", "GET", "/nodes", "", []string{"X-Node-ID", bob.ID, "Authorization", "Bearer " + ada.Token}, 403, "X-Node-ID names another Node than the token's"},
		{"another's inbox", "GET", "/nodes/" + bob.ID + "/inbox", "", nil, 403, ""},
		{"another's stream", "GET", "/nodes/" + bob.ID + "/sse", "", nil, 403, ""},
		{"what waits for another", "GET", "/nodes/" + bob.ID + "/waiting", "", nil, 403, ""},
		{"another's acknowledgement", "POST", "/nodes/" + bob.ID + "/inbox/ack", `{"messages":["x"]}`, nil, 403, ""},
		{"another's identities", "PUT", "/nodes/" + bob.ID + "/identities", `{"namespace":"n","subject":"s"}`, nil, 403, ""},

		{"register without name", "POST", "/auth/register", `{"access_key":"` + w.key + `"}`, []string{}, 422, "name is required"},
		{"register with null name", "POST", "/auth/register", `{"name":null,"access_key":"` + w.key + `"}`, []string{}, 422, "name is required"},
		{"node without name", "POST", "/nodes", `{"name":""}`, nil, 422, "name is required"},
		{"node of no kind", "POST", "/auth/register", `{"name":"x","kind":"robot","access_key":"` + w.key + `"}`, []string{}, 422, "kind must be 'human' or 'agent'"},
		{"node with meta no object", "POST", "/nodes", `{"name":"x","meta":[1]}`, nil, 422, "meta must be a JSON object"},
		{"space without name", "POST", "/spaces", `{"description":"y"}`, nil, 422, "Space name is required"},
		{"space with blank name", "POST", "/spaces", `{"name":"  ","description":"y"}`, nil, 422, "Space name is required"},

		{"unknown space", "GET", "/spaces/nowhere", "", nil, 404, "Space 'nowhere' not found"},
		{"unknown space, valid id", "GET", "/spaces/" + lost, "", nil, 404, "Space '" + lost + "' not found"},
		{"unknown space, read", "GET", "/spaces/nowhere/messages", "", nil, 404, "Space 'nowhere' not found"},
		{"unknown space, send", "POST", "/spaces/nowhere/messages", `{"content":{}}`, nil, 404, "Space 'nowhere' not found"},
		{"unknown space, stream", "GET", "/spaces/nowhere/sse", "", nil, 404, "Space 'nowhere' not found"},
		{"unknown node", "GET", "/nodes/nobody", "", nil, 404, "Node 'nobody' not found"},
		{"unknown identity", "GET", "/nodes/resolve?namespace=n&subject=s", "", nil, 404, ""},
		{"identity without subject", "GET", "/nodes/resolve?namespace=n", "", nil, 422, "namespace and subject are required"},
		{"unknown message", "GET", send + "?message_id=gone", "", nil, 404, "Message 'gone' not found in space '" + space + "'"},
		{"message of another space", "GET", send + "?message_id=" + far, "", nil, 404, "Message '" + far + "' not found in space '" + space + "'"},
		{"unknown message, stream", "GET", "/spaces/" + space + "/messages/gone/sse", "", nil, 404, "Message 'gone' not found in space '" + space + "'"},
		{"unknown route", "GET", "/nothing/here", "", nil, 404, "no route '/nothing/here'"},
		{"unknown invite", "DELETE", "/admin/invites/none", "", []string{"X-Access-Key", w.key}, 404, ""},

		{"empty send", "POST", send, `{}`, nil, 422, "content is required"},
		{"null content", "POST", send, `{"content":null}`, nil, 422, "content is required"},
		{"content a string", "POST", send, `{"content":"hi"}`, nil, 422, "content must be a JSON object"},
		{"content an array", "POST", send, `{"content":[1]}`, nil, 422, "content must be a JSON object"},
		{"unknown message ref", "POST", send, `{"content":{},"refs":{"messages":["gone"],"nodes":[]}}`, nil, 422, "refs.messages: 'gone' not found in space '" + space + "'"},
		{"message ref across spaces", "POST", send, `{"content":{},"refs":{"messages":["` + far + `"]}}`, nil, 422, "refs.messages: '" + far + "' not found in space '" + space + "'"},
		{"unknown node ref", "POST", send, `{"content":{},"refs":{"nodes":["nobody"]}}`, nil, 422, "refs.nodes: 'nobody' not found"},
		{"no JSON Schema", "POST", send, `{"content":{},"content_schema":{"type":"foo"}}`, nil, 422, "content_schema is not valid JSON Schema: …"},
		{"no JSON Schema either", "POST", send, `{"content":{},"content_schema":{"minLength":-1}}`, nil, 422, "content_schema is not valid JSON Schema: …"},
		{"schema from elsewhere", "POST", send, `{"content":{},"content_schema":{"$ref":"file:///etc/passwd"}}`, nil, 422, "content_schema is not valid JSON Schema: …"},

		{"unknown field", "POST", send, `{"content":{},"colour":1}`, nil, 422, "unknown field 'colour'"},
		{"field in another case", "POST", send, `{"Content":{}}`, nil, 422, "unknown field 'Content'"},
		{"two values", "POST", send, `{"content":{}} {"content":{}}`, nil, 422, "the body holds more than one JSON value"},
		{"malformed", "POST", send, `{"content":`, nil, 422, "the body is not valid JSON…"},
		{"empty body", "POST", send, ``, nil, 422, "the body is not valid JSON…"},
		{"no object", "POST", send, `[]`, nil, 422, "the body must be a JSON object"},
		{"duplicate field", "POST", send, `{"content":{},"content":{"a":1}}`, nil, 422, "duplicate field 'content'"},
		{"duplicate key within", "POST", send, `{"content":{"a":1,"a":2}}`, nil, 422, `the body has the key "a" twice…`},
		{"lone surrogate", "POST", send, `{"content":{"a":"\ud800"}}`, nil, 422, ""},
		{"invalid UTF-8", "POST", send, "{\"content\":{\"a\":\"\xff\"}}", nil, 422, "the body is not valid UTF-8"},
		{"too deep", "POST", send, `{"content":` + strings.Repeat(`{"a":`, 70) + `1` + strings.Repeat(`}`, 70) + `}`, nil, 422, ""},
		{"mistyped", "POST", send, `{"content":{},"content_type":7}`, nil, 422, "content_type must be a string"},
		{"mistyped ref", "POST", send, `{"content":{},"refs":{"messages":[1]}}`, nil, 422, "each of refs.messages must be a string"},
		{"mistyped name", "POST", "/auth/register", `{"name":5}`, []string{}, 422, "name must be a string"},
		{"mistyped identity", "POST", "/nodes", `{"name":"x","identities":[{"namespace":1}]}`, nil, 422, "identities.namespace must be a string"},
		{"mistyped identities", "POST", "/nodes", `{"name":"x","identities":{}}`, nil, 422, "identities must be an array"},
		{"mistyped refs", "POST", send, `{"content":{},"refs":{"messages":"x"}}`, nil, 422, "refs.messages must be an array"},
		{"content over its limit", "POST", send, `{"content":{"a":"` + long[:200<<10] + `"}}`, nil, 413, "payload: 204…"},
		{"body over the limit", "POST", send, `{"content":{"a":"` + long + `"}}`, nil, 413, ""},
		{"300 KiB", "POST", send, `{"content":{"a":"` + strings.Repeat("x", 300<<10) + `"}}`, nil, 413, ""},
		{"long idempotency key", "POST", send, `{"content":{}}`, []string{"Idempotency-Key", long[:257], "Authorization", "Bearer " + ada.Token}, 422, ""},

		{"all=maybe", "GET", send + "?all=maybe", "", nil, 422, "all must be a boolean"},
		{"limit 0", "GET", send + "?limit=0", "", nil, 422, "limit must be greater than 0"},
		{"limit -1", "GET", send + "?limit=-1", "", nil, 422, "limit must be greater than 0"},
		{"limit x", "GET", send + "?limit=x", "", nil, 422, "limit must be greater than 0"},
		{"limit 0, across", "GET", "/messages?limit=0", "", nil, 422, "limit must be greater than 0"},
		{"unknown after", "GET", send + "?all=true&after=gone", "", nil, 422, "after: 'gone' not found in space '" + space + "'"},
		{"after of another space", "GET", send + "?all=true&after=" + far, "", nil, 422, "after: '" + far + "' not found in space '" + space + "'"},
		{"unknown after, stream", "GET", "/spaces/" + space + "/sse?after=gone", "", nil, 422, "after: 'gone' not found in space '" + space + "'"},
		{"unknown Last-Event-ID", "GET", "/spaces/" + space + "/sse", "", []string{"Last-Event-ID", "gone", "Authorization", "Bearer " + ada.Token}, 422, "after: 'gone' not found in space '" + space + "'"},
		{"bad direction", "GET", send + "?message_id=x&direction=sideways", "", nil, 422, "direction must be 'upstream' or 'downstream'"},
		{"bad order", "GET", send + "?all=true&order=random", "", nil, 422, "order must be 'canonical'"},
		{"bad query", "GET", send + "?all=%zz", "", nil, 422, "the query is malformed: …"},
		{"unknown head", "GET", "/spaces/" + space + "/sse?head=gone", "", nil, 422, "head message not found: gone"},
		{"fork_depth 0", "GET", "/spaces/" + space + "/sse?fork_depth=0", "", nil, 422, "fork_depth must be greater than 0"},

		{"delete messages", "DELETE", send, "", nil, 405, "method not allowed"},
		{"put a space", "PUT", "/spaces", "{}", nil, 405, "method not allowed"},
		{"get register", "GET", "/auth/register", "", []string{}, 405, "method not allowed"},
		{"head of a stream", "HEAD", "/spaces/" + space + "/sse", "", nil, 405, ""},

		{"ack nothing", "POST", "/nodes/me/inbox/ack", `{"messages":[]}`, nil, 422, "messages is required"},
		{"ack what isn't there", "POST", "/nodes/me/inbox/ack", `{"messages":["gone"]}`, nil, 404, ""},
		{"identity without namespace", "PUT", "/nodes/me/identities", `{"subject":"s"}`, nil, 422, "namespace and subject are required"},
		{"join without ticket", "POST", "/admin/join", `{}`, []string{"X-Access-Key", w.key}, 422, "ticket is required"},
		{"revoke nobody", "POST", "/admin/revoke", `{}`, []string{"X-Access-Key", w.key}, 422, "subject is required"},
		{"import nothing", "POST", "/admin/import", ``, []string{"X-Access-Key", w.key}, 422, "the body is empty"},
		{"import nonsense", "POST", "/admin/import", `nonsense`, []string{"X-Access-Key", w.key}, 422, ""},
		{"export an unknown space", "GET", "/admin/spaces/nowhere/export", "", []string{"X-Access-Key", w.key}, 404, "Space 'nowhere' not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.tb = t
			headers := c.headers
			if headers == nil {
				headers = []string{"Authorization", "Bearer " + ada.Token}
			}
			r, err := w.try(c.method, c.path, c.body, headers...)
			if err != nil {
				t.Fatal(err)
			}
			if c.method == "HEAD" {
				if r.status != c.status {
					t.Fatalf("status %d, want %d", r.status, c.status)
				}
				return
			}
			wantProblem(t, r, c.status, c.detail)
		})
	}
	w.tb = t
	if got, _ := ada.read(send + "?all=true"); len(got) != 0 {
		t.Errorf("refused requests wrote %d messages", len(got))
	}
	if got := decode[[]client.Node](t, ada.do("GET", "/nodes", ""), 200); len(got) != 2 {
		t.Errorf("refused requests made Nodes: %d in all, want 2", len(got))
	}
}

func TestAccepted(t *testing.T) {
	w := open(t)
	ada := w.register("ada")
	space := ada.join("desk")
	for _, c := range []struct{ name, body string }{
		{"empty content", `{"content":{}}`},
		{"refs null", `{"content":{},"refs":null}`},
		{"refs empty", `{"content":{},"refs":{}}`},
		{"refs with null", `{"content":{},"refs":{"messages":null,"nodes":null}}`},
		{"meta null", `{"content":{},"meta":null,"content_schema":null}`},
		{"content that breaks its own schema", `{"content":{"n":"x"},"content_schema":{"type":"object","properties":{"n":{"type":"integer"}}}}`},
		{"schema true", `{"content":{},"content_schema":true}`},
		{"space around", "\n {\"content\": {\"a\" : 1} }\n "},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := ada.do("POST", "/spaces/"+space+"/messages", c.body)
			m := decode[client.Message](t, r, http.StatusCreated)
			if m.ID == "" || m.Sender != ada.ID || m.CreatedAt == "" {
				t.Errorf("message %+v", m)
			}
			if !strings.Contains(r.body, `"refs":{"messages":[],"nodes":[]}`) {
				t.Errorf("refs aren't two arrays: %s", r.body)
			}
			if strings.Contains(r.body, `"meta"`) || strings.Contains(r.body, `"content_type"`) {
				t.Errorf("empty fields aren't left out: %s", r.body)
			}
		})
	}
}

func TestHealthNeedsNobody(t *testing.T) {
	w := open(t)
	for _, path := range []string{"/health", "/ready"} {
		if r := w.do("GET", path, ""); r.status != 200 || r.body != `{"status":"ok"}` {
			t.Errorf("GET %s: %d %s", path, r.status, r.body)
		}
		if r := w.do("HEAD", path, ""); r.status != 200 || r.body != "" {
			t.Errorf("HEAD %s: %d %s", path, r.status, r.body)
		}
		if r := w.do("GET", path, "", "Authorization", "Bearer stale"); r.status != 200 {
			t.Errorf("GET %s with a stale token: %d", path, r.status)
		}
	}
}

func TestMethodNotAllowedNamesMethods(t *testing.T) {
	w := open(t)
	r := w.do("DELETE", "/spaces/x/messages", "")
	if got := r.header.Get("Allow"); got != "GET, POST" {
		t.Errorf("Allow: %q", got)
	}
}

func TestUnknownPlugin(t *testing.T) {
	w := open(t)
	ada := w.register("ada")
	space := ada.join("desk")
	for _, path := range []string{"/views/v", "/state"} {
		r := ada.do("GET", "/spaces/"+space+"/plugins/none"+path, "")
		for end := time.Now().Add(patience); r.status == http.StatusServiceUnavailable && time.Now().Before(end); {
			r = ada.do("GET", "/spaces/"+space+"/plugins/none"+path, "") // a Space that was just made is being looked through
		}
		wantProblem(t, r, 404, "")
	}
}
