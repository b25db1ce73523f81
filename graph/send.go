package graph

// This file holds the Space's door for what is about to be said: Send.

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"sync"
)

// Send seals a Draft as the author's next entry (seq, prev, hybrid clock) and adds it; it returns when the entry
// is synced. also, where not nil, is called with the sealed entry inside the transaction and its ops are written with it; it
// mustn't call the Space.
//
// Errors: the payload's *InvalidError; ErrInvalid for a ref that isn't here (Field "refs.messages"); ErrForbidden
// where the author isn't known or may not write here. refs.nodes is checked by the caller, who knows the Nodes.
func (s *Space) Send(ctx context.Context, key ed25519.PrivateKey, d Draft, also func(*Entry) []Op) (Stored, error) {
	payload, err := d.EncodePayload()
	if err != nil {
		return Stored{}, err
	}
	x := &sending{ctx: ctx, key: key, draft: d, payload: payload, also: also, lead: make(chan bool, 1)}
	if s.line.join(x) || <-x.lead {
		s.sendAll(s.line.take())
	}
	if x.err != nil {
		return Stored{}, x.err
	}
	if err := x.synced(); err != nil {
		return Stored{}, err
	}
	return x.stored(), nil
}

// sending is one Send on its way. What is below lead is set before lead is told.
type sending struct {
	ctx     context.Context
	key     ed25519.PrivateKey
	draft   Draft
	payload []byte
	also    func(*Entry) []Op
	lead    chan bool // told once: true, write what waits; false, another has written this

	err    error
	stored func() Stored // once it is written
	synced func() error  // waits for the disk
}

// line is where sends wait while another one writes: those that wait are written together, in one transaction. The first of them leads
// and writes for all, so that no goroutine is woken only to wait for the mutex again.
type line struct {
	mu      sync.Mutex
	led     bool
	waiting []*sending
}

// join puts a send at the end; true: it leads.
func (l *line) join(x *sending) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, x)
	if l.led {
		return false
	}
	l.led = true
	return true
}

// take returns what one transaction takes; the leader's own is the first.
func (l *line) take() []*sending {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.waiting), sendBatch)
	taken := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	return taken
}

// pass makes the next one leader.
func (l *line) pass() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.led = len(l.waiting) > 0; l.led {
		l.waiting[0].lead <- true
	} else {
		l.waiting = nil
	}
}

// sendAll writes sends in one transaction. One that can't be sent has no part in it.
func (s *Space) sendAll(sends []*sending) {
	s.mu.Lock()
	b := s.begin(NodeID{})
	for _, x := range sends {
		x.err = b.send(x)
	}
	done, err := b.commit()
	s.mu.Unlock()
	s.line.pass()
	if err != nil {
		err = fmt.Errorf("send to space %s: %w", s.ID(), err)
	}
	synced := sync.OnceValue(func() error { return s.finish(context.Background(), b, done, err) })
	for i, x := range sends {
		x.synced = synced
		if i > 0 {
			x.lead <- false
		}
	}
}

// send seals one and puts it into the batch. The caller holds the mutex.
func (b *batch) send(x *sending) error {
	if err := x.ctx.Err(); err != nil {
		return err
	}
	body, err := b.next(NodeIDOf(x.key), x.draft)
	if err != nil {
		return err
	}
	body.Payload = x.payload
	e, err := Seal(body, x.key)
	if err != nil {
		return err
	}
	at := len(b.records)
	if err := b.offer(e, b.from); err != nil {
		b.fault = err // half of it may stand in the batch
		return fmt.Errorf("send to space %s: %w", b.s.ID(), err)
	}
	if b.metas[e.id] == nil {
		return fmt.Errorf("send to space %s: own entry isn't admitted: %+v", b.s.ID(), b.result)
	}
	if x.also != nil {
		b.also = append(b.also, x.also(e)...)
	}
	x.stored = func() Stored { return b.result.New[at] }
	return nil
}

// next makes the body of the author's next entry, but for the payload.
func (b *batch) next(id NodeID, d Draft) (Body, error) {
	a := b.author(id)
	if a == nil || !a.writes() {
		return Body{}, fmt.Errorf("%s may not write in space '%s'; ask an admin for a grant: %w", id, b.s.ID(), ErrForbidden)
	}
	body := Body{Kind: d.Kind, Space: b.s.ID(), Author: id, Seq: a.seq + 1, Time: b.now, Refs: d.Refs}
	if body.Kind == "" {
		body.Kind = KindMessage
	}
	body.Time = max(body.Time, a.time+1)
	for _, ref := range d.Refs.Messages {
		m, err := b.meta(ref)
		if err != nil {
			return Body{}, err
		}
		if m == nil || m.space != b.s.num || m.kind != kMessage || m.flags&visible == 0 {
			return Body{}, &InvalidError{
				Field: "refs.messages", Rule: RuleRefs, Detail: fmt.Sprintf("refs.messages: '%s' not found in space '%s'", ref, b.s.ID()),
			}
		}
		body.Time = max(body.Time, m.time+1)
	}
	if a.seq > 0 {
		body.Prev = []ID{a.id}
	}
	others := b.s.heads.others(id, d.Refs.Messages, b.heads)
	for _, h := range others {
		body.Prev = append(body.Prev, h.ID)
		body.Time = max(body.Time, h.Time+1)
	}
	if body.Time > b.now+Time(MaxFuture.Microseconds()) {
		return Body{}, fmt.Errorf("the clock of this machine is behind space '%s' by more than %v; set it: %w", b.s.ID(), MaxFuture, ErrUnavailable)
	}
	return body, nil
}
