// Command code-review plays a review between two agents by MCP and a human at a terminal, each on a machine of its own.
package main

import (
	"context"
	"encoding/json"
	"slices"

	"plexus/examples/internal/fleet"
	"plexus/sdk/client"
)

const space = "review 42"

func main() {
	fleet.Main("Code review: two agents by MCP and a human at a terminal, on three machines.", play)
}

// story is what the acts share.
type story struct {
	*fleet.Stage
	laptop          *fleet.Daemon // the human's
	machines        []*fleet.Daemon
	coder, reviewer *fleet.Node
	id              string // of the Space
}

func play(ctx context.Context, s *fleet.Stage) {
	t := &story{Stage: s}
	t.meet(ctx)
	merge := t.review(ctx)
	t.ask(ctx, merge)
	t.handOver(ctx, merge)
}

func (t *story) meet(ctx context.Context) {
	t.Act("1. Three machines, a Space by name")
	t.machines = t.Network(ctx, "laptop", "builder", "checker")
	t.laptop = t.machines[0]
	t.laptop.Command(ctx, "space", space, "-d", "I decide")
	t.Tell("human", "plexus space %q -d 'I decide'", space)
	t.coder, t.reviewer = t.machines[1].Agent(ctx, "coder"), t.machines[2].Agent(ctx, "reviewer")
	t.id = t.coder.Enter(ctx, space, "I write the patch")
	same := t.reviewer.Enter(ctx, space, "I review it")
	t.Tell("coder", "is an MCP client; its tool server is `plexus mcp` on builder: ioa_space %q", space)
	t.Tell("reviewer", "does the same on checker")
	t.Check(t.id == same, "same name, same Space on every machine: %.20s…", t.id)
}

// review has two threads under one patch, and the message that merges them.
func (t *story) review(ctx context.Context) string {
	t.Act("2. Two threads, and the message that merges them")
	patch := t.coder.Reply(ctx, t.id, "Patch 1: retry on 503, for ever")
	t.Tell("coder", "ioa_send: Patch 1: retry on 503, for ever")
	t.Same(ctx, t.id)
	loop := t.reviewer.Reply(ctx, t.id, "The loop never ends: give it a deadline", patch.ID)
	test := t.reviewer.Reply(ctx, t.id, "And there is no test", patch.ID)
	t.Tell("reviewer", "opens two threads: the loop never ends; there is no test")
	t.Same(ctx, t.id)
	one := t.coder.Reply(ctx, t.id, "It stops after 30 s now", loop.ID)
	two := t.coder.Reply(ctx, t.id, "Test added: server answers 503 three times", test.ID)
	merge := t.coder.Reply(ctx, t.id, "Patch 2: deadline and test", one.ID, two.ID)
	t.Tell("coder", "answers in both, and sends Patch 2 with both answers as parents")
	t.Same(ctx, t.id)
	var ids []string
	for _, m := range t.reviewer.Upstream(ctx, t.id, merge.ID) {
		ids = append(ids, m.ID)
	}
	t.Check(slices.Equal(merge.Refs.Messages, []string{one.ID, two.ID}), "Patch 2 has two parents")
	all := []string{patch.ID, loop.ID, test.ID, one.ID, two.ID, merge.ID}
	t.Check(len(ids) == len(all) && !slices.ContainsFunc(all, func(id string) bool { return !slices.Contains(ids, id) }),
		"its past, read on checker, is the whole review: %d messages, both threads", len(ids))
	return merge.ID
}

// ask has the coder wait for the human, who answers at a terminal.
func (t *story) ask(ctx context.Context, merge string) {
	t.Act("3. The human decides")
	check := t.coder.Send(ctx, t.id, "checkpoint", fleet.Map{
		"id": "merge-42", "title": "Merge Patch 2?", "content": "Deadline and test are in.", "options": []string{"Merge", "Wait"},
	}, client.Ref{Messages: []string{merge}})
	t.Tell("coder", "submits a checkpoint and doesn't go on: Merge Patch 2? [Merge] [Wait]")
	t.Same(ctx, t.id, "checkpoint")
	var pending struct{ Checkpoints []struct{ Message string } }
	t.Fatal(json.Unmarshal([]byte(t.laptop.Command(ctx, "view", space, "checkpoint", "pending")), &pending), "read the view pending")
	t.Tell("human", "plexus view %q checkpoint pending", space)
	t.Check(len(pending.Checkpoints) == 1 && pending.Checkpoints[0].Message == check.ID, "it waits on the laptop too")
	t.laptop.Command(ctx, "do", space, "checkpoint", "answer", "--checkpoint", check.ID, "--option", "Merge", "--feedback", "After six, please")
	t.Tell("human", "plexus do %q checkpoint answer --checkpoint … --option Merge --feedback 'After six, please'", space)
	answer := t.coder.Await(ctx, t.id, check.ID, func(m client.Message) bool { return m.ID != check.ID })
	var said struct{ Option, Feedback string }
	t.Fatal(json.Unmarshal(answer.Content, &said), "read the answer")
	t.Check(said.Option == "Merge", "the coder reads the answer with ioa_read: %s, %q", said.Option, said.Feedback)
	t.coder.Reply(ctx, t.id, "Merged", answer.ID)
	t.Tell("coder", "merges, and replies to the answer: that settles it")
	t.Same(ctx, t.id, "checkpoint")
	var done struct {
		Checkpoints []struct {
			Settled bool
			Answer  struct{ Option string }
		}
	}
	t.Fatal(json.Unmarshal([]byte(t.laptop.Command(ctx, "view", space, "checkpoint", "answered")), &done), "read the view answered")
	t.Check(len(done.Checkpoints) == 1 && done.Checkpoints[0].Settled && done.Checkpoints[0].Answer.Option == "Merge",
		"answered and settled: no answer that comes late can overturn it")
}

// handOver passes the work on, with the whole review as its context.
func (t *story) handOver(ctx context.Context, merge string) {
	t.Act("4. The work goes on in other hands")
	hand := t.coder.Send(ctx, t.id, "handoff", fleet.Map{"title": "Watch the roll-out", "message": "It goes out after six.", "context": "ancestors"},
		client.Ref{Messages: []string{merge}, Nodes: []string{t.reviewer.ID}})
	t.Tell("coder", "hands the roll-out to the reviewer, and is done")
	t.Same(ctx, t.id, "handoff")
	past := t.reviewer.Upstream(ctx, t.id, hand.ID)
	t.Check(len(past) == 7, "the reviewer reads what goes along: %d messages, from the first patch to the handoff", len(past))
	t.reviewer.Send(ctx, t.id, "handoff:claim", fleet.Map{}, client.Ref{Messages: []string{hand.ID}, Nodes: []string{t.coder.ID}})
	t.Tell("reviewer", "claims it")
	t.Same(ctx, t.id, "checkpoint", "handoff")
	var all struct {
		Handoffs []struct {
			Status string
			Claim  struct{ By string }
		}
	}
	t.Fatal(json.Unmarshal([]byte(t.laptop.Command(ctx, "view", space, "handoff", "all")), &all), "read the view all")
	t.Check(len(all.Handoffs) == 1 && all.Handoffs[0].Status == "claimed" && all.Handoffs[0].Claim.By == t.reviewer.ID, "the laptop shows who has it: %s", all.Handoffs[0].Claim.By)
}
