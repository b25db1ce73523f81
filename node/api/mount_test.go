package api_test

// This file tests what others serve through the handler: MCP, the page, the counters.

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"plexus/node/api"
)

func said(what string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, what, " ", r.Method) })
}

func TestMounts(t *testing.T) {
	w := open(t, func(c *api.Config) { c.MCP, c.Page, c.Metrics = said("mcp"), said("page"), said("metrics") })
	for _, c := range []struct{ method, path, want string }{
		{"POST", "/mcp", "mcp POST"},
		{"GET", "/mcp", "mcp GET"},
		{"DELETE", "/mcp", "mcp DELETE"},
		{"GET", "/", "page GET"},
		{"GET", "/app.js", "page GET"},
		{"GET", "/metrics", "metrics GET"},
		{"GET", "/health", `{"status":"ok"}`},
	} {
		if r := w.do(c.method, c.path, "", "X-Access-Key", w.key); r.status != 200 || r.body != c.want {
			t.Errorf("%s %s: %d %s, want %s", c.method, c.path, r.status, r.body, c.want)
		}
	}
	wantProblem(t, w.do("GET", "/metrics", ""), 401, "access key required")
	wantProblem(t, w.do("POST", "/nodes/x/y", ""), 404, "no route '/nodes/x/y'")
}

func TestCloseEndsMCP(t *testing.T) {
	entered, left := make(chan struct{}), make(chan struct{})
	mcp := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
		close(left)
	})
	w := open(t)
	h := api.New(api.Config{Accounts: w.node, Directory: w.node, Inbox: w.node, Views: w.node, Admin: w.node, MCP: mcp})
	over := w.over(h)
	answered := make(chan reply, 1)
	go func() {
		r, err := over.try("GET", "/mcp", "")
		if err != nil && err != io.EOF {
			t.Error(err)
		}
		answered <- r
	}()
	<-entered
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	<-left
	<-answered
	wantProblem(t, over.do("GET", "/mcp", ""), 503, "")
}
