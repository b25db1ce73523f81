package plugins

// This file tests messages that come late at any depth: undo, steps, layers, and a kill at any moment.

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"plexus/graph"
	"plexus/sdk/abi"
)

// churn is a reducer whose state tells every order from every other: a chain of hashes, keys that come, change and go, what a scan sees, and refusals.
func churn(k Keys, input []byte) string {
	sum := sha256.Sum256(input)
	before, _ := k.Get("chain")
	link := sha256.Sum256(append(slices.Clone(before), sum[:]...))
	key := fmt.Sprint("k", sum[0]%32)
	if _, ok := k.Get(key); ok && sum[1]%2 == 0 {
		k.Delete(key)
	} else {
		k.Set(key, sum[:1+sum[1]%32])
	}
	first, _ := k.Next("k", key)
	k.Set("next", []byte(first))
	if sum[2]%8 == 0 {
		return "no"
	}
	k.Set("chain", link[:])
	return ""
}

var churnFile = counterOf(abi.Plugin{Name: "churn", Version: "1", Accepts: []string{"x"}, Replies: true}, 'a')

// churned is a replica whose plugin folds by churn.
func churned(t testing.TB, b bounds) *replica {
	r := bareReplica(t, churnFile)
	r.native, r.tight = churn, b
	return r
}

// talk has a few authors say n things, each on a replica of its own with a clock of its own, some in reply to what they said before.
func talk(t testing.TB, rt *rapid.T, n int) (all []*graph.Entry) {
	for _, who := range people {
		r := bareReplica(t)
		var own []graph.ID
		for i := range n / len(people) {
			r.now.step(time.Duration(rapid.IntRange(0, 5).Draw(rt, "pause")) * time.Millisecond)
			switch {
			case i > 0 && rapid.IntRange(0, 2).Draw(rt, "reply") == 0:
				own = append(own, r.say(who, "", obj{"n": i}, rapid.SampledFrom(own).Draw(rt, "to")).ID())
			case rapid.IntRange(0, 4).Draw(rt, "other") == 0:
				own = append(own, r.say(who, "y", obj{"n": i}).ID())
			default:
				own = append(own, r.say(who, "x", obj{"n": i}).ID())
			}
		}
		for e, err := range r.space.Range(r.ctx(), keyMin, keyMax) {
			r.must(err)
			all = append(all, e)
		}
		r.close()
	}
	slices.SortFunc(all, func(a, b *graph.Entry) int { return keyOf(a).Compare(keyOf(b)) })
	return all
}

// chains splits entries in those that come in order and those that come late: from some place on, all of one author's.
func chains(rt *rapid.T, all []*graph.Entry) (early, late []*graph.Entry) {
	from := map[graph.NodeID]int{}
	for _, who := range people {
		from[id(who)] = rapid.IntRange(0, len(all)).Draw(rt, "held back from")
	}
	for i, e := range all {
		if i < from[e.Body().Author] {
			early = append(early, e)
		} else {
			late = append(late, e)
		}
	}
	return early, late
}

func TestLateAtAnyDepth(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all := talk(t, rt, rapid.IntRange(8, 160).Draw(rt, "messages"))
		h := &hand{replica: churned(t, bounds{
			undo: rapid.SampledFrom([]int{0, 2, 9}).Draw(rt, "undo"), step: rapid.SampledFrom([]int{1, 3, 11}).Draw(rt, "step"),
			drain: rapid.SampledFrom([]int{1, 5, 1000}).Draw(rt, "drain"), wait: time.Nanosecond,
		})}
		h.open()
		early, late := chains(rt, all)
		for len(early) > 0 {
			n := rapid.IntRange(1, len(early)).Draw(rt, "batch")
			h.add(early[:n]...)
			early = early[n:]
			h.settle()
		}
		for len(late) > 0 {
			n := rapid.IntRange(1, min(len(late), 6)).Draw(rt, "late batch")
			h.add(late[:n]...)
			late = late[n:]
			for range rapid.IntRange(0, 9).Draw(rt, "rounds") {
				h.round()
			}
			switch rapid.IntRange(0, 5).Draw(rt, "between") {
			case 0:
				h.settle()
			case 1:
				h.must(h.host.Close())
				h.open()
			case 2:
				h.must(h.log.Apply(h.ctx(), &rights{void: map[graph.NodeID]bool{id(rapid.SampledFrom(people).Draw(rt, "void")): true}}))
			case 3:
				h.must(h.log.Apply(h.ctx(), &rights{attest: map[graph.NodeID]string{id(rapid.SampledFrom(people).Draw(rt, "human")): "writer/human"}}))
			}
		}
		h.must(h.log.Apply(h.ctx(), &rights{}))
		h.settle()
		got, current := h.state()
		if !current {
			rt.Error("not current")
		}
		h.check(rt, got)
		h.finish()
	})
}

// hand drives a Host round by round.
type hand struct {
	*replica
	folds int
}

func (h *hand) open() {
	h.t.Helper()
	var err error
	h.host, err = Open(Config{Log: h.log, loaded: load(h.t, h.files...), Files: h.files, bounds: h.tight, native: churn, observe: func(Folded) { h.folds++ }})
	h.must(err)
	h.must(h.host.load(h.ctx()))
}

func (h *hand) round() (busy bool) {
	h.t.Helper()
	busy, err := h.host.round(h.ctx())
	h.must(err)
	return busy
}

// state is what readers see at once.
func (h *hand) state() (hash string, current bool) {
	h.t.Helper()
	hash, current, err := h.host.StateHash(h.ctx(), h.space.ID(), "churn")
	h.must(err)
	return hash, current
}

// lateWorld is n messages folded by hand, and a message that belongs before the last depth of them.
func lateWorld(t *testing.T, n, depth int, b bounds) (*hand, *graph.Entry) {
	other := bareReplica(t)
	defer other.close()
	h := &hand{replica: churned(t, b)}
	var late *graph.Entry
	for i := range n {
		e := h.say(people[i%3], "x", obj{"n": i})
		if i == n-depth {
			other.now.set(e.Body().Time.Std())
			late = other.say("dia", "x", obj{"late": true})
		}
	}
	h.open()
	h.settle()
	return h, late
}

// settle makes rounds until there is no more to do.
func (h *hand) settle() {
	h.t.Helper()
	for h.round() || h.host.cursor < h.log.Last() {
	}
}

func (h *hand) finish() {
	h.must(h.host.Close())
	h.must(h.log.Close())
}

// TestLateMessageFoldsWhatLiesBehindIt: and readers see the state before until then.
func TestLateMessageFoldsWhatLiesBehindIt(t *testing.T) {
	const n = 3000
	for _, depth := range []int{10, 70, 150, 400, 1000} {
		h, late := lateWorld(t, n, depth, bounds{undo: 64, step: 16, drain: 100, wait: time.Nanosecond})
		before, current := h.state()
		if !current {
			t.Fatal("not current")
		}
		h.folds = 0
		h.add(late)
		rounds := 1
		for ; h.round(); rounds++ {
			if got, current := h.state(); h.slot().build != nil && (got != before || current) {
				t.Fatalf("in round %d readers see %s, current %v; before: %s", rounds, got, current, before)
			}
		}
		after, current := h.state()
		if !current || after == before {
			t.Errorf("after: %s, before: %s, current %v", after, before, current)
		}
		if most := depth*3/2 + 64 + 64/undoSlack + 16; h.folds > most {
			t.Errorf("%d messages deep: %d folds, at most %d wanted", depth, h.folds, most)
		}
		h.check(t, after)
		h.finish()
	}
}

func (h *hand) slot() *slot { return h.host.slots[slotKey{h.space.ID(), "churn"}] }

// check compares with a fold from nothing, and that no layer has left anything.
func (h *hand) check(t interface{ Errorf(string, ...any) }, got string) {
	h.t.Helper()
	fresh := &hand{replica: churned(h.t, bounds{undo: undoKept, step: stepMessages, drain: maxDrain, wait: time.Nanosecond})}
	for e, err := range h.space.Range(h.ctx(), keyMin, keyMax) {
		h.must(err)
		fresh.add(e)
	}
	fresh.open()
	fresh.settle()
	defer fresh.finish()
	if want, _ := fresh.state(); got != want {
		t.Errorf("the state is %s, a fold from nothing %s", got, want)
	}
	for kv, err := range h.host.records.Scan([]byte{'p'}, []byte{'p' + 1}, false) {
		h.must(err)
		if string(kv.Key[:5]) != string(numPrefix(h.slot().cur.num)) || kv.Key[5] == kindGone {
			t.Errorf("left: %q", kv.Key)
			return
		}
	}
}

// TestLateMessageAndAKillAfterEachRound: what was done is not done again.
func TestLateMessageAndAKillAfterEachRound(t *testing.T) {
	const depth = 900
	h, late := lateWorld(t, 2000, depth, bounds{undo: 64, step: 64, drain: 100, wait: time.Nanosecond})
	h.folds = 0
	h.add(late)
	for h.round() {
		h.must(h.host.Close())
		h.open()
	}
	got, current := h.state()
	if most := depth*3/2 + 2*64; !current || h.folds > most {
		t.Errorf("%d folds, at most %d wanted; current %v", h.folds, most, current)
	}
	h.check(t, got)
	h.finish()
}

// TestLateMessagesWhileALayerIsMade: deeper ones begin anew from a step below, others are put in their place.
func TestLateMessagesWhileALayerIsMade(t *testing.T) {
	for _, second := range []int{20, 300, 800, 1990} {
		h, late := lateWorld(t, 2000, 500, bounds{undo: 64, step: 16, drain: 100, wait: time.Nanosecond})
		other := bareReplica(t)
		at := 0
		for e, err := range h.space.Range(h.ctx(), keyMin, keyMax) {
			h.must(err)
			if at++; at == 2000-second {
				other.now.set(e.Body().Time.Std())
			}
		}
		again := other.say("eve", "x", obj{"late": 2})
		other.close()
		h.add(late)
		for range 12 {
			h.round()
		}
		if h.slot().build == nil {
			t.Fatal("no layer")
		}
		h.add(again)
		h.settle()
		got, _ := h.state()
		h.check(t, got)
		h.finish()
	}
}

// TestReadersSeeOneStateOrTheOther: whoever asks while a late message is put in its place gets the state before or the one after, and is told which.
func TestReadersSeeOneStateOrTheOther(t *testing.T) {
	for _, depth := range []int{40, 800} { // by undo, and in a layer
		h, late := lateWorld(t, 1000, depth, bounds{undo: 64, step: 16, drain: 100, wait: time.Nanosecond})
		before, _ := h.state()
		h.must(h.host.Close())
		h.replica.run()
		h.until("up", func() bool {
			_, current, err := h.host.StateHash(h.ctx(), h.space.ID(), "churn")
			return err == nil && current
		})
		h.add(late)
		seen := []string{}
		h.until("current again", func() bool {
			hash, current := h.state()
			if len(seen) == 0 || seen[len(seen)-1] != hash {
				seen = append(seen, hash)
			}
			if current == (hash == before) {
				t.Errorf("%s is called current: %v", hash, current)
			}
			return current
		})
		if len(seen) > 2 {
			t.Errorf("readers saw %v", seen)
		}
		h.check(t, seen[len(seen)-1])
		h.close()
	}
}

// TestReadersDoNotWaitForABuild: they wait a tenth of what they wait else, then get the state before.
func TestReadersDoNotWaitForABuild(t *testing.T) {
	load(t, churnFile)
	synctest.Test(t, func(t *testing.T) {
		const wait = 10 * time.Second
		h, late := lateWorld(t, 1000, 800, bounds{undo: 64, step: 16, drain: 100, wait: wait})
		before, _ := h.state()
		h.add(late)
		for range 3 {
			h.round()
		}
		start := time.Now()
		hash, current := h.state()
		if took := time.Since(start); took != wait/besideShare || hash != before || current {
			t.Errorf("after %s: %s, before %s, current %v", took, hash, before, current)
		}
		if h.host.covers(h.slot(), keyOf(late), h.log.Last()) {
			t.Error("a reaction would be asked about what isn't folded")
		}
		beside := func() string {
			list, err := h.host.Plugins(h.ctx(), h.space.ID())
			h.must(err)
			return list[0].Beside
		}
		if beside() != fileCID(churnFile) {
			t.Errorf("beside it is made %q", beside())
		}
		h.settle()
		if beside() != "" {
			t.Errorf("then beside it is made %q", beside())
		}
		start = time.Now()
		if _, current := h.state(); !current || time.Since(start) != 0 {
			t.Errorf("then current %v after %s", current, time.Since(start))
		}
		if !h.host.covers(h.slot(), keyOf(late), h.log.Last()) {
			t.Error("a reaction is never asked")
		}
		h.finish()
	})
}
