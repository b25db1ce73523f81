package node

// This file delivers callbacks by the rules of Standard Webhooks: signed, each try with its own timestamp and the same id and bytes, again with
// growing pauses until it is answered 2xx, at least once over crashes; given up after so many tries or so long; and what became of it is kept.

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"plexus/graph"
	"plexus/sdk/client"
)

func jitter() float64 { return rand.Float64() }

// try is one callback that is due.
type try struct {
	caller graph.NodeID
	at     graph.Time
	event  eventKey
}

// deliver tries what is due until ctx ends, so many at once, and of one caller fewer, so that a receiver that hangs holds up its own alone.
func (g *gateway) deliver(ctx context.Context) error {
	group := new(errgroup.Group)
	defer func() { _ = group.Wait() }() // they have no errors
	done := make(chan try, posting)
	under := map[eventKey]bool{}
	per := map[graph.NodeID]int{}
	wake := time.NewTimer(lookAll)
	defer wake.Stop()
	for {
		next, err := g.start(ctx, under, per, func(t try) {
			group.Go(func() error {
				g.attempt(ctx, t)
				done <- t
				return nil
			})
		})
		if err != nil {
			return ignoreEnd(ctx, err)
		}
		wake.Reset(next)
		select {
		case <-ctx.Done():
			return nil
		case <-g.post:
		case <-wake.C:
		case t := <-done:
			delete(under, t.event)
			if per[t.caller]--; per[t.caller] == 0 {
				delete(per, t.caller)
			}
		}
	}
}

// start begins the tries that are due and have a place, and says when the next one is.
func (g *gateway) start(ctx context.Context, under map[eventKey]bool, per map[graph.NodeID]int, begin func(try)) (next time.Duration, err error) {
	now := g.now()
	first := now + graph.Time(lookAll.Microseconds())
	var key []byte
	for len(under) < posting {
		caller, ok, err := g.nextDue(key)
		if err != nil || !ok {
			return time.Duration(first-now) * time.Microsecond, err
		}
		for kv, err := range g.rec.due.Scan(caller[:], after(caller[:]), false) {
			if err != nil {
				return 0, fmt.Errorf("read callbacks: %w", err)
			}
			_, at, event, ok := readDue(kv.Key)
			if !ok || under[event] {
				continue
			}
			if at > now {
				first = min(first, at)
				break
			}
			if per[caller] == postingOne || len(under) == posting || ctx.Err() != nil {
				break // the end of one that is under way looks again
			}
			under[event], per[caller] = true, per[caller]+1
			begin(try{caller, at, event})
		}
		if key = after(caller[:]); key == nil {
			break
		}
	}
	return time.Duration(first-now) * time.Microsecond, nil
}

// nextDue returns the first caller at or behind a key who has callbacks.
func (g *gateway) nextDue(key []byte) (caller graph.NodeID, ok bool, err error) {
	for kv, err := range g.rec.due.Scan(key, nil, false) {
		if err != nil {
			return caller, false, fmt.Errorf("read callbacks: %w", err)
		}
		caller, _, _, ok = readDue(kv.Key)
		return caller, ok, nil
	}
	return caller, false, nil
}

// attempt makes one try and keeps what came of it. A crash in between leaves it due.
func (g *gateway) attempt(ctx context.Context, t try) {
	err := g.attemptOnce(ctx, t)
	if err != nil && ctx.Err() == nil {
		g.node.cfg.Logger.Error("a callback's try can't be kept", "event", t.event.id(), "err", err)
		select { // a store that fails mustn't be asked in a circle
		case <-ctx.Done():
		case <-time.After(lookAgain):
		}
	}
}

func (g *gateway) attemptOnce(ctx context.Context, t try) error {
	e, err := readJSON[eventRecord](g.rec.event, t.event.bytes())
	if err != nil {
		return err
	}
	rec, err := readJSON[taskRecord](g.rec.task, t.event.task[:])
	if err != nil {
		return err
	}
	c, err := readJSON[callerRecord](g.rec.caller, t.caller[:])
	if err != nil {
		return err
	}
	gone, err := g.goneSince(t.caller, rec.CallbackURL)
	switch {
	case err != nil:
		return err
	case c.Revoked:
		e.State = client.CallbackDropped
		return g.keepTry(t, rec, e)
	case gone >= rec.Created:
		e.State = client.CallbackDisabled
		return g.keepTry(t, rec, e)
	}
	status, wait, err := g.postOnce(ctx, c, rec.CallbackURL, t.event, e.Body)
	if ctx.Err() != nil {
		return nil // the node stops: that was no try
	}
	e.Attempts++
	e.Status, e.Error = status, ""
	switch {
	case err != nil:
		e.Error = whyFailed(err)
	case status/100 == 2:
		e.State = client.CallbackDelivered
	case status == http.StatusGone:
		e.State = client.CallbackDisabled
	}
	if e.State == client.CallbackWaiting {
		g.later(&e, wait)
	}
	return g.keepTry(t, rec, e)
}

// goneSince is when a caller's receiver answered 410, 0 where it hasn't.
func (g *gateway) goneSince(caller graph.NodeID, url string) (graph.Time, error) {
	b, err := g.rec.gone.Get(goneKey(caller, url))
	if errors.Is(err, graph.ErrNotFound) {
		return 0, nil
	}
	if err != nil || len(b) != 8 {
		return 0, errors.Join(err, fmt.Errorf("a record of %d bytes of a receiver that is gone, want 8: %w", len(b), graph.ErrUnavailable))
	}
	return graph.Time(binary.BigEndian.Uint64(b)), nil
}

// later says when a failed try is repeated, or that it isn't.
func (g *gateway) later(e *eventRecord, wait time.Duration) {
	now := g.now()
	e.Due = now + graph.Time(max(g.pace.pause(e.Attempts), min(wait, g.pace.last)).Microseconds())
	if e.Attempts >= g.pace.tries || e.Due-e.Created > graph.Time(g.pace.age.Microseconds()) {
		e.State = client.CallbackFailed
	}
}

// pause is what lies between the nth try and the next: first, three times that, nine times …, up to last; less up to a half of it by chance, so that
// those who failed together don't come back together.
func (p pace) pause(n int) time.Duration {
	full := float64(p.first) * math.Pow(3, float64(n-1))
	return time.Duration(min(full, float64(p.last)) * (1 - p.jitter()/2))
}

// keepTry writes an event after a try, in one transaction with when it is tried again.
func (g *gateway) keepTry(t try, rec taskRecord, e eventRecord) error {
	ops := drop(g.rec.due, dueKey(t.caller, t.at, t.event))
	if e.State == client.CallbackWaiting {
		ops = append(ops, mark(g.rec.due, dueKey(t.caller, e.Due, t.event))...)
	} else {
		e.Body, e.Due = nil, 0
	}
	if e.Status == http.StatusGone && e.State == client.CallbackDisabled {
		ops = append(ops, g.rec.gone.Ops(graph.Op{
			Kind: graph.Set, Key: goneKey(t.caller, rec.CallbackURL), Value: binary.BigEndian.AppendUint64(nil, uint64(g.now())),
		})...)
	}
	set, err := setJSON(g.rec.event, t.event.bytes(), e)
	if err != nil {
		return err
	}
	return g.node.write(append(ops, set...))
}

// postOnce sends an event and returns the answer's status, and how long it asks to be left alone.
func (g *gateway) postOnce(ctx context.Context, c callerRecord, url string, k eventKey, body []byte) (status int, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, g.pace.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	now := g.node.cfg.Now()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "plexus/"+g.node.cfg.Version)
	req.Header.Set("webhook-id", k.id())
	req.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	req.Header.Set("webhook-signature", signatures(c.Secrets, graph.TimeOf(now), k.id(), now.Unix(), body))
	resp, err := g.http.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer) // the status is what counts
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable {
		s, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		wait = time.Duration(min(max(s, 0), int(g.pace.last/time.Second)+1)) * time.Second
	}
	return resp.StatusCode, wait, nil
}

// signatures signs with every secret that holds: HMAC-SHA256 over id.timestamp.body.
func signatures(secrets []webhookSecret, now graph.Time, id string, stamp int64, body []byte) string {
	var out []string
	for _, s := range secrets {
		if s.Until != 0 && s.Until <= now {
			continue
		}
		mac := hmac.New(sha256.New, s.Key)
		fmt.Fprintf(mac, "%s.%d.", id, stamp)
		mac.Write(body)
		out = append(out, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(out, " ")
}
