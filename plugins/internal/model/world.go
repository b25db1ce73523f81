package model

// This file holds the world: three replicas, who speaks on them, who can reach whom.

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plexus/sdk/plugin"
)

// homes are the people and the replica each is on. Names with an h are humans'.
var homes = map[string]int{"ann": 0, "hal": 0, "bob": 1, "hut": 1, "cem": 2, "eve": 2}

// People are the names, as often as they are drawn.
var People = []string{"ann", "ann", "bob", "bob", "cem", "hal", "hut", "eve"}

const (
	replicas = 3
	second   = int64(1_000_000)
	epoch    = 1_800_000_000 * second // the world's beginning
	maxSteps = 60
	maxTries = 12
)

// World is one random run.
type World struct {
	rt       *rapid.T
	pattern  Pattern
	ground   Ground
	replicas [replicas]*Replica
	side     [replicas]int // who can reach whom: equal numbers
	messages map[string]*Message
	names    map[string]string // Node ID → name
	Said     int               // messages
	Asked    int               // commands
	Taken    int               // commands that were taken
}

// Replica is one of the three.
type Replica struct {
	engine  Engine
	now     int64
	have    []*Message          // as they came
	heads   map[string]*Message // of those none is in another's past
	last    map[string]*Message // of each author
	people  []string
	history *History
}

// Play runs a pattern through random worlds, one for every share of rapid's checks, and logs how many messages that took. All is compared
// every so many steps, and at the end.
func Play(t *testing.T, p Pattern, g Ground, share, every int) {
	n, failed := 0, false
	worlds, said, asked, taken := 0, 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		if n++; n%share != 0 && !failed {
			return
		}
		defer func() { failed = failed || rt.Failed() }()
		w := open(rt, p, g)
		defer w.close()
		w.run(every)
		worlds, said, asked, taken = worlds+1, said+w.Said, asked+w.Asked, taken+w.Taken
	})
	t.Logf("%s: %d worlds, %d messages, %d commands, %d of them taken", p.Name, worlds, said, asked, taken)
}

func open(rt *rapid.T, p Pattern, g Ground) *World {
	w := &World{rt: rt, pattern: p, ground: g, messages: map[string]*Message{}, names: map[string]string{}}
	for i := range w.replicas {
		e, err := g.Replica()
		w.must(err)
		r := &Replica{engine: e, now: epoch + int64(w.Int("clock", 0, 100))*second, heads: map[string]*Message{}, last: map[string]*Message{}}
		w.replicas[i] = r
	}
	for name, i := range homes {
		w.names[g.Node(name)] = name
		w.replicas[i].people = append(w.replicas[i].people, name)
	}
	for _, r := range w.replicas {
		slices.Sort(r.people)
	}
	return w
}

func (w *World) close() {
	for _, r := range w.replicas {
		w.must(r.engine.Close())
	}
}

func (w *World) must(err error) {
	if err != nil {
		w.rt.Fatal(err)
	}
}

// Int draws a number.
func (w *World) Int(label string, least, most int) int {
	return rapid.IntRange(least, most).Draw(w.rt, label)
}

// One draws one of a list.
func One[T any](w *World, label string, list ...T) T {
	return rapid.SampledFrom(list).Draw(w.rt, label)
}

// Chance is true in one of n cases.
func (w *World) Chance(label string, n int) bool { return w.Int(label, 1, n) == n }

// run plays: every so many steps all is compared, and at the end.
func (w *World) run(every int) {
	for step := range One(w, "steps", 10, 20, 40, maxSteps) {
		r := w.replicas[w.Int("replica", 0, replicas-1)]
		switch w.Int("do", 0, 9) {
		case 0:
			for i := range w.side {
				w.side[i] = w.Int("side", 0, 1)
			}
		case 1, 2:
			from := w.Int("from", 0, replicas-1)
			if other := w.replicas[from]; other != r && w.reach(other, r) {
				w.meet(other, r, w.Int("share", 1, 4))
			}
		default:
			r.now += int64(One(w, "pause", 0, 0, 1, 1, 5, 40)) * second
			w.act(r)
		}
		if step%every == every-1 {
			w.check(r)
		}
	}
	for range 2 {
		for _, a := range w.replicas {
			for _, b := range w.replicas {
				w.meet(a, b, 1)
			}
		}
	}
	w.agree()
}

// act says something random. Mostly it looks for something that the model takes, so that a pattern gets anywhere.
func (w *World) act(r *Replica) {
	var s Saying
	for range One(w, "tries", 1, maxTries, maxTries, maxTries) {
		if s = w.pattern.Draw(w, r); w.takes(r, s) {
			break
		}
	}
	if s.Command == "" {
		w.Say(r, s.By, s.Draft)
	} else {
		w.command(r, s)
	}
}

// takes says whether the model takes what is said, or where there is none, the command.
func (w *World) takes(r *Replica, s Saying) bool {
	if w.pattern.Answer == nil {
		_, err := r.engine.Command(s.Command, s.Params, w.ground.Node(s.By), w.message(r, s.By, s.Draft).Time)
		return s.Command != "" && err == nil
	}
	m := w.message(r, s.By, s.Draft)
	m.ID = "the next"
	return !w.pattern.Answer(newHistory(append(slices.Clone(r.have), m))).Marked[m.ID]
}

func (w *World) reach(a, b *Replica) bool {
	return w.side[slices.Index(w.replicas[:], a)] == w.side[slices.Index(w.replicas[:], b)]
}

// meet gives b the first 1/share of what it lacks of a's.
func (w *World) meet(a, b *Replica, share int) {
	var lacks []*Message
	for _, m := range a.have {
		if !slices.Contains(b.have, m) {
			lacks = append(lacks, m)
		}
	}
	w.deliver(b, lacks[:(len(lacks)+share-1)/share])
}

func (w *World) deliver(r *Replica, messages []*Message) {
	if len(messages) == 0 {
		return
	}
	for _, m := range messages {
		for _, p := range slices.Concat(m.Prev, m.Parents) {
			delete(r.heads, p)
		}
		r.heads[m.ID], r.last[m.Sender] = m, m
	}
	r.have, r.history = append(r.have, messages...), nil
	w.must(r.engine.Deliver(messages))
}

func kindOf(name string) string {
	if name[0] == 'h' {
		return "human"
	}
	return "agent"
}

// message makes a message without an ID: its author knows all that the replica has.
func (w *World) message(r *Replica, by string, d Draft) *Message {
	m := &Message{Sender: w.ground.Node(by), Kind: kindOf(by), Type: d.Type, Content: d.Content, Parents: unique(d.Parents), Nodes: unique(d.Nodes), Time: r.now}
	if m.Content == nil {
		m.Content = plugin.Map{}
	}
	mine := r.last[m.Sender]
	if mine != nil {
		m.Prev = []string{mine.ID}
	}
	var others []string
	for id := range r.heads {
		if mine == nil || id != mine.ID {
			others = append(others, id)
		}
	}
	slices.Sort(others)
	m.Prev = append(m.Prev, others...)
	for _, p := range slices.Concat(m.Prev, m.Parents) {
		m.Time = max(m.Time, w.messages[p].Time+1)
	}
	return m
}

// Say has a Node say something on its replica.
func (w *World) Say(r *Replica, by string, d Draft) *Message {
	m := w.message(r, by, d)
	w.must(w.ground.Seal(m))
	w.messages[m.ID] = m
	w.Said++
	w.deliver(r, []*Message{m})
	return m
}

func unique(list []string) (out []string) {
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// By draws one who is at home on a replica.
func (w *World) By(r *Replica) string { return One(w, "by", r.people...) }

// Names draws up to n different Nodes, as IDs.
func (w *World) Names(label string, n int) (out []string) {
	for range w.Int(label+"s", 0, n) {
		out = append(out, w.ground.Node(One(w, label, People...)))
	}
	return unique(out)
}

// Known are the messages of some types that a replica has.
func (r *Replica) Known(types ...string) (out []string) {
	for _, m := range r.have {
		if slices.Contains(types, m.Type) {
			out = append(out, m.ID)
		}
	}
	return out
}

// History is what a replica has, in canonical order.
func (r *Replica) History() *History {
	if r.history == nil {
		r.history = newHistory(r.have)
	}
	return r.history
}

// list makes texts a list as contents have it.
func list(texts []string) []any {
	out := []any{}
	for _, s := range texts {
		out = append(out, s)
	}
	return out
}

// at prints a time so many seconds from a replica's now.
func (r *Replica) at(seconds int) string { return plugin.Time(r.now + int64(seconds)*second) }
