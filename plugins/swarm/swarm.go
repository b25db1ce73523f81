// Package swarm is the pattern by which many work on one objective without a plan: they introduce themselves, claim scopes,
// share what they find, report, and converge. SKILL.md says how to use it.
//
// It is guest code: it imports sdk/plugin alone.
package swarm

// This file holds the plugin and its fold.
//
// State (<o> is the objective's message ID, <n> a scope's number in it, four digits; keys join with a slash):
//
//	o/<o>                {sender, order, task?, scopes, done?}
//	l/<order>            <o>
//	g/<message>          <o>: every message of a swarm
//	m/<o>/<node>         {order, seen}: who takes part, the introduction's order, the time it last said something
//	i/<o>/<scope>        <n>
//	s/<o>/<n>            {scope, claim?, by?, from?, due?, eta?, settled?, taken_from?, report?, overdue?}
//	r/<o>/<n>/<order>    {id, by, due, told?}: the claims on a scope
//	c/<claim>            <o>
//	f/<o>/<order>        {id, phase}: findings, reports and convergence

import (
	"slices"

	"plexus/sdk/plugin"
)

// Type is the content type of all messages of a swarm.
const Type = "swarm"

// The phases: content.meta.phase, or what a message without one is taken for.
const (
	Objective = "objective"
	Introduce = "introduce"
	Claim     = "claim"
	Finding   = "finding"
	Report    = "report"
	Converge  = "converge"
	Overruled = "overruled" // two notices: this claim has lost a scope,
	Overdue   = "overdue"   // … and this claimant is silent past its ETA
)

const (
	maxTargets = 32  // of a message
	maxScopes  = 200 // of an objective: a message of a holder looks at them all
	maxScope   = 160 // bytes: with the objective it makes a key
	maxETA     = 366 * 24 * 3600
)

// Plugin is the pattern.
func Plugin() plugin.Plugin {
	return plugin.Plugin{
		Name:  "swarm",
		Fold:  fold,
		Views: map[string]plugin.View{"objectives": objectives, "scopes": scopes, "mine": mine, "members": members, "findings": findings, "done": done},
		Commands: map[string]plugin.Action{
			"start": start, "introduce": introduce, "claim": claim, "share": share, "report": report, "converge": converge, "settle": settleCommand,
			"tell": tellCommand, "warn": warnCommand,
		},
		React: react,
	}
}

// said is a swarm message, read.
type said struct {
	plugin.Message
	objective string
	o         plugin.Value
	phase     string
	targets   []string
	due       int64 // microseconds; 0: no ETA
}

func fold(s plugin.State, m plugin.Message) error {
	if m.Type == "" {
		settle(s, m)
		return nil
	}
	w, err := read(s, m)
	if err != nil {
		return err
	}
	if w.phase == Objective {
		return foldObjective(s, w)
	}
	if w.o.Get("done") != nil && w.phase != Finding {
		return plugin.Refusal("this swarm has converged")
	}
	s.SetText("g/"+m.ID, w.objective)
	switch w.phase {
	case Claim:
		err = foldClaim(s, w)
	case Report:
		err = foldReport(s, w)
	case Converge:
		err = foldConverge(s, w)
	case Overruled, Overdue:
		return foldNotice(s, w)
	}
	if err != nil {
		return err
	}
	if w.phase == Finding || w.phase == Report || w.phase == Converge {
		s.SetValue("f/"+w.objective+"/"+m.Order(), plugin.Map{"id": m.ID, "phase": w.phase})
	}
	settle(s, m)
	alive(s, w)
	return nil
}

// read finds out which swarm a message is for and what it is in it.
func read(s plugin.State, m plugin.Message) (w said, err error) {
	w = said{Message: m, phase: m.Content.Get("meta").Get("phase").Text()}
	if m.Content.Get("content").Text() == "" {
		return w, plugin.Refusal("a swarm message needs content.content, a text")
	}
	if w.targets, err = targets(m.Content.Get("targets")); err != nil {
		return w, err
	}
	if w.due, err = due(m.Content.Get("meta"), m.Time); err != nil {
		return w, err
	}
	for _, p := range m.Parents {
		if w.objective = s.Text("g/" + p); w.objective != "" {
			w.o = s.Value("o/" + w.objective)
			break
		}
	}
	switch w.phase {
	case "":
		w.phase = guess(s, w)
	case Objective:
	case Introduce, Claim, Finding, Report, Converge, Overruled, Overdue:
		if w.o == nil {
			return w, plugin.Refusal("refs.messages must name the objective, or a message of its swarm")
		}
	default:
		return w, plugin.Refusal("meta.phase must be objective, introduce, claim, finding, report, converge, overruled or overdue")
	}
	if w.phase == Claim && len(w.targets) == 0 {
		return w, plugin.Refusal("a claim needs content.targets: the scopes you take")
	}
	return w, nil
}

// guess takes a message without a phase for what it looks like, so that agents who know none take part.
func guess(s plugin.State, w said) string {
	switch {
	case w.o == nil:
		return Objective
	case len(w.targets) > 0:
		return Claim
	case w.Sender != w.o.Get("sender").Text() && !s.Has("m/"+w.objective+"/"+w.Sender):
		return Introduce
	}
	return Finding
}

func targets(v plugin.Value) ([]string, error) {
	var out []string
	for item := range v.Items() {
		text := item.Text()
		if text == "" || len(text) > maxScope {
			return nil, plugin.Refusal("content.targets must be texts of 1 to 160 bytes")
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	if len(out) > maxTargets {
		return nil, plugin.Refusal("content.targets are at most 32")
	}
	return out, nil
}

// due reads meta.eta, a time, or meta.eta_s, seconds from the message on.
func due(meta plugin.Value, now int64) (int64, error) {
	if v := meta.Get("eta"); v != nil {
		t, ok := plugin.ParseTime(v.Text())
		if !ok || t <= now || t > now+maxETA*1_000_000 {
			return 0, plugin.Refusal("meta.eta must be a time after the message's, like 2026-11-30T15:04:05Z, within a year")
		}
		return t, nil
	}
	if v := meta.Get("eta_s"); v != nil {
		n, ok := v.Int()
		if !ok || n < 1 || n > maxETA {
			return 0, plugin.Refusal("meta.eta_s must be a number of seconds, at most a year")
		}
		return now + n*1_000_000, nil
	}
	return 0, nil
}

func foldObjective(s plugin.State, w said) error {
	o := plugin.Map{"sender": w.Sender, "order": w.Order(), "scopes": 0}
	if task := w.Content.Get("task"); task != nil {
		o["task"] = plugin.Cut(task.Text(), maxScope)
	}
	s.SetValue("o/"+w.ID, o)
	s.SetText("l/"+w.Order(), w.ID)
	s.SetText("g/"+w.ID, w.ID)
	for _, t := range w.targets {
		if _, err := scope(s, w.ID, t); err != nil {
			return err
		}
	}
	return nil
}

// scope returns the number of a scope, which its first mention gives it.
func scope(s plugin.State, o, name string) (string, error) {
	if n := s.Text("i/" + o + "/" + name); n != "" {
		return n, nil
	}
	v := s.Value("o/" + o)
	count, _ := v.Get("scopes").Int()
	if count >= maxScopes {
		return "", plugin.Refusal("an objective has at most 200 scopes")
	}
	n := string([]byte{byte('0' + count/1000), byte('0' + count/100%10), byte('0' + count/10%10), byte('0' + count%10)})
	next := plugin.MapOf(v)
	next["scopes"] = count + 1
	s.SetValue("o/"+o, next)
	s.SetText("i/"+o+"/"+name, n)
	s.SetValue("s/"+o+"/"+n, plugin.Map{"scope": name})
	return n, nil
}

// foldClaim takes scopes. One that is held by another stays with it, and this claim is its rival, until the author settles; one
// whose holder is silent past its ETA goes over.
func foldClaim(s plugin.State, w said) error {
	s.SetText("c/"+w.ID, w.objective)
	for _, t := range w.targets {
		n, err := scope(s, w.objective, t)
		if err != nil {
			return err
		}
		v := s.Value("s/" + w.objective + "/" + n)
		if v.Get("report") != nil {
			return plugin.Refusal("scope " + t + " is already reported")
		}
		s.SetValue("r/"+w.objective+"/"+n+"/"+w.Order(), plugin.Map{"id": w.ID, "by": w.Sender, "due": w.due})
		if by := v.Get("by").Text(); by == "" || by == w.Sender || silent(v, w.Time) {
			hold(s, w.objective, n, v, w, w.Time, by == w.Sender && v.Get("settled").Bool())
		}
	}
	return nil
}

// silent says whether a scope's holder let its ETA pass without a word.
func silent(v plugin.Value, now int64) bool {
	due, ok := v.Get("due").Int()
	return ok && due > 0 && now > due
}

func hold(s plugin.State, o, n string, v plugin.Value, w said, from int64, settled bool) {
	next := plugin.Map{"scope": v.Get("scope"), "claim": w.ID, "by": w.Sender, "from": from}
	if w.due > 0 {
		next["due"], next["eta"] = w.due, w.due-from
	}
	if settled {
		next["settled"] = true
	}
	if last := v.Get("by").Text(); last != "" && last != w.Sender && !settled {
		next["taken_from"] = last
	}
	s.SetValue("s/"+o+"/"+n, next)
}

// foldReport ends scopes: those named, or all that the sender holds.
func foldReport(s plugin.State, w said) error {
	if err := reportable(s, w); err != nil {
		return err
	}
	for key, raw := range s.Scan("s/" + w.objective + "/") {
		if v := plugin.Value(raw); reports(w, v) {
			next := plugin.MapOf(v)
			next["report"] = w.ID
			delete(next, "due")
			s.SetValue(key, next)
		}
	}
	return nil
}

func reports(w said, v plugin.Value) bool {
	named := len(w.targets) == 0 || slices.Contains(w.targets, v.Get("scope").Text())
	return named && v.Get("by").Text() == w.Sender && v.Get("report") == nil
}

// reportable says whether the sender holds what it reports.
func reportable(s plugin.State, w said) error {
	for _, t := range w.targets {
		v := s.Value("s/" + w.objective + "/" + s.Text("i/"+w.objective+"/"+t))
		if by := v.Get("by").Text(); by != w.Sender {
			return plugin.Refusal("scope " + t + " isn't yours to report: claim it first" + with(by))
		}
	}
	for _, raw := range s.Scan("s/" + w.objective + "/") {
		if reports(w, raw) {
			return nil
		}
	}
	return plugin.Refusal("a report needs a scope that you hold and haven't reported")
}

func with(by string) string {
	if by == "" {
		return ""
	}
	return " (it is with " + by + ")"
}

// foldConverge: the objective's author ends the swarm; anybody else proposes it.
func foldConverge(s plugin.State, w said) error {
	if w.Sender == w.o.Get("sender").Text() {
		finish(s, w.objective, w.ID)
	}
	return nil
}

func finish(s plugin.State, o, by string) {
	next := plugin.MapOf(s.Value("o/" + o))
	next["done"] = by
	s.SetValue("o/"+o, next)
}

// settle is the objective's author's word: a reply to a claim makes it the one that holds, a reply to a proposed convergence
// accepts it.
func settle(s plugin.State, m plugin.Message) {
	for _, parent := range m.Parents {
		id := s.Text("g/" + parent)
		o := s.Value("o/" + id)
		if id == "" || o.Get("sender").Text() != m.Sender || o.Get("done") != nil {
			continue
		}
		p, _ := s.Message(parent)
		if s.Text("c/"+parent) != "" {
			settleClaim(s, id, p)
		} else if v := s.Value("f/" + id + "/" + p.Order()); v.Get("phase").Text() == Converge && m.Type == "" {
			finish(s, id, parent)
		}
	}
}

func settleClaim(s plugin.State, o string, p plugin.Message) {
	list, _ := targets(p.Content.Get("targets"))
	for _, t := range list {
		n := s.Text("i/" + o + "/" + t)
		v := s.Value("s/" + o + "/" + n)
		r := s.Value("r/" + o + "/" + n + "/" + p.Order())
		if n == "" || r == nil || v.Get("report") != nil || v.Get("settled").Bool() {
			continue
		}
		if v.Get("claim").Text() == p.ID {
			next := plugin.MapOf(v)
			next["settled"] = true
			s.SetValue("s/"+o+"/"+n, next)
			continue
		}
		due, _ := r.Get("due").Int()
		hold(s, o, n, v, said{Message: p, due: due}, p.Time, true)
	}
}

// alive notes that a member said something: that moves the ETA of what it holds, by as much as it was given.
func alive(s plugin.State, w said) {
	if key := "m/" + w.objective + "/" + w.Sender; w.Sender != w.o.Get("sender").Text() || s.Has(key) || w.phase == Claim {
		m := plugin.MapOf(s.Value(key))
		if m["order"] == nil {
			m["order"] = w.Order()
		}
		m["seen"] = w.Time
		s.SetValue(key, m)
	}
	for key, raw := range s.Scan("s/" + w.objective + "/") {
		v := plugin.Value(raw)
		due, ok := v.Get("due").Int()
		eta, _ := v.Get("eta").Int()
		next := max(due, w.Time+eta, w.due)
		if !ok || v.Get("by").Text() != w.Sender || next == due || w.phase == Claim {
			continue
		}
		c := plugin.MapOf(v)
		c["due"] = next
		delete(c, "overdue")
		s.SetValue(key, c)
	}
}
