package handoff

// This file holds the views and commands.

import (
	"slices"

	"plexus/sdk/plugin"
)

const (
	maxText    = 4000 // bytes of a text in a list; the message itself has the rest
	maxClaims  = 32   // shown of one handoff
	maxContext = 200  // messages that go along in the view context …
	maxBytes   = 128 << 10
)

func unclaimed(s plugin.State, q plugin.Query) (any, error) { return list(s, q, "o/", true) }

func all(s plugin.State, q plugin.Query) (any, error) { return list(s, q, "l/", true) }

// mine lists what names a Node or is claimed by it; the caller's own where no Node is asked for.
func mine(s plugin.State, q plugin.Query) (any, error) {
	node := q.Params.Get("node").Text()
	if node == "" {
		node = q.Caller
	}
	if node == "" {
		return nil, plugin.Refusal("say whose: node is required where nobody is signed in")
	}
	return list(s, q, "n/"+node+"/", false)
}

// list gives a page, oldest first: before leaves out what is younger than a time, node what isn't for that Node.
func list(s plugin.State, q plugin.Query, prefix string, filter bool) (any, error) {
	node, until := q.Params.Get("node").Text(), ""
	if text := q.Params.Get("before").Text(); text != "" {
		t, ok := plugin.ParseTime(text)
		if !ok {
			return nil, plugin.Refusal("before must be a time like 2026-11-30T15:04:05Z")
		}
		until = plugin.Message{Time: t}.Order()
	}
	return s.Page(q, "handoffs", prefix, func(order string, v plugin.Value) plugin.Map {
		if until != "" && order >= until {
			return nil
		}
		id := string(v)
		h := s.Value("h/" + id)
		if nodes := h.Get("nodes").Texts(); filter && node != "" && len(nodes) > 0 && !slices.Contains(nodes, node) {
			return nil
		}
		return describe(s, id, h)
	})
}

func describe(s plugin.State, id string, h plugin.Value) plugin.Map {
	item := plugin.Map{"message": id, "sender": h.Get("sender"), "status": h.Get("status"), "context": h.Get("context")}
	if m, ok := s.Message(id); ok {
		item["created_at"] = plugin.Time(m.Time)
		for _, f := range [...][2]string{{"title", "title"}, {"message", "text"}, {"summary", "summary"}} {
			if text := m.Content.Get(f[0]).Text(); text != "" {
				item[f[1]] = plugin.Cut(text, maxText)
			}
		}
	}
	if v := h.Get("nodes"); v != nil {
		item["nodes"] = v
	}
	if h.Get("settled").Bool() {
		item["settled"] = true
	}
	var rivals []plugin.Map
	for _, raw := range s.Scan("r/" + id + "/") {
		r := plugin.Value(raw)
		c := plugin.Map{"message": r.Get("id"), "by": r.Get("by")}
		switch {
		case r.Get("released").Bool():
		case r.Get("id").Text() == h.Get("claim").Text():
			item["claim"] = c
		case len(rivals) < maxClaims:
			rivals = append(rivals, c)
		}
	}
	if rivals != nil {
		item["overruled"] = rivals
	}
	return item
}

// context gives what goes along with a handoff, oldest first, so that who takes it need read nothing else.
func context(s plugin.State, q plugin.Query) (any, error) {
	id, h, err := asked(s, q)
	if err != nil {
		return nil, err
	}
	m, _ := s.Message(id)
	out := plugin.Map{"handoff": describe(s, id, h)}
	var ids []string
	switch h.Get("context").Text() {
	case "messages":
		ids = m.Parents
	case "ancestors":
		ids = ancestors(s, m.Parents)
	}
	messages, size := []plugin.Map{}, 0
	var found []plugin.Message
	for _, id := range ids {
		if a, ok := s.Message(id); ok {
			found = append(found, a)
		}
	}
	slices.SortFunc(found, func(a, b plugin.Message) int {
		if a.Order() < b.Order() {
			return -1
		}
		return 1
	})
	for _, a := range slices.Backward(found) { // the newest matter most where not all fit
		if size += len(a.Content) + 400; size > maxBytes || len(messages) == maxContext {
			out["cut"] = true
			break
		}
		messages = append(messages, plugin.Map{"message": a.ID, "sender": a.Sender, "created_at": plugin.Time(a.Time), "content_type": a.Type, "content": a.Content})
	}
	slices.Reverse(messages)
	out["messages"] = messages
	return out, nil
}

// ancestors walks refs.messages upward, nearest first, as far as is shown.
func ancestors(s plugin.State, ids []string) []string {
	out := slices.Clone(ids)
	for i := 0; i < len(out) && len(out) <= maxContext; i++ {
		m, _ := s.Message(out[i])
		for _, p := range m.Parents {
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// asked finds the handoff that a view or command is about.
func asked(s plugin.State, q plugin.Query) (id string, h plugin.Value, err error) {
	id = q.Params.Get("handoff").Text()
	if id == "" {
		return "", nil, plugin.Refusal("handoff is required: the `message` of an item of a view")
	}
	if h = s.Value("h/" + id); h == nil {
		return "", nil, plugin.Refusal("handoff " + id + " isn't known here: take the `message` of an item of the view unclaimed")
	}
	return id, h, nil
}

func give(_ plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	nodes, parents := q.Params.Get("nodes").Texts(), q.Params.Get("parents").Texts()
	if _, err := carry(q.Params, len(parents)); err != nil {
		return nil, err
	}
	if len(nodes) > maxNodes {
		return nil, plugin.Refusal("a handoff names at most 64 nodes; name nobody, and anyone may take it")
	}
	content := plugin.MapOf(q.Params)
	delete(content, "nodes")
	delete(content, "parents")
	return []plugin.Draft{{Type: Type, Content: content, Nodes: nodes, Parents: parents}}, nil
}

func claim(s plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	id, h, err := asked(s, q)
	if err != nil {
		return nil, err
	}
	if h.Get("claim") != nil {
		return nil, plugin.Refusal("handoff " + id + " is already claimed by " + holder(s, id, h))
	}
	return say(s, q, Claim)
}

func decline(s plugin.State, q plugin.Query) ([]plugin.Draft, error)  { return say(s, q, Decline) }
func release(s plugin.State, q plugin.Query) ([]plugin.Draft, error)  { return say(s, q, Release) }
func withdraw(s plugin.State, q plugin.Query) ([]plugin.Draft, error) { return say(s, q, Withdraw) }

func say(s plugin.State, q plugin.Query, what string) ([]plugin.Draft, error) {
	id, h, err := asked(s, q)
	if err != nil {
		return nil, err
	}
	if err := may(s, id, h, q.Caller, what); err != nil {
		return nil, err
	}
	content := plugin.Map{}
	if text := q.Params.Get("text").Text(); text != "" {
		content["text"] = text
	}
	d := plugin.Draft{Type: what, Content: content, Parents: []string{id}}
	if what != Withdraw {
		d.Nodes = []string{h.Get("sender").Text()}
	}
	return []plugin.Draft{d}, nil
}

// settleCommand makes the author's word for one claim.
func settleCommand(s plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	claim := q.Params.Get("claim").Text()
	id := s.Text("c/" + claim)
	h := s.Value("h/" + id)
	switch {
	case claim == "" || id == "":
		return nil, plugin.Refusal("claim is required: the message of a claim")
	case h.Get("sender").Text() != q.Caller:
		return nil, plugin.Refusal("only the handoff's author may settle it")
	case h.Get("settled").Bool():
		return nil, plugin.Refusal("this handoff is settled: it is with " + holder(s, id, h))
	case h.Get("status").Text() == "withdrawn":
		return nil, plugin.Refusal("this handoff was withdrawn")
	}
	for _, raw := range s.Scan("r/" + id + "/") {
		if r := plugin.Value(raw); r.Get("id").Text() == claim && !r.Get("released").Bool() {
			return []plugin.Draft{{Content: plugin.Map{"text": "It is yours."}, Parents: []string{claim}, Nodes: []string{r.Get("by").Text()}}}, nil
		}
	}
	return nil, plugin.Refusal("that claim was released")
}
