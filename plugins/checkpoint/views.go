package checkpoint

// This file holds the views and commands.

import "plexus/sdk/plugin"

const (
	defaultLimit = 50
	maxLimit     = 200
	pageBytes    = 96 << 10 // of content in a page: with the rest it stays below a view's 256 KiB
	maxContent   = 4000     // bytes of content and feedback in a list; the message itself has the rest
)

func pending(s plugin.State, q plugin.Query) (any, error) { return list(s, q, "p/") }

func answered(s plugin.State, q plugin.Query) (any, error) { return list(s, q, "d/") }

func all(s plugin.State, q plugin.Query) (any, error) { return list(s, q, "p/", "d/") }

// list gives a page in canonical order, merged from the indexes.
func list(s plugin.State, q plugin.Query, indexes ...string) (any, error) {
	node, after := q.Params.Get("node").Text(), q.Params.Get("after").Text()
	limit := defaultLimit
	if v := q.Params.Get("limit"); v != nil {
		n, ok := v.Int()
		if !ok || n < 1 || n > maxLimit {
			return nil, plugin.Refusal("limit must be a number from 1 to 200")
		}
		limit = int(n)
	}
	items, size := []plugin.Map{}, 0
	keys := merged(s, indexes, after)
	for i, key := range keys {
		id := key[17:]
		c := s.Value("c/" + id)
		if nodes := c.Get("nodes").Texts(); node != "" && len(nodes) > 0 && !has(nodes, node) {
			continue
		}
		item, bytes := describe(s, id, c)
		items = append(items, item)
		size += bytes
		if (len(items) >= limit || size > pageBytes) && i+1 < len(keys) {
			return plugin.Map{"checkpoints": items, "next": key}, nil
		}
	}
	return plugin.Map{"checkpoints": items}, nil
}

// merged returns the orders in all indexes behind after, ascending. Each index is sorted and they don't overlap.
func merged(s plugin.State, indexes []string, after string) []string {
	var out []string
	for _, prefix := range indexes {
		var list []string
		for key := range s.Keys(prefix, after) {
			list = append(list, key[len(prefix):])
		}
		out = merge(out, list)
	}
	return out
}

func merge(a, b []string) []string {
	out := make([]string, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0] < b[0] {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// describe makes one item and says how many bytes of content it holds.
func describe(s plugin.State, id string, c plugin.Value) (plugin.Map, int) {
	item := plugin.Map{"message": id, "sender": c.Get("sender"), "status": "pending"}
	size := 200
	if m, ok := s.Message(id); ok {
		item["created_at"] = plugin.Time(m.Time)
		for _, field := range []string{"id", "kind", "title", "target", "content"} {
			size += copyText(item, field, m.Content.Get(field))
		}
		size += copyText(item, "finding", m.Content.Get("status"))
	}
	for _, field := range []string{"nodes", "options"} {
		if v := c.Get(field); v != nil {
			item[field] = v
			size += len(v)
		}
	}
	holds := c.Get("answer").Text()
	var overruled []plugin.Map
	for _, raw := range s.Scan("r/" + id + "/") {
		r := plugin.Value(raw)
		a, n := describeAnswer(s, r)
		size += n
		if r.Get("id").Text() == holds {
			item["answer"], item["status"] = a, "answered"
		} else if size < pageBytes {
			overruled = append(overruled, a)
		}
	}
	if overruled != nil {
		item["overruled"] = overruled
	}
	if c.Get("settled").Bool() {
		item["settled"] = true
	}
	return item, size
}

func describeAnswer(s plugin.State, r plugin.Value) (plugin.Map, int) {
	id := r.Get("id").Text()
	a := plugin.Map{"message": id, "option": r.Get("option"), "rejected": r.Get("option").Text() == Reject}
	size := 150
	if m, ok := s.Message(id); ok {
		a["by"], a["at"] = m.Sender, plugin.Time(m.Time)
		if m.Kind != "" {
			a["by_kind"] = m.Kind
		}
		size += copyText(a, "feedback", m.Content.Get("feedback"))
	}
	return a, size
}

// copyText copies a text, cut at a character's start where it is long.
func copyText(to plugin.Map, field string, v plugin.Value) int {
	text := v.Text()
	if text == "" {
		return 0
	}
	if len(text) > maxContent {
		n := maxContent
		for n > 0 && text[n]&0xc0 == 0x80 {
			n--
		}
		text = text[:n]
		to[field+"_cut"] = true
	}
	to[field] = text
	return len(text)
}

// submit makes the draft of a checkpoint.
func submit(_ plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	id := q.Params.Get("id").Text()
	if id == "" || len(id) > maxID {
		return nil, plugin.Refusal("id is required: a text of 1 to 128 bytes")
	}
	if _, err := readOptions(q.Params.Get("options")); err != nil {
		return nil, err
	}
	content := plugin.Map{}
	for k, v := range q.Params.Pairs() {
		if name := k.Text(); name != "nodes" && name != "parents" {
			content[name] = v
		}
	}
	return []plugin.Draft{{Type: Type, Content: content, Nodes: q.Params.Get("nodes").Texts(), Parents: q.Params.Get("parents").Texts()}}, nil
}

// answer makes the draft of an answer to a pending checkpoint.
func answer(s plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	id := q.Params.Get("checkpoint").Text()
	c := s.Value("c/" + id)
	if c == nil {
		return nil, plugin.Refusal("checkpoint " + id + " isn't known here: take the `message` of an item of the view pending")
	}
	if by := c.Get("answer").Text(); by != "" {
		return nil, plugin.Refusal("checkpoint " + id + " is already answered, by message " + by)
	}
	option, feedback := q.Params.Get("option").Text(), q.Params.Get("feedback").Text()
	if option == "" && feedback == "" {
		return nil, plugin.Refusal("say an option, or feedback")
	}
	option, err := allowed(c, q.Caller, option)
	if err != nil {
		return nil, err
	}
	content := plugin.Map{"option": option}
	if feedback != "" {
		content["feedback"] = feedback
	}
	return []plugin.Draft{{Content: content, Parents: []string{id}, Nodes: []string{c.Get("sender").Text()}}}, nil
}
