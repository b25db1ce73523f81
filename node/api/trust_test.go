package api_test

// This file tests who may say whom the user trusts, and that envelopes show it.

import (
	"strings"
	"testing"

	"plexus/sdk/client"
)

func TestTrustRoutes(t *testing.T) {
	w := open(t)
	ada, bob := w.register("ada"), w.register("bob")
	space := ada.join("desk")
	h := []string{"X-Access-Key", w.key}
	for _, row := range []struct {
		path, body string
		status     int
	}{
		{"/trust/nodes/" + bob.ID, `{"level":"trusted"}`, 204},
		{"/trust/nodes/" + bob.ID, `{"level":"known","space_id":"` + space + `"}`, 204},
		{"/trust/nodes/" + bob.ID, `{"level":"nobody"}`, 422},
		{"/trust/nodes/" + bob.ID, `{"level":"known","space":"x"}`, 422},
		{"/trust/nodes/" + bob.ID, `{"level":"known","space_id":"x"}`, 404},
		{"/trust/nodes/x", `{"level":"known"}`, 404},
		{"/trust/actions", `{"action":"task/confirm","level":"trusted"}`, 204},
		{"/trust/actions", `{"action":"confirm","level":"trusted"}`, 422},
	} {
		if r := w.do("PUT", row.path, row.body, h...); r.status != row.status {
			t.Errorf("%s %s: %d %s, want %d", row.path, row.body, r.status, r.body, row.status)
		}
		if r := ada.do("PUT", row.path, row.body); r.status != 403 {
			t.Errorf("%s by a token: %d", row.path, r.status)
		}
	}
	for query, want := range map[string]string{"": client.TrustTrusted, "?space_id=" + space: client.TrustKnown} {
		p := decode[client.TrustPolicy](t, ada.do("GET", "/trust"+query, ""), 200)
		got := ""
		for _, n := range p.Nodes {
			if n.Node == bob.ID {
				got = n.Level
			}
		}
		if got != want || len(p.Actions) != 1 || p.Actions[0].Level != client.TrustTrusted {
			t.Errorf("%q: %+v, want %s", query, p, want)
		}
	}
	bob.say(space, "hi", nil, nil)
	if r := ada.do("GET", "/spaces/"+space+"/messages?all=true&format=synapse", ""); !strings.Contains(r.body, `"sender":{"agent_id":"`+bob.ID+`","trust_level":"known"}`) {
		t.Errorf("%s", r.body)
	}
	if r := ada.do("GET", "/messages?format=synapse", ""); !strings.Contains(r.body, `"trust_level":"known"}`) {
		t.Errorf("over Spaces: %s", r.body)
	}
	c := &client.Client{URL: w.url, AccessKey: w.key, HTTP: w.http}
	if err := c.SetTrust(t.Context(), bob.ID, client.TrustSet{Level: client.TrustDefault, SpaceID: space}); err != nil {
		t.Error(err)
	}
	if err := c.SetNeeded(t.Context(), client.TrustedAction{Action: "task/confirm", Level: client.TrustDefault}); err != nil {
		t.Error(err)
	}
	if p, err := c.Trust(t.Context(), space); err != nil || len(p.Actions) != 0 || len(p.Nodes) < 2 {
		t.Errorf("%+v %v", p, err)
	}
}
