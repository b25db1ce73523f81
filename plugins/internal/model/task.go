package model

// This file holds the model of task, written from docs/patterns/task.md and its SKILL.md.

import (
	"slices"

	"plexus/sdk/plugin"
)

// taskTypes are what the pattern accepts.
var taskTypes = []string{
	"p2p:task_request", "p2p:task_confirm", "p2p:task_reject", "p2p:task_start", "p2p:task_progress", "p2p:task_info_request", "p2p:task_info",
	"p2p:task_complete", "p2p:task_fail", "p2p:task_cancel", "p2p:task_timeout", "p2p:ack", "p2p:nack", "hil:escalation", "hil:decision",
}

// arrows are the drawing: what the holder of a confirmation says in which state, and the state after.
var arrows = map[string][2]string{
	"p2p:task_start": {"confirmed", "executing"}, "p2p:task_progress": {"executing", "executing"}, "p2p:task_info_request": {"executing", "info_needed"},
	"p2p:task_info": {"info_needed", "executing"}, "hil:escalation": {"executing", "need_human"}, "hil:decision": {"need_human", "executing"},
	"p2p:task_complete": {"executing", "completed"}, "p2p:task_fail": {"executing", "failed"},
}

type task struct {
	request                      *Message
	priority, attempt, most      int64
	deadline, expires, heartbeat int64 // 0: none
	retryOf, retried, subtaskOf  string
	delegated, rejected, settled bool
	reason                       string
	no                           map[string]bool // who rejected
	lanes                        []*lane         // in canonical order of their confirmations
	lead                         *lane
	moves                        []plugin.Map
}

// lane is one Node's run.
type lane struct {
	by, confirm, status, last, result, overruled string
	seen, percent                                int64
	asked                                        []string
	hasPercent, accepted, disputed               bool
}

// tasks is the state of all.
type tasks struct {
	h     *History
	of    map[string]*task // message → its task
	lanes map[string]*lane // message → its lane
	all   []*task          // in canonical order
	acks  map[string]map[string]string
	by    map[string]*Message
}

func answerTask(h *History) Answer {
	s := &tasks{h, map[string]*task{}, map[string]*lane{}, nil, map[string]map[string]string{}, map[string]*Message{}}
	a := Answer{Marked: map[string]bool{}}
	for _, m := range h.Messages {
		s.by[m.ID] = m
		if (m.Type == "" || slices.Contains(taskTypes, m.Type)) && !s.take(m) {
			a.Marked[m.ID] = true
		}
	}
	s.views(&a)
	return a
}

func over(status string) bool {
	return slices.Contains([]string{"completed", "failed", "cancelled", "rejected"}, status)
}

func (t *task) status() string {
	switch {
	case t.lead != nil:
		return t.lead.status
	case t.rejected:
		return "rejected"
	}
	return "pending"
}

func (t *task) lane(node string) *lane {
	for _, l := range t.lanes {
		if l.by == node {
			return l
		}
	}
	return nil
}

// take folds a message; false is a mark.
func (s *tasks) take(m *Message) bool {
	if m.Type == "p2p:task_request" {
		return s.request(m)
	}
	var t *task
	var l *lane
	for _, p := range m.Parents {
		if t = s.of[p]; t != nil {
			l = s.lanes[p]
			break
		}
	}
	if t == nil {
		return slices.Contains([]string{"", "p2p:ack", "p2p:nack", "hil:escalation", "hil:decision"}, m.Type)
	}
	switch m.Type {
	case "", "p2p:ack", "p2p:nack":
		s.word(m, t, l)
		return true
	case "p2p:task_confirm":
		return s.confirm(m, t)
	case "p2p:task_reject":
		return s.reject(m, t)
	case "p2p:task_cancel", "p2p:task_timeout":
		return s.end(m, t)
	}
	return s.move(m, t, l)
}

func (s *tasks) request(m *Message) bool {
	t := &task{request: m, priority: 5, attempt: 1, no: map[string]bool{}}
	if m.text("task_type") == "" {
		return false
	}
	if p, ok := m.number("priority"); ok {
		t.priority = p
	}
	if b, ok := m.number("heartbeat_s"); ok {
		t.heartbeat = b * second
	}
	t.most, _ = m.number("max_attempts")
	for field, at := range map[string]*int64{"deadline": &t.deadline, "expires_at": &t.expires} {
		if m.Content[field] != nil {
			if *at, _ = m.moment(field); *at <= m.Time {
				return false
			}
		}
	}
	var old *task
	if id := m.text("retry_of"); id != "" {
		old = s.at(id)
		if old == nil || old.request.Sender != m.Sender || !over(old.status()) || old.status() == "completed" || old.retried != "" || old.most > 0 && old.attempt >= old.most {
			return false
		}
		t.retryOf, t.attempt = id, old.attempt+1
		if t.most == 0 {
			t.most = old.most
		}
	}
	if id := m.text("subtask_of"); id != "" {
		whole := s.at(id)
		if whole == nil || over(whole.status()) || whole.request.Sender != m.Sender && whole.lane(m.Sender) == nil {
			return false
		}
		t.subtaskOf = id
		t.delegated, _ = m.Content["delegate"].(bool)
	}
	if old != nil {
		old.retried = m.ID
	}
	s.of[m.ID] = t
	s.all = append(s.all, t)
	return true
}

// at finds a task by its request.
func (s *tasks) at(id string) *task {
	if t := s.of[id]; t != nil && t.request.ID == id {
		return t
	}
	return nil
}

// note writes down a message as one of the task, and its steps.
func (s *tasks) note(m *Message, t *task, l *lane, steps ...string) bool {
	s.of[m.ID] = t
	if l != nil {
		s.lanes[m.ID] = l
	}
	if steps != nil {
		t.moves = append(t.moves, plugin.Map{"message": m.ID, "content_type": m.Type, "sender": m.Sender, "steps": steps})
	}
	return true
}

// asks says whether the task is for a Node, and still in time.
func (t *task) asks(m *Message) bool {
	return m.Sender != t.request.Sender && (len(t.request.Nodes) == 0 || slices.Contains(t.request.Nodes, m.Sender)) && t.inTime(m)
}

func (t *task) inTime(m *Message) bool { return t.deadline == 0 || m.Time <= t.deadline }

func (s *tasks) confirm(m *Message, t *task) bool {
	if !t.asks(m) || t.expires > 0 && m.Time > t.expires {
		return false
	}
	if t.status() != "pending" && (t.lead == nil || t.settled || t.lane(m.Sender) != nil || s.h.Knew(t.lead.confirm, m.ID)) {
		return false
	}
	l := &lane{by: m.Sender, confirm: m.ID, status: "confirmed", last: m.ID, seen: m.Time}
	t.lanes = append(t.lanes, l)
	delete(t.no, m.Sender)
	if t.lead == nil {
		t.lead = l
	}
	return s.note(m, t, l, "pending", "confirmed")
}

func (s *tasks) reject(m *Message, t *task) bool {
	if !t.asks(m) || t.status() != "pending" {
		return false
	}
	t.no[m.Sender] = true
	for _, n := range t.request.Nodes {
		if !t.no[n] {
			return s.note(m, t, nil)
		}
	}
	if len(t.request.Nodes) == 0 {
		return s.note(m, t, nil)
	}
	t.rejected = true
	return s.note(m, t, nil, "pending", "rejected")
}

func (s *tasks) move(m *Message, t *task, l *lane) bool {
	arrow := arrows[m.Type]
	byHolder := m.Type != "p2p:task_info" && m.Type != "hil:decision"
	switch {
	case byHolder:
		l = t.lane(m.Sender)
	case l == nil:
		l = t.lead
	}
	if l == nil || t.settled && l != t.lead || l.status != arrow[0] || !t.inTime(m) {
		return false
	}
	switch m.Type {
	case "hil:decision":
		if m.Kind != "human" {
			return false
		}
	case "p2p:task_info":
		if m.Sender != t.request.Sender && !slices.Contains(l.asked, m.Sender) {
			return false
		}
		l.asked = nil
	case "p2p:task_progress":
		if p, ok := m.number("percent"); ok {
			if p < 0 || p > 100 {
				return false
			}
			l.percent, l.hasPercent = p, true
		}
	case "p2p:task_info_request":
		if m.text("question") == "" {
			return false
		}
		l.asked = m.Nodes
	case "p2p:task_fail":
		if m.text("error") == "" {
			return false
		}
		l.result = m.ID
	case "p2p:task_complete":
		l.result = m.ID
	}
	l.status, l.last = arrow[1], m.ID
	if byHolder {
		l.seen = m.Time
	}
	if arrow[0] == arrow[1] {
		return s.note(m, t, l)
	}
	return s.note(m, t, l, arrow[0], arrow[1])
}

// undone says whether the author's word ends a completed lane: it neither knew of nor had accepted the completion.
func (s *tasks) undone(m *Message, t *task, l *lane) bool {
	return l.status == "completed" && m.Sender == t.request.Sender && !l.accepted && !s.h.Knew(l.result, m.ID)
}

func (t *task) passed(at int64) bool {
	if t.deadline > 0 && at > t.deadline {
		return true
	}
	if t.lead == nil {
		return t.expires > 0 && at > t.expires
	}
	return t.heartbeat > 0 && (t.lead.status == "confirmed" || t.lead.status == "executing") && at > t.lead.seen+t.heartbeat
}

func (s *tasks) end(m *Message, t *task) bool {
	to := "failed"
	if m.Type == "p2p:task_cancel" {
		if to = "cancelled"; m.Sender != t.request.Sender {
			return false
		}
	} else if !t.passed(m.Time) {
		return false
	}
	if over(t.status()) && (t.lead == nil || !s.undone(m, t, t.lead)) {
		return false
	}
	if t.lead == nil {
		t.rejected, t.reason = true, m.Type
		return s.note(m, t, nil, "pending", "rejected")
	}
	var steps []string
	for _, l := range t.lanes {
		from := l.status
		switch {
		case s.undone(m, t, l):
			from, l.overruled, l.result = "executing", l.result, ""
		case over(from):
			continue
		}
		l.status, l.last = to, m.ID
		if l == t.lead || steps == nil {
			if steps = []string{"executing", to}; from != "executing" {
				steps = []string{from, "executing", "executing", to}
			}
		}
	}
	return s.note(m, t, nil, steps...)
}

// word is an ack, a nack or an untyped reply.
func (s *tasks) word(m *Message, t *task, l *lane) {
	for _, p := range m.Parents {
		if s.of[p] != nil && m.Type != "" {
			if s.acks[p] == nil {
				s.acks[p] = map[string]string{}
			}
			s.acks[p][m.Sender] = m.Type[len("p2p:"):]
		}
	}
	if m.Sender != t.request.Sender || l == nil {
		return
	}
	no := m.Type == "p2p:nack"
	if !t.settled && !no {
		t.lead, t.settled = l, true
	} else if t.settled && l != t.lead {
		return
	}
	if l.result != "" && slices.Contains(m.Parents, l.result) {
		l.accepted, l.disputed = !no, no
	}
}
