package main

// This file holds the demo's proof: what must be the same on every node, read from each and compared.

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"plexus/sdk/client"
)

// demoPoll is how often the demo looks again while it waits for replicas.
const demoPoll = 20 * time.Millisecond

// proof is what one node says of one Space.
type proof struct {
	Messages int
	Digest   string // over the heads: equal heads, equal logs
	Order    string // over the IDs of all messages in canonical order
	State    string // of the checkpoint plugin
	Holds    string // how the checkpoint came out
}

func (s *story) proofOf(ctx context.Context, d *daemon, space string) (proof, error) {
	var p proof
	st, err := d.spaceStatus(ctx, s.plan[space].ID)
	if err != nil {
		return p, err
	}
	p.Digest, p.Messages = st.Digest, st.Messages
	h := sha256.New()
	q := client.ReadQuery{SpaceID: s.plan[space].ID, All: true, Order: "canonical", Limit: 1000}
	for {
		page, err := d.agent.Read(ctx, q)
		if err != nil {
			return p, fmt.Errorf("read %s on %s: %w", space, d.name, err)
		}
		for _, m := range page.Messages {
			fmt.Fprintln(h, m.ID)
		}
		if page.Next == "" {
			break
		}
		q.After = page.Next
	}
	p.Order = fmt.Sprintf("%x", h.Sum(nil))
	err = waitUntil(ctx, func() (current bool, err error) {
		p.State, current, err = d.admin.StateHash(ctx, s.plan[space].ID, "checkpoint")
		return current, err
	})
	if err != nil {
		return p, fmt.Errorf("state of checkpoint on %s: %w", d.name, err)
	}
	p.Holds, err = d.outcome(ctx, s.plan[space].ID)
	return p, err
}

// table prints each node's proof of a Space.
func (s *story) table(ctx context.Context, space, caption string) error {
	_, err := s.compare(ctx, space, caption)
	return err
}

// compare prints the proofs and says whether all are the same.
func (s *story) compare(ctx context.Context, space, caption string) (same bool, err error) {
	s.say("%s", caption)
	s.say("     %-4s %9s  %-14s %-14s %-14s %s", "node", "messages", "heads", "order", "plugin state", "release-1")
	same = true
	var first proof
	for i, d := range s.fleet {
		p, err := s.proofOf(ctx, d, space)
		if err != nil {
			return false, err
		}
		if i == 0 {
			first = p
		}
		same = same && p == first
		s.say("     %-4s %9d  %-14.12s %-14.12s %-14.12s %s", d.name, p.Messages, p.Digest, p.Order, p.State, p.Holds)
	}
	return same, nil
}

// prove demands that all three are the same in both Spaces, and that each node's store passes verify.
func (s *story) prove(ctx context.Context) error {
	s.title("5. The proof")
	for _, space := range []string{"design", "build"} {
		same, err := s.compare(ctx, space, "     Space "+space+":")
		if err != nil {
			return err
		}
		if !same {
			return fmt.Errorf("the nodes differ in Space %s: this is a bug, please report it with the table above", space)
		}
	}
	for _, d := range s.fleet {
		report, err := d.admin.Verify(ctx)
		if err != nil {
			return fmt.Errorf("verify on %s: %w", d.name, err)
		}
		if len(report.Problems) > 0 {
			return fmt.Errorf("verify on %s found: %s", d.name, report.Problems[0])
		}
	}
	s.say("     verify is clean on all three: every hash, signature, rule and index")
	s.say("\nSame heads, same order, same plugin state on three machines, after a partition and without a server. %.1f s.", time.Since(s.start).Seconds())
	s.say("The rejected and the approved answer are both kept; which one holds is the same everywhere, since canonical order is.")
	return nil
}

// everywhere waits until a message is readable on every node.
func (s *story) everywhere(ctx context.Context, space, id string) error {
	for _, d := range s.fleet {
		err := waitUntil(ctx, func() (bool, error) {
			_, err := d.agent.Read(ctx, client.ReadQuery{SpaceID: s.plan[space].ID, MessageID: id, Limit: 1})
			return err == nil, nil
		})
		if err != nil {
			return fmt.Errorf("message %s didn't reach %s: %w", id, d.name, err)
		}
	}
	return nil
}

// equal waits until a Space's digest is the same on every node.
func (s *story) equal(ctx context.Context, space string) error {
	return waitUntil(ctx, func() (bool, error) {
		var first string
		for i, d := range s.fleet {
			st, err := d.spaceStatus(ctx, s.plan[space].ID)
			if err != nil {
				return false, err
			}
			if i == 0 {
				first = st.Digest
			}
			if st.Digest != first {
				return false, nil
			}
		}
		return true, nil
	})
}

func waitUntil(ctx context.Context, done func() (bool, error)) error {
	tick := time.NewTicker(demoPoll)
	defer tick.Stop()
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func text(s string) json.RawMessage {
	b, err := json.Marshal(map[string]string{"text": s})
	if err != nil {
		panic(err) // a map of strings always marshals
	}
	return b
}

func (s *story) title(format string, args ...any) {
	fmt.Fprintf(s.out, "\n"+format+"\n", args...)
}

func (s *story) say(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// outcome says how the checkpoint came out on one node: which answer holds and how many are overruled.
func (d *daemon) outcome(ctx context.Context, space string) (string, error) {
	raw, err := d.admin.View(ctx, space, "checkpoint", "all", nil)
	if err != nil {
		return "", fmt.Errorf("view of checkpoint on %s: %w", d.name, err)
	}
	var view struct {
		Checkpoints []struct {
			Answer *struct {
				Option string `json:"option"`
			} `json:"answer"`
			Overruled []json.RawMessage `json:"overruled"`
		} `json:"checkpoints"`
	}
	if err := json.Unmarshal(raw, &view); err != nil {
		return "", fmt.Errorf("view of checkpoint on %s: %w", d.name, err)
	}
	if len(view.Checkpoints) == 0 {
		return "–", nil
	}
	c := view.Checkpoints[0]
	if c.Answer == nil {
		return "pending", nil
	}
	return fmt.Sprintf("%s holds, %d overruled", c.Answer.Option, len(c.Overruled)), nil
}
