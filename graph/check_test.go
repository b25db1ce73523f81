package graph_test

// This file holds verify: a sound Space has no problems, and each planted one is found.

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"plexus/graph"
	"plexus/graph/store"
)

// rich is a Space that has something in every keyspace.
type rich struct {
	st graph.Store
	replica
	c      *clock
	rights rights
}

func newRich(t testing.TB) *rich {
	t.Helper()
	r := &rich{st: store.Memory(), c: newClock(), rights: rights{}}
	for i := range 5 {
		r.rights[author(i)] = graph.Standing{Known: true, May: true}
	}
	r.open(t)
	t.Cleanup(func() { _ = r.Close(); _ = r.st.Close() })
	r.fill(t)
	return r
}

// open opens the Log, anew where it was open.
func (r *rich) open(t testing.TB) {
	t.Helper()
	if r.Log != nil {
		_ = r.Close()
	}
	var err error
	if r.Log, err = graph.OpenLog(r.st, graph.LogOptions{Now: r.c.now, Rights: r.rights}); err != nil {
		t.Fatal(err)
	}
	if r.s, err = r.Create(t.Context(), named(t, "s")); err != nil {
		t.Fatal(err)
	}
}

func (r *rich) fill(t testing.TB) {
	t.Helper()
	var last graph.ID
	for i := range 150 {
		d := draft(fmt.Sprint("message ", i))
		if i%3 > 0 {
			d.Refs.Messages = []graph.ID{last}
		}
		if i%5 == 0 {
			d.Refs.Nodes = []graph.NodeID{author(7), author(i % 3)}
		}
		last = r.send(t, i%2, d).ID()
		r.c.step(time.Duration(i) * 100 * time.Millisecond)
	}
	for i, k := range []graph.Kind{graph.KindProfile, graph.KindAccess, graph.KindPlugin, "novel"} {
		r.send(t, i, graph.Draft{Kind: k, Payload: []byte(`{"n":1}`)})
	}
	w := &loom{t: t, space: r.s.ID()}
	first := w.weave(3, nil)
	w.weave(3, first)
	w.weave(3, first) // a fork
	w.weave(8, nil)   // a stranger
	w.weave(9, nil)
	w.weave(9, w.entries[len(w.entries)-1])
	r.add(t, w.entries...)
	far := newReplica(t, everybody, later())
	r.add(t, far.send(t, 1, draft("from the future")))
	r.rights[author(1)] = graph.Standing{Known: true}
	r.rights[author(3)] = graph.Standing{Known: true, May: true, Cuts: []graph.ID{w.entries[1].ID()}}
	if err := r.Apply(t.Context(), r.rights); err != nil {
		t.Fatal(err)
	}
	r.rights = clone(r.rights)
	r.rights[author(1)] = graph.Standing{Known: true, May: true}
	if err := r.Apply(t.Context(), r.rights); err != nil {
		t.Fatal(err)
	}
	r.rights = clone(r.rights)
	r.rights[author(2)] = graph.Standing{Known: true}
	if err := r.Apply(t.Context(), r.rights); err != nil {
		t.Fatal(err)
	}
}

func clone(r rights) rights {
	out := rights{}
	for k, v := range r {
		out[k] = v
	}
	return out
}

// problems checks the Space and the Log.
func (r *rich) problems(t testing.TB) []string {
	t.Helper()
	got, err := r.s.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := r.Log.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return append(got.Problems, all.Problems...)
}

func (r *rich) apply(t testing.TB, ops ...graph.Op) {
	t.Helper()
	if _, err := r.st.Apply(ops); err != nil {
		t.Fatal(err)
	}
}

// records reads a keyspace.
func (r *rich) records(t testing.TB, ks byte) (out []graph.KV) {
	t.Helper()
	for kv, err := range r.st.Scan([]byte{ks}, []byte{ks + 1}, false) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, graph.KV{Key: bytes.Clone(kv.Key), Value: bytes.Clone(kv.Value)})
	}
	return out
}

func TestCheckSound(t *testing.T) {
	r := newRich(t)
	if p := r.problems(t); len(p) > 0 {
		t.Fatalf("%d problems:\n%s", len(p), strings.Join(p, "\n"))
	}
	got, err := r.s.Check(t.Context())
	if err != nil || got.Entries != int(r.s.Digest().Count) || got.Messages != r.s.Count() {
		t.Fatalf("%d entries of %d, %d messages of %d, %v", got.Entries, r.s.Digest().Count, got.Messages, r.s.Count(), err)
	}
	r.open(t)
	if p := r.problems(t); len(p) > 0 {
		t.Fatalf("%d problems:\n%s", len(p), strings.Join(p, "\n"))
	}
	empty := newReplica(t, everybody, nil)
	if got, err := empty.s.Check(t.Context()); err != nil || len(got.Problems) > 0 {
		t.Fatal(got, err)
	}
}

// keyspaces are all but the records of others.
var keyspaces = []byte{
	0x01, 0x03, 0x04, 0x05, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f, 0x20,
}

// TestCheckFinds damages one record of each keyspace after the other: removed, its value changed, cut, its key changed, added.
func TestCheckFinds(t *testing.T) {
	r := newRich(t)
	set := func(key, value []byte) graph.Op { return graph.Op{Kind: graph.Set, Key: key, Value: value} }
	for _, ks := range keyspaces {
		records := r.records(t, ks)
		if len(records) == 0 {
			t.Errorf("%#x: no record to damage", ks)
			continue
		}
		for i, kv := range []graph.KV{records[len(records)/3], records[len(records)-1]} {
			del := graph.Op{Kind: graph.Del, Key: kv.Key}
			back := set(kv.Key, kv.Value)
			find := func(name string, plant, mend []graph.Op) {
				t.Helper()
				r.apply(t, plant...)
				if p := r.problems(t); len(p) == 0 {
					t.Errorf("%#x: record %d %s: not found", ks, i, name)
				}
				r.apply(t, mend...)
			}
			if ks != 0x20 { // a future entry's name is a hint: it may be forgotten
				find("removed", []graph.Op{del}, []graph.Op{back})
			}
			other := flipped(kv.Key, len(kv.Key)-1)
			if ks != 0x20 {
				mend := graph.Op{Kind: graph.Del, Key: other}
				if was, err := r.st.Get(other); err == nil {
					mend = set(other, was)
				}
				find("added", []graph.Op{set(other, kv.Value)}, []graph.Op{mend})
			}
			if len(kv.Value) == 0 {
				find("with a value", []graph.Op{set(kv.Key, []byte{1})}, []graph.Op{back})
				continue
			}
			find("cut short", []graph.Op{set(kv.Key, kv.Value[:len(kv.Value)-1])}, []graph.Op{back})
			if ks == 0x20 { // which host brought it, nothing else says
				continue
			}
			for _, at := range []int{0, len(kv.Value) - 1} {
				find(fmt.Sprint("flipped at ", at), []graph.Op{set(kv.Key, flipped(kv.Value, at))}, []graph.Op{back})
			}
		}
	}
	if p := r.problems(t); len(p) > 0 {
		t.Fatalf("not mended: %v", p)
	}
}

// TestCheckNames: what is wrong is said in a line that names it.
func TestCheckNames(t *testing.T) {
	r := newRich(t)
	block := r.records(t, 0x11)[40]
	id := graph.ID(block.Key[13:])
	for name, c := range map[string]struct {
		plant graph.Op
		want  string
	}{
		"a block's payload": {graph.Op{Kind: graph.Set, Key: block.Key, Value: flipped(block.Value, 60)}, id.String()},
		"a block gone":      {graph.Op{Kind: graph.Del, Key: block.Key}, id.String()},
		"an unknown record": {graph.Op{Kind: graph.Set, Key: []byte{0x77, 1}}, "unknown record 01"},
		"a head gone":       {graph.Op{Kind: graph.Del, Key: r.records(t, 0x15)[0].Key}, "head record"},
	} {
		r.apply(t, c.plant)
		if p := r.problems(t); !strings.Contains(strings.Join(p, "\n"), c.want) {
			t.Errorf("%s: %q", name, p)
		}
		r.apply(t, graph.Op{Kind: graph.Set, Key: block.Key, Value: block.Value}, graph.Op{Kind: graph.Del, Key: []byte{0x77, 1}})
	}
}

// TestCheckWhileBusy: a walk beside sends and changes of rights finds nothing.
func TestCheckWhileBusy(t *testing.T) {
	r := newRich(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 40 {
			if _, err := r.s.Send(t.Context(), key(i%2), draft(fmt.Sprint("meanwhile ", i)), nil); err != nil && !errors.Is(err, graph.ErrForbidden) {
				t.Error(err)
			}
			turned := clone(r.rights)
			turned[author(4)] = graph.Standing{Known: true, May: i%2 == 0}
			turned[author(0)] = graph.Standing{Known: true, May: i%3 > 0 || i == 39}
			if err := r.Apply(t.Context(), turned); err != nil {
				t.Error(err)
			}
			if _, err := r.s.Send(t.Context(), key(1), graph.Draft{Kind: graph.KindAccess, Payload: []byte(`{}`)}, nil); err != nil {
				t.Error(err)
			}
		}
	}()
	for n := 0; ; n++ {
		if p := r.problems(t); len(p) > 0 {
			t.Errorf("walk %d: %v", n, p)
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

// TestRebuild damages every derivable keyspace and builds it anew.
func TestRebuild(t *testing.T) {
	sound := newRich(t)
	for _, ks := range []byte{0x04, 0x05, 0x10, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1e, 0x1f} {
		t.Run(fmt.Sprintf("%#x", ks), func(t *testing.T) {
			r := newRich(t)
			for i, kv := range r.records(t, ks) {
				switch i % 3 {
				case 0:
					r.apply(t, graph.Op{Kind: graph.Del, Key: kv.Key})
				case 1:
					r.apply(t, graph.Op{Kind: graph.Set, Key: kv.Key, Value: append(kv.Value, 7)})
				default:
					r.apply(t, graph.Op{Kind: graph.Set, Key: flipped(kv.Key, len(kv.Key)-1), Value: kv.Value})
				}
			}
			r.open(t) // a damaged index is no reason not to start
			if err := r.s.Rebuild(t.Context()); err != nil {
				t.Fatal(err)
			}
			if p := r.problems(t); len(p) > 0 {
				t.Fatalf("%d problems:\n%s", len(p), strings.Join(p[:min(len(p), 20)], "\n"))
			}
			sameRich(t, sound, r)
			r.open(t)
			sameRich(t, sound, r)
			r.send(t, 0, draft("and on"))
			if p := r.problems(t); len(p) > 0 {
				t.Fatal(p)
			}
		})
	}
}

// sameRich says whether two Spaces read the same.
func sameRich(t testing.TB, a, b *rich) {
	t.Helper()
	if a.s.Digest() != b.s.Digest() || a.s.Count() != b.s.Count() {
		t.Fatalf("%+v %d, %+v %d", a.s.Digest(), a.s.Count(), b.s.Digest(), b.s.Count())
	}
	page := func(r *rich) []graph.ID {
		all, err := r.s.All(t.Context(), graph.Page{HasAfter: true, Limit: graph.MaxPage})
		if err != nil {
			t.Fatal(err)
		}
		in, err := r.Inbox(t.Context(), author(7), graph.Page{HasAfter: true, Limit: graph.MaxPage})
		if err != nil {
			t.Fatal(err)
		}
		return append(ids(all), ids(in)...)
	}
	if !slices.Equal(page(a), page(b)) {
		t.Fatalf("pages differ: %d, %d", len(page(a)), len(page(b)))
	}
	p1, f1, s1 := a.s.HeldCounts()
	if p2, f2, s2 := b.s.HeldCounts(); p1 != p2 || f1 != f2 || s1 != s2 {
		t.Fatal("held", p1, f1, s1, p2, f2, s2)
	}
}
