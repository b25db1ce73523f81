package group

// This file holds who may say what, and the reading of contents.

import (
	"slices"

	"plexus/sdk/plugin"
)

const (
	maxMembers      = 64
	maxJoins        = 9999 // in a group's life: four digits
	maxParts        = 64
	maxName         = 128 // bytes of a name, role or capability
	maxRoles        = 16
	maxCapabilities = 32
	maxTimeout      = 366 * 24 * 3600
)

// permissions are all there are.
var permissions = []string{"invite", "roles", "assign", "dissolve"}

func readGroup(c plugin.Value, invited []string, now int64) (plugin.Map, error) {
	name := c.Get("name").Text()
	if name == "" || len(name) > maxName {
		return nil, plugin.Refusal("a group needs content.name, a text of 1 to 128 bytes")
	}
	topology := c.Get("topology").Text()
	if topology == "" {
		topology = "mesh"
	}
	if !slices.Contains([]string{"star", "mesh", "pipeline", "tree"}, topology) {
		return nil, plugin.Refusal("topology must be star, mesh, pipeline or tree")
	}
	if len(invited) >= maxMembers {
		return nil, plugin.Refusal("a group has at most 64 members")
	}
	roles, err := readRoles(c.Get("roles"))
	if err != nil {
		return nil, err
	}
	g := plugin.Map{"name": name, "topology": topology, "roles": roles, "open": c.Get("open").Bool(), "temporary": c.Get("temporary").Bool()}
	if v := c.Get("expires_at"); v != nil {
		at, ok := plugin.ParseTime(v.Text())
		if !ok || at <= now {
			return nil, plugin.Refusal("expires_at must be a time after the message's, like 2026-11-30T15:04:05Z")
		}
		g["expires"] = at
	}
	return g, readCapabilities(c.Get("capabilities"))
}

// readRoles takes {role: [permission, …]}; the owner may all, whatever it says.
func readRoles(v plugin.Value) (plugin.Map, error) {
	roles := plugin.Map{}
	for k, list := range v.Pairs() {
		role := k.Text()
		if role == "" || len(role) > maxName || role == Owner {
			return nil, plugin.Refusal("roles must be texts of 1 to 128 bytes, not owner")
		}
		may := list.Texts()
		for _, p := range may {
			if !slices.Contains(permissions, p) {
				return nil, plugin.Refusal("a role's permissions are invite, roles, assign and dissolve")
			}
		}
		if len(may) > len(permissions) {
			return nil, plugin.Refusal("name each permission of a role once")
		}
		roles[role] = may
	}
	if len(roles) > maxRoles {
		return nil, plugin.Refusal("a group has at most 16 roles")
	}
	if roles[Member] == nil {
		roles[Member] = []string{}
	}
	return roles, nil
}

func readCapabilities(v plugin.Value) error {
	if v != nil && v.Kind() != plugin.Encode([]string{}).Kind() {
		return plugin.Refusal("capabilities must be a list of texts")
	}
	if v.Len() > maxCapabilities {
		return plugin.Refusal("capabilities are at most 32")
	}
	for c := range v.Items() {
		if text := c.Text(); text == "" || len(text) > maxName {
			return plugin.Refusal("capabilities must be texts of 1 to 128 bytes")
		}
	}
	return nil
}

func readJob(c plugin.Value) error {
	parts := c.Get("parts")
	if n := parts.Len(); n < 1 || n > maxParts {
		return plugin.Refusal("a job needs content.parts, 1 to 64 of them")
	}
	for p := range parts.Items() {
		if p.Get("name").Text() == "" || len(p.Get("capability").Text()) > maxName {
			return plugin.Refusal("each of parts needs a name; its capability is a text of at most 128 bytes")
		}
	}
	if v := c.Get("timeout_s"); v != nil {
		if n, ok := v.Int(); !ok || n < 1 || n > maxTimeout {
			return plugin.Refusal("timeout_s must be a number of seconds, at most a year")
		}
	}
	return nil
}

// roleOf is a Node's role, "" where it isn't a member.
func roleOf(s plugin.State, id, node string) string {
	if n := s.Text("w/" + id + "/" + node); n != "" {
		return s.Value("m/" + id + "/" + n).Get("role").Text()
	}
	return ""
}

func allowed(s plugin.State, id string, g plugin.Value, node, permission string) error {
	role := roleOf(s, id, node)
	if role == Owner || slices.Contains(g.Get("roles").Get(role).Texts(), permission) {
		return nil
	}
	return plugin.Refusal("your role in this group doesn't permit " + permission)
}

// may says whether this may be said in the group now.
func may(s plugin.State, id, job string, g plugin.Value, w word) error {
	if g.Get("status").Text() != "active" {
		return plugin.Refusal("this group is dissolved")
	}
	if at, ok := g.Get("expires").Int(); ok && w.time > at {
		return plugin.Refusal("this group ended at " + plugin.Time(at))
	}
	role := roleOf(s, id, w.node)
	if role == "" && w.what != Join {
		return plugin.Refusal("you aren't a member of this group")
	}
	switch w.what {
	case Join:
		return mayJoin(s, id, g, w, role)
	case Leave:
		if role == Owner {
			return plugin.Refusal("the owner can't leave: make another the owner, or dissolve the group")
		}
	case Invite:
		if len(w.nodes) < 1 || len(w.nodes) >= maxMembers {
			return plugin.Refusal("refs.nodes must name whom you invite, fewer than 64")
		}
		return allowed(s, id, g, w.node, "invite")
	case Dissolve:
		return allowed(s, id, g, w.node, "dissolve")
	case Role:
		return mayRole(s, id, g, w, role)
	case Job:
		if err := allowed(s, id, g, w.node, "assign"); err != nil {
			return err
		}
		return readJob(w.content)
	default:
		return mayWork(s, id, job, g, w)
	}
	return nil
}

func mayJoin(s plugin.State, id string, g plugin.Value, w word, role string) error {
	if role == "" {
		if !g.Get("open").Bool() && !s.Has("i/"+id+"/"+w.node) {
			return plugin.Refusal("you aren't invited to this group")
		}
		if count, _ := g.Get("count").Int(); count >= maxJoins || len(members(s, id)) >= maxMembers {
			return plugin.Refusal("a group has at most 64 members")
		}
	}
	return readCapabilities(w.content.Get("capabilities"))
}

func mayRole(s plugin.State, id string, g plugin.Value, w word, role string) error {
	node, give := w.content.Get("node").Text(), w.content.Get("role").Text()
	switch {
	case roleOf(s, id, node) == "":
		return plugin.Refusal("content.node must be a member of this group")
	case give != Owner && g.Get("roles").Get(give) == nil:
		return plugin.Refusal("content.role must be one of the group's roles, member, or owner")
	case (give == Owner || roleOf(s, id, node) == Owner) && role != Owner:
		return plugin.Refusal("only the owner may pass ownership on")
	case roleOf(s, id, node) == Owner && give != Owner:
		return plugin.Refusal("make another the owner instead")
	}
	return allowed(s, id, g, w.node, "roles")
}

func mayWork(s plugin.State, id, job string, g plugin.Value, w word) error {
	j := s.Value("j/" + job)
	if j == nil {
		return plugin.Refusal("refs.messages must name the job, or a message of it")
	}
	author := j.Get("sender").Text() == w.node
	if j.Get("status").Text() != "running" {
		return plugin.Refusal("this job is merged, by message " + j.Get("result").Text())
	}
	if w.what == Merge {
		if !author {
			return plugin.Refusal("only who split the job may merge it")
		}
		if missing(s, job, w.parents) > 0 && !w.content.Get("partial").Bool() {
			return plugin.Refusal("some parts have no result yet: wait, reassign them, or say partial")
		}
		return nil
	}
	_, p := part(s, job, w)
	switch {
	case p == nil:
		return plugin.Refusal("content.part must be the number of a part, from 0")
	case w.what == Result && !slices.Contains(p.Get("tried").Texts(), w.node):
		return plugin.Refusal("this part isn't yours")
	case w.what == Result:
		return once(s, job, w)
	case p.Get("result") != nil && (w.message == "" || s.HappenedBefore(p.Get("result").Text(), w.message)): // a result that it didn't know stays, and so does its word
		return plugin.Refusal("this part has its result")
	}
	if err := allowed(s, id, g, w.node, "assign"); err != nil && !author {
		return err
	}
	timeout, _ := j.Get("timeout").Int()
	since, _ := p.Get("since").Int()
	if !author && p.Get("node").Text() != "" && (timeout == 0 || w.time <= since+timeout) {
		return plugin.Refusal("only who split the job may reassign a part before its time is up")
	}
	if g.Get("topology").Text() == "pipeline" && p.Get("node") == nil {
		return plugin.Refusal("this part waits for the one before it")
	}
	return nil
}

// once refuses a second result of a Node for one part.
func once(s plugin.State, job string, w word) error {
	n, _ := part(s, job, w)
	for _, raw := range s.Scan("r/" + job + "/" + n + "/") {
		if plugin.Value(raw).Get("by").Text() == w.node {
			return plugin.Refusal("you have handed this part in already")
		}
	}
	return nil
}
