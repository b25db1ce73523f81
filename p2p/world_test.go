package p2p_test

// This file holds what a network of hosts must do: meet, talk, part, merge, in virtual time.

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"plexus/graph"
	"plexus/graph/access"
	"plexus/internal/sim"
	"plexus/p2p"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// network makes n machines in the first one's Network, started.
func network(t *testing.T, w *sim.World, n int) []*sim.Machine {
	t.Helper()
	out := make([]*sim.Machine, n)
	for i := range out {
		out[i] = w.Machine(fmt.Sprintf("m%d", i), nil)
		out[i].Start()
		if i > 0 {
			enter(t, out[i], out[0])
		}
	}
	return out
}

func enter(t *testing.T, m, inviter *sim.Machine) {
	t.Helper()
	res, err := m.Join(inviter.Invite("writer", 1))
	if err != nil {
		t.Fatalf("%s joins: %v", m.Name, err)
	}
	if res.Network.ID != inviter.Network().ID || res.Role != "writer" || res.Inviter != inviter.ID() {
		t.Fatalf("%s joins: %+v", m.Name, res)
	}
}

func TestTwoMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		m := network(t, w, 2)
		m[0].Say("tea", "hello")
		w.Equal(10*time.Second, "tea", m...)
		m[1].Say("tea", "hello yourself")
		w.Equal(time.Second, "tea", m...) // by gossip
		if n := m[0].Space("tea").Count(); n != 2 {
			t.Errorf("m0 sees %d messages, want 2", n)
		}
		time.Sleep(time.Minute)
		for _, x := range m {
			ps := x.Host.Peers()
			if len(ps) != 1 || !ps[0].Connected || !ps[0].InSync || ps[0].LastSeen.IsZero() || ps[0].Latency <= 0 || ps[0].ClockOff.Abs() > time.Second {
				t.Errorf("%s sees %+v", x.Name, ps)
			}
		}
	})
}

func TestFiveInAPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		m := network(t, w, 5)
		m[0].Say("tea", "before")
		w.Equal(time.Minute, "tea", m...)
		for round := range 3 {
			w.Cut(1, m[3], m[4])
			for i := range 40 {
				m[i%5].Say("tea", fmt.Sprintf("round %d, %d", round, i))
				time.Sleep(500 * time.Millisecond)
			}
			w.Equal(time.Minute, "tea", m[:3]...)
			w.Equal(time.Minute, "tea", m[3:]...)
			time.Sleep(3 * time.Minute)
			w.Heal()
			w.Equal(6*time.Minute, "tea", m...)
		}
		if n := m[4].Space("tea").Count(); n != 121 {
			t.Errorf("m4 sees %d messages, want 121", n)
		}
	})
}

func TestStatusOfAPeerThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		m := network(t, w, 2)
		m[0].Say("tea", "before")
		w.Equal(time.Minute, "tea", m...)
		time.Sleep(time.Minute)
		m[1].Stop()
		for i := range 7 {
			m[0].Say("tea", fmt.Sprint(i))
		}
		time.Sleep(time.Minute)
		ps := m[0].Host.Peers()
		if len(ps) != 1 || ps[0].Connected || ps[0].InSync || len(ps[0].Differ) != 1 || ps[0].Differ[0].Ahead != 7 || ps[0].Differ[0].Missing != 0 {
			t.Errorf("m0 sees %+v, want it ahead by 7", ps)
		}
		m[1].Start()
		w.Equal(5*time.Minute, "tea", m...)
	})
}

func TestLateJoiner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		m := network(t, w, 3)
		for i := range 300 {
			m[i%3].Say([]string{"tea", "cake"}[i%2], fmt.Sprint(i))
		}
		w.Equal(time.Minute, "tea", m...)
		w.Equal(time.Minute, "cake", m...)
		m[0].Stop() // the inviter isn't needed any more once the grant is out
		late := w.Machine("late", nil)
		late.Start()
		m[0].Start()
		enter(t, late, m[0])
		all := append(m, late)
		w.Equal(time.Minute, "tea", all...)
		w.Equal(time.Minute, "cake", all...)
		time.Sleep(2 * time.Minute) // it meets the others by the inviter's records
		if ps := late.Host.Peers(); len(ps) != 3 || !ps[0].Connected || !ps[1].Connected || !ps[2].Connected {
			t.Errorf("late sees %+v, want three connected", ps)
		}
	})
}

func TestChurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		m := network(t, w, 4)
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 0))
		for i := range 60 {
			x := m[r.IntN(len(m))]
			switch r.IntN(4) {
			case 0:
				if x.Host != nil {
					x.Stop()
				} else {
					x.Start()
				}
			default:
				for range 1 + r.IntN(10) {
					x.Say("tea", fmt.Sprint(i, r.Uint64()))
				}
			}
			time.Sleep(time.Duration(r.IntN(20)) * time.Second)
		}
		for _, x := range m {
			if x.Host == nil {
				x.Start()
			}
		}
		w.Equal(10*time.Minute, "tea", m...)
	})
}

// TestCrashedPeerIsBack has a machine crash and start again before the others know that it was gone: what is said next reaches it by
// gossip, or by a comparison at once, and doesn't wait for the timer.
func TestCrashedPeerIsBack(t *testing.T) {
	for i, away := range []time.Duration{0, 0, 100 * time.Millisecond, time.Second, 5 * time.Second, 20 * time.Second} {
		port := 8000 + i // the first time the same as before
		t.Run(fmt.Sprint(port, " after ", away), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := sim.New(t, sim.Options{})
				m := network(t, w, 3)
				m[0].Say("tea", "before")
				w.Equal(time.Minute, "tea", m...)
				time.Sleep(time.Minute)
				m[1].Crash(port)
				time.Sleep(away)
				m[1].Start()
				time.Sleep(2 * time.Second)
				for i := range 5 {
					m[0].Say("tea", fmt.Sprint("after ", i))
					w.Equal(10*time.Second, "tea", m...)
					time.Sleep(3 * time.Second)
				}
			})
		})
	}
}

func TestOffline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		m := network(t, w, 2)
		m[0].Say("tea", "before")
		w.Equal(time.Minute, "tea", m...)
		m[0].Host.SetOffline(true)
		time.Sleep(10 * time.Minute)
		m[0].Say("tea", "alone")
		m[1].Say("tea", "alone too")
		if m[0].Host.Peers()[0].Connected || !m[0].Host.Offline() {
			t.Error("connected while offline")
		}
		away := w.Machine("away", nil)
		away.Start()
		if _, err := m[0].Host.Join(t.Context(), away.Invite("writer", 1)); !errors.Is(err, graph.ErrUnavailable) {
			t.Errorf("join while offline: %v", err)
		}
		m[0].Host.SetOffline(false)
		w.Equal(20*time.Second, "tea", m...)
	})
}

func TestRevokedIsShutOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		m := network(t, w, 3)
		m[0].Say("tea", "before")
		w.Equal(time.Minute, "tea", m...)
		net, err := m[0].Log.Space(m[0].Network().ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := net.Send(t.Context(), m[0].Key, access.Revoke(m[2].ID(), nil), nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		for _, x := range m[:2] {
			for _, p := range x.Host.Peers() {
				if p.ID == m[2].ID() {
					t.Errorf("%s still has the revoked host: %+v", x.Name, p)
				}
			}
		}
		m[0].Say("tea", "after")
		w.Equal(time.Minute, "tea", m[:2]...)
		time.Sleep(10 * time.Minute)
		if n := m[2].Space("tea").Count(); n != 1 {
			t.Errorf("the revoked host has %d messages, want 1", n)
		}
		if _, err := m[2].Host.Join(t.Context(), m[0].Invite("writer", 1)); !errors.Is(err, p2p.ErrUnreachable) && !errors.Is(err, p2p.ErrShutOut) {
			t.Errorf("the revoked host joins again: %v", err)
		}
	})
}

func TestForksConverge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		m := network(t, w, 3)
		m[0].Say("tea", "before")
		w.Equal(time.Minute, "tea", m...)
		w.Cut(1, m[2])
		time.Sleep(2 * time.Minute)
		// m1's key speaks on both sides of the line: a restored backup.
		for i := range 3 {
			m[1].Say("tea", fmt.Sprint("here ", i))
			d := graph.Draft{Content: []byte(fmt.Sprintf(`{"text":"there %d"}`, i))}
			if _, err := m[2].Space("tea").Send(t.Context(), m[1].Key, d, nil); err != nil {
				t.Fatal(err)
			}
		}
		w.Heal()
		w.Equal(5*time.Minute, "tea", m...)
		if n := m[0].Space("tea").Count(); n != 7 {
			t.Errorf("m0 sees %d messages, want 7", n)
		}
		if f := m[0].Space("tea").Forks(); len(f) != 1 || f[0] != m[1].ID() {
			t.Errorf("forks %v, want m1's", f)
		}
	})
}

// TestFirstWordsInANewSpace: both make the Space at once, and what is said before gossip's mesh stands doesn't wait
// for the timer.
func TestFirstWordsInANewSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		m := network(t, w, 3)
		time.Sleep(time.Minute)
		for i := range 5 {
			name := fmt.Sprint("plan", i)
			for _, x := range m {
				x.Space(name)
			}
			time.Sleep(time.Duration(i) * 300 * time.Millisecond)
			m[0].Say(name, "from m0")
			w.Equal(200*time.Millisecond, name, m...)
		}
	})
}

// TestAwayForDays: after hundreds of dials in vain, one that can succeed does.
func TestAwayForDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		m := network(t, w, 2)
		m[0].Say("tea", "before")
		w.Equal(time.Minute, "tea", m...)
		w.Cut(1, m[1])
		time.Sleep(20 * time.Hour)
		m[0].Say("tea", "after")
		w.Heal()
		w.Equal(8*time.Minute, "tea", m...)
	})
}
