package api_test

// This file throws arbitrary bodies at the doors that take JSON: never our fault, never written when refused.

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"plexus/node/api"
)

func FuzzHTTPBodies(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[]`, `null`, `"x"`, `{"content":{}}`, `{"content":null}`, `{"content":"x"}`, `{"content":{},"refs":null}`,
		`{"content":{"a":1,"a":2}}`, `{"content":{}} {}`, `{"content":{},"x":1}`, "{\"content\":{\"a\":\"\xff\"}}", `{"content":{"a":"\ud800"}}`,
		`{"content":{},"content_schema":{"$ref":"#"}}`, `{"content":{},"content_schema":{"type":"foo"}}`, `{"content":{},"content_schema":{"pattern":"("}}`,
		`{"content":{},"content_type":"\u0000","meta":{"a":[[[[]]]]}}`, `{"content":{},"refs":{"messages":["x"],"nodes":[""]}}`,
		`{"name":"a","description":"b","tags":[" x ",""]}`, `{"name":"\u0000","description":"b"}`, `{"name":"é","description":"b"}`,
		`{"name":"a","description":"b","meta":{"x":1e999},"identities":[{"namespace":"n","subject":"s","claims":{}}]}`,
		`{"name":"a","kind":"human","id":"x"}`, `{"name":"` + strings.Repeat("n", 5000) + `","description":"b"}`,
		`{"content":` + strings.Repeat(`{"a":`, 80) + `1` + strings.Repeat(`}`, 80) + `}`,
	} {
		f.Add([]byte(seed))
	}
	w := open(f)
	ada := w.register("ada")
	space := ada.join("desk")
	h := api.New(api.Config{Accounts: w.node, Directory: w.node, Inbox: w.node, Views: w.node, Admin: w.node})
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range []string{"/spaces", "/spaces/" + space + "/messages", "/auth/register", "/nodes", "/nodes/me/inbox/ack", "/nodes/me/identities"} {
			before := census(t, w)
			method := http.MethodPost
			if strings.HasSuffix(path, "identities") {
				method = http.MethodPut
			}
			req := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(string(body)))
			req.Header.Set("Authorization", "Bearer "+ada.Token)
			req.Header.Set("X-Access-Key", w.key)
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, req)
			if rec.Code >= 500 {
				t.Fatalf("%s with %q: %d %s", path, body, rec.Code, rec.Body)
			}
			if rec.Code >= 400 {
				wantProblem(t, reply{rec.Code, rec.Header(), rec.Body.String()}, rec.Code, "")
				if after := census(t, w); after != before {
					t.Fatalf("%s with %q was refused (%d) and wrote: %+v, before %+v", path, body, rec.Code, after, before)
				}
			}
		}
	})
}

// counts is what a refused request may not change.
type counts struct{ nodes, spaces, messages int }

func census(tb testing.TB, w *world) counts {
	tb.Helper()
	nodes, err := w.node.Nodes(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	spaces, err := w.node.Spaces(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	c := counts{nodes: len(nodes), spaces: len(spaces)}
	for _, s := range spaces {
		c.messages += s.MessageCount
	}
	return c
}
