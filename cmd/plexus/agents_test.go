package main

// This file holds the test with real agent harnesses: OpenCode on each of two nodes, driven by a scripted model on loopback,
// calls our MCP tools, so that the whole way from an agent's mind to another's is walked. .ci/mcp.sh installs the harness.

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"plexus/internal/scripted"
	"plexus/sdk/client"
)

// harness returns the OpenCode binary, or skips the test.
func harness(t *testing.T) string {
	t.Helper()
	path := os.Getenv("PLEXUS_OPENCODE")
	if path == "" {
		t.Skip("skipped: PLEXUS_OPENCODE doesn't name an OpenCode binary (.ci/mcp.sh installs one)")
	}
	return path
}

// runHarness lets OpenCode work with `plexus mcp` of the daemon as its only tool server, and returns its output.
func runHarness(ctx context.Context, t *testing.T, d *daemon, s scripted.Script) (string, error) {
	model, err := scripted.Serve(s)
	if err != nil {
		return "", err
	}
	defer model.Close()
	cmd, err := scripted.OpenCode(ctx, harness(t), t.TempDir(), model.URL, plexus(t), "mcp", "--dir", d.dir)
	if err != nil {
		return "", err
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// asker enters a Space, asks, waits for the answer, and says it.
func asker(results []string) scripted.Turn {
	switch len(results) {
	case 0:
		return scripted.Turn{Tool: "ioa_space", Args: map[string]any{"name": "kitchen", "description": "I ask"}}
	case 1:
		return scripted.Turn{Tool: "ioa_send", Args: map[string]any{"space_id": scripted.Field(results[0], "id"), "content": map[string]any{"text": "How much salt?"}}}
	}
	space, question := scripted.Field(results[0], "id"), scripted.Field(results[1], "id")
	if last := results[len(results)-1]; len(results) > 2 && strings.Contains(last, "a pinch") {
		return scripted.Turn{Text: "The answer is: a pinch."}
	}
	return scripted.Turn{Tool: "ioa_read", Args: map[string]any{"space_id": space, "message_id": question, "direction": "downstream", "after": question, "wait_ms": 20000}}
}

// answerer enters the Space, waits for a question, and answers it.
func answerer(results []string) scripted.Turn {
	if len(results) == 0 {
		return scripted.Turn{Tool: "ioa_space", Args: map[string]any{"name": "kitchen", "description": "I answer"}}
	}
	space, last := scripted.Field(results[0], "id"), results[len(results)-1]
	switch {
	case strings.Contains(last, "a pinch"):
		return scripted.Turn{Text: "Answered."}
	case strings.Contains(last, "How much salt?") && len(results) > 1:
		return scripted.Turn{Tool: "ioa_send", Args: map[string]any{
			"space_id": space, "content": map[string]any{"text": "a pinch"}, "refs": map[string]any{"messages": []string{scripted.Field(last, "id")}},
		}}
	}
	return scripted.Turn{Tool: "ioa_read", Args: map[string]any{"space_id": space, "all": true, "wait_ms": 20000}}
}

func TestAgentHarnessesOnTwoNodes(t *testing.T) {
	harness(t)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	dir := t.TempDir()
	a, b := startTestDaemon(ctx, t, dir, "a"), startTestDaemon(ctx, t, dir, "b")
	invite, err := a.admin.Invite(ctx, client.InviteCreate{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.admin.Join(ctx, invite.Ticket); err != nil {
		t.Fatal(err)
	}
	type end struct {
		who, out string
		err      error
	}
	ends := make(chan end, 2)
	for _, p := range []struct {
		who string
		d   *daemon
		s   scripted.Script
	}{{"asker", a, asker}, {"answerer", b, answerer}} {
		go func() {
			out, err := runHarness(ctx, t, p.d, p.s)
			ends <- end{p.who, out, err}
		}()
	}
	for range 2 {
		e := <-ends
		want := map[string]string{"asker": "The answer is: a pinch.", "answerer": "Answered."}[e.who]
		if e.err != nil || !strings.Contains(e.out, want) {
			t.Errorf("%s: %v\n%s", e.who, e.err, e.out)
		}
	}
}

// startTestDaemon starts a daemon that ends with the test.
func startTestDaemon(ctx context.Context, t *testing.T, dir, name string) *daemon {
	t.Helper()
	d := newDaemon(dir, name)
	if err := d.start(ctx, plexus(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.stop(); err != nil {
			t.Error(fmt.Errorf("stop %s: %w", name, err))
		}
	})
	return d
}
