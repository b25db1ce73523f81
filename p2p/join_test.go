package p2p_test

// This file holds the ways in: which tickets open, and what each other one is told.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"plexus/graph"
	"plexus/graph/access"
	"plexus/internal/sim"
	"plexus/p2p"
)

func say(t *testing.T, m *sim.Machine, d graph.Draft) {
	t.Helper()
	net, err := m.Log.Space(m.Network().ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := net.Send(t.Context(), m.Key, d, nil); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
}

func invite(t *testing.T, m *sim.Machine, role string, uses int, expires time.Time) (ticket string, hash access.Hash) {
	t.Helper()
	ticket, id, err := m.Host.Invite(t.Context(), role, uses, expires)
	if err != nil {
		t.Fatal(err)
	}
	hash, err = access.ParseHash(id)
	if err != nil {
		t.Fatal(err)
	}
	return ticket, hash
}

func TestJoinRefusals(t *testing.T) {
	soon := func() time.Time { return time.Now().Add(time.Hour) }
	tests := []struct {
		name   string
		ticket func(t *testing.T, a, b *sim.Machine) string
		want   error
		is     error // graph's sentinel
	}{
		{"good", func(t *testing.T, a, b *sim.Machine) string { return a.Invite("reader", 1) }, nil, nil},
		{"never expires", func(t *testing.T, a, b *sim.Machine) string {
			s, _ := invite(t, a, "reader", 1, time.Time{})
			time.Sleep(3 * time.Hour)
			return s
		}, nil, nil},
		{"typo", func(t *testing.T, a, b *sim.Machine) string {
			s := a.Invite("writer", 1)
			return s[:50] + map[bool]string{true: "q", false: "p"}[s[50] != 'q'] + s[51:]
		}, p2p.ErrTicket, graph.ErrInvalid},
		{"its own", func(t *testing.T, a, b *sim.Machine) string { return b.Invite("writer", 1) }, graph.ErrInvalid, graph.ErrInvalid},
		{"expired", func(t *testing.T, a, b *sim.Machine) string {
			s, _ := invite(t, a, "writer", 1, soon())
			time.Sleep(61 * time.Minute)
			return s
		}, p2p.ErrTicketExpired, graph.ErrForbidden},
		{"used up", func(t *testing.T, a, b *sim.Machine) string {
			s, h := invite(t, a, "writer", 1, soon())
			say(t, a, access.Grant(graph.NodeID{1}, access.Writer, &h))
			return s
		}, p2p.ErrTicketUsedUp, graph.ErrForbidden},
		{"revoked", func(t *testing.T, a, b *sim.Machine) string {
			s, h := invite(t, a, "writer", 1, soon())
			say(t, a, access.Uninvite(h))
			return s
		}, p2p.ErrTicketRevoked, graph.ErrForbidden},
		{"of another network", func(t *testing.T, a, b *sim.Machine) string {
			in, err := p2p.ParseTicket(a.Invite("writer", 1))
			if err != nil {
				t.Fatal(err)
			}
			in.Network = graph.BlockID([]byte("elsewhere"))
			return in.String()
		}, p2p.ErrTicketUnknown, graph.ErrForbidden},
		{"made up", func(t *testing.T, a, b *sim.Machine) string {
			in, err := p2p.ParseTicket(a.Invite("writer", 1))
			if err != nil {
				t.Fatal(err)
			}
			in.Secret[0]++
			return in.String()
		}, p2p.ErrTicketUnknown, graph.ErrForbidden},
		{"of a host that is off", func(t *testing.T, a, b *sim.Machine) string {
			s := a.Invite("writer", 1)
			a.Stop()
			return s
		}, p2p.ErrUnreachable, graph.ErrUnavailable},
		{"for a key that was revoked", func(t *testing.T, a, b *sim.Machine) string {
			say(t, a, access.Grant(b.ID(), access.Writer, nil))
			say(t, a, access.Revoke(b.ID(), nil))
			return a.Invite("writer", 1)
		}, p2p.ErrUnreachable, graph.ErrUnavailable}, // shut out at the transport
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := sim.New(t, sim.Options{})
				a, b := w.Machine("a", nil), w.Machine("b", nil)
				a.Start()
				b.Start()
				ticket := tt.ticket(t, a, b)
				before := len(b.Log.Spaces())
				res, err := b.Join(ticket)
				if !errors.Is(err, tt.want) || tt.is != nil && !errors.Is(err, tt.is) {
					t.Fatalf("got %+v, %v; want %v", res, err, tt.want)
				}
				if tt.want == nil {
					if res.Role != "reader" || res.Network.ID != a.Network().ID {
						t.Errorf("got %+v", res)
					}
					return
				}
				if n := len(b.Log.Spaces()); n != before {
					t.Errorf("%d Spaces after a join that failed, want %d", n, before)
				}
			})
		})
	}
}

func TestInviteRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		m := network(t, w, 2)
		soon := time.Now().Add(time.Hour)
		tests := []struct {
			name    string
			at      *sim.Machine
			role    string
			uses    int
			expires time.Time
			want    error
		}{
			{"a writer invites", m[1], "writer", 1, soon, graph.ErrForbidden},
			{"no such role", m[0], "boss", 1, soon, graph.ErrInvalid},
			{"no uses", m[0], "writer", 0, soon, graph.ErrInvalid},
			{"as many uses as may be", m[0], "writer", 10_000, soon, nil},
			{"too many uses", m[0], "writer", 10_001, soon, graph.ErrInvalid},
			{"expired already", m[0], "writer", 1, time.Now(), graph.ErrInvalid},
		}
		for _, tt := range tests {
			ticket, id, err := tt.at.Host.Invite(t.Context(), tt.role, tt.uses, tt.expires)
			if !errors.Is(err, tt.want) || (err == nil) != (ticket != "" && id != "") {
				t.Errorf("%s: %q, %q, %v; want %v", tt.name, ticket, id, err, tt.want)
			}
		}
	})
}

func TestTicketForThreeIsUsedThreeTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		a := w.Machine("a", nil)
		a.Start()
		ticket := a.Invite("writer", 3)
		var mu sync.Mutex
		in, full := 0, 0
		var wg sync.WaitGroup
		for i := range 5 {
			b := w.Machine(fmt.Sprint("b", i), nil)
			b.Start()
			wg.Go(func() {
				_, err := b.Host.Join(t.Context(), ticket)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					in++
				case errors.Is(err, p2p.ErrTicketUsedUp):
					full++
				default:
					t.Errorf("b%d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if in != 3 || full != 2 {
			t.Errorf("%d came in and %d were told it is used up, want 3 and 2", in, full)
		}
	})
}

func TestJoinAgainUsesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		a, b, c := w.Machine("a", nil), w.Machine("b", nil), w.Machine("c", nil)
		for _, m := range []*sim.Machine{a, b, c} {
			m.Start()
		}
		ticket := a.Invite("writer", 2)
		for range 3 {
			if _, err := b.Join(ticket); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		if _, err := c.Join(ticket); err != nil {
			t.Errorf("c: %v", err)
		}
	})
}

// TestAnotherAdminLetsIn: the invite is in the log, so the one who made the ticket needn't be there.
func TestAnotherAdminLetsIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		a, b, c := w.Machine("a", nil), w.Machine("b", nil), w.Machine("c", nil)
		for _, m := range []*sim.Machine{a, b, c} {
			m.Start()
		}
		if _, err := b.Join(a.Invite("admin", 1)); err != nil {
			t.Fatal(err)
		}
		ticket := a.Invite("writer", 1)
		time.Sleep(time.Minute)
		a.Stop()
		in, err := p2p.ParseTicket(ticket)
		if err != nil {
			t.Fatal(err)
		}
		in.Inviter, in.Addrs = b.ID(), b.Peer().Addrs
		if _, err := c.Join(in.String()); err != nil {
			t.Fatal(err)
		}
		b.Say("tea", "welcome")
		w.Equal(time.Minute, "tea", b, c)
		a.Start()
		w.Equal(time.Minute, "tea", a, b, c)
	})
}

func TestJoinsAreRateLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		a, b := w.Machine("a", nil), w.Machine("b", nil)
		a.Start()
		b.Start()
		in, err := p2p.ParseTicket(a.Invite("writer", 1))
		if err != nil {
			t.Fatal(err)
		}
		in.Secret[0]++
		unknown, busy := 0, 0
		for range 100 {
			_, err := b.Host.Join(t.Context(), in.String())
			switch {
			case errors.Is(err, p2p.ErrTicketUnknown):
				unknown++
			case errors.Is(err, p2p.ErrBusy):
				busy++
			default:
				t.Fatal(err)
			}
		}
		if unknown > 40 || busy < 60 {
			t.Errorf("%d attempts looked at and %d put off, want at most 40", unknown, busy)
		}
		time.Sleep(10 * time.Minute)
		enter(t, b, a)
	})
}

func TestJoinWhileNotRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		a, b := w.Machine("a", nil), w.Machine("b", nil)
		a.Start()
		h := b.Idle()
		defer h.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := h.Join(ctx, a.Invite("writer", 1)); !errors.Is(err, graph.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
	})
}
