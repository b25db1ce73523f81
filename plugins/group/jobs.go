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
	for p := range w.content.Get("parts").Items() {
		v := plugin.Map{"tried": []string{}}
		if c := p.Get("capability").Text(); c != "" {
			v["capability"] = c
		}
		s.SetValue("p/"+w.message+"/"+four(n), v)
		if n == 0 || g.Get("topology").Text() != "pipeline" { // there each begins when the one before is done
			assign(s, id, g, w.message, four(n), w.time)
		}
		n++
	}
}

// candidates are who may get a part of a job: in a pipeline all its members, else whom the job's author may ask; of these those who can do it.
func candidates(s plugin.State, id string, g, j, p plugin.Value) (out []string) {
	list := members(s, id)
	allowed := next(g, list, j.Get("sender").Text())
	for _, m := range list {
		if g.Get("topology").Text() != "pipeline" && !slices.Contains(allowed, m.node) {
			continue
		}
		if c := p.Get("capability").Text(); c == "" || slices.Contains(m.capabilities, c) {
			out = append(out, m.node)
		}
	}
	return out
}

// assign gives a part to the one of its candidates that has the fewest unfinished parts of this job and hasn't had this one; of equals
// the one that joined first. In a pipeline it is the next in line.
func assign(s plugin.State, id string, g plugin.Value, job, n string, now int64) {
	p, j := s.Value("p/"+job+"/"+n), s.Value("j/"+job)
	load, tried := map[string]int{}, p.Get("tried").Texts()
	for key, raw := range s.Scan("p/" + job + "/") {
		if v := plugin.Value(raw); v.Get("result") == nil || g.Get("topology").Text() == "pipeline" {
			if key != "p/"+job+"/"+n {
				load[v.Get("node").Text()]++
			}
		}
	}
	best := ""
	for _, node := range candidates(s, id, g, j, p) {
		if !slices.Contains(tried, node) && (best == "" || load[node] < load[best]) {
			best = node
		}
	}
	if best == "" {
		change(s, "p/"+job+"/"+n, plugin.Map{"node": "", "since": now})
		return
	}
	change(s, "p/"+job+"/"+n, plugin.Map{"node": best, "since": now, "tried": append(tried, best)})
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
		assign(s, id, g, job, four(i+1), w.time)
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
