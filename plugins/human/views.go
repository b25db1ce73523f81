package human

// This file holds the views and commands.

import (
	"slices"

	"plexus/sdk/plugin"
)

const (
	maxText  = 4000 // bytes of a text in a list; the message itself has the rest
	maxValue = 16 << 10
)

// waiting lists what waits for a Node's decision, the caller's where none is named.
func waiting(s plugin.State, q plugin.Query) (any, error) {
	node := q.Params.Get("node").Text()
	if node == "" {
		node = q.Caller
	}
	return s.Page(q, "decisions", "o/", func(_ string, v plugin.Value) plugin.Map {
		id := string(v)
		d := s.Value("d/" + id)
		nodes := d.Get("nodes").Texts()
		if node != "" && (d.Get("sender").Text() == node || len(nodes) > 0 && !slices.Contains(nodes, node) || s.Has(votes(id, d)+node)) {
			return nil
		}
		return describe(s, id, d)
	})
}

func all(s plugin.State, q plugin.Query) (any, error) {
	status := q.Params.Get("status").Text()
	return s.Page(q, "decisions", "l/", func(_ string, v plugin.Value) plugin.Map {
		d := s.Value("d/" + string(v))
		if status != "" && d.Get("status").Text() != status {
			return nil
		}
		return describe(s, string(v), d)
	})
}

func describe(s plugin.State, id string, d plugin.Value) plugin.Map {
	out := plugin.Map{"decision": id, "sender": d.Get("sender"), "status": d.Get("status"), "options": d.Get("options"), "need": d.Get("need"), "at_deadline": d.Get("default")}
	for _, field := range []string{"nodes", "outcome", "by", "human", "settled", "resumed", "reversed", "edited"} {
		if v := d.Get(field); v != nil {
			out[field] = v
		}
	}
	if due, ok := d.Get("due").Int(); ok {
		out["due"] = plugin.Time(due)
	}
	if d.Get("levels") != nil {
		out["level"] = d.Get("level")
	}
	if m, ok := s.Message(id); ok {
		out["created_at"] = plugin.Time(m.Time)
		out["question"] = plugin.Cut(m.Content.Get("question").Text(), maxText)
		if len(m.Parents) > 0 {
			out["about"] = m.Parents[0]
		}
	}
	if m, ok := s.Message(d.Get("proposal").Text()); ok {
		if p := m.Content.Get("proposal"); len(p) <= maxValue {
			out["proposal"] = p
		} else {
			out["proposal_in"] = m.ID
		}
	}
	return out
}

// one gives a decision with its votes.
func one(s plugin.State, q plugin.Query) (any, error) {
	id, d, err := asked(s, q)
	if err != nil {
		return nil, err
	}
	out, list := describe(s, id, d), []plugin.Map{}
	prefix := votes(id, d)
	for key, raw := range s.Scan(prefix) {
		v := plugin.Value(raw)
		item := plugin.Map{"node": key[len(prefix):], "message": v.Get("id"), "decision": v.Get("option"), "human": v.Get("human")}
		if m, ok := s.Message(v.Get("id").Text()); ok {
			if text := m.Content.Get("text").Text(); text != "" {
				item["text"] = plugin.Cut(text, maxText/4)
			}
		}
		list = append(list, item)
	}
	out["votes"] = list
	return out, nil
}

// asked finds the decision that a view or command is about.
func asked(s plugin.State, q plugin.Query) (id string, d plugin.Value, err error) {
	id = q.Params.Get("on").Text()
	if id == "" {
		return "", nil, plugin.Refusal("on is required: the `decision` of an item of the view waiting")
	}
	if d = s.Value("d/" + id); d == nil {
		return "", nil, plugin.Refusal("decision " + id + " isn't known here: take the `decision` of an item of the view waiting")
	}
	return id, d, nil
}

func escalate(_ plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	nodes := q.Params.Get("nodes").Texts()
	if _, err := readEscalation(q.Params, nodes, plugin.Now()); err != nil {
		return nil, err
	}
	content := plugin.MapOf(q.Params)
	delete(content, "nodes")
	delete(content, "parents")
	for l := range q.Params.Get("levels").Items() {
		nodes = l.Get("nodes").Texts()
		break
	}
	return []plugin.Draft{{Type: Escalate, Content: content, Nodes: nodes, Parents: q.Params.Get("parents").Texts()}}, nil
}

// say makes one message about a decision. All parameters but on and parents are its content.
func say(s plugin.State, q plugin.Query, what string) ([]plugin.Draft, error) {
	id, d, err := asked(s, q)
	if err != nil {
		return nil, err
	}
	w := word{what: what, node: q.Caller, human: q.Kind == "human", time: plugin.Now(), content: q.Params}
	if err := may(s, id, d, w); err != nil {
		return nil, err
	}
	out := plugin.Draft{Type: what, Content: plugin.MapOf(q.Params), Parents: []string{id}, Nodes: []string{d.Get("sender").Text()}}
	delete(out.Content, "on")
	delete(out.Content, "parents")
	switch what {
	case Resume:
		out.Parents = append(out.Parents, d.Get("by").Text())
		out.Nodes = d.Get("nodes").Texts()
	case Delegate:
		out.Nodes = append(out.Nodes, q.Params.Get("to").Text())
	case Cancel:
		out.Nodes = d.Get("nodes").Texts()
	}
	out.Parents = append(out.Parents, q.Params.Get("parents").Texts()...)
	return []plugin.Draft{out}, nil
}
