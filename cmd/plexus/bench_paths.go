package main

// This file holds the four benches. Each starts its daemons, prepares, measures only what its comment says, and stops them.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"plexus/sdk/client"
)

// bench is one run: its daemons, and one agent and Space on the first.
type bench struct {
	fleet []*daemon
	space string
}

// start runs the named daemons; the first gets an agent in a Space, the others join the first's Network.
func (b *bench) start(ctx context.Context, dir string, names ...string) error {
	for _, name := range names {
		d, err := startDaemon(ctx, dir, name)
		if err != nil {
			return err
		}
		b.fleet = append(b.fleet, d)
	}
	if err := b.fleet[0].addAgent(ctx, "bench", false); err != nil {
		return err
	}
	b.fleet[0].agent.HTTP = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}}
	info, err := b.fleet[0].agent.Space(ctx, client.SpaceCreate{Name: "bench", Description: "measures"})
	b.space = info.ID
	return err
}

func (b *bench) join(ctx context.Context, d *daemon) error {
	invite, err := b.fleet[0].admin.Invite(ctx, client.InviteCreate{})
	if err != nil {
		return err
	}
	_, err = d.admin.Join(ctx, invite.Ticket)
	return err
}

func (b *bench) stop(err error) error {
	for _, d := range b.fleet {
		err = errors.Join(err, d.stop())
	}
	return err
}

// sends sends n messages over conns senders and returns each one's latency.
func (b *bench) sends(ctx context.Context, n, conns, size int) ([]time.Duration, error) {
	took := make([]time.Duration, n)
	content, err := json.Marshal(map[string]string{"text": strings.Repeat("x", max(0, size-len(`{"text":""}`)))})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for c := range conns {
		wg.Go(func() {
			for i := c; i < n && ctx.Err() == nil; i += conns {
				t := time.Now()
				if _, err := b.fleet[0].agent.Send(ctx, b.space, client.SendMessage{Content: content}); err != nil {
					cancel(err)
					return
				}
				took[i] = time.Since(t)
			}
		})
	}
	wg.Wait()
	return took, context.Cause(ctx)
}

// measure runs do and fills time, rate and what the daemons used meanwhile.
func (b *bench) measure(r *benchResult, do func() error) error {
	before := usage(b.fleet)
	start := time.Now()
	err := do()
	r.Seconds = time.Since(start).Seconds()
	r.Rate = float64(r.Messages) / r.Seconds
	after := usage(b.fleet)
	r.CPU, r.PeakMiB = after.cpu-before.cpu, after.peak
	return err
}

// benchSend measures from request to acknowledgement, the entry synced to disk, with all connections busy; client and
// daemon share the machine.
func benchSend(ctx context.Context, dir string, o benchOptions) (r benchResult, err error) {
	b := &bench{}
	defer func() { err = b.stop(err) }()
	if err := b.start(ctx, dir, "sender"); err != nil {
		return r, err
	}
	r = benchResult{Bench: "send", Messages: o.messages}
	if r.FsyncMS, err = fsyncTime(dir); err != nil {
		return r, err
	}
	var took []time.Duration
	err = b.measure(&r, func() (err error) {
		took, err = b.sends(ctx, o.messages, o.conns, o.size)
		return err
	})
	if err != nil {
		return r, err
	}
	r.latencies(took)
	r.OfCommit = r.Rate / (float64(o.conns) / (r.FsyncMS / 1e3))
	return r, nil
}

// benchRead fills a Space, then measures pages of 20 after random cursors, one request after another.
func benchRead(ctx context.Context, dir string, o benchOptions) (r benchResult, err error) {
	const pages = 2000
	b := &bench{}
	defer func() { err = b.stop(err) }()
	if err := b.start(ctx, dir, "reader"); err != nil {
		return r, err
	}
	if _, err := b.sends(ctx, o.messages, o.conns, o.size); err != nil {
		return r, err
	}
	cursors, err := b.cursors(ctx)
	if err != nil {
		return r, err
	}
	r = benchResult{Bench: "read", Messages: pages}
	took := make([]time.Duration, pages)
	err = b.measure(&r, func() error {
		for i := range took {
			t := time.Now()
			q := client.ReadQuery{SpaceID: b.space, All: true, After: cursors[rand.IntN(len(cursors))], Limit: 20}
			if _, err := b.fleet[0].agent.Read(ctx, q); err != nil {
				return err
			}
			took[i] = time.Since(t)
		}
		return nil
	})
	r.latencies(took)
	return r, err
}

// cursors reads every 50th message ID of the Space.
func (b *bench) cursors(ctx context.Context) (ids []string, err error) {
	q := client.ReadQuery{SpaceID: b.space, All: true, Limit: 1000, Order: "canonical"}
	for {
		page, err := b.fleet[0].agent.Read(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := 0; i < len(page.Messages); i += 50 {
			ids = append(ids, page.Messages[i].ID)
		}
		if page.Next == "" {
			return ids, nil
		}
		q.After = page.Next
	}
}

// benchPropagate measures from the acknowledgement on one node to the message's arrival on a stream of another.
func benchPropagate(ctx context.Context, dir string, o benchOptions) (r benchResult, err error) {
	b := &bench{}
	defer func() { err = b.stop(err) }()
	if err := b.start(ctx, dir, "from", "to"); err != nil {
		return r, err
	}
	to := b.fleet[1]
	if err := b.join(ctx, to); err != nil {
		return r, err
	}
	if err := to.addAgent(ctx, "listener", false); err != nil {
		return r, err
	}
	if _, err := to.agent.Space(ctx, client.SpaceCreate{Name: "bench", Description: "listens"}); err != nil {
		return r, err
	}
	r = benchResult{Bench: "propagate", Messages: o.messages}
	var took []time.Duration
	err = b.measure(&r, func() (err error) {
		took, err = b.follow(ctx, o)
		return err
	})
	if err == nil {
		r.latencies(took)
	}
	return r, err
}

// follow sends at a steady rate and pairs each acknowledgement with the arrival on the other node's stream. A message
// that arrives before its acknowledgement counts as 0.
func (b *bench) follow(ctx context.Context, o benchOptions) ([]time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	const warm = 5 // the first ones find gossip's mesh still forming
	arrived := make(chan struct {
		id string
		at time.Time
	}, o.messages+warm)
	failed := make(chan error, 1)
	go func() { // ends with ctx
		for ev, err := range b.fleet[1].agent.Listen(ctx, client.ListenQuery{SpaceID: b.space, FromStart: true}) {
			if err != nil {
				failed <- err
				return
			}
			arrived <- struct {
				id string
				at time.Time
			}{ev.Message.ID, time.Now()}
		}
	}()
	acked := map[string]time.Time{}
	tick := time.NewTicker(time.Second / time.Duration(o.rate))
	defer tick.Stop()
	var order []string
	for range o.messages + warm {
		<-tick.C
		m, err := b.fleet[0].agent.Send(ctx, b.space, client.SendMessage{Content: text(strings.Repeat("x", o.size))})
		if err != nil {
			return nil, err
		}
		acked[m.ID] = time.Now()
		order = append(order, m.ID)
	}
	seen := map[string]time.Time{}
	for len(seen) < len(order) {
		select {
		case a := <-arrived:
			seen[a.id] = a.at
		case err := <-failed:
			return nil, err
		case <-ctx.Done():
			return nil, fmt.Errorf("%d of %d messages arrived: %w", len(seen), len(order), ctx.Err())
		}
	}
	var took []time.Duration
	for _, id := range order[warm:] {
		took = append(took, max(0, seen[id].Sub(acked[id])))
	}
	return took, nil
}

// benchSync fills a Space, then measures from the join of a fresh node until its digest equals the first one's.
func benchSync(ctx context.Context, dir string, o benchOptions) (r benchResult, err error) {
	b := &bench{}
	defer func() { err = b.stop(err) }()
	if err := b.start(ctx, dir, "full"); err != nil {
		return r, err
	}
	if _, err := b.sends(ctx, o.messages, o.conns, o.size); err != nil {
		return r, err
	}
	fresh, err := startDaemon(ctx, dir, "fresh")
	if err != nil {
		return r, err
	}
	b.fleet = append(b.fleet, fresh)
	r = benchResult{Bench: "sync", Messages: o.messages}
	err = b.measure(&r, func() error {
		if err := b.join(ctx, fresh); err != nil {
			return err
		}
		return waitUntil(ctx, func() (bool, error) {
			full, err := b.fleet[0].spaceStatus(ctx, b.space)
			if err != nil {
				return false, err
			}
			has, err := fresh.spaceStatus(ctx, b.space)
			return has.Digest == full.Digest, err
		})
	})
	return r, err
}

// fsyncTime returns the median of an append and fsync in dir, in milliseconds.
func fsyncTime(dir string) (float64, error) {
	f, err := os.Create(filepath.Join(dir, "fsync"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	took := make([]float64, 200)
	block := make([]byte, 4096)
	for i := range took {
		t := time.Now()
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		took[i] = time.Since(t).Seconds() * 1e3
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}
