// Package group is Synapse's group (A2N): members with roles and permissions in a topology that says who is asked next, and work split
// among them, collected and merged. SKILL.md says how to use it.
//
// It is guest code: it imports sdk/plugin alone.
package group

// This file holds the plugin, and the fold of a group's own life. jobs.go has the work.
//
// State:
//
//	g/<group>           {owner, order, name, topology, roles, open?, temporary?, expires?, status, count}
//	m/<group>/<nnnn>    {node, role, capabilities?}: members in the order they joined
//	w/<group>/<node>    <nnnn>
//	i/<group>/<node>    invited
//	n/<node>/<order>    <group>: the groups of a Node, those that invite it too
//	l/<order>           <group>
//	k/<message>         {group, job?}
//	j/<job>             {group, sender, order, status, parts, timeout?, result?, partial?}
//	h/<group>/<order>   <job>
//	p/<job>/<nnnn>      {node?, since, tried, capability?, result?, by?}: parts
//	r/<job>/<nnnn>/<order>  {id, by}: results of a part
//
// <group> and <job> are message IDs, <order> a message's place in canonical order.

import (
	"slices"

	"plexus/sdk/plugin"
)

// The content types.
const (
	Create   = "group:create"
	Invite   = "group:invite"
	Join     = "group:join"
	Leave    = "group:leave"
	Role     = "group:role"
	Dissolve = "group:dissolve"
	Job      = "group:job"
	Result   = "group:result"
	Reassign = "group:reassign"
	Merge    = "group:merge"
)

// Owner is the role that may all; Member the one that joining gives.
const (
	Owner  = "owner"
	Member = "member"
)

// Plugin is the pattern.
func Plugin() plugin.Plugin {
	commands := map[string]plugin.Action{"create": create}
	for name, what := range map[string]string{
		"invite": Invite, "join": Join, "leave": Leave, "role": Role, "dissolve": Dissolve, "split": Job, "result": Result, "reassign": Reassign, "merge": Merge,
	} {
		commands[name] = func(s plugin.State, q plugin.Query) ([]plugin.Draft, error) { return say(s, q, what) }
	}
	return plugin.Plugin{
		Name:     "group",
		Fold:     fold,
		Views:    map[string]plugin.View{"groups": groups, "mine": mine, "group": one, "next": nextView, "jobs": jobs, "job": oneJob, "work": work},
		Commands: commands,
		React:    react,
	}
}

// word is what somebody wants to say; a command leaves message and order empty.
type word struct {
	what, node, message, order string
	time                       int64
	parents, nodes             []string
	content                    plugin.Value
}

func fold(s plugin.State, m plugin.Message) error {
	w := word{m.Type, m.Sender, m.ID, m.Order(), m.Time, m.Parents, m.Nodes, m.Content}
	if m.Type == Create {
		return foldCreate(s, w)
	}
	id, job := subject(s, m.Parents)
	g := s.Value("g/" + id)
	if g == nil {
		return plugin.Refusal("refs.messages must name the group, or a message of it")
	}
	if err := may(s, id, job, g, w); err != nil {
		return err
	}
	k := plugin.Map{"group": id}
	if job != "" {
		k["job"] = job
	}
	s.SetValue("k/"+m.ID, k)
	switch m.Type {
	case Invite:
		foldInvite(s, id, g, w)
	case Join:
		foldJoin(s, id, g, w)
	case Leave:
		remove(s, id, w.node)
	case Role:
		foldRole(s, id, g, w)
	case Dissolve:
		change(s, "g/"+id, plugin.Map{"status": "dissolved"})
	case Job:
		foldJob(s, id, g, w)
	case Result:
		foldResult(s, id, g, job, w)
	case Reassign:
		n, _ := part(s, job, w)
		assign(s, id, g, job, n, w.content.Get("node").Text(), w.time)
	case Merge:
		foldMerge(s, id, g, job, w)
	}
	return nil
}

// subject finds the group, and the job if any, that the messages belong to.
func subject(s plugin.State, ids []string) (group, job string) {
	for _, p := range ids {
		k := s.Value("k/" + p)
		if k == nil || group != "" && k.Get("job") == nil {
			continue
		}
		group = k.Get("group").Text()
		if j := k.Get("job").Text(); j != "" {
			return group, j
		}
	}
	return group, ""
}

func foldCreate(s plugin.State, w word) error {
	g, err := readGroup(w.content, w.nodes, w.time)
	if err != nil {
		return err
	}
	g["owner"], g["order"], g["status"], g["count"] = w.node, w.order, "active", 0
	s.SetValue("g/"+w.message, g)
	s.SetValue("k/"+w.message, plugin.Map{"group": w.message})
	s.SetText("l/"+w.order, w.message)
	add(s, w.message, w.node, Owner, w.content.Get("capabilities"))
	foldInvite(s, w.message, s.Value("g/"+w.message), w)
	return nil
}

func foldInvite(s plugin.State, id string, g plugin.Value, w word) {
	for _, node := range w.nodes {
		if !s.Has("w/" + id + "/" + node) {
			s.SetText("i/"+id+"/"+node, w.message)
			s.SetText("n/"+node+"/"+g.Get("order").Text(), id)
		}
	}
}

func foldJoin(s plugin.State, id string, g plugin.Value, w word) {
	if n := s.Text("w/" + id + "/" + w.node); n != "" { // a member says anew what it can do
		change(s, "m/"+id+"/"+n, plugin.Map{"capabilities": w.content.Get("capabilities")})
		return
	}
	s.Delete("i/" + id + "/" + w.node)
	s.SetText("n/"+w.node+"/"+g.Get("order").Text(), id)
	add(s, id, w.node, Member, w.content.Get("capabilities"))
}

func add(s plugin.State, id, node, role string, capabilities plugin.Value) {
	g := s.Value("g/" + id)
	count, _ := g.Get("count").Int()
	n := four(count)
	m := plugin.Map{"node": node, "role": role}
	if capabilities != nil {
		m["capabilities"] = capabilities
	}
	s.SetValue("m/"+id+"/"+n, m)
	s.SetText("w/"+id+"/"+node, n)
	s.SetText("n/"+node+"/"+g.Get("order").Text(), id)
	change(s, "g/"+id, plugin.Map{"count": count + 1})
}

func remove(s plugin.State, id, node string) {
	s.Delete("m/" + id + "/" + s.Text("w/"+id+"/"+node))
	s.Delete("w/" + id + "/" + node)
	s.Delete("n/" + node + "/" + s.Value("g/"+id).Get("order").Text())
}

// foldRole gives a role. There is one owner: who makes another the owner becomes a member.
func foldRole(s plugin.State, id string, g plugin.Value, w word) {
	node, role := w.content.Get("node").Text(), w.content.Get("role").Text()
	if role == Owner {
		change(s, "m/"+id+"/"+s.Text("w/"+id+"/"+g.Get("owner").Text()), plugin.Map{"role": Member})
		change(s, "g/"+id, plugin.Map{"owner": node})
	}
	change(s, "m/"+id+"/"+s.Text("w/"+id+"/"+node), plugin.Map{"role": role})
}

// change alters some fields of a value.
func change(s plugin.State, key string, changes plugin.Map) {
	next := plugin.MapOf(s.Value(key))
	for k, v := range changes {
		next[k] = v
	}
	s.SetValue(key, next)
}

// four prints a number in four digits, so that keys sort.
func four(n int64) string {
	return string([]byte{byte('0' + n/1000%10), byte('0' + n/100%10), byte('0' + n/10%10), byte('0' + n%10)})
}

// member is one of a group.
type member struct {
	node, role   string
	capabilities []string
}

func members(s plugin.State, id string) (out []member) {
	for _, raw := range s.Scan("m/" + id + "/") {
		v := plugin.Value(raw)
		out = append(out, member{v.Get("node").Text(), v.Get("role").Text(), v.Get("capabilities").Texts()})
	}
	return out
}

// next is who a Node may ask in the group's topology, in the order they are asked.
func next(g plugin.Value, list []member, node string) (out []string) {
	at := slices.IndexFunc(list, func(m member) bool { return m.node == node })
	if at < 0 {
		return nil
	}
	owner := g.Get("owner").Text()
	for i, m := range list {
		var asks bool
		switch g.Get("topology").Text() {
		case "star": // the owner asks all, all others the owner
			asks = (node == owner) != (m.node == owner)
		case "pipeline": // each the one that joined after it
			asks = i == at+1
		case "tree": // each the two below it
			asks = i == 2*at+1 || i == 2*at+2
		default: // mesh: everybody everybody
			asks = i != at
		}
		if asks {
			out = append(out, m.node)
		}
	}
	return out
}
