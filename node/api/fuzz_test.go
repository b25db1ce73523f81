package api_test

// This file throws arbitrary bodies at the doors that take JSON: never our fault, never written when refused.

import (
	"bytes"
	"context"
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
		for door := range doors {
			f.Add(uint8(door), []byte(seed))
		}
	}
	w := open(f)
	ada := w.register("ada")
	space := ada.join("desk")
	h := api.New(api.Config{Accounts: w.node, Directory: w.node, Inbox: w.node, Views: w.node, Admin: w.node})
	last := census(f, w)
	f.Fuzz(func(t *testing.T, n uint8, body []byte) {
		door := doors[int(n)%len(doors)]
		req := httptest.NewRequest(door.method, "http://localhost"+strings.ReplaceAll(door.path, "{space}", space), bytes.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+ada.Token)
		req.Header.Set("X-Access-Key", w.key)
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		if rec.Code >= 500 {
			t.Fatalf("%s with %q: %d %s", door.path, body, rec.Code, rec.Body)
		}
		now := census(t, w)
		if rec.Code >= 400 {
			wantProblem(t, reply{rec.Code, rec.Header(), rec.Body.String()}, rec.Code, "")
			if now != last {
				t.Errorf("%s with %q was refused (%d) and wrote: %+v, before %+v", door.path, body, rec.Code, now, last)
			}
		}
		last = now
	})
}

// doors are where JSON comes in.
var doors = []struct{ method, path string }{
	{"POST", "/spaces"},
	{"POST", "/spaces/{space}/messages"},
	{"POST", "/auth/register"},
	{"POST", "/nodes"},
	{"POST", "/nodes/me/inbox/ack"},
	{"PUT", "/nodes/me/identities"},
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
