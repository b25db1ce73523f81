package plugins

// This file holds the rate at which messages are folded, everything included: reading, translating, reset, gas, undo, storing.

import (
	"fmt"
	"testing"
	"time"

	"plexus/graph"
)

func BenchmarkFoldCheckpoint(b *testing.B) {
	const n = 20_000
	r := diskReplica(b)
	defer r.close()
	var last graph.ID
	for i := range n {
		if i%2 == 0 {
			last = r.say("ann", "checkpoint", obj{"id": fmt.Sprint(i), "title": "Deploy?", "content": "It changes a table and takes a minute or so.", "options": []string{"Yes", "No"}}).ID()
		} else {
			r.say("bob", "", obj{"option": "Yes", "feedback": "Please do."}, last)
		}
	}
	r.tight = bounds{undo: undoKept, step: stepMessages, drain: maxDrain, wait: time.Hour}
	r.run()
	r.hash("checkpoint")
	r.stop()
	for b.Loop() {
		r.must(r.host.records.Apply(graph.Op{Kind: graph.DelRange, Key: nil, Value: nil}))
		start := time.Now()
		r.run()
		r.hash("checkpoint")
		b.ReportMetric(n/time.Since(start).Seconds(), "messages/s")
		b.ReportMetric(float64(r.host.gas)/n, "gas/message")
		r.stop()
	}
}
