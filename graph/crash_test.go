package graph_test

import (
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"plexus/graph"
	"plexus/graph/store"
)

// crashing is a store on a disk of which it keeps clones, as a crash after some of the writes would leave it.
type crashing struct {
	graph.Store
	fs     *vfs.MemFS
	rng    *rand.Rand
	acked  map[graph.ID]bool
	clones []wreck
}

// wreck is a disk after a crash, and what was acknowledged before it.
type wreck struct {
	fs    vfs.FS
	acked []graph.ID
}

// Apply implements graph.Store.
func (c *crashing) Apply(ops []graph.Op) (func() error, error) {
	wait, err := c.Store.Apply(ops)
	if len(c.clones) < 60 && c.rng.IntN(2) == 0 {
		cl := wreck{fs: c.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: c.rng.IntN(101), RNG: c.rng})}
		for id := range c.acked {
			cl.acked = append(cl.acked, id)
		}
		c.clones = append(c.clones, cl)
	}
	return wait, err
}

func newCrashing(t *testing.T) *crashing {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	fs := vfs.NewCrashableMem()
	return &crashing{Store: openMem(t, fs), fs: fs, rng: rand.New(rand.NewPCG(seed, 1)), acked: map[graph.ID]bool{}}
}

func openMem(t *testing.T, fs vfs.FS) graph.Store {
	t.Helper()
	st, err := store.Open("db", store.Options{FS: fs, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	check(t, err)
	return st
}

// TestCrash clones the disk as a crash would leave it between any two writes of a random history, and holds what opens there
// against the model: every acknowledged entry, and nothing half done.
func TestCrash(t *testing.T) {
	st := newCrashing(t)
	defer func() { _ = st.Close() }()
	g := named(t, "s")
	half := rights{author(0): {Known: true, May: true}, author(1): {Known: true, May: true}, author(2): {Known: true}}
	l, err := graph.OpenLog(st, graph.LogOptions{Rights: half, Now: newClock().now})
	check(t, err)
	defer func() { _ = l.Close() }()
	s, err := l.Create(t.Context(), g)
	check(t, err)
	var all []*graph.Entry
	for who := range authors {
		all = append(all, chain(t, g.ID, who, 15, graph.Time(1_000_000+who))...)
	}
	st.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for part := range slices.Chunk(all, 4) {
		res, err := s.Add(t.Context(), part, graph.AddOptions{})
		check(t, err)
		for _, n := range res.New {
			st.acked[n.Entry.ID()] = true
		}
		if st.rng.IntN(4) == 0 {
			cut := rights{{}: {Known: true, May: true}, author(1): {Known: true, May: true, Cuts: []graph.ID{part[0].ID()}}}
			check(t, l.Apply(t.Context(), cut))
		}
	}
	for _, c := range st.clones {
		reopen(t, c, g, everybody, true)
		reopen(t, c, g, half, true)
	}
}

// A change of rights that takes several transactions is made good by the next OpenLog, wherever the crash came.
func TestCrashInApply(t *testing.T) {
	const many = 4500
	st := newCrashing(t)
	defer func() { _ = st.Close() }()
	g := named(t, "s")
	l, err := graph.OpenLog(st, graph.LogOptions{Rights: only(2, graph.Standing{}), Now: newClock().now})
	check(t, err)
	defer func() { _ = l.Close() }()
	s, err := l.Create(t.Context(), g)
	check(t, err)
	one, two := chain(t, g.ID, 1, many, 1_000_000), chain(t, g.ID, 2, many, 1_000_001)
	_, err = s.Add(t.Context(), slices.Concat(one, two), graph.AddOptions{})
	check(t, err)
	st.clones = nil
	cut := only(1, graph.Standing{Known: true, May: true, Cuts: []graph.ID{one[99].ID()}})
	check(t, l.Apply(t.Context(), cut))
	if len(st.clones) == 0 || s.Count() != 100+many {
		t.Fatalf("%d clones, %d visible", len(st.clones), s.Count())
	}
	for _, c := range st.clones {
		reopen(t, c, g, cut, false)
	}
}

// reopen opens a clone with rights and checks it.
func reopen(t *testing.T, c wreck, g graph.Genesis, r rights, wholly bool) {
	t.Helper()
	st := openMem(t, c.fs)
	defer func() { _ = st.Close() }()
	l, err := graph.OpenLog(st, graph.LogOptions{Rights: r, Now: newClock().now})
	check(t, err)
	defer func() { _ = l.Close() }()
	s, err := l.Space(g.ID)
	if err != nil && len(c.acked) == 0 {
		return // not even the Space was synced
	}
	check(t, err)
	var entries []*graph.Entry
	for e, err := range s.Since(t.Context(), nil) {
		check(t, err)
		entries = append(entries, e)
	}
	known := rights{{}: {Known: true, May: r[graph.NodeID{}].May}} // what was admitted stays
	for n := range authors {
		st := r.Standing(g, author(n))
		st.Known = true
		known[author(n)] = st
	}
	want := newModel(g.ID, entries, known)
	for _, id := range c.acked {
		if want.admitted[id] == nil {
			t.Fatalf("%s was acknowledged and is gone", id)
		}
	}
	if wholly {
		holds(t, l, s, want)
		return
	}
	if s.Count() != len(want.messages(func(*graph.Entry) bool { return true })) {
		t.Fatalf("%d visible", s.Count())
	}
	tailHolds(t, l, s, want)
}
