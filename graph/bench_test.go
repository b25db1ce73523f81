package graph_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"plexus/graph"
	"plexus/graph/store"
)

// onDisk is a Space on Pebble in a directory of its own.
func onDisk(t testing.TB, dir string) (*graph.Log, *graph.Space) {
	t.Helper()
	st, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := graph.OpenLog(st, graph.LogOptions{Rights: everybody})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(); _ = st.Close() })
	s, err := l.Create(t.Context(), named(t, "s"))
	if err != nil {
		t.Fatal(err)
	}
	return l, s
}

// conversation is n messages of ten authors, in canonical order, about 300 bytes each.
func conversation(t testing.TB, n int) []*graph.Entry {
	t.Helper()
	r := newReplica(t, everybody, nil)
	out := make([]*graph.Entry, 0, n)
	var last graph.ID
	for i := range n {
		d := draft(fmt.Sprintf("message %d, which is about as long as messages of agents are when they are short", i))
		if i%3 > 0 {
			d.Refs.Messages = []graph.ID{last}
		}
		e := r.send(t, i%10, d)
		last = e.ID()
		out = append(out, e)
	}
	return out
}

// BenchmarkAdd takes verified entries in, in batches of 256, on Pebble.
func BenchmarkAdd(b *testing.B) {
	const batch = 256
	entries := conversation(b, 20_480)
	b.ResetTimer()
	var s *graph.Space
	for i := 0; i < b.N; i += batch {
		at := i % len(entries)
		if at == 0 {
			b.StopTimer()
			_, s = onDisk(b, b.TempDir())
			b.StartTimer()
		}
		if _, err := s.Add(context.Background(), entries[at:at+batch], graph.AddOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}

// BenchmarkSend sends from 32 goroutines a core into one Space on Pebble, each send synced.
func BenchmarkSend(b *testing.B) {
	_, s := onDisk(b, b.TempDir())
	var n atomic.Int64
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		k := key(int(n.Add(1)))
		for pb.Next() {
			if _, err := s.Send(context.Background(), k, draft("hello"), nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sends/s")
}

// BenchmarkPage reads a page of 20 after a cursor out of 20,000 messages.
func BenchmarkPage(b *testing.B) {
	_, s := onDisk(b, b.TempDir())
	entries := conversation(b, 20_000)
	if _, err := s.Add(context.Background(), entries, graph.AddOptions{}); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for i := range b.N {
		p := graph.Page{After: graph.Pos(i * 37 % 19_000), HasAfter: true, Limit: 20}
		if _, err := s.All(context.Background(), p); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSince streams 20,480 entries in canonical order to a replica that has none, from a Log just opened.
func BenchmarkSince(b *testing.B) {
	st, err := store.Open(b.TempDir(), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	fill(b, st, conversation(b, 20_480))
	b.ResetTimer()
	n := 0
	for range b.N {
		l, err := graph.OpenLog(st, graph.LogOptions{})
		if err != nil {
			b.Fatal(err)
		}
		s, err := l.Space(named(b, "s").ID)
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range s.Since(context.Background(), nil) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "entries/s")
}

// fill adds entries to a Log that is closed again.
func fill(t testing.TB, st graph.Store, entries []*graph.Entry) {
	t.Helper()
	l, err := graph.OpenLog(st, graph.LogOptions{Rights: everybody})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	s, err := l.Create(t.Context(), named(t, "s"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add(context.Background(), entries, graph.AddOptions{}); err != nil {
		t.Fatal(err)
	}
}
