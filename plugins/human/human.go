// Package human is Synapse's human in the loop: a decision is asked for, named approvers (M of N) or any human make it, levels and a
// deadline bound the wait, and exactly one execution follows. SKILL.md says how to use it.
//
// It is guest code: it imports sdk/plugin alone.
package human

// This file holds the plugin and its fold.
//
// State:
//
//	d/<decision>                 {sender, order, options, need, nodes?, levels?, level, due?, default, round, status, proposal?,
//	                             outcome?, by?, human?, settled?, resumed?, reversed?, edited?}
//	v/<decision>/<round>/<node>  {id, order, option, human}: the votes; an edit begins a new round
//	g/<message>                  <decision>: the request, and all that is said of it
//	o/<order>, l/<order>         <decision>: those pending, all
//
// <decision> is the request's message ID, <order> a message's place in canonical order.

import (
	"slices"

	"plexus/sdk/plugin"
)

// The content types.
const (
	Escalate = "hil:escalation"
	Decision = "hil:decision"
	Delegate = "hil:delegate"
	Edit     = "hil:edit"
	Timeout  = "hil:timeout"
	Resume   = "hil:resume"
	Cancel   = "hil:cancel"
)

// The options where none are given.
const (
	Approve = "approve"
	Reject  = "reject"
)

// The states of a decision.
const (
	pending   = "pending"
	decided   = "decided"
	expired   = "expired"
	cancelled = "cancelled"
)

// Plugin is the pattern.
func Plugin() plugin.Plugin {
	commands := map[string]plugin.Action{"escalate": escalate}
	for name, what := range map[string]string{"decide": Decision, "delegate": Delegate, "edit": Edit, "timeout": Timeout, "resume": Resume, "cancel": Cancel} {
		commands[name] = func(s plugin.State, q plugin.Query) ([]plugin.Draft, error) { return say(s, q, what) }
	}
	return plugin.Plugin{
		Name:     "human",
		Fold:     fold,
		Views:    map[string]plugin.View{"waiting": waiting, "all": all, "decision": one},
		Commands: commands,
		React:    react,
	}
}

func fold(s plugin.State, m plugin.Message) error {
	if m.Type == Escalate {
		return foldEscalate(s, m)
	}
	id, d := subject(s, m.Parents)
	if d == nil {
		if m.Type == Decision {
			return nil // about something else
		}
		return plugin.Refusal("refs.messages must name the escalation, or a message about it")
	}
	w := word{what: m.Type, node: m.Sender, human: m.Kind == "human", message: m.ID, time: m.Time, parents: m.Parents, content: m.Content}
	if err := may(s, id, d, w); err != nil {
		return err
	}
	s.SetText("g/"+m.ID, id)
	switch m.Type {
	case Decision:
		cast(s, id, d, w, m.Order(), spell(d, m.Content.Get("decision").Text()))
	case Delegate:
		foldDelegate(s, id, d, w)
	case Edit:
		foldEdit(s, id, d, w, m.Order())
	case Timeout:
		foldTimeout(s, id, d, w)
	case Resume:
		foldResume(s, id, d, w)
	case Cancel:
		change(s, id, plugin.Map{"status": cancelled})
	}
	return nil
}

func subject(s plugin.State, ids []string) (id string, d plugin.Value) {
	for _, p := range ids {
		if of := s.Text("g/" + p); of != "" {
			return of, s.Value("d/" + of)
		}
	}
	return "", nil
}

func foldEscalate(s plugin.State, m plugin.Message) error {
	d, err := readEscalation(m.Content, m.Nodes, m.Time)
	if err != nil {
		return err
	}
	d["sender"], d["order"], d["status"], d["round"] = m.Sender, m.Order(), pending, 0
	if m.Content.Get("proposal") != nil {
		d["proposal"] = m.ID
	}
	s.SetValue("d/"+m.ID, d)
	s.SetText("g/"+m.ID, m.ID)
	s.SetText("l/"+m.Order(), m.ID)
	s.SetText("o/"+m.Order(), m.ID)
	return nil
}

// change alters some fields and keeps the list of those pending.
func change(s plugin.State, id string, changes plugin.Map) {
	next := plugin.MapOf(s.Value("d/" + id))
	for k, v := range changes {
		if next[k] = v; v == nil {
			delete(next, k)
		}
	}
	s.SetValue("d/"+id, next)
	d := s.Value("d/" + id)
	if key := "o/" + d.Get("order").Text(); d.Get("status").Text() == pending {
		s.SetText(key, id)
	} else {
		s.Delete(key)
	}
}

func votes(id string, d plugin.Value) string {
	n, _ := d.Get("round").Int()
	return "v/" + id + "/" + digits(n) + "/"
}

// cast puts a vote down and sees whether that decides. Once decided, a vote that didn't know is kept as a rival; a human's against
// what agents decided counts anew.
func cast(s plugin.State, id string, d plugin.Value, w word, order, option string) {
	s.SetValue(votes(id, d)+w.node, plugin.Map{"id": w.message, "order": order, "option": option, "human": w.human})
	if d.Get("settled").Bool() && !outranks(d, w) || d.Get("status").Text() == decided && !outranks(d, w) {
		return
	}
	outcome, human, open := count(s, id, d)
	before := d.Get("outcome").Text()
	changes := plugin.Map{}
	switch {
	case outcome != "":
		changes["status"], changes["outcome"], changes["by"], changes["human"] = decided, outcome, w.message, human
	case !open:
		changes["status"], changes["outcome"], changes["by"], changes["human"] = decided, Reject, w.message, human
	default:
		changes["status"], changes["outcome"], changes["by"], changes["human"] = pending, nil, nil, nil
	}
	if before != "" && changes["outcome"] != before {
		changes["settled"] = nil
		if d.Get("resumed") != nil {
			changes["reversed"] = true
		}
	}
	change(s, id, changes)
}

// outranks says whether a word is a human's against a decision that only agents made.
func outranks(d plugin.Value, w word) bool {
	return w.human && d.Get("status").Text() == decided && !d.Get("human").Bool()
}

// count returns the option that has the votes it needs, whether a human stands behind it, and whether any still can get them. An agent's vote for what
// no human chose doesn't count once a human has voted.
func count(s plugin.State, id string, d plugin.Value) (outcome string, human, open bool) {
	var humans []string
	all := map[string]int64{}
	voted := int64(0)
	for _, raw := range s.Scan(votes(id, d)) {
		if v := plugin.Value(raw); v.Get("human").Bool() {
			humans = append(humans, v.Get("option").Text())
		}
	}
	for _, raw := range s.Scan(votes(id, d)) {
		v := plugin.Value(raw)
		voted++
		if option := v.Get("option").Text(); v.Get("human").Bool() || humans == nil || slices.Contains(humans, option) {
			all[option]++
		}
	}
	need, _ := d.Get("need").Int()
	left := int64(len(d.Get("nodes").Texts())) - voted
	named := d.Get("nodes").Len() > 0
	for _, option := range d.Get("options").Texts() { // in their order: maps have none
		if all[option] >= need {
			return option, slices.Contains(humans, option), true
		}
		open = open || !named || all[option]+left >= need || d.Get("levels") != nil
	}
	return "", humans != nil, open
}

// foldDelegate puts another in an approver's place.
func foldDelegate(s plugin.State, id string, d plugin.Value, w word) {
	to := w.content.Get("to").Text()
	var nodes []string
	for _, n := range d.Get("nodes").Texts() {
		if n == w.node {
			n = to
		}
		nodes = append(nodes, n)
	}
	change(s, id, plugin.Map{"nodes": nodes})
}

// foldEdit changes the proposal: votes on the old one are void, and an approver who edits approves what it wrote.
func foldEdit(s plugin.State, id string, d plugin.Value, w word, order string) {
	round, _ := d.Get("round").Int()
	change(s, id, plugin.Map{"round": round + 1, "proposal": w.message, "edited": w.node})
	d = s.Value("d/" + id)
	if w.node != d.Get("sender").Text() {
		cast(s, id, d, w, order, d.Get("options").Texts()[0])
	}
}

// foldTimeout goes on to the next level, or ends with what was said to happen then.
func foldTimeout(s plugin.State, id string, d plugin.Value, w word) {
	level, _ := d.Get("level").Int()
	i := int64(0)
	for l := range d.Get("levels").Items() {
		if i == level+1 {
			nodes := d.Get("nodes").Texts()
			for _, n := range l.Get("nodes").Texts() {
				if !slices.Contains(nodes, n) {
					nodes = append(nodes, n)
				}
			}
			seconds, _ := l.Get("timeout_s").Int()
			changes := plugin.Map{"level": i, "nodes": nodes, "due": nil}
			if seconds > 0 {
				changes["due"] = w.time + seconds*1_000_000
			}
			change(s, id, changes)
			return
		}
		i++
	}
	change(s, id, plugin.Map{"status": expired, "outcome": d.Get("default").Text(), "by": w.message})
}

// foldResume is the one execution: the requester says which vote it acts on, which settles the decision.
func foldResume(s plugin.State, id string, d plugin.Value, w word) {
	changes := plugin.Map{"resumed": w.message, "settled": true}
	if option, by := actsOn(s, id, d, w.parents); option != "" {
		changes["outcome"], changes["by"] = option, by
	}
	change(s, id, changes)
}

// actsOn returns the vote among the messages, if its option has as many as it needs.
func actsOn(s plugin.State, id string, d plugin.Value, parents []string) (option, by string) {
	need, _ := d.Get("need").Int()
	for _, raw := range s.Scan(votes(id, d)) {
		v := plugin.Value(raw)
		if !slices.Contains(parents, v.Get("id").Text()) || d.Get("human").Bool() && !v.Get("human").Bool() {
			continue
		}
		n := int64(0)
		for _, other := range s.Scan(votes(id, d)) {
			if plugin.Value(other).Get("option").Text() == v.Get("option").Text() {
				n++
			}
		}
		if n >= need {
			return v.Get("option").Text(), v.Get("id").Text()
		}
	}
	return "", ""
}
