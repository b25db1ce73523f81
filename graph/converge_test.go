package graph_test

// This file holds the claim that replicas converge: any order, repetition and split, rights that change meanwhile.

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plexus/graph"
	"plexus/graph/store"
)

const authors = 4

// makeEntries draws a set of entries, most of them good, some forked, some that break a rule.
func makeEntries(t *rapid.T, space graph.ID) []*graph.Entry {
	n := rapid.IntRange(1, 25).Draw(t, "entries")
	var all []*graph.Entry
	for i := range n {
		a := rapid.IntRange(0, authors-1).Draw(t, "author")
		b := graph.Body{
			Kind: graph.KindMessage, Space: space, Author: author(a), Seq: 1,
			Payload: []byte(fmt.Sprintf(`{"content":{"n":%d}}`, i)),
		}
		switch rapid.IntRange(0, 11).Draw(t, "kind") {
		case 0:
			b.Kind = graph.KindProfile
		case 1:
			b.Kind = "odd"
		case 2:
			b.Kind = graph.KindPlugin
		case 3:
			b.Payload = []byte(`{"content":"no object"}`)
		case 4:
			b.Space = graph.BlockID([]byte("elsewhere"))
		}
		parents(t, &b, all)
		if rapid.IntRange(0, 2).Draw(t, "to") == 0 {
			b.Refs.Nodes = []graph.NodeID{author(rapid.IntRange(0, authors-1).Draw(t, "whom"))}
		}
		e, err := graph.Seal(b, key(a))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// parents draws prev, refs and time.
func parents(t *rapid.T, b *graph.Body, all []*graph.Entry) {
	var own, heads []*graph.Entry
	for _, e := range all {
		if e.Body().Author == b.Author {
			own = append(own, e)
		} else {
			heads = append(heads, e)
		}
	}
	last := graph.Time(1_000_000)
	if len(own) > 0 && rapid.IntRange(0, 9).Draw(t, "restart") > 0 {
		p := own[len(own)-1]
		if rapid.IntRange(0, 5).Draw(t, "fork") == 0 {
			p = rapid.SampledFrom(own).Draw(t, "from")
		}
		b.Prev, b.Seq, last = []graph.ID{p.ID()}, p.Body().Seq+1, p.Body().Time
		if rapid.IntRange(0, 19).Draw(t, "wrong seq") == 0 {
			b.Seq++
		}
	}
	if len(heads) > 0 {
		var more []graph.ID
		for range rapid.IntRange(0, 2).Draw(t, "others") {
			p := rapid.SampledFrom(heads).Draw(t, "other")
			if !slices.Contains(more, p.ID()) {
				more, last = append(more, p.ID()), max(last, p.Body().Time)
			}
		}
		slices.SortFunc(more, graph.ID.Compare)
		b.Prev = append(b.Prev, more...)
	}
	if len(all) > 0 {
		for range rapid.IntRange(0, 2).Draw(t, "refs") {
			p := rapid.SampledFrom(all).Draw(t, "ref")
			if p.Body().Kind != graph.KindMessage && rapid.IntRange(0, 3).Draw(t, "wrong kind") > 0 {
				continue
			}
			if !slices.Contains(b.Refs.Messages, p.ID()) {
				b.Refs.Messages, last = append(b.Refs.Messages, p.ID()), max(last, p.Body().Time)
			}
		}
	}
	b.Time = last + graph.Time(rapid.Int64Range(1, 3_000_000).Draw(t, "later"))
	if rapid.IntRange(0, 19).Draw(t, "wrong time") == 0 {
		b.Time = last
	}
}

// makeRights draws rights that know at least whom the ones before know.
func makeRights(t *rapid.T, before rights, all []*graph.Entry) rights {
	r := rights{}
	for n := range authors {
		s := graph.Standing{
			Known: before[author(n)].Known || rapid.Bool().Draw(t, "known"),
			May:   rapid.IntRange(0, 3).Draw(t, "may") > 0,
		}
		if rapid.IntRange(0, 3).Draw(t, "cut") == 0 {
			for range rapid.IntRange(1, 2).Draw(t, "cuts") {
				s.Cuts = append(s.Cuts, rapid.SampledFrom(all).Draw(t, "at").ID())
			}
		}
		r[author(n)] = s
	}
	return r
}

// TestConverge delivers one set to two replicas, each in its own order and with its own history of rights, and holds both
// against the model and each other.
func TestConverge(t *testing.T) {
	g := named(t, "s")
	rapid.Check(t, func(t *rapid.T) {
		all := makeEntries(t, g.ID)
		last := makeRights(t, makeRights(t, nil, all), all)
		want := newModel(g.ID, all, last)
		for range 2 {
			deliver(t, g, all, last, want)
		}
	})
}

// deliver brings all to a new replica and checks what it makes of it.
func deliver(t *rapid.T, g graph.Genesis, all []*graph.Entry, last rights, want *model) {
	st := store.Memory()
	defer func() { _ = st.Close() }()
	o := graph.LogOptions{Rights: makeKnownLess(t, last), Now: func() time.Time { return time.UnixMicro(1 << 50) }}
	l, err := graph.OpenLog(st, o)
	check(t, err)
	s, err := l.Create(context.Background(), g)
	check(t, err)
	for _, part := range parts(t, all) {
		_, err := s.Add(context.Background(), part, graph.AddOptions{From: author(rapid.IntRange(0, 2).Draw(t, "peer"))})
		check(t, err)
		switch rapid.IntRange(0, 9).Draw(t, "event") {
		case 0:
			check(t, l.Apply(context.Background(), makeKnownLess(t, last)))
		case 1: // a restart forgets what waits for a parent
			check(t, l.Close())
			o.Rights = nil
			l, err = graph.OpenLog(st, o)
			check(t, err)
			s, err = l.Space(g.ID)
			check(t, err)
		}
	}
	check(t, l.Apply(context.Background(), last))
	_, err = s.Add(context.Background(), all, graph.AddOptions{})
	check(t, err)
	holds(t, l, s, want)
	check(t, l.Close())
	o.Rights = nil
	l, err = graph.OpenLog(st, o)
	check(t, err)
	s, err = l.Space(g.ID)
	check(t, err)
	holds(t, l, s, want)
	check(t, l.Close())
}

// makeKnownLess draws rights that the last ones may follow: nobody is known who isn't by those.
func makeKnownLess(t *rapid.T, last rights) rights {
	r := rights{}
	for i := range authors {
		n := author(i)
		s := last[n]
		r[n] = graph.Standing{Known: s.Known && rapid.Bool().Draw(t, "known yet"), May: rapid.Bool().Draw(t, "may yet")}
		if rapid.Bool().Draw(t, "cuts yet") {
			r[n] = graph.Standing{Known: r[n].Known, May: r[n].May, Cuts: s.Cuts}
		}
	}
	return r
}

// parts shuffles, repeats and splits.
func parts(t *rapid.T, all []*graph.Entry) (out [][]*graph.Entry) {
	at := make([]int, len(all))
	for i := range at {
		at[i] = i
	}
	var mixed []*graph.Entry
	for _, i := range rapid.Permutation(at).Draw(t, "order") {
		mixed = append(mixed, all[i])
	}
	mixed = append(mixed, mixed[:rapid.IntRange(0, len(mixed)).Draw(t, "again")]...)
	for len(mixed) > 0 {
		n := rapid.IntRange(1, len(mixed)).Draw(t, "part")
		out, mixed = append(out, mixed[:n]), mixed[n:]
	}
	return out
}

// tester is a test's or a property's T.
type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func check(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// holds checks every read against the model.
func holds(t tester, l *graph.Log, s *graph.Space, want *model) {
	ctx := context.Background()
	sameList(t, "heads", s.Heads(), want.heads())
	sameList(t, "forks", s.Forks(), want.forks())
	tips := []graph.ChainTip{}
	for tip, err := range s.Frontier(ctx) {
		check(t, err)
		tips = append(tips, tip)
	}
	sameList(t, "frontier", tips, want.frontier())
	sameList(t, "admitted", entryIDs(t, s.Since(ctx, nil)), nameAll(want.order))
	if n := s.Digest().Count; n != uint64(len(want.order)) {
		t.Fatalf("digest counts %d, want %d", n, len(want.order))
	}
	isMessage := func(*graph.Entry) bool { return true }
	messages := want.messages(isMessage)
	if s.Count() != len(messages) {
		t.Fatalf("count %d, want %d", s.Count(), len(messages))
	}
	for id, e := range want.admitted {
		_, visible, err := s.Entry(id)
		check(t, err)
		if visible != (want.visible[id] != nil) {
			t.Fatalf("%s of %s: visible %v", id, e.Body().Author, visible)
		}
	}
	canonical := []graph.ID{}
	for _, e := range want.order {
		if want.visible[e.ID()] != nil && e.Body().Kind == graph.KindMessage {
			canonical = append(canonical, e.ID())
		}
	}
	sameList(t, "range", entryIDs(t, s.Range(ctx, graph.Key{}, graph.Key{Time: graph.MaxTime})), canonical)
	pagesHold(t, l, s, want, messages)
	tailHolds(t, l, s, want)
	report, err := s.Check(ctx)
	check(t, err)
	if len(report.Problems) > 0 || report.Entries != len(want.order) || report.Messages != len(messages) {
		t.Fatalf("check: %+v", report)
	}
}

// pagesHold checks the reads in arrival order, page by page.
func pagesHold(t tester, l *graph.Log, s *graph.Space, want *model, messages []graph.ID) {
	ctx := context.Background()
	sameList(t, "all", sorted(pages(t, func(p graph.Page) ([]graph.Stored, error) { return s.All(ctx, p) })), messages)
	sameList(t, "all spaces", sorted(pages(t, func(p graph.Page) ([]graph.Stored, error) { return l.All(ctx, p) })), messages)
	isRoot := func(e *graph.Entry) bool { return len(e.Body().Refs.Messages)+len(e.Body().Refs.Nodes) == 0 }
	sameList(t, "roots", sorted(pages(t, func(p graph.Page) ([]graph.Stored, error) { return s.Roots(ctx, p) })), want.messages(isRoot))
	for n := range authors {
		who := author(n)
		named := func(e *graph.Entry) bool { return slices.Contains(e.Body().Refs.Nodes, who) }
		sameList(t, "addressed", sorted(pages(t, func(p graph.Page) ([]graph.Stored, error) { return s.Addressed(ctx, who, p) })), want.messages(named))
		sameList(t, "inbox", sorted(pages(t, func(p graph.Page) ([]graph.Stored, error) { return l.Inbox(ctx, who, p) })), want.messages(named))
		forHim := func(e *graph.Entry) bool { return (isRoot(e) || named(e)) && e.Body().Author != who }
		sameList(t, "for caller", sorted(pages(t, func(p graph.Page) ([]graph.Stored, error) { return s.ForCaller(ctx, who, p) })), want.messages(forHim))
		var profile []graph.ID
		for _, e := range want.order {
			if want.visible[e.ID()] != nil && e.Body().Kind == graph.KindProfile && e.Body().Author == who {
				profile = []graph.ID{e.ID()}
			}
		}
		if e, err := s.Profile(who); (err == nil) != (profile != nil) || err == nil && e.ID() != profile[0] {
			t.Fatalf("profile of %s: %v", who, err)
		}
	}
	for _, id := range messages {
		for d := graph.Both; d <= graph.Downstream; d++ {
			got := pages(t, func(p graph.Page) ([]graph.Stored, error) { return s.Related(ctx, id, d, p) })
			sameList(t, "related", sorted(got), want.related(id, d))
		}
	}
}

// tailHolds replays the arrival log: it must come to what is visible, with dense numbers.
func tailHolds(t tester, l *graph.Log, s *graph.Space, want *model) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	shown, seen, at := map[graph.ID]bool{}, map[graph.ID]bool{}, graph.Pos(0)
	if l.Last() == 0 {
		return
	}
	for st, err := range l.Tail(ctx, 0) {
		check(t, err)
		at++
		id := st.Entry.ID()
		switch {
		case st.Pos != at:
			t.Fatalf("pos %d after %d", st.Pos, at-1)
		case st.Event == graph.Added && seen[id], st.Event == graph.Shown && shown[id], st.Event == graph.Withdrawn && !shown[id]:
			t.Fatalf("event %d of %s: shown %v", st.Event, id, shown[id])
		}
		for _, p := range st.Entry.Parents() {
			if !seen[p] {
				t.Fatalf("%s before its parent %s", id, p)
			}
		}
		seen[id], shown[id] = true, st.Event == graph.Shown
		if at == l.Last() {
			cancel()
		}
	}
	for id, e := range want.admitted {
		tells := e.Body().Kind == graph.KindMessage || e.Body().Kind == graph.KindProfile
		if !seen[id] || shown[id] != (tells && want.visible[id] != nil) {
			t.Fatalf("after the tail %s is seen %v, shown %v", id, seen[id], shown[id])
		}
	}
}

// pages reads on from page to page, three at a time, and back: the newest n are the end of it.
func pages(t tester, read func(graph.Page) ([]graph.Stored, error)) (out []graph.ID) {
	out = []graph.ID{}
	p := graph.Page{HasAfter: true, Limit: 3}
	for {
		page, err := read(p)
		check(t, err)
		out = append(out, ids(page)...)
		if len(page) < 3 {
			break
		}
		p.After = page[2].Pos
	}
	newest, err := read(graph.Page{Limit: 4})
	check(t, err)
	sameList(t, "newest", ids(newest), out[max(0, len(out)-4):])
	return out
}

func sorted(ids []graph.ID) []graph.ID {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, graph.ID.Compare)
	return ids
}

func entryIDs(t tester, entries func(func(*graph.Entry, error) bool)) []graph.ID {
	out := []graph.ID{}
	for e, err := range entries {
		check(t, err)
		out = append(out, e.ID())
	}
	return out
}

func nameAll(entries []*graph.Entry) []graph.ID {
	out := []graph.ID{}
	for _, e := range entries {
		out = append(out, e.ID())
	}
	return out
}

func sameList[T comparable](t tester, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}
