package plugins

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"plexus/graph"
)

// What is read ahead is what the Space has, however much of it, in its order, wherever the caller stops.
func TestAhead(t *testing.T) {
	r := bareReplica(t)
	defer r.close()
	var want []graph.ID
	for i := range aheadFirst + 3*aheadMessages + 1 {
		typ := "x"
		if i%5 == 0 {
			typ = "y"
		}
		text := "short"
		if i%50 == 0 {
			text = strings.Repeat("long", aheadBytes/4)
		}
		want = append(want, r.say(people[i%4], typ, obj{"n": i, "text": text}).ID())
	}
	to := audience{types: map[string]bool{"x": true}}
	var rd reader
	for _, most := range []int{-1, 0, 1, aheadFirst, aheadFirst + 1, aheadFirst + 2*aheadFirst, len(want), len(want) + 1} {
		for _, stop := range []int{0, 1, aheadFirst, aheadMessages + 1, len(want)} {
			var got []graph.ID
			for g, err := range rd.ahead(t.Context(), r.space, keyMin, keyMax, most, to) {
				r.must(err)
				if len(got) == stop {
					break
				}
				got = append(got, g.m.ID)
				check(t, r, g)
			}
			n := min(stop, len(want))
			if most >= 0 {
				n = min(n, most)
			}
			if fmt.Sprint(got) != fmt.Sprint(want[:n]) {
				t.Errorf("most %d, stopped at %d: %d messages, want %d", most, stop, len(got), n)
			}
		}
	}
}

// check compares what was made ahead with what is made at once.
func check(t *testing.T, r *replica, g *given) {
	t.Helper()
	if g.wanted != (g.typ == "x") || !g.ok || g.key.ID != g.m.ID {
		t.Fatalf("%+v", g)
	}
	if !g.wanted {
		return
	}
	for _, as := range []string{"/", "admin/", "/human", "writer/agent"} {
		one, err := names{}.appendMessage(nil, g.m, as)
		r.must(err)
		if string(g.cbor.append(nil, as)) != string(one) {
			t.Fatalf("as %q: %x, want %x", as, g.cbor.append(nil, as), one)
		}
	}
}

func TestAheadEndsWithItsContext(t *testing.T) {
	r := bareReplica(t)
	defer r.close()
	for range 4 * aheadMessages {
		r.say("ann", "x", obj{})
	}
	ctx, cancel := context.WithCancel(t.Context())
	var rd reader
	n := 0
	var last error
	for _, err := range rd.ahead(ctx, r.space, keyMin, keyMax, -1, audience{}) {
		if last = err; err != nil {
			break
		}
		if n++; n == 3 {
			cancel()
		}
	}
	if n == 4*aheadMessages || !errors.Is(last, context.Canceled) {
		t.Errorf("%d messages, %v", n, last)
	}
	cancel()
}
