package model

// This file holds the model of vote, the example that plugin projects start from, and what is said at random of polls.

import (
	"slices"

	"plexus/sdk/plugin"
)

var voteTypes = []string{"vote:open", "vote:cast", "vote:close"}

type poll struct {
	open   *Message
	votes  map[string]string // the last of each
	closed string
}

// Vote is the pattern of that name.
func Vote() Pattern {
	return Pattern{Name: "vote", Accepts: voteTypes, Answer: answerVote, Draw: drawVote}
}

func answerVote(h *History) Answer {
	a := Answer{Marked: map[string]bool{}}
	polls := map[string]*poll{}
	var all []*poll
	for _, m := range h.Messages {
		if m.Type == "vote:open" {
			if options := unique(m.texts("options")); m.text("id") == "" || len(options) < 2 || slices.Contains(options, "") {
				a.Marked[m.ID] = true
				continue
			}
			p := &poll{open: m, votes: map[string]string{}}
			polls[m.ID], all = p, append(all, p)
			continue
		}
		var p *poll
		for _, id := range m.Parents {
			if p == nil {
				p = polls[id]
			}
		}
		switch {
		case p == nil || p.closed != "":
			a.Marked[m.ID] = true
		case m.Type == "vote:close" && m.Sender == p.open.Sender:
			p.closed = m.ID
		case m.Type == "vote:cast" && slices.Contains(p.open.texts("options"), m.text("option")):
			p.votes[m.Sender] = m.text("option")
		default:
			a.Marked[m.ID] = true
		}
	}
	running := []plugin.Map{}
	for _, p := range all {
		if p.closed == "" {
			running = append(running, plugin.Map{"poll": p.open.ID})
		}
		tally := []plugin.Map{}
		for _, o := range p.open.texts("options") {
			n := 0
			for _, v := range p.votes {
				if v == o {
					n++
				}
			}
			tally = append(tally, plugin.Map{"option": o, "votes": n})
		}
		a.view("tally", plugin.Map{"poll": p.open.ID}, "", plugin.Map{"poll": p.open.ID, "tally": tally, "voters": len(p.votes), "closed": some(p.closed)})
	}
	a.view("open", nil, "", plugin.Map{"polls": running})
	return a
}

func drawVote(w *World, r *Replica) Saying {
	known := r.Known("vote:open")
	if len(known) == 0 || len(known) < 3 && w.Chance("open", 8) {
		p := plugin.Map{"id": One(w, "id", "p", "p", ""), "question": "?", "options": list([]string{"a", One(w, "option", "b", "b", "c", "")})}
		return command(w.By(r), "open", "vote:open", p, nil)
	}
	if w.Chance("any", 5) {
		d := Draft{Type: One(w, "type", "vote:cast", "vote:close"), Content: plugin.Map{"option": "a"}}
		for range w.Int("refs", 0, 2) {
			d.Parents = append(d.Parents, One(w, "ref", r.Known(voteTypes...)...))
		}
		return Saying{By: w.By(r), Draft: d}
	}
	id, name := One(w, "poll", known...), One(w, "command", "cast", "cast", "cast", "close")
	p := plugin.Map{"poll": id}
	if name == "cast" {
		p["option"] = One(w, "option", "a", "b", "c", "")
	}
	return command(w.By(r), name, "vote:"+name, p, []string{id}, "poll")
}
