package model

// This file holds the work of a group: split, assigned, collected, merged.

import (
	"slices"

	"plexus/sdk/plugin"
)

type job struct {
	split   *Message
	timeout int64
	parts   []*part
	merge   string
}

type part struct {
	capability, node string
	wanted           string // whom the job's author names
	since            int64
	given            bool // to somebody or nobody; a pipeline's later parts aren't yet
	tried            []string
	results          []*Message
	result           *Message // the one that holds
}

func (j *job) status() string {
	if j.merge != "" {
		return "merged"
	}
	return "running"
}

func (g *group) split(m *Message) *job {
	j := &job{split: m}
	seconds, _ := m.number("timeout_s")
	j.timeout = seconds * second
	parts, _ := m.Content["parts"].([]any)
	for _, p := range parts {
		p, _ := p.(plugin.Map)
		name, _ := p["name"].(string)
		capability, _ := p["capability"].(string)
		if name == "" {
			return nil
		}
		wanted, _ := p["node"].(string)
		j.parts = append(j.parts, &part{capability: capability, wanted: wanted})
	}
	if len(parts) == 0 {
		return nil
	}
	for i, p := range j.parts {
		if i == 0 || g.topology != "pipeline" {
			g.assign(j, p, m.Time, p.wanted)
		}
	}
	return j
}

// assign gives a part to the one who is wanted, where it may get it and hasn't had it, else to the one of those who has or lost the fewest other
// parts; of equals the first that joined. In a pipeline all count, that is each is next in line; else the unfinished.
func (g *group) assign(j *job, p *part, now int64, wanted string) {
	may := g.asks(j.split.Sender)
	p.node, p.since, p.given = "", now, true
	least := 0
	for _, m := range g.members {
		if g.topology != "pipeline" && !slices.Contains(may, m.node) || slices.Contains(p.tried, m.node) || p.capability != "" && !slices.Contains(m.capabilities, p.capability) {
			continue
		}
		load := 0
		for _, other := range j.parts {
			if other != p && slices.Contains(other.tried, m.node) && (other.result == nil || g.topology == "pipeline") {
				load++
			}
		}
		if m.node == wanted {
			load = -1
		}
		if p.node == "" || load < least {
			p.node, least = m.node, load
		}
	}
	if p.node != "" {
		p.tried = append(p.tried, p.node)
	}
}

func (g *group) work(m *Message, j *job) bool {
	if j.merge != "" {
		return false
	}
	if m.Type == "group:merge" {
		return m.Sender == j.split.Sender && g.merge(m, j)
	}
	n, ok := m.number("part")
	if !ok || n < 0 || n >= int64(len(j.parts)) {
		return false
	}
	p := j.parts[n]
	if m.Type == "group:reassign" {
		mine := m.Sender == j.split.Sender
		late := j.timeout > 0 && m.Time > p.since+j.timeout
		if p.result != nil && g.h.Knew(p.result.ID, m.ID) || !p.given || !mine && (!g.may(m.Sender, "assign") || p.node != "" && !late) {
			return false
		}
		g.assign(j, p, m.Time, m.text("node"))
		return true
	}
	if !slices.Contains(p.tried, m.Sender) || slices.ContainsFunc(p.results, func(r *Message) bool { return r.Sender == m.Sender }) {
		return false
	}
	p.results = append(p.results, m)
	if p.result == nil && p.node == m.Sender {
		p.result = m
		if int(n)+1 < len(j.parts) && g.topology == "pipeline" && !j.parts[n+1].given {
			g.assign(j, j.parts[n+1], m.Time, "")
		}
	}
	return true
}

func (g *group) merge(m *Message, j *job) bool {
	partial, _ := m.Content["partial"].(bool)
	chosen := map[*part]*Message{}
	for _, p := range j.parts {
		for _, r := range p.results {
			if slices.Contains(m.Parents, r.ID) {
				chosen[p] = r // the last of several
			}
		}
		if p.result == nil && chosen[p] == nil && !partial {
			return false
		}
	}
	for p, r := range chosen {
		p.result = r
	}
	j.merge = m.ID
	if temporary, _ := g.create.Content["temporary"].(bool); temporary {
		g.over = true
	}
	return true
}

func (p *part) describe(i int, j *job) plugin.Map {
	out := plugin.Map{"part": i, "status": "waiting", "result": nil, "node": nil, "due": nil}
	switch {
	case p.result != nil:
		out["status"], out["result"], out["by"] = "done", p.result.ID, p.result.Sender
	case p.given && p.node == "":
		out["status"] = "nobody"
	case p.given:
		if out["status"], out["node"] = "assigned", p.node; j.timeout > 0 {
			out["due"] = plugin.Time(p.since + j.timeout)
		}
	}
	return out
}

func (j *job) describe() plugin.Map {
	parts, open := []plugin.Map{}, 0
	for i, p := range j.parts {
		if parts = append(parts, p.describe(i, j)); p.result == nil {
			open++
		}
	}
	return plugin.Map{"job": j.split.ID, "sender": j.split.Sender, "status": j.status(), "open": open, "parts": parts, "merged_by": some(j.merge)}
}

func (g *group) viewWork(a *Answer, node string) {
	list := []plugin.Map{}
	for _, j := range g.jobs {
		var parts []plugin.Map
		for i, p := range j.parts {
			if p.node == node && p.result == nil && j.merge == "" {
				parts = append(parts, p.describe(i, j))
			}
		}
		if parts != nil {
			list = append(list, plugin.Map{"job": j.split.ID, "parts": parts})
		}
	}
	a.view("work", plugin.Map{"group": g.create.ID, "limit": int64(200)}, node, plugin.Map{"jobs": list})
}
