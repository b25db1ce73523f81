// Package servicetest is the contract of api.Service as a test: whatever is one must pass it, be it a node or a client
// over HTTP. It is imported by tests alone.
package servicetest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"plexus/graph"
	"plexus/node/api"
	"plexus/sdk/client"
)

// World makes participants of one and the same node.
type World interface {
	// Node returns a fresh Node's operations and its ID. The description is the Node's own.
	Node(t testing.TB, name, description string) (api.Service, string)
}

// wait bounds what a test waits for.
const wait = 20 * time.Second

// Run runs every test of the contract; open makes a fresh world.
func Run(t *testing.T, open func(t testing.TB) World) {
	for _, tc := range []struct {
		name string
		test func(t *testing.T, w World)
	}{
		{"space", testSpace},
		{"space refusals", testSpaceRefusals},
		{"send", testSend},
		{"send refusals", testSendRefusals},
		{"send keeps bytes", testVerbatim},
		{"send once", testIdempotency},
		{"content_schema", testSchema},
		{"read precedence", testPrecedence},
		{"read related", testRelated},
		{"read pages", testPages},
		{"read canonical", testCanonical},
		{"read refusals", testReadRefusals},
		{"listen to a space", testListenSpace},
		{"listen resumes", testListenResumes},
		{"listen to a message", testListenMessage},
		{"listen to a branch", testListenBranch},
		{"listen to the inbox", testListenInbox},
		{"listen refusals", testListenRefusals},
		{"listen slowly", testListenSlowly},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, open(t)) })
	}
}

// member is a Node in the tests.
type member struct {
	api.Service
	t  testing.TB
	id string
}

func newMember(t testing.TB, w World, name string) member {
	t.Helper()
	s, id := w.Node(t, name, name+" at work")
	return member{s, t, id}
}

func (m member) join(name string) string {
	m.t.Helper()
	info, err := m.Space(m.t.Context(), client.SpaceCreate{Name: name, Description: "here"})
	if err != nil {
		m.t.Fatal(err)
	}
	return info.ID
}

func text(s string) json.RawMessage {
	b, err := json.Marshal(map[string]string{"text": s})
	if err != nil {
		panic(err)
	}
	return b
}

// says sends a text; refs are message IDs, and Node IDs.
func (m member) says(space, s string, refs ...string) string {
	m.t.Helper()
	msg, err := m.Send(m.t.Context(), space, client.SendMessage{Content: text(s), Refs: refsOf(refs)})
	if err != nil {
		m.t.Fatal(err)
	}
	return msg.ID
}

func refsOf(ids []string) *client.Ref {
	if len(ids) == 0 {
		return nil
	}
	r := &client.Ref{}
	for _, id := range ids {
		if strings.HasPrefix(id, "12D3KooW") {
			r.Nodes = append(r.Nodes, id)
		} else {
			r.Messages = append(r.Messages, id)
		}
	}
	return r
}

func (m member) read(q client.ReadQuery) client.Page {
	m.t.Helper()
	p, err := m.Read(m.t.Context(), q)
	if err != nil {
		m.t.Fatal(err)
	}
	return p
}

func ids(p client.Page) []string {
	out := []string{}
	for _, m := range p.Messages {
		out = append(out, m.ID)
	}
	return out
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// refused checks an error's code and words.
func refused(t testing.TB, err error, code, detail string) {
	t.Helper()
	if err == nil {
		t.Fatalf("nothing was refused; want %s: %s", code, detail)
	}
	if got := codeOf(err); got != code {
		t.Errorf("%v: code %s, want %s", err, got, code)
	}
	if !strings.Contains(err.Error(), detail) {
		t.Errorf("error %q doesn't say %q", err, detail)
	}
}

func codeOf(err error) string {
	var c *client.Error
	if errors.As(err, &c) {
		return c.Code
	}
	for _, k := range []error{graph.ErrInvalid, graph.ErrNotFound, graph.ErrConflict, graph.ErrForbidden, graph.ErrTooLarge, graph.ErrUnauthorized, graph.ErrUnavailable} {
		if errors.Is(err, k) {
			return k.Error()
		}
	}
	return "internal"
}

// listener reads a stream in the background.
type listener struct {
	t      testing.TB
	events chan client.Event
	failed chan error
	cancel context.CancelFunc
}

func (m member) listen(q client.ListenQuery) *listener {
	ctx, cancel := context.WithCancel(context.Background())
	l := &listener{t: m.t, events: make(chan client.Event), failed: make(chan error, 1), cancel: cancel}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ev, err := range m.Listen(ctx, q) {
			if err != nil {
				l.failed <- err
				return
			}
			select {
			case l.events <- ev:
			case <-ctx.Done():
				return
			}
		}
	}()
	m.t.Cleanup(func() {
		cancel()
		<-done
	})
	return l
}

// next waits for an event of a type about a message.
func (l *listener) next(kind, id string) client.Message {
	l.t.Helper()
	select {
	case ev := <-l.events:
		if ev.Type != kind || ev.Message.ID != id {
			l.t.Fatalf("event %s of %s %s, want %s of %s", ev.Type, ev.Message.ID, ev.Message.Content, kind, id)
		}
		return ev.Message
	case err := <-l.failed:
		l.t.Fatal(err)
	case <-time.After(wait):
		l.t.Fatalf("no event; want %s of %s", kind, id)
	}
	return client.Message{}
}

func (l *listener) fails(code, detail string) {
	l.t.Helper()
	select {
	case ev := <-l.events:
		l.t.Fatalf("event %+v, want an error", ev)
	case err := <-l.failed:
		refused(l.t, err, code, detail)
	case <-time.After(wait):
		l.t.Fatal("no error")
	}
}
