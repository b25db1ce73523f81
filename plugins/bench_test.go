package plugins

// This file holds the rate at which messages are folded, everything included: reading, translating, reset, gas, undo, storing.

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"plexus/graph"
)

func BenchmarkFold(b *testing.B) {
	const n = 20_000
	for _, guest := range []struct {
		name string
		wasm []byte
	}{{"Go", bundle}, {"small", good}} {
		b.Run(guest.name, func(b *testing.B) {
			r := diskReplica(b, guest.wasm)
			r.tight = bounds{undo: undoKept, step: stepMessages, drain: maxDrain, wait: time.Hour}
			defer r.close()
			var last graph.ID
			for i := range n {
				switch {
				case guest.name != "Go":
					r.say(people[i%4], "x", obj{"n": i, "option": "Yes", "text": "Some words, as messages have them."})
				case i%2 == 0:
					last = r.say("ann", "checkpoint", obj{"id": fmt.Sprint(i), "title": "Deploy?", "content": "It changes a table and takes a minute or so.", "options": []string{"Yes", "No"}}).ID()
				default:
					r.say("bob", "", obj{"option": "Yes", "feedback": "Please do."}, last)
				}
			}
			name := map[string]string{"Go": "checkpoint", "small": "good"}[guest.name]
			for b.Loop() {
				r.must(r.log.Records("plugin").Apply(graph.Op{Kind: graph.DelRange, Key: nil, Value: nil}))
				cpu := cpuTime()
				start := time.Now()
				r.run()
				r.hash(name)
				b.ReportMetric(n/time.Since(start).Seconds(), "messages/s")
				b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/n, "CPU-µs/message")
				b.ReportMetric(float64(r.host.gas)/n, "gas/message")
				r.stop()
			}
		})
	}
}

// cpuTime is what this process has used: on a busy machine it says more than the clock.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkLaterStart is a start with the code of all patterns on disk, until the first view answers. What it takes of the CPU says more than the clock.
func BenchmarkLaterStart(b *testing.B) {
	r := bareReplica(b)
	defer r.close()
	dir := b.TempDir()
	start := func() {
		h, err := Open(Config{Log: r.log, CacheDir: dir, bounds: bounds{undo: undoKept, step: stepMessages, drain: maxDrain, wait: time.Minute}})
		r.must(err)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- h.Run(ctx) }()
		_, err = h.View(r.ctx(), r.space.ID(), "checkpoint", "all", nil, graph.NodeID{})
		r.must(err)
		cancel()
		r.must(<-done)
		r.must(h.Close())
	}
	start()
	cpu, n := cpuTime(), 0
	for b.Loop() {
		start()
		n++
	}
	b.ReportMetric(float64((cpuTime()-cpu).Milliseconds())/float64(n), "CPU-ms/op")
}
