package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"plexus/graph"
	"plexus/node/api"
	"plexus/sdk/client"
)

// echo is a Plugins whose commands answer with what they were asked.
type echo struct{}

func (echo) Plugins(_ context.Context, space string) ([]client.Plugin, error) {
	return []client.Plugin{{Name: "p", Accepts: []string{}, Views: []client.PluginAction{}, Commands: []client.PluginAction{{Name: "c", Params: json.RawMessage(`{"type":"object"}`)}}}}, nil
}

func (echo) Do(_ context.Context, space, plugin, command string, params json.RawMessage, caller string) ([]client.Message, error) {
	if command == "no" {
		return nil, fmt.Errorf("command no of %s: it is answered already: %w", plugin, graph.ErrInvalid)
	}
	content, err := json.Marshal(map[string]any{"at": space + "/" + plugin + "/" + command, "params": params})
	return []client.Message{{ID: "m", Sender: caller, Content: content}}, err
}

func TestCommands(t *testing.T) {
	w := open(t)
	ada := w.register("ada")
	h := api.New(api.Config{Accounts: w.node, Directory: w.node, Inbox: w.node, Views: w.node, Admin: w.node, Plugins: echo{}})
	u := user{w.over(h), ada.AuthResponse}
	for body, want := range map[string]string{"": `null`, `{"id":1.10}`: `{"id":1.10}`, "null": `null`} {
		r := u.do("POST", "/spaces/s/plugins/p/commands/c", body)
		var got []client.Message
		if err := json.Unmarshal([]byte(r.body), &got); err != nil || r.status != 201 || got[0].Sender != ada.ID || string(got[0].Content) != `{"at":"s/p/c","params":`+want+`}` {
			t.Errorf("%s: %d %s (%v)", body, r.status, r.body, err)
		}
	}
	wantProblem(t, u.do("POST", "/spaces/s/plugins/p/commands/c", "{"), 422, "the body is not valid JSON")
	wantProblem(t, u.do("POST", "/spaces/s/plugins/p/commands/c", "[1]"), 422, "the body must be a JSON object")
	if r := u.do("POST", "/spaces/s/plugins/p/commands/no", "{}"); r.status != 422 {
		t.Errorf("a refusal: %d %s", r.status, r.body)
	}
	if r := u.do("GET", "/spaces/s/plugins", ""); r.status != 200 || r.body[0] != '[' {
		t.Errorf("list: %d %s", r.status, r.body)
	}
	if r := w.over(h).do("POST", "/spaces/s/plugins/p/commands/c", "{}"); r.status != 401 {
		t.Errorf("without a token: %d", r.status)
	}
}

func TestNodeWithoutPlugins(t *testing.T) {
	w := open(t)
	ada := w.register("ada")
	h := api.New(api.Config{Accounts: w.node, Directory: w.node, Inbox: w.node, Views: w.node, Admin: w.node})
	u := user{w.over(h), ada.AuthResponse}
	if r := u.do("GET", "/spaces/s/plugins", ""); r.body != "[]" {
		t.Errorf("list: %d %s", r.status, r.body)
	}
	wantProblem(t, u.do("POST", "/spaces/s/plugins/p/commands/c", "{}"), 422, "this node runs no plugins")
}
