// Command swarm plays a swarm on three machines: two claim the same scope at once, and one of them falls silent.
package main

import (
	"context"
	"encoding/json"

	"plexus/examples/internal/fleet"
	"plexus/sdk/client"
)

func main() {
	fleet.Main("Swarm: many on one objective, nobody assigns. A member falls silent and is taken over.", play)
}

// scope is an item of the view scopes.
type scope struct {
	Scope, Status, By string
	TakenFrom         string `json:"taken_from"`
	Overruled         []struct {
		By   string
		Told bool
	}
}

// story is what the acts share.
type story struct {
	*fleet.Stage
	machines             []*fleet.Daemon
	ann, bob, cem        *fleet.Node
	space, leak, contest string
}

func play(ctx context.Context, s *fleet.Stage) {
	t := &story{Stage: s}
	t.begin(ctx)
	t.claimAtOnce(ctx)
	t.fallSilent(ctx)
	t.converge(ctx)
}

func (t *story) begin(ctx context.Context) {
	t.Act("1. An objective")
	t.machines = t.Network(ctx, "north", "east", "west")
	t.ann, t.bob, t.cem = t.machines[0].Node(ctx, "ann", "human"), t.machines[1].Node(ctx, "bob", "agent"), t.machines[2].Node(ctx, "cem", "agent")
	for _, n := range []*fleet.Node{t.ann, t.bob, t.cem} {
		t.space = n.Enter(ctx, "build 7", "I look for leaks")
	}
	t.Same(ctx, t.space, "swarm") // a machine's very first start compiles the patterns
	t.Fatal(t.ann.HTTP.React(ctx, t.space, "swarm", true), "turn ann's reaction on")
	t.Tell("ann", "lets the swarm pattern speak for her: plexus plugin react swarm on")
	t.leak = t.ann.Do(ctx, t.space, "swarm", "start", fleet.Map{"content": "Find the leak in build 7", "targets": []string{"api", "store", "docs"}}).ID
	t.Tell("ann", "sets the objective, with the scopes api, store, docs")
	t.Same(ctx, t.space, "swarm")
	for _, n := range []*fleet.Node{t.bob, t.cem} {
		n.Do(ctx, t.space, "swarm", "introduce", fleet.Map{"objective": t.leak, "content": "I know profilers"})
		t.Tell(n.Name, "introduces himself")
	}
}

func (t *story) claimAtOnce(ctx context.Context) {
	t.Act("2. Two claim the same, on two sides of a broken link")
	t.machines[2].Offline(ctx, true)
	t.Tell("west", "is cut off")
	t.claim(ctx, t.bob, "store", 6)
	t.contest = t.claim(ctx, t.cem, "store", 60)
	t.claim(ctx, t.cem, "docs", 60)
	t.machines[2].Offline(ctx, false)
	t.Tell("west", "is back")
	t.Until(ctx, "cem is told", func() bool { return len(t.notices(ctx, t.cem, "overruled")) > 0 })
	t.Same(ctx, t.space, "swarm")
	store := t.scope(ctx, t.cem, "store")
	t.Check(store.By == t.bob.ID, "the first claim in canonical order leads, on all machines alike: store is with %s", store.By)
	told := t.notices(ctx, t.cem, "overruled")
	t.Check(len(told) == 1 && told[0].Sender == t.ann.ID && told[0].Refs.Messages[0] == t.contest,
		"cem was told, once, by ann's Node: %q", t.text(told[0]))
	t.Check(len(store.Overruled) == 1 && store.Overruled[0].Told, "the view shows the overruled claim, and that its author knows")
}

func (t *story) fallSilent(ctx context.Context) {
	t.Act("3. One falls silent")
	t.bob.Do(ctx, t.space, "swarm", "share", fleet.Map{"objective": t.leak, "content": "Iterators stay open, I think", "targets": []string{"store"}})
	t.Same(ctx, t.space)
	t.machines[1].Kill()
	t.Tell("east", "dies in the middle of it (kill -9): bob says nothing more")
	refused := t.cem.Refused(ctx, t.space, "swarm", "claim", fleet.Map{"objective": t.leak, "content": "Then I", "targets": []string{"store"}})
	t.Check(refused != "", "as long as bob's ETA runs, cem may not take over: %q", refused)
	t.Tell("", "… bob said 6 seconds, from his last word on …")
	t.Until(ctx, "cem hears that bob is silent", func() bool { return t.scope(ctx, t.cem, "store").Status == "overdue" })
	late := t.notices(ctx, t.cem, "overdue")
	t.Check(len(late) > 0 && late[0].Sender == t.ann.ID, "ann's Node says so, by a timer, to the one who wanted it too: %q", t.text(late[len(late)-1]))
	t.claim(ctx, t.cem, "store", 60)
	store := t.scope(ctx, t.ann, "store")
	t.Until(ctx, "ann sees the takeover", func() bool { store = t.scope(ctx, t.ann, "store"); return store.By == t.cem.ID })
	t.Check(store.TakenFrom == t.bob.ID && store.Status == "claimed", "store goes over: by %s, taken from %s", store.By, store.TakenFrom)
}

func (t *story) converge(ctx context.Context) {
	t.Act("4. Back, and done")
	t.cem.Do(ctx, t.space, "swarm", "report", fleet.Map{"objective": t.leak, "content": "Closed the iterators; memory is flat", "targets": []string{"store", "docs"}})
	t.Tell("cem", "reports store and docs")
	t.machines[1].Start(ctx)
	t.bob.Moved(t.machines[1])
	t.Same(ctx, t.space, "swarm")
	refused := t.bob.Refused(ctx, t.space, "swarm", "report", fleet.Map{"objective": t.leak, "content": "Found it", "targets": []string{"store"}})
	t.Check(refused != "", "bob is back and can't report what is no longer his: %q", refused)
	t.claim(ctx, t.bob, "api", 60)
	t.bob.Do(ctx, t.space, "swarm", "report", fleet.Map{"objective": t.leak, "content": "Nothing in the api"})
	end := t.bob.Do(ctx, t.space, "swarm", "converge", fleet.Map{"objective": t.leak, "content": "It was the iterators"})
	t.Tell("bob", "takes the api, reports it, and proposes the conclusion: it was the iterators")
	t.Same(ctx, t.space, "swarm")
	t.ann.Do(ctx, t.space, "swarm", "settle", fleet.Map{"message": end.ID})
	t.Tell("ann", "agrees")
	t.Same(ctx, t.space, "swarm")
	for _, n := range []*fleet.Node{t.ann, t.bob, t.cem} {
		var done struct {
			Done             bool
			Scopes, Reported int
		}
		n.View(ctx, t.space, "swarm", "done", fleet.Map{"objective": t.leak}, &done)
		t.Check(done.Done && done.Scopes == 3 && done.Reported == 3, "is it done? %s's machine says: done, %d of %d scopes reported", n.Name, done.Reported, done.Scopes)
	}
}

// claim takes a scope for so many seconds and returns the claim's ID.
func (t *story) claim(ctx context.Context, n *fleet.Node, scope string, seconds int) string {
	m := n.Do(ctx, t.space, "swarm", "claim", fleet.Map{"objective": t.leak, "content": "I take the " + scope, "targets": []string{scope}, "eta_s": seconds})
	t.Tell(n.Name, "claims %s, for %d seconds", scope, seconds)
	return m.ID
}

func (t *story) scope(ctx context.Context, n *fleet.Node, name string) scope {
	var list struct{ Scopes []scope }
	n.View(ctx, t.space, "swarm", "scopes", fleet.Map{"objective": t.leak}, &list)
	for _, x := range list.Scopes {
		if x.Scope == name {
			return x
		}
	}
	return scope{}
}

// notices are the messages of a phase in a Node's inbox.
func (t *story) notices(ctx context.Context, n *fleet.Node, phase string) (out []client.Message) {
	for _, m := range n.Inbox(ctx) {
		var c struct{ Meta struct{ Phase string } }
		if json.Unmarshal(m.Content, &c) == nil && c.Meta.Phase == phase {
			out = append(out, m)
		}
	}
	return out
}

func (t *story) text(m client.Message) string {
	var c struct{ Content string }
	t.Fatal(json.Unmarshal(m.Content, &c), "read %s", m.ID)
	return c.Content
}
