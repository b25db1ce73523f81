package model

// This file holds the model of group's own life, written from docs/patterns/group.md and its SKILL.md; group_jobs.go has the work.

import (
	"slices"

	"plexus/sdk/plugin"
)

var groupTypes = []string{
	"group:create", "group:invite", "group:join", "group:leave", "group:role", "group:dissolve", "group:job", "group:result", "group:reassign", "group:merge",
}

type group struct {
	h        *History
	create   *Message
	owner    string
	members  []*member // in the order they joined
	invited  map[string]bool
	roles    map[string][]string // permissions
	expires  int64
	over     bool
	topology string
	jobs     []*job
}

type member struct {
	node, role   string
	capabilities []string
}

func answerGroup(h *History) Answer {
	a := Answer{Marked: map[string]bool{}}
	of, jobs := map[string]*group{}, map[string]*job{}
	var all []*group
	for _, m := range h.Messages {
		if !slices.Contains(groupTypes, m.Type) {
			continue
		}
		if m.Type == "group:create" {
			g := readGroup(m)
			if a.Marked[m.ID] = g == nil; g != nil {
				g.h, all, of[m.ID] = h, append(all, g), g
			}
			continue
		}
		var g *group
		var j *job
		for _, p := range m.Parents { // a message of a job says more than one of its group
			if of[p] != nil && (g == nil || jobs[p] != nil) {
				if g, j = of[p], jobs[p]; j != nil {
					break
				}
			}
		}
		if g == nil || !g.take(m, j, jobs) {
			a.Marked[m.ID] = true
			continue
		}
		if of[m.ID] = g; j != nil && jobs[m.ID] == nil {
			jobs[m.ID] = j
		}
	}
	for _, g := range all {
		g.views(&a, h.senders())
	}
	return a
}

func readGroup(m *Message) *group {
	g := &group{create: m, owner: m.Sender, invited: map[string]bool{}, roles: map[string][]string{"member": nil}, topology: "mesh"}
	if m.text("name") == "" {
		return nil
	}
	if t := m.text("topology"); t != "" {
		g.topology = t
	}
	roles, _ := m.Content["roles"].(plugin.Map)
	for role, may := range roles {
		g.roles[role] = texts(may)
	}
	if m.Content["expires_at"] != nil {
		if g.expires, _ = m.moment("expires_at"); g.expires <= m.Time {
			return nil
		}
	}
	g.members = []*member{{m.Sender, "owner", m.texts("capabilities")}}
	g.invite(m.Nodes)
	return g
}

func (g *group) member(node string) *member {
	for _, m := range g.members {
		if m.node == node {
			return m
		}
	}
	return nil
}

func (g *group) invite(nodes []string) {
	for _, n := range nodes {
		if g.member(n) == nil {
			g.invited[n] = true
		}
	}
}

func (g *group) may(node, permission string) bool {
	m := g.member(node)
	return m != nil && (m.role == "owner" || slices.Contains(g.roles[m.role], permission))
}

func (g *group) take(m *Message, j *job, jobs map[string]*job) bool {
	me := g.member(m.Sender)
	if g.over || g.expires > 0 && m.Time > g.expires || me == nil && m.Type != "group:join" {
		return false
	}
	switch m.Type {
	case "group:join":
		open, _ := g.create.Content["open"].(bool)
		switch {
		case me != nil:
			me.capabilities = m.texts("capabilities")
		case open || g.invited[m.Sender]:
			delete(g.invited, m.Sender)
			g.members = append(g.members, &member{m.Sender, "member", m.texts("capabilities")})
		default:
			return false
		}
		return true
	case "group:leave":
		if me.role == "owner" {
			return false
		}
		g.members = slices.DeleteFunc(g.members, func(x *member) bool { return x == me })
		return true
	case "group:invite":
		if len(m.Nodes) == 0 || !g.may(m.Sender, "invite") {
			return false
		}
		g.invite(m.Nodes)
		return true
	case "group:dissolve":
		g.over = g.may(m.Sender, "dissolve")
		return g.over
	case "group:role":
		return g.role(m, me)
	case "group:job":
		if !g.may(m.Sender, "assign") {
			return false
		}
		if j := g.split(m); j != nil {
			jobs[m.ID] = j
			g.jobs = append(g.jobs, j)
			return true
		}
		return false
	}
	return j != nil && g.work(m, j)
}

func (g *group) role(m *Message, me *member) bool {
	whose, role := g.member(m.text("node")), m.text("role")
	_, known := g.roles[role]
	switch {
	case whose == nil || role != "owner" && !known || !g.may(m.Sender, "roles"):
		return false
	case role == "owner" && me.role == "owner":
		me.role, whose.role, g.owner = "member", "owner", whose.node
		return true
	case role == "owner" || whose.role == "owner":
		return false
	}
	whose.role = role
	return true
}

// asks are whom a Node may ask, in order.
func (g *group) asks(node string) []string {
	at := slices.IndexFunc(g.members, func(m *member) bool { return m.node == node })
	out := []string{}
	for i, m := range g.members {
		is := map[string]bool{
			"star": (node == g.owner) != (m.node == g.owner), "mesh": i != at, "pipeline": i == at+1, "tree": i > 0 && (i-1)/2 == at,
		}[g.topology]
		if at >= 0 && is {
			out = append(out, m.node)
		}
	}
	return out
}

func (g *group) views(a *Answer, nodes []string) {
	id := plugin.Map{"group": g.create.ID}
	status := "active"
	if g.over {
		status = "dissolved"
	}
	members := []plugin.Map{}
	for _, m := range g.members {
		members = append(members, plugin.Map{"node": m.node, "role": m.role})
	}
	a.view("group", id, "", plugin.Map{"status": status, "owner": g.owner, "topology": g.topology, "members": members, "invited": sorted(g.invited)})
	for _, n := range nodes {
		a.view("next", id, n, plugin.Map{"node": n, "next": g.asks(n)})
		g.viewWork(a, n)
	}
	list := []plugin.Map{}
	for _, j := range g.jobs {
		list = append(list, plugin.Map{"job": j.split.ID, "status": j.status()})
		a.view("job", plugin.Map{"job": j.split.ID}, "", j.describe())
	}
	a.view("jobs", plugin.Map{"group": g.create.ID, "limit": int64(200)}, "", plugin.Map{"jobs": list})
}
