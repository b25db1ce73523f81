package node

// This file holds what to measure of a node alone.

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

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

// BenchmarkHTTP sends from 32 connections, on the disk there is and on one whose syncs take 2.7 ms more: how much of what group
// commit allows (32 messages a sync) is reached, so that a fast disk doesn't hide a path that waits in line.
func BenchmarkHTTP(b *testing.B) {
	for _, wait := range []time.Duration{0, 2700 * time.Microsecond} {
		b.Run(wait.String(), func(b *testing.B) { benchHTTP(b, wait) })
	}
}

func benchHTTP(b *testing.B, wait time.Duration) {
	const conns = 32
	var syncs tally
	n := open(b, b.TempDir(), func(c *Config) { c.disk.FS, c.Plugins = slowDisk{vfs.Default, wait, &syncs}, nil })
	reg := registerAs(b, n, client.NodeCreate{Name: "ann"})
	srv := httptest.NewServer(n.handler)
	defer srv.Close()
	c := &client.Client{URL: srv.URL, Token: reg.Token, NodeID: reg.ID}
	c.HTTP = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: conns}}
	space, err := c.Space(b.Context(), client.SpaceCreate{Name: "plan", Description: "d"})
	if err != nil {
		b.Fatal(err)
	}
	content := json.RawMessage(`{"text":"` + strings.Repeat("x", 190) + `"}`)
	b.SetParallelism(conns / 2) // a processor
	syncs.count.Store(0)
	syncs.nanos.Store(0)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := c.Send(b.Context(), space.ID, client.SendMessage{Content: content}); err != nil {
				b.Error(err)
				return
			}
		}
	})
	rate := float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "sends/s")
	took := time.Duration(syncs.nanos.Load() / syncs.count.Load())
	b.ReportMetric(float64(took.Microseconds()), "µs/sync")
	b.ReportMetric(float64(b.N)/float64(syncs.count.Load()), "sends/sync")
	b.ReportMetric(100*rate*took.Seconds()/conns, "%-of-group-commit")
}

// slowDisk is a file system whose syncs of new files take longer, and are counted.
type slowDisk struct {
	vfs.FS
	wait  time.Duration
	syncs *tally
}

type tally struct{ count, nanos atomic.Int64 }

func (d slowDisk) slow(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return slowFile{f, d}, nil
}

func (d slowDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return d.slow(d.FS.Create(name, c))
}

func (d slowDisk) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return d.slow(d.FS.ReuseForWrite(from, to, c))
}

type slowFile struct {
	vfs.File
	disk slowDisk
}

func (f slowFile) Sync() error { return f.disk.late(f.File.Sync) }

func (f slowFile) SyncData() error { return f.disk.late(f.File.SyncData) }

func (d slowDisk) late(sync func() error) error {
	start := time.Now()
	time.Sleep(d.wait)
	err := sync()
	d.syncs.nanos.Add(int64(time.Since(start)))
	d.syncs.count.Add(1)
	return err
}
