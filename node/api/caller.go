package api

// This file finds out who is asking: a token owns one Node; the host's access key opens what is the host's own.

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"plexus/graph"
)

// who says whom a route is for.
type who uint8

const (
	anyone  who = iota // no proof needed
	member             // a Node's token, or the access key
	asNode             // a Node's token: the call is made on its behalf
	itself             // a Node's token, and the {id} in the path is that Node
	host               // the access key
	aCaller            // a caller's token: P2A
)

// caller is who is asking. node is "" where no Node is (the access key alone, or nobody in no-auth mode).
type caller struct {
	node string
	host bool
}

// identify reads a request's proofs. A wrong one is refused even where none is needed.
func (h *Handler) identify(r *http.Request) (caller, error) {
	var c caller
	if key := accessKey(r); key != "" {
		if err := h.checkKey(key); err != nil {
			return c, err
		}
		c.host = true
	}
	if token := bearer(r); token != "" {
		if err := refuseCaller(token); err != nil {
			return c, err
		}
		id, err := h.cfg.Accounts.Authenticate(r.Context(), token)
		if errors.Is(err, graph.ErrUnauthorized) || errors.Is(err, graph.ErrNotFound) {
			return c, &Fault{Kind: graph.ErrUnauthorized, Detail: "invalid token"}
		}
		if err != nil {
			return c, err
		}
		c.node = id
	}
	claimed := r.Header.Get("X-Node-ID")
	switch {
	case claimed == "" || claimed == c.node:
	case c.node != "":
		return c, &Fault{Kind: graph.ErrForbidden, Detail: "X-Node-ID names another Node than the token's", Hint: "leave X-Node-ID out; a token owns one Node"}
	case h.cfg.NoAuth:
		c.node = claimed
	}
	return c, nil
}

func (h *Handler) checkKey(key string) error {
	if h.cfg.NoAuth {
		return nil
	}
	err := h.cfg.Accounts.CheckAccessKey(key)
	if errors.Is(err, graph.ErrForbidden) {
		return &Fault{Kind: graph.ErrForbidden, Detail: "invalid access key", Hint: "the host's key is in the file access.key of its data directory"}
	}
	return err
}

// admit says whether a caller may use a route, and which Node the call is on behalf of.
func (h *Handler) admit(c caller, w who, r *http.Request) (caller, error) {
	if h.cfg.NoAuth {
		return h.admitOpen(c, w, r)
	}
	switch {
	case w == anyone, w == member && c.host, w == host && c.host:
		return c, nil
	case w == host && c.node != "":
		return c, &Fault{Kind: graph.ErrForbidden, Detail: "this needs the host's access key", Hint: "send it as X-Access-Key"}
	case w == host:
		return c, &Fault{Kind: graph.ErrUnauthorized, Detail: "access key required", Hint: "send the host's access key as X-Access-Key"}
	case c.node == "":
		return c, &Fault{Kind: graph.ErrUnauthorized, Detail: "authorization token required"}
	case w == itself:
		return c, checkItself(c, r)
	}
	return c, nil
}

// admitOpen is admit in no-auth mode, where X-Node-ID is trusted and the access key isn't asked for.
func (h *Handler) admitOpen(c caller, w who, r *http.Request) (caller, error) {
	switch w {
	case asNode:
		if c.node == "" {
			return c, invalid("caller node identity is required", "send X-Node-ID")
		}
		if _, err := h.cfg.Accounts.As(c.node); err != nil {
			return c, unknownCaller(c.node, err)
		}
	case itself:
		if c.node == "" {
			c.node = r.PathValue("id")
		}
		return c, checkItself(c, r)
	}
	return c, nil
}

func unknownCaller(node string, err error) error {
	if errors.Is(err, graph.ErrNotFound) {
		return invalid(fmt.Sprintf("caller node '%.128s' not found", node), "make the Node first: POST /nodes")
	}
	return err
}

func checkItself(c caller, r *http.Request) error {
	if id := r.PathValue("id"); id != "me" && id != c.node {
		return &Fault{Kind: graph.ErrForbidden, Detail: "this belongs to another Node", Hint: "a token opens its own Node's; use /nodes/me"}
	}
	return nil
}

// bearer returns the token of a request, or "".
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// accessKey returns the access key of a request, or "": X-Access-Key, or the user of http://<key>@host, which
// arrives as basic authentication.
func accessKey(r *http.Request) string {
	if key := r.Header.Get("X-Access-Key"); key != "" {
		return key
	}
	user, _, _ := r.BasicAuth()
	return user
}
