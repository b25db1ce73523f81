package servicetest

// This file tests Read and Listen.

import (
	"fmt"
	"testing"
	"time"

	"plexus/graph"
	"plexus/sdk/client"
)

func testPrecedence(t *testing.T, w World) {
	ann, bob := newMember(t, w, "ann"), newMember(t, w, "bob")
	space := ann.join("plan")
	root := ann.says(space, "root")
	toBob := ann.says(space, "to bob", root, bob.id)
	reply := ann.says(space, "reply", root)
	own := bob.says(space, "bob's root")
	ownToSelf := bob.says(space, "to myself", bob.id)

	same(t, "all", ids(bob.read(client.ReadQuery{SpaceID: space, All: true})), []string{root, toBob, reply, own, ownToSelf})
	same(t, "what concerns bob", ids(bob.read(client.ReadQuery{SpaceID: space})), []string{root, toBob})
	same(t, "what concerns ann", ids(ann.read(client.ReadQuery{SpaceID: space})), []string{own})
	same(t, "message_id before all", ids(bob.read(client.ReadQuery{SpaceID: space, MessageID: reply, All: true})), []string{root, reply})
	for _, m := range bob.read(client.ReadQuery{SpaceID: space, All: true}).Messages {
		if m.SpaceID != "" {
			t.Error("space_id in an answer about one Space")
		}
	}
}

func testRelated(t *testing.T, w World) {
	ann := newMember(t, w, "ann")
	space := ann.join("plan")
	a := ann.says(space, "a")
	b := ann.says(space, "b", a)
	sibling := ann.says(space, "sibling", a)
	c := ann.says(space, "c", b)
	d := ann.says(space, "d", c, sibling)
	ann.says(space, "apart")

	same(t, "both", ids(ann.read(client.ReadQuery{SpaceID: space, MessageID: b})), []string{a, b, c, d})
	same(t, "upstream", ids(ann.read(client.ReadQuery{SpaceID: space, MessageID: d, Direction: "upstream"})), []string{a, b, sibling, c, d})
	same(t, "downstream", ids(ann.read(client.ReadQuery{SpaceID: space, MessageID: b, Direction: "downstream"})), []string{b, c, d})
	same(t, "the newest two", ids(ann.read(client.ReadQuery{SpaceID: space, MessageID: b, Limit: 2})), []string{c, d})
	same(t, "after", ids(ann.read(client.ReadQuery{SpaceID: space, MessageID: b, After: a, Limit: 2})), []string{b, c})
}

func testPages(t *testing.T, w World) {
	ann, bob := newMember(t, w, "ann"), newMember(t, w, "bob")
	space := ann.join("plan")
	var want []string
	for i := range 10 {
		want = append(want, ann.says(space, fmt.Sprint(i)))
	}
	p := ann.read(client.ReadQuery{SpaceID: space, All: true, Limit: 3})
	same(t, "the newest", ids(p), want[7:])
	p = ann.read(client.ReadQuery{SpaceID: space, All: true, After: want[1], Limit: 3})
	same(t, "after", ids(p), want[2:5])
	if p.Next != want[4] {
		t.Errorf("next is %s, want %s", p.Next, want[4])
	}
	var got []string
	q := client.ReadQuery{SpaceID: space, After: want[0], Limit: 4}
	for {
		p := bob.read(q)
		got = append(got, ids(p)...)
		if p.Next == "" {
			break
		}
		q.After = p.Next
	}
	same(t, "page by page", got, want[1:])
	if p := ann.read(client.ReadQuery{SpaceID: space, All: true, After: want[9]}); len(p.Messages) != 0 || p.Messages == nil || p.Next != "" {
		t.Errorf("after the last: %+v", p)
	}
}

func testCanonical(t *testing.T, w World) {
	ann := newMember(t, w, "ann")
	space := ann.join("plan")
	var want []string
	for i := range 5 {
		want = append(want, ann.says(space, fmt.Sprint(i)))
	}
	p := ann.read(client.ReadQuery{SpaceID: space, All: true, Order: "canonical", Limit: 2})
	same(t, "from the oldest", ids(p), want[:2])
	p = ann.read(client.ReadQuery{SpaceID: space, All: true, Order: "canonical", After: p.Next})
	same(t, "and on", ids(p), want[2:])
	if p.Next != "" {
		t.Errorf("next after the last: %s", p.Next)
	}
}

func testReadRefusals(t *testing.T, w World) {
	ann := newMember(t, w, "ann")
	space, other := ann.join("plan"), ann.join("elsewhere")
	foreign := ann.says(other, "not here")
	for _, tc := range []struct {
		name         string
		q            client.ReadQuery
		code, detail string
	}{
		{"no space", client.ReadQuery{SpaceID: "x"}, "not_found", "Space 'x' not found"},
		{"no message", client.ReadQuery{SpaceID: space, MessageID: "x"}, "not_found", "Message 'x' not found in space '" + space + "'"},
		{"another space's", client.ReadQuery{SpaceID: space, MessageID: foreign}, "not_found", "Message '" + foreign + "' not found in space '" + space + "'"},
		{"direction", client.ReadQuery{SpaceID: space, Direction: "up"}, "invalid_input", "direction must be 'upstream' or 'downstream'"},
		{"limit", client.ReadQuery{SpaceID: space, Limit: -1}, "invalid_input", "limit must be greater than 0"},
		{"after", client.ReadQuery{SpaceID: space, After: "x"}, "invalid_input", "after: 'x' not found in space '" + space + "'"},
		{"another space's cursor", client.ReadQuery{SpaceID: space, All: true, After: foreign}, "invalid_input", "after: '" + foreign + "' not found in space '" + space + "'"},
		{"order", client.ReadQuery{SpaceID: space, All: true, Order: "up"}, "invalid_input", "order must be 'canonical'"},
		{"canonical after", client.ReadQuery{SpaceID: space, All: true, Order: "canonical", After: foreign}, "invalid_input", "after:"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ann.Read(t.Context(), tc.q)
			refused(t, err, tc.code, tc.detail)
		})
	}
}

func testListenSpace(t *testing.T, w World) {
	ann := newMember(t, w, "ann")
	space, other := ann.join("plan"), ann.join("elsewhere")
	first := ann.says(space, "first")
	l := ann.listen(client.ListenQuery{SpaceID: space, FromStart: true})
	l.next("message", first)
	ann.says(other, "not here")
	second := ann.says(space, "second")
	if m := l.next("message", second); m.Sender != ann.id || m.SpaceID != "" {
		t.Errorf("message: %+v", m)
	}
}

func testListenResumes(t *testing.T, w World) {
	ann := newMember(t, w, "ann")
	space := ann.join("plan")
	var want []string
	for i := range 5 {
		want = append(want, ann.says(space, fmt.Sprint(i)))
	}
	l := ann.listen(client.ListenQuery{SpaceID: space, After: want[1]})
	for _, id := range want[2:4] {
		l.next("message", id)
	}
	l.cancel()
	l = ann.listen(client.ListenQuery{SpaceID: space, After: want[3]})
	l.next("message", want[4])
	l.next("message", ann.says(space, "live"))
}

func testListenMessage(t *testing.T, w World) {
	ann := newMember(t, w, "ann")
	space := ann.join("plan")
	a := ann.says(space, "a")
	b := ann.says(space, "b", a)
	ann.says(space, "sibling", a)
	c := ann.says(space, "c", b)
	l := ann.listen(client.ListenQuery{SpaceID: space, MessageID: b, FromStart: true})
	l.next("message", a)
	l.next("message", b)
	l.next("message", c)
	ann.says(space, "apart")
	ann.says(space, "another sibling", a)
	l.next("message", ann.says(space, "d", c))
}

func testListenBranch(t *testing.T, w World) {
	ann := newMember(t, w, "ann")
	space := ann.join("plan")
	a := ann.says(space, "a")
	b := ann.says(space, "b", a)
	l := ann.listen(client.ListenQuery{SpaceID: space, Head: b, After: b})
	c := ann.says(space, "c", b)
	l.next("message", c)
	l.next("fork", ann.says(space, "fork of c", b))
	ann.says(space, "too far back", a)
	ann.says(space, "apart")
	d := ann.says(space, "d", c)
	l.next("message", d)
	l.cancel()
	deep := ann.listen(client.ListenQuery{SpaceID: space, Head: b, ForkDepth: 3, After: d})
	deep.next("fork", ann.says(space, "fork of b", a))
	deep.next("message", ann.says(space, "e", d))
}

func testListenInbox(t *testing.T, w World) {
	ann, bob := newMember(t, w, "ann"), newMember(t, w, "bob")
	one, two := ann.join("one"), ann.join("two")
	first := ann.says(one, "first", bob.id)
	ann.says(one, "not for bob")
	l := bob.listen(client.ListenQuery{Inbox: true, FromStart: true})
	if m := l.next("message", first); m.SpaceID != one {
		t.Errorf("space_id %q, want %s", m.SpaceID, one)
	}
	second := ann.says(two, "second", bob.id)
	if m := l.next("message", second); m.SpaceID != two {
		t.Errorf("space_id %q, want %s", m.SpaceID, two)
	}
	l.cancel()
	l = bob.listen(client.ListenQuery{Inbox: true, After: first})
	l.next("message", second)
}

func testListenRefusals(t *testing.T, w World) {
	ann := newMember(t, w, "ann")
	space := ann.join("plan")
	ann.listen(client.ListenQuery{SpaceID: "x", FromStart: true}).fails("not_found", "Space 'x' not found")
	ann.listen(client.ListenQuery{SpaceID: space, After: "x"}).fails("invalid_input", "after: 'x' not found in space '"+space+"'")
	ann.listen(client.ListenQuery{SpaceID: space, MessageID: "x", FromStart: true}).fails("not_found", "Message 'x' not found in space '"+space+"'")
	ann.listen(client.ListenQuery{SpaceID: space, Head: "x", FromStart: true}).fails("invalid_input", "head message not found: x")
	ann.listen(client.ListenQuery{Inbox: true, After: "x"}).fails("invalid_input", "after: 'x' not found")
}

// testListenSlowly stalls a reader while much more is sent than any buffer between holds, and across pages.
func testListenSlowly(t *testing.T, w World) {
	ann := newMember(t, w, "ann")
	space := ann.join("plan")
	l := ann.listen(client.ListenQuery{SpaceID: space, FromStart: true})
	want := make(chan string, 4*graph.MaxPage)
	senders := 16
	done := make(chan error, senders)
	for range senders {
		go func() {
			for i := range 100 {
				m, err := ann.Send(t.Context(), space, client.SendMessage{Content: text(fmt.Sprint(i))})
				if err != nil {
					done <- err
					return
				}
				want <- m.ID
			}
			done <- nil
		}()
	}
	for range senders {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	close(want)
	missing := map[string]bool{}
	for id := range want {
		missing[id] = true
	}
	deadline := time.After(2 * wait)
	for len(missing) > 0 {
		select {
		case ev := <-l.events:
			if !missing[ev.Message.ID] {
				t.Fatalf("event of %s, which wasn't sent or came twice", ev.Message.ID)
			}
			delete(missing, ev.Message.ID)
		case err := <-l.failed:
			t.Fatal(err)
		case <-deadline:
			t.Fatalf("%d of %d messages never came", len(missing), cap(want))
		}
	}
}
