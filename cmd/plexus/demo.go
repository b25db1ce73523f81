package main

// This file holds `plexus demo`: the story a newcomer watches. Three daemons as processes of their own, agents by HTTP
// and by MCP, a partition in which both sides go on, and the proof afterwards. The processes are demo_fleet.go's.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"plexus/sdk/client"
)

// demoTime bounds the whole run: it takes some 10 s, and a hang must not look like work.
const demoTime = 2 * time.Minute

func demoCommand() *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch three nodes meet, part, go on offline and merge",
		Long: `Start three nodes as processes with data dirs of their own, let agents talk by HTTP and MCP in two Spaces, cut
one node off while both sides go on and both answer the same checkpoint, join them again, and prove that all three hold the
same: heads, canonical order, plugin state. Needs no network and no arguments; exits 1 if anything differs.`,
		Example: "  plexus demo\n  plexus demo --keep     # leave the data dirs behind for a look",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), demoTime)
			defer cancel()
			return runDemo(ctx, cmd.OutOrStdout(), keep)
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the three data dirs and print where they are")
	return cmd
}

// story is one run of the demo.
type story struct {
	out   io.Writer
	start time.Time
	fleet []*daemon
	plan  map[string]client.SpaceInfo // the two Spaces by name
}

func runDemo(ctx context.Context, out io.Writer, keep bool) (err error) {
	dir, err := os.MkdirTemp("", "plexus-demo-")
	if err != nil {
		return fmt.Errorf("make a directory for the demo: %w", err)
	}
	s := &story{out: out, start: time.Now(), plan: map[string]client.SpaceInfo{}}
	defer func() {
		for _, d := range s.fleet {
			err = errors.Join(err, d.stop())
		}
		if keep {
			s.say("The data dirs are in %s", dir)
			return
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	for _, act := range []func(context.Context) error{
		func(ctx context.Context) error { return s.meet(ctx, dir) },
		s.talk, s.part, s.heal, s.prove,
	} {
		if err := act(ctx); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
	}
	return nil
}

// meet starts the three daemons and joins two of them to the first one's Network by a ticket.
func (s *story) meet(ctx context.Context, dir string) error {
	s.title("1. Three machines that have never met")
	for _, name := range []string{"ada", "bo", "cy"} {
		d, err := startDaemon(ctx, dir, name)
		if err != nil {
			return err
		}
		s.fleet = append(s.fleet, d)
		s.say("%-3s  process %d, its own keys and store, %s", name, d.cmd.Process.Pid, d.admin.URL)
	}
	invite, err := s.fleet[0].admin.Invite(ctx, client.InviteCreate{Uses: 2})
	if err != nil {
		return fmt.Errorf("invite on ada: %w", err)
	}
	s.say("ada  prints a ticket for two: %.24s…", invite.Ticket)
	for _, d := range s.fleet[1:] {
		joined, err := d.admin.Join(ctx, invite.Ticket)
		if err != nil {
			return fmt.Errorf("join on %s: %w", d.name, err)
		}
		s.say("%-3s  joins with it, as %s", d.name, joined.Role)
	}
	return nil
}

// talk makes an agent on each node and lets them meet in two Spaces by name.
func (s *story) talk(ctx context.Context) error {
	s.title("2. Agents meet in Spaces, by name; nobody hosts them")
	for i, d := range s.fleet {
		if err := d.addAgent(ctx, []string{"planner", "coder", "reviewer"}[i], i == 1); err != nil {
			return err
		}
		for _, name := range []string{"design", "build"} {
			info, err := d.agent.Space(ctx, client.SpaceCreate{Name: name, Description: d.role + " on " + d.name})
			if err != nil {
				return fmt.Errorf("%s enters %q: %w", d.role, name, err)
			}
			if first, ok := s.plan[name]; ok && first.ID != info.ID {
				return fmt.Errorf("space %q is %s on %s but %s on ada", name, info.ID, d.name, first.ID)
			} else if !ok {
				s.plan[name] = info
			}
		}
		s.say("%-3s  %s enters both Spaces over %s", d.name, d.role, d.wire)
	}
	s.say("     same name, same ID on every machine: design = %.20s…", s.plan["design"].ID)
	return s.firstWords(ctx)
}

func (s *story) firstWords(ctx context.Context) error {
	hello, err := s.fleet[0].send(ctx, s.plan["design"].ID, client.SendMessage{Content: text("Shall we store sums per minute or per hour?")})
	if err != nil {
		return err
	}
	if err := s.everywhere(ctx, "design", hello.ID); err != nil {
		return err
	}
	answer, err := s.fleet[1].send(ctx, s.plan["design"].ID, client.SendMessage{
		Content: text("Per minute: an hour is sixty of them."), Refs: &client.Ref{Messages: []string{hello.ID}},
	})
	if err != nil {
		return err
	}
	s.say("     planner asks, coder answers: %.20s… → %.20s…", answer.ID, hello.ID)
	return s.everywhere(ctx, "design", answer.ID)
}

// part submits a checkpoint, cuts cy off, and lets both sides write and answer it.
func (s *story) part(ctx context.Context) error {
	s.title("3. The link breaks; both sides go on")
	check, err := s.fleet[1].send(ctx, s.plan["build"].ID, client.SendMessage{
		ContentType: "checkpoint",
		Content:     json.RawMessage(`{"id":"release-1","kind":"approval","title":"Release 1.0?","content":"All tests pass.","options":["Approve","Reject"]}`),
	})
	if err != nil {
		return err
	}
	if err := s.everywhere(ctx, "build", check.ID); err != nil {
		return err
	}
	s.say("bo   coder submits a checkpoint: Release 1.0?  [Approve] [Reject]")
	if err := s.fleet[2].admin.SetOffline(ctx, true); err != nil {
		return fmt.Errorf("cut cy off: %w", err)
	}
	s.say("cy   is cut off: no connection in or out")
	for i := range 5 {
		for _, d := range s.fleet {
			line := fmt.Sprintf("%s, step %d, while the link is down", d.role, i+1)
			if _, err := d.send(ctx, s.plan["build"].ID, client.SendMessage{Content: text(line)}); err != nil {
				return err
			}
		}
	}
	if err := s.answer(ctx, s.fleet[0], check.ID, "Approve", "Ship it."); err != nil {
		return err
	}
	if err := s.answer(ctx, s.fleet[2], check.ID, "Reject", "The changelog is missing."); err != nil {
		return err
	}
	s.say("     15 messages written; ada's side approved, cy rejected: neither knows of the other")
	return s.table(ctx, "build", "     now they differ:")
}

func (s *story) answer(ctx context.Context, d *daemon, checkpoint, option, feedback string) error {
	content, err := json.Marshal(map[string]string{"option": option, "feedback": feedback})
	if err != nil {
		return err
	}
	_, err = d.send(ctx, s.plan["build"].ID, client.SendMessage{Content: content, Refs: &client.Ref{Messages: []string{checkpoint}}})
	return err
}

// heal brings cy back and waits until every Space's digest is the same on all three.
func (s *story) heal(ctx context.Context) error {
	s.title("4. The link is back")
	began := time.Now()
	if err := s.fleet[2].admin.SetOffline(ctx, false); err != nil {
		return fmt.Errorf("bring cy back: %w", err)
	}
	for name := range s.plan {
		if err := s.equal(ctx, name); err != nil {
			return err
		}
	}
	s.say("     in sync again %d ms after: what each lacked was streamed, nothing was asked of a server", time.Since(began).Milliseconds())
	return nil
}
