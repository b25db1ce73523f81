package node

// This file tests accounts: tokens, identities, and what of a registration is refused.

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"plexus/graph"
	"plexus/sdk/client"
)

func identity(subject string) client.IdentityBinding {
	return client.IdentityBinding{Namespace: "mail", Subject: subject}
}

func TestTokensOwnOneNode(t *testing.T) {
	dir := t.TempDir()
	n := open(t, dir)
	ann, bob := registerAs(t, n, client.NodeCreate{Name: "ann"}), registerAs(t, n, client.NodeCreate{Name: "ann"})
	if ann.ID == bob.ID || ann.Token == bob.Token {
		t.Fatal("an equal name gives an equal Node")
	}
	if len(ann.Token) < 43 {
		t.Errorf("token %q has less than 256 bits", ann.Token)
	}
	check := func(n *Node) {
		t.Helper()
		for _, r := range []client.AuthResponse{ann, bob} {
			if id, err := n.Authenticate(t.Context(), r.Token); err != nil || id != r.ID {
				t.Errorf("authenticate: %s, %v", id, err)
			}
		}
		for _, bad := range []string{"", "x", ann.Token + "x", strings.ToUpper(ann.Token)} {
			if _, err := n.Authenticate(t.Context(), bad); !errors.Is(err, graph.ErrUnauthorized) || err.Error() != "invalid token" {
				t.Errorf("token %q: %v", bad, err)
			}
		}
	}
	check(n)
	for kv, err := range n.rec.token.Scan(nil, nil, false) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(kv.Key), ann.Token) {
			t.Error("a token lies on disk in plain")
		}
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	check(open(t, dir))
}

func TestRegisterAgain(t *testing.T) {
	n := open(t, t.TempDir())
	key := accessKey(t, n.cfg.Dir)
	ann := registerAs(t, n, client.NodeCreate{Name: "ann", Identities: []client.IdentityBinding{identity("ann")}})
	bob := registerAs(t, n, client.NodeCreate{Name: "bob"})
	again := func(c client.NodeCreate, owner string) (client.AuthResponse, error) {
		return n.Register(t.Context(), client.AuthRegister{NodeCreate: c, AccessKey: key}, owner)
	}
	for _, tc := range []struct {
		name  string
		c     client.NodeCreate
		owner string
		want  string // the Node returned; "new" for a new one
		kind  error
	}{
		{"by token and id", client.NodeCreate{ID: ann.ID, Name: "ann"}, ann.ID, ann.ID, nil},
		{"by identity", client.NodeCreate{Name: "ann", Identities: []client.IdentityBinding{identity("ann")}}, "", ann.ID, nil},
		{"by the id alone", client.NodeCreate{ID: ann.ID, Name: "ann"}, "", "", graph.ErrForbidden},
		{"by another's token", client.NodeCreate{ID: ann.ID, Name: "ann"}, bob.ID, "", graph.ErrForbidden},
		{"one's own id, another's identity", client.NodeCreate{ID: bob.ID, Name: "bob", Identities: []client.IdentityBinding{identity("ann")}}, bob.ID, "", graph.ErrConflict},
		{"an id nobody has", client.NodeCreate{ID: "my-id", Name: "ann"}, "", "new", nil},
		{"a fresh identity", client.NodeCreate{Name: "cid", Identities: []client.IdentityBinding{identity("cid")}}, "", "new", nil},
		{"a token without an id", client.NodeCreate{Name: "ann"}, ann.ID, "new", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := again(tc.c, tc.owner)
			if !errors.Is(err, tc.kind) {
				t.Fatalf("%v, want %v", err, tc.kind)
			}
			switch {
			case err != nil:
			case tc.want == "new" && (r.ID == ann.ID || r.ID == bob.ID), tc.want != "new" && r.ID != tc.want:
				t.Errorf("node %s, want %s", r.ID, tc.want)
			default:
				if id, err := n.Authenticate(t.Context(), r.Token); err != nil || id != r.ID {
					t.Errorf("its token: %s, %v", id, err)
				}
			}
		})
	}
	if id, err := n.Authenticate(t.Context(), ann.Token); err != nil || id != ann.ID {
		t.Errorf("the first token is gone: %s, %v", id, err)
	}
	r, err := again(client.NodeCreate{Name: "anna", Description: "new", Meta: json.RawMessage(`{"a":1}`), Identities: []client.IdentityBinding{identity("ann")}}, "")
	if err != nil || r.Name != "anna" {
		t.Fatalf("renamed: %+v, %v", r, err)
	}
	if c, err := n.Node(t.Context(), ann.ID); err != nil || c.Name != "anna" || c.Description != "new" || string(c.Meta) != `{"a":1}` || len(c.Identities) != 1 {
		t.Errorf("node: %+v, %v", c, err)
	}
}

func TestRegisterRefusals(t *testing.T) {
	n := open(t, t.TempDir())
	key := accessKey(t, n.cfg.Dir)
	many := make([]client.IdentityBinding, MaxIdentities+1)
	for i := range many {
		many[i] = identity(fmt.Sprint(i))
	}
	for _, tc := range []struct {
		name string
		in   client.AuthRegister
		kind error
		says string
	}{
		{"no key", client.AuthRegister{NodeCreate: client.NodeCreate{Name: "a"}}, graph.ErrForbidden, "invalid access key"},
		{"wrong key", client.AuthRegister{NodeCreate: client.NodeCreate{Name: "a"}, AccessKey: key + "x"}, graph.ErrForbidden, "invalid access key"},
		{"no name", client.AuthRegister{AccessKey: key}, graph.ErrInvalid, "name is required"},
		{"a name of blanks", client.AuthRegister{NodeCreate: client.NodeCreate{Name: " \t"}, AccessKey: key}, graph.ErrInvalid, "name is required"},
		{"a long name", client.AuthRegister{NodeCreate: client.NodeCreate{Name: strings.Repeat("a", MaxName+1)}, AccessKey: key}, graph.ErrInvalid, "name"},
		{"a long description", client.AuthRegister{NodeCreate: client.NodeCreate{Name: "a", Description: strings.Repeat("a", MaxDescription+1)}, AccessKey: key}, graph.ErrInvalid, "description"},
		{"no kind", client.AuthRegister{NodeCreate: client.NodeCreate{Name: "a"}, AccessKey: key, Kind: "robot"}, graph.ErrInvalid, "kind"},
		{"meta no object", client.AuthRegister{NodeCreate: client.NodeCreate{Name: "a", Meta: json.RawMessage(`[]`)}, AccessKey: key}, graph.ErrInvalid, "meta"},
		{"meta too long", client.AuthRegister{NodeCreate: client.NodeCreate{Name: "a", Meta: json.RawMessage(`{"a":"` + strings.Repeat("x", MaxMeta) + `"}`)}, AccessKey: key}, graph.ErrInvalid, "meta"},
		{"half an identity", client.AuthRegister{NodeCreate: client.NodeCreate{Name: "a", Identities: []client.IdentityBinding{{Namespace: "mail"}}}, AccessKey: key}, graph.ErrInvalid, "identity"},
		{"a long identity", client.AuthRegister{NodeCreate: client.NodeCreate{Name: "a", Identities: []client.IdentityBinding{identity(strings.Repeat("x", MaxIdentity+1))}}, AccessKey: key}, graph.ErrInvalid, "identity"},
		{"too many identities", client.AuthRegister{NodeCreate: client.NodeCreate{Name: "a", Identities: many}, AccessKey: key}, graph.ErrInvalid, "identities"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := n.Register(t.Context(), tc.in, "")
			if !errors.Is(err, tc.kind) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v: want %v, saying %q", err, tc.kind, tc.says)
			}
		})
	}
	if nodes, err := n.Nodes(t.Context()); err != nil || len(nodes) != 0 || nodes == nil {
		t.Errorf("something was made: %+v, %v", nodes, err)
	}
	if ids := n.keys.ids(); len(ids) != 0 {
		t.Errorf("keys stay behind: %v", ids)
	}
	longest := client.NodeCreate{Name: strings.Repeat("a", MaxName), Description: strings.Repeat("a", MaxDescription), Identities: many[1:]}
	registerAs(t, n, longest)
}

func TestIdentitiesAreUnique(t *testing.T) {
	dir := t.TempDir()
	n := open(t, dir)
	ctx := t.Context()
	ann, bob := registerAs(t, n, client.NodeCreate{Name: "ann"}), registerAs(t, n, client.NodeCreate{Name: "bob"})
	claims := client.IdentityBinding{Namespace: "mail", Subject: "ann", Claims: json.RawMessage(`{"ok":true}`)}
	c, err := n.Bind(ctx, ann.ID, claims)
	if err != nil || len(c.Identities) != 1 || string(c.Identities[0].Claims) != `{"ok":true}` {
		t.Fatalf("bind: %+v, %v", c, err)
	}
	if _, err := n.Bind(ctx, ann.ID, identity("ann")); err != nil {
		t.Errorf("binding again: %v", err)
	}
	if _, err := n.Bind(ctx, bob.ID, identity("ann")); !errors.Is(err, graph.ErrConflict) || !strings.Contains(err.Error(), ann.ID) {
		t.Errorf("bound elsewhere: %v", err)
	}
	if _, err := n.Create(ctx, client.NodeCreate{Name: "eve", Identities: []client.IdentityBinding{identity("ann")}}); !errors.Is(err, graph.ErrConflict) {
		t.Errorf("made with another's identity: %v", err)
	}
	if _, err := n.Bind(ctx, "x", identity("x")); !errors.Is(err, graph.ErrNotFound) || err.Error() != "Node 'x' not found" {
		t.Errorf("no node: %v", err)
	}
	// namespace and subject are kept apart
	if _, err := n.Bind(ctx, bob.ID, client.IdentityBinding{Namespace: "mai", Subject: "lann"}); err != nil {
		t.Error(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	n = open(t, dir)
	if c, err := n.Resolve(ctx, "mail", "ann"); err != nil || c.ID != ann.ID {
		t.Errorf("resolve after a restart: %+v, %v", c, err)
	}
	if _, err := n.Unbind(ctx, bob.ID, identity("ann")); !errors.Is(err, graph.ErrNotFound) {
		t.Errorf("unbound by another: %v", err)
	}
	if c, err := n.Unbind(ctx, ann.ID, identity("ann")); err != nil || len(c.Identities) != 0 {
		t.Errorf("unbind: %+v, %v", c, err)
	}
	if _, err := n.Resolve(ctx, "mail", "ann"); !errors.Is(err, graph.ErrNotFound) {
		t.Errorf("resolve what is unbound: %v", err)
	}
	if _, err := n.Bind(ctx, bob.ID, identity("ann")); err != nil {
		t.Errorf("bind what is free again: %v", err)
	}
}

func TestNoAuth(t *testing.T) {
	n := open(t, t.TempDir(), func(c *Config) { c.NoAuth, c.Listen = true, "127.0.0.1:0" })
	if err := n.CheckAccessKey("anything"); err != nil {
		t.Error(err)
	}
	if _, err := n.Register(t.Context(), client.AuthRegister{NodeCreate: client.NodeCreate{Name: "a"}}, ""); err != nil {
		t.Error(err)
	}
}

func TestNobodyReadsAndIsntHeard(t *testing.T) {
	n := open(t, t.TempDir())
	ann, annID := register(t, n, "ann")
	space := join(t, ann, "plan")
	root := say(t, ann, space, "root")
	if _, err := ann.Send(t.Context(), space, client.SendMessage{Content: content("reply"), Refs: &client.Ref{Nodes: []string{annID}}}); err != nil {
		t.Fatal(err)
	}
	s, err := n.As("")
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Read(t.Context(), client.ReadQuery{SpaceID: space})
	if err != nil || len(p.Messages) != 1 || p.Messages[0].ID != root.ID {
		t.Errorf("roots: %+v, %v", p, err)
	}
	if _, err := s.Send(t.Context(), space, client.SendMessage{Content: content("x")}); !errors.Is(err, graph.ErrInvalid) {
		t.Errorf("send: %v", err)
	}
	if _, err := s.Space(t.Context(), client.SpaceCreate{Name: "x", Description: "y"}); !errors.Is(err, graph.ErrInvalid) {
		t.Errorf("space: %v", err)
	}
	if _, err := n.As("x"); !errors.Is(err, graph.ErrNotFound) {
		t.Errorf("as nobody: %v", err)
	}
}
