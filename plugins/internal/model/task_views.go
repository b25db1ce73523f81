package model

// This file holds what the views of task answer by the model.

import (
	"slices"
	"sort"

	"plexus/sdk/plugin"
)

func (s *tasks) views(a *Answer) {
	var open []*task
	mine, waiting := map[string][]plugin.Map{}, map[string][]plugin.Map{}
	for _, t := range s.all {
		a.view("task", plugin.Map{"task": t.request.ID}, "", s.describe(t))
		for _, mv := range t.moves {
			id, _ := mv["message"].(string)
			mv["acks"] = acksOf(s.acks[id])
		}
		a.view("history", plugin.Map{"task": t.request.ID, "limit": int64(200)}, "", plugin.Map{"moves": t.moves})
		if !over(t.status()) {
			open = append(open, t)
		}
		for _, n := range t.concerns() {
			mine[n] = append(mine[n], plugin.Map{"task": t.request.ID, "status": t.status()})
			if t.waitsFor(n) {
				waiting[n] = append(waiting[n], plugin.Map{"task": t.request.ID})
			}
		}
	}
	sort.SliceStable(open, func(i, j int) bool { return open[i].priority > open[j].priority })
	list := []plugin.Map{}
	for _, t := range open {
		list = append(list, plugin.Map{"task": t.request.ID})
	}
	a.view("open", plugin.Map{"limit": int64(200)}, "", plugin.Map{"tasks": list, "next": nil})
	for n, items := range mine {
		a.view("mine", plugin.Map{"limit": int64(200)}, n, plugin.Map{"tasks": items})
		a.view("waiting", plugin.Map{"limit": int64(200)}, n, plugin.Map{"tasks": waiting[n]})
	}
}

// waitsFor says whether a Node is to move next: it is asked to do the task, or for more.
func (t *task) waitsFor(node string) bool {
	switch t.status() {
	case "pending":
		return slices.Contains(t.request.Nodes, node) && !t.no[node]
	case "info_needed", "need_human":
		return node == t.request.Sender
	}
	return false
}

// concerns are who asked, is asked, or confirmed.
func (t *task) concerns() []string {
	out := append([]string{t.request.Sender}, t.request.Nodes...)
	for _, l := range t.lanes {
		out = append(out, l.by)
	}
	return unique(out)
}

func acksOf(by map[string]string) any {
	if by == nil {
		return nil
	}
	var nodes []string
	for n := range by {
		nodes = append(nodes, n)
	}
	slices.Sort(nodes)
	var out []plugin.Map
	for _, n := range nodes {
		out = append(out, plugin.Map{"node": n, "says": by[n]})
	}
	return out
}

// some is a text, or nil for "".
func some(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// yes is true, or nil for false.
func yes(b bool) any {
	if b {
		return true
	}
	return nil
}

func (s *tasks) describe(t *task) plugin.Map {
	out := plugin.Map{
		"task": t.request.ID, "status": t.status(), "sender": t.request.Sender, "priority": t.priority, "attempt": t.attempt, "retry_of": some(t.retryOf),
		"retried": some(t.retried), "subtask_of": some(t.subtaskOf), "delegated": yes(t.delegated), "settled": yes(t.settled), "reason": some(t.reason),
		"overruled": nil, "rejected_by": nil, "subtasks": nil, "by": nil,
	}
	var rivals []plugin.Map
	for _, l := range t.lanes {
		if l != t.lead {
			rivals = append(rivals, plugin.Map{"by": l.by, "confirm": l.confirm, "status": l.status})
			continue
		}
		out["by"], out["confirm"], out["seen"], out["last"] = l.by, l.confirm, plugin.Time(l.seen), l.last
		out["overruled_result"], out["accepted"], out["disputed"], out["result_message"] = some(l.overruled), yes(l.accepted), yes(l.disputed), some(l.result)
		if out["percent"] = nil; l.hasPercent {
			out["percent"] = l.percent
		}
		out["merged"] = s.merged(l)
	}
	if rivals != nil {
		out["overruled"] = rivals
	}
	var no []string
	for n := range t.no {
		no = append(no, n)
	}
	if slices.Sort(no); no != nil {
		out["rejected_by"] = no
	}
	counts := plugin.Map{}
	for _, sub := range s.all {
		if sub.subtaskOf == t.request.ID {
			n, _ := counts[sub.status()].(int)
			counts[sub.status()] = n + 1
		}
	}
	if len(counts) > 0 {
		out["subtasks"] = counts
	}
	return out
}

// merged are the tasks whose results a result refers to.
func (s *tasks) merged(l *lane) any {
	var out []string
	if m := s.by[l.result]; m != nil {
		for _, p := range m.Parents {
			if of := s.lanes[p]; of != nil && of.result == p {
				out = append(out, s.of[p].request.ID)
			}
		}
	}
	if out == nil {
		return nil
	}
	return out
}
