package p2p_test

// This file holds the peers that don't behave: outsiders, liars, babblers.

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/libp2p/go-libp2p"
	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/host"

	"plexus/internal/sim"
	"plexus/p2p"
)

// outsider is a libp2p host of no Plexus.
func outsider(t *testing.T, w *sim.World) host.Host {
	t.Helper()
	opts, _, listen := w.Transport()
	h, err := libp2p.New(append(opts, libp2p.ListenAddrStrings(listen))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func TestOutsiderHearsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		m := network(t, w, 2)
		m[0].Say("tea", "before")
		w.Equal(time.Minute, "tea", m...)
		out := outsider(t, w)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ps, err := pubsub.NewGossipSub(ctx, out, pubsub.WithMessageSignaturePolicy(pubsub.StrictNoSign), pubsub.WithNoAuthor())
		if err != nil {
			t.Fatal(err)
		}
		topic, err := ps.Join("/plexus/1/" + m[0].Space("tea").ID().String())
		if err != nil {
			t.Fatal(err)
		}
		sub, err := topic.Subscribe()
		if err != nil {
			t.Fatal(err)
		}
		heard := make(chan []byte, 100)
		go func() {
			for {
				msg, err := sub.Next(ctx)
				if err != nil {
					return
				}
				heard <- msg.Data
			}
		}()
		for i, x := range m {
			if err := out.Connect(ctx, x.Peer()); err != nil {
				t.Fatal(err)
			}
			x.Say("tea", fmt.Sprint("secret ", i))
		}
		for i := range 20 {
			m[i%2].Say("tea", fmt.Sprint(i))
			time.Sleep(time.Second)
			askRaw(t, out, m[i%2])
		}
		w.Equal(time.Minute, "tea", m...)
		cancel()
		if len(heard) > 0 {
			t.Errorf("an outsider heard %d blocks by gossip", len(heard))
		}
		if p := topic.ListPeers(); len(p) > 0 {
			t.Errorf("an outsider learned who is on the topic: %v", p)
		}
	})
}

// askRaw speaks the sync protocol's first frames as a member would, and expects not a byte.
func askRaw(t *testing.T, out host.Host, m *sim.Machine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := out.Connect(ctx, m.Peer()); err != nil {
		return // let go for not joining: good
	}
	s, err := out.NewStream(ctx, m.Peer().ID, "/plexus/sync/1.0.0")
	if err != nil {
		return
	}
	defer s.Reset()
	network, space := m.Network().ID, m.Space("tea").ID()
	for _, f := range []struct {
		kind byte
		body map[int]any
	}{
		{1, map[int]any{1: network[:], 2: time.Now().UnixMicro()}},
		{3, map[int]any{1: space[:]}},
		{4, map[int]any{}},
		{6, map[int]any{1: 0}},
	} {
		b, err := cbor.Marshal(f.body)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Write(append([]byte{0, 0, 0, byte(len(b)), f.kind}, b...)); err != nil {
			break
		}
	}
	if err := s.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return
	}
	if b, err := io.ReadAll(s); len(b) > 0 || err == nil && len(b) > 0 {
		t.Errorf("an outsider got %d bytes from %s: %x", len(b), m.Name, b)
	}
}

// liar makes two machines with different entries, the second of which doesn't run but answers with a lie.
func liar(t *testing.T, w *sim.World, lie p2p.Lie, set func(*p2p.Config)) (honest, liar *sim.Machine, end func()) {
	t.Helper()
	honest = w.Machine("honest", set)
	honest.Start()
	liar = w.Machine("liar", nil)
	liar.Start()
	enter(t, liar, honest)
	liar.Say("tea", "before")
	w.Equal(time.Minute, "tea", honest, liar)
	liar.Stop()
	for i := range 50 {
		honest.Say("tea", fmt.Sprint("honest ", i))
	}
	for i := range 30 {
		liar.Say("tea", fmt.Sprint("liar ", i))
	}
	h := liar.Idle()
	ctx, cancel := context.WithCancel(context.Background())
	h.Answer(ctx, lie)
	return honest, liar, func() {
		cancel()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestLiarsConverge(t *testing.T) {
	for name, lie := range map[string]p2p.Lie{"honest": p2p.Honest, "frontier": p2p.OurFrontier, "digest": p2p.OurDigest} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := sim.New(t, sim.Options{})
				a, b, end := liar(t, w, lie, func(c *p2p.Config) { c.AuditEvery = time.Minute })
				defer end()
				w.Equal(10*time.Minute, "tea", a, b)
			})
		})
	}
}

func TestBreachesAreShutOut(t *testing.T) {
	for name, lie := range map[string]p2p.Lie{"garbage": p2p.Garbage, "bad block": p2p.BadBlock} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := sim.New(t, sim.Options{})
				var log syncBuffer
				a, _, end := liar(t, w, lie, func(c *p2p.Config) { c.Logger = logger(&log) })
				defer end()
				time.Sleep(30 * time.Minute)
				if n := strings.Count(log.String(), "peer broke the protocol: disconnected"); n < 2 || n > 12 {
					t.Errorf("shut out %d times in half an hour, want a few:\n%s", n, log.String())
				}
				if p := a.Host.Peers(); p[0].Connected || p[0].InSync {
					t.Errorf("still connected: %+v", p)
				}
				if n := a.Space("tea").Count(); n != 51 {
					t.Errorf("%d messages, want 51", n)
				}
			})
		})
	}
}

func TestSlowPeersHoldUpNobody(t *testing.T) {
	for name, lie := range map[string]p2p.Lie{"silence": p2p.Silence, "endless": p2p.Endless} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := sim.New(t, sim.Options{})
				a, _, end := liar(t, w, lie, nil)
				defer end()
				other := w.Machine("other", nil)
				other.Start()
				enter(t, other, a)
				for i := range 20 {
					a.Say("tea", fmt.Sprint("more ", i))
					time.Sleep(30 * time.Second)
				}
				w.Equal(time.Minute, "tea", a, other)
			})
		})
	}
}

// syncBuffer can be read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func logger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
