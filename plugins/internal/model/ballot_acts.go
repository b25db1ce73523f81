package model

// This file holds what is said at random of ballots.

import "plexus/sdk/plugin"

// Ballot is the pattern of that name.
func Ballot() Pattern {
	return Pattern{
		Name: "ballot", Accepts: ballotTypes, Answer: answerBallot, Draw: drawBallot,
		Timely: []string{"too late", "too early", "must be a time after the one before it", "before its end only", "before its deadline"},
	}
}

func drawBallot(w *World, r *Replica) Saying {
	ballots := r.Known("ballot:open")
	if len(ballots) == 0 || len(ballots) < 3 && w.Chance("open", 10) {
		return openBallot(w, r)
	}
	by, id := w.By(r), One(w, "ballot", ballots...)
	if w.Chance("any", 5) {
		return anyBallot(w, r, by, id)
	}
	name := One(w, "command", "cast", "cast", "cast", "commit", "commit", "reveal", "reveal", "close", "confirm", "confirm")
	s := Saying{By: by, Command: name, Params: plugin.Map{"ballot": id}, Draft: Draft{Type: "ballot:" + name, Parents: []string{id}, Content: plugin.Map{}}}
	option := One(w, "option", "yes", "yes", "no", "no", "abstain", "veto", "perhaps")
	switch name {
	case "cast":
		s.Draft.Content["option"] = option
	case "commit": // a hash hides what isn't an option
		s.Draft.Content["hash"], s.Free = sealOf(id, w.ground.Node(by), option, "s"), true
		s.Params["option"], s.Params["salt"] = option, "s"
		return s
	case "reveal":
		s.Draft.Content["option"], s.Draft.Content["salt"] = option, "s"
	case "confirm": // the command finds the count that leads by itself
		s.Draft.Parents = []string{One(w, "count", append(r.Known("ballot:close"), id)...)}
		s.Free = true
	}
	for k, v := range s.Draft.Content {
		s.Params[k] = v
	}
	return s
}

func openBallot(w *World, r *Replica) Saying {
	c := plugin.Map{"question": One(w, "question", "?", "?", "?", "")}
	d := Draft{Type: "ballot:open", Content: c, Nodes: w.Names("elector", 6)}
	if w.Chance("options", 3) {
		c["options"] = list([]string{"yes", "no", "maybe"})
	}
	if rule := One(w, "rule", "", "plurality", "majority", "supermajority", "unanimity", "veto"); rule != "" {
		if c["rule"] = rule; rule == "supermajority" && w.Chance("percent", 2) {
			c["percent"] = int64(One(w, "percent", 51, 60, 75, 100))
		}
	}
	if w.Chance("quorum", 3) {
		c["quorum"] = int64(w.Int("quorum", 0, 4))
	}
	if len(d.Nodes) > 0 && w.Chance("weights", 3) {
		c["weights"] = plugin.Map{d.Nodes[0]: int64(w.Int("weight", 0, 3))}
	}
	if len(d.Nodes) > 0 && w.Chance("of", 3) {
		c["of"] = "electorate"
	}
	switch w.Int("time", 0, 3) {
	case 1:
		c["deadline"] = r.at(w.Int("seconds", 1, 60))
	case 2, 3:
		seconds := w.Int("seconds", 1, 40)
		c["deadline"], c["reveal_until"] = r.at(seconds), r.at(seconds+w.Int("reveal", 0, 60))
		if w.Chance("secret", 2) {
			c["secret"] = true
		}
	}
	params := plugin.Map{"nodes": list(d.Nodes)}
	for k, v := range c {
		params[k] = v
	}
	return Saying{By: w.By(r), Draft: d, Command: "open", Params: params}
}

// anyBallot says any message, of any ballot or none.
func anyBallot(w *World, r *Replica, by, id string) Saying {
	d := Draft{Type: One(w, "type", ballotTypes...), Content: plugin.Map{}}
	if option := One(w, "option", "yes", "no", "abstain", ""); option != "" {
		d.Content["option"], d.Content["salt"] = option, "s"
		d.Content["hash"] = sealOf(id, w.ground.Node(by), option, "s")
	}
	known := append(r.Known(ballotTypes...), r.Known("ballot:close")...)
	for range w.Int("refs", 0, 3) {
		d.Parents = append(d.Parents, One(w, "ref", known...))
	}
	return Saying{By: by, Draft: d}
}
