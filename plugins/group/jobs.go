package group

// This file holds the work of a group: a job is split into parts, which are assigned by topology and capability, collected, and merged
// (MapReduce); a straggler's part goes to the next.

import (
	"slices"

	"plexus/sdk/plugin"
)

func foldJob(s plugin.State, id string, g plugin.Value, w word) {
	seconds, _ := w.content.Get("timeout_s").Int()
	n := int64(0)
	s.SetValue("j/"+w.message, plugin.Map{"group": id, "sender": w.node, "order": w.order, "status": "running", "parts": w.content.Get("parts").Len(), "timeout": seconds * 1_000_000})
	s.SetText("h/"+id+"/"+w.order, w.message)
	s.SetValue("k/"+w.message, plugin.Map{"group": id, "job": w.message})
	j := s.Value("j/" + w.message)
	c := newCrew(s, id, g, j)
	for p := range w.content.Get("parts").Items() {
		v := plugin.Map{"tried": []string{}}
		capability := p.Get("capability").Text()
		if capability != "" {
			v["capability"] = capability
		}
		if n == 0 || !c.pipeline { // there each begins when the one before is done
			node := c.choose(p.Get("node").Text(), capability, nil)
			v["node"], v["since"] = node, w.time
			if node != "" {
				v["tried"] = []string{node}
			}
		}
		s.SetValue("p/"+w.message+"/"+four(n), v)
		n++
	}
}

// named are a new job's parts with who gets each, so that its author's word decides it, whatever arrives late; and those Nodes.
func named(s plugin.State, id string, g plugin.Value, author string, parts plugin.Value) (out []any, nodes []string) {
	c := newCrew(s, id, g, plugin.Encode(plugin.Map{"sender": author}))
	for p := range parts.Items() {
		part := plugin.MapOf(p)
		if !c.pipeline || len(out) == 0 {
			node := c.choose(p.Get("node").Text(), p.Get("capability").Text(), nil)
			if part["node"] = node; node == "" {
				delete(part, "node")
			} else if !slices.Contains(nodes, node) {
				nodes = append(nodes, node)
			}
		}
		out = append(out, part)
	}
	return out, nodes
}

// crew are those who may get parts of a job: in a pipeline all its members, else whom the job's author may ask; and how many parts each has.
type crew struct {
	pipeline bool
	members  []member
	load     map[string]int
}

func newCrew(s plugin.State, id string, g, j plugin.Value) *crew {
	c := &crew{pipeline: g.Get("topology").Text() == "pipeline", load: map[string]int{}}
	list := members(s, id)
	allowed := next(g, list, j.Get("sender").Text())
	for _, m := range list {
		if c.pipeline || slices.Contains(allowed, m.node) {
			c.members = append(c.members, m)
		}
	}
	return c
}

// choose gives a part to the one who is wanted, where it can do it and hasn't had it; else to the one with the fewest parts of those who can;
// of equals the one that joined first.
func (c *crew) choose(wanted, capability string, tried []string) (best string) {
	for _, m := range c.members {
		able := (capability == "" || slices.Contains(m.capabilities, capability)) && !slices.Contains(tried, m.node)
		if able && (m.node == wanted || best == "" || c.load[m.node] < c.load[best]) {
			best = m.node
		}
		if able && m.node == wanted {
			break
		}
	}
	c.load[best]++
	return best
}

// assign gives a part to the one who is wanted, or to the one of its candidates that has or lost the fewest unfinished parts of this job and hasn't
// had this one; of equals the one that joined first. In a pipeline it is the next in line.
func assign(s plugin.State, id string, g plugin.Value, job, n, wanted string, now int64) {
	best, tried := heir(s, id, g, job, n, wanted)
	changes := plugin.Map{"node": best, "since": now}
	if best != "" {
		changes["tried"] = append(tried, best)
	}
	change(s, "p/"+job+"/"+n, changes)
}

// heir is who gets a part next, "" where there is nobody left, and who had it before.
func heir(s plugin.State, id string, g plugin.Value, job, n, wanted string) (best string, tried []string) {
	p := s.Value("p/" + job + "/" + n)
	tried = p.Get("tried").Texts()
	return loaded(s, id, g, job, n).choose(wanted, p.Get("capability").Text(), tried), tried
}

// loaded is a job's crew with what each has to do beside part n. A part that was taken from a member unfinished counts as one it has, so that a
// straggler isn't asked before others.
func loaded(s plugin.State, id string, g plugin.Value, job, n string) *crew {
	c := newCrew(s, id, g, s.Value("j/"+job))
	for key, raw := range s.Scan("p/" + job + "/") {
		v := plugin.Value(raw)
		if v.Get("result") != nil && !c.pipeline || key == "p/"+job+"/"+n {
			continue
		}
		for _, node := range v.Get("tried").Texts() {
			c.load[node]++
		}
	}
	return c
}

// part finds which part a message is about: content.part, its number from 0.
func part(s plugin.State, job string, w word) (string, plugin.Value) {
	n, ok := w.content.Get("part").Int()
	if !ok || n < 0 || n >= maxParts {
		return "", nil
	}
	return four(n), s.Value("p/" + job + "/" + four(n))
}

// foldResult takes a result. The first from whoever has the part holds; another's, from one that had it before, is kept, and the merge may
// choose it.
func foldResult(s plugin.State, id string, g plugin.Value, job string, w word) {
	n, p := part(s, job, w)
	s.SetValue("r/"+job+"/"+n+"/"+w.order, plugin.Map{"id": w.message, "by": w.node})
	if p.Get("result") != nil || p.Get("node").Text() != w.node {
		return
	}
	change(s, "p/"+job+"/"+n, plugin.Map{"result": w.message, "by": w.node})
	if g.Get("topology").Text() != "pipeline" {
		return
	}
	i, _ := w.content.Get("part").Int()
	if after := s.Value("p/" + job + "/" + four(i+1)); after != nil && after.Get("node") == nil {
		assign(s, id, g, job, four(i+1), "", w.time)
	}
}

// foldMerge ends a job. The results that the merge refers to are the ones that hold, whatever came first.
func foldMerge(s plugin.State, id string, g plugin.Value, job string, w word) {
	for key, raw := range s.Scan("r/" + job + "/") {
		r := plugin.Value(raw)
		if n := key[len("r/"+job+"/"):][:4]; slices.Contains(w.parents, r.Get("id").Text()) {
			change(s, "p/"+job+"/"+n, plugin.Map{"result": r.Get("id").Text(), "by": r.Get("by").Text()})
		}
	}
	change(s, "j/"+job, plugin.Map{"status": "merged", "result": w.message})
	if g.Get("temporary").Bool() {
		change(s, "g/"+id, plugin.Map{"status": "dissolved"})
	}
}

// missing counts the parts that have no result, nor one among the messages.
func missing(s plugin.State, job string, parents []string) (n int) {
	for key, raw := range s.Scan("p/" + job + "/") {
		if plugin.Value(raw).Get("result") != nil {
			continue
		}
		found := false
		for _, r := range s.Scan("r/" + key[len("p/"):] + "/") {
			found = found || slices.Contains(parents, plugin.Value(r).Get("id").Text())
		}
		if !found {
			n++
		}
	}
	return n
}
