package node

// This file tests the inbox and its acknowledgements, idempotency over restarts and time, Find, and unchanged re-joins.

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"plexus/graph"
	"plexus/node/api"
	"plexus/sdk/client"
)

func idsOf(p client.Page) []string {
	out := []string{}
	for _, m := range p.Messages {
		out = append(out, m.ID)
	}
	return out
}

func TestInboxIsDurableAndAcknowledged(t *testing.T) {
	dir := t.TempDir()
	n := open(t, dir)
	ann, _ := register(t, n, "ann")
	_, bobID := register(t, n, "bob")
	one, two := join(t, ann, "one"), join(t, ann, "two")
	var want []string
	for i := range 10 {
		space := []string{one, two}[i%2]
		m, err := ann.Send(t.Context(), space, client.SendMessage{Content: content(fmt.Sprint(i)), Refs: &client.Ref{Nodes: []string{bobID}}})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, m.ID)
	}
	other := say(t, ann, one, "not bob's")
	check := func(what string, after string, limit int, unacked bool, want []string) {
		t.Helper()
		p, err := n.Inbox(t.Context(), bobID, after, limit, unacked)
		if err != nil || !slices.Equal(idsOf(p), want) {
			t.Errorf("%s: %v, %v, want %v", what, idsOf(p), err, want)
		}
		for _, m := range p.Messages {
			if m.SpaceID == "" {
				t.Errorf("%s: no space_id", what)
			}
		}
	}
	ack := func(ids ...string) {
		t.Helper()
		if err := n.Ack(t.Context(), bobID, ids); err != nil {
			t.Fatal(err)
		}
	}
	check("all", "", 0, false, want)
	check("the newest", "", 3, false, want[7:])
	check("after", want[2], 2, false, want[3:5])
	ack(want[0], want[1], want[4])
	ack(want[1])
	check("unacked", "", 0, true, []string{want[2], want[3], want[5], want[6], want[7], want[8], want[9]})
	check("the oldest unacked", "", 2, true, want[2:4])
	check("unacked after", want[3], 2, true, want[5:7])
	check("acknowledged ones are still there", "", 0, false, want)
	if err := n.Ack(t.Context(), bobID, []string{want[9], other.ID}); !errors.Is(err, graph.ErrNotFound) {
		t.Errorf("ack of what isn't in the inbox: %v", err)
	}
	if err := n.Ack(t.Context(), bobID, []string{"x"}); !errors.Is(err, graph.ErrNotFound) {
		t.Errorf("ack of nonsense: %v", err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	n = open(t, dir)
	check("after a restart, and an ack refused as a whole", "", 0, true, []string{want[2], want[3], want[5], want[6], want[7], want[8], want[9]})
	ack(want...)
	check("all acknowledged", "", 0, true, []string{})
	again, err := n.As(bobID)
	if err != nil {
		t.Fatal(err)
	}
	m, err := again.Send(t.Context(), one, client.SendMessage{Content: content("late"), Refs: &client.Ref{Nodes: []string{bobID}}})
	if err != nil {
		t.Fatal(err)
	}
	check("what comes later", "", 0, true, []string{m.ID})
	if _, err := n.Inbox(t.Context(), "x", "", 0, true); !errors.Is(err, graph.ErrNotFound) {
		t.Errorf("inbox of nobody: %v", err)
	}
}

func TestIdempotencyOverRestartsAndTime(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	clock := func(c *Config) { c.Now = func() time.Time { return now } }
	n := open(t, dir, clock)
	ann, id := register(t, n, "ann")
	space := join(t, ann, "plan")
	send := func(key, text string) (client.Message, error) {
		s, err := n.As(id)
		if err != nil {
			t.Fatal(err)
		}
		return s.Send(t.Context(), space, client.SendMessage{Content: content(text), IdempotencyKey: key})
	}
	first, err := send("k", "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	n = open(t, dir, clock)
	if m, err := send("k", "a"); err != nil || m.ID != first.ID {
		t.Errorf("after a restart: %s, %v", m.ID, err)
	}
	if _, err := send("k", "b"); !errors.Is(err, graph.ErrConflict) {
		t.Errorf("another body after a restart: %v", err)
	}
	now = now.Add(keepIdempotent - time.Second)
	if m, err := send("k", "a"); err != nil || m.ID != first.ID {
		t.Errorf("just before it expires: %s, %v", m.ID, err)
	}
	now = now.Add(time.Second)
	if m, err := send("k", "a"); err != nil || m.ID == first.ID {
		t.Errorf("expired, and still the same: %s, %v", m.ID, err)
	}
	for i := range 2 * pruneIdempotent {
		if _, err := send(fmt.Sprint(i), "x"); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(keepIdempotent + time.Second)
	for i := range 4 {
		if _, err := send(fmt.Sprint("late", i), "x"); err != nil {
			t.Fatal(err)
		}
	}
	left := 0
	for _, err := range n.rec.idem.Scan(nil, nil, false) {
		if err != nil {
			t.Fatal(err)
		}
		left++
	}
	if left != 4 {
		t.Errorf("%d keys are kept, want those of the last day: 4", left)
	}
	long := make([]byte, MaxKey+1)
	for i := range long {
		long[i] = 'k'
	}
	if _, err := send(string(long), "x"); !errors.Is(err, graph.ErrInvalid) {
		t.Errorf("a long key: %v", err)
	}
	if _, err := send(string(long[1:]), "x"); err != nil {
		t.Errorf("the longest key: %v", err)
	}
}

func TestUnchangedJoinWritesNothing(t *testing.T) {
	n := open(t, t.TempDir())
	ann, _ := register(t, n, "ann")
	in := client.SpaceCreate{Name: "plan", Description: "d", Tags: []string{"a"}}
	if _, err := ann.Space(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	before := n.log.Last()
	for _, same := range []client.SpaceCreate{in, {Name: " plan", Description: " d "}, {Name: "plan", Description: "d", Tags: []string{" a ", "a"}}} {
		if _, err := ann.Space(t.Context(), same); err != nil {
			t.Fatal(err)
		}
	}
	if after := n.log.Last(); after != before {
		t.Errorf("an unchanged re-join wrote %d records", after-before)
	}
	if _, err := ann.Space(t.Context(), client.SpaceCreate{Name: "plan", Description: "d", Tags: []string{"b"}}); err != nil || n.log.Last() == before {
		t.Errorf("a new tag wrote nothing: %v", err)
	}
	many := make([]string, MaxTags+1)
	for i := range many {
		many[i] = fmt.Sprint("t", i)
	}
	if _, err := ann.Space(t.Context(), client.SpaceCreate{Name: "other", Description: "d", Tags: many}); !errors.Is(err, graph.ErrInvalid) {
		t.Errorf("too many tags: %v", err)
	}
	if _, err := ann.Space(t.Context(), client.SpaceCreate{Name: "other", Description: "d", Tags: many[1:]}); err != nil {
		t.Errorf("as many tags as may be: %v", err)
	}
	for _, in := range []client.SpaceCreate{
		{Name: "third", Description: "d", Tags: []string{strings.Repeat("t", MaxTag+1)}},
		{Name: "third", Description: strings.Repeat("d", MaxDescription+1)},
	} {
		if _, err := ann.Space(t.Context(), in); !errors.Is(err, graph.ErrInvalid) {
			t.Errorf("over a bound: %v", err)
		}
	}
	longest := client.SpaceCreate{Name: "third", Description: strings.Repeat("d", MaxDescription), Tags: []string{strings.Repeat("t", MaxTag)}}
	if info, err := ann.Space(t.Context(), longest); err != nil || len(info.Tags) != 1 {
		t.Errorf("at the bounds: %v", err)
	}
	if spaces, err := n.Spaces(t.Context()); err != nil || len(spaces) != 3 || spaces[0].Name != "other" {
		t.Errorf("spaces: %d, %v", len(spaces), err)
	}
}

func TestFind(t *testing.T) {
	n := open(t, t.TempDir())
	ann, annID := register(t, n, "ann")
	bob, bobID := register(t, n, "bob")
	one, two := join(t, ann, "one"), join(t, bob, "two")
	a := say(t, ann, one, "a").ID
	b := reply(t, bob, one, a, annID)
	c := reply(t, ann, one, b, "")
	d := say(t, bob, two, "d").ID
	e := reply(t, ann, two, d, bobID)
	for _, tc := range []struct {
		name string
		q    client.FindQuery
		want []string
	}{
		{"everything", client.FindQuery{}, []string{a, b, c, d, e}},
		{"one space", client.FindQuery{SpaceID: two}, []string{d, e}},
		{"one message", client.FindQuery{MessageID: c}, []string{c}},
		{"one message elsewhere", client.FindQuery{MessageID: c, SpaceID: two}, nil},
		{"a sender", client.FindQuery{Sender: annID}, []string{a, c, e}},
		{"a node", client.FindQuery{NodeID: annID}, []string{a, b, c, e}},
		{"addressed", client.FindQuery{RefNode: annID}, []string{b}},
		{"addressed in a space", client.FindQuery{RefNode: bobID, SpaceID: two}, []string{e}},
		{"answers", client.FindQuery{RefMessage: a}, []string{b}},
		{"answers of one", client.FindQuery{RefMessage: a, Sender: annID}, nil},
		{"after", client.FindQuery{After: b, Limit: 2}, []string{c, d}},
		{"a sender after", client.FindQuery{Sender: annID, After: a, Limit: 1}, []string{c}},
		{"a sender's newest", client.FindQuery{Sender: annID, Limit: 2}, []string{c, e}},
		{"nonsense", client.FindQuery{MessageID: "x"}, nil},
		{"nobody", client.FindQuery{Sender: "x"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := n.Find(t.Context(), tc.q)
			if err != nil || !slices.Equal(idsOf(p), append([]string{}, tc.want...)) {
				t.Errorf("%v, %v, want %v", idsOf(p), err, tc.want)
			}
		})
	}
	if _, err := n.Find(t.Context(), client.FindQuery{SpaceID: "x"}); !errors.Is(err, graph.ErrNotFound) {
		t.Errorf("no space: %v", err)
	}
	if _, err := n.Find(t.Context(), client.FindQuery{After: "x"}); !errors.Is(err, graph.ErrInvalid) || err.Error() != "after: 'x' not found" {
		t.Errorf("no cursor: %v", err)
	}
}

// reply answers a message, and names a Node where one is given.
func reply(t *testing.T, s api.Service, space, to, node string) string {
	t.Helper()
	r := &client.Ref{Messages: []string{to}}
	if node != "" {
		r.Nodes = []string{node}
	}
	m, err := s.Send(t.Context(), space, client.SendMessage{Content: content("reply"), Refs: r})
	if err != nil {
		t.Fatal(err)
	}
	return m.ID
}
