// Package team is the pattern of named groups in a Space: a team is a label that Nodes join with a role and what they can do,
// and that anybody may speak to. SKILL.md says how to use it.
//
// It is guest code: it imports sdk/plugin alone.
package team

// This file holds the plugin and its fold.
//
// State (keys are joined with NUL, which no name has in it):
//
//	t/<team>                     {order}: of the first message that named it
//	m/<team>/<node>              {role?, assigned?, capabilities?, since}
//	n/<node>/<team>              nothing: the teams of a Node
//	k/<capability>/<team>/<node> nothing: who can do what
//	b/<team>/<order>             the message: what was said to a team

import (
	"strings"

	"plexus/sdk/plugin"
)

// The content types.
const (
	Type  = "team" // something said to a team
	Join  = "team:join"
	Leave = "team:leave"
	Role  = "team:role" // an admin gives a member a role
)

const (
	maxName         = 80 // bytes of a team, a role, a capability: three of them and a Node make a key
	maxCapabilities = 32
)

// Plugin is the pattern.
func Plugin() plugin.Plugin {
	return plugin.Plugin{
		Name:     "team",
		Fold:     fold,
		Views:    map[string]plugin.View{"teams": teams, "members": members, "said": said, "find": find, "mine": mine},
		Commands: map[string]plugin.Action{"say": say, "join": join, "leave": leave, "role": assign},
	}
}

func key(kind string, parts ...string) string { return kind + "/" + strings.Join(parts, "\x00") }

func fold(s plugin.State, m plugin.Message) error {
	team, err := name("team", m.Content.Get("team"))
	if err != nil {
		return err
	}
	switch m.Type {
	case Type:
		if m.Content.Get("text").Text() == "" {
			return plugin.Refusal("a team message needs content.text")
		}
		s.SetText(key("b", team, m.Order()), m.ID)
	case Join:
		err = foldJoin(s, m, team)
	case Leave:
		err = foldLeave(s, m.Sender, team)
	case Role:
		err = foldRole(s, m, team)
	}
	if err == nil && !s.Has(key("t", team)) {
		s.SetValue(key("t", team), plugin.Map{"order": m.Order()})
	}
	return err
}

func name(field string, v plugin.Value) (string, error) {
	text := v.Text()
	if text == "" || len(text) > maxName || strings.Contains(text, "\x00") {
		return "", plugin.Refusal(field + " must be a text of 1 to 80 bytes")
	}
	return text, nil
}

// membership reads what one who joins says of itself.
func membership(v plugin.Value) (plugin.Map, error) {
	out := plugin.Map{}
	if r := v.Get("role"); r != nil {
		role, err := name("role", r)
		if err != nil {
			return nil, err
		}
		out["role"] = role
	}
	var list []string
	for item := range v.Get("capabilities").Items() {
		c, err := name("each of capabilities", item)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	if len(list) > maxCapabilities {
		return nil, plugin.Refusal("capabilities are at most 32")
	}
	if list != nil {
		out["capabilities"] = list
	}
	return out, nil
}

// foldJoin takes a Node in, or changes what it said of itself. A role that an admin gave stays.
func foldJoin(s plugin.State, m plugin.Message, team string) error {
	next, err := membership(m.Content)
	if err != nil {
		return err
	}
	old := s.Value(key("m", team, m.Sender))
	if next["since"] = m.Order(); old != nil {
		next["since"] = old.Get("since").Text()
	}
	if old.Get("assigned").Bool() {
		next["role"], next["assigned"] = old.Get("role"), true
	}
	forget(s, m.Sender, team, old)
	s.SetValue(key("m", team, m.Sender), next)
	s.SetText(key("n", m.Sender, team), "")
	for _, c := range s.Value(key("m", team, m.Sender)).Get("capabilities").Texts() {
		s.SetText(key("k", c, team, m.Sender), "")
	}
	return nil
}

func foldLeave(s plugin.State, node, team string) error {
	old := s.Value(key("m", team, node))
	if old == nil {
		return plugin.Refusal("you aren't in team " + team)
	}
	forget(s, node, team, old)
	s.Delete(key("m", team, node))
	s.Delete(key("n", node, team))
	return nil
}

func forget(s plugin.State, node, team string, old plugin.Value) {
	for _, c := range old.Get("capabilities").Texts() {
		s.Delete(key("k", c, team, node))
	}
}

func foldRole(s plugin.State, m plugin.Message, team string) error {
	node := m.Content.Get("node").Text()
	old := s.Value(key("m", team, node))
	role := m.Content.Get("role").Text()
	switch {
	case m.Role != "admin":
		return plugin.Refusal("only an admin may give roles; say your own as you join")
	case old == nil:
		return plugin.Refusal("node must be a member of team " + team)
	}
	next := plugin.MapOf(old)
	if role == "" {
		delete(next, "role")
		delete(next, "assigned")
	} else if _, err := name("role", m.Content.Get("role")); err != nil {
		return err
	} else {
		next["role"], next["assigned"] = role, true
	}
	s.SetValue(key("m", team, node), next)
	return nil
}
