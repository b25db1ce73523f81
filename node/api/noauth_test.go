package api_test

// This file tests the development mode without authentication, in which IOA's black-box handler tests run.

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"plexus/sdk/client"
)

func TestNoAuth(t *testing.T) {
	w := open(t, noAuth)
	node := func(name string) string {
		return decode[client.Node](t, w.do("POST", "/nodes", fmt.Sprintf(`{"name":%q,"description":"d"}`, name)), http.StatusCreated).ID
	}
	ada, bob := node("ada"), node("bob")
	join := `{"name":"desk","description":"works"}`
	wantProblem(t, w.do("POST", "/spaces", join), 422, "caller node identity is required")
	wantProblem(t, w.do("POST", "/spaces", join, "X-Node-ID", "ghost"), 422, "caller node 'ghost' not found")
	space := decode[client.SpaceInfo](t, w.do("POST", "/spaces", join, "X-Node-ID", ada), 200).ID

	path := "/spaces/" + space + "/messages"
	wantProblem(t, w.do("POST", path, `{"content":{}}`), 422, "caller node identity is required")
	wantProblem(t, w.do("POST", path, `{"content":{}}`, "X-Node-ID", "ghost"), 422, "caller node 'ghost' not found")
	wantProblem(t, w.do("GET", path, "", "X-Node-ID", "ghost"), 422, "caller node 'ghost' not found")
	root := decode[client.Message](t, w.do("POST", path, `{"content":{}}`, "X-Node-ID", ada), 201)
	if root.Sender != ada {
		t.Errorf("sender %s, want %s", root.Sender, ada)
	}
	toBob := decode[client.Message](t, w.do("POST", path, `{"content":{},"refs":{"nodes":["`+bob+`"]}}`, "X-Node-ID", ada), 201)

	read := func(path string, headers ...string) []string {
		return ids(decode[[]client.Message](t, w.do("GET", path, "", headers...), 200)...)
	}
	if got := read(path); !slices.Equal(got, ids(root)) {
		t.Errorf("nobody reads %v, want the roots", got)
	}
	if got := read(path, "X-Node-ID", bob); !slices.Equal(got, ids(root, toBob)) {
		t.Errorf("bob reads %v", got)
	}
	if got := read("/nodes/" + bob + "/inbox"); !slices.Equal(got, ids(toBob)) {
		t.Errorf("bob's inbox: %v", got)
	}
	wantProblem(t, w.do("GET", "/nodes/"+bob+"/inbox", "", "X-Node-ID", ada), 403, "")
	if got := read("/messages"); !slices.Equal(got, ids(root, toBob)) {
		t.Errorf("all messages: %v", got)
	}
	decode[client.Status](t, w.do("GET", "/admin/status", ""), 200)
	reg := decode[client.AuthResponse](t, w.do("POST", "/auth/register", `{"name":"eve"}`), 201)
	eve := user{w, reg}
	if m := eve.say(space, "x", nil, nil); m.Sender != reg.ID {
		t.Errorf("a token's Node is %s, the sender %s", reg.ID, m.Sender)
	}
	wantProblem(t, eve.do("GET", path, "", "X-Node-ID", ada), 403, "")
	if got := decode[[]client.Node](t, w.do("GET", "/nodes", ""), 200); len(got) != 3 {
		t.Errorf("%d Nodes, want 3", len(got))
	}
}
