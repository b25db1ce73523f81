package api_test

// This file tests the host's own routes.

import (
	"strings"
	"testing"

	"plexus/sdk/client"
)

func TestAdmin(t *testing.T) {
	w := serve(t, true)
	ada := w.register("ada")
	space := ada.join("desk")
	ada.say(space, "x", nil, nil)
	key := []string{"X-Access-Key", w.key}
	if st := decode[client.Status](t, w.do("GET", "/admin/status", "", key...), 200); st.Host == "" {
		t.Errorf("status %+v", st)
	}
	if r := w.do("GET", "/admin/status", "", "Authorization", basic(w.key)); r.status != 200 {
		t.Errorf("the key as the URL's user: %d %s", r.status, r.body)
	}
	if r := w.do("GET", "/admin/invites", "", key...); r.body != "[]" {
		t.Errorf("no invites: %s", r.body)
	}
	inv := decode[client.Invite](t, w.do("POST", "/admin/invites", `{}`, key...), 201)
	if !strings.HasPrefix(inv.Ticket, "plexus1") {
		t.Errorf("invite %+v", inv)
	}
	if r := w.do("DELETE", "/admin/invites/"+inv.ID, "", key...); r.status != 204 {
		t.Errorf("revoke the invite: %d %s", r.status, r.body)
	}
	wantProblem(t, w.do("POST", "/admin/join", `{"ticket":"plexus1nonsense"}`, key...), 422, "")
	wantProblem(t, w.do("POST", "/admin/revoke", `{"subject":"nobody"}`, key...), 404, "Node 'nobody' not found")
	if rep := decode[client.VerifyReport](t, w.do("POST", "/admin/verify", "", key...), 200); len(rep.Problems) != 0 {
		t.Errorf("verify %+v", rep)
	}
	for _, off := range []string{"true", "false"} {
		if r := w.do("POST", "/admin/offline", `{"offline":`+off+`}`, key...); r.body != `{"offline":`+off+`}` {
			t.Errorf("offline: %d %s", r.status, r.body)
		}
	}
	car := w.do("GET", "/admin/spaces/"+space+"/export", "", key...)
	if car.status != 200 || car.header.Get("Content-Type") != "application/vnd.ipld.car" || car.body == "" {
		t.Errorf("export: %d %q, %d bytes", car.status, car.header.Get("Content-Type"), len(car.body))
	}
	in := decode[client.ImportResult](t, w.do("POST", "/admin/import", car.body, key...), 200)
	if in.Space != space || in.New != 0 || in.Known == 0 {
		t.Errorf("import of what is here: %+v", in)
	}
}
