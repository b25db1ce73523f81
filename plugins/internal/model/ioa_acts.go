package model

// This file holds what is said at random in the patterns that have no model.

import (
	"maps"

	"plexus/sdk/plugin"
)

// command is a saying whose draft has all parameters but those named as content.
func command(by, name, what string, params plugin.Map, parents []string, not ...string) Saying {
	c := maps.Clone(params)
	for _, n := range append(not, "nodes", "parents") {
		delete(c, n)
	}
	return Saying{By: by, Command: name, Params: params, Draft: Draft{Type: what, Content: c, Parents: parents}}
}

// addressed adds whom it names.
func (s Saying) addressed(nodes []string) Saying {
	s.Params["nodes"], s.Draft.Nodes = list(nodes), nodes
	return s
}

// Checkpoint is the pattern of that name.
func Checkpoint() Pattern {
	return Pattern{Name: "checkpoint", Accepts: []string{"checkpoint"}, Replies: true, Draw: func(w *World, r *Replica) Saying {
		known := r.Known("checkpoint")
		if len(known) == 0 || len(known) < 3 && w.Chance("submit", 8) {
			p := plugin.Map{"id": One(w, "id", "a", "b", "")}
			if w.Chance("options", 2) {
				p["options"] = list([]string{"Yes", "No"})
			}
			return command(w.By(r), "submit", "checkpoint", p, nil).addressed(w.Names("asked", 2))
		}
		id := One(w, "checkpoint", known...)
		if w.Chance("talk", 4) { // the author's reply to an answer settles
			d := Draft{Content: plugin.Map{"text": "so be it"}, Parents: []string{One(w, "ref", r.Known("", "checkpoint")...)}}
			return Saying{By: w.By(r), Draft: d}
		}
		s := command(w.By(r), "answer", "", plugin.Map{"checkpoint": id, "option": One(w, "option", "Yes", "no", "Reject", "Maybe", "")}, []string{id}, "checkpoint")
		s.Shown = View{Name: "all"}
		return s
	}}
}

// Handoff is the pattern of that name.
func Handoff() Pattern {
	accepts := []string{"handoff", "handoff:claim", "handoff:decline", "handoff:release", "handoff:withdraw"}
	return Pattern{Name: "handoff", Accepts: accepts, Replies: true, Draw: func(w *World, r *Replica) Saying {
		known := r.Known("handoff")
		if len(known) == 0 || len(known) < 3 && w.Chance("give", 8) {
			p := plugin.Map{"title": One(w, "title", "t", "t", "")}
			if c := One(w, "context", "", "none", "summary", "ancestors", "all"); c != "" {
				p["context"] = c
			}
			return command(w.By(r), "give", "handoff", p, nil).addressed(w.Names("to", 2))
		}
		name := One(w, "command", "claim", "claim", "claim", "decline", "release", "withdraw", "settle", "settle")
		if name == "settle" {
			id := One(w, "claim", append(r.Known("handoff:claim"), known...)...)
			return Saying{By: w.By(r), Command: name, Params: plugin.Map{"claim": id}, Draft: Draft{Parents: []string{id}, Content: plugin.Map{"text": "yours"}}}
		}
		id := One(w, "handoff", known...)
		s := command(w.By(r), name, "handoff:"+name, plugin.Map{"handoff": id}, []string{id}, "handoff")
		s.Shown = View{Name: "all"}
		return s
	}}
}

// Team is the pattern of that name. Nobody in the world is an admin.
func Team() Pattern {
	return Pattern{Name: "team", Accepts: []string{"team", "team:join", "team:leave", "team:role"}, Draw: func(w *World, r *Replica) Saying {
		name := One(w, "command", "say", "join", "join", "leave", "role")
		what, p := "team:"+name, plugin.Map{"team": One(w, "team", "a", "b", "")}
		switch name {
		case "say":
			what, p["text"] = "team", One(w, "text", "x", "x", "")
		case "join":
			p["role"], p["capabilities"] = One(w, "role", "lead", "lead", ""), list([]string{One(w, "capability", "go", "c", "")})
		case "role":
			p["node"], p["role"] = w.ground.Node(One(w, "node", People...)), One(w, "role", "lead", "")
		}
		return command(w.By(r), name, what, p, nil)
	}}
}

// Swarm is the pattern of that name.
func Swarm() Pattern {
	phases := map[string]string{"introduce": "introduce", "claim": "claim", "share": "finding", "report": "report", "converge": "converge"}
	return Pattern{Name: "swarm", Accepts: []string{"swarm"}, Replies: true, Timely: []string{"meta.eta"}, Draw: func(w *World, r *Replica) Saying {
		goals := objectives(r)
		if len(goals) == 0 || len(goals) < 2 && w.Chance("start", 10) {
			s := command(w.By(r), "start", "swarm", plugin.Map{"content": One(w, "goal", "g", "g", "")}, nil)
			s.Draft.Content["meta"] = plugin.Map{"phase": "objective"}
			return s
		}
		id := One(w, "objective", goals...)
		name := One(w, "command", "introduce", "claim", "claim", "claim", "share", "report", "report", "converge", "settle")
		if name == "settle" {
			id := One(w, "message", r.Known("swarm")...)
			return Saying{By: w.By(r), Command: name, Params: plugin.Map{"message": id}, Draft: Draft{Parents: []string{id}, Content: plugin.Map{"text": "agreed"}}}
		}
		by := w.By(r)
		p := plugin.Map{"objective": id, "content": One(w, "text", "x", "x", "x", "")}
		if w.Chance("scoped", 2) || name == "claim" {
			p["targets"] = list(One(w, "targets", []string{"a"}, []string{"b"}, []string{"a", "b"}, nil))
		}
		if name == "claim" {
			p["now"] = plugin.Time(w.message(r, by, Draft{}).Time) // as a node's clock would have it
			if w.Chance("eta", 2) {
				p["eta_s"] = int64(w.Int("eta", 1, 60))
			}
		}
		s := command(by, name, "swarm", p, []string{id}, "objective", "now", "eta_s")
		meta := plugin.Map{"phase": phases[name]}
		if eta := p["eta_s"]; eta != nil {
			meta["eta_s"] = eta
		}
		s.Draft.Content["meta"] = meta
		s.Shown = View{Name: "scopes", Params: plugin.Map{"objective": id}}
		s.Free = len(texts(p["targets"])) > 1 // the fold takes the scopes that are free
		return s
	}}
}

// objectives are the messages that are ones, as far as they say so.
func objectives(r *Replica) (out []string) {
	for _, m := range r.have {
		if meta, _ := m.Content["meta"].(plugin.Map); meta["phase"] == "objective" && m.text("content") != "" {
			out = append(out, m.ID)
		}
	}
	return out
}

// Capability is the pattern of that name.
func Capability() Pattern {
	accepts := []string{"capability:declare", "capability:withdraw", "p2p:task_request", "p2p:task_complete"}
	return Pattern{Name: "capability", Accepts: accepts, Draw: func(w *World, r *Replica) Saying {
		p := plugin.Map{"type": One(w, "type", "a", "b", "")}
		name := One(w, "command", "declare", "declare", "withdraw", "invoke")
		switch name {
		case "declare":
			if w.Chance("schema", 2) {
				p["input_schema"] = One[any](w, "schema", plugin.Map{"type": "object", "required": list([]string{"n"})}, plugin.Map{"type": "object"}, "text")
			}
			if w.Chance("time", 3) {
				p["estimated_time_s"] = int64(w.Int("time", -1, 9))
			}
		case "invoke":
			s := command(w.By(r), name, "p2p:task_request", plugin.Map{"type": p["type"], "node": w.ground.Node(One(w, "node", People...)), "payload": plugin.Map{"n": int64(1)}}, nil, "type", "node")
			s.Draft.Content["task_type"] = p["type"]
			s.Free = true // a request is the pattern task's to judge
			return s
		}
		return command(w.By(r), name, "capability:"+name, p, nil)
	}}
}
