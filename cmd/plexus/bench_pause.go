package main

// This file measures the worst pause: how long others in this process are held up while a guest burns its gas in an endless loop.

import (
	"context"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"plexus/plugins/kit"
)

// pauseFolds is how often the guest spins; each takes about a tenth of a second.
const pauseFolds = 10

// foldPause is what a guest burned in how long, and how others were held up meanwhile; for comparison also in as much time without it.
type foldPause struct {
	Gas   int64   `json:"gas"`
	Took  float64 `json:"took_ms"`
	With  held    `json:"with"`
	Quiet held    `json:"without"`
}

// held is the worst of each, in milliseconds.
type held struct {
	Stopped float64 `json:"stopped_ms"`    // all goroutines, for a collector that waited for the last one to stop
	Timer   float64 `json:"timer_late_ms"` // a timer that shall ring each millisecond
	GC      float64 `json:"collection_ms"` // runtime.GC from call to return
}

func measurePause(ctx context.Context) (p foldPause, err error) {
	s, err := kit.NewSpinner(ctx, pauseFolds)
	if err != nil {
		return p, err
	}
	start := time.Now()
	p.With = heldUp(func() { p.Gas, err = s.Burn(ctx) })
	took := time.Since(start)
	p.Took = ms(took)
	p.Quiet = heldUp(func() {
		select {
		case <-time.After(took):
		case <-ctx.Done():
		}
	})
	if cerr := s.Close(ctx); err == nil {
		err = cerr
	}
	return p, err
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

// stops are the pauses of this process until now, by length.
func stops() *metrics.Float64Histogram {
	s := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindFloat64Histogram {
		return &metrics.Float64Histogram{} // a runtime without this figure
	}
	return s[0].Value.Float64Histogram()
}

// longest is the upper end of the longest pause that came between two looks, in seconds.
func longest(before, after *metrics.Float64Histogram) float64 {
	for i := len(after.Counts) - 1; i >= 0; i-- {
		if i >= len(before.Counts) || after.Counts[i] > before.Counts[i] {
			return min(after.Buckets[i+1], 1e6)
		}
	}
	return 0
}

// heldUp runs do, and beside it the timer and one garbage collection after another.
func heldUp(do func()) (h held) {
	var timer, gc time.Duration
	before := stops()
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for !isClosed(done) {
			start := time.Now()
			<-time.After(time.Millisecond)
			timer = max(timer, time.Since(start)-time.Millisecond)
		}
	})
	wg.Go(func() {
		for !isClosed(done) {
			start := time.Now()
			runtime.GC()
			gc = max(gc, time.Since(start))
		}
	})
	do()
	close(done)
	wg.Wait()
	return held{Stopped: 1e3 * longest(before, stops()), Timer: ms(timer), GC: ms(gc)}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
