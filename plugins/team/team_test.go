package team

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"plexus/sdk/plugin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type trial struct {
	*plugin.Trial
	t *testing.T
}

// say folds a message; a refusal must have want in it, "" is none.
func (r trial) say(by, what string, content plugin.Map, want string) {
	r.t.Helper()
	role := "writer"
	if by == "boss" {
		role = "admin"
	}
	_, err := r.Send(plugin.Message{Sender: by, Type: what, Role: role}, content)
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		r.t.Errorf("%s %s %v: %v, want %q", by, what, content, err, want)
	}
}

// list asks a view and joins one field of its items.
func (r trial) list(view, list, field string, params plugin.Map, caller string) string {
	r.t.Helper()
	v, err := r.View(view, params, caller)
	if err != nil {
		return err.Error()
	}
	var out []string
	for item := range v.Get(list).Items() {
		out = append(out, item.Get(field).Text())
	}
	return strings.Join(out, " ")
}

func TestWhatMayBeSaid(t *testing.T) {
	r := trial{plugin.NewTrial(Plugin()), t}
	long := strings.Repeat("x", maxName)
	for _, row := range []struct {
		by, what string
		content  plugin.Map
		refused  string
	}{
		{"ann", Type, plugin.Map{"team": "red", "text": "hello"}, ""},
		{"ann", Type, plugin.Map{"team": "red"}, "needs content.text"},
		{"ann", Type, plugin.Map{"text": "hello"}, "team must be"},
		{"ann", Type, plugin.Map{"team": long, "text": "x"}, ""},
		{"ann", Type, plugin.Map{"team": long + "x", "text": "x"}, "team must be"},
		{"ann", Type, plugin.Map{"team": "a\x00b", "text": "x"}, "team must be"},
		{"ann", Join, plugin.Map{"team": "red", "role": long, "capabilities": []string{"go"}}, ""},
		{"ann", Join, plugin.Map{"team": "red", "role": long + "x"}, "role must be"},
		{"ann", Join, plugin.Map{"team": "red", "capabilities": []any{1}}, "each of capabilities"},
		{"ann", Join, plugin.Map{"team": "red", "capabilities": strings.Fields(strings.Repeat("c ", maxCapabilities))}, ""},
		{"ann", Join, plugin.Map{"team": "red", "capabilities": strings.Fields(strings.Repeat("c ", maxCapabilities+1))}, "at most 32"},
		{"bob", Leave, plugin.Map{"team": "red"}, "aren't in team red"},
		{"bob", Role, plugin.Map{"team": "red", "node": "ann", "role": "lead"}, "only an admin"},
		{"boss", Role, plugin.Map{"team": "red", "node": "bob", "role": "lead"}, "must be a member"},
		{"boss", Role, plugin.Map{"team": "red", "node": "ann", "role": long + "x"}, "role must be"},
		{"boss", Role, plugin.Map{"team": "red", "node": "ann", "role": "lead"}, ""},
		{"ann", Leave, plugin.Map{"team": "red"}, ""},
		{"ann", Leave, plugin.Map{"team": "red"}, "aren't in team red"},
	} {
		r.say(row.by, row.what, row.content, row.refused)
	}
}

func TestMembership(t *testing.T) {
	r := trial{plugin.NewTrial(Plugin()), t}
	r.say("ann", Join, plugin.Map{"team": "red", "role": "coder", "capabilities": []string{"go", "sql"}}, "")
	r.say("bob", Join, plugin.Map{"team": "red", "capabilities": []string{"go"}}, "")
	r.say("bob", Join, plugin.Map{"team": "red/blue", "capabilities": []string{"go"}}, "")
	r.say("boss", Role, plugin.Map{"team": "red", "node": "ann", "role": "lead"}, "")
	r.say("ann", Join, plugin.Map{"team": "red", "role": "coder", "capabilities": []string{"go"}}, "") // the admin's word stays
	r.say("eve", Type, plugin.Map{"team": "red", "text": "hello"}, "")
	for _, row := range []struct {
		view, list, field string
		params            plugin.Map
		caller, want      string
	}{
		{"teams", "teams", "team", nil, "", "red red/blue"},
		{"members", "members", "node", plugin.Map{"team": "red"}, "", "ann bob"},
		{"members", "members", "node", plugin.Map{"team": "red", "role": "lead"}, "", "ann"},
		{"find", "found", "node", plugin.Map{"capability": "go"}, "", "ann bob bob"},
		{"find", "found", "node", plugin.Map{"capability": "go", "team": "red/blue"}, "", "bob"},
		{"find", "found", "node", plugin.Map{"capability": "sql"}, "", ""},
		{"mine", "teams", "team", nil, "bob", "red red/blue"},
		{"mine", "teams", "team", plugin.Map{"node": "ann"}, "bob", "red"},
		{"mine", "teams", "team", nil, "", "say whose: node is required where nobody is signed in"},
		{"said", "messages", "text", plugin.Map{"team": "red"}, "", "hello"},
		{"said", "messages", "text", nil, "", "team must be a text of 1 to 80 bytes"},
	} {
		if got := r.list(row.view, row.list, row.field, row.params, row.caller); got != row.want {
			t.Errorf("%s %v by %s: %q, want %q", row.view, row.params, row.caller, got, row.want)
		}
	}
	r.say("boss", Role, plugin.Map{"team": "red", "node": "ann"}, "")
	r.say("bob", Leave, plugin.Map{"team": "red"}, "")
	if got := r.list("find", "found", "team", plugin.Map{"capability": "go"}, ""); got != "red red/blue" {
		t.Errorf("after leaving: %q", got)
	}
	if got := r.list("members", "members", "role", plugin.Map{"team": "red"}, ""); got != "" {
		t.Errorf("the role taken away is %q", got)
	}
}

func TestCommands(t *testing.T) {
	r := trial{plugin.NewTrial(Plugin()), t}
	r.say("ann", Join, plugin.Map{"team": "red"}, "")
	r.say("bob", Join, plugin.Map{"team": "red"}, "")
	give := plugin.Map{"team": "red", "node": "bob", "role": "lead"}
	if _, err := r.Command("role", give, "ann"); err == nil {
		t.Error("who is no admin gives a role")
	}
	r.Nodes = map[string]string{"ann": "admin/human"}
	for _, row := range []struct {
		command string
		params  plugin.Map
		nodes   int
		refused bool
	}{
		{"say", plugin.Map{"team": "red", "text": "hi"}, 0, false},
		{"say", plugin.Map{"team": "red", "text": "hi", "notify": true}, 1, false},
		{"say", plugin.Map{"team": "red"}, 0, true},
		{"say", plugin.Map{"text": "hi"}, 0, true},
		{"join", plugin.Map{"team": "blue", "role": "r", "capabilities": []string{"go"}}, 0, false},
		{"join", plugin.Map{"team": "blue", "role": ""}, 0, true},
		{"leave", plugin.Map{"team": "red"}, 0, false},
		{"leave", plugin.Map{"team": "blue"}, 0, true},
		{"role", give, 1, false},
		{"role", plugin.Map{"team": "red", "node": "eve", "role": "lead"}, 0, true},
	} {
		d, err := r.Command(row.command, row.params, "ann")
		if (err != nil) != row.refused || err == nil && len(d[0].Nodes) != row.nodes {
			t.Errorf("%s %v: %v %v", row.command, row.params, d, err)
		}
	}
	for i := range maxNotify {
		r.say("n"+strings.Repeat("x", i), Join, plugin.Map{"team": "red"}, "")
	}
	if _, err := r.Command("say", plugin.Map{"team": "red", "text": "hi", "notify": true}, "ann"); err == nil {
		t.Error("more than 64 are named")
	}
}
