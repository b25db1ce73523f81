package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
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

func (echo) Pin(_ context.Context, space string, in client.Pin) (client.Pinned, error) {
	if in.Name == "no" {
		return client.Pinned{}, fmt.Errorf("the file is no plugin: %w", graph.ErrInvalid)
	}
	return client.Pinned{File: in.CID, Plugins: []string{space, in.Name, fmt.Sprint(len(in.Wasm))}}, nil
}

func (echo) DiffPlugin(_ context.Context, space string, in client.PluginDiffAsk) ([]client.PluginDiff, error) {
	return []client.PluginDiff{{Space: space, Plugin: in.Name, New: client.PluginSide{File: in.CID, Bytes: int64(len(in.Wasm)), Version: in.View + string(in.Params)}}}, nil
}

func (echo) Bisect(_ context.Context, space, plugin string, in client.BisectAsk) (client.Bisection, error) {
	return client.Bisection{Space: space, Plugin: plugin, Peer: in.Peer, Agree: true}, nil
}

func (echo) Grant(_ context.Context, _, plugin string, grants []string) (client.PluginGrants, error) {
	return client.PluginGrants{Asks: []string{plugin}, Granted: grants}, nil
}

func (echo) React(_ context.Context, _, plugin, _ string, on bool) error {
	if plugin != "p" || !on {
		return fmt.Errorf("plugin %s doesn't react: %w", plugin, graph.ErrInvalid)
	}
	return nil
}

func (echo) Unpin(_ context.Context, _, plugin string) error {
	if plugin == "no" {
		return fmt.Errorf("no such pin: %w", graph.ErrNotFound)
	}
	return nil
}

func TestDiffAndBisect(t *testing.T) {
	w := open(t)
	h := api.New(api.Config{Accounts: w.node, Directory: w.node, Inbox: w.node, Views: w.node, Admin: w.node, Plugins: echo{}})
	key := []string{"X-Access-Key", w.key}
	wasm := append([]string{"Content-Type", "application/wasm"}, key...)
	for _, c := range []struct {
		path, body string
		header     []string
		status     int
		want       string
	}{
		{"/spaces/s/plugins/diff", `{"cid":"c","name":"n","view":"v","params":{"a":1}}`, key, 200, `"version":"v{\"a\":1}"`},
		{"/spaces/s/plugins/diff?name=n&view=v&params=%7B%7D", "wasm", wasm, 200, `"version":"v{}","hash":"","folded":0,"marked":0,"bytes":4`},
		{"/spaces/s/plugins/diff?params=x", "wasm", wasm, 422, "params"},
		{"/spaces/s/plugins/diff", strings.Repeat("x", 16<<20+1), wasm, 413, "over 16777216 bytes"},
		{"/spaces/s/plugins/diff", `{}`, key, 422, "cid is required"},
		{"/spaces/s/plugins/diff", `{"cid":"c"}`, nil, 401, "access key"},
		{"/spaces/s/plugins/p/bisect", `{"peer":"x"}`, key, 200, `"plugin":"p","file":"","peer":"x","agree":true`},
		{"/spaces/s/plugins/p/bisect", `{}`, nil, 401, "access key"},
	} {
		if r := w.over(h).do("POST", c.path, c.body, c.header...); r.status != c.status || !strings.Contains(r.body, c.want) {
			t.Errorf("%s %.30s: %d %s", c.path, c.body, r.status, r.body)
		}
	}
}

func TestPins(t *testing.T) {
	w := open(t)
	ada := w.register("ada")
	h := api.New(api.Config{Accounts: w.node, Directory: w.node, Inbox: w.node, Views: w.node, Admin: w.node, Plugins: echo{}})
	u, key := user{w.over(h), ada.AuthResponse}, []string{"X-Access-Key", w.key}
	wasm := append([]string{"Content-Type", "application/wasm"}, key...)
	for _, c := range []struct {
		path, body string
		header     []string
		status     int
		want       string
	}{
		{"/spaces/s/plugins", `{"cid":"c","name":"n"}`, key, 201, `{"file":"c","plugins":["s","n","0"]}`},
		{"/spaces/s/plugins?cid=c&name=n", "wasm", wasm, 201, `{"file":"c","plugins":["s","n","4"]}`},
		{"/spaces/s/plugins", strings.Repeat("x", 16<<20), wasm, 201, `{"file":"","plugins":["s","","16777216"]}`},
		{"/spaces/s/plugins", strings.Repeat("x", 16<<20+1), wasm, 413, "over 16777216 bytes"},
		{"/spaces/s/plugins", "{}", key, 422, "cid is required"},
		{"/spaces/s/plugins", `{"wasm":"x"}`, key, 422, "wasm"},
		{"/spaces/s/plugins?name=no", "wasm", wasm, 422, "the file is no plugin"},
		{"/spaces/s/plugins", `{"cid":"c"}`, nil, 401, "access key"},
	} {
		if r := w.over(h).do("POST", c.path, c.body, c.header...); r.status != c.status || !strings.Contains(r.body, c.want) {
			t.Errorf("%s %.30s: %d %s", c.path, c.body, r.status, r.body)
		}
	}
	if r := u.do("DELETE", "/spaces/s/plugins/p", ""); r.status != 403 {
		t.Errorf("unpin with a token alone: %d", r.status)
	}
	if r := w.over(h).do("DELETE", "/spaces/s/plugins/p", "", key...); r.status != 204 {
		t.Errorf("unpin: %d", r.status)
	}
	if r := w.over(h).do("DELETE", "/spaces/s/plugins/no", "", key...); r.status != 404 {
		t.Errorf("unpin what isn't pinned: %d", r.status)
	}
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
	if r := u.do("PUT", "/spaces/s/plugins/p/react", `{"on":true}`); r.status != 204 {
		t.Errorf("react: %d %s", r.status, r.body)
	}
	if r := u.do("PUT", "/spaces/s/plugins/q/react", `{"on":true}`); r.status != 422 {
		t.Errorf("react where there is none: %d %s", r.status, r.body)
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
