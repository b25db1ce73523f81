package swarm

import (
	"slices"
	"testing"

	"plexus/sdk/plugin"
)

// notice folds what a reaction said, as its Node.
func (r trial) notice(at int, by string, d plugin.Draft, want string) {
	r.t.Helper()
	m := plugin.Message{Sender: by, Type: d.Type, Parents: d.Parents, Nodes: d.Nodes, Time: int64(at) * 1_000_000}
	if _, err := r.Send(m, d.Content); (err == nil) != (want == "") {
		r.t.Errorf("the notice of %s: %v, want %q", by, err, want)
	}
}

// reacts asks a Node's reaction at a second for how many notices it gives.
func (r trial) reacts(at int, node string, e plugin.Event, want int) []plugin.Draft {
	r.t.Helper()
	plugin.Clock = int64(at) * 1_000_000
	e.Node = node
	out, err := r.React(e)
	if err != nil || len(out) != want {
		r.t.Fatalf("%s at %d: %v %v, want %d notices", node, at, out, err, want)
	}
	return out
}

func message(id string, parents ...string) plugin.Event {
	return plugin.Event{Message: plugin.Message{ID: id, Parents: parents}}
}

func freshTimers(t *testing.T) {
	before := plugin.Clock
	clear(plugin.Timers)
	t.Cleanup(func() { plugin.Clock = before; clear(plugin.Timers) })
}

// Who lost a scope is told once, by the objective's author or by who holds it, and a notice settles nothing.
func TestTheOverruledAreTold(t *testing.T) {
	freshTimers(t)
	r := newTrial(t)
	o := r.say(1, "ann", Objective, "", nil, 0, "a", "b")
	won := r.say(2, "bob", Claim, "", []string{o}, 0, "a", "b")
	lost := r.say(3, "cem", Claim, "", []string{o}, 0, "a", "b", "c")
	r.reacts(4, "eve", message(lost), 0)
	r.reacts(4, "cem", message(won), 0)
	byHolder := r.reacts(4, "bob", message(lost), 1)
	byAuthor := r.reacts(4, "ann", message(won), 1)
	d := byAuthor[0]
	if d.Parents[0] != lost || d.Parents[1] != won || !slices.Equal(d.Nodes, []string{"cem"}) || !slices.Equal(d.Content["targets"].([]string), []string{"a", "b"}) {
		t.Errorf("%+v", d)
	}
	r.notice(5, "ann", d, "")
	r.notice(5, "bob", byHolder[0], "was told")
	r.reacts(6, "ann", message(lost), 0)
	if got := r.scopes(o, nil); got != "a:claimed:bob b:claimed:bob c:claimed:cem" {
		t.Errorf("after the notices: %s", got)
	}
	v, err := r.View("mine", plugin.Map{"objective": o}, "cem")
	if told := 0; err != nil {
		t.Error(err)
	} else {
		for s := range v.Get("scopes").Items() {
			for x := range s.Get("overruled").Items() {
				if x.Get("told").Bool() {
					told++
				}
			}
		}
		if told != 2 {
			t.Errorf("%d claims are shown as told", told)
		}
	}
	// The author settles for cem: now bob has lost, and ann's own reply wakes her Node.
	word := r.say(7, "ann", "reply", "", []string{lost}, 0)
	out := r.reacts(8, "ann", message(word, lost), 1)
	if out[0].Nodes[0] != "bob" {
		t.Errorf("%+v", out)
	}
}

// The silent are named to those who may take over: once, by the author's Node first and by the members in turn; and whoever speaks again is silent no more.
func TestTheSilentAreNamed(t *testing.T) {
	freshTimers(t)
	r := newTrial(t)
	o := r.say(1, "ann", Objective, "", nil, 0, "a")
	for _, node := range []string{"bob", "cem", "dan"} {
		r.say(2, node, Introduce, "", []string{o}, 0)
	}
	c := r.say(10, "bob", Claim, "", []string{o}, 10, "a")
	for node, at := range map[string]int64{"ann": 20_000_001, "cem": 80_000_001, "dan": 110_000_001, "bob": 0, "eve": 0} {
		clear(plugin.Timers)
		r.reacts(11, node, message(c), 0)
		if plugin.Timers[c] != at {
			t.Errorf("%s's timer is set to %d, want %d", node, plugin.Timers[c], at)
		}
	}
	bell := plugin.Event{Timer: c}
	r.reacts(20, "ann", bell, 0) // its ETA isn't past yet
	r.say(15, "bob", Finding, "", []string{o}, 0)
	clear(plugin.Timers)
	r.reacts(21, "ann", bell, 0)
	if plugin.Timers[c] != 25_000_001 {
		t.Errorf("it spoke, and the timer is set to %d", plugin.Timers[c])
	}
	r.reacts(60, "cem", bell, 0) // not its turn
	late := r.reacts(86, "cem", bell, 1)
	d := r.reacts(26, "ann", bell, 1)[0]
	if !slices.Equal(d.Nodes, []string{"bob", "cem", "dan"}) {
		t.Errorf("it names %v", d.Nodes)
	}
	r.notice(26, "ann", d, "")
	r.notice(27, "cem", late[0], "was said")
	r.reacts(200, "cem", bell, 0)
	if got := r.scopes(o, nil); got != "a:overdue:bob" {
		t.Error(got)
	}
	if _, err := r.Command("claim", plugin.Map{"objective": o, "targets": []string{"a"}, "content": "mine"}, "cem"); err != nil {
		t.Errorf("take over: %v", err)
	}
	r.say(28, "bob", Finding, "", []string{o}, 0)
	if got := r.scopes(o, nil); got != "a:claimed:bob" {
		t.Errorf("it is back, and %s", got)
	}
	r.say(50, "dan", Claim, "", []string{o}, 0, "a")
	r.reacts(300, "ann", bell, 0)
	if got := r.scopes(o, nil); got != "a:claimed:dan" {
		t.Error(got)
	}
}

// A notice of a silent Node's own daemon doesn't make it speak.
func TestANoticeIsNoSignOfLife(t *testing.T) {
	freshTimers(t)
	r := newTrial(t)
	o := r.say(1, "ann", Objective, "", nil, 0, "a")
	r.say(2, "bob", Claim, "", []string{o}, 10, "a")
	rival := r.say(3, "cem", Claim, "", []string{o}, 0, "a")
	r.notice(11, "bob", r.reacts(11, "bob", message(rival), 1)[0], "")
	r.say(13, "dan", Claim, "", []string{o}, 0, "a")
	if got := r.scopes(o, nil); got != "a:claimed:dan" {
		t.Error(got)
	}
}

// Rivals are asked first; notices that have no ground are refused, by the fold and by the commands.
func TestNoticesNeedGround(t *testing.T) {
	freshTimers(t)
	r := newTrial(t)
	o := r.say(1, "ann", Objective, "", nil, 0, "a")
	r.say(2, "dan", Introduce, "", []string{o}, 0)
	c := r.say(3, "bob", Claim, "", []string{o}, 10, "a")
	rival := r.say(4, "cem", Claim, "", []string{o}, 0, "a")
	r.say(5, "eve", Overruled, "isn't overruled", []string{c}, 0)
	r.say(5, "eve", Overdue, "isn't past its ETA", []string{c}, 0)
	r.say(5, "eve", Overdue, "must name the claim", []string{o}, 0)
	for command, claim := range map[string]string{"tell": c, "warn": rival} {
		if _, err := r.Command(command, plugin.Map{"claim": claim}, "eve"); err == nil {
			t.Errorf("%s of %s is taken", command, claim)
		}
		if _, err := r.Command(command, plugin.Map{"claim": o}, "eve"); err == nil {
			t.Errorf("%s of no claim is taken", command)
		}
	}
	for at, taken := range map[int64]bool{13_000_000: false, 13_000_001: true} { // the command takes the node's clock
		plugin.Clock = at
		if _, err := r.Command("claim", plugin.Map{"objective": o, "targets": []string{"a"}, "content": "mine"}, "dan"); (err == nil) != taken {
			t.Errorf("take over at %d: %v", at, err)
		}
	}
	if d, err := r.Command("tell", plugin.Map{"claim": rival}, "eve"); err != nil || d[0].Nodes[0] != "cem" {
		t.Errorf("tell: %v %v", d, err)
	}
	d, err := r.Command("warn", plugin.Map{"claim": c, "now": "1970-01-01T00:00:14Z"}, "eve")
	if err != nil || !slices.Equal(d[0].Nodes, []string{"bob", "cem"}) {
		t.Errorf("warn: %v %v", d, err)
	}
	r.say(15, "ann", Converge, "", []string{o}, 0)
	for _, e := range []plugin.Event{message(rival), {Timer: c}, {Timer: "x"}, message("x")} {
		r.reacts(20, "ann", e, 0)
	}
	if _, err := r.Command("tell", plugin.Map{"claim": rival}, "eve"); err == nil {
		t.Error("a swarm that has converged tells")
	}
}

// A crowd of rivals is told in portions.
func TestACrowdIsTold(t *testing.T) {
	freshTimers(t)
	r := newTrial(t)
	o := r.say(1, "ann", Objective, "", nil, 0, "a")
	last := r.say(2, "bob", Claim, "", []string{o}, 0, "a")
	for i := range mostTold + 1 {
		last = r.say(3+i, "n"+string(rune('A'+i)), Claim, "", []string{o}, 0, "a")
	}
	for _, d := range r.reacts(50, "ann", message(last), mostTold) {
		r.notice(50, "ann", d, "")
	}
	r.reacts(51, "ann", message(last), 1)
}

// However many members there are, a notice names 32, and nobody waits longer than 40 turns.
func TestNoticesAreBounded(t *testing.T) {
	freshTimers(t)
	r := newTrial(t)
	o := r.say(1, "ann", Objective, "", nil, 0, "a")
	node := func(i int) string { return "n" + string([]byte{byte('0' + i/10), byte('0' + i%10)}) }
	for i := range mostTurns + 5 {
		r.say(2, node(i), Introduce, "", []string{o}, 0)
	}
	c := r.say(3, "zoe", Claim, "", []string{o}, 10, "a")
	for i, turns := range map[int]int64{0: 1, mostTurns - 1: mostTurns, mostTurns: mostTurns, mostTurns + 4: mostTurns} {
		r.reacts(4, node(i), message(c), 0)
		if want := 13_000_001 + turns*patience; plugin.Timers[c] != want {
			t.Errorf("member %d: %d, want %d", i, plugin.Timers[c], want)
		}
	}
	if d := r.reacts(14, "ann", plugin.Event{Timer: c}, 1)[0]; len(d.Nodes) != maxTold {
		t.Errorf("it names %d", len(d.Nodes))
	}
}
