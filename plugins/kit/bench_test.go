package kit

// This file holds the cost of a fold by language: the same votes, everything a node does but the disk.

import (
	"context"
	"fmt"
	"testing"

	"plexus/graph"
	"plexus/graph/store"
)

func BenchmarkFold(b *testing.B) {
	const n = 5000
	t := &Trace{Trace: TraceVersion}
	for i := range n {
		m := TraceMessage{ID: fmt.Sprint("m", i), By: fmt.Sprint("n", i%50), Type: "vote:cast", Content: []byte(`{"option":"Inn"}`), Refs: []string{"m0"}}
		if i == 0 {
			m.Type, m.Content, m.Refs = "vote:open", []byte(`{"id":"p","question":"Where do we eat?","options":["Inn","Bar","Pub"]}`), nil
		}
		t.Messages = append(t.Messages, m)
	}
	s, err := t.scene()
	if err != nil {
		b.Fatal(err)
	}
	for _, lang := range Langs() {
		b.Run(lang, func(b *testing.B) {
			f, err := Open(b.Context(), scaffold(b, lang, "vote"), true)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close(b.Context())
			var seconds float64
			var gas int64
			for b.Loop() {
				l, err := s.live(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				snapshots, err := l.Fold(b.Context(), f, Ask{Name: "none"})
				if err != nil {
					b.Fatal(err)
				}
				seconds += snapshots[0].Seconds
				gas = snapshots[0].Gas
				if err := l.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n*b.N)/seconds, "messages/s")
			b.ReportMetric(float64(gas)/n, "gas/message")
		})
	}
}

// live is a log that has the scene's entries.
func (s *scene) live(ctx context.Context) (*Live, error) {
	log, err := graph.OpenLog(store.Memory(), graph.LogOptions{Now: sceneClock, Rights: s.stage})
	if err != nil {
		return nil, err
	}
	space, err := log.Create(ctx, s.genesis)
	if err != nil {
		return nil, err
	}
	return &Live{log, space}, add(ctx, space, s.entries)
}
