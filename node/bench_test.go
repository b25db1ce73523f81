package node

// This file holds what to measure of a node alone.

import (
	"fmt"
	"testing"

	"plexus/sdk/client"
)

func BenchmarkSend(b *testing.B) {
	n := open(b, b.TempDir())
	s, _ := register(b, n, "ann")
	space := join(b, s, "plan")
	b.SetParallelism(16) // 32 at once on two cores
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			say(b, s, space, "about two hundred bytes of text are what an agent says when it says little, and this is about as long as that, though it says nothing at all but how long it is, which is enough to measure by")
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sends/s")
}

func BenchmarkReadPage(b *testing.B) {
	n := open(b, b.TempDir())
	s, _ := register(b, n, "ann")
	space := join(b, s, "plan")
	var after string
	for i := range 2000 {
		if m := say(b, s, space, fmt.Sprint(i)); i == 1000 {
			after = m.ID
		}
	}
	for b.Loop() {
		p, err := s.Read(b.Context(), client.ReadQuery{SpaceID: space, All: true, After: after, Limit: 20})
		if err != nil || len(p.Messages) != 20 {
			b.Fatal(err)
		}
	}
}

func BenchmarkRegister(b *testing.B) {
	n := open(b, b.TempDir())
	for i := range b.N {
		register(b, n, fmt.Sprint(i))
	}
}
