package capability

// This file holds the views and commands.

import (
	"strings"

	"plexus/sdk/plugin"
)

const maxText = 4000 // bytes of a description in a list; the message itself has the rest

// find lists capabilities: of a type, with a text in name, type or description, whose input schema takes a payload.
func find(s plugin.State, q plugin.Query) (any, error) {
	prefix := "c/"
	if kind := q.Params.Get("type").Text(); kind != "" {
		prefix = key("c", kind, "")
	}
	text, sample := strings.ToLower(q.Params.Get("text").Text()), q.Params.Get("payload")
	return s.Page(q, "capabilities", prefix, func(_ string, c plugin.Value) plugin.Map {
		m, _ := s.Message(c.Get("id").Text())
		if text != "" && !mentions(m.Content, text) || sample != nil && check(s, m.Content.Get("input_schema"), sample, "payload") != "" {
			return nil
		}
		out := describe(m)
		q.ShowTrust(out, m.Sender)
		return out
	})
}

func mentions(c plugin.Value, text string) bool {
	for _, field := range []string{"name", "type", "description"} {
		if strings.Contains(strings.ToLower(c.Get(field).Text()), text) {
			return true
		}
	}
	return false
}

func describe(m plugin.Message) plugin.Map {
	out := plugin.Map{"node": m.Sender, "message": m.ID, "declared_at": plugin.Time(m.Time)}
	for _, field := range []string{"type", "name", "version", "description"} {
		if text := m.Content.Get(field).Text(); text != "" {
			out[field] = plugin.Cut(text, maxText)
		}
	}
	if v := m.Content.Get("estimated_time_s"); v != nil {
		out["estimated_time_s"] = v
	}
	return out
}

// of lists what one Node can do, the caller where none is named.
func of(s plugin.State, q plugin.Query) (any, error) {
	node := q.Params.Get("node").Text()
	if node == "" {
		node = q.Caller
	}
	if node == "" {
		return nil, plugin.Refusal("say whose: node is required where nobody is signed in")
	}
	return s.Page(q, "capabilities", key("n", node, ""), func(kind string, _ plugin.Value) plugin.Map {
		m, _ := s.Message(s.Value(key("c", kind, node)).Get("id").Text())
		return describe(m)
	})
}

// one gives a capability with its schemas.
func one(s plugin.State, q plugin.Query) (any, error) {
	m, err := declared(s, q.Params.Get("type").Text(), q.Params.Get("node").Text())
	if err != nil {
		return nil, err
	}
	out := describe(m)
	q.ShowTrust(out, m.Sender)
	for _, field := range []string{"input_schema", "output_schema"} {
		if v := m.Content.Get(field); v != nil {
			out[field] = v
		}
	}
	return out, nil
}

func declared(s plugin.State, kind, node string) (plugin.Message, error) {
	m, ok := s.Message(s.Value(key("c", kind, node)).Get("id").Text())
	if !ok {
		return m, plugin.Refusal("node " + node + " hasn't declared the capability " + kind + ": see the view find")
	}
	return m, nil
}

// invocation says whether a task's payload and result fit what was declared.
func invocation(s plugin.State, q plugin.Query) (any, error) {
	task := q.Params.Get("task").Text()
	i := s.Value("i/" + task)
	if task == "" || i == nil {
		return nil, plugin.Refusal("task must be the ID of a request that asks a Node for a capability it declared")
	}
	out := plugin.MapOf(i)
	out["task"] = task
	return out, nil
}

func declare(_ plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	if _, err := readType(q.Params); err != nil {
		return nil, err
	}
	if err := readDeclaration(q.Params); err != nil {
		return nil, err
	}
	return []plugin.Draft{{Type: Declare, Content: plugin.MapOf(q.Params)}}, nil
}

func withdraw(s plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	kind, err := readType(q.Params)
	if err != nil {
		return nil, err
	}
	if !s.Has(key("c", kind, q.Caller)) {
		return nil, plugin.Refusal("you haven't declared " + kind)
	}
	return []plugin.Draft{{Type: Withdraw, Content: plugin.Map{"type": kind}}}, nil
}

// mayInvoke keeps an agent from sending a payload to a Node that this machine's user doesn't trust far enough ("invoke"; known, where nothing was
// said). A human may.
func mayInvoke(q plugin.Query, node string) error {
	level, need := plugin.Trust(node), plugin.Needed("invoke", plugin.Known)
	if q.Kind == "human" || level == plugin.NoPolicy || level >= need {
		return nil
	}
	if need == plugin.Nobody {
		return plugin.Refusal("a human must decide this: the user of this machine lets agents invoke nobody by themselves")
	}
	return plugin.Refusal("a human must decide this: to the user of this machine node " + node + " is " + level.String() + ", and an agent invokes from " +
		need.String() + " on; a human may invoke it, or say: plexus trust set " + node + " " + need.String())
}

// invoke asks a Node for a task, once its payload fits.
func invoke(s plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	kind, node := q.Params.Get("type").Text(), q.Params.Get("node").Text()
	m, err := declared(s, kind, node)
	if err != nil {
		return nil, err
	}
	if problem := check(s, m.Content.Get("input_schema"), payload(q.Params), "payload"); problem != "" {
		return nil, plugin.Refusal(problem + ": see input_schema in the view capability")
	}
	if err := mayInvoke(q, node); err != nil {
		return nil, err
	}
	content := plugin.MapOf(q.Params)
	for _, field := range []string{"type", "node", "parents"} {
		delete(content, field)
	}
	content["task_type"] = kind
	parents := append([]string{m.ID}, q.Params.Get("parents").Texts()...)
	return []plugin.Draft{{Type: Request, Content: content, Nodes: []string{node}, Parents: parents}}, nil
}
