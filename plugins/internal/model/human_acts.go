package model

// This file holds what is said at random of decisions.

import "plexus/sdk/plugin"

// Human is the pattern of that name.
func Human() Pattern {
	return Pattern{
		Name: "human", Accepts: humanTypes, Answer: answerHuman, Draw: drawHuman,
		Timely: []string{"expired at", "no time of this decision", "deadline must be a time"},
	}
}

func drawHuman(w *World, r *Replica) Saying {
	known := r.Known("hil:escalation")
	if len(known) == 0 || len(known) < 3 && w.Chance("escalate", 10) {
		return askHuman(w, r)
	}
	if w.Chance("any", 5) {
		return anyHuman(w, r)
	}
	name := One(w, "command", "decide", "decide", "decide", "decide", "delegate", "edit", "timeout", "resume", "resume", "cancel")
	id := One(w, "decision", known...)
	d := Draft{Type: map[string]string{"decide": "hil:decision"}[name], Content: humanContent(w, name), Parents: []string{id}}
	if d.Type == "" {
		d.Type = "hil:" + name
	}
	s := Saying{By: w.By(r), Command: name, Draft: d, Params: plugin.Map{"on": id}}
	for k, v := range d.Content {
		s.Params[k] = v
	}
	return s
}

func askHuman(w *World, r *Replica) Saying {
	c := plugin.Map{"question": One(w, "question", "?", "?", "?", "")}
	d := Draft{Type: "hil:escalation", Content: c, Nodes: w.Names("asked", 5)}
	params := plugin.Map{"nodes": list(d.Nodes)}
	if w.Chance("options", 3) {
		c["options"] = list([]string{"a", "b"})
	}
	if w.Chance("need", 2) {
		c["need"] = int64(w.Int("need", 1, 3))
	}
	if w.Chance("proposal", 2) {
		c["proposal"] = plugin.Map{"n": int64(0)}
	}
	switch w.Int("time", 0, 3) {
	case 1:
		c["deadline"] = r.at(w.Int("seconds", 1, 100))
		if w.Chance("default", 2) {
			c["at_deadline"] = "reject"
		}
	case 2:
		levels := []any{}
		for range w.Int("levels", 1, 3) {
			nodes := append(w.Names("on", 2), w.ground.Node(One(w, "one", People...)))
			levels = append(levels, plugin.Map{"nodes": list(unique(nodes)), "timeout_s": int64(w.Int("seconds", 1, 50))})
		}
		c["levels"] = levels
	}
	for k, v := range c {
		params[k] = v
	}
	return Saying{By: w.By(r), Draft: d, Command: "escalate", Params: params}
}

// anyHuman says any message, of any decision or none; a resume names votes.
func anyHuman(w *World, r *Replica) Saying {
	name := One(w, "what", "decide", "decide", "delegate", "edit", "timeout", "resume", "resume", "cancel")
	d := Draft{Type: "hil:" + name, Content: humanContent(w, name)}
	if name == "decide" {
		d.Type = "hil:decision"
	}
	known := append(r.Known(humanTypes...), r.Known("hil:decision")...)
	for range w.Int("refs", 0, 3) {
		d.Parents = append(d.Parents, One(w, "ref", known...))
	}
	return Saying{By: w.By(r), Draft: d}
}

func humanContent(w *World, name string) plugin.Map {
	c := plugin.Map{}
	switch name {
	case "decide":
		c["decision"] = One(w, "decide", "approve", "approve", "reject", "reject", "a", "b", "c")
	case "delegate":
		c["to"] = w.ground.Node(One(w, "to", People...))
	case "edit":
		if !w.Chance("none", 5) {
			c["proposal"] = plugin.Map{"n": int64(w.Int("n", 1, 9))}
		}
	}
	return c
}
