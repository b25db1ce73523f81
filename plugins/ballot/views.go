package ballot

// This file holds the views and commands.

import (
	"slices"

	"plexus/sdk/plugin"
)

const maxRefs = 200 // votes that the command close refers to; more are known by the log

func running(s plugin.State, q plugin.Query) (any, error) { return list(s, q, "o/", "") }

func all(s plugin.State, q plugin.Query) (any, error) { return list(s, q, "l/", "") }

// mine lists the ballots in which a Node may vote and hasn't, the caller where none is named.
func mine(s plugin.State, q plugin.Query) (any, error) {
	node := q.Params.Get("node").Text()
	if node == "" {
		node = q.Caller
	}
	if node == "" {
		return nil, plugin.Refusal("say whose: node is required where nobody is signed in")
	}
	return list(s, q, "o/", node)
}

func list(s plugin.State, q plugin.Query, prefix, node string) (any, error) {
	return s.Page(q, "ballots", prefix, func(_ string, v plugin.Value) plugin.Map {
		id := string(v)
		b := s.Value("b/" + id)
		if node != "" {
			electors := b.Get("electors").Texts()
			if len(electors) > 0 && !slices.Contains(electors, node) || voted(s, id, node) || b.Get("close") != nil {
				return nil
			}
		}
		return describe(s, id, b)
	})
}

func voted(s plugin.State, id, node string) bool {
	return counts(s, id, node) || s.Has("k/"+id+"/"+node)
}

// counts says whether a Node has a vote that is no hash.
func counts(s plugin.State, id, node string) bool {
	for range s.Keys("v/"+id+"/"+node+"/", "") {
		return true
	}
	return false
}

// allVoted says whether each elector has, a secret vote being one once it is revealed.
func allVoted(s plugin.State, id string, b plugin.Value) bool {
	electors := b.Get("electors").Texts()
	for _, node := range electors {
		if !counts(s, id, node) {
			return false
		}
	}
	return len(electors) > 0
}

func describe(s plugin.State, id string, b plugin.Value) plugin.Map {
	out := plugin.Map{"ballot": id, "sender": b.Get("sender"), "options": b.Get("options"), "rule": b.Get("rule"), "secret": b.Get("reveal") != nil, "status": status(b)}
	for _, field := range []string{"percent", "quorum", "of", "total", "finality"} {
		if v := b.Get(field); v != nil {
			out[field] = v
		}
	}
	for _, f := range [...][2]string{{"deadline", "deadline"}, {"reveal", "reveal_until"}} {
		if at, ok := b.Get(f[0]).Int(); ok {
			out[f[1]] = plugin.Time(at)
		}
	}
	if m, ok := s.Message(id); ok {
		out["created_at"] = plugin.Time(m.Time)
		out["question"] = m.Content.Get("question")
	}
	if c := s.Value("c/" + b.Get("close").Text()); c != nil {
		result := plugin.MapOf(c)
		delete(result, "ballot")
		result["message"] = b.Get("close")
		out["result"] = result
	}
	return out
}

func status(b plugin.Value) string {
	switch b.Get("finality").Text() {
	case "":
		return "open"
	case "provisional":
		return "counted"
	}
	return "closed"
}

// one gives a ballot with who voted, and for an open one how it stands.
func one(s plugin.State, q plugin.Query) (any, error) {
	id, b, err := asked(s, q)
	if err != nil {
		return nil, err
	}
	out := describe(s, id, b)
	if v := b.Get("electors"); v != nil {
		out["electors"] = v
	}
	if v := b.Get("weights"); v != nil {
		out["weights"] = v
	}
	votes, prefix := []plugin.Map{}, "v/"+id+"/"
	for key, raw := range s.Scan(prefix) {
		rest, v := key[len(prefix):], plugin.Value(raw)
		node := rest[:slices.Index([]byte(rest), '/')]
		if n := len(votes); n > 0 && votes[n-1]["node"] == node {
			votes = votes[:n-1]
		}
		vote := plugin.Map{"node": node, "option": v.Get("option"), "message": v.Get("id")}
		q.ShowTrust(vote, node)
		votes = append(votes, vote)
	}
	out["votes"] = votes
	if q.Flag("trust") {
		out["by_trust"] = weighed(b, votes)
	}
	var sealed []string
	prefix = "k/" + id + "/"
	for key := range s.Keys(prefix, "") {
		sealed = append(sealed, key[len(prefix):])
	}
	if sealed != nil {
		out["committed"] = sealed
	}
	return out, nil
}

// weighed counts votes by how far this machine's user trusts who cast them. It stands beside the result, which is the same everywhere and takes no
// notice of it. "counted" has those from the level on that the user asks for ("count"; known, where nothing was said).
func weighed(b plugin.Value, votes []plugin.Map) plugin.Map {
	need, weights := plugin.Needed("count", plugin.Known), weightsOf(b)
	levels, counted := map[string]plugin.Map{}, plugin.Map{}
	add := func(to plugin.Map, option string, weight int64) {
		n, _ := to[option].(int64)
		to[option] = n + weight
	}
	for _, v := range votes {
		node := v["node"].(string)
		level := plugin.Trust(node)
		if level == plugin.NoPolicy {
			continue
		}
		weight, ok := weights[node]
		if !ok {
			weight = 1
		}
		option := v["option"].(plugin.Value).Text()
		if levels[level.String()] == nil {
			levels[level.String()] = plugin.Map{}
		}
		add(levels[level.String()], option, weight)
		if level >= need {
			add(counted, option, weight)
		}
	}
	out := plugin.Map{"needs": need.String(), "counted": counted}
	for name, tally := range levels {
		out[name] = tally
	}
	return out
}

// asked finds the ballot that a view or command is about.
func asked(s plugin.State, q plugin.Query) (id string, b plugin.Value, err error) {
	id = q.Params.Get("ballot").Text()
	if id == "" {
		return "", nil, plugin.Refusal("ballot is required: the `ballot` of an item of a view")
	}
	if b = s.Value("b/" + id); b == nil {
		return "", nil, plugin.Refusal("ballot " + id + " isn't known here: take the `ballot` of an item of the view open")
	}
	return id, b, nil
}

func open(_ plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	nodes := q.Params.Get("nodes").Texts()
	if _, err := readBallot(q.Params, nodes, plugin.Now()); err != nil {
		return nil, err
	}
	content := plugin.MapOf(q.Params)
	delete(content, "nodes")
	delete(content, "parents")
	return []plugin.Draft{{Type: Open, Content: content, Nodes: nodes, Parents: q.Params.Get("parents").Texts()}}, nil
}

// say makes one message of a ballot. commit takes option and salt and sends their hash alone.
func say(s plugin.State, q plugin.Query, what string) ([]plugin.Draft, error) {
	id, b, err := asked(s, q)
	if err != nil {
		return nil, err
	}
	content := plugin.MapOf(q.Params)
	delete(content, "ballot")
	if what == Commit {
		option := q.Params.Get("option").Text()
		if salt := q.Params.Get("salt").Text(); salt != "" {
			if option != Abstain && !slices.Contains(choices(b), option) || len(salt) > maxSalt {
				return nil, plugin.Refusal("option must be one of the ballot's options, or abstain, and salt at most 256 bytes")
			}
			content = plugin.Map{"hash": hash(s, id, q.Caller, option, salt)}
		}
	}
	w := word{what: what, node: q.Caller, role: q.Role, time: plugin.Now(), content: plugin.Encode(content), close: b.Get("close").Text()}
	if err := may(s, id, b, w); err != nil {
		return nil, err
	}
	d := plugin.Draft{Type: what, Content: content, Parents: []string{id}, Nodes: []string{b.Get("sender").Text()}}
	switch what {
	case Confirm:
		d.Parents = append(d.Parents, w.close)
	case Close:
		if err := mayCount(b, w.time, allVoted(s, id, b)); err != nil {
			return nil, err
		}
		for _, raw := range s.Scan("v/" + id + "/") {
			if len(d.Parents) <= maxRefs {
				d.Parents = append(d.Parents, plugin.Value(raw).Get("id").Text())
			}
		}
		d.Nodes = b.Get("electors").Texts()
	}
	return []plugin.Draft{d}, nil
}
