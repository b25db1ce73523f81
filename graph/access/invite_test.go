package access

// This file tests invites: uses, expiry, taking back, and what a partition does to them.

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"plexus/graph"
)

func TestCheckInvite(t *testing.T) {
	h := Hash{7}
	now := time.UnixMicro(5_000_000)
	for _, tc := range []struct {
		name string
		do   func(w *world)
		says string // "" for valid
		kind error
	}{
		{"unknown", func(w *world) {}, "no invite", graph.ErrNotFound},
		{"valid", func(w *world) { w.says("f", NewInvite(h, Writer, 1, graph.TimeOf(now)+1)) }, "", nil},
		{"never expires", func(w *world) { w.says("f", NewInvite(h, Writer, 1, 0)) }, "", nil},
		{"expires now", func(w *world) { w.says("f", NewInvite(h, Writer, 1, graph.TimeOf(now))) }, "expired", graph.ErrForbidden},
		{"by a writer", func(w *world) {
			w.grant("f", "a", Writer)
			w.says("a", NewInvite(h, Writer, 1, 0))
		}, "no invite", graph.ErrNotFound},
		{"taken back", func(w *world) {
			w.says("f", NewInvite(h, Writer, 1, 0))
			w.says("f", Uninvite(h))
		}, "revoked", graph.ErrForbidden},
		{"taken back by one below", func(w *world) {
			w.grant("f", "a", Admin)
			w.says("f", NewInvite(h, Writer, 1, 0))
			w.says("a", Uninvite(h))
		}, "", nil},
		{"its author fired", func(w *world) {
			w.grant("f", "a", Admin)
			w.says("a", NewInvite(h, Writer, 1, 0))
			w.revoke("f", "a")
		}, "revoked", graph.ErrForbidden},
		{"used up", func(w *world) {
			w.says("f", NewInvite(h, Writer, 2, 0))
			w.says("f", Grant(w.id("a"), Writer, &h))
			w.says("f", Grant(w.id("a"), Writer, &h)) // again the same host: one use
			w.says("f", Grant(w.id("b"), Writer, &h))
		}, "used up (2 of 2)", graph.ErrForbidden},
		{"a void grant uses nothing", func(w *world) {
			w.says("f", NewInvite(h, Writer, 1, 0))
			w.says("x", Grant(w.id("a"), Writer, &h))
		}, "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, "f")
			tc.do(w)
			_, err := w.state().CheckInvite(h, now)
			if !errors.Is(err, tc.kind) || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v, want %q", err, tc.says)
			}
			sameInAnyOrder(t, w)
		})
	}
}

func TestOverUseAcrossAPartitionIsReported(t *testing.T) {
	w := newWorld(t, "f")
	h := Hash{7}
	w.grant("f", "a", Admin)
	w.says("f", NewInvite(h, Writer, 1, 0))
	w.says("f", Grant(w.id("b"), Writer, &h))
	w.says("a", Grant(w.id("c"), Writer, &h))
	i, err := w.state().Invite(h)
	if err != nil || i.Used != 2 || i.Over() != 1 {
		t.Errorf("invite %+v, %v", i, err)
	}
	w.wantRoles(map[string]Role{"b": Writer, "c": Writer})
	if got := w.state().Invites(); len(got) != 1 || got[0] != i {
		t.Errorf("invites %+v", got)
	}
}

func TestPolicy(t *testing.T) {
	w := newWorld(t, "f")
	if w.state().Policy() != nil {
		t.Error("a policy from nowhere")
	}
	w.grant("f", "a", Admin)
	w.says("f", SetPolicy(json.RawMessage(`{"v":1}`)))
	w.says("f", SetPolicy(json.RawMessage(`{"v":2}`)))
	w.says("a", SetPolicy(json.RawMessage(`{"v":3}`)))
	if got := string(w.state().Policy()); got != `{"v":2}` {
		t.Errorf("policy %s: want the last of the one nearest the root", got)
	}
}
