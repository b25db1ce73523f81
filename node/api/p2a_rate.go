package api

// This file bounds what one caller may ask: so many requests a minute, so many waiting at once. Both count from zero after a restart.

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"plexus/sdk/client"
)

// rates has one bucket per caller: full it holds a minute's requests, so that a burst of these is no offence. There are as many as callers
// have called.
type rates struct {
	mu      sync.Mutex // owns what is below
	buckets map[string]*rate.Limiter
}

// take counts one request and says in the headers what is left (draft-ietf-httpapi-ratelimit-headers), and when to come again.
func (r *rates) take(h http.Header, c client.Caller, now time.Time) error {
	perSecond := rate.Limit(float64(c.RatePerMin) / 60)
	r.mu.Lock()
	b := r.buckets[c.ID]
	if b == nil || b.Burst() != c.RatePerMin {
		if r.buckets == nil {
			r.buckets = map[string]*rate.Limiter{}
		}
		b = rate.NewLimiter(perSecond, c.RatePerMin)
		r.buckets[c.ID] = b
	}
	r.mu.Unlock()
	ok := b.AllowN(now, 1)
	left := max(0, b.TokensAt(now))
	full := int(math.Ceil((float64(c.RatePerMin) - left) / float64(perSecond)))
	h.Set("RateLimit-Policy", fmt.Sprintf(`"caller";q=%d;w=60`, c.RatePerMin))
	h.Set("RateLimit", fmt.Sprintf(`"caller";r=%d;t=%d`, int(left), full))
	if ok {
		return nil
	}
	again := int(math.Ceil((1 - left) / float64(perSecond)))
	return tooMany(h, again, fmt.Sprintf("more than %d requests a minute", c.RatePerMin))
}

// tooMany is 429 with the time to come again.
func tooMany(h http.Header, again int, detail string) error {
	again = max(1, again)
	h.Set("Retry-After", strconv.Itoa(again))
	return &Fault{Kind: ErrRateLimited, Detail: detail, Hint: fmt.Sprintf("come again in %d s (Retry-After); wait with wait_s or a callback instead of polling", again)}
}

// waits counts the requests that wait, per caller.
type waits struct {
	mu sync.Mutex // owns what is below
	in map[string]int
}

// enter takes a place for a request that waits; leave gives it back.
func (w *waits) enter(caller string, wait time.Duration) (leave func(), err error) {
	if wait == 0 {
		return func() {}, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.in[caller] >= maxWaiting {
		return nil, &Fault{
			Kind: ErrRateLimited, Detail: fmt.Sprintf("%d requests of this caller wait already", maxWaiting), Hint: "come again in 1 s, or use mode async or callback",
		}
	}
	if w.in == nil {
		w.in = map[string]int{}
	}
	w.in[caller]++
	return func() { w.leave(caller) }, nil
}

func (w *waits) leave(caller string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.in[caller]--; w.in[caller] <= 0 {
		delete(w.in, caller)
	}
}
