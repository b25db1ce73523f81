package access

// This file holds the small world the tests build: hosts with keys that write access entries into chains.

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"testing"

	"plexus/graph"
)

// world is a Network's access log in the making.
type world struct {
	t       testing.TB
	network graph.Genesis
	keys    map[string]ed25519.PrivateKey
	names   map[graph.NodeID]string
	tips    map[string]*graph.Entry
	entries []*graph.Entry
	now     graph.Time
}

func key(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("access test " + name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func newWorld(t testing.TB, founders ...string) *world {
	t.Helper()
	w := &world{t: t, keys: map[string]ed25519.PrivateKey{}, names: map[graph.NodeID]string{}, tips: map[string]*graph.Entry{}, now: 1_000_000}
	var others []graph.NodeID
	for _, f := range founders[1:] {
		others = append(others, w.id(f))
	}
	g, err := graph.NewNetwork("net", w.key(founders[0]), others...)
	if err != nil {
		t.Fatal(err)
	}
	w.network = g
	return w
}

func (w *world) key(name string) ed25519.PrivateKey {
	k, ok := w.keys[name]
	if !ok {
		k = key(name)
		w.keys[name] = k
		w.names[graph.NodeIDOf(k)] = name
	}
	return k
}

func (w *world) id(name string) graph.NodeID { return graph.NodeIDOf(w.key(name)) }

// says seals a draft as the author's next entry, one microsecond after the last.
func (w *world) says(author string, d graph.Draft) *graph.Entry {
	w.now++
	return w.seal(author, d, w.tips[author], w.now)
}

// forks seals a draft behind an entry that has a successor already (nil: as a first one), at a time of its choice.
func (w *world) forks(author string, d graph.Draft, after *graph.Entry, at graph.Time) *graph.Entry {
	tip := w.tips[author]
	e := w.seal(author, d, after, at)
	w.tips[author] = tip
	return e
}

func (w *world) seal(author string, d graph.Draft, prev *graph.Entry, at graph.Time) *graph.Entry {
	w.t.Helper()
	b := graph.Body{Kind: d.Kind, Space: w.network.ID, Author: w.id(author), Seq: 1, Time: at, Payload: d.Payload}
	if prev != nil {
		b.Seq, b.Prev = prev.Body().Seq+1, []graph.ID{prev.ID()}
	}
	e, err := graph.Seal(b, w.key(author))
	if err != nil {
		w.t.Fatal(err)
	}
	w.tips[author] = e
	w.entries = append(w.entries, e)
	return e
}

func (w *world) grant(by, host string, r Role) *graph.Entry {
	return w.says(by, Grant(w.id(host), r, nil))
}

func (w *world) enrol(host, node string, r Role) *graph.Entry {
	return w.says(host, Enrol(w.network.ID, w.id(host), w.key(node), r, Agent))
}

// revoke fires a subject; what it said in the access log so far stays.
func (w *world) revoke(by, subject string) *graph.Entry {
	return w.says(by, Revoke(w.id(subject), []Cut{w.cutNow(subject)}))
}

func (w *world) cutNow(subject string) Cut {
	c := Cut{Space: w.network.ID, Nodes: map[graph.NodeID]*graph.ID{w.id(subject): nil}}
	if tip := w.tips[subject]; tip != nil {
		id := tip.ID()
		c.Nodes[w.id(subject)] = &id
	}
	return c
}

func (w *world) state() *State { return Evaluate(w.network, w.entries) }

// wantRoles checks hosts and Nodes: "a:admin b:none".
func (w *world) wantRoles(want map[string]Role) {
	w.t.Helper()
	s := w.state()
	for name, r := range want {
		if got := s.Role(w.id(name)); got != r {
			w.t.Errorf("%s is %s, want %s", name, got, r)
		}
	}
}

func space(t testing.TB, w *world, name string) graph.Genesis {
	t.Helper()
	g, err := graph.NamedSpace(w.network.ID, name)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func blockID(s string) *graph.ID {
	id := graph.BlockID([]byte(s))
	return &id
}

// print tells a State in full, for comparison.
func (s *State) print() string {
	return fmt.Sprintf("%+v %+v %+v %s %v", s.Hosts(), s.Nodes(), s.Invites(), s.Policy(), s.known)
}
