package examples

// This file runs every example as a process and holds it to what its README promises: how it ends, and what it says. It takes a minute or
// two, so it is a stage of its own in .ci/run.

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	turnedOn    = "PLEXUS_EXAMPLES" // the environment variable without which the tests are skipped
	exampleTime = 4 * time.Minute   // each takes well under one, on a box that does nothing else
)

func TestExamples(t *testing.T) {
	if os.Getenv(turnedOn) == "" {
		t.Skip("skipped: set " + turnedOn + "=1, as .ci/run examples does; it takes a minute or two")
	}
	bin := build(t, "plexus", "plexus/cmd/plexus")
	for name, want := range map[string][]string{
		"code-review": {
			"Patch 2 has two parents", "the whole review: 6 messages, both threads", "the coder reads the answer with ioa_read: Merge",
			"answered and settled", "the laptop shows who has it: reviewer",
		},
		"edge-fleet": {
			"all have joined", "the task was done while the hill was out of reach", "behind the hill they went on too: 8 parts done there, 12 open",
			"21 machines hold the same: 64 messages", "sensor-20: the task is completed, the hottest is zone-12", "came too late to change it, and are kept",
		},
		"shop": {
			"it is the same task", "webhook task.completed, signature verified", "tried twice, both times with the same webhook-id", "refused before anybody sees it",
			"the shop answers 401", "mode hybrid: not done within its second, pending", "lists the shop's 3 orders",
		},
		"swarm": {
			"store is with bob", "cem was told, once, by ann's Node", "ann's Node says so, by a timer",
			"store goes over: by cem, taken from bob", "cem's machine says: done, 3 of 3 scopes reported",
		},
		"vote-partition": {
			"only provisional: two confirm it, of five", "final by quorum: three confirm it", "ann's machine: closed no by quorum", "cem's machine: closed no by quorum",
		},
	} {
		t.Run(name, func(t *testing.T) { t.Log(play(t, name, want, "PLEXUS_PROGRAM="+bin)) })
	}
}

// Two real harnesses; .ci/mcp.sh has them.
func TestTwoHarnesses(t *testing.T) {
	if os.Getenv("PLEXUS_OPENCODE") == "" {
		t.Skip("skipped: PLEXUS_OPENCODE doesn't name an OpenCode binary (.ci/mcp.sh installs one)")
	}
	t.Log(play(t, "two-harnesses", []string{
		"by alpha's agent", "alpha's harness ends: it read the answer", "beta's harness ends: it claimed the work", "claimed by beta's agent", "but not on Friday",
	}))
}

// Where there is no npm either, that example says so and fails nothing.
func TestTwoHarnessesWithoutNpm(t *testing.T) {
	if os.Getenv(turnedOn) == "" {
		t.Skip("skipped: set " + turnedOn + "=1, as .ci/run examples does")
	}
	cmd := exec.CommandContext(t.Context(), build(t, "two-harnesses", "plexus/examples/two-harnesses"))
	cmd.Env = []string{"PLEXUS_PROGRAM=none", "HOME=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "SKIPPED: there is no npm") {
		t.Errorf("%v\n%s", err, out)
	}
}

// build makes a program and returns its path.
func build(t *testing.T, name, pkg string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, pkg).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return path
}

// play runs an example and returns its last line but for what a test adds.
func play(t *testing.T, name string, want []string, env ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), exampleTime)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, build(t, name, "plexus/examples/"+name))
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), &out, &out
	err := cmd.Run()
	for _, line := range append(want, "checks hold") {
		if !strings.Contains(out.String(), line) {
			t.Errorf("it doesn't say %q", line)
		}
	}
	if err != nil || t.Failed() {
		t.Fatalf("%v\n%s", err, &out)
	}
	lines := strings.Split(strings.TrimSuffix(strings.TrimSpace(out.String()), "\nPASS"), "\n")
	return lines[len(lines)-1]
}

// Every example has a README that says how to run it.
func TestEveryExampleHasAReadme(t *testing.T) {
	dirs, err := filepath.Glob("*/main.go")
	if err != nil || len(dirs) < 3 {
		t.Fatalf("%v: %v", dirs, err)
	}
	for _, main := range dirs {
		name := filepath.Dir(main)
		raw, err := os.ReadFile(filepath.Join(name, "README.md"))
		if err != nil || !strings.Contains(string(raw), "go run ./examples/"+name) {
			t.Errorf("%s: its README doesn't say `go run ./examples/%s` (%v)", name, name, err)
		}
		if index, err := os.ReadFile("README.md"); err != nil || !strings.Contains(string(index), "("+name+"/README.md)") {
			t.Errorf("README.md doesn't name %s (%v)", name, err)
		}
	}
}
