package graph_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"plexus/graph"
	"plexus/graph/store"
)

// key is the n-th test author.
func key(n int) ed25519.PrivateKey {
	if k, ok := made.Load(n); ok {
		return k.(ed25519.PrivateKey)
	}
	seed := sha256.Sum256([]byte(fmt.Sprintf("author %d", n)))
	k := ed25519.NewKeyFromSeed(seed[:])
	made.Store(n, k)
	return k
}

var made sync.Map // of keys, by number

func author(n int) graph.NodeID { return graph.NodeIDOf(key(n)) }

// rights are a table; an author that isn't in it has the standing of the zero NodeID.
type rights map[graph.NodeID]graph.Standing

func (r rights) Standing(_ graph.Genesis, n graph.NodeID) graph.Standing {
	if s, ok := r[n]; ok {
		return s
	}
	return r[graph.NodeID{}]
}

// everybody may write.
var everybody = rights{{}: {Known: true, May: true}}

var network = graph.BlockID([]byte("a network"))

func named(t testing.TB, name string) graph.Genesis {
	t.Helper()
	g, err := graph.NamedSpace(network, name)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// clock is a hand-set clock.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.UnixMicro(1_800_000_000_000_000)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// replica is a Log in memory with one Space.
type replica struct {
	*graph.Log
	s *graph.Space
}

func newReplica(t testing.TB, r graph.Rights, c *clock) replica {
	t.Helper()
	st := store.Memory()
	o := graph.LogOptions{Rights: r}
	if c != nil {
		o.Now = c.now
	}
	l, err := graph.OpenLog(st, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(); _ = st.Close() })
	s, err := l.Create(t.Context(), named(t, "s"))
	if err != nil {
		t.Fatal(err)
	}
	return replica{l, s}
}

func draft(text string, refs ...graph.ID) graph.Draft {
	c, _ := json.Marshal(map[string]string{"text": text})
	return graph.Draft{Content: c, Refs: graph.Refs{Messages: refs}}
}

// send sends a message of the n-th author.
func (r replica) send(t testing.TB, n int, d graph.Draft) *graph.Entry {
	t.Helper()
	st, err := r.s.Send(t.Context(), key(n), d, nil)
	if err != nil {
		t.Fatal(err)
	}
	return st.Entry
}

// add adds entries that must not fail.
func (r replica) add(t testing.TB, entries ...*graph.Entry) graph.AddResult {
	t.Helper()
	res, err := r.s.Add(t.Context(), entries, graph.AddOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// ids names entries.
func ids(stored []graph.Stored) []graph.ID {
	out := []graph.ID{}
	for _, st := range stored {
		out = append(out, st.Entry.ID())
	}
	return out
}

// since is all a replica has, in canonical order.
func (r replica) since(t testing.TB, known map[graph.NodeID]uint64) (out []*graph.Entry) {
	t.Helper()
	for e, err := range r.s.Since(t.Context(), known) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func TestSendAndSync(t *testing.T) {
	a, b := newReplica(t, everybody, nil), newReplica(t, everybody, nil)
	first := a.send(t, 1, draft("hello"))
	answer := a.send(t, 2, draft("hi", first.ID()))
	d := draft("for three", answer.ID())
	d.Refs.Nodes = []graph.NodeID{author(3)}
	a.send(t, 1, d)
	b.send(t, 3, draft("elsewhere"))
	b.add(t, a.since(t, nil)...)
	known := map[graph.NodeID]uint64{author(1): 2, author(2): 1}
	a.add(t, b.since(t, known)...)
	if a.s.Digest() != b.s.Digest() || a.s.Digest().Count != 4 {
		t.Fatalf("digests differ: %v %v", a.s.Digest(), b.s.Digest())
	}
	rel, err := a.s.Related(t.Context(), answer.ID(), graph.Both, graph.Page{})
	if err != nil || len(rel) != 3 {
		t.Fatalf("related: %v %v", ids(rel), err)
	}
	in, err := b.Inbox(t.Context(), author(3), graph.Page{})
	if err != nil || len(in) != 1 {
		t.Fatalf("inbox: %v %v", ids(in), err)
	}
	all, err := b.All(t.Context(), graph.Page{HasAfter: true})
	if err != nil || len(all) != 4 {
		t.Fatalf("all: %v %v", ids(all), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	for st, err := range a.Tail(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; st.Pos != graph.Pos(n) {
			t.Fatalf("pos %d at %d", st.Pos, n)
		}
		if n == 4 {
			cancel()
		}
	}
	cancel()
}
