package api

// This file holds what a route is: one value from which both the server and the OpenAPI document are made.

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"plexus/graph"
	"plexus/sdk/client"
)

// route is one method on one path.
type route struct {
	method, path string
	name         string // operationId
	summary      string
	who          who
	params       []param // of the query
	headers      []param // the handler reads them itself
	action
}

// action is what a route takes, gives and does. The constructors below make it, so that the types in the
// document are the types that serve.
type action struct {
	in      reflect.Type // of the JSON body; nil: none
	inType  string       // content type of a body that is no JSON; with in: either
	out     reflect.Type // of the JSON answer; nil: none
	outType string       // content type of an answer that is no JSON
	status  int
	watched bool // with Accept: text/event-stream, or always where that is outType, a stream of answers
	paged   bool // the answer bears a Link to the next page
	serve   func(*exchange) error
}

// exchange is one request on its way to an answer.
type exchange struct {
	h      *Handler
	w      http.ResponseWriter
	r      *http.Request
	route  *route
	caller caller
	query  url.Values
	after  func() // nil, or done once the answer is written
}

// give is an action without a body.
func give[Out any](status int, f func(*exchange) (Out, error)) action {
	return action{out: reflect.TypeFor[Out](), status: status, serve: func(x *exchange) error {
		out, err := f(x)
		if err != nil {
			return err
		}
		return x.reply(out)
	}}
}

// take is an action with a JSON body.
func take[In, Out any](status int, f func(*exchange, In) (Out, error)) action {
	known := fieldsOf(reflect.TypeFor[In]())
	a := action{in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](), status: status}
	a.serve = func(x *exchange) error {
		var in In
		body, err := x.readBody()
		if err != nil {
			return err
		}
		if err := decode(body, known, &in); err != nil {
			return err
		}
		out, err := f(x, in)
		if err != nil {
			return err
		}
		return x.reply(out)
	}
	return a
}

// none is the answer of an action that gives nothing: 204.
type none struct{}

// pages is an action that answers one page of messages and a link to the next.
func pages(f func(*exchange) (client.Page, error)) action {
	a := give(http.StatusOK, func(x *exchange) ([]client.Message, error) {
		page, err := f(x)
		if err != nil {
			return nil, err
		}
		x.linkNext(page.Next)
		return page.Messages, nil
	})
	a.paged = true
	return a
}

// stream is an action that answers with Server-Sent Events.
func stream(f func(*exchange) error) action {
	return action{outType: streamType, status: http.StatusOK, serve: f}
}

// reply writes the answer.
func (x *exchange) reply(out any) error {
	if _, ok := out.(none); ok {
		x.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	writeBody(x.w, "application/json", x.route.status, appendAnswer(make([]byte, 0, 1024), x.formatted(out)))
	return nil
}

// linkNext says where the next page is: the same request after another cursor.
func (x *exchange) linkNext(after string) {
	if after == "" {
		return
	}
	q := url.Values{}
	for k, v := range x.query {
		q[k] = v
	}
	q.Set("after", after)
	x.w.Header().Set("Link", "<"+x.r.URL.EscapedPath()+"?"+q.Encode()+`>; rel="next"`)
}

// kind is how a query parameter is read.
type kind uint8

const (
	isText   kind = iota
	isFlag        // true or false
	isCount       // 1, 2, 3 …
	isChoice      // one of param.of
)

// param is one query parameter or header.
type param struct {
	name string
	kind kind
	of   []string
	doc  string
}

// check reads nothing, but says whether a value is one of its kind. An empty one counts as left out.
func (p param) check(v string) error {
	if v == "" {
		return nil
	}
	switch p.kind {
	case isFlag:
		if _, err := strconv.ParseBool(v); err != nil {
			return invalid(p.name+" must be a boolean", "")
		}
	case isCount:
		if number(v) <= 0 {
			return invalid(p.name+" must be greater than 0", "")
		}
	case isChoice:
		if !slices.Contains(p.of, v) {
			return invalid(p.name+" must be '"+strings.Join(p.of, "' or '")+"'", "")
		}
	}
	return nil
}

// number reads a decimal number, cut to an int32; 0 for what is none.
func number(v string) int {
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil && n <= 0 {
		return 0
	}
	if err != nil && n != 1<<31-1 {
		return 0
	}
	return int(n)
}

// text, flag and count return a query parameter the route declares.
func (x *exchange) text(name string) string { return x.value(name, isText) }

func (x *exchange) flag(name string) bool {
	b, _ := strconv.ParseBool(x.value(name, isFlag))
	return b
}
func (x *exchange) count(name string) int { return number(x.value(name, isCount)) }

// limit is the page size that was asked for, at most a page; 0: none was.
func (x *exchange) limit() int { return min(x.count("limit"), graph.MaxPage) }

func (x *exchange) value(name string, k kind) string {
	for _, p := range x.route.params {
		if p.name == name && (p.kind == k || p.kind == isChoice && k == isText) {
			return x.query.Get(name)
		}
	}
	panic(fmt.Sprintf("route %s reads the parameter %s, which it doesn't declare", x.route.name, name))
}

// id is the Node in the path; "me" is the caller.
func (x *exchange) id() string {
	if id := x.r.PathValue("id"); id != "me" || x.caller.node == "" {
		return id
	}
	return x.caller.node
}

// service returns the operations on behalf of the caller; without one, those of a reader.
func (x *exchange) service() (Service, error) {
	s, err := x.h.cfg.Accounts.As(x.caller.node)
	if err != nil && x.h.cfg.NoAuth {
		return nil, unknownCaller(x.caller.node, err)
	}
	return s, err
}

// mount puts the table on the mux: one pattern a path, so that a wrong method is answered here.
func (h *Handler) mount(table []route) {
	byPath := map[string]map[string]*route{}
	for i := range table {
		t := &table[i]
		if byPath[t.path] == nil {
			byPath[t.path] = map[string]*route{}
		}
		byPath[t.path][t.method] = t
	}
	for path, methods := range byPath {
		h.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { h.dispatch(w, r, methods) })
	}
	if h.cfg.MCP != nil {
		h.mux.HandleFunc("/mcp", h.serveMCP)
	}
	h.mux.HandleFunc("/", h.elsewhere)
}

// dispatch finds the route of a method. A GET route that isn't a stream answers HEAD as well.
func (h *Handler) dispatch(w http.ResponseWriter, r *http.Request, methods map[string]*route) {
	t := methods[r.Method]
	if get := methods[http.MethodGet]; t == nil && r.Method == http.MethodHead && get != nil && get.outType == "" {
		t = get
	}
	if t == nil {
		notAllowed(w, sortedKeys(methods))
		return
	}
	x := &exchange{h: h, w: w, r: r, route: t}
	if err := x.run(); err != nil {
		h.fail(w, r, err)
	} else if x.after != nil {
		x.after()
	}
}

// run admits the caller, checks the query and serves.
func (x *exchange) run() (err error) {
	switch x.route.who {
	case anyone:
	case aCaller:
		if err := x.admitCaller(); err != nil {
			return err
		}
	default:
		if x.caller, err = x.h.identify(x.r); err != nil {
			return err
		}
		if x.caller, err = x.h.admit(x.caller, x.route.who, x.r); err != nil {
			return err
		}
	}
	if x.query, err = url.ParseQuery(x.r.URL.RawQuery); err != nil {
		return invalid("the query is malformed: "+err.Error(), "")
	}
	for _, p := range x.route.params {
		if err := p.check(x.query.Get(p.name)); err != nil {
			return err
		}
	}
	return x.route.serve(x)
}

func notAllowed(w http.ResponseWriter, methods []string) {
	w.Header().Set("Allow", strings.Join(methods, ", "))
	writeProblem(w, client.Problem{
		Title: http.StatusText(http.StatusMethodNotAllowed), Status: http.StatusMethodNotAllowed,
		Detail: "method not allowed", Code: client.CodeInvalid, Hint: "allowed here: " + strings.Join(methods, ", "),
	})
}

// elsewhere serves what is no route: the page, or nothing.
func (h *Handler) elsewhere(w http.ResponseWriter, r *http.Request) {
	if h.cfg.Page != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		h.cfg.Page.ServeHTTP(w, r)
		return
	}
	h.fail(w, r, &Fault{
		Kind: graph.ErrNotFound, Detail: fmt.Sprintf("no route '%.128s'", r.URL.Path), Hint: "the routes are listed in /openapi.json",
	})
}

// serveMCP hands a request to the MCP handler, which has limits of its own; its streams end with ours.
func (h *Handler) serveMCP(w http.ResponseWriter, r *http.Request) {
	ctx, leave, ok := h.live.enter(r.Context())
	defer leave()
	if !ok {
		h.fail(w, r, graph.ErrClosed)
		return
	}
	h.cfg.MCP.ServeHTTP(w, r.WithContext(ctx))
}

// fieldsOf lists the JSON names of a struct's fields, embedded ones included.
func fieldsOf(t reflect.Type) map[string]bool {
	names := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "-" && name != "" && !f.Anonymous {
			names[name] = true
		}
	}
	return names
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// rawJSON is a JSON answer that is handed on as it is.
type rawJSON = json.RawMessage
