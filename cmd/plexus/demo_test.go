package main

// This file holds the demo and the benches to what they promise.

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func runPlexus(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, plexus(t), args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = childEnv(), &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("plexus %s: %v\n%s\n%s", strings.Join(args, " "), err, &out, &errs)
	}
	return out.String()
}

func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short")
	}
	out := runPlexus(t, "demo")
	for _, want := range []string{"now they differ", "in sync again", "verify is clean on all three", "Same heads, same order, same plugin state"} {
		if !strings.Contains(out, want) {
			t.Errorf("the demo doesn't say %q:\n%s", want, out)
		}
	}
}

func TestBenchFoldRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short")
	}
	var r foldResult
	out := runPlexus(t, "bench", "fold", "--messages", "300", "--json")
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if len(r.Runners) != 5 || r.Runners[0].Name != "native" || r.Runners[1].Name != "go" || r.Runners[1].Ratio <= 0 || r.Pause.Gas == 0 {
		t.Errorf("bench fold says %+v", r)
	}
}

func TestBenchesRun(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short")
	}
	for _, name := range []string{"send", "read", "propagate", "sync"} {
		t.Run(name, func(t *testing.T) {
			var r benchResult
			out := runPlexus(t, "bench", name, "--messages", "300", "--json")
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if r.Bench != name || r.Messages == 0 || r.Rate <= 0 {
				t.Errorf("bench %s says %+v", name, r)
			}
		})
	}
}
