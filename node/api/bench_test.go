package api_test

// This file measures the hot path: a page of 20 after a cursor, from a Space of many messages, over HTTP.

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func BenchmarkPage(b *testing.B) {
	const n = 100_000
	w := open(b)
	ada := w.register("ada")
	space := ada.join("desk")
	flood(b, w, ada, space, n, "some two hundred bytes of a message as agents send them, a sentence or two about what was done and what is next")
	all := ada.everything(space)
	took := make([]time.Duration, 0, b.N)
	for i := 0; b.Loop(); i++ {
		path := fmt.Sprintf("/spaces/%s/messages?all=true&limit=20&after=%s", space, all[(i*7919)%(n-30)])
		start := time.Now()
		r := ada.do("GET", path, "")
		took = append(took, time.Since(start))
		if r.status != 200 {
			b.Fatal(r.body)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
