package model

// This file holds the comparisons: a replica with the model of what it has, the replicas with each other, and commands with
// what becomes of what they say.

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"plexus/sdk/plugin"
)

// check holds a replica against the model of its own messages.
func (w *World) check(r *Replica) {
	if w.pattern.Answer == nil {
		return
	}
	want := w.pattern.Answer(r.History())
	marked, err := r.engine.Marked()
	w.must(err)
	for _, m := range r.have {
		reason, is := marked[m.ID]
		if is != want.Marked[m.ID] {
			w.rt.Fatalf("%s is marked: %v (%s), by the model %v\n%s", m.ID, is, reason, want.Marked[m.ID], w.print(r))
		}
	}
	for _, v := range want.Views {
		got, err := r.engine.View(v.Name, v.Params, v.Caller)
		if err != nil {
			w.rt.Fatalf("view %s %v: %v\n%s", v.Name, v.Params, err, w.print(r))
		}
		if d := differ(v.Name, got, v.Want); d != "" {
			w.rt.Fatalf("view %s %v: %s\n%s", v.Name, v.Params, d, w.print(r))
		}
	}
}

// agree holds all against the model and each other, once they have met.
func (w *World) agree() {
	first := ""
	for i, r := range w.replicas {
		if len(r.have) != w.Said {
			w.rt.Fatalf("replica %d has %d of %d messages", i, len(r.have), w.Said)
		}
		w.check(r)
		state := w.state(r)
		if i == 0 {
			first = state
		}
		if state != first {
			w.rt.Fatalf("replica %d ends with another state than 0\n%s", i, w.print(r))
		}
	}
}

// differ says where got isn't want, "" where it is. In want's objects nil must be absent and what isn't named may be anything.
func differ(at string, got, want any) string {
	switch want := want.(type) {
	case nil:
		if got != nil {
			return fmt.Sprintf("%s is %v, the model has none", at, got)
		}
		return ""
	case plugin.Map:
		m, ok := got.(plugin.Map)
		if !ok {
			return fmt.Sprintf("%s is %v, the model says %v", at, got, want)
		}
		for _, k := range slices.Sorted(maps.Keys(want)) {
			if d := differ(at+"."+k, m[k], want[k]); d != "" {
				return d
			}
		}
		return ""
	case []string:
		return differ(at, got, list(want))
	case []plugin.Map:
		items := []any{}
		for _, m := range want {
			items = append(items, m)
		}
		return differ(at, got, items)
	case []any:
		items, ok := got.([]any)
		if !ok || len(items) != len(want) {
			return fmt.Sprintf("%s is %v, the model says %v", at, got, want)
		}
		for i := range want {
			if d := differ(fmt.Sprintf("%s[%d]", at, i), items[i], want[i]); d != "" {
				return d
			}
		}
		return ""
	case int:
		return differ(at, got, int64(want))
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Sprintf("%s is %v, the model says %v", at, got, want)
	}
	return ""
}

// command asks a command and says what it returns. A command that is taken knows all that the replica has, so what it says must be taken
// // too; where it refuses, its message, said all the same, must be marked or at least change nothing.
func (w *World) command(r *Replica, s Saying) {
	w.Asked++
	drafts, err := r.engine.Command(s.Command, s.Params, w.ground.Node(s.By), w.message(r, s.By, s.Draft).Time)
	if err != nil {
		if w.untold(err.Error()) {
			return
		}
		before := w.shown(r, s.Shown)
		if m := w.Say(r, s.By, s.Draft); w.reason(r, m) == "" && !s.Free && w.shown(r, s.Shown) != before {
			w.rt.Fatalf("%s by %s is refused (%v), its message %s is taken\n%s", s.Command, s.By, err, m.ID, w.print(r))
		}
		return
	}
	w.Taken++
	for _, d := range drafts {
		m := w.Say(r, s.By, d)
		reason := w.reason(r, m)
		if reason != "" && !w.untold(reason) {
			w.rt.Fatalf("%s by %s is taken, its message %s marked: %s\n%s", s.Command, s.By, m.ID, reason, w.print(r))
		}
	}
}

// shown is what a view shows beside rivals that are overruled, or the whole state where none is given.
func (w *World) shown(r *Replica, v View) string {
	if v.Name == "" {
		return w.state(r)
	}
	got, err := r.engine.View(v.Name, v.Params, v.Caller)
	w.must(err)
	b, err := json.Marshal(without(got, "overruled"))
	w.must(err)
	return string(b)
}

// without leaves a field out of all objects.
func without(v any, field string) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = without(v[i], field)
		}
	case plugin.Map:
		delete(v, field)
		for k := range v {
			v[k] = without(v[k], field)
		}
	}
	return v
}

func (w *World) state(r *Replica) string {
	state, err := r.engine.State()
	w.must(err)
	return state
}

// untold says whether a reason is one of time, where commands don't see the world's.
func (w *World) untold(reason string) bool {
	return !w.ground.Timed() && slices.ContainsFunc(w.pattern.Timely, func(t string) bool { return strings.Contains(reason, t) })
}

// reason is why a message is marked, "" where it isn't.
func (w *World) reason(r *Replica, m *Message) string {
	marked, err := r.engine.Marked()
	w.must(err)
	return marked[m.ID]
}

// print writes a replica's messages for who reads a failure.
func (w *World) print(r *Replica) string {
	var b strings.Builder
	marked, _ := r.engine.Marked()
	for _, m := range r.History().Messages {
		content, _ := json.Marshal(m.Content)
		var nodes []string
		for _, n := range m.Nodes {
			nodes = append(nodes, w.names[n])
		}
		fmt.Fprintf(&b, "%s %11d %s %s %s refs %v nodes %v prev %v %s\n", m.ID, m.Time-epoch, w.names[m.Sender], m.Type, content, m.Parents, nodes, m.Prev, marked[m.ID])
	}
	return b.String()
}
