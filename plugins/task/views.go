package task

// This file holds the views.

import (
	"slices"
	"strings"

	"plexus/sdk/plugin"
)

const (
	maxText   = 4000 // bytes of a text in a list; the message itself has the rest
	maxValue  = 8000 // bytes of payload and result in a list
	maxRivals = 16
)

func open(s plugin.State, q plugin.Query) (any, error) { return list(s, q, "o/") }

func all(s plugin.State, q plugin.Query) (any, error) { return list(s, q, "l/") }

// mine lists the tasks a Node has to do with: it asked, is asked, or confirmed.
func mine(s plugin.State, q plugin.Query) (any, error) {
	node := q.Params.Get("node").Text()
	if node == "" {
		node = q.Caller
	}
	if node == "" {
		return nil, plugin.Refusal("say whose: node is required where nobody is signed in")
	}
	return list(s, q, "n/"+node+"/")
}

// waiting lists the tasks in which a Node is to move next: asked to do one that nobody has confirmed, or asked for more by who does one.
func waiting(s plugin.State, q plugin.Query) (any, error) {
	node := q.Params.Get("node").Text()
	if node == "" {
		node = q.Caller
	}
	if node == "" {
		return nil, plugin.Refusal("say whose: node is required where nobody is signed in")
	}
	return s.Page(q, "tasks", "n/"+node+"/", func(_ string, v plugin.Value) plugin.Map {
		id := string(v)
		t := s.Value("t/" + id)
		switch statusOf(s, id, t) {
		case Pending:
			if slices.Contains(t.Get("nodes").Texts(), node) && !s.Has("x/"+id+"/"+node) {
				return describe(s, id, t)
			}
		case InfoNeeded, NeedHuman:
			if t.Get("sender").Text() == node {
				return describe(s, id, t)
			}
		}
		return nil
	})
}

func subtasks(s plugin.State, q plugin.Query) (any, error) {
	id, _, err := asked(s, q)
	if err != nil {
		return nil, err
	}
	return list(s, q, "s/"+id+"/")
}

func list(s plugin.State, q plugin.Query, prefix string) (any, error) {
	status, kind := q.Params.Get("status").Text(), q.Params.Get("task_type").Text()
	return s.Page(q, "tasks", prefix, func(_ string, v plugin.Value) plugin.Map {
		id := string(v)
		t := s.Value("t/" + id)
		if status != "" && statusOf(s, id, t) != status || kind != "" && t.Get("type").Text() != kind {
			return nil
		}
		return shown(s, q, id, t)
	})
}

// overdue lists the open tasks of which a time has passed, for who watches over them.
func overdue(s plugin.State, q plugin.Query) (any, error) {
	now, ok := plugin.ParseTime(q.Params.Get("now").Text())
	if !ok {
		return nil, plugin.Refusal("now is required, a time like 2026-11-30T15:04:05Z")
	}
	return s.Page(q, "tasks", "o/", func(_ string, v plugin.Value) plugin.Map {
		id := string(v)
		t := s.Value("t/" + id)
		if !passed(t, s.Value("r/"+id+"/"+t.Get("lane").Text()), now) {
			return nil
		}
		return shown(s, q, id, t)
	})
}

// shown is describe with how far the user trusts who asks for the task, where that was asked.
func shown(s plugin.State, q plugin.Query, id string, t plugin.Value) plugin.Map {
	out := describe(s, id, t)
	q.ShowTrust(out, t.Get("sender").Text())
	return out
}

func describe(s plugin.State, id string, t plugin.Value) plugin.Map {
	out := plugin.Map{"task": id, "task_type": t.Get("type"), "status": statusOf(s, id, t), "sender": t.Get("sender"), "priority": t.Get("priority"), "attempt": t.Get("attempt")}
	for _, field := range []string{"nodes", "retry_of", "retried", "subtask_of", "delegated", "settled", "reason"} {
		if v := t.Get(field); v != nil {
			out[field] = v
		}
	}
	for _, f := range [...][2]string{{"deadline", "deadline"}, {"expires", "expires_at"}} {
		if at, ok := t.Get(f[0]).Int(); ok {
			out[f[1]] = plugin.Time(at)
		}
	}
	if m, ok := s.Message(id); ok {
		out["created_at"] = plugin.Time(m.Time)
		if title := m.Content.Get("title").Text(); title != "" {
			out["title"] = plugin.Cut(title, maxText)
		}
		short(out, "payload", m.Content.Get("payload"))
	}
	prefix := "r/" + id + "/"
	var rivals []plugin.Map
	for key, raw := range s.Scan(prefix) {
		if key[len(prefix):] == t.Get("lane").Text() {
			for k, v := range describeLane(s, raw) {
				out[k] = v
			}
		} else if len(rivals) < maxRivals {
			l := plugin.Value(raw)
			rivals = append(rivals, plugin.Map{"by": l.Get("by"), "confirm": l.Get("confirm"), "status": l.Get("status")})
		}
	}
	if rivals != nil {
		out["overruled"] = rivals
	}
	return out
}

func describeLane(s plugin.State, l plugin.Value) plugin.Map {
	seen, _ := l.Get("seen").Int()
	out := plugin.Map{"by": l.Get("by"), "confirm": l.Get("confirm"), "seen": plugin.Time(seen), "last": l.Get("last")}
	if p := l.Get("percent"); p != nil {
		out["percent"] = p
	}
	if v := l.Get("overruled"); v != nil {
		out["overruled_result"] = v
	}
	for _, field := range []string{"accepted", "disputed"} {
		if l.Get(field).Bool() {
			out[field] = true
		}
	}
	if m, ok := s.Message(l.Get("result").Text()); ok {
		out["result_message"] = m.ID
		for _, field := range []string{"result", "error", "artefacts"} {
			short(out, field, m.Content.Get(field))
		}
		if merged := merges(s, m.Parents); merged != nil {
			out["merged"] = merged
		}
	}
	if m, ok := s.Message(l.Get("last").Text()); ok {
		for _, field := range []string{"question", "text"} {
			if text := m.Content.Get(field).Text(); text != "" {
				out[field] = plugin.Cut(text, maxText)
			}
		}
	}
	return out
}

// merges are the tasks whose results a result refers to.
func merges(s plugin.State, parents []string) (out []string) {
	for _, p := range parents {
		g := s.Value("g/" + p)
		if r := s.Value("r/" + g.Get("task").Text() + "/" + g.Get("lane").Text()); r != nil && r.Get("result").Text() == p {
			out = append(out, g.Get("task").Text())
		}
	}
	return out
}

// short adds a value unless it is too long for a list; the message has it.
func short(out plugin.Map, field string, v plugin.Value) {
	switch {
	case v == nil:
	case len(v) > maxValue:
		out[field+"_cut"] = true
	default:
		out[field] = v
	}
}

// one gives a task with its subtasks' states counted.
func one(s plugin.State, q plugin.Query) (any, error) {
	id, t, err := asked(s, q)
	if err != nil {
		return nil, err
	}
	out := shown(s, q, id, t)
	counts := map[string]int{}
	for _, raw := range s.Scan("s/" + id + "/") {
		counts[statusOf(s, string(raw), s.Value("t/"+string(raw)))]++
	}
	if len(counts) > 0 {
		m := plugin.Map{}
		for status, n := range counts {
			m[status] = n
		}
		out["subtasks"] = m
	}
	var no []string
	prefix := "x/" + id + "/"
	for key := range s.Keys(prefix, "") {
		no = append(no, key[len(prefix):])
	}
	if no != nil {
		out["rejected_by"] = no
	}
	return out, nil
}

// history lists what moved a task, oldest first, with the acks each message got.
func history(s plugin.State, q plugin.Query) (any, error) {
	id, _, err := asked(s, q)
	if err != nil {
		return nil, err
	}
	return s.Page(q, "moves", "h/"+id+"/", func(_ string, v plugin.Value) plugin.Map {
		m, _ := s.Message(v.Get("id").Text())
		out := plugin.Map{"message": m.ID, "content_type": m.Type, "sender": m.Sender, "created_at": plugin.Time(m.Time), "steps": v.Get("steps")}
		prefix, acks := "a/"+m.ID+"/", []plugin.Map{}
		for key, raw := range s.Scan(prefix) {
			acks = append(acks, plugin.Map{"node": strings.TrimPrefix(key, prefix), "says": string(raw)})
		}
		if len(acks) > 0 {
			out["acks"] = acks
		}
		return out
	})
}

// asked finds the task that a view or command is about.
func asked(s plugin.State, q plugin.Query) (id string, t plugin.Value, err error) {
	id = q.Params.Get("task").Text()
	if id == "" {
		return "", nil, plugin.Refusal("task is required: the `task` of an item of a view")
	}
	if t = s.Value("t/" + id); t == nil {
		return "", nil, plugin.Refusal("task " + id + " isn't known here: take the `task` of an item of the view open")
	}
	return id, t, nil
}
