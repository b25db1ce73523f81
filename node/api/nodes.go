package api

// This file serves Nodes: registration, the directory, identities, the inbox.

import (
	"fmt"
	"net/http"
	"reflect"

	"plexus/graph"
	"plexus/sdk/client"
)

// register needs the access key: in the body, as X-Access-Key, or as the URL's user. A token that is sent along proves
// that its Node is the caller's; one that is no longer good proves nothing.
func register(x *exchange, in client.AuthRegister) (client.AuthResponse, error) {
	var none client.AuthResponse
	if in.AccessKey == "" {
		in.AccessKey = accessKey(x.r)
	}
	if err := x.h.checkKey(in.AccessKey); err != nil {
		return none, err
	}
	if err := checkNode(&in.NodeCreate); err != nil {
		return none, err
	}
	if in.Kind != "" && in.Kind != "human" && in.Kind != "agent" {
		return none, invalid("kind must be 'human' or 'agent'", "")
	}
	owner := ""
	if token := bearer(x.r); token != "" {
		if id, err := x.h.cfg.Accounts.Authenticate(x.r.Context(), token); err == nil {
			owner = id
		}
	}
	return x.h.cfg.Accounts.Register(x.r.Context(), in, owner)
}

func createNode(x *exchange, in client.NodeCreate) (client.Node, error) {
	if err := checkNode(&in); err != nil {
		return client.Node{}, err
	}
	n, err := x.h.cfg.Accounts.Create(x.r.Context(), in)
	return tidyNode(n), err
}

func checkNode(in *client.NodeCreate) error {
	if err := object("meta", &in.Meta); err != nil {
		return err
	}
	for i := range in.Identities {
		if err := checkIdentity(&in.Identities[i]); err != nil {
			return err
		}
	}
	return nil
}

func checkIdentity(b *client.IdentityBinding) error {
	if b.Namespace == "" || b.Subject == "" {
		return invalid("namespace and subject are required", "")
	}
	return object("claims", &b.Claims)
}

func listNodes(x *exchange) ([]client.Node, error) {
	ns, err := x.h.cfg.Directory.Nodes(x.r.Context())
	return tidyNodes(ns), err
}

func getNode(x *exchange) (client.Node, error) {
	n, err := x.h.cfg.Directory.Node(x.r.Context(), x.id())
	return tidyNode(n), err
}

func resolveNode(x *exchange) (client.Node, error) {
	b := client.IdentityBinding{Namespace: x.text("namespace"), Subject: x.text("subject")}
	if err := checkIdentity(&b); err != nil {
		return client.Node{}, err
	}
	n, err := x.h.cfg.Directory.Resolve(x.r.Context(), b.Namespace, b.Subject)
	return tidyNode(n), err
}

func bindIdentity(x *exchange, b client.IdentityBinding) (client.Node, error) {
	if err := checkIdentity(&b); err != nil {
		return client.Node{}, err
	}
	n, err := x.h.cfg.Directory.Bind(x.r.Context(), x.id(), b)
	return tidyNode(n), err
}

// unbindAction takes the identity from the query or, where there is a body, from that.
func unbindAction() action {
	known := fieldsOf(reflect.TypeFor[client.IdentityBinding]())
	a := give(http.StatusOK, func(x *exchange) (client.Node, error) {
		var none client.Node
		b := client.IdentityBinding{Namespace: x.text("namespace"), Subject: x.text("subject")}
		body, err := x.readBody()
		if err != nil {
			return none, err
		}
		if len(body) > 0 {
			if err := decode(body, known, &b); err != nil {
				return none, err
			}
		}
		if err := checkIdentity(&b); err != nil {
			return none, err
		}
		n, err := x.h.cfg.Directory.Unbind(x.r.Context(), x.id(), b)
		return tidyNode(n), err
	})
	a.in = reflect.TypeFor[client.IdentityBinding]()
	return a
}

func readInbox(x *exchange) (client.Page, error) {
	return x.h.cfg.Inbox.Inbox(x.r.Context(), x.id(), x.text("after"), x.limit(), x.flag("unacked"))
}

func waiting(x *exchange) ([]client.Waiting, error) {
	if x.h.cfg.Views == nil {
		return []client.Waiting{}, nil
	}
	return x.h.cfg.Views.Waiting(x.r.Context(), x.id())
}

func ackInbox(x *exchange, in client.InboxAck) (none, error) {
	switch {
	case len(in.Messages) == 0:
		return none{}, invalid("messages is required", `send {"messages":["<id>", …]}`)
	case len(in.Messages) > maxAck:
		return none{}, &Fault{Kind: graph.ErrTooLarge, Detail: fmt.Sprintf("more than %d messages at once", maxAck)}
	}
	return none{}, x.h.cfg.Inbox.Ack(x.r.Context(), x.id(), in.Messages)
}
