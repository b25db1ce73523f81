package kit

// This file holds the repair after late messages, by language, the store on disk included.

import (
	"context"
	"fmt"
	"testing"
	"time"

	"plexus/graph"
	"plexus/plugins"
)

// lateCase is how many messages come late, and before the last how many they belong.
type lateCase struct{ late, behind int }

// lateScene is votes, and those that come late: by Nodes of their own, who vote in polls that are over by the time they are heard.
func lateScene(messages int, c lateCase) (all, late []*graph.Entry, err error) {
	s, err := newScene(nil)
	for n := 0; n < messages && err == nil; n++ {
		err = s.say(raceMessage(n))
	}
	all, s.entries = s.entries, nil
	for i := 0; i < c.late && err == nil; i++ {
		n := messages - c.behind - c.late + i
		err = s.say(TraceMessage{
			ID: fmt.Sprint("late", i), By: fmt.Sprint("l", i%10), At: int64(n+1)*1000 + 500, Type: "vote:cast",
			Content: []byte(`{"option":"Bar"}`), Refs: []string{fmt.Sprint("m", n/raceVotes*raceVotes)},
		})
	}
	return all, s.entries, err
}

// lateLap folds all, then adds the late ones, and returns what the fold took before and what the repair took.
func lateLap(ctx context.Context, dir string, by *Runner, all, late []*graph.Entry) (fold, repair time.Duration, hash string, err error) {
	log, shut, err := openDisk(dir)
	if err != nil {
		return 0, 0, "", err
	}
	defer shut()
	space, err := log.Create(ctx, must(newScene(nil)).genesis)
	if err != nil {
		return 0, 0, "", err
	}
	for i := 0; i < len(all) && err == nil; i += raceBatch {
		err = add(ctx, space, all[i:min(i+raceBatch, len(all))])
	}
	if err != nil {
		return 0, 0, "", err
	}
	try, err := by.bench.Try(ctx, log, plugins.TryOptions{Undo: -1, Native: by.fold})
	if err != nil {
		return 0, 0, "", err
	}
	defer try.Close()
	start := time.Now()
	if err = try.Settle(ctx); err == nil {
		fold = time.Since(start)
		err = add(ctx, space, late)
	}
	start = time.Now()
	if err == nil {
		err = try.Settle(ctx)
	}
	repair = time.Since(start)
	if err == nil {
		hash, err = try.Hash(ctx, space.ID(), "vote")
	}
	return fold, repair, hash, err
}

func must(s *scene, err error) *scene {
	if err != nil {
		panic(err)
	}
	return s
}

// TestLateVotes: by undo, from a step and from nothing the state is that of a fold in order.
func TestLateVotes(t *testing.T) {
	r := &Race{dir: t.TempDir()}
	by, err := r.NewRunner(t.Context(), "c", false)
	if err != nil {
		t.Skip(err)
	}
	defer by.Close(t.Context())
	all, late, err := lateScene(2000, lateCase{100, 400})
	if err != nil {
		t.Fatal(err)
	}
	_, _, got, err := lateLap(t.Context(), t.TempDir(), by, all, late)
	if err != nil {
		t.Fatal(err)
	}
	_, _, want, err := lateLap(t.Context(), t.TempDir(), by, append(all, late...), nil)
	if err != nil || got != want {
		t.Errorf("the state is %s, of all at once %s: %v", got, want, err)
	}
}

func BenchmarkLate(b *testing.B) {
	const messages = 100_000
	for _, c := range []lateCase{{1000, 20_000}, {1, 45_000}, {1, 98_000}} {
		all, late, err := lateScene(messages, c)
		if err != nil {
			b.Fatal(err)
		}
		for _, lang := range []string{"c", "rust", "go"} {
			b.Run(fmt.Sprintf("%d_before_the_last_%d/%s", c.late, c.behind, lang), func(b *testing.B) {
				r := &Race{dir: b.TempDir()}
				by, err := r.NewRunner(b.Context(), lang, false)
				if err != nil {
					b.Skip(err)
				}
				defer by.Close(b.Context())
				for b.Loop() {
					fold, repair, _, err := lateLap(b.Context(), b.TempDir(), by, all, late)
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(messages/fold.Seconds(), "messages/s")
					b.ReportMetric(float64(repair.Milliseconds()), "ms/repair")
				}
			})
		}
	}
}
