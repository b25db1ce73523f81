// Package model is the patterns once more, as plain Go written from their documents and not from their code, and a world of three replicas
// with partitions and merges in which the two are held against each other.
//
// A model takes the messages that a replica has, in canonical order, and says which are marked and what the views answer. In the world
// random commands and random messages are said on all replicas; after each step the pattern's answers on a replica must be the model's
// for just the messages it has, and after all have merged they and the states must be the same on all three.
package model

// This file holds what a model is given, and what it answers.

import (
	"cmp"
	"maps"
	"slices"

	"plexus/sdk/abi"
	"plexus/sdk/plugin"
)

// Message is what somebody said.
type Message struct {
	ID, Sender, Kind, Type string
	Time                   int64 // microseconds
	Content                plugin.Map
	Parents, Nodes         []string
	Prev                   []string // the heads its author knew
}

// compare is the canonical order.
func (m *Message) compare(o *Message) int {
	return cmp.Or(cmp.Compare(m.Time, o.Time), cmp.Compare(m.ID, o.ID))
}

// text, number and texts read the content; what isn't there is empty.
func (m *Message) text(field string) string {
	s, _ := m.Content[field].(string)
	return s
}

func (m *Message) number(field string) (n int64, ok bool) {
	n, ok = m.Content[field].(int64)
	return n, ok
}

func (m *Message) texts(field string) []string { return texts(m.Content[field]) }

func texts(v any) (out []string) {
	list, _ := v.([]any)
	for _, x := range list {
		s, _ := x.(string)
		out = append(out, s)
	}
	return out
}

// moment reads a time.
func (m *Message) moment(field string) (at int64, ok bool) {
	return plugin.ParseTime(m.text(field))
}

// History is the messages of one replica in canonical order.
type History struct {
	Messages []*Message
	past     map[string]map[string]bool
}

// newHistory sorts messages; all that one knew must be among them.
func newHistory(messages []*Message) *History {
	h := &History{Messages: slices.Clone(messages), past: map[string]map[string]bool{}}
	slices.SortFunc(h.Messages, (*Message).compare)
	for _, m := range h.Messages {
		past := map[string]bool{}
		for _, p := range slices.Concat(m.Prev, m.Parents) {
			past[p] = true
			for q := range h.past[p] {
				past[q] = true
			}
		}
		h.past[m.ID] = past
	}
	return h
}

// Knew says whether message b's author provably knew a.
func (h *History) Knew(a, b string) bool { return h.past[b][a] }

// senders are those who said something.
func (h *History) senders() (out []string) {
	for _, m := range h.Messages {
		out = append(out, m.Sender)
	}
	return unique(out)
}

// sorted are a map's keys.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Answer is what a model has to say of a history.
type Answer struct {
	Marked map[string]bool
	Views  []View
}

func (a *Answer) view(name string, params plugin.Map, caller string, want any) {
	a.Views = append(a.Views, View{name, params, caller, want})
}

// View is a question and the answer that is due. In its objects nil is a field that must be absent; fields it doesn't name may be anything.
type View struct {
	Name   string
	Params plugin.Map
	Caller string
	Want   any
}

// Pattern is one plugin in the world.
type Pattern struct {
	Name    string
	Accepts []string // content types
	Replies bool
	Answer  func(h *History) Answer // nil: there is no model; commands are held against folds, and the replicas against each other
	// Draw makes up something to say for one who is at home on the replica.
	Draw func(w *World, r *Replica) Saying
	// Timely are parts of the reasons that are of time.
	Timely []string
}

// Saying is what one says, by a command or not.
type Saying struct {
	By      string // a name
	Draft   Draft
	Command string // "": it is said as it is
	Params  plugin.Map
	Free    bool // said as it is, the draft may be taken where the command refuses
	Shown   View // where a refused draft is taken all the same, this view must not change by it, but for rivals that are overruled
}

// Plain turns a value as guests have it into nil, bool, int64, float64, string, []any and plugin.Map.
func Plain(v abi.Value) any {
	switch v.Kind() {
	case abi.Bool:
		return v.Bool()
	case abi.Int:
		n, _ := v.Int()
		return n
	case abi.Float:
		f, _ := v.Float()
		return f
	case abi.Text:
		return v.Text()
	case abi.List:
		list := []any{}
		for x := range v.Items() {
			list = append(list, Plain(x))
		}
		return list
	case abi.Map:
		m := plugin.Map{}
		for k, x := range v.Pairs() {
			m[k.Text()] = Plain(x)
		}
		return m
	}
	return nil
}
