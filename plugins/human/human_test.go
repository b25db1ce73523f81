package human

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"plexus/sdk/plugin"
)

func TestMain(m *testing.M) {
	plugin.Clock = start
	goleak.VerifyTestMain(m)
}

// start is what commands take for now: these tests' messages are said in 1970.
const start = 1_000_000

type trial struct {
	*plugin.Trial
	t *testing.T
}

func newTrial(t *testing.T) trial {
	r := trial{plugin.NewTrial(Plugin()), t}
	r.Nodes = map[string]string{"hal": "writer/human", "hut": "writer/human"}
	return r
}

// commandAt asks a command at a second, 0 for the beginning.
func (r trial) commandAt(second int, name string, params plugin.Map, by string) error {
	defer func(before int64) { plugin.Clock = before }(plugin.Clock)
	plugin.Clock = max(start, int64(second)*1_000_000)
	_, err := r.Command(name, params, by)
	return err
}

// say folds a message at a second (0: the next); hal and hut are humans. A refusal must have want in it, "" is none, "*" any.
func (r trial) say(second int, by, what string, content plugin.Map, want string, refs ...string) string {
	r.t.Helper()
	m := plugin.Message{Sender: by, Type: what, Parents: refs, Time: int64(second) * 1_000_000, Kind: "agent"}
	if by[0] == 'h' {
		m.Kind = "human"
	}
	id, err := r.Send(m, content)
	if ok := err == nil && want == "" || err != nil && (want == "*" || want != "" && strings.Contains(err.Error(), want)); !ok {
		r.t.Errorf("%s %s %v: %v, want %q", by, what, content, err, want)
	}
	return id
}

func (r trial) ask(content plugin.Map, nodes ...string) string {
	r.t.Helper()
	c := plugin.Map{"question": "Deploy?"}
	for k, v := range content {
		c[k] = v
	}
	id, err := r.Send(plugin.Message{Sender: "ann", Type: Escalate, Nodes: nodes}, c)
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// state prints a decision: status outcome by-whom, ! where settled, ~ where reversed.
func (r trial) state(id string) string {
	r.t.Helper()
	v, err := r.View("decision", plugin.Map{"on": id}, "")
	if err != nil {
		r.t.Fatal(err)
	}
	out := v.Get("status").Text()
	if o := v.Get("outcome").Text(); o != "" {
		out += " " + o
	}
	if v.Get("settled").Bool() {
		out += "!"
	}
	if v.Get("reversed").Bool() {
		out += "~"
	}
	return out
}

func decision(option string) plugin.Map { return plugin.Map{"decision": option} }

const due = 1000 // seconds: the deadline where there is one

// Every message in every state, by everybody: bob (an agent) and hal (a human) are asked by ann.
func TestEveryTransition(t *testing.T) {
	type way struct {
		by, what string
		content  plugin.Map
		second   int
	}
	ways := map[string][]way{
		"pending":          nil,
		"decided approve":  {{"bob", Decision, decision(Approve), 0}},
		"decided reject":   {{"hal", Decision, decision(Reject), 0}},
		"expired reject":   {{"eve", Timeout, nil, due + 1}},
		"cancelled":        {{"ann", Cancel, nil, 0}},
		"decided approve!": {{"bob", Decision, decision(Approve), 0}, {"ann", Resume, nil, 0}},
	}
	says := map[string]way{
		"decide": {"", Decision, decision(Reject), 0}, "delegate": {"", Delegate, plugin.Map{"to": "dan"}, 0}, "edit": {"", Edit, plugin.Map{"proposal": "p"}, 0},
		"timeout": {"", Timeout, nil, due + 1}, "resume": {"", Resume, nil, 0}, "cancel": {"", Cancel, nil, 0},
	}
	// want has what is legal, "state/what/by" → the state after; all else is refused. The hearing node knows the state it speaks to.
	want := map[string]string{
		"pending/decide/bob": "decided reject", "pending/decide/hal": "decided reject", "pending/delegate/bob": "pending", "pending/delegate/hal": "pending",
		"pending/edit/bob": "decided approve", "pending/edit/hal": "decided approve", "pending/edit/ann": "pending", "pending/cancel/ann": "cancelled",
		"decided approve/decide/hal": "decided reject", "decided approve/resume/ann": "decided approve!", "decided reject/resume/ann": "decided reject!",
		"expired reject/resume/ann": "expired reject!", "decided approve!/decide/hal": "decided reject~",
	}
	for _, by := range []string{"ann", "bob", "hal", "eve", "hut"} {
		want["pending/timeout/"+by] = "expired reject"
	}
	for state, before := range ways {
		for name, w := range says {
			for _, by := range []string{"ann", "bob", "hal", "eve", "hut"} {
				r := newTrial(t)
				d := r.ask(plugin.Map{"deadline": "1970-01-01T00:16:40Z"}, "bob", "hal")
				last := d
				for _, b := range before {
					last = r.say(b.second, b.by, b.what, b.content, "", last)
				}
				if got := r.state(d); got != state {
					t.Fatalf("the way to %s leads to %s", state, got)
				}
				next, legal := want[state+"/"+name+"/"+by]
				refused := "*"
				if legal {
					refused = ""
				} else {
					next = state
				}
				params := plugin.Map{"on": d}
				for k, v := range w.content {
					params[k] = v
				}
				if err := r.commandAt(w.second, name, params, by); (err == nil) != legal {
					t.Errorf("%s: command %s by %s: %v, want legal %v", state, name, by, err, legal)
				}
				r.say(w.second, by, w.what, w.content, refused, last)
				if got := r.state(d); got != next {
					t.Errorf("%s: after %s by %s it is %s, want %s", state, name, by, got, next)
				}
			}
		}
	}
}

func TestMOfN(t *testing.T) {
	for _, row := range []struct{ votes, want string }{
		{"bob+", "pending"},
		{"bob+ cem+", "decided approve"},
		{"bob- cem+", "pending"},
		{"bob- cem-", "decided reject"},
		{"bob- cem+ dan+", "decided approve"},
		{"bob+ bob- cem-", "decided reject"},
		{"bob+ cem+ dan-", "decided approve"},
		{"hal- bob+ cem+", "pending"},
		{"bob+ cem+ hal-", "pending"},
		{"bob+ hal+ cem-", "decided approve"},
	} {
		r := newTrial(t)
		d := r.ask(plugin.Map{"need": 2}, "bob", "cem", "dan", "hal")
		for _, v := range strings.Fields(row.votes) {
			option := Approve
			if v[3] == '-' {
				option = Reject
			}
			r.say(0, v[:3], Decision, decision(option), "", d) // none knows of another
		}
		if got := r.state(d); got != row.want {
			t.Errorf("%s: %s, want %s", row.votes, got, row.want)
		}
	}
}

// The first in canonical order holds until who asked acts on a vote, which settles; a human's word outranks it still.
func TestABackdatedVoteLosesToASettlement(t *testing.T) {
	for _, backdated := range []bool{false, true} {
		r := newTrial(t)
		d := r.ask(nil, "bob", "cem", "hal")
		if backdated {
			r.say(0, "cem", Decision, decision(Reject), "", d)
		}
		v := r.say(0, "bob", Decision, decision(Approve), "", d)
		done := r.say(0, "ann", Resume, nil, "", v)
		r.say(0, "ann", Resume, nil, "acted on already", done)
		if got := r.state(d); got != "decided approve!" {
			t.Errorf("backdated %v: %s", backdated, got)
		}
		r.say(0, "hal", Decision, decision(Reject), "", done)
		if got := r.state(d); got != "decided reject~" {
			t.Errorf("the human's word: %s", got)
		}
	}
}

func TestWhoMayDecide(t *testing.T) {
	r := newTrial(t)
	d := r.ask(nil)
	r.say(0, "bob", Decision, decision(Approve), "for a human", d)
	r.say(0, "hal", Delegate, plugin.Map{"to": "bob"}, "nobody is named", d)
	r.say(0, "hal", Decision, decision("maybe"), "one of the options", d)
	r.say(0, "hal", Decision, decision(Approve), "", d)

	d = r.ask(nil, "bob", "cem")
	r.say(0, "bob", Delegate, plugin.Map{"to": "cem"}, "isn't asked already", d)
	r.say(0, "bob", Delegate, plugin.Map{"to": "dan"}, "", d)
	r.say(0, "bob", Decision, decision(Approve), "for others", d)
	r.say(0, "bob", Edit, plugin.Map{"proposal": "p"}, "for others", d)
	r.say(0, "dan", Edit, nil, "needs content.proposal", d)
	r.say(0, "dan", Decision, decision(Approve), "", d)

	d = r.ask(plugin.Map{"need": 2}, "bob", "cem")
	r.say(0, "bob", Decision, decision(Approve), "", d)
	r.say(0, "bob", Delegate, plugin.Map{"to": "dan"}, "decided already", d)
	r.say(0, "cem", Decision, decision(Approve), "") // about something else: not refused
	r.say(0, "cem", Resume, nil, "must name the escalation")
}

// Levels: each has its time; the next is asked besides; the last ends it.
func TestLevels(t *testing.T) {
	r := newTrial(t)
	levels := []any{plugin.Map{"nodes": []string{"bob"}, "timeout_s": 10}, plugin.Map{"nodes": []string{"hal"}, "timeout_s": 20}}
	d := r.say(100, "ann", Escalate, plugin.Map{"question": "?", "levels": levels, "at_deadline": Approve}, "")
	r.say(110, "eve", Timeout, nil, "no time", d)
	r.say(105, "hal", Decision, decision(Approve), "for others", d)
	r.say(111, "eve", Timeout, nil, "", d)
	if v, _ := r.View("waiting", nil, "hal"); v.Get("decisions").Len() != 1 {
		t.Error("the next level isn't asked")
	}
	r.say(131, "eve", Timeout, nil, "no time", d)
	r.say(132, "hal", Decision, decision(Reject), "expired at 1970-01-01T00:02:11.000000Z: the decision is approve", d)
	r.say(132, "eve", Timeout, nil, "", d)
	r.say(133, "hal", Decision, decision(Reject), "this decision is expired: it is approve", d)
	if got := r.state(d); got != "expired approve" {
		t.Error(got)
	}
}

func TestAnEditBeginsAnew(t *testing.T) {
	r := newTrial(t)
	d := r.ask(plugin.Map{"need": 2, "proposal": plugin.Map{"n": 1}}, "bob", "cem", "dan")
	r.say(0, "bob", Decision, decision(Approve), "", d)
	e := r.say(0, "cem", Edit, plugin.Map{"proposal": plugin.Map{"n": 2}}, "", d)
	v, _ := r.View("decision", plugin.Map{"on": d}, "")
	if n, _ := v.Get("proposal").Get("n").Int(); n != 2 || v.Get("votes").Len() != 1 || r.state(d) != "pending" {
		t.Errorf("proposal %d, %d votes", n, v.Get("votes").Len())
	}
	r.say(0, "bob", Decision, decision(Approve), "", e)
	if got := r.state(d); got != "decided approve" {
		t.Error(got)
	}
}

func TestEscalationsThatAreRefused(t *testing.T) {
	many := strings.Fields(strings.Repeat("n ", maxNodes+1))
	options := make([]string, maxOptions+1)
	for i := range options {
		options[i] = fmt.Sprint(i)
	}
	level := func(n, seconds int) plugin.Map {
		return plugin.Map{"nodes": many[:n], "timeout_s": seconds}
	}
	for _, row := range []struct {
		content plugin.Map
		nodes   []string
		refused string
	}{
		{plugin.Map{"question": ""}, nil, "content.question"},
		{plugin.Map{"options": []string{}}, nil, "1 to 16"},
		{plugin.Map{"options": options}, nil, "1 to 16"},
		{plugin.Map{"options": options[1:]}, nil, ""},
		{plugin.Map{"options": []string{"a", "a"}}, nil, "different"},
		{plugin.Map{"options": []string{strings.Repeat("x", maxOption+1)}}, nil, "1 to 128"},
		{plugin.Map{"need": 3}, []string{"bob", "cem"}, "from 1 to how many"},
		{plugin.Map{"need": 2}, []string{"bob", "cem"}, ""},
		{plugin.Map{"need": 0}, nil, "from 1 to how many"},
		{plugin.Map{"at_deadline": "maybe"}, nil, "at_deadline"},
		{plugin.Map{"deadline": "soon"}, nil, "deadline must be"},
		{nil, many, "at most 64"},
		{nil, many[1:], ""},
		{plugin.Map{"levels": []any{}}, nil, "1 to 8"},
		{plugin.Map{"levels": slices.Repeat([]any{level(1, 1)}, maxLevels+1)}, nil, "1 to 8"},
		{plugin.Map{"levels": slices.Repeat([]any{level(8, 1)}, maxLevels)}, nil, ""},
		{plugin.Map{"levels": []any{level(9, 1)}}, nil, "at most 8"},
		{plugin.Map{"levels": []any{level(0, 1)}}, nil, "needs nodes"},
		{plugin.Map{"levels": []any{level(1, maxTimeout+1)}}, nil, "timeout_s"},
		{plugin.Map{"levels": []any{level(1, 1)}, "deadline": "2030-01-01T00:00:00Z"}, nil, "with levels"},
	} {
		c := plugin.Map{"question": "?"}
		for k, v := range row.content {
			c[k] = v
		}
		r := newTrial(t)
		_, err := r.Send(plugin.Message{Sender: "ann", Type: Escalate, Nodes: row.nodes}, c)
		if row.refused == "" && err != nil || row.refused != "" && (err == nil || !strings.Contains(err.Error(), row.refused)) {
			t.Errorf("%v: %v, want %q", row.content, err, row.refused)
		}
		c["nodes"] = row.nodes
		if _, err := r.Command("escalate", c, "ann"); (err != nil) != (row.refused != "") {
			t.Errorf("command %v: %v", row.content, err)
		}
	}
}

func TestLists(t *testing.T) {
	r := newTrial(t)
	a := r.ask(nil, "bob")
	b := r.ask(nil)
	c := r.ask(nil, "cem")
	r.say(0, "cem", Decision, decision(Approve), "", c)
	for _, row := range []struct {
		view   string
		params plugin.Map
		caller string
		want   string
	}{
		{"waiting", nil, "", a + " " + b},
		{"waiting", nil, "bob", a + " " + b},
		{"waiting", nil, "hal", b},
		{"waiting", nil, "ann", ""},
		{"waiting", plugin.Map{"node": "cem"}, "bob", b},
		{"all", plugin.Map{"status": "decided"}, "", c},
		{"all", nil, "", a + " " + b + " " + c},
	} {
		v, err := r.View(row.view, row.params, row.caller)
		var got []string
		for item := range v.Get("decisions").Items() {
			got = append(got, item.Get("decision").Text())
		}
		if err != nil || strings.Join(got, " ") != row.want {
			t.Errorf("%s %v by %s: %v %v, want %s", row.view, row.params, row.caller, got, err, row.want)
		}
	}
	if _, err := r.View("decision", plugin.Map{"on": "x"}, ""); err == nil {
		t.Error("an unknown decision is shown")
	}
}
