package group

// This file holds the reaction: where a Node's user turned it on, it reassigns the parts of stragglers once a job's timeout_s has passed, and
// parts that nobody could do when somebody joins who can.

import "plexus/sdk/plugin"

// patience is how much later than the job's author each further Node that may assign does so, so that not all do: microseconds.
const patience = 30_000_000

func react(s plugin.State, e plugin.Event) ([]plugin.Draft, error) {
	job := e.Timer
	if job == "" {
		k := s.Value("k/" + e.Message.ID)
		if job = k.Get("job").Text(); job == "" && e.Message.Type == Join {
			return joined(s, k.Get("group").Text(), e), nil
		}
	}
	j := s.Value("j/" + job)
	id := j.Get("group").Text()
	wait, ok := turnOf(s, id, j, e.Node)
	if !ok {
		return nil, nil
	}
	now := int64(0)
	if e.Timer != "" {
		now = plugin.Now() - wait
	}
	out, next := stragglers(s, job, j, now)
	switch {
	case next > 0:
		plugin.SetTimer(job, next+wait+1)
	case e.Timer == "":
		plugin.DeleteTimer(job)
	}
	return out, nil
}

// turnOf is how long after a part's time a Node reassigns it: the job's author at once, others who may in the order they joined. Who may not, and
// everybody where the job is over, never does.
func turnOf(s plugin.State, id string, j plugin.Value, node string) (wait int64, ok bool) {
	g := s.Value("g/" + id)
	if j.Get("status").Text() != "running" || g.Get("status").Text() != "active" || roleOf(s, id, node) == "" {
		return 0, false
	}
	author := j.Get("sender").Text()
	if node == author {
		return 0, true
	}
	for _, m := range members(s, id) {
		if m.node == author || allowed(s, id, g, m.node, "assign") != nil {
			continue
		}
		wait += patience
		if m.node == node {
			return wait, true
		}
	}
	return 0, false
}

// stragglers are the parts whose time has passed, as drafts, and the first time at which another's will.
func stragglers(s plugin.State, job string, j plugin.Value, now int64) (out []plugin.Draft, next int64) {
	timeout, _ := j.Get("timeout").Int()
	if timeout == 0 {
		return nil, 0
	}
	given := map[string]int{}
	for i := range maxParts {
		p := s.Value("p/" + job + "/" + four(int64(i)))
		node := p.Get("node").Text()
		if node == "" || p.Get("result") != nil { // not there, not begun, with nobody, or done
			continue
		}
		since, _ := p.Get("since").Int()
		switch at := since + timeout; {
		case at < now:
			out = append(out, reassign(s, job, i, "", given))
		case next == 0 || at < next:
			next = at
		}
	}
	return out, next
}

// reassign gives a part to the one who is wanted, or next, and tells it; and who had it, since that Node may still hand it in. given counts what
// was given away in the same breath.
func reassign(s plugin.State, job string, part int, wanted string, given map[string]int) plugin.Draft {
	n, id := four(int64(part)), s.Value("j/"+job).Get("group").Text()
	c, p := loaded(s, id, s.Value("g/"+id), job, n), s.Value("p/"+job+"/"+n)
	for node, more := range given {
		c.load[node] += more
	}
	to := c.choose(wanted, p.Get("capability").Text(), p.Get("tried").Texts())
	given[to]++
	d := plugin.Draft{Type: Reassign, Content: plugin.Map{"part": part}, Parents: []string{job}, Key: job + " " + n}
	if to != "" {
		d.Content["node"] = to
	}
	for _, node := range []string{p.Get("node").Text(), to} {
		if node != "" {
			d.Nodes = append(d.Nodes, node)
		}
	}
	return d
}

// joined gives parts of the Node's own jobs that nobody could do to the one who joined, where it can.
func joined(s plugin.State, id string, e plugin.Event) (out []plugin.Draft) {
	g, given := s.Value("g/"+id), map[string]int{}
	for _, raw := range s.Scan("h/" + id + "/") {
		job := string(raw)
		if _, ok := turnOf(s, id, s.Value("j/"+job), e.Node); !ok || s.Value("j/"+job).Get("sender").Text() != e.Node {
			continue
		}
		for i := range maxParts {
			p := s.Value("p/" + job + "/" + four(int64(i)))
			if p.Get("node") == nil || p.Get("node").Text() != "" || p.Get("result") != nil || len(out) == maxParts {
				continue
			}
			if to, _ := heir(s, id, g, job, four(int64(i)), e.Message.Sender); to == e.Message.Sender {
				out = append(out, reassign(s, job, i, to, given))
			}
		}
	}
	return out
}
