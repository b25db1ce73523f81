package kit

// This file holds the race: the same votes folded by guests in every language and by native Go, through all that a node does, the
// store on disk included.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"plexus/graph"
	"plexus/graph/store"
	"plexus/plugins"
	"plexus/plugins/vote"
	"plexus/sdk/plugin"
)

// Race is a Space of votes on disk, which runners fold one after another, each on a copy.
type Race struct {
	dir      string
	space    graph.ID
	messages int
}

// NewRace fills a Space in dir: polls of raceVotes votes each.
func NewRace(ctx context.Context, dir string, messages int) (*Race, error) {
	s, err := newScene(nil)
	if err != nil {
		return nil, err
	}
	r := &Race{dir: dir, space: s.genesis.ID, messages: messages}
	log, shut, err := openDisk(r.track())
	if err != nil {
		return nil, err
	}
	space, err := log.Create(ctx, s.genesis)
	for i := 0; i < messages && err == nil; i += raceBatch {
		s.entries = s.entries[:0]
		for n := i; n < min(i+raceBatch, messages) && err == nil; n++ {
			err = s.say(raceMessage(n))
		}
		if err == nil {
			err = add(ctx, space, s.entries)
		}
	}
	return r, errors.Join(err, shut())
}

func (r *Race) track() string { return filepath.Join(r.dir, "track") }

// openDisk opens a log on disk and returns what closes both.
func openDisk(dir string) (*graph.Log, func() error, error) {
	st, err := store.Open(dir, store.Options{})
	if err != nil {
		return nil, nil, err
	}
	log, err := graph.OpenLog(st, graph.LogOptions{Now: sceneClock, Rights: &stage{}})
	if err != nil {
		return nil, nil, errors.Join(err, st.Close())
	}
	return log, func() error { return errors.Join(log.Close(), st.Close()) }, nil
}

// raceMessage is the n-th: a poll is opened, voted on by raceVoters Nodes, some of which change their minds, and closed.
func raceMessage(n int) TraceMessage {
	poll, i := n/raceVotes*raceVotes, n%raceVotes
	m := TraceMessage{ID: fmt.Sprint("m", n), By: fmt.Sprint("n", n%raceVoters), At: int64(n+1) * 1000, Refs: []string{fmt.Sprint("m", poll)}}
	switch i {
	case 0:
		m.By, m.Type, m.Refs = "n0", "vote:open", nil
		m.Content = []byte(`{"id":"lunch","question":"Where do we eat today?","options":["Inn","Bar","Pub"]}`)
	case raceVotes - 1:
		m.By, m.Type, m.Content = "n0", "vote:close", []byte(`{}`)
	default:
		m.Type, m.Content = "vote:cast", fmt.Appendf(nil, `{"option":%q}`, []string{"Inn", "Bar", "Pub"}[n%7%3])
	}
	return m
}

// Runner is one that folds.
type Runner struct {
	Name  string
	bench *plugins.Workbench
	fold  plugins.Reducer // nil: the guest
}

// NewRunner makes a project's vote in a language and compiles it; without gas where unmetered. The error is a *MissingTool where
// the toolchain isn't here.
func (r *Race) NewRunner(ctx context.Context, lang string, unmetered bool) (*Runner, error) {
	dir := filepath.Join(r.dir, lang)
	wasm, err := os.ReadFile(dir + ".wasm")
	if errors.Is(err, os.ErrNotExist) {
		if _, err = New(filepath.Join(dir, "vote"), "vote", lang); err == nil {
			wasm, err = Build(ctx, filepath.Join(dir, "vote"), true)
		}
		if err == nil {
			err = os.WriteFile(dir+".wasm", wasm, 0o600)
		}
	}
	if err != nil {
		return nil, err
	}
	engine := plugins.Compiled
	if unmetered {
		engine = plugins.Unmetered
	}
	bench, err := plugins.NewWorkbench(ctx, wasm, engine)
	return &Runner{Name: names[lang], bench: bench}, err
}

// Native returns a runner that folds by the same source as the Go guest, built natively; the guest lends it its manifest.
func (r *Runner) Native() *Runner {
	p := vote.Plugin()
	return &Runner{Name: "native", bench: r.bench, fold: func(k plugins.Keys, input []byte) string {
		if err := plugin.Reduce(p, k, input); err != nil {
			return err.Error()
		}
		return ""
	}}
}

// Close frees what was compiled; a native runner's goes with the guest's.
func (r *Runner) Close(ctx context.Context) error {
	if r.fold != nil {
		return nil
	}
	return r.bench.Close(ctx)
}

// Lap is what a runner took for the whole Space, from the first message read to the last commit.
type Lap struct {
	Took    time.Duration
	Folding time.Duration // of it, in the guest and its host calls, the reset before each message included
	Gas     int64
	Hash    string // of the state
}

// Run folds a fresh copy of the Space. around is called with the measured part.
func (r *Race) Run(ctx context.Context, by *Runner, around func(func() error) error) (lap Lap, err error) {
	dir := filepath.Join(r.dir, "lap")
	if err := os.CopyFS(dir, os.DirFS(r.track())); err != nil {
		return lap, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	log, shut, err := openDisk(dir)
	if err != nil {
		return lap, err
	}
	defer func() { err = errors.Join(err, shut()) }()
	try, err := by.bench.Try(ctx, log, plugins.TryOptions{Undo: -1, Timed: true, Native: by.fold})
	if err != nil {
		return lap, err
	}
	defer func() { err = errors.Join(err, try.Close()) }()
	err = around(func() error {
		start := time.Now()
		err := try.Settle(ctx)
		lap.Took = time.Since(start)
		return err
	})
	if err != nil {
		return lap, err
	}
	lap.Gas, lap.Folding = try.Gas(), try.Folding()
	lap.Hash, err = try.Hash(ctx, r.space, "vote")
	return lap, err
}
