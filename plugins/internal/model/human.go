package model

// This file holds the model of human, written from docs/patterns/human.md and its SKILL.md.

import (
	"slices"

	"plexus/sdk/plugin"
)

var humanTypes = []string{"hil:escalation", "hil:decision", "hil:delegate", "hil:edit", "hil:timeout", "hil:resume", "hil:cancel"}

type decision struct {
	request                  *Message
	options, asked           []string
	need, due                int64
	levels                   []level
	level                    int
	otherwise                string // the outcome at the deadline
	status, outcome, by      string
	proposal                 plugin.Map
	edited, resumed          string
	human, settled, reversed bool
	votes                    map[string]*ballotPaper // of this round
}

type level struct {
	nodes   []string
	seconds int64
}

// ballotPaper is one vote: an edit by an approver is one too.
type ballotPaper struct {
	id, option string
	human      bool
}

func answerHuman(h *History) Answer {
	a := Answer{Marked: map[string]bool{}}
	of := map[string]*decision{}
	var all []*decision
	for _, m := range h.Messages {
		if !slices.Contains(humanTypes, m.Type) {
			continue
		}
		if m.Type == "hil:escalation" {
			d := readDecision(m)
			if a.Marked[m.ID] = d == nil; d != nil {
				all, of[m.ID] = append(all, d), d
			}
			continue
		}
		var d *decision
		for _, p := range m.Parents {
			if d == nil {
				d = of[p]
			}
		}
		switch {
		case d == nil:
			a.Marked[m.ID] = m.Type != "hil:decision"
		case d.take(h, m):
			of[m.ID] = d
		default:
			a.Marked[m.ID] = true
		}
	}
	viewDecisions(&a, all, h.senders())
	return a
}

func readDecision(m *Message) *decision {
	d := &decision{
		request: m, options: []string{"approve", "reject"}, asked: m.Nodes, need: 1, otherwise: "reject", status: "pending", votes: map[string]*ballotPaper{},
	}
	if m.text("question") == "" {
		return nil
	}
	if m.Content["options"] != nil {
		d.options = m.texts("options")
	}
	if o := m.text("at_deadline"); o != "" {
		d.otherwise = o
	}
	levels, _ := m.Content["levels"].([]any)
	for _, l := range levels {
		l, _ := l.(plugin.Map)
		seconds, _ := l["timeout_s"].(int64)
		d.levels = append(d.levels, level{texts(l["nodes"]), seconds})
	}
	if m.Content["deadline"] != nil {
		at, _ := m.moment("deadline")
		if d.due = at; at <= m.Time || len(d.levels) > 0 {
			return nil
		}
	}
	if len(d.levels) > 0 {
		d.asked, d.due = d.levels[0].nodes, m.Time+d.levels[0].seconds*second
	}
	if n, ok := m.number("need"); ok {
		if d.need = n; n < 1 || len(d.asked) > 0 && len(d.levels) == 0 && n > int64(len(d.asked)) {
			return nil
		}
	}
	d.proposal, _ = m.Content["proposal"].(plugin.Map)
	return d
}

func (d *decision) take(h *History, m *Message) bool {
	asks := m.Sender == d.request.Sender
	open := d.status == "pending"
	switch m.Type {
	case "hil:cancel":
		if !asks || !open {
			return false
		}
		d.status = "cancelled"
	case "hil:timeout":
		if !open || d.due == 0 || m.Time <= d.due {
			return false
		}
		d.timeout(m)
	case "hil:resume":
		return asks && d.resume(m)
	case "hil:edit":
		return (asks || d.approves(m)) && open && d.inTime(m) && d.edit(m, asks)
	case "hil:delegate":
		return !asks && d.approves(m) && open && d.inTime(m) && d.delegate(m)
	case "hil:decision":
		return !asks && d.approves(m) && d.decide(h, m)
	}
	return true
}

func (d *decision) approves(m *Message) bool {
	if len(d.asked) == 0 {
		return m.Kind == "human"
	}
	return slices.Contains(d.asked, m.Sender)
}

// inTime: the last level's time, or the deadline, binds while nothing is decided.
func (d *decision) inTime(m *Message) bool {
	return d.due == 0 || m.Time <= d.due || d.level+1 < len(d.levels) || d.status != "pending"
}

func (d *decision) timeout(m *Message) {
	if d.level+1 >= len(d.levels) {
		d.status, d.outcome, d.by = "expired", d.otherwise, m.ID
		return
	}
	d.level++
	next := d.levels[d.level]
	d.asked = unique(append(slices.Clone(d.asked), next.nodes...))
	d.due = m.Time + next.seconds*second
}

func (d *decision) delegate(m *Message) bool {
	to := m.text("to")
	if len(d.asked) == 0 || to == "" || to == d.request.Sender || slices.Contains(d.asked, to) || d.votes[m.Sender] != nil {
		return false
	}
	d.asked = slices.Clone(d.asked)
	d.asked[slices.Index(d.asked, m.Sender)] = to
	return true
}

func (d *decision) edit(m *Message, asks bool) bool {
	p, _ := m.Content["proposal"].(plugin.Map)
	if p == nil {
		return false
	}
	d.proposal, d.edited, d.votes = p, m.Sender, map[string]*ballotPaper{}
	if !asks {
		d.vote(m, d.options[0])
	}
	return true
}

func (d *decision) decide(h *History, m *Message) bool {
	o := m.text("decision")
	if !d.inTime(m) || o != "reject" && !slices.Contains(d.options, o) {
		return false
	}
	outranks := m.Kind == "human" && d.status == "decided" && !d.human
	if d.status != "pending" && !outranks && (d.status != "decided" || h.Knew(d.by, m.ID)) {
		return false
	}
	d.vote(m, o)
	return true
}

// vote puts a vote down; what is decided stays, unless a human's outranks it.
func (d *decision) vote(m *Message, option string) {
	human := m.Kind == "human"
	d.votes[m.Sender] = &ballotPaper{m.ID, option, human}
	if d.status == "decided" && (!human || d.human) {
		return
	}
	before := d.outcome
	d.status, d.outcome, d.by, d.human = "pending", "", "", false
	counts, people := map[string]int64{}, map[string]bool{}
	for _, v := range d.votes {
		if v.human {
			people[v.option] = true
		}
	}
	for _, v := range d.votes {
		if v.human || len(people) == 0 || people[v.option] {
			counts[v.option]++
		}
	}
	left, reachable := int64(len(d.asked)-len(d.votes)), len(d.asked) == 0 || len(d.levels) > 0
	for _, o := range d.options {
		if counts[o] >= d.need && d.outcome == "" {
			d.outcome, d.human = o, people[o]
		}
		reachable = reachable || counts[o]+left >= d.need
	}
	if d.outcome == "" && !reachable {
		d.outcome, d.human = "reject", len(people) > 0
	}
	if d.outcome != "" {
		d.status, d.by = "decided", m.ID
	}
	if before != "" && d.outcome != before {
		d.settled = false
		d.reversed = d.reversed || d.resumed != ""
	}
}

// resume is the one execution; the vote it names settles which outcome holds.
func (d *decision) resume(m *Message) bool {
	if d.status == "pending" || d.status == "cancelled" || d.resumed != "" {
		return false
	}
	d.resumed, d.settled = m.ID, true
	for _, n := range sorted(d.votes) {
		v, same := d.votes[n], int64(0)
		for _, other := range d.votes {
			if other.option == v.option {
				same++
			}
		}
		if slices.Contains(m.Parents, v.id) && same >= d.need && (v.human || !d.human) {
			d.outcome, d.by = v.option, v.id
			break
		}
	}
	return true
}

func viewDecisions(a *Answer, all []*decision, nodes []string) {
	waiting := map[string][]plugin.Map{}
	for _, d := range all {
		a.view("decision", plugin.Map{"on": d.request.ID}, "", d.describe())
		for _, n := range nodes {
			if d.status == "pending" && n != d.request.Sender && (len(d.asked) == 0 || slices.Contains(d.asked, n)) && d.votes[n] == nil {
				waiting[n] = append(waiting[n], plugin.Map{"decision": d.request.ID})
			}
		}
	}
	for _, n := range nodes {
		a.view("waiting", plugin.Map{"limit": int64(200)}, n, plugin.Map{"decisions": waiting[n]})
	}
}

func (d *decision) describe() plugin.Map {
	out := plugin.Map{
		"decision": d.request.ID, "status": d.status, "need": d.need, "at_deadline": d.otherwise, "outcome": some(d.outcome), "by": some(d.by), "resumed": some(d.resumed),
		"edited": some(d.edited), "reversed": yes(d.reversed), "settled": yes(d.settled), "nodes": nil, "due": nil, "proposal": nil,
	}
	if len(d.asked) > 0 {
		out["nodes"] = d.asked
	}
	if d.due > 0 {
		out["due"] = plugin.Time(d.due)
	}
	if d.proposal != nil {
		out["proposal"] = d.proposal
	}
	if d.status == "decided" {
		out["human"] = d.human
	}
	votes := []plugin.Map{}
	for _, n := range sorted(d.votes) {
		v := d.votes[n]
		votes = append(votes, plugin.Map{"node": n, "message": v.id, "decision": v.option, "human": v.human})
	}
	out["votes"] = votes
	return out
}
