package model

// This file holds what is said at random of tasks.

import "plexus/sdk/plugin"

var taskCommands = map[string]string{
	"confirm": "p2p:task_confirm", "reject": "p2p:task_reject", "start": "p2p:task_start", "progress": "p2p:task_progress", "ask": "p2p:task_info_request",
	"inform": "p2p:task_info", "escalate": "hil:escalation", "decide": "hil:decision", "complete": "p2p:task_complete", "fail": "p2p:task_fail",
	"cancel": "p2p:task_cancel", "timeout": "p2p:task_timeout", "ack": "p2p:ack", "nack": "p2p:nack",
}

// Task is the pattern of that name.
func Task() Pattern {
	return Pattern{
		Name: "task", Accepts: taskTypes, Replies: true, Answer: answerTask, Draw: drawTask,
		Timely: []string{"too late", "expired at", "must be a time after the message's", "no time of task"},
	}
}

func drawTask(w *World, r *Replica) Saying {
	requests := r.Known("p2p:task_request")
	if len(requests) == 0 || len(requests) < 4 && w.Chance("request", 20) {
		return requestTask(w, r, requests)
	}
	if w.Chance("any", 5) {
		return anyTask(w, r)
	}
	name := One(w, "command", "confirm", "confirm", "confirm", "start", "progress", "ask", "inform", "escalate", "decide", "complete", "complete", "fail", "reject", "cancel", "timeout", "ack", "nack", "settle", "settle", "settle")
	id := One(w, "task", requests...)
	s := Saying{By: w.By(r), Command: name, Params: plugin.Map{"task": id}, Draft: Draft{Type: taskCommands[name], Content: taskContent(w, taskCommands[name]), Parents: []string{id}}}
	for k, v := range s.Draft.Content {
		s.Params[k] = v
	}
	switch name {
	case "settle":
		id = One(w, "confirm", append(r.Known("p2p:task_confirm"), id)...)
		s.Params, s.Free, s.Draft.Type, s.Draft.Parents = plugin.Map{"confirm": id}, true, "p2p:ack", []string{id}
	case "ask":
		s.Draft.Nodes = w.Names("asked", 2)
		s.Params["nodes"] = list(s.Draft.Nodes)
	case "complete":
		if results := r.Known("p2p:task_complete"); len(results) > 0 && w.Chance("merge", 3) {
			s.Draft.Parents = append(s.Draft.Parents, One(w, "part", results...))
			s.Params["parents"] = list(s.Draft.Parents[1:])
			s.Free = true // where the task is none, the result may be another's
		}
	}
	return s
}

func requestTask(w *World, r *Replica, requests []string) Saying {
	c := plugin.Map{"task_type": One(w, "type", "a", "b")}
	d := Draft{Type: "p2p:task_request", Content: c, Nodes: w.Names("for", 3)}
	if w.Chance("deadline", 4) {
		c["deadline"] = r.at(w.Int("seconds", 5, 200))
	}
	if w.Chance("expires_at", 4) {
		c["expires_at"] = r.at(w.Int("seconds", 5, 100))
	}
	if w.Chance("heartbeat", 4) {
		c["heartbeat_s"] = int64(w.Int("seconds", 5, 60))
	}
	if w.Chance("attempts", 3) {
		c["max_attempts"] = int64(w.Int("attempts", 1, 3))
	}
	if w.Chance("priority", 2) {
		c["priority"] = int64(w.Int("priority", 0, 9))
	}
	if len(requests) > 0 && w.Chance("lineage", 2) {
		field := One(w, "lineage", "retry_of", "retry_of", "subtask_of")
		old := One(w, "of", requests...)
		if c[field] = old; field == "subtask_of" && w.Chance("delegate", 3) {
			c["delegate"] = true
		}
		d.Parents = []string{old}
	}
	params := plugin.Map{"nodes": list(d.Nodes)}
	for k, v := range c {
		params[k] = v
	}
	return Saying{By: w.By(r), Draft: d, Command: "request", Params: params}
}

// anyTask says any message, of any task or none.
func anyTask(w *World, r *Replica) Saying {
	d := Draft{Type: One(w, "type", append([]string{""}, taskTypes...)...), Nodes: w.Names("node", 1)}
	d.Content = taskContent(w, d.Type)
	if d.Type == "p2p:task_request" && w.Chance("typed", 2) {
		d.Content["task_type"] = "c"
	}
	known := r.Known(append([]string{""}, taskTypes...)...)
	for range w.Int("refs", 0, 2) {
		d.Parents = append(d.Parents, One(w, "ref", known...))
	}
	return Saying{By: w.By(r), Draft: d}
}

func taskContent(w *World, what string) plugin.Map {
	c := plugin.Map{}
	switch what {
	case "p2p:task_progress":
		c["percent"] = int64(One(w, "percent", 0, 50, 100, 100, 101))
	case "p2p:task_info_request":
		c["question"] = One(w, "question", "which?", "which?", "which?", "")
	case "p2p:task_fail":
		c["error"] = One(w, "error", "no disk", "no disk", "no disk", "")
	}
	return c
}
