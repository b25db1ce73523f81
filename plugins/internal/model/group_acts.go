package model

// This file holds what is said at random in groups.

import (
	"slices"

	"plexus/sdk/plugin"
)

// Group is the pattern of that name.
func Group() Pattern {
	return Pattern{
		Name: "group", Accepts: groupTypes, Answer: answerGroup, Draw: drawGroup,
		Timely: []string{"ended at", "expires_at must be", "before its time is up"},
	}
}

func drawGroup(w *World, r *Replica) Saying {
	groups := r.Known("group:create")
	if len(groups) == 0 || len(groups) < 2 && w.Chance("create", 15) {
		return createGroup(w, r)
	}
	if w.Chance("any", 5) {
		known := r.Known(groupTypes...)
		name := One(w, "what", "invite", "join", "leave", "role", "dissolve", "job", "result", "reassign", "merge")
		d := Draft{Type: "group:" + name, Content: groupContent(w, name), Nodes: w.Names("node", 2)}
		for range w.Int("refs", 0, 4) {
			d.Parents = append(d.Parents, One(w, "ref", append(known, r.Known("group:result")...)...))
		}
		return Saying{By: w.By(r), Draft: d}
	}
	name := One(w, "command", "invite", "join", "join", "join", "join", "leave", "role", "dissolve", "split", "split", "result", "result", "result", "reassign", "merge")
	what := name
	if name == "split" {
		what = "job"
	}
	s := Saying{By: w.By(r), Command: name, Draft: Draft{Type: "group:" + what, Content: groupContent(w, what)}}
	if jobs := r.Known("group:job"); slices.Contains([]string{"result", "reassign", "merge"}, name) && len(jobs) > 0 {
		id := One(w, "job", jobs...)
		s.Params, s.Draft.Parents = plugin.Map{"job": id}, []string{id}
		if results := r.Known("group:result"); name == "merge" && len(results) > 0 {
			s.Draft.Parents = append(s.Draft.Parents, One(w, "result", results...))
			s.Params["parents"] = list(s.Draft.Parents[1:])
			s.Free = true // where the job is none, the result may be another's
		}
	} else {
		id := One(w, "group", groups...)
		s.Params, s.Draft.Parents = plugin.Map{"group": id}, []string{id}
	}
	if name == "invite" {
		s.Draft.Nodes = w.Names("invited", 3)
		s.Params["nodes"] = list(s.Draft.Nodes)
	}
	for k, v := range s.Draft.Content {
		s.Params[k] = v
	}
	return s
}

func createGroup(w *World, r *Replica) Saying {
	c := plugin.Map{"name": One(w, "name", "crew", "crew", "crew", ""), "roles": plugin.Map{"lead": list([]string{"invite", "assign", "roles"})}}
	d := Draft{Type: "group:create", Content: c, Nodes: w.Names("invited", 6)}
	if t := One(w, "topology", "", "star", "mesh", "pipeline", "tree"); t != "" {
		c["topology"] = t
	}
	for _, field := range []string{"open", "temporary"} {
		if w.Chance(field, 3) {
			c[field] = true
		}
	}
	if w.Chance("expires", 4) {
		c["expires_at"] = r.at(w.Int("seconds", 1, 200))
	}
	params := plugin.Map{"nodes": list(d.Nodes)}
	for k, v := range c {
		params[k] = v
	}
	return Saying{By: w.By(r), Draft: d, Command: "create", Params: params}
}

func groupContent(w *World, name string) plugin.Map {
	c := plugin.Map{}
	switch name {
	case "join":
		if w.Chance("able", 2) {
			c["capabilities"] = list([]string{One(w, "capability", "x", "y")})
		}
	case "role":
		c["node"], c["role"] = w.ground.Node(One(w, "whose", People...)), One(w, "role", "lead", "lead", "member", "owner", "king")
	case "job":
		parts := []any{}
		for range w.Int("parts", 0, 3) {
			p := plugin.Map{"name": One(w, "part", "p", "p", "p", "p", "")}
			if w.Chance("skill", 3) {
				p["capability"] = One(w, "needs", "x", "y")
			}
			if w.Chance("named", 3) {
				p["node"] = w.ground.Node(One(w, "whom", People...))
			}
			parts = append(parts, p)
		}
		if c["parts"] = parts; w.Chance("timeout", 2) {
			c["timeout_s"] = int64(w.Int("timeout", 1, 60))
		}
	case "result", "reassign":
		if c["part"] = int64(w.Int("part", 0, 2)); name == "reassign" && w.Chance("named", 2) {
			c["node"] = w.ground.Node(One(w, "whom", People...))
		}
	case "merge":
		if w.Chance("partial", 3) {
			c["partial"] = true
		}
	}
	return c
}
