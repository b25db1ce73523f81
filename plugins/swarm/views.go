package swarm

// This file holds the views and commands.

import (
	"plexus/sdk/plugin"
)

const (
	maxText   = 4000 // bytes of a text in a list; the message itself has the rest
	maxRivals = 32   // shown of one scope
	maxOpen   = 100  // open scopes that the view done names
)

func objectives(s plugin.State, q plugin.Query) (any, error) {
	return s.Page(q, "objectives", "l/", func(_ string, v plugin.Value) plugin.Map {
		id := string(v)
		o := s.Value("o/" + id)
		out := plugin.Map{"message": id, "sender": o.Get("sender"), "scopes": o.Get("scopes"), "done": o.Get("done") != nil}
		if task := o.Get("task"); task != nil {
			out["task"] = task
		}
		text(s, id, out)
		return out
	})
}

// text adds what a message says and when it was said.
func text(s plugin.State, id string, out plugin.Map) {
	if m, ok := s.Message(id); ok {
		out["created_at"] = plugin.Time(m.Time)
		out["content"] = plugin.Cut(m.Content.Get("content").Text(), maxText)
	}
}

// scopes lists an objective's scopes and who has them. With now (a time) it says which are overdue.
func scopes(s plugin.State, q plugin.Query) (any, error) { return listScopes(s, q, "") }

// mine lists the scopes that a Node holds or has claimed, the caller's where none is named.
func mine(s plugin.State, q plugin.Query) (any, error) {
	node := q.Params.Get("node").Text()
	if node == "" {
		node = q.Caller
	}
	if node == "" {
		return nil, plugin.Refusal("say whose: node is required where nobody is signed in")
	}
	return listScopes(s, q, node)
}

func listScopes(s plugin.State, q plugin.Query, node string) (any, error) {
	id, _, err := asked(s, q)
	if err != nil {
		return nil, err
	}
	now := int64(0)
	if text := q.Params.Get("now").Text(); text != "" {
		t, ok := plugin.ParseTime(text)
		if !ok {
			return nil, plugin.Refusal("now must be a time like 2026-11-30T15:04:05Z")
		}
		now = t
	}
	return s.Page(q, "scopes", "s/"+id+"/", func(n string, v plugin.Value) plugin.Map {
		out := plugin.Map{"scope": v.Get("scope"), "status": status(v, now)}
		for _, field := range []string{"claim", "by", "settled", "taken_from", "report"} {
			if x := v.Get(field); x != nil {
				out[field] = x
			}
		}
		if due, ok := v.Get("due").Int(); ok {
			out["due"] = plugin.Time(due)
		}
		var rivals []plugin.Map
		concerns := node == "" || v.Get("by").Text() == node
		for _, raw := range s.Scan("r/" + id + "/" + n + "/") {
			r := plugin.Value(raw)
			if by := r.Get("by").Text(); by != v.Get("by").Text() && len(rivals) < maxRivals {
				rival := plugin.Map{"message": r.Get("id"), "by": by}
				if r.Get("told").Bool() {
					rival["told"] = true
				}
				rivals = append(rivals, rival)
				concerns = concerns || by == node
			}
		}
		if !concerns {
			return nil
		}
		if rivals != nil {
			out["overruled"] = rivals
		}
		return out
	})
}

func status(v plugin.Value, now int64) string {
	switch {
	case v.Get("report") != nil:
		return "reported"
	case v.Get("claim") == nil:
		return "free"
	case silent(v, now) || v.Get("overdue") != nil:
		return "overdue"
	}
	return "claimed"
}

func members(s plugin.State, q plugin.Query) (any, error) {
	id, _, err := asked(s, q)
	if err != nil {
		return nil, err
	}
	return s.Page(q, "members", "m/"+id+"/", func(node string, v plugin.Value) plugin.Map {
		seen, _ := v.Get("seen").Int()
		out := plugin.Map{"node": node, "seen": plugin.Time(seen)}
		first := plugin.OrderID(v.Get("order").Text())
		out["message"] = first
		text(s, first, out)
		return out
	})
}

// findings lists what was found, reported and concluded.
func findings(s plugin.State, q plugin.Query) (any, error) {
	id, _, err := asked(s, q)
	if err != nil {
		return nil, err
	}
	phase := q.Params.Get("phase").Text()
	return s.Page(q, "findings", "f/"+id+"/", func(_ string, v plugin.Value) plugin.Map {
		if phase != "" && v.Get("phase").Text() != phase {
			return nil
		}
		m, _ := s.Message(v.Get("id").Text())
		out := plugin.Map{"message": m.ID, "sender": m.Sender, "phase": v.Get("phase")}
		if list, _ := targets(m.Content.Get("targets")); list != nil {
			out["targets"] = list
		}
		text(s, m.ID, out)
		return out
	})
}

// done answers whether an objective is reached, and if not, what is open.
func done(s plugin.State, q plugin.Query) (any, error) {
	id, o, err := asked(s, q)
	if err != nil {
		return nil, err
	}
	open, total, reported := []plugin.Map{}, 0, 0
	for _, raw := range s.Scan("s/" + id + "/") {
		v := plugin.Value(raw)
		total++
		if v.Get("report") != nil {
			reported++
		} else if len(open) < maxOpen {
			item := plugin.Map{"scope": v.Get("scope"), "status": status(v, 0)}
			if by := v.Get("by"); by != nil {
				item["by"] = by
			}
			open = append(open, item)
		}
	}
	out := plugin.Map{"objective": id, "done": o.Get("done") != nil, "ready": total > 0 && reported == total, "scopes": total, "reported": reported, "open": open}
	if by := o.Get("done"); by != nil {
		out["by"] = by
	}
	return out, nil
}

// asked finds the objective that a view or command is about.
func asked(s plugin.State, q plugin.Query) (id string, o plugin.Value, err error) {
	id = q.Params.Get("objective").Text()
	if id == "" {
		return "", nil, plugin.Refusal("objective is required: the `message` of an item of the view objectives")
	}
	if o = s.Value("o/" + id); o == nil {
		return "", nil, plugin.Refusal("objective " + id + " isn't known here: take the `message` of an item of the view objectives")
	}
	return id, o, nil
}

func start(_ plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	d, err := draft(q, Objective)
	if err != nil {
		return nil, err
	}
	if task := q.Params.Get("task").Text(); task != "" {
		d.Content["task"] = task
	}
	d.Parents = q.Params.Get("parents").Texts()
	return []plugin.Draft{d}, nil
}

func introduce(s plugin.State, q plugin.Query) ([]plugin.Draft, error) { return say(s, q, Introduce) }
func share(s plugin.State, q plugin.Query) ([]plugin.Draft, error)     { return say(s, q, Finding) }
func converge(s plugin.State, q plugin.Query) ([]plugin.Draft, error)  { return say(s, q, Converge) }

func report(s plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	id, _, err := asked(s, q)
	if err != nil {
		return nil, err
	}
	named, err := targets(q.Params.Get("targets"))
	if err != nil {
		return nil, err
	}
	w := said{Message: plugin.Message{Sender: q.Caller}, objective: id, targets: named}
	if err := reportable(s, w); err != nil {
		return nil, err
	}
	return say(s, q, Report)
}

func claim(s plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	id, _, err := asked(s, q)
	if err != nil {
		return nil, err
	}
	named, err := targets(q.Params.Get("targets"))
	if err != nil {
		return nil, err
	}
	if len(named) == 0 {
		return nil, plugin.Refusal("targets are required: the scopes you take")
	}
	now := clock(q)
	for _, t := range named {
		v := s.Value("s/" + id + "/" + s.Text("i/"+id+"/"+t))
		if v.Get("report") != nil {
			return nil, plugin.Refusal("scope " + t + " is already reported")
		}
		if by := v.Get("by").Text(); by != "" && by != q.Caller && status(v, now) != "overdue" {
			reason := "scope " + t + " is already claimed by " + by
			if due, ok := v.Get("due").Int(); ok {
				reason += "; it may be taken over after " + plugin.Time(due)
			}
			return nil, plugin.Refusal(reason)
		}
	}
	return say(s, q, Claim)
}

// say makes a message in an objective's swarm.
func say(s plugin.State, q plugin.Query, phase string) ([]plugin.Draft, error) {
	id, o, err := asked(s, q)
	if err != nil {
		return nil, err
	}
	if o.Get("done") != nil && phase != Finding {
		return nil, plugin.Refusal("this swarm has converged")
	}
	d, err := draft(q, phase)
	if err != nil {
		return nil, err
	}
	d.Parents = append([]string{id}, q.Params.Get("parents").Texts()...)
	if sender := o.Get("sender").Text(); sender != q.Caller {
		d.Nodes = []string{sender}
	}
	return []plugin.Draft{d}, nil
}

func draft(q plugin.Query, phase string) (plugin.Draft, error) {
	text := q.Params.Get("content").Text()
	if text == "" {
		return plugin.Draft{}, plugin.Refusal("content is required, a text")
	}
	content, meta := plugin.Map{"content": text}, plugin.Map{"phase": phase}
	if _, err := targets(q.Params.Get("targets")); err != nil {
		return plugin.Draft{}, err
	}
	if list := q.Params.Get("targets"); list.Len() > 0 {
		content["targets"] = list
	}
	for _, field := range []string{"eta", "eta_s"} {
		if v := q.Params.Get(field); v != nil {
			meta[field] = v
		}
	}
	content["meta"] = meta
	return plugin.Draft{Type: Type, Content: content}, nil
}

func settleCommand(s plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	id := q.Params.Get("message").Text()
	o := s.Value("o/" + s.Text("g/"+id))
	m, _ := s.Message(id)
	switch {
	case o == nil:
		return nil, plugin.Refusal("message is required: a claim, or a proposed convergence")
	case o.Get("sender").Text() != q.Caller:
		return nil, plugin.Refusal("only the objective's author may settle")
	case o.Get("done") != nil:
		return nil, plugin.Refusal("this swarm has converged")
	}
	return []plugin.Draft{{Content: plugin.Map{"text": "Agreed."}, Parents: []string{id}, Nodes: []string{m.Sender}}}, nil
}

func tellCommand(s plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	o, err := claimed(s, q)
	if err != nil {
		return nil, err
	}
	d, err := tell(s, o, q.Params.Get("claim").Text())
	return []plugin.Draft{d}, err
}

func warnCommand(s plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	o, err := claimed(s, q)
	if err != nil {
		return nil, err
	}
	d, err := warn(s, o, q.Params.Get("claim").Text(), clock(q))
	return []plugin.Draft{d}, err
}

// clock is the time that a command is given as now, or the node's.
func clock(q plugin.Query) int64 {
	if now, ok := plugin.ParseTime(q.Params.Get("now").Text()); ok {
		return now
	}
	return plugin.Now()
}

// claimed finds the objective of the claim that a command is about.
func claimed(s plugin.State, q plugin.Query) (string, error) {
	o := s.Text("c/" + q.Params.Get("claim").Text())
	switch v := s.Value("o/" + o); {
	case v == nil:
		return "", plugin.Refusal("claim is required: a `claim` or `overruled` message of the view scopes")
	case v.Get("done") != nil:
		return "", plugin.Refusal("this swarm has converged")
	}
	return o, nil
}
