package group

import (
	"slices"
	"testing"

	"plexus/sdk/plugin"
)

// reacts asks a Node's reaction at a second for how many drafts it gives.
func (r trial) reacts(at int, node string, e plugin.Event, want int) []plugin.Draft {
	r.t.Helper()
	plugin.Clock = int64(at) * 1_000_000
	e.Node = node
	out, err := r.React(e)
	if err != nil || len(out) != want {
		r.t.Fatalf("%s at %d: %v %v, want %d drafts", node, at, out, err, want)
	}
	return out
}

func freshTimers(t *testing.T) {
	before := plugin.Clock
	clear(plugin.Timers)
	t.Cleanup(func() { plugin.Clock = before; clear(plugin.Timers) })
}

func message(id, what, by string) plugin.Event {
	return plugin.Event{Message: plugin.Message{ID: id, Type: what, Sender: by}}
}

func jobOf(names ...string) plugin.Map {
	var list []any
	for _, n := range names {
		p := plugin.Map{"name": n}
		if n != "any" {
			p["capability"] = n
		}
		list = append(list, p)
	}
	return plugin.Map{"parts": list, "timeout_s": 10}
}

// A straggler's part goes to the next when its time has passed: by the job's author at once, by another who may assign later, and by nobody else.
func TestStragglersAreReassigned(t *testing.T) {
	freshTimers(t)
	r := newTrial(t)
	g := r.made(nil)
	j := r.say(10, "ann", Job, jobOf("any", "cem"), "", []string{g})
	for node, at := range map[string]int64{"ann": 20_000_001, "bob": 50_000_001, "cem": 0, "eve": 0} {
		clear(plugin.Timers)
		r.reacts(11, node, message(j, Job, "ann"), 0)
		if plugin.Timers[j] != at {
			t.Errorf("%s's timer is set to %d, want %d", node, plugin.Timers[j], at)
		}
	}
	bell := plugin.Event{Timer: j}
	r.say(12, "cem", Result, plugin.Map{"part": 1}, "", []string{j})
	r.reacts(20, "ann", bell, 0)
	r.reacts(49, "bob", bell, 0)
	r.reacts(51, "bob", bell, 1)
	d := r.reacts(21, "ann", bell, 1)[0]
	if d.Type != Reassign || d.Parents[0] != j || !slices.Equal(d.Nodes, []string{"bob", "cem"}) {
		t.Errorf("%+v", d)
	}
	again := r.say(21, "ann", d.Type, d.Content, "", d.Parents, d.Nodes...)
	clear(plugin.Timers)
	r.reacts(22, "ann", message(again, Reassign, "ann"), 0) // its own word sets the next timer
	if plugin.Timers[j] != 31_000_001 {
		t.Errorf("the timer is set to %d", plugin.Timers[j])
	}
	d = r.reacts(32, "ann", bell, 1)[0]
	r.say(32, "ann", d.Type, d.Content, "", d.Parents, d.Nodes...)
	if !slices.Equal(d.Nodes, []string{"cem"}) { // all had it: nobody is next
		t.Errorf("%+v", d)
	}
	clear(plugin.Timers)
	r.reacts(60, "ann", bell, 0)
	if len(plugin.Timers) != 0 {
		t.Errorf("timers %v, though nobody has the part", plugin.Timers)
	}
	last := r.say(61, "bob", Result, plugin.Map{"part": 0}, "", []string{j})
	m := r.say(62, "ann", Merge, nil, "", []string{j, last})
	plugin.Timers[j] = 1
	r.reacts(63, "ann", message(m, Merge, "ann"), 0)
	r.reacts(90, "ann", bell, 0)
}

// A part that nobody could do goes to the one who joins and can; other joins, other Nodes' jobs and done jobs change nothing.
func TestWhoJoinsGetsWhatWaits(t *testing.T) {
	freshTimers(t)
	r := newTrial(t)
	g := r.made(nil)
	j := r.say(10, "ann", Job, jobOf("welding", "cem", "welding"), "", []string{g})
	r.reacts(10, "ann", message(r.say(11, "cem", Join, plugin.Map{"capabilities": []string{"cem"}}, "", []string{g}), Join, "cem"), 0)
	joins := message(r.say(12, "dan", Join, plugin.Map{"capabilities": []string{"welding"}}, "", []string{g}), Join, "dan")
	r.reacts(13, "bob", joins, 0)
	out := r.reacts(13, "ann", joins, 2)
	if out[0].Key == out[1].Key || !slices.Equal(out[0].Nodes, []string{"dan"}) {
		t.Errorf("%+v", out)
	}
	for _, d := range out {
		r.say(13, "ann", d.Type, d.Content, "", d.Parents, d.Nodes...)
	}
	r.reacts(14, "ann", joins, 0)
	v, err := r.View("work", plugin.Map{"group": g}, "dan")
	if err != nil || v.Get("jobs").Len() != 1 {
		t.Errorf("dan has %d jobs, %v", v.Get("jobs").Len(), err)
	}
	r.say(15, "ann", Dissolve, nil, "", []string{g})
	r.reacts(30, "ann", plugin.Event{Timer: j}, 0)
}

// Without timeout_s nobody is hurried.
func TestNoTimeoutNoTimer(t *testing.T) {
	freshTimers(t)
	r := newTrial(t)
	g := r.made(nil)
	j := r.say(10, "ann", Job, plugin.Map{"parts": []any{plugin.Map{"name": "any"}}}, "", []string{g})
	r.reacts(11, "ann", message(j, Job, "ann"), 0)
	if len(plugin.Timers) != 0 {
		t.Error(plugin.Timers)
	}
	r.reacts(11, "ann", plugin.Event{Timer: "x"}, 0)
	r.reacts(11, "ann", message("x", Job, "ann"), 0)
}

// A result arrives late and sorts before the reassignment, whose author didn't know it: the one who stood in isn't told that the part isn't
// its, and the merge that took its result holds.
func TestALateResultDoesntVoidWhoStoodIn(t *testing.T) {
	for _, late := range []bool{false, true} {
		r := newTrial(t)
		g := r.made(nil)
		j := r.say(10, "ann", Job, jobOf("any", "any"), "", []string{g})
		if late {
			r.say(12, "bob", Result, plugin.Map{"part": 0}, "", []string{j})
		}
		r.say(21, "ann", Reassign, plugin.Map{"part": 0, "node": "cem"}, "", []string{j})
		stood := r.say(22, "cem", Result, plugin.Map{"part": 0}, "", []string{j})
		second := r.say(23, "cem", Result, plugin.Map{"part": 1}, "", []string{j})
		r.say(24, "ann", Merge, nil, "", []string{j, stood, second})
		if got := r.job(j); got != "merged any:done:cem any:done:cem" {
			t.Errorf("late %v: %s", late, got)
		}
	}
}

// Whom a job's author names has the part, however many others have joined since; who can't do it is passed over.
func TestTheAuthorsChoiceHolds(t *testing.T) {
	r := newTrial(t)
	g := r.made(nil)
	d, err := r.Command("split", plugin.Map{"group": g, "parts": jobOf("any", "any", "cem", "welding")["parts"]}, "ann")
	if err != nil || !slices.Equal(d[0].Nodes, []string{"bob", "cem"}) {
		t.Fatalf("%v %v", d, err)
	}
	var got []string
	for _, p := range d[0].Content["parts"].([]any) {
		node, _ := p.(plugin.Map)["node"].(string)
		got = append(got, node)
	}
	if !slices.Equal(got, []string{"bob", "cem", "cem", ""}) {
		t.Errorf("the command names %v", got)
	}
	named := func(node, capability string) plugin.Map {
		return plugin.Map{"name": "p", "node": node, "capability": capability}
	}
	j := r.say(10, "ann", Job, plugin.Map{"parts": []any{named("cem", ""), named("cem", "bob"), named("eve", "")}}, "", []string{g})
	if got := r.job(j); got != "running p:assigned:cem p:assigned:bob p:assigned:bob" {
		t.Error(got)
	}
	d, err = r.Command("reassign", plugin.Map{"job": j, "part": 2, "node": "cem"}, "ann")
	if err != nil || d[0].Content["node"] != "cem" || !slices.Equal(d[0].Nodes, []string{"bob", "cem"}) {
		t.Errorf("%v %v", d, err)
	}
}

// Several stragglers' parts at once go to several, and not to one who has lost a part already.
func TestPartsAreSpread(t *testing.T) {
	freshTimers(t)
	r := newTrial(t)
	g := r.say(1, "ann", Create, plugin.Map{"name": "crew", "open": true}, "", nil)
	for _, node := range []string{"bob", "cem", "dan", "eve"} {
		r.say(2, node, Join, nil, "", []string{g})
	}
	j := r.say(10, "ann", Job, jobOf("any", "any", "any", "any"), "", []string{g})
	for i, node := range map[int]string{2: "dan", 3: "eve"} {
		r.say(11, node, Result, plugin.Map{"part": i}, "", []string{j})
	}
	for i, d := range r.reacts(21, "ann", plugin.Event{Timer: j}, 2) {
		if want := []string{"dan", "eve"}[i]; d.Content["node"] != want {
			t.Errorf("part %v goes to %v, want %s", d.Content["part"], d.Content["node"], want)
		}
		delete(d.Content, "node")
		r.say(21, "ann", d.Type, d.Content, "", d.Parents, d.Nodes...)
	}
	if got := r.job(j); got != "running any:assigned:dan any:assigned:eve any:done:dan any:done:eve" {
		t.Errorf("where nobody is named: %s", got)
	}
}
