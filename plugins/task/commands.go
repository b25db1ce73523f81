package task

// This file holds the commands: each checks what the fold will, and says no before anything is sent.

import "plexus/sdk/plugin"

// commandTypes are the commands that say one thing of a task.
var commandTypes = map[string]string{
	"confirm": Confirm, "reject": Reject, "start": Start, "progress": Progress, "ask": InfoRequest, "inform": Info, "escalate": Escalate,
	"decide": Decision, "complete": Complete, "fail": Fail, "cancel": Cancel, "timeout": Timeout, "ack": Ack, "nack": Nack,
}

func request(s plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	t, err := readRequest(q.Params, nil, plugin.Now())
	if err != nil {
		return nil, err
	}
	if err := lineage(s, q.Params, q.Caller, t); err != nil {
		return nil, err
	}
	nodes, parents := q.Params.Get("nodes").Texts(), q.Params.Get("parents").Texts()
	if len(nodes) > maxNodes {
		return nil, plugin.Refusal("a task names at most 64 nodes; name nobody, and anyone may confirm it")
	}
	for _, field := range []string{"retry_of", "subtask_of"} {
		if id, ok := t[field].(string); ok && !contains(parents, id) {
			parents = append(parents, id)
		}
	}
	content := plugin.MapOf(q.Params)
	delete(content, "nodes")
	delete(content, "parents")
	return []plugin.Draft{{Type: Request, Content: content, Nodes: nodes, Parents: parents}}, nil
}

// say makes one message of a task. All parameters but task, nodes, parents and kind are its content.
func say(s plugin.State, q plugin.Query, what string) ([]plugin.Draft, error) {
	id, t, err := asked(s, q)
	if err != nil {
		return nil, err
	}
	a := actor{node: q.Caller, kind: q.Kind, time: plugin.Now()}
	d := plugin.Draft{Type: what, Content: plugin.MapOf(q.Params), Parents: []string{id}, Nodes: q.Params.Get("nodes").Texts()}
	for _, field := range []string{"task", "nodes", "parents"} {
		delete(d.Content, field)
	}
	lane := t.Get("lane").Text()
	switch what {
	case Confirm, Reject:
		err = mayConfirm(s, id, t, a, what)
	case Cancel, Timeout:
		err = mayEnd(s, id, t, a, what)
	case Ack, Nack:
		d.Parents = []string{last(s, id, lane)}
	default:
		if lane, err = mayMove(s, id, t, lane, a, what); err == nil {
			d.Parents = append(d.Parents, last(s, id, lane))
			err = readContent(what, q.Params)
		}
	}
	if err != nil {
		return nil, err
	}
	d.Parents = append(d.Parents, q.Params.Get("parents").Texts()...)
	d.Nodes = append(d.Nodes, other(s, id, t, q.Caller)...)
	return []plugin.Draft{d}, nil
}

// last is the newest message of a lane, or the request.
func last(s plugin.State, id, lane string) string {
	if m := s.Value("r/" + id + "/" + lane).Get("last").Text(); m != "" {
		return m
	}
	return id
}

// other is whom a message of a task concerns: its author, or who holds it.
func other(s plugin.State, id string, t plugin.Value, node string) []string {
	sender, by := t.Get("sender").Text(), holder(s, id, t)
	switch {
	case node != sender:
		return []string{sender}
	case by != "nobody":
		return []string{by}
	}
	return t.Get("nodes").Texts()
}

// settleCommand makes the author's word that a confirmation holds.
func settleCommand(s plugin.State, q plugin.Query) ([]plugin.Draft, error) {
	confirm := q.Params.Get("confirm").Text()
	g := s.Value("g/" + confirm)
	id, lane := g.Get("task").Text(), g.Get("lane").Text()
	t, l := s.Value("t/"+id), s.Value("r/"+id+"/"+lane)
	switch {
	case l == nil:
		return nil, plugin.Refusal("confirm is required: the message of a confirmation")
	case t.Get("sender").Text() != q.Caller:
		return nil, plugin.Refusal("only the task's author may settle who does it")
	case t.Get("settled").Bool():
		return nil, plugin.Refusal("task " + id + " is with " + holder(s, id, t) + ": you said so already")
	}
	return []plugin.Draft{{Type: Ack, Content: plugin.Map{}, Parents: []string{confirm}, Nodes: []string{l.Get("by").Text()}}}, nil
}
