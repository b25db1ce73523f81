// Package task is Synapse's task between Nodes: requested, confirmed or rejected, executed, with questions and human decisions on
// the way, and ended in one of four ways. SKILL.md says how to use it, docs/patterns/task.md what the Plexus profile decides.
//
// It is guest code: it imports sdk/plugin alone.
package task

// This file holds the plugin and its fold.
//
// A *lane* is one Node's run of the state machine from its confirmation on. Mostly there is one. Of two Nodes that confirm without
// knowing of one another each has its own; the first in canonical order leads, until the author settles which holds.
//
// State:
//
//	t/<task>           {sender, order, type, priority, status, nodes?, deadline?, expires?, heartbeat?, attempt, max?,
//	                   retry_of?, retried?, subtask_of?, delegated?, lane?, settled?}
//	r/<task>/<lane>    {by, confirm, status, seen, last, percent?, result?, asked?, accepted?, disputed?, overruled?}; <lane> is the confirmation's order
//	w/<task>/<node>    its lane
//	x/<task>/<node>    its rejection
//	g/<message>        {task, lane?}: every message of a task
//	h/<task>/<order>   {id, steps: [from, to, …], lane?}: what moved it
//	a/<message>/<node> "ack" or "nack"
//	o/<9 − priority>/<order>, l/<order>, n/<node>/<order>, s/<task>/<order>   tasks: open, all, by who has to do with it, subtasks
//
// <task> is the request's message ID, <order> a message's place in canonical order.

import "plexus/sdk/plugin"

// Plugin is the pattern.
func Plugin() plugin.Plugin {
	commands := map[string]plugin.Action{"request": request, "settle": settleCommand}
	for name, what := range commandTypes {
		commands[name] = func(s plugin.State, q plugin.Query) ([]plugin.Draft, error) { return say(s, q, what) }
	}
	return plugin.Plugin{
		Name: "task",
		Fold: fold,
		Views: map[string]plugin.View{
			"open": open, "mine": mine, "waiting": waiting, "all": all, "overdue": overdue, "task": one, "history": history, "subtasks": subtasks,
		},
		Commands: commands,
		React:    react,
	}
}

func fold(s plugin.State, m plugin.Message) error {
	if m.Type == Request {
		return foldRequest(s, m)
	}
	id, lane, t := subject(s, m.Parents)
	if t == nil {
		if m.Type == "" || m.Type == Escalate || m.Type == Decision || m.Type == Ack || m.Type == Nack {
			return nil // about something else than a task
		}
		return plugin.Refusal("refs.messages must name the task, or a message of it")
	}
	a := actor{m.Sender, m.Kind, m.ID, m.Time}
	switch m.Type {
	case "", Ack, Nack:
		word(s, m, id, lane, t)
		return nil
	case Confirm:
		return foldConfirm(s, m, id, t, a)
	case Reject:
		return foldReject(s, m, id, t, a)
	case Cancel, Timeout:
		return foldEnd(s, m, id, t, a)
	}
	lane, err := mayMove(s, id, t, lane, a, m.Type)
	if err != nil {
		return err
	}
	return foldMove(s, m, id, lane)
}

// subject finds the task, and the lane if any, that one of the messages belongs to.
func subject(s plugin.State, ids []string) (id, lane string, t plugin.Value) {
	for _, p := range ids {
		if g := s.Value("g/" + p); g != nil {
			id = g.Get("task").Text()
			return id, g.Get("lane").Text(), s.Value("t/" + id)
		}
	}
	return "", "", nil
}

func foldRequest(s plugin.State, m plugin.Message) error {
	t, err := readRequest(m.Content, m.Meta, m.Time)
	if err != nil {
		return err
	}
	if len(m.Nodes) > maxNodes {
		return plugin.Refusal("a task names at most 64 nodes; name nobody, and anyone may confirm it")
	}
	t["attempt"] = 1
	if err := lineage(s, m.Content, m.Sender, t); err != nil {
		return err
	}
	t["sender"], t["order"], t["status"] = m.Sender, m.Order(), Pending
	if len(m.Nodes) > 0 {
		t["nodes"] = m.Nodes
	}
	if old, ok := t["retry_of"].(string); ok {
		mark(s, "t/"+old, plugin.Map{"retried": m.ID})
	}
	if parent, ok := t["subtask_of"].(string); ok {
		s.SetText("s/"+parent+"/"+m.Order(), m.ID)
	}
	s.SetValue("t/"+m.ID, t)
	s.SetText("l/"+m.Order(), m.ID)
	for _, node := range m.Nodes {
		s.SetText("n/"+node+"/"+m.Order(), m.ID)
	}
	s.SetText("n/"+m.Sender+"/"+m.Order(), m.ID)
	s.SetValue("g/"+m.ID, plugin.Map{"task": m.ID})
	reindex(s, m.ID)
	return nil
}

// mark changes some fields of a value.
func mark(s plugin.State, key string, changes plugin.Map) {
	next := plugin.MapOf(s.Value(key))
	for k, v := range changes {
		if next[k] = v; v == nil {
			delete(next, k)
		}
	}
	s.SetValue(key, next)
}

// note writes a message down as one of a task, and what it moved.
func note(s plugin.State, m plugin.Message, id, lane string, steps ...edge) {
	g, h := plugin.Map{"task": id}, plugin.Map{"id": m.ID}
	if lane != "" {
		g["lane"], h["lane"] = lane, lane
	}
	s.SetValue("g/"+m.ID, g)
	if len(steps) == 0 {
		return
	}
	var walked []string
	for _, e := range steps {
		walked = append(walked, e.from, e.to)
	}
	h["steps"] = walked
	s.SetValue("h/"+id+"/"+m.Order(), h)
}

// reindex keeps the list of open tasks.
func reindex(s plugin.State, id string) {
	t := s.Value("t/" + id)
	priority, _ := t.Get("priority").Int()
	key := "o/" + string(rune('9'-priority)) + "/" + t.Get("order").Text()
	if final(statusOf(s, id, t)) {
		s.Delete(key)
	} else {
		s.SetText(key, id)
	}
}

func foldConfirm(s plugin.State, m plugin.Message, id string, t plugin.Value, a actor) error {
	if err := mayConfirm(s, id, t, a, Confirm); err != nil {
		return err
	}
	lane := m.Order()
	s.SetValue("r/"+id+"/"+lane, plugin.Map{"by": m.Sender, "confirm": m.ID, "status": Confirmed, "seen": m.Time, "last": m.ID})
	s.SetText("w/"+id+"/"+m.Sender, lane)
	s.Delete("x/" + id + "/" + m.Sender)
	s.SetText("n/"+m.Sender+"/"+t.Get("order").Text(), id)
	if t.Get("lane") == nil {
		mark(s, "t/"+id, plugin.Map{"lane": lane})
	}
	note(s, m, id, lane, edge{Pending, Confirmed})
	return nil
}

// foldReject notes a no. The task is rejected once all who are named have said so; one for anyone stays open.
func foldReject(s plugin.State, m plugin.Message, id string, t plugin.Value, a actor) error {
	if err := mayConfirm(s, id, t, a, Reject); err != nil {
		return err
	}
	s.SetText("x/"+id+"/"+m.Sender, m.ID)
	nodes := t.Get("nodes").Texts()
	all := len(nodes) > 0
	for _, n := range nodes {
		all = all && s.Has("x/"+id+"/"+n)
	}
	if !all {
		note(s, m, id, "")
		return nil
	}
	mark(s, "t/"+id, plugin.Map{"status": Rejected})
	note(s, m, id, "", edge{Pending, Rejected})
	reindex(s, id)
	return nil
}

func foldMove(s plugin.State, m plugin.Message, id, lane string) error {
	mv, _ := moveOf(m.Type)
	changes := plugin.Map{"status": mv.to, "last": m.ID}
	if mv.who == "holder" {
		changes["seen"] = m.Time
	}
	if err := readContent(m.Type, m.Content); err != nil {
		return err
	}
	switch m.Type {
	case Progress:
		if p, ok := m.Content.Get("percent").Int(); ok {
			changes["percent"] = p
		}
	case InfoRequest:
		changes["asked"] = m.Nodes
	case Info:
		changes["asked"] = nil
	case Complete, Fail:
		changes["result"] = m.ID
	}
	mark(s, "r/"+id+"/"+lane, changes)
	if mv.from == mv.to {
		note(s, m, id, lane)
	} else {
		note(s, m, id, lane, mv.edge)
	}
	reindex(s, id)
	return nil
}

// foldEnd is an end from outside: the author cancels, or somebody says that a time has passed. It ends every lane that isn't at
// its end. The author's word also holds against a completion it didn't know of and hadn't accepted: else who sets back a
// clock could undo it.
func foldEnd(s plugin.State, m plugin.Message, id string, t plugin.Value, a actor) error {
	if err := mayEnd(s, id, t, a, m.Type); err != nil {
		return err
	}
	to := endOf(m.Type)
	if t.Get("lane") == nil {
		mark(s, "t/"+id, plugin.Map{"status": Rejected, "reason": m.Type})
		note(s, m, id, "", path(Pending, to)...)
		reindex(s, id)
		return nil
	}
	var steps []edge
	for key, raw := range s.Scan("r/" + id + "/") {
		l := plugin.Value(raw)
		from := l.Get("status").Text()
		leads := key[len("r/"+id+"/"):] == t.Get("lane").Text()
		switch {
		case unknownCompletion(s, t, l, a):
			mark(s, key, plugin.Map{"status": to, "overruled": l.Get("result").Text(), "result": nil, "last": m.ID})
			from = Executing
		case final(from):
			continue
		default:
			mark(s, key, plugin.Map{"status": to, "last": m.ID})
		}
		if leads || steps == nil {
			steps = path(from, to)
		}
	}
	note(s, m, id, "", steps...)
	reindex(s, id)
	return nil
}

func endOf(what string) string {
	if what == Cancel {
		return Cancelled
	}
	return Failed
}

// unknownCompletion says whether the author's message a ends a completed lane, since it came without knowing.
func unknownCompletion(s plugin.State, t, l plugin.Value, a actor) bool {
	return l.Get("status").Text() == Completed && a.message != "" && a.node == t.Get("sender").Text() &&
		!l.Get("accepted").Bool() && !s.HappenedBefore(l.Get("result").Text(), a.message)
}

// mayEnd says whether the actor may cancel a task or declare its time over.
func mayEnd(s plugin.State, id string, t plugin.Value, a actor, what string) error {
	if what == Cancel && a.node != t.Get("sender").Text() {
		return plugin.Refusal("only its author may cancel task " + id)
	}
	lead := s.Value("r/" + id + "/" + t.Get("lane").Text())
	if status := statusOf(s, id, t); final(status) && !(lead != nil && unknownCompletion(s, t, lead, a)) {
		return illegal(id, status, endOf(what))
	}
	if what == Timeout && !passed(t, lead, a.time) {
		return plugin.Refusal("no time of task " + id + " has passed yet")
	}
	return nil
}

// passed says whether a deadline lies behind a time: the task's, that for confirming it, or the holder's next word.
func passed(t, lead plugin.Value, now int64) bool {
	if deadline, ok := t.Get("deadline").Int(); ok && now > deadline {
		return true
	}
	if lead == nil {
		expires, ok := t.Get("expires").Int()
		return ok && now > expires
	}
	beat, ok := t.Get("heartbeat").Int()
	seen, _ := lead.Get("seen").Int()
	status := lead.Get("status").Text()
	return ok && (status == Confirmed || status == Executing) && now > seen+beat
}

// word is an ack, a nack, or an untyped reply. The author's, to a message of a lane, settles that this lane holds; to a result it
// accepts it or disputes it. Anybody's ack says that a message has come.
func word(s plugin.State, m plugin.Message, id, lane string, t plugin.Value) {
	if m.Type != "" {
		for _, p := range m.Parents {
			if s.Has("g/" + p) {
				s.SetText("a/"+p+"/"+m.Sender, m.Type[len("p2p:"):])
			}
		}
	}
	l := s.Value("r/" + id + "/" + lane)
	if m.Sender != t.Get("sender").Text() || l == nil {
		return
	}
	if settled := t.Get("settled").Bool(); m.Type != Nack && !settled {
		mark(s, "t/"+id, plugin.Map{"lane": lane, "settled": true})
		reindex(s, id)
	} else if settled && lane != t.Get("lane").Text() {
		return
	}
	if result := l.Get("result").Text(); result != "" && contains(m.Parents, result) {
		mark(s, "r/"+id+"/"+lane, plugin.Map{"accepted": m.Type != Nack, "disputed": m.Type == Nack})
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
