package group

import (
	"fmt"
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

func newTrial(t *testing.T) trial { return trial{plugin.NewTrial(Plugin()), t} }

// commandAt asks a command at a second, 0 for the beginning.
func (r trial) commandAt(second int, name string, params plugin.Map, by string) error {
	defer func(before int64) { plugin.Clock = before }(plugin.Clock)
	plugin.Clock = max(start, int64(second)*1_000_000)
	_, err := r.Command(name, params, by)
	return err
}

// say folds a message at a second (0: the next). A refusal must have want in it, "" is none, "*" any.
func (r trial) say(second int, by, what string, content plugin.Map, want string, refs []string, nodes ...string) string {
	r.t.Helper()
	id, err := r.Send(plugin.Message{Sender: by, Type: what, Parents: refs, Nodes: nodes, Time: int64(second) * 1_000_000}, content)
	if ok := err == nil && want == "" || err != nil && (want == "*" || want != "" && strings.Contains(err.Error(), want)); !ok {
		r.t.Errorf("%s %s %v: %v, want %q", by, what, content, err, want)
	}
	return id
}

// made is a group of ann's, with bob (role lead: invite, assign), cem a member and dan invited.
func (r trial) made(content plugin.Map) string {
	r.t.Helper()
	c := plugin.Map{"name": "crew", "roles": plugin.Map{"lead": []string{"invite", "assign"}}}
	for k, v := range content {
		c[k] = v
	}
	g := r.say(1, "ann", Create, c, "", nil, "bob", "cem", "dan")
	for _, node := range []string{"bob", "cem"} {
		r.say(2, node, Join, plugin.Map{"capabilities": []string{node}}, "", []string{g})
	}
	r.say(3, "ann", Role, plugin.Map{"node": "bob", "role": "lead"}, "", []string{g})
	return g
}

// state prints a group: status and members with roles.
func (r trial) state(g string) string {
	r.t.Helper()
	v, err := r.View("group", plugin.Map{"group": g}, "")
	if err != nil {
		r.t.Fatal(err)
	}
	out := v.Get("status").Text()
	for m := range v.Get("members").Items() {
		out += " " + m.Get("node").Text() + "=" + m.Get("role").Text()
	}
	return out
}

// Everything that may be said of a group, by its owner, a lead, a member, one invited and a stranger, while it is active, after its end and after it is
// dissolved.
func TestEveryTransition(t *testing.T) {
	const before = "active ann=owner bob=lead cem=member"
	role := func(node, role string) plugin.Map { return plugin.Map{"node": node, "role": role} }
	says := map[string]struct {
		what    string
		content plugin.Map
		nodes   []string
	}{
		"invite": {Invite, nil, []string{"eve"}}, "join": {Join, nil, nil}, "leave": {Leave, nil, nil}, "promote": {Role, role("cem", "lead"), nil},
		"crown": {Role, role("bob", Owner), nil}, "depose": {Role, role("ann", Member), nil}, "dissolve": {Dissolve, nil, nil},
		"split": {Job, plugin.Map{"parts": []any{plugin.Map{"name": "p"}}}, nil}, "no role": {Role, role("cem", "king"), nil}, "nobody's role": {Role, role("eve", "lead"), nil}, "no one": {Invite, nil, nil},
	}
	want := map[string]string{
		"invite/ann": before, "invite/bob": before, "join/ann": before, "join/bob": before, "join/cem": before, "join/dan": before + " dan=member",
		"leave/bob": "active ann=owner cem=member", "leave/cem": "active ann=owner bob=lead", "promote/ann": "active ann=owner bob=lead cem=lead",
		"crown/ann": "active ann=member bob=owner cem=member", "dissolve/ann": "dissolved ann=owner bob=lead cem=member", "split/ann": before, "split/bob": before,
	}
	for state, second := range map[string]int{"active": 10, "ended": 1001, "dissolved": 10} {
		for name, w := range says {
			for _, by := range []string{"ann", "bob", "cem", "dan", "eve"} {
				r := newTrial(t)
				g := r.made(plugin.Map{"expires_at": "1970-01-01T00:16:40Z"})
				start := before
				if state == "dissolved" {
					r.say(5, "ann", Dissolve, nil, "", []string{g})
					start = "dissolved" + before[len("active"):]
				}
				next, legal := want[name+"/"+by]
				legal = legal && state == "active"
				refused := ""
				if !legal {
					refused, next = "*", start
				}
				command := strings.TrimPrefix(w.what, "group:")
				if w.what == Job {
					command = "split"
				}
				params := plugin.Map{"group": g, "nodes": w.nodes}
				for k, v := range w.content {
					params[k] = v
				}
				if err := r.commandAt(second, command, params, by); (err == nil) != legal {
					t.Errorf("%s: command %s by %s: %v", state, name, by, err)
				}
				r.say(second, by, w.what, w.content, refused, []string{g}, w.nodes...)
				if got := r.state(g); got != next {
					t.Errorf("%s: after %s by %s: %s, want %s", state, name, by, got, next)
				}
			}
		}
	}
}

func TestTopologies(t *testing.T) {
	for topology, want := range map[string][3]string{ // whom ann, bob, cem ask
		"star": {"bob cem dan", "ann", "ann"}, "mesh": {"bob cem dan", "ann cem dan", "ann bob dan"}, "pipeline": {"bob", "cem", "dan"}, "tree": {"bob cem", "dan", ""},
	} {
		r := newTrial(t)
		g := r.made(plugin.Map{"topology": topology})
		r.say(4, "dan", Join, nil, "", []string{g})
		for i, node := range []string{"ann", "bob", "cem"} {
			v, err := r.View("next", plugin.Map{"group": g}, node)
			if got := strings.Join(v.Get("next").Texts(), " "); err != nil || got != want[i] {
				t.Errorf("%s: %s asks %s, want %s (%v)", topology, node, got, want[i], err)
			}
		}
	}
}

// job prints a job: part:status:who …
func (r trial) job(job string) string {
	r.t.Helper()
	v, err := r.View("job", plugin.Map{"job": job}, "")
	if err != nil {
		r.t.Fatal(err)
	}
	out := v.Get("status").Text()
	for p := range v.Get("parts").Items() {
		out += " " + p.Get("name").Text() + ":" + p.Get("status").Text() + ":" + p.Get("node").Text() + p.Get("by").Text()
	}
	return out
}

func parts(names ...string) (out []any) {
	for _, n := range names {
		p := plugin.Map{"name": n}
		if at := strings.IndexByte(n, '@'); at >= 0 {
			p = plugin.Map{"name": n[:at], "capability": n[at+1:]}
		}
		out = append(out, p)
	}
	return out
}

func number(n int) plugin.Map { return plugin.Map{"part": n} }

func TestAssignment(t *testing.T) {
	for _, row := range []struct {
		topology string
		parts    []any
		want     string
	}{
		{"mesh", parts("a", "b", "c"), "running a:assigned:bob b:assigned:cem c:assigned:bob"},
		{"star", parts("a", "b"), "running a:assigned:bob b:assigned:cem"},
		{"tree", parts("a", "b"), "running a:assigned:bob b:assigned:cem"},
		{"pipeline", parts("a", "b", "c"), "running a:assigned:ann b:waiting: c:waiting:"},
		{"mesh", parts("a@cem", "b@cem", "c@eve"), "running a:assigned:cem b:assigned:cem c:nobody:"},
	} {
		r := newTrial(t)
		g := r.made(plugin.Map{"topology": row.topology})
		j := r.say(5, "ann", Job, plugin.Map{"parts": row.parts}, "", []string{g})
		if got := r.job(j); got != row.want {
			t.Errorf("%s: %s, want %s", row.topology, got, row.want)
		}
	}
}

func TestPipeline(t *testing.T) {
	r := newTrial(t)
	g := r.made(plugin.Map{"topology": "pipeline"})
	j := r.say(5, "ann", Job, plugin.Map{"parts": parts("a", "b", "c", "d")}, "", []string{g})
	r.say(6, "bob", Result, number(1), "isn't yours", []string{j})
	r.say(6, "ann", Reassign, number(1), "waits for the one before", []string{j})
	for i, by := range []string{"ann", "bob", "cem", "ann"} {
		r.say(7+i, by, Result, number(i), "", []string{j})
	}
	if got := r.job(j); got != "running a:done:ann b:done:bob c:done:cem d:done:ann" {
		t.Error(got)
	}
}

func TestMapReduceWithAStraggler(t *testing.T) {
	r := newTrial(t)
	g := r.made(plugin.Map{"temporary": true})
	j := r.say(10, "ann", Job, plugin.Map{"parts": parts("a", "b"), "timeout_s": 60}, "", []string{g})
	a := r.say(20, "bob", Result, number(0), "", []string{j})
	r.say(20, "bob", Result, number(0), "handed this part in already", []string{j})
	r.say(70, "bob", Reassign, number(1), "before its time is up", []string{j})
	r.say(71, "bob", Reassign, number(0), "has its result", []string{j, a})
	r.say(71, "cem", Reassign, number(1), "doesn't permit assign", []string{j})
	r.say(71, "ann", Merge, nil, "no result yet", []string{j})
	if v, _ := r.View("work", plugin.Map{"group": g}, "cem"); v.Get("jobs").Len() != 1 {
		t.Error("cem's work isn't listed")
	}
	r.say(71, "bob", Reassign, number(1), "", []string{j})
	if got := r.job(j); got != "running a:done:bob b:assigned:bob" {
		t.Error(got)
	}
	r.say(72, "eve", Result, number(1), "aren't a member", []string{j})
	r.say(72, "bob", Result, number(2), "number of a part", []string{j})
	r.say(72, "bob", Merge, nil, "only who split", []string{j})
	b := r.say(73, "bob", Result, number(1), "", []string{j})
	d, err := r.Command("merge", plugin.Map{"job": j}, "ann")
	if err != nil || len(d[0].Parents) != 3 || d[0].Parents[2] != b {
		t.Errorf("merge: %v %v", d, err)
	}
	r.say(74, "ann", Merge, nil, "", []string{j})
	if got := r.state(g); !strings.HasPrefix(got, "dissolved") {
		t.Errorf("a temporary group outlives its job: %s", got)
	}
}

// The merge refers to the results that hold; one that sorts first and arrives late loses to it.
func TestABackdatedResultLosesToTheMerge(t *testing.T) {
	for _, backdated := range []bool{false, true} {
		r := newTrial(t)
		g := r.made(nil)
		j := r.say(10, "ann", Job, plugin.Map{"parts": parts("a"), "timeout_s": 60}, "", []string{g})
		r.say(71, "ann", Reassign, number(0), "", []string{j}) // from bob to cem
		if backdated {
			r.say(72, "cem", Result, number(0), "", []string{j})
		}
		late := r.say(73, "bob", Result, number(0), "", []string{j})
		m := r.say(74, "ann", Merge, nil, "", []string{j, late})
		if got := r.job(j); got != "merged a:done:bob" {
			t.Errorf("backdated %v: %s", backdated, got)
		}
		r.say(75, "cem", Result, number(0), "is merged", []string{m})
	}
	r := newTrial(t)
	g := r.made(nil)
	j := r.say(10, "ann", Job, plugin.Map{"parts": parts("a")}, "", []string{g})
	r.say(11, "ann", Merge, plugin.Map{"partial": true}, "", []string{j})
	if got := r.job(j); got != "merged a:assigned:bob" {
		t.Error(got)
	}
}

func TestWhatIsRefused(t *testing.T) {
	many := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprint("n", i))
		}
		return out
	}
	roles := plugin.Map{}
	for _, n := range many(maxRoles + 1) {
		roles[n] = []string{}
	}
	for _, row := range []struct {
		content plugin.Map
		nodes   []string
		refused string
	}{
		{plugin.Map{"name": ""}, nil, "content.name"},
		{plugin.Map{"name": strings.Repeat("x", maxName+1)}, nil, "content.name"},
		{plugin.Map{"topology": "ring"}, nil, "topology must"},
		{plugin.Map{"roles": plugin.Map{"owner": []string{}}}, nil, "roles must"},
		{plugin.Map{"roles": plugin.Map{"x": []string{"fly"}}}, nil, "permissions are"},
		{plugin.Map{"roles": roles}, nil, "at most 16"},
		{plugin.Map{"expires_at": "1970-01-01T00:00:00Z"}, nil, "expires_at"},
		{plugin.Map{"capabilities": many(maxCapabilities + 1)}, nil, "at most 32"},
		{plugin.Map{"capabilities": []string{""}}, nil, "1 to 128"},
		{plugin.Map{"capabilities": "go"}, nil, "a list of texts"},
		{nil, many(maxMembers), "at most 64 members"},
		{nil, many(maxMembers - 1), ""},
	} {
		c := plugin.Map{"name": "g"}
		for k, v := range row.content {
			c[k] = v
		}
		r := newTrial(t)
		r.say(1, "ann", Create, c, row.refused, nil, row.nodes...)
		c["nodes"] = row.nodes
		if _, err := r.Command("create", c, "ann"); (err != nil) != (row.refused != "") && c["expires_at"] == nil {
			t.Errorf("command %v: %v", row.content, err)
		}
	}
	r := newTrial(t)
	g := r.made(plugin.Map{"open": true})
	for _, row := range []struct {
		content plugin.Map
		refused string
	}{
		{nil, "1 to 64"},
		{plugin.Map{"parts": parts(many(maxParts + 1)...)}, "1 to 64"},
		{plugin.Map{"parts": []any{plugin.Map{}}}, "needs a name"},
		{plugin.Map{"parts": parts("a"), "timeout_s": 0}, "timeout_s"},
		{plugin.Map{"parts": parts(many(maxParts)...)}, ""},
	} {
		r.say(0, "ann", Job, row.content, row.refused, []string{g})
	}
	r.say(0, "ann", Result, number(0), "must name the job", []string{g})
	r.say(0, "ann", Leave, nil, "must name the group", nil)
	for i, n := range many(maxMembers - 3) {
		r.say(100+i, n, Join, nil, "", []string{g})
	}
	r.say(200, "one-more", Join, nil, "at most 64 members", []string{g})
	for view, params := range map[string]plugin.Map{"group": {"group": "x"}, "job": nil, "mine": nil, "work": {"group": g}, "next": {"group": g}} {
		if _, err := r.View(view, params, ""); err == nil {
			t.Errorf("%s %v is answered", view, params)
		}
	}
	for view, want := range map[string]int{"groups": 1, "mine": 1} {
		if v, err := r.View(view, nil, "dan"); err != nil || v.Get("groups").Len() != want {
			t.Errorf("%s: %v", view, err)
		}
	}
	if v, err := r.View("jobs", plugin.Map{"group": g}, ""); err != nil || v.Get("jobs").Len() != 1 {
		t.Errorf("jobs: %v", err)
	}
}
