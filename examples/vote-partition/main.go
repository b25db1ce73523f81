// Command vote-partition plays a vote whose electors are parted before they vote: both sides count, and only one count can become final.
package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"plexus/examples/internal/fleet"
)

// votingTime is how long the ballot is open: enough to vote on both sides of the partition.
const votingTime = 8 * time.Second

func main() {
	fleet.Main("A vote during a partition: five electors on three machines, one of which is cut off.", play)
}

// ballot is the view of one.
type ballot struct {
	Status, Finality string
	Votes            []struct{ Node, Option string }
	Result           struct {
		Message, Option, Reason, By string
		Tally                       []struct {
			Option string
			Weight int
		}
	}
}

// tally prints the counted votes: "yes 1, no 2".
func (b ballot) tally() string {
	var out []string
	for _, x := range b.Result.Tally {
		if x.Weight > 0 {
			out = append(out, fmt.Sprintf("%s %d", x.Option, x.Weight))
		}
	}
	return strings.Join(out, ", ")
}

// story is what the acts share.
type story struct {
	*fleet.Stage
	machines                 []*fleet.Daemon
	ann, bob, cem, dan, eve  *fleet.Node
	space, ballot, afterward string
	deadline                 time.Time
}

func play(ctx context.Context, s *fleet.Stage) {
	t := &story{Stage: s}
	t.open(ctx)
	t.vote(ctx)
	t.count(ctx)
	t.heal(ctx)
}

func (t *story) open(ctx context.Context) {
	t.Act("1. Five electors")
	t.machines = t.Network(ctx, "left", "middle", "right")
	node := func(on int, name string) *fleet.Node {
		n := t.machines[on].Node(ctx, name, "human")
		t.space = n.Enter(ctx, "board", "I vote")
		t.Tell(name, "votes on %s", t.machines[on].Name)
		return n
	}
	t.ann, t.bob = node(0, "ann"), node(1, "bob")
	t.cem, t.dan, t.eve = node(2, "cem"), node(2, "dan"), node(2, "eve")
	t.Same(ctx, t.space, "ballot")
	t.deadline = time.Now().Add(votingTime)
	t.ballot = t.ann.Do(ctx, t.space, "ballot", "open", fleet.Map{
		"question": "Ship on Friday?", "rule": "majority", "quorum": 2, "deadline": t.deadline.UTC().Format(time.RFC3339Nano),
		"nodes": []string{t.ann.ID, t.bob.ID, t.cem.ID, t.dan.ID, t.eve.ID},
	}).ID
	t.Tell("ann", "opens: Ship on Friday? yes or no, more than half of those who vote, two at least, within %s", votingTime)
	t.Same(ctx, t.space, "ballot")
}

func (t *story) vote(ctx context.Context) {
	t.Act("2. The link breaks, then all vote")
	t.machines[2].Offline(ctx, true)
	t.Tell("right", "is cut off: cem, dan and eve are alone")
	refused := t.cem.Refused(ctx, t.space, "ballot", "close", fleet.Map{"ballot": t.ballot})
	t.Check(refused != "", "nobody may count yet: %q", refused)
	for _, v := range []struct {
		n      *fleet.Node
		option string
	}{{t.ann, "yes"}, {t.bob, "yes"}, {t.cem, "no"}, {t.dan, "no"}, {t.eve, "yes"}} {
		v.n.Do(ctx, t.space, "ballot", "cast", fleet.Map{"ballot": t.ballot, "option": v.option})
		t.Tell(v.n.Name, "votes %s", v.option)
	}
}

// count has both sides count what they know.
func (t *story) count(ctx context.Context) {
	t.Act("3. The deadline passes; each side counts what it knows")
	t.Until(ctx, "the deadline has passed", func() bool { return time.Now().After(t.deadline.Add(100 * time.Millisecond)) })
	t.close(ctx, t.bob)
	t.Until(ctx, "ann knows bob's count", func() bool { return t.look(ctx, t.ann).Status == "counted" })
	left := t.confirm(ctx, t.bob, t.ann)
	t.Check(left.Result.Option == "yes" && left.Finality == "provisional", "on the left: %s (%s), and only %s: two confirm it, of five", left.Result.Option, left.tally(), left.Finality)
	t.close(ctx, t.cem)
	t.afterward = t.look(ctx, t.cem).Result.Message
	right := t.confirm(ctx, t.cem, t.dan, t.eve)
	t.Check(right.Result.Option == "no" && right.Finality == "quorum", "on the right: %s (%s), and final by %s: three confirm it, more than half of all", right.Result.Option, right.tally(), right.Finality)
}

func (t *story) close(ctx context.Context, n *fleet.Node) {
	n.Do(ctx, t.space, "ballot", "close", fleet.Map{"ballot": t.ballot})
	t.Tell(n.Name, "counts")
}

// confirm has electors confirm the count that leads where they are, and returns how it then stands there.
func (t *story) confirm(ctx context.Context, nodes ...*fleet.Node) ballot {
	for _, n := range nodes {
		n.Do(ctx, t.space, "ballot", "confirm", fleet.Map{"ballot": t.ballot})
		t.Tell(n.Name, "confirms the count")
	}
	return t.look(ctx, nodes[len(nodes)-1])
}

func (t *story) heal(ctx context.Context) {
	t.Act("4. The link is back")
	t.machines[2].Offline(ctx, false)
	t.Same(ctx, t.space, "ballot")
	for _, n := range []*fleet.Node{t.ann, t.bob, t.cem} {
		b := t.look(ctx, n)
		t.Check(b.Status == "closed" && b.Finality == "quorum" && b.Result.Option == "no" && b.Result.Message == t.afterward && len(b.Votes) == 5,
			"%s's machine: %s %s by %s, though it now holds five votes and bob counted first", n.Name, b.Status, b.Result.Option, b.Finality)
	}
	refused := t.ann.Refused(ctx, t.space, "ballot", "close", fleet.Map{"ballot": t.ballot})
	t.Check(refused != "", "not even who opened it can count again: %q", refused)
	t.Tell("", "The rule: a count is final when the opener made it, or when more than half of the electorate confirmed it. No two")
	t.Tell("", "sides of a partition have more than half. Votes that a count didn't know don't count, however they are dated.")
}

func (t *story) look(ctx context.Context, n *fleet.Node) (b ballot) {
	n.View(ctx, t.space, "ballot", "ballot", fleet.Map{"ballot": t.ballot}, &b)
	return b
}
