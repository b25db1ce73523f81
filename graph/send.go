package graph

// This file holds the Space's door for what is about to be said: Send.

import (
	"context"
	"crypto/ed25519"
	"fmt"
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
	if err := ctx.Err(); err != nil {
		return Stored{}, err
	}
	s.mu.Lock()
	b := s.begin(NodeID{})
	done, err := b.send(key, d, payload, also)
	s.mu.Unlock()
	if err = s.finish(ctx, b, done, err); err != nil {
		return Stored{}, err
	}
	return b.result.New[0], nil
}

// send seals and commits. The caller holds the mutex.
func (b *batch) send(key ed25519.PrivateKey, d Draft, payload []byte, also func(*Entry) []Op) (done func() error, err error) {
	body, err := b.next(NodeIDOf(key), d)
	if err != nil {
		return nothing, err
	}
	body.Payload = payload
	e, err := Seal(body, key)
	if err != nil {
		return nothing, err
	}
	if err := b.offer(e, b.from); err != nil {
		return nothing, fmt.Errorf("send to space %s: %w", b.s.ID(), err)
	}
	if b.metas[e.id] == nil {
		return nothing, fmt.Errorf("send to space %s: own entry isn't admitted: %+v", b.s.ID(), b.result)
	}
	if also != nil {
		b.also = also(e)
	}
	if done, err = b.commit(); err != nil {
		return nothing, fmt.Errorf("send to space %s: %w", b.s.ID(), err)
	}
	return done, nil
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
	others := b.s.heads.others(id, d.Refs.Messages)
	for _, h := range others {
		body.Prev = append(body.Prev, h.ID)
		body.Time = max(body.Time, h.Time+1)
	}
	if body.Time > b.now+Time(MaxFuture.Microseconds()) {
		return Body{}, fmt.Errorf("the clock of this machine is behind space '%s' by more than %v; set it: %w", b.s.ID(), MaxFuture, ErrUnavailable)
	}
	return body, nil
}
