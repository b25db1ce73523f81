package team

// This file holds the views and commands.

import (
	"strings"

	"plexus/sdk/plugin"
)

const (
	maxText   = 4000 // bytes of a text in a list; the message itself has the rest
	maxNotify = 64   // members that a message names
)

// teams lists the teams by name.
func teams(s plugin.State, q plugin.Query) (any, error) {
	return s.Page(q, "teams", "t/", func(team string, _ plugin.Value) plugin.Map {
		members := 0
		for range s.Keys(key("m", team, ""), "") {
			members++
		}
		return plugin.Map{"team": team, "members": members}
	})
}

// members lists who is in a team, and with role those who have it.
func members(s plugin.State, q plugin.Query) (any, error) {
	team, err := name("team", q.Params.Get("team"))
	if err != nil {
		return nil, err
	}
	role := q.Params.Get("role").Text()
	return s.Page(q, "members", key("m", team, ""), func(node string, v plugin.Value) plugin.Map {
		if role != "" && v.Get("role").Text() != role {
			return nil
		}
		return describe(s, node, v)
	})
}

func describe(s plugin.State, node string, v plugin.Value) plugin.Map {
	out := plugin.Map{"node": node}
	for _, field := range []string{"role", "assigned", "capabilities"} {
		if x := v.Get(field); x != nil {
			out[field] = x
		}
	}
	if m, ok := s.Message(plugin.OrderID(v.Get("since").Text())); ok {
		out["since"] = plugin.Time(m.Time)
		if m.Kind != "" {
			out["kind"] = m.Kind
		}
	}
	return out
}

// said lists what was said to a team, oldest first.
func said(s plugin.State, q plugin.Query) (any, error) {
	team, err := name("team", q.Params.Get("team"))
	if err != nil {
		return nil, err
	}
	return s.Page(q, "messages", key("b", team, ""), func(_ string, v plugin.Value) plugin.Map {
		m, _ := s.Message(string(v))
		return plugin.Map{"message": m.ID, "sender": m.Sender, "created_at": plugin.Time(m.Time), "text": plugin.Cut(m.Content.Get("text").Text(), maxText)}
	})
}

// find lists who says that it can do something, in a team or in any.
func find(s plugin.State, q plugin.Query) (any, error) {
	c, err := name("capability", q.Params.Get("capability"))
	if err != nil {
		return nil, err
	}
	team := q.Params.Get("team").Text()
	return s.Page(q, "found", key("k", c, ""), func(rest string, _ plugin.Value) plugin.Map {
		in, node, _ := strings.Cut(rest, "\x00")
		if team != "" && in != team {
			return nil
		}
		out := describe(s, node, s.Value(key("m", in, node)))
		out["team"] = in
		return out
	})
}

// mine lists the teams of a Node, the caller's where none is named.
func mine(s plugin.State, q plugin.Query) (any, error) {
	node := q.Params.Get("node").Text()
	if node == "" {
		node = q.Caller
	}
	if node == "" {
		return nil, plugin.Refusal("say whose: node is required where nobody is signed in")
	}
	return s.Page(q, "teams", key("n", node, ""), func(team string, _ plugin.Value) plugin.Map {
		out := describe(s, node, s.Value(key("m", team, node)))
		out["team"] = team
		return out
	})
}

// say makes what is said to a team; with notify it names the members, so that it comes to their inboxes.
func say(s plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	team, err := name("team", q.Params.Get("team"))
	if err != nil {
		return nil, err
	}
	text := q.Params.Get("text").Text()
	if text == "" {
		return nil, plugin.Refusal("text is required")
	}
	d := plugin.Draft{Type: Type, Content: plugin.Map{"team": team, "text": text}, Parents: q.Params.Get("parents").Texts()}
	if !q.Params.Get("notify").Bool() {
		return []plugin.Draft{d}, nil
	}
	prefix := key("m", team, "")
	for k := range s.Keys(prefix, "") {
		if node := k[len(prefix):]; node != q.Caller {
			d.Nodes = append(d.Nodes, node)
		}
	}
	if len(d.Nodes) > maxNotify {
		return nil, plugin.Refusal("the team has more than 64 members: say it without notify")
	}
	return []plugin.Draft{d}, nil
}

func join(_ plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	team, err := name("team", q.Params.Get("team"))
	if err != nil {
		return nil, err
	}
	content, err := membership(q.Params)
	if err != nil {
		return nil, err
	}
	content["team"] = team
	return []plugin.Draft{{Type: Join, Content: content}}, nil
}

func leave(s plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	team, err := name("team", q.Params.Get("team"))
	if err != nil {
		return nil, err
	}
	if !s.Has(key("m", team, q.Caller)) {
		return nil, plugin.Refusal("you aren't in team " + team)
	}
	return []plugin.Draft{{Type: Leave, Content: plugin.Map{"team": team}}}, nil
}

// assign makes an admin's word; whether the caller is one, the fold knows.
func assign(s plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	team, err := name("team", q.Params.Get("team"))
	if err != nil {
		return nil, err
	}
	if q.Role != "admin" {
		return nil, plugin.Refusal("only an admin may give roles; say your own as you join")
	}
	node := q.Params.Get("node").Text()
	if !s.Has(key("m", team, node)) {
		return nil, plugin.Refusal("node must be a member of team " + team)
	}
	content := plugin.Map{"team": team, "node": node, "role": q.Params.Get("role").Text()}
	return []plugin.Draft{{Type: Role, Content: content, Nodes: []string{node}}}, nil
}
