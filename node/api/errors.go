package api

// This file holds the one place where errors become answers: sentinel → status, code, hint. HTTP and MCP both use it.

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"plexus/graph"
	"plexus/sdk/client"
)

// Fault is an error made for a person: what was wrong, and what to do next. Kind is one of graph's sentinels.
type Fault struct {
	Kind   error
	Detail string
	Hint   string // "" where the kind's own hint does
}

// Error is the detail alone.
func (f *Fault) Error() string { return f.Detail }

// Unwrap makes errors.Is find the kind.
func (f *Fault) Unwrap() error { return f.Kind }

// ErrRateLimited is the kind of a Fault for one who asks too often; the answer says when to come again.
var ErrRateLimited = errors.New(client.CodeRateLimited)

// verdict is how a kind of error is answered.
type verdict struct {
	kind   error
	status int
	code   string
	hint   string
}

// verdicts is the table of style.md, in order of precedence. What is in none of its rows is our fault: 500.
var verdicts = []verdict{
	{graph.ErrUnauthorized, http.StatusUnauthorized, client.CodeUnauthorized, "register at POST /auth/register with the host's access key, then send Authorization: Bearer <token>"},
	{graph.ErrForbidden, http.StatusForbidden, client.CodeForbidden, "use the token of the Node concerned, or ask an admin of the Network"},
	{graph.ErrTooLarge, http.StatusRequestEntityTooLarge, client.CodeTooLarge, "send less, or cut it into several messages"},
	{graph.ErrInvalid, http.StatusUnprocessableEntity, client.CodeInvalid, ""},
	{graph.ErrNotFound, http.StatusNotFound, client.CodeNotFound, ""},
	{graph.ErrConflict, http.StatusConflict, client.CodeConflict, ""},
	{ErrRateLimited, http.StatusTooManyRequests, client.CodeRateLimited, "come again after Retry-After"},
	{graph.ErrClosed, http.StatusServiceUnavailable, client.CodeUnavailable, "the node is stopping; try again when it is back"},
	{graph.ErrUnavailable, http.StatusServiceUnavailable, client.CodeUnavailable, "try again in a moment"},
	{context.DeadlineExceeded, http.StatusGatewayTimeout, client.CodeTimeout, "try again, or ask for less"},
	{context.Canceled, http.StatusServiceUnavailable, client.CodeUnavailable, "try again"},
}

// problemOf turns an error into the body of its answer.
func problemOf(err error) client.Problem {
	v := verdict{status: http.StatusInternalServerError, code: client.CodeInternal, hint: "this is a fault of the node; its log says more"}
	for _, row := range verdicts {
		if errors.Is(err, row.kind) {
			v = row
			break
		}
	}
	p := client.Problem{Title: http.StatusText(v.status), Status: v.status, Detail: detailOf(err), Code: v.code, Hint: v.hint}
	if v.status == http.StatusInternalServerError {
		p.Detail = "internal error" // what it was is in the log; it may name files
	}
	var f *Fault
	if errors.As(err, &f) && f.Hint != "" {
		p.Hint = f.Hint
	}
	return p
}

// detailOf is an error's text without the name of its sentinel, which the code says already, or of a rule of the
// entry format, which is for vectors and metrics.
func detailOf(err error) string {
	s := err.Error()
	var ie *graph.InvalidError
	if errors.As(err, &ie) && ie.Detail != "" {
		s = strings.Replace(s, string(ie.Rule)+": "+ie.Detail, ie.Detail, 1)
	}
	for _, row := range verdicts {
		if cut, ok := strings.CutSuffix(s, ": "+row.kind.Error()); ok {
			return cut
		}
	}
	return s
}

// invalid is what most wrong requests get.
func invalid(detail, hint string) error {
	return &Fault{Kind: graph.ErrInvalid, Detail: detail, Hint: hint}
}

// fail answers a request with an error. An error of ours is logged here, once.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return // nobody reads it
	}
	p := problemOf(err)
	if p.Status == http.StatusInternalServerError {
		h.cfg.Logger.Error("request failed", "method", r.Method, "path", r.URL.Path, "err", err)
	}
	writeProblem(w, p)
}

func writeProblem(w http.ResponseWriter, p client.Problem) {
	head := w.Header()
	switch p.Status {
	case http.StatusUnauthorized:
		head.Set("WWW-Authenticate", `Bearer realm="plexus"`)
	case http.StatusServiceUnavailable:
		head.Set("Retry-After", "1")
	case http.StatusTooManyRequests:
		if head.Get("Retry-After") == "" {
			head.Set("Retry-After", "1")
		}
	}
	head.Del("Link")
	writeBody(w, "application/problem+json", p.Status, appendJSON(nil, p))
}
