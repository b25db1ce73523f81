package node

// This file tests a host whose clock is hours off: it says so, sends nothing that would poison a chain, and goes on once
// its clock is set right.

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"plexus/graph"
	"plexus/sdk/client"
)

func TestWrongClock(t *testing.T) {
	for _, off := range []time.Duration{5 * time.Hour, -5 * time.Hour} {
		t.Run(off.String(), func(t *testing.T) { t.Parallel(); wrongClock(t, off) })
	}
}

func wrongClock(t *testing.T, off time.Duration) {
	var skew atomic.Int64
	a := open(t, t.TempDir(), withPeers)
	run(t, a)
	inv, err := a.Invite(t.Context(), client.InviteCreate{Uses: 3})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		n := open(t, t.TempDir(), withPeers)
		run(t, n)
		if _, err := joinSoon(t.Context(), n, inv.Ticket); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, t.TempDir(), withPeers, func(c *Config) {
		c.Now = func() time.Time { return time.Now().Add(time.Duration(skew.Load())) }
	})
	run(t, d)
	if _, err := joinSoon(t.Context(), d, inv.Ticket); err != nil {
		t.Fatal(err)
	}
	s, _ := register(t, d, "dora")
	space := join(t, s, "plan")
	say(t, s, space, "while the clock is right")

	skew.Store(int64(off))
	eventually(t, "three peers disagree with the clock", func() bool { return d.peers.ClockOff().Wrong() })
	st, err := d.Status(t.Context())
	if err != nil || !strings.Contains(st.ClockOff, "clock") {
		t.Errorf("status says %q of the clock, %v", st.ClockOff, err)
	}
	before := st.Spaces
	_, err = s.Send(t.Context(), space, client.SendMessage{Content: content("too early or too late")})
	if !errors.Is(err, graph.ErrUnavailable) || !strings.Contains(fmt.Sprint(err), "clock") {
		t.Errorf("a send by a wrong clock: %v, want unavailable that names the clock", err)
	}
	if st, err = d.Status(t.Context()); err != nil || fmt.Sprint(st.Spaces) != fmt.Sprint(before) {
		t.Errorf("the refused send wrote something: %v, before %v, %v", st.Spaces, before, err)
	}

	skew.Store(0)
	eventually(t, "the clock is right again", func() bool { return !d.peers.ClockOff().Wrong() })
	say(t, s, space, "set right")
}
