package task

// This file holds the state machine: the seed's drawing (seeds, §7), which messages walk its edges, and who may send them.

import (
	"slices"

	"plexus/sdk/plugin"
)

// The states. The last four are final.
const (
	Pending    = "pending"
	Confirmed  = "confirmed"
	Executing  = "executing"
	InfoNeeded = "info_needed"
	NeedHuman  = "need_human"
	Completed  = "completed"
	Failed     = "failed"
	Cancelled  = "cancelled"
	Rejected   = "rejected"
)

// The content types. An untyped reply of the author settles, as an ack does.
const (
	Request     = "p2p:task_request"
	Confirm     = "p2p:task_confirm"
	Reject      = "p2p:task_reject"
	Start       = "p2p:task_start"
	Progress    = "p2p:task_progress"
	InfoRequest = "p2p:task_info_request"
	Info        = "p2p:task_info"
	Complete    = "p2p:task_complete"
	Fail        = "p2p:task_fail"
	Cancel      = "p2p:task_cancel"
	Timeout     = "p2p:task_timeout"
	Ack         = "p2p:ack"
	Nack        = "p2p:nack"
	Escalate    = "hil:escalation"
	Decision    = "hil:decision"
)

// edge is one arrow of the drawing.
type edge struct{ from, to string }

// drawn are all arrows. What isn't here doesn't happen.
var drawn = []edge{
	{Pending, Confirmed},
	{Pending, Rejected},
	{Confirmed, Executing},
	{Executing, InfoNeeded},
	{InfoNeeded, Executing},
	{Executing, NeedHuman},
	{NeedHuman, Executing},
	{Executing, Completed},
	{Executing, Failed},
	{Executing, Cancelled},
}

// move is what a message does: the arrow it walks and who may send it.
type move struct {
	edge
	who string // "holder": who confirmed; "asked": who was asked for information; "human"
}

func moveOf(what string) (move, bool) {
	switch what {
	case Start:
		return move{edge{Confirmed, Executing}, "holder"}, true
	case Progress:
		return move{edge{Executing, Executing}, "holder"}, true
	case InfoRequest:
		return move{edge{Executing, InfoNeeded}, "holder"}, true
	case Info:
		return move{edge{InfoNeeded, Executing}, "asked"}, true
	case Escalate:
		return move{edge{Executing, NeedHuman}, "holder"}, true
	case Decision:
		return move{edge{NeedHuman, Executing}, "human"}, true
	case Complete:
		return move{edge{Executing, Completed}, "holder"}, true
	case Fail:
		return move{edge{Executing, Failed}, "holder"}, true
	}
	return move{}, false
}

func final(status string) bool {
	return status == Completed || status == Failed || status == Cancelled || status == Rejected
}

// path is the arrows from a state to an end that comes from outside, a cancellation or a timeout: the drawing lets only executing
// end so, thus the others pass through it; and what was never confirmed is rejected. Empty: there is no way.
func path(from, to string) []edge {
	switch {
	case from == Pending:
		return []edge{{Pending, Rejected}}
	case from == Executing:
		return []edge{{Executing, to}}
	case final(from):
		return nil
	}
	return []edge{{from, Executing}, {Executing, to}}
}

// illegal is the refusal of an arrow that isn't drawn.
func illegal(id, from, to string) error {
	if final(from) {
		return plugin.Refusal("task " + id + " is " + from + ": that is final; it can't become " + to)
	}
	return plugin.Refusal("task " + id + " is " + from + ": it can't become " + to + " now")
}

// actor is who wants to say something of a task, and when; a command leaves message empty.
type actor struct {
	node, kind, message string
	time                int64
}

// mayMove finds the lane that a move is for and says whether the actor may make it.
func mayMove(s plugin.State, id string, t plugin.Value, lane string, a actor, what string) (string, error) {
	mv, _ := moveOf(what)
	if mv.who == "holder" {
		lane = s.Text("w/" + id + "/" + a.node)
	} else if lane == "" {
		lane = t.Get("lane").Text()
	}
	l := s.Value("r/" + id + "/" + lane)
	status := statusOf(s, id, t)
	if l == nil {
		if status != mv.from && (status == Pending || final(status)) {
			return "", illegal(id, status, mv.to)
		}
		return "", plugin.Refusal("only the Node that confirmed task " + id + " may say this; it is with " + holder(s, id, t))
	}
	if t.Get("settled").Bool() && lane != t.Get("lane").Text() {
		return "", plugin.Refusal("task " + id + " is with " + holder(s, id, t) + ": its author said so")
	}
	if from := l.Get("status").Text(); from != mv.from {
		return "", illegal(id, from, mv.to)
	}
	switch {
	case mv.who == "human" && a.kind != "human":
		return "", plugin.Refusal("task " + id + " waits for a human's decision: only a Node attested human may make it")
	case mv.who == "asked" && a.node != t.Get("sender").Text() && !slices.Contains(l.Get("asked").Texts(), a.node):
		return "", plugin.Refusal("only the author of task " + id + ", or a Node the question names, may give the information")
	}
	return lane, inTime(id, t, a)
}

// inTime refuses what comes after the deadline. Only the message's own time counts.
func inTime(id string, t plugin.Value, a actor) error {
	if deadline, ok := t.Get("deadline").Int(); ok && a.time > deadline {
		return plugin.Refusal("too late: the deadline of task " + id + " passed at " + plugin.Time(deadline))
	}
	return nil
}

// mayConfirm covers confirm and reject.
func mayConfirm(s plugin.State, id string, t plugin.Value, a actor, what string) error {
	to := Confirmed
	if what == Reject {
		to = Rejected
	}
	if a.node == t.Get("sender").Text() {
		return plugin.Refusal("a task isn't for its own author")
	}
	if nodes := t.Get("nodes").Texts(); len(nodes) > 0 && !slices.Contains(nodes, a.node) {
		return plugin.Refusal("task " + id + " is for others: only those in its refs.nodes may confirm or reject it")
	}
	if status := statusOf(s, id, t); status != Pending {
		lead := s.Value("r/" + id + "/" + t.Get("lane").Text())
		rival := what == Confirm && lead != nil && !t.Get("settled").Bool() && !s.Has("w/"+id+"/"+a.node) &&
			a.message != "" && !s.HappenedBefore(lead.Get("confirm").Text(), a.message)
		if lead != nil && !rival && !final(status) {
			return plugin.Refusal("task " + id + " is already confirmed by " + lead.Get("by").Text() + ": it can't become " + to + " now")
		}
		if !rival {
			return illegal(id, status, to)
		}
	}
	if expires, ok := t.Get("expires").Int(); ok && a.time > expires && what == Confirm {
		return plugin.Refusal("task " + id + " expired at " + plugin.Time(expires))
	}
	return inTime(id, t, a)
}

// statusOf is a task's state: that of the lane that leads, else its own.
func statusOf(s plugin.State, id string, t plugin.Value) string {
	if lane := t.Get("lane").Text(); lane != "" {
		return s.Value("r/" + id + "/" + lane).Get("status").Text()
	}
	return t.Get("status").Text()
}

// holder is who has the task, or "nobody".
func holder(s plugin.State, id string, t plugin.Value) string {
	if by := s.Value("r/" + id + "/" + t.Get("lane").Text()).Get("by").Text(); by != "" {
		return by
	}
	return "nobody"
}
