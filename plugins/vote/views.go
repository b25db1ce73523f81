package vote

// This file holds the views and commands.

import "plexus/sdk/plugin"

const maxPolls = 100 // a view's answer

// viewOpen lists the polls that run, oldest first.
func viewOpen(s plugin.State, _ plugin.Query) (any, error) {
	polls := []plugin.Map{}
	for _, id := range s.Scan("o/") {
		polls = append(polls, describe(s, string(id), s.Value("p/"+string(id))))
		if len(polls) == maxPolls {
			break
		}
	}
	return plugin.Map{"polls": polls}, nil
}

// viewTally counts one poll.
func viewTally(s plugin.State, q plugin.Query) (any, error) {
	id, p, err := asked(s, q)
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	voters := 0
	for _, option := range s.Scan("c/" + id + "/") {
		counts[string(option)]++
		voters++
	}
	tally := []plugin.Map{}
	for o := range p.Get("options").Items() {
		tally = append(tally, plugin.Map{"option": o, "votes": counts[o.Text()]})
	}
	out := describe(s, id, p)
	out["tally"], out["voters"] = tally, voters
	return out, nil
}

func describe(s plugin.State, id string, p plugin.Value) plugin.Map {
	out := plugin.Map{"poll": id}
	for _, field := range []string{"id", "sender", "options", "question"} {
		out[field] = p.Get(field)
	}
	if by := s.Text("x/" + id); by != "" {
		out["closed"] = by
	}
	return out
}

// asked finds the poll that a view or command is about.
func asked(s plugin.State, q plugin.Query) (id string, p plugin.Value, err error) {
	id = q.Params.Get("poll").Text()
	if id == "" || len(id) > maxID {
		return "", nil, plugin.Refusal("poll is required: the `poll` of an item of the view open")
	}
	if p = s.Value("p/" + id); p == nil {
		return "", nil, plugin.Refusal("poll " + id + " isn't known here: take the `poll` of an item of the view open")
	}
	return id, p, nil
}

func commandOpen(_ plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	p, err := readPoll(q.Params)
	if err != nil {
		return nil, err
	}
	return []plugin.Draft{{Type: "vote:open", Content: p}}, nil
}

func commandCast(s plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	id, p, err := askedOpen(s, q)
	if err != nil {
		return nil, err
	}
	option := q.Params.Get("option").Text()
	if !offers(p, option) {
		return nil, plugin.Refusal("option must be one of the poll's options")
	}
	return []plugin.Draft{{Type: "vote:cast", Content: plugin.Map{"option": option}, Parents: []string{id}}}, nil
}

func commandClose(s plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	id, p, err := askedOpen(s, q)
	if err != nil {
		return nil, err
	}
	if p.Get("sender").Text() != q.Caller {
		return nil, plugin.Refusal("only the one who opened a poll may close it")
	}
	return []plugin.Draft{{Type: "vote:close", Parents: []string{id}}}, nil
}

func askedOpen(s plugin.State, q plugin.Query) (id string, p plugin.Value, err error) {
	id, p, err = asked(s, q)
	if err == nil && s.Has("x/"+id) {
		return "", nil, plugin.Refusal("the poll is closed")
	}
	return id, p, err
}
