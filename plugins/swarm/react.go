package swarm

// This file holds the two notices, who is owed one, and the reaction that sends them: where a Node's user turned it on, it tells those
// whose claims are overruled, and says when a claimant has let its ETA pass in silence. Commands and plain messages do the same.

import (
	"slices"

	"plexus/sdk/plugin"
)

const (
	maxTold   = 32         // Nodes that an overdue notice names
	mostTold  = 32         // notices of one reaction, which may put out 64 messages; the rest follow with the next
	patience  = 30_000_000 // microseconds: how much later than the one before it each member says what the author's Node should have said
	mostTurns = 40         // of patience: who comes later has nothing to add
)

// foldNotice takes a notice about a claim. It moves nothing but what is shown; it is no sign of life and settles nothing, since a reaction
// may have said it.
func foldNotice(s plugin.State, w said) error {
	claim := aboutClaim(s, w.objective, w.Parents)
	if claim == "" {
		return plugin.Refusal("refs.messages must name the claim that the notice is about")
	}
	if w.phase == Overruled {
		owed := overruled(s, w.objective, claim)
		for _, c := range owed {
			r := plugin.MapOf(s.Value(c.rival))
			r["told"] = true
			s.SetValue(c.rival, r)
		}
		return refuseNone(owed, "this claim isn't overruled, or its author was told")
	}
	late := overdue(s, w.objective, claim, w.Time)
	for _, c := range late {
		v := plugin.MapOf(c.v)
		v["overdue"] = w.ID
		s.SetValue(c.key, v)
	}
	return refuseNone(late, "this claim isn't past its ETA, or it was said")
}

func refuseNone(list []contested, reason string) error {
	if len(list) == 0 {
		return plugin.Refusal(reason)
	}
	return nil
}

// aboutClaim is the first claim of an objective among messages.
func aboutClaim(s plugin.State, o string, ids []string) string {
	for _, id := range ids {
		if s.Text("c/"+id) == o {
			return id
		}
	}
	return ""
}

// contested is a scope that a claim is about.
type contested struct {
	name, key, rival string // the keys of the scope, and of the claim on it
	v, r             plugin.Value
}

// about lists the scopes of a claim that aren't reported.
func about(s plugin.State, o, claim string) (out []contested) {
	m, _ := s.Message(claim)
	list, _ := targets(m.Content.Get("targets"))
	for _, t := range list {
		n := s.Text("i/" + o + "/" + t)
		c := contested{name: t, key: "s/" + o + "/" + n, rival: "r/" + o + "/" + n + "/" + m.Order()}
		c.v, c.r = s.Value(c.key), s.Value(c.rival)
		if n != "" && c.r != nil && c.v.Get("report") == nil {
			out = append(out, c)
		}
	}
	return out
}

// overruled are the scopes of a claim that are with another, as its author wasn't told yet.
func overruled(s plugin.State, o, claim string) []contested {
	return slices.DeleteFunc(about(s, o, claim), func(c contested) bool {
		return c.v.Get("by").Text() == c.r.Get("by").Text() || c.r.Get("told").Bool()
	})
}

// overdue are the scopes that a claim holds although its ETA has passed without a word, as nobody said yet.
func overdue(s plugin.State, o, claim string, now int64) []contested {
	return slices.DeleteFunc(about(s, o, claim), func(c contested) bool {
		return c.v.Get("claim").Text() != claim || !silent(c.v, now) || c.v.Get("overdue") != nil
	})
}

func names(list []contested) (out []string) {
	for _, c := range list {
		out = append(out, c.name)
	}
	return out
}

// tell is the notice that a claim is overruled.
func tell(s plugin.State, o, claim string) (plugin.Draft, error) {
	owed := overruled(s, o, claim)
	if len(owed) == 0 {
		return plugin.Draft{}, plugin.Refusal("this claim isn't overruled, or its author was told")
	}
	holds := owed[0].v
	text := "Your claim is overruled: " + holds.Get("by").Text() + " has it. Take another scope, or have the objective's author settle."
	return plugin.Draft{
		Type: Type, Key: Overruled + " " + claim, Once: true,
		Content: plugin.Map{"content": text, "targets": names(owed), "meta": plugin.Map{"phase": Overruled}},
		Parents: []string{claim, holds.Get("claim").Text()}, Nodes: []string{owed[0].r.Get("by").Text()},
	}, nil
}

// warn is the notice that a claim's ETA has passed, for its author, and for those who may take over: who claimed the same, else all members.
func warn(s plugin.State, o, claim string, now int64) (plugin.Draft, error) {
	late := overdue(s, o, claim, now)
	if len(late) == 0 {
		return plugin.Draft{}, plugin.Refusal("this claim isn't past its ETA, or it was said")
	}
	holder := late[0].v.Get("by").Text()
	due, _ := late[0].v.Get("due").Int()
	nodes := []string{holder}
	add := func(node string) {
		if len(nodes) < maxTold && !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	for _, c := range late {
		for _, raw := range s.Scan("r" + c.key[1:] + "/") {
			add(plugin.Value(raw).Get("by").Text())
		}
	}
	if prefix := "m/" + o + "/"; len(nodes) == 1 {
		for key := range s.Keys(prefix, "") {
			add(key[len(prefix):])
		}
	}
	text := "No word of " + holder + ", whose ETA passed at " + plugin.Time(due) + ": claim these to take over."
	return plugin.Draft{
		Type: Type, Key: Overdue,
		Content: plugin.Map{"content": text, "targets": names(late), "meta": plugin.Map{"phase": Overdue}},
		Parents: []string{claim}, Nodes: nodes,
	}, nil
}

func react(s plugin.State, e plugin.Event) ([]plugin.Draft, error) {
	if e.Timer != "" {
		return rang(s, e)
	}
	o := s.Text("g/" + e.Message.ID)
	for _, p := range e.Message.Parents {
		if o == "" {
			o = s.Text("g/" + p)
		}
	}
	v := s.Value("o/" + o)
	if v == nil || v.Get("done") != nil {
		return nil, nil
	}
	var out []plugin.Draft
	for _, claim := range append([]string{e.Message.ID}, e.Message.Parents...) {
		if s.Text("c/"+claim) != o {
			continue
		}
		for _, c := range about(s, o, claim) {
			out = watch(s, o, c, e.Node, out)
		}
	}
	return out, nil
}

// watch sets the timer of whoever holds a scope, and adds the notices that are owed to its rivals: by the objective's author and by whoever
// holds the scope, since one of them may be away.
func watch(s plugin.State, o string, c contested, node string, out []plugin.Draft) []plugin.Draft {
	holder := c.v.Get("by").Text()
	if due, ok := c.v.Get("due").Int(); ok && node != holder && c.v.Get("overdue") == nil {
		if turn, ok := turnOf(s, o, node); ok {
			plugin.SetTimer(c.v.Get("claim").Text(), due+turn+1)
		}
	}
	if node != holder && node != s.Value("o/"+o).Get("sender").Text() {
		return out
	}
	for _, raw := range s.Scan("r" + c.key[1:] + "/") {
		r := plugin.Value(raw)
		claim := r.Get("id").Text()
		if r.Get("told").Bool() || r.Get("by").Text() == holder || slices.ContainsFunc(out, func(d plugin.Draft) bool { return d.Parents[0] == claim }) {
			continue
		}
		if d, err := tell(s, o, claim); err == nil && len(out) < mostTold {
			out = append(out, d)
		}
	}
	return out
}

// turnOf is how much later than the objective's author a Node says that an ETA has passed: the members one after another, so that not
// all say it. Who is neither never does.
func turnOf(s plugin.State, o, node string) (wait int64, ok bool) {
	if node == s.Value("o/"+o).Get("sender").Text() {
		return 0, true
	}
	prefix := "m/" + o + "/"
	for key := range s.Keys(prefix, "") {
		wait = min(wait+patience, mostTurns*patience)
		if key[len(prefix):] == node {
			return wait, true
		}
	}
	return 0, false
}

// rang says that a claim's ETA has passed, or waits on where the claimant has spoken since.
func rang(s plugin.State, e plugin.Event) ([]plugin.Draft, error) {
	claim := e.Timer
	o := s.Text("c/" + claim)
	turn, ok := turnOf(s, o, e.Node)
	if !ok || s.Value("o/"+o).Get("done") != nil {
		return nil, nil
	}
	now := plugin.Now()
	if d, err := warn(s, o, claim, now-turn); err == nil {
		return []plugin.Draft{d}, nil
	}
	at := int64(0)
	for _, c := range about(s, o, claim) {
		due, ok := c.v.Get("due").Int()
		if ok && c.v.Get("claim").Text() == claim && c.v.Get("overdue") == nil && (at == 0 || due < at) {
			at = due
		}
	}
	if at > 0 {
		plugin.SetTimer(claim, at+turn+1)
	}
	return nil, nil
}
