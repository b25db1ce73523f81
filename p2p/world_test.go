package p2p_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"plexus/internal/sim"
)

// network makes n machines in the first one's Network, started.
func network(t *testing.T, w *sim.World, n int) []*sim.Machine {
	t.Helper()
	out := make([]*sim.Machine, n)
	for i := range out {
		out[i] = w.Machine(fmt.Sprintf("m%d", i), nil)
		out[i].Start()
		if i == 0 {
			continue
		}
		res, err := out[i].Join(out[0].Invite("writer", 1))
		if err != nil {
			t.Fatalf("m%d joins: %v", i, err)
		}
		if res.Network.ID != out[0].Network().ID || res.Role != "writer" || res.Inviter != out[0].ID() {
			t.Fatalf("m%d joins: %+v", i, res)
		}
	}
	return out
}

func TestTwoMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		m := network(t, w, 2)
		m[0].Say("tea", "hello")
		w.Equal(10*time.Second, "tea", m...)
		m[1].Say("tea", "hello yourself")
		w.Equal(10*time.Second, "tea", m...)
		if n := m[0].Space("tea").Count(); n != 2 {
			t.Errorf("m0 sees %d messages, want 2", n)
		}
	})
}
