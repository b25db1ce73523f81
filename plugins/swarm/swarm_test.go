package swarm

import (
	"fmt"
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

func newTrial(t *testing.T) trial { return trial{plugin.NewTrial(Plugin()), t} }

// say folds a message at a second; a refusal must have want in it, "" is none. phase "" leaves it to be guessed, "reply" is an
// untyped message.
func (r trial) say(at int, by, phase, want string, refs []string, eta int, scopes ...string) string {
	r.t.Helper()
	content, what, meta := plugin.Map{"content": "words"}, Type, plugin.Map{}
	if len(scopes) > 0 {
		content["targets"] = scopes
	}
	if eta > 0 {
		meta["eta_s"] = eta
	}
	if phase == "reply" {
		what = ""
	} else if phase != "" {
		meta["phase"] = phase
	}
	if len(meta) > 0 {
		content["meta"] = meta
	}
	id, err := r.Send(plugin.Message{Sender: by, Type: what, Parents: refs, Time: int64(at) * 1_000_000}, content)
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		r.t.Errorf("%s %s %v: %v, want %q", by, phase, scopes, err, want)
	}
	return id
}

// scopes prints an objective's scopes: name:status:by, with ! where settled.
func (r trial) scopes(o string, params plugin.Map) string {
	r.t.Helper()
	p := plugin.Map{"objective": o}
	for k, v := range params {
		p[k] = v
	}
	v, err := r.View("scopes", p, "")
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for item := range v.Get("scopes").Items() {
		text := item.Get("scope").Text() + ":" + item.Get("status").Text() + ":" + item.Get("by").Text()
		if item.Get("settled").Bool() {
			text += "!"
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// Every phase against every state of the scope a.
func TestEveryTransition(t *testing.T) {
	type row struct{ by, phase, refused, scope string }
	for state, test := range map[string]struct {
		before []string // phases: bob's, but for the author's "settle" and "end"
		rows   []row
	}{
		"free": {nil, []row{
			{"bob", Claim, "", "a:claimed:bob"}, {"bob", Report, "isn't yours", "a:free:"}, {"bob", Finding, "", "a:free:"}, {"bob", Introduce, "", "a:free:"}, {"bob", Converge, "", "a:free:"},
		}},
		"claimed": {[]string{Claim}, []row{
			{"bob", Claim, "", "a:claimed:bob"}, {"cem", Claim, "", "a:claimed:bob"}, {"bob", Report, "", "a:reported:bob"}, {"cem", Report, "it is with bob", "a:claimed:bob"}, {"cem", Finding, "", "a:claimed:bob"},
		}},
		"settled": {[]string{Claim, "settle"}, []row{
			{"bob", Claim, "", "a:claimed:bob!"}, {"cem", Claim, "", "a:claimed:bob!"}, {"bob", Report, "", "a:reported:bob!"},
		}},
		"reported": {[]string{Claim, Report}, []row{
			{"bob", Claim, "already reported", "a:reported:bob"}, {"cem", Claim, "already reported", "a:reported:bob"}, {"bob", Report, "haven't reported", "a:reported:bob"}, {"bob", Finding, "", "a:reported:bob"},
		}},
		"converged": {[]string{Claim, "end"}, []row{
			{"cem", Claim, "has converged", "a:claimed:bob"}, {"bob", Report, "has converged", "a:claimed:bob"}, {"bob", Finding, "", "a:claimed:bob"}, {"bob", Introduce, "has converged", "a:claimed:bob"}, {"ann", Converge, "has converged", "a:claimed:bob"},
		}},
	} {
		for _, row := range test.rows {
			r := newTrial(t)
			o := r.say(1, "ann", Objective, "", nil, 0, "a")
			last := o
			for i, b := range test.before {
				switch b {
				case "settle":
					r.say(2+i, "ann", "reply", "", []string{last}, 0)
				case "end":
					r.say(2+i, "ann", Converge, "", []string{o}, 0)
				default:
					last = r.say(2+i, "bob", b, "", []string{o}, 0, "a")
				}
			}
			r.say(9, row.by, row.phase, row.refused, []string{o}, 0, "a")
			if got := r.scopes(o, nil); got != row.scope {
				t.Errorf("%s: after %s by %s: %s, want %s", state, row.phase, row.by, got, row.scope)
			}
		}
	}
}

// Agents who know no phases are taken for what they seem.
func TestGuesses(t *testing.T) {
	r := newTrial(t)
	o := r.say(1, "ann", "", "", nil, 0, "a", "b")
	r.say(2, "bob", "", "", []string{o}, 0)      // introduces itself
	r.say(3, "bob", "", "", []string{o}, 0, "a") // claims
	r.say(4, "bob", "", "", []string{o}, 0)      // shares
	r.say(5, "ann", "", "", []string{o}, 0)      // shares
	if got := r.scopes(o, nil); got != "a:claimed:bob b:free:" {
		t.Error(got)
	}
	for view, want := range map[string]int{"members": 1, "findings": 2} {
		if v, err := r.View(view, plugin.Map{"objective": o}, ""); err != nil || v.Get(view).Len() != want {
			t.Errorf("%s: %d, want %d (%v)", view, v.Get(view).Len(), want, err)
		}
	}
	if v, _ := r.View("objectives", nil, ""); v.Get("objectives").Len() != 1 {
		t.Error("objectives")
	}
}

func TestTakeoverOfTheSilent(t *testing.T) {
	for _, test := range []struct {
		name   string
		speaks int // when bob says something more; 0: never
		at     int // when cem claims
		eta    int
		want   string
	}{
		{"in time", 0, 12, 10, "a:claimed:bob"},
		{"past its ETA", 0, 13, 10, "a:claimed:cem"},
		{"it spoke", 8, 18, 10, "a:claimed:bob"},
		{"it spoke, and fell silent", 8, 19, 10, "a:claimed:cem"},
		{"no ETA", 0, 1000, 0, "a:claimed:bob"},
	} {
		r := newTrial(t)
		o := r.say(1, "ann", Objective, "", nil, 0, "a")
		r.say(2, "bob", Claim, "", []string{o}, test.eta, "a")
		if test.speaks > 0 {
			r.say(test.speaks, "bob", Finding, "", []string{o}, 0)
		}
		now := plugin.Time(int64(test.at) * 1_000_000)
		overdue := strings.HasSuffix(test.want, "cem")
		if got := r.scopes(o, plugin.Map{"now": now}); (got == "a:overdue:bob") != overdue {
			t.Errorf("%s: before, %s", test.name, got)
		}
		if _, err := r.Command("claim", plugin.Map{"objective": o, "targets": []string{"a"}, "content": "mine", "now": now}, "cem"); (err == nil) != overdue {
			t.Errorf("%s: command: %v", test.name, err)
		}
		r.say(test.at, "cem", Claim, "", []string{o}, 0, "a")
		if got := r.scopes(o, nil); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestABackdatedClaimLosesToASettlement(t *testing.T) {
	for _, backdated := range []bool{false, true} {
		r := newTrial(t)
		o := r.say(1, "ann", Objective, "", nil, 0, "a")
		if backdated {
			r.say(2, "eve", Claim, "", []string{o}, 0, "a")
		}
		c := r.say(3, "bob", Claim, "", []string{o}, 0, "a")
		r.say(4, "bob", "reply", "", []string{c}, 0)
		r.say(5, "ann", "reply", "", []string{c}, 0)
		r.say(6, "ann", "reply", "", []string{c}, 0)
		if got := r.scopes(o, nil); got != "a:claimed:bob!" {
			t.Errorf("backdated %v: %s", backdated, got)
		}
		v, err := r.View("mine", plugin.Map{"objective": o}, "eve")
		if err != nil || (v.Get("scopes").Len() == 1) != backdated {
			t.Errorf("the loser isn't told: %v", err)
		}
	}
}

func TestConvergence(t *testing.T) {
	r := newTrial(t)
	o := r.say(1, "ann", Objective, "", nil, 0, "a")
	r.say(2, "bob", Claim, "", []string{o}, 0, "a")
	check := func(done, ready bool) {
		t.Helper()
		v, err := r.View("done", plugin.Map{"objective": o}, "")
		if err != nil || v.Get("done").Bool() != done || v.Get("ready").Bool() != ready {
			t.Errorf("done %v, ready %v, %v", v.Get("done").Bool(), v.Get("ready").Bool(), err)
		}
	}
	check(false, false)
	r.say(3, "bob", Report, "", []string{o}, 0)
	check(false, true)
	p := r.say(4, "bob", Converge, "", []string{o}, 0)
	r.say(5, "cem", "reply", "", []string{p}, 0)
	check(false, true)
	r.say(6, "ann", "reply", "", []string{p}, 0)
	check(true, true)
}

func TestWhatIsRefused(t *testing.T) {
	r := newTrial(t)
	o := r.say(1, "ann", Objective, "", nil, 0)
	many := make([]string, maxTargets+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	r.say(2, "bob", Claim, "at most 32", []string{o}, 0, many...)
	r.say(2, "bob", Claim, "", []string{o}, 0, many[:maxTargets]...)
	r.say(3, "bob", Claim, "1 to 160", []string{o}, 0, strings.Repeat("x", maxScope+1))
	r.say(3, "bob", Claim, "", []string{o}, 0, strings.Repeat("x", maxScope))
	r.say(4, "bob", Claim, "needs content.targets", []string{o}, 0)
	r.say(4, "bob", Claim, "must name the objective", nil, 0, "a")
	r.say(4, "bob", "dance", "meta.phase must be", []string{o}, 0)
	r.say(4, "bob", Claim, "at most a year", []string{o}, maxETA+1, "b")
	for i := maxTargets + 1; i < maxScopes; i++ {
		r.say(5, "bob", Claim, "", []string{o}, 0, "s"+fmt.Sprint(i))
	}
	r.say(6, "bob", Claim, "at most 200 scopes", []string{o}, 0, "one more")
	if _, err := r.Send(plugin.Message{Sender: "bob", Type: Type}, plugin.Map{}); err == nil {
		t.Error("no content is taken")
	}
	if _, err := r.Send(plugin.Message{Sender: "bob", Type: Type, Time: 9_000_000}, plugin.Map{"content": "x", "meta": plugin.Map{"eta": "1970-01-01T00:00:01Z"}}); err == nil {
		t.Error("an ETA in the past is taken")
	}
}

func TestCommands(t *testing.T) {
	r := newTrial(t)
	d, err := r.Command("start", plugin.Map{"content": "find the leak", "task": "leak", "targets": []string{"a"}}, "ann")
	if err != nil || d[0].Type != Type || d[0].Content["task"] != "leak" {
		t.Errorf("start: %v %v", d, err)
	}
	o := r.say(1, "ann", Objective, "", nil, 0, "a", "b")
	c := r.say(2, "bob", Claim, "", []string{o}, 0, "a")
	for _, row := range []struct {
		by, command string
		params      plugin.Map
		refused     string
	}{
		{"cem", "introduce", plugin.Map{"content": "hi"}, ""},
		{"cem", "introduce", plugin.Map{}, "content is required"},
		{"cem", "claim", plugin.Map{"content": "x", "targets": []string{"b"}, "eta_s": 60}, ""},
		{"cem", "claim", plugin.Map{"content": "x", "targets": []string{"a"}}, "already claimed by bob"},
		{"cem", "claim", plugin.Map{"content": "x"}, "targets are required"},
		{"cem", "share", plugin.Map{"content": "x"}, ""},
		{"bob", "report", plugin.Map{"content": "x"}, ""},
		{"cem", "report", plugin.Map{"content": "x"}, "you hold"},
		{"bob", "converge", plugin.Map{"content": "x"}, ""},
		{"ann", "settle", plugin.Map{"message": c}, ""},
		{"bob", "settle", plugin.Map{"message": c}, "only the objective's author"},
		{"ann", "settle", plugin.Map{"message": "x"}, "message is required"},
	} {
		row.params["objective"] = o
		_, err := r.Command(row.command, row.params, row.by)
		if row.refused == "" && err != nil || row.refused != "" && (err == nil || !strings.Contains(err.Error(), row.refused)) {
			t.Errorf("%s %s %v: %v", row.by, row.command, row.params, err)
		}
	}
	for _, params := range []plugin.Map{nil, {"objective": "x"}, {"objective": o, "now": "soon"}} {
		if _, err := r.View("scopes", params, ""); err == nil {
			t.Errorf("%v is answered", params)
		}
	}
}
