package plugins

// This file holds the law of the package, as a property: whatever comes in which order, is withdrawn, shown again, or cut by a
// restart in between, the state ends as a fresh fold of the same messages makes it.

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plexus/graph"
)

var people = []string{"ann", "bob", "cem", "dia"}

// history has each of a few authors talk on a replica of their own, meeting now and then, and returns all entries.
func history(t *testing.T, rt *rapid.T, n int) []*graph.Entry {
	var replicas []*replica
	for range people {
		replicas = append(replicas, bareReplica(t))
	}
	seen := map[graph.ID]*graph.Entry{}
	at := make([]map[graph.ID]*graph.Entry, len(people))
	asked := make([][]graph.ID, len(people))
	for i := range at {
		at[i] = map[graph.ID]*graph.Entry{}
	}
	for step := range n {
		i := rapid.IntRange(0, len(people)-1).Draw(rt, "who")
		r := replicas[i]
		var e *graph.Entry
		switch rapid.IntRange(0, 5).Draw(rt, "what") {
		case 0:
			e = r.say(people[i], "checkpoint", obj{"id": fmt.Sprint("c", step), "options": []string{"Yes", "No"}})
			asked[i] = append(asked[i], e.ID())
		case 1:
			e = r.say(people[i], "x", obj{"n": step})
		case 2: // meet
			j := rapid.IntRange(0, len(people)-1).Draw(rt, "whom")
			for id, e := range at[j] {
				if at[i][id] == nil {
					at[i][id] = e
				}
			}
			all := sorted(at[i])
			r.add(all...)
			asked[i] = append(asked[i], asked[j]...)
			slices.SortFunc(asked[i], graph.ID.Compare)
			asked[i] = slices.Compact(asked[i])
			continue
		default:
			if len(asked[i]) == 0 {
				continue
			}
			to := rapid.SampledFrom(asked[i]).Draw(rt, "to")
			content := rapid.SampledFrom([]obj{{"option": "Yes"}, {"option": "no"}, {"option": "other"}, {"feedback": "f"}, {"text": "talk"}}).Draw(rt, "content")
			e = r.say(people[i], "", content, to)
			asked[i] = append(asked[i], e.ID())
		}
		seen[e.ID()], at[i][e.ID()] = e, e
	}
	for _, r := range replicas {
		r.close()
	}
	return sorted(seen)
}

func sorted(m map[graph.ID]*graph.Entry) []*graph.Entry {
	var out []*graph.Entry
	for _, e := range m {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b *graph.Entry) int { return keyOf(a).Compare(keyOf(b)) })
	return out
}

func TestStateConverges(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		entries := history(t, rt, rapid.IntRange(5, 60).Draw(rt, "messages"))
		fresh := bareReplica(t, bundle, spy())
		fresh.add(entries...)
		fresh.run()
		want := fresh.hash("checkpoint") + fresh.hash("spy")
		fresh.close()

		r := bareReplica(t, bundle, spy())
		r.tight = bounds{
			undo: rapid.SampledFrom([]int{0, 3, 1000}).Draw(rt, "undo"), step: rapid.SampledFrom([]int{1, 7, 1000}).Draw(rt, "step"),
			drain: rapid.SampledFrom([]int{1, 5, 1000}).Draw(rt, "drain"), wait: 5 * time.Minute,
		}
		r.run()
		order := rapid.Permutation(entries).Draw(rt, "order")
		for len(order) > 0 {
			n := rapid.IntRange(1, len(order)).Draw(rt, "batch")
			r.add(order[:n]...)
			order = order[n:]
			switch rapid.IntRange(0, 4).Draw(rt, "between") {
			case 0:
				r.hash("checkpoint")
			case 1:
				r.restart()
			case 2:
				r.must(r.log.Apply(r.ctx(), &rights{
					void:   map[graph.NodeID]bool{id(rapid.SampledFrom(people).Draw(rt, "void")): true},
					attest: map[graph.NodeID]string{id(rapid.SampledFrom(people).Draw(rt, "human")): "writer/human"},
				}))
			}
		}
		r.must(r.log.Apply(r.ctx(), &rights{}))
		if got := r.hash("checkpoint") + r.hash("spy"); got != want {
			rt.Errorf("the state of %d entries is %s, a fresh fold's %s", len(entries), got, want)
		}
		r.close()
	})
}
