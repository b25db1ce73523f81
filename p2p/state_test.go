package p2p_test

// This file holds plugin states compared between members: told, asked at prefixes, refused, by strangers and by who is too old.

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fxamacker/cbor/v2"

	"plexus/graph"
	"plexus/internal/sim"
	"plexus/p2p"
)

// witness answers with what it was given.
type witness struct {
	mu     sync.Mutex // owns what follows
	states p2p.States
	points p2p.Prefixes
	err    error
	hold   bool // until the asker's time is up
	heard  []p2p.States
	asked  []p2p.PrefixAsk
	from   []graph.NodeID
}

func (w *witness) States(_ context.Context, from graph.NodeID, theirs p2p.States) (p2p.States, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard, w.from = append(w.heard, theirs), append(w.from, from)
	return w.states, w.err
}

func (w *witness) Prefixes(ctx context.Context, _ graph.NodeID, ask p2p.PrefixAsk) (p2p.Prefixes, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, ask)
	if w.hold {
		<-ctx.Done()
		return p2p.Prefixes{}, ctx.Err()
	}
	return w.points, w.err
}

// witnesses makes two machines in one Network, each with a witness.
func witnesses(t *testing.T, w *sim.World) (m [2]*sim.Machine, ws [2]*witness) {
	t.Helper()
	for i, name := range []string{"a", "b"} {
		ws[i] = &witness{}
		m[i] = w.Machine(name, func(c *p2p.Config) { c.Witness = ws[i] })
		m[i].Start()
	}
	enter(t, m[1], m[0])
	m[0].Say("tea", "hello")
	w.Equal(time.Minute, "tea", m[:]...)
	return m, ws
}

func someStates(engine string, space graph.ID) p2p.States {
	return p2p.States{Engine: engine, Schedule: 1, Spaces: []p2p.SpaceStates{{
		Space: space, Log: graph.Digest{Count: 3, Heads: [32]byte{1}}, Access: graph.Digest{Count: 2, Heads: [32]byte{2}},
		Plugins: []p2p.PluginState{{Plugin: "vote", File: "bafk", Hash: [32]byte{9}}},
	}}}
}

func TestStatesAreCompared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ws := witnesses(t, sim.New(t, sim.Options{}))
		space := m[0].Space("tea").ID()
		ours, theirs := someStates("a's", space), someStates("b's", space)
		ws[1].states = theirs
		got, err := m[0].Host.CompareStates(t.Context(), m[1].ID(), ours)
		if err != nil || !reflect.DeepEqual(got, theirs) {
			t.Errorf("%+v, %v", got, err)
		}
		if !reflect.DeepEqual(ws[1].heard, []p2p.States{ours}) || ws[1].from[0] != m[0].ID() {
			t.Errorf("heard %+v from %v", ws[1].heard, ws[1].from)
		}
		ask := p2p.PrefixAsk{Space: space, Plugin: "vote", File: "bafk", Keys: []graph.Key{{Time: 1}, {Time: 1, ID: graph.ID{1}}}}
		want := p2p.Prefixes{
			Engine: "b's", Schedule: 1, Points: []p2p.Point{{Hash: [32]byte{1}}, {Fingerprint: [16]byte{2}}}, Outcome: "refused",
			Reason: strings.Repeat("ä", 512), Gas: 7,
		}
		ws[1].points = want
		ws[1].points.Reason += "ä" // over the bound: cut
		points, err := m[0].Host.AskPrefixes(t.Context(), m[1].ID(), ask)
		if err != nil || !reflect.DeepEqual(points, want) || !reflect.DeepEqual(ws[1].asked, []p2p.PrefixAsk{ask}) {
			t.Errorf("%+v for %+v, %v", points, ws[1].asked, err)
		}
	})
}

func TestStatesAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		m, ws := witnesses(t, w)
		ask := p2p.PrefixAsk{Space: m[0].Space("tea").ID(), Plugin: "vote", File: "bafk", Keys: []graph.Key{{Time: 1}}}
		prefixes := func(ask p2p.PrefixAsk) error {
			_, err := m[0].Host.AskPrefixes(t.Context(), m[1].ID(), ask)
			return err
		}
		for _, is := range []error{graph.ErrNotFound, graph.ErrUnavailable} {
			ws[1].err = is
			if err := prefixes(ask); !errors.Is(err, is) {
				t.Errorf("%v: %v", is, err)
			}
		}
		ws[1].err, ws[1].hold = nil, true
		if err := prefixes(ask); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("late: %v", err)
		}
		ws[1].hold = false
		ask.Space = graph.BlockID([]byte("elsewhere"))
		if err := prefixes(ask); !errors.Is(err, graph.ErrNotFound) || len(ws[1].asked) != 3 {
			t.Errorf("another Network's Space: %v, asked %d times", err, len(ws[1].asked))
		}
		for range 100 { // more than a member may ask
			_, _ = m[0].Host.CompareStates(t.Context(), m[1].ID(), p2p.States{})
		}
		if _, err := m[0].Host.CompareStates(t.Context(), m[1].ID(), p2p.States{}); !errors.Is(err, graph.ErrUnavailable) {
			t.Errorf("asked too much: %v", err)
		}
		if !m[0].Host.Peers()[0].Connected {
			t.Error("asking too much costs the connection")
		}
		old := w.Machine("old", nil) // of a version that compares nothing
		old.Start()
		enter(t, old, m[0])
		w.Equal(time.Minute, "tea", m[0], old)
		if _, err := m[0].Host.CompareStates(t.Context(), old.ID(), p2p.States{}); !errors.Is(err, graph.ErrUnavailable) {
			t.Errorf("an old one: %v", err)
		}
		m[0].Say("tea", "still here")
		w.Equal(time.Minute, "tea", m[0], m[1], old)
		m[1].Stop()
		if _, err := m[0].Host.CompareStates(t.Context(), m[1].ID(), p2p.States{}); !errors.Is(err, graph.ErrUnavailable) {
			t.Errorf("gone: %v", err)
		}
	})
}

// A member that breaks the protocol is let go; an answer that doesn't fit the question is a breach.
func TestStatesFromLiars(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ws := witnesses(t, sim.New(t, sim.Options{}))
		ws[1].points = p2p.Prefixes{Points: make([]p2p.Point, 3)}
		ask := p2p.PrefixAsk{Space: m[0].Space("tea").ID(), Plugin: "vote", File: "bafk", Keys: []graph.Key{{Time: 1}}}
		if _, err := m[0].Host.AskPrefixes(t.Context(), m[1].ID(), ask); !errors.Is(err, graph.ErrInvalid) || m[0].Host.Peers()[0].Connected {
			t.Errorf("three points for one key: %v", err)
		}
	})
}

// TestOutsiderComparesNothing: not a byte.
func TestOutsiderComparesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		m, ws := witnesses(t, w)
		out := outsider(t, w)
		b, err := cbor.Marshal(map[int]any{1: "mine", 2: 1})
		if err != nil {
			t.Fatal(err)
		}
		if got := askRawly(t, out, m[0], "/plexus/state/1.0.0", append([]byte{0, 0, 0, byte(len(b)), 40}, b...)); len(got) > 0 || len(ws[0].heard) > 0 {
			t.Errorf("an outsider got %x", got)
		}
	})
}
