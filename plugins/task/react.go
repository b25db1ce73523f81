package task

// This file holds the reaction: where a Node's user turned it on, it watches over the times of the tasks that concern that Node and says
// when one has passed; and it confirms what comes from those whom the user trusts that far.

import (
	"slices"

	"plexus/sdk/plugin"
)

func react(s plugin.State, e plugin.Event) ([]plugin.Draft, error) {
	id := e.Timer
	if id == "" {
		id, _, _ = subject(s, []string{e.Message.ID})
	}
	t := s.Value("t/" + id)
	if t == nil || !concerns(s, id, t, e.Node) {
		return nil, nil
	}
	lead := s.Value("r/" + id + "/" + t.Get("lane").Text())
	at := due(t, lead)
	if final(statusOf(s, id, t)) || at == 0 {
		plugin.DeleteTimer(id)
		return confirmed(s, e, id, t), nil
	}
	if e.Timer == "" || !passed(t, lead, plugin.Now()) {
		plugin.SetTimer(id, at+1)
		return confirmed(s, e, id, t), nil
	}
	parents := []string{id}
	if l := last(s, id, t.Get("lane").Text()); l != id {
		parents = append(parents, l)
	}
	return []plugin.Draft{{Type: Timeout, Content: plugin.Map{}, Parents: parents, Nodes: other(s, id, t, e.Node), Key: "timeout", Once: true}}, nil
}

// confirmed takes a task on that has just come, for the Node it names, without asking: where the user said from which level of trust on
// ("confirm"), and trusts who asks that far.
func confirmed(s plugin.State, e plugin.Event, id string, t plugin.Value) []plugin.Draft {
	sender := t.Get("sender").Text()
	if e.Message.ID != id || !slices.Contains(t.Get("nodes").Texts(), e.Node) || plugin.Trust(sender) < plugin.Needed("confirm", plugin.Nobody) {
		return nil
	}
	if mayConfirm(s, id, t, actor{node: e.Node, kind: e.Kind, time: plugin.Now()}, Confirm) != nil {
		return nil
	}
	return []plugin.Draft{{
		Type: Confirm, Content: plugin.Map{}, Meta: plugin.Map{"auto": true}, Parents: []string{id}, Nodes: []string{sender}, Key: "confirm",
	}}
}

// concerns says whether a Node asked for a task, is asked for it, or has it.
func concerns(s plugin.State, id string, t plugin.Value, node string) bool {
	return node == t.Get("sender").Text() || slices.Contains(t.Get("nodes").Texts(), node) || s.Has("w/"+id+"/"+node)
}

// due is the first of the times that may pass, 0 where there is none.
func due(t, lead plugin.Value) (at int64) {
	at, _ = t.Get("deadline").Int()
	first := func(n int64, ok bool) {
		if ok && (at == 0 || n < at) {
			at = n
		}
	}
	if lead == nil {
		first(t.Get("expires").Int())
		return at
	}
	beat, ok := t.Get("heartbeat").Int()
	seen, _ := lead.Get("seen").Int()
	if status := lead.Get("status").Text(); status == Confirmed || status == Executing {
		first(seen+beat, ok)
	}
	return at
}
