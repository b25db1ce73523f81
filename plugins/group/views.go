package group

// This file holds the views and commands.

import "plexus/sdk/plugin"

const maxValue = 1500 // bytes of a payload or result in a list; the message itself has the rest

func groups(s plugin.State, q plugin.Query) (any, error) { return list(s, q, "l/") }

// mine lists the groups of a Node, and those that invite it; the caller's where none is named.
func mine(s plugin.State, q plugin.Query) (any, error) {
	node, err := whose(q)
	if err != nil {
		return nil, err
	}
	return list(s, q, "n/"+node+"/")
}

func whose(q plugin.Query) (string, error) {
	if node := q.Params.Get("node").Text(); node != "" {
		return node, nil
	}
	if q.Caller == "" {
		return "", plugin.Refusal("say whose: node is required where nobody is signed in")
	}
	return q.Caller, nil
}

func list(s plugin.State, q plugin.Query, prefix string) (any, error) {
	return s.Page(q, "groups", prefix, func(_ string, v plugin.Value) plugin.Map {
		return describe(s, string(v), s.Value("g/"+string(v)))
	})
}

func describe(s plugin.State, id string, g plugin.Value) plugin.Map {
	out := plugin.Map{"group": id, "name": g.Get("name"), "topology": g.Get("topology"), "owner": g.Get("owner"), "status": g.Get("status"), "members": len(members(s, id))}
	for _, field := range []string{"open", "temporary"} {
		if g.Get(field).Bool() {
			out[field] = true
		}
	}
	if at, ok := g.Get("expires").Int(); ok {
		out["expires_at"] = plugin.Time(at)
	}
	return out
}

// one gives a group with its members, roles and invitations.
func one(s plugin.State, q plugin.Query) (any, error) {
	id, g, err := asked(s, q)
	if err != nil {
		return nil, err
	}
	out, list := describe(s, id, g), []plugin.Map{}
	for _, m := range members(s, id) {
		item := plugin.Map{"node": m.node, "role": m.role}
		if m.capabilities != nil {
			item["capabilities"] = m.capabilities
		}
		list = append(list, item)
	}
	out["members"], out["roles"] = list, g.Get("roles")
	invited, prefix := []string{}, "i/"+id+"/"
	for key := range s.Keys(prefix, "") {
		invited = append(invited, key[len(prefix):])
	}
	out["invited"] = invited
	return out, nil
}

func nextView(s plugin.State, q plugin.Query) (any, error) {
	id, g, err := asked(s, q)
	if err != nil {
		return nil, err
	}
	node, err := whose(q)
	if err != nil {
		return nil, err
	}
	asks := next(g, members(s, id), node)
	if asks == nil {
		asks = []string{}
	}
	return plugin.Map{"node": node, "next": asks}, nil
}

func jobs(s plugin.State, q plugin.Query) (any, error) {
	id, _, err := asked(s, q)
	if err != nil {
		return nil, err
	}
	return s.Page(q, "jobs", "h/"+id+"/", func(_ string, v plugin.Value) plugin.Map { return describeJob(s, string(v)) })
}

func describeJob(s plugin.State, job string) plugin.Map {
	j := s.Value("j/" + job)
	out := plugin.Map{"job": job, "sender": j.Get("sender"), "status": j.Get("status"), "parts": j.Get("parts"), "open": missing(s, job, nil)}
	if m, ok := s.Message(job); ok {
		out["created_at"] = plugin.Time(m.Time)
		if title := m.Content.Get("title").Text(); title != "" {
			out["title"] = plugin.Cut(title, maxValue)
		}
	}
	if r := j.Get("result"); r != nil {
		out["merged_by"] = r
	}
	return out
}

func oneJob(s plugin.State, q plugin.Query) (any, error) {
	job := q.Params.Get("job").Text()
	if s.Value("j/"+job) == nil || job == "" {
		return nil, plugin.Refusal("job is required: the `job` of an item of the view jobs")
	}
	out := describeJob(s, job)
	list := []plugin.Map{}
	m, _ := s.Message(job)
	i := int64(0)
	for p := range m.Content.Get("parts").Items() {
		list = append(list, describePart(s, job, i, p))
		i++
	}
	out["parts"] = list
	return out, nil
}

func describePart(s plugin.State, job string, i int64, p plugin.Value) plugin.Map {
	v := s.Value("p/" + job + "/" + four(i))
	item := plugin.Map{"part": i, "name": plugin.Cut(p.Get("name").Text(), maxName), "status": "waiting"}
	timeout, _ := s.Value("j/" + job).Get("timeout").Int()
	switch node := v.Get("node"); {
	case v.Get("result") != nil:
		item["status"], item["result"], item["by"] = "done", v.Get("result"), v.Get("by")
	case node != nil && node.Text() == "":
		item["status"] = "nobody"
	case node != nil:
		since, _ := v.Get("since").Int()
		item["status"], item["node"] = "assigned", node
		if timeout > 0 {
			item["due"] = plugin.Time(since + timeout)
		}
	}
	if c := v.Get("capability"); c != nil {
		item["capability"] = c
	}
	if payload := p.Get("payload"); payload != nil && len(payload) <= maxValue {
		item["payload"] = payload
	}
	return item
}

// work lists the parts that a Node has to do in a group.
func work(s plugin.State, q plugin.Query) (any, error) {
	id, _, err := asked(s, q)
	if err != nil {
		return nil, err
	}
	node, err := whose(q)
	if err != nil {
		return nil, err
	}
	return s.Page(q, "jobs", "h/"+id+"/", func(_ string, v plugin.Value) plugin.Map {
		job := string(v)
		if s.Value("j/"+job).Get("status").Text() != "running" {
			return nil
		}
		m, _ := s.Message(job)
		var list []plugin.Map
		i := int64(0)
		for p := range m.Content.Get("parts").Items() {
			if v := s.Value("p/" + job + "/" + four(i)); v.Get("node").Text() == node && v.Get("result") == nil {
				list = append(list, describePart(s, job, i, p))
			}
			i++
		}
		if list == nil {
			return nil
		}
		return plugin.Map{"job": job, "sender": m.Sender, "parts": list}
	})
}

// asked finds the group that a view or command is about.
func asked(s plugin.State, q plugin.Query) (id string, g plugin.Value, err error) {
	id = q.Params.Get("group").Text()
	if id == "" {
		return "", nil, plugin.Refusal("group is required: the `group` of an item of the view groups")
	}
	if g = s.Value("g/" + id); g == nil {
		return "", nil, plugin.Refusal("group " + id + " isn't known here: take the `group` of an item of the view groups")
	}
	return id, g, nil
}

func create(_ plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	nodes := q.Params.Get("nodes").Texts()
	if _, err := readGroup(q.Params, nodes, plugin.Now()); err != nil {
		return nil, err
	}
	return []plugin.Draft{{Type: Create, Content: content(q), Nodes: nodes, Parents: q.Params.Get("parents").Texts()}}, nil
}

func content(q plugin.Query) plugin.Map {
	c := plugin.MapOf(q.Params)
	for _, field := range []string{"group", "job", "nodes", "parents"} {
		delete(c, field)
	}
	return c
}

// say makes one message in a group, or of a job where one is named.
func say(s plugin.State, q plugin.Query, what string) ([]plugin.Draft, error) {
	job := q.Params.Get("job").Text()
	id := s.Value("j/" + job).Get("group").Text()
	g := s.Value("g/" + id)
	subject := job
	if job == "" || g == nil {
		var err error
		if id, g, err = asked(s, q); err != nil {
			return nil, err
		}
		job, subject = "", id
	}
	w := word{what: what, node: q.Caller, time: plugin.Now(), parents: q.Params.Get("parents").Texts(), nodes: q.Params.Get("nodes").Texts(), content: q.Params}
	if err := may(s, id, job, g, w); err != nil {
		return nil, err
	}
	d := plugin.Draft{Type: what, Content: content(q), Nodes: w.nodes, Parents: append([]string{subject}, w.parents...)}
	switch what {
	case Job:
		parts, asked := named(s, id, g, q.Caller, q.Params.Get("parts"))
		d.Content["parts"], d.Nodes = parts, append(d.Nodes, asked...)
	case Reassign:
		n, _ := q.Params.Get("part").Int()
		again := reassign(s, job, int(n), q.Params.Get("node").Text(), map[string]int{})
		d.Content, d.Nodes = again.Content, append(d.Nodes, again.Nodes...)
	case Result:
		d.Nodes = append(d.Nodes, s.Value("j/"+job).Get("sender").Text())
	case Role:
		d.Nodes = append(d.Nodes, q.Params.Get("node").Text())
	case Merge:
		for _, raw := range s.Scan("p/" + job + "/") {
			if r := plugin.Value(raw).Get("result").Text(); r != "" {
				d.Parents = append(d.Parents, r)
			}
		}
	}
	return []plugin.Draft{d}, nil
}
