// Package fleet is what the examples share: plexus daemons as processes with data dirs of their own, Nodes on them, and a story that
// is told and checked as it goes.
//
// As with testing.T, whatever fails ends the example at once: a call that goes wrong needs no handling where it is made.
package fleet

// This file holds the Stage: beginning and end of an example, what it tells and checks, and how it waits.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	playTime = 3 * time.Minute       // for a whole example: each takes well under one, and a hang must not look like work
	stopTime = 5 * time.Second       // what a process gets between SIGTERM and SIGKILL
	poll     = 50 * time.Millisecond // how often a wait looks again
)

// Program is the environment variable that names a plexus program to use; without it the example builds one.
const Program = "PLEXUS_PROGRAM"

// Stage is where one example plays.
type Stage struct {
	Flags []string // further flags of plexus up, for daemons that start from now on

	out     io.Writer
	dir     string // of this run; it goes with it
	program string
	daemons []*Daemon
	names   map[string]string // Node or host ID → what the story calls it
	done    []func()          // run at the end, the last one first
	skip    string            // why it can't be played here
	failed  int
	checks  int
}

// skipped ends an example that can't be played here.
type skipped struct{ reason string }

// failure carries an error from where it happens to the end of the example.
type failure struct{ err error }

// Main plays an example and ends the process: 0 where all went well and every check held, 1 where not.
func Main(title string, play func(ctx context.Context, s *Stage)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout, title, play)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "\nFAILED: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, title string, play func(ctx context.Context, s *Stage)) (err error) {
	ctx, cancel := context.WithTimeout(ctx, playTime)
	defer cancel()
	dir, err := os.MkdirTemp("", "plexus-example-")
	if err != nil {
		return fmt.Errorf("make a directory for the example: %w", err)
	}
	s := &Stage{out: out, dir: dir, names: map[string]string{}}
	defer func() {
		for _, d := range s.daemons {
			err = errors.Join(err, d.end())
		}
		for i := range s.done {
			s.done[len(s.done)-1-i]()
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	began := time.Now()
	fmt.Fprintln(out, title)
	if err := s.play(ctx, play); err != nil {
		return err
	}
	if s.skip != "" {
		fmt.Fprintf(out, "\nSKIPPED: %s\n", s.skip)
		return nil
	}
	if s.failed > 0 {
		return fmt.Errorf("%d of %d checks don't hold", s.failed, s.checks)
	}
	fmt.Fprintf(out, "\nAll %d checks hold. It took %.1f s.\n", s.checks, time.Since(began).Seconds())
	return nil
}

// play turns what Fatal threw into an error.
func (s *Stage) play(ctx context.Context, play func(ctx context.Context, s *Stage)) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.err
		case skipped:
			s.skip = r.reason
		default:
			panic(r)
		}
	}()
	if err := s.build(ctx); err != nil {
		return err
	}
	play(ctx, s)
	return nil
}

// build makes the plexus program, unless one is named.
func (s *Stage) build(ctx context.Context) error {
	if s.program = os.Getenv(Program); s.program != "" {
		return nil
	}
	s.program = filepath.Join(s.dir, "plexus")
	out, err := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", s.program, "plexus/cmd/plexus").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build plexus (run the example from inside the repository): %w\n%s", err, out)
	}
	return nil
}

// Fatal ends the example, where err isn't nil.
func (s *Stage) Fatal(err error, format string, args ...any) {
	if err != nil {
		panic(failure{fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)})
	}
}

// Skip ends the example where it can't be played, and says why; that is no failure.
func (s *Stage) Skip(format string, args ...any) { panic(skipped{fmt.Sprintf(format, args...)}) }

// Name says what the story calls a Node.
func (s *Stage) Name(id, name string) { s.names[id] = name }

// Program is the plexus program.
func (s *Stage) Program() string { return s.program }

// Dir makes a directory that goes with the run.
func (s *Stage) Dir(name string) string {
	dir := filepath.Join(s.dir, name)
	s.Fatal(os.MkdirAll(dir, 0o700), "make %s", name)
	return dir
}

// Finally has something done at the end, after the daemons.
func (s *Stage) Finally(f func()) { s.done = append(s.done, f) }

// Act begins a part of the story.
func (s *Stage) Act(format string, args ...any) { fmt.Fprintf(s.out, "\n"+format+"\n", args...) }

// Tell says what somebody does; who may be nobody.
func (s *Stage) Tell(who, format string, args ...any) {
	fmt.Fprintf(s.out, "  %-8s %s\n", who, s.plain(fmt.Sprintf(format, args...)))
}

// Check tells what must be so and whether it is. The example goes on, and fails at its end.
func (s *Stage) Check(holds bool, format string, args ...any) {
	s.checks++
	mark := "✓"
	if !holds {
		s.failed++
		mark = "✗ not so:"
	}
	s.Tell("", mark+" "+format, args...)
}

// Until waits for something to become so.
func (s *Stage) Until(ctx context.Context, what string, so func() bool) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for !so() {
		select {
		case <-ctx.Done():
			s.Fatal(ctx.Err(), "wait until %s", what)
		case <-tick.C:
		}
	}
}

// plain puts names where a text has the IDs of Nodes.
func (s *Stage) plain(text string) string {
	for id, name := range s.names {
		text = strings.ReplaceAll(text, id, name)
	}
	return text
}
