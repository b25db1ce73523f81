package api_test

// This file tests that the OpenAPI document is well formed and says what is served: no more, no less.

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"plexus/node/api"
)

// every route of ioa's interface and of the node's own.
var served = []string{
	"DELETE /admin/callers/{id}",
	"DELETE /admin/invites/{id}",
	"DELETE /nodes/{id}/identities",
	"DELETE /spaces/{id}/plugins/{name}",
	"GET /admin/callers",
	"GET /admin/invites",
	"GET /admin/spaces/{id}/export",
	"GET /admin/status",
	"GET /health",
	"GET /messages",
	"GET /metrics",
	"GET /nodes",
	"GET /nodes/resolve",
	"GET /nodes/{id}",
	"GET /nodes/{id}/commands",
	"GET /nodes/{id}/commands/sse",
	"GET /nodes/{id}/inbox",
	"GET /nodes/{id}/sse",
	"GET /nodes/{id}/waiting",
	"GET /openapi.json",
	"GET /p2a/capabilities",
	"GET /p2a/tasks",
	"GET /p2a/tasks/{id}",
	"GET /ready",
	"GET /spaces",
	"GET /spaces/{id}",
	"GET /spaces/{id}/messages",
	"GET /spaces/{id}/messages/{mid}/sse",
	"GET /spaces/{id}/plugins",
	"GET /spaces/{id}/plugins/{name}/skill",
	"GET /spaces/{id}/plugins/{name}/state",
	"GET /spaces/{id}/plugins/{name}/views/{view}",
	"GET /spaces/{id}/plugins/{name}/views/{view}/sse",
	"GET /spaces/{id}/sse",
	"GET /trust",
	"POST /admin/callers",
	"POST /admin/callers/{id}/rotate",
	"POST /admin/import",
	"POST /admin/invites",
	"POST /admin/join",
	"POST /admin/offline",
	"POST /admin/revoke",
	"POST /admin/verify",
	"POST /auth/register",
	"POST /nodes",
	"POST /nodes/{id}/inbox/ack",
	"POST /p2a/tasks",
	"POST /p2a/tasks/{id}/cancel",
	"POST /p2a/tasks/{id}/info",
	"POST /spaces",
	"POST /spaces/{id}/messages",
	"POST /spaces/{id}/plugins",
	"POST /spaces/{id}/plugins/diff",
	"POST /spaces/{id}/plugins/{name}/bisect",
	"POST /spaces/{id}/plugins/{name}/commands/{command}",
	"PUT /nodes/{id}/identities",
	"PUT /spaces/{id}/plugins/{name}/grants",
	"PUT /spaces/{id}/plugins/{name}/react",
	"PUT /trust/actions",
	"PUT /trust/nodes/{id}",
}

type operation struct {
	OperationID string           `json:"operationId"`
	Summary     string           `json:"summary"`
	Security    []map[string]any `json:"security"`
	Parameters  []struct {
		Name, In string
		Required bool
		Schema   map[string]any
	} `json:"parameters"`
	RequestBody *struct {
		Content map[string]struct{ Schema map[string]any } `json:"content"`
	} `json:"requestBody"`
	Responses map[string]struct {
		Description string
		Content     map[string]struct{ Schema map[string]any }
	} `json:"responses"`
}

type spec struct {
	OpenAPI    string                           `json:"openapi"`
	Info       struct{ Title, Version string }  `json:"info"`
	Paths      map[string]map[string]*operation `json:"paths"`
	Components struct {
		Schemas         map[string]map[string]any `json:"schemas"`
		SecuritySchemes map[string]any            `json:"securitySchemes"`
	} `json:"components"`
}

func withMetrics(c *api.Config) { c.Metrics = http.NotFoundHandler() }

func fetchSpec(t *testing.T, w *world) (spec, []byte) {
	t.Helper()
	r := w.do("GET", "/openapi.json", "")
	var s spec
	if err := json.Unmarshal([]byte(r.body), &s); err != nil || r.status != 200 {
		t.Fatalf("document: %d, %v", r.status, err)
	}
	return s, []byte(r.body)
}

func TestDocumentCoversTheRoutes(t *testing.T) {
	w := open(t, withMetrics)
	s, _ := fetchSpec(t, w)
	var got []string
	for path, ops := range s.Paths {
		for method := range ops {
			got = append(got, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, served) {
		t.Errorf("documented:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(served, "\n"))
	}
	for path, ops := range s.Paths {
		real := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, "x")
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			_, documented := ops[strings.ToLower(method)]
			r := w.do(method, real, "")
			if refused := r.status == 405; refused == documented || strings.Contains(r.body, "no route") {
				t.Errorf("%s %s: documented %v, answer %d %s", method, path, documented, r.status, r.body)
			}
		}
	}
}

func TestDocumentIsWellFormed(t *testing.T) {
	w := open(t, withMetrics)
	s, raw := fetchSpec(t, w)
	if !strings.HasPrefix(s.OpenAPI, "3.1.") || s.Info.Title == "" || s.Info.Version != "1.2.3" {
		t.Errorf("head: %s %+v", s.OpenAPI, s.Info)
	}
	names := map[string]bool{}
	for path, ops := range s.Paths {
		for method, op := range ops {
			checkOperation(t, s, strings.ToUpper(method)+" "+path, path, op)
			if names[op.OperationID] {
				t.Errorf("operationId %q twice", op.OperationID)
			}
			names[op.OperationID] = true
		}
	}
	for _, ref := range regexp.MustCompile(`"\$ref":"([^"]+)"`).FindAllSubmatch(raw, -1) {
		name, ok := strings.CutPrefix(string(ref[1]), "#/components/schemas/")
		if _, there := s.Components.Schemas[name]; !ok || !there {
			t.Errorf("reference to %s leads nowhere", ref[1])
		}
	}
	compileSchemas(t, s, raw)
}

func checkOperation(t *testing.T, s spec, name, path string, op *operation) {
	t.Helper()
	if op.OperationID == "" || op.Summary == "" {
		t.Errorf("%s has no name or summary", name)
	}
	for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1) {
		if !slices.ContainsFunc(op.Parameters, func(p struct {
			Name, In string
			Required bool
			Schema   map[string]any
		},
		) bool {
			return p.Name == m[1] && p.In == "path" && p.Required
		}) {
			t.Errorf("%s doesn't declare {%s}", name, m[1])
		}
	}
	for _, sec := range op.Security {
		for scheme := range sec {
			if s.Components.SecuritySchemes[scheme] == nil {
				t.Errorf("%s: no security scheme %q", name, scheme)
			}
		}
	}
	for _, resp := range op.Responses {
		if resp.Description == "" {
			t.Errorf("%s: a response without description", name)
		}
	}
	if op.Responses["default"].Content["application/problem+json"].Schema == nil || len(op.Responses) != 2 {
		t.Errorf("%s: responses %v", name, op.Responses)
	}
}

// compileSchemas makes each component a JSON Schema of draft 2020-12, which is OpenAPI 3.1's.
func compileSchemas(t *testing.T, s spec, raw []byte) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("plexus:openapi", doc); err != nil {
		t.Fatal(err)
	}
	for name := range s.Components.Schemas {
		if _, err := c.Compile("plexus:openapi#/components/schemas/" + name); err != nil {
			t.Errorf("schema %s: %v", name, err)
		}
	}
}

// Answers must be what the document says of them.
func TestAnswersFitTheDocument(t *testing.T) {
	w := open(t)
	s, raw := fetchSpec(t, w)
	doc, _ := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	c := jsonschema.NewCompiler()
	if err := c.AddResource("plexus:openapi", doc); err != nil {
		t.Fatal(err)
	}
	ada := w.register("ada")
	space := ada.join("desk")
	m := ada.say(space, "x", nil, []string{ada.ID})
	for _, q := range []struct{ method, route, path, body string }{
		{"GET", "/health", "/health", ""},
		{"GET", "/nodes", "/nodes", ""},
		{"GET", "/nodes/{id}", "/nodes/me", ""},
		{"POST", "/nodes", "/nodes", `{"name":"x"}`},
		{"GET", "/spaces", "/spaces", ""},
		{"POST", "/spaces", "/spaces", `{"name":"desk","description":"d"}`},
		{"GET", "/spaces/{id}", "/spaces/" + space, ""},
		{"POST", "/spaces/{id}/messages", "/spaces/" + space + "/messages", `{"content":{},"content_type":"t","meta":{}}`},
		{"GET", "/spaces/{id}/messages", "/spaces/" + space + "/messages?all=true", ""},
		{"GET", "/messages", "/messages?message_id=" + m.ID, ""},
		{"GET", "/messages", "/messages?format=synapse&message_id=" + m.ID, ""},
		{"POST", "/spaces/{id}/messages", "/spaces/" + space + "/messages?format=synapse", `{"type":"p2p:ack","payload":{},"priority":1}`},
		{"GET", "/nodes/{id}/inbox", "/nodes/me/inbox", ""},
		{"GET", "/nodes/{id}/waiting", "/nodes/me/waiting", ""},
		{"GET", "/spaces/{id}", "/spaces/none", ""},
		{"PUT", "/nodes/{id}/identities", "/nodes/me/identities", `{"namespace":"n","subject":"s"}`},
	} {
		r := ada.do(q.method, q.path, q.body)
		kind := strings.Split(r.header.Get("Content-Type"), ";")[0]
		code := "default"
		if r.status < 300 {
			for k := range s.Paths[q.route][strings.ToLower(q.method)].Responses {
				if k != "default" {
					code = k
				}
			}
		}
		esc := func(v string) string { return strings.ReplaceAll(strings.ReplaceAll(v, "~", "~0"), "/", "~1") }
		pointer := "plexus:openapi#/paths/" + esc(q.route) + "/" + strings.ToLower(q.method) + "/responses/" + code + "/content/" + esc(kind) + "/schema"
		pointer = strings.NewReplacer("{", "%7B", "}", "%7D").Replace(pointer)
		schema, err := c.Compile(pointer)
		if err != nil {
			t.Errorf("%s %s: %v", q.method, q.path, err)
			continue
		}
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(r.body))
		if err == nil {
			err = schema.Validate(v)
		}
		if err != nil {
			t.Errorf("%s %s: %s\n%v", q.method, q.path, r.body, err)
		}
	}
}
