// Command two-harnesses plays two real agent harnesses (OpenCode) on two machines and a human on a third: one asks the human and hands the work
// to the other. A scripted model stands in for the language model; everything else is real.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"plexus/examples/internal/fleet"
	"plexus/internal/scripted"
	"plexus/sdk/client"
)

const (
	space = "release 7"
	// version is of opencode-ai at npm, as in .ci/mcp.sh.
	version = "1.18.33"
	// binary is the environment variable that names an OpenCode binary; without it npm is asked.
	binary = "PLEXUS_OPENCODE"
)

func main() {
	fleet.Main("Two harnesses: OpenCode on two machines, a human on a third. One asks, the human answers, the other goes on.", play)
}

// story is what the acts share.
type story struct {
	*fleet.Stage
	alpha, beta, home *fleet.Daemon
	id                string // of the Space
	asker, worker     *harness
}

// harness is one OpenCode at work.
type harness struct {
	cmd *exec.Cmd
	out bytes.Buffer // read only once it has ended
}

func play(ctx context.Context, s *fleet.Stage) {
	t := &story{Stage: s}
	opencode := t.opencode(ctx)
	t.Act("1. Three machines")
	machines := t.Network(ctx, "alpha", "beta", "home")
	t.alpha, t.beta, t.home = machines[0], machines[1], machines[2]
	t.home.Command(ctx, "space", space, "-d", "I decide")
	t.Tell("human", "enters the Space %q on home", space)
	t.id = t.home.SpaceID(ctx, space)
	t.Same(ctx, t.id, "checkpoint") // the machines' first start compiles the patterns
	t.Act("2. Two harnesses begin, each with plexus mcp as its only tool server")
	t.asker = t.run(ctx, opencode, t.alpha, asks)
	t.Tell("alpha", "OpenCode, process %d: ask a human whether build 7 may go out, then hand it over", t.asker.cmd.Process.Pid)
	t.worker = t.run(ctx, opencode, t.beta, works)
	t.Tell("beta", "OpenCode, process %d: wait for work, claim it, do it", t.worker.cmd.Process.Pid)
	t.decide(ctx)
	t.end(ctx)
}

// opencode finds the harness, has npm install it, or skips the example.
func (t *story) opencode(ctx context.Context) string {
	if path := os.Getenv(binary); path != "" {
		return path
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("there is no npm to get OpenCode with; %s may name a binary of it", binary)
	}
	cache, err := os.UserCacheDir()
	t.Fatal(err, "find a cache directory")
	dir := filepath.Join(cache, "plexus-examples", "opencode-"+version)
	found := func() string {
		for _, pattern := range []string{"opencode-linux-*", "opencode-darwin-*"} {
			if list, _ := filepath.Glob(filepath.Join(dir, "node_modules", pattern, "bin", "opencode")); len(list) > 0 {
				return list[0]
			}
		}
		return ""
	}
	if path := found(); path != "" {
		return path
	}
	t.Tell("", "npm installs opencode-ai@%s once, into the cache directory …", version)
	t.Fatal(os.MkdirAll(dir, 0o700), "make %s", dir)
	cmd := exec.CommandContext(ctx, npm, "install", "--prefix", dir, "--no-audit", "--no-fund", "--silent", "opencode-ai@"+version)
	out, err := cmd.CombinedOutput()
	path := found()
	if err != nil || path == "" {
		t.Skip("npm can't install opencode-ai@%s here: %v %s", version, err, bytes.TrimSpace(out))
	}
	return path
}

// run starts a harness on a machine, with a model that follows the script.
func (t *story) run(ctx context.Context, opencode string, d *fleet.Daemon, s scripted.Script) *harness {
	model, err := scripted.Serve(s)
	t.Fatal(err, "serve a model for %s", d.Name)
	t.Finally(func() { _ = model.Close() })
	cmd, err := scripted.OpenCode(ctx, opencode, t.Dir("home of "+d.Name), model.URL, t.Program(), "mcp", "--dir", d.Dir())
	t.Fatal(err, "prepare OpenCode on %s", d.Name)
	h := &harness{cmd: cmd}
	cmd.Stdout, cmd.Stderr = &h.out, &h.out
	t.Fatal(cmd.Start(), "start OpenCode on %s", d.Name)
	return h
}

// decide is the human's part, at a terminal on home.
func (t *story) decide(ctx context.Context) {
	t.Act("3. The human answers, on the third machine")
	var pending struct {
		Checkpoints []struct{ Message, Title, Sender string }
	}
	t.Until(ctx, "the question has come to home", func() bool {
		t.Fatal(json.Unmarshal([]byte(t.home.Command(ctx, "view", space, "checkpoint", "pending")), &pending), "read the view pending")
		return len(pending.Checkpoints) > 0
	})
	c := pending.Checkpoints[0]
	t.Name(c.Sender, "alpha's agent")
	t.Tell("human", "plexus view %q checkpoint pending: %q, by %s", space, c.Title, c.Sender)
	t.home.Command(ctx, "do", space, "checkpoint", "answer", "--checkpoint", c.Message, "--option", "Approve", "--feedback", "but not on Friday")
	t.Tell("human", "plexus do %q checkpoint answer --option Approve --feedback 'but not on Friday'", space)
}

// end waits for both harnesses and looks at what they left.
func (t *story) end(ctx context.Context) {
	t.Act("4. The work goes over")
	for _, h := range []*harness{t.asker, t.worker} {
		err := h.cmd.Wait()
		t.Fatal(err, "OpenCode: %s", strings.TrimSpace(h.out.String()))
	}
	t.Check(strings.Contains(t.asker.out.String(), "Handed over."), "alpha's harness ends: it read the answer, settled it, and handed the roll-out over")
	t.Check(strings.Contains(t.worker.out.String(), "Rolled out."), "beta's harness ends: it claimed the work, read what goes along, and did it")
	t.Same(ctx, t.id, "checkpoint", "handoff")
	var all struct {
		Handoffs []struct {
			Sender, Status string
			Claim          struct{ By string }
		}
	}
	t.Fatal(json.Unmarshal([]byte(t.home.Command(ctx, "view", space, "handoff", "all")), &all), "read the view all")
	if t.Check(len(all.Handoffs) == 1, "there is one handoff"); len(all.Handoffs) != 1 {
		return
	}
	h := all.Handoffs[0]
	t.Name(h.Claim.By, "beta's agent")
	t.Check(h.Status == "claimed" && h.Claim.By != h.Sender, "home shows who has it: handed over by %s, claimed by %s", h.Sender, h.Claim.By)
	var last client.Message
	for _, m := range t.home.Messages(ctx, t.id) {
		last = m
	}
	t.Check(last.Sender == h.Claim.By && strings.Contains(string(last.Content), "but not on Friday"), "and the last word is beta's, which knew what the human had said: %s", last.Content)
}
