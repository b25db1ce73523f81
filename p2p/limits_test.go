package p2p

// This file holds each bound at its edge that no other test reaches.

import (
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"plexus/graph"
	"plexus/graph/access"
	"plexus/graph/store"
)

func TestBans(t *testing.T) {
	now := time.Unix(1, 0)
	g := &gate{now: func() time.Time { return now }, shut: func(graph.NodeID) bool { return false }, bans: map[peer.ID]ban{}}
	p := peer.ID("p")
	for i, want := range []time.Duration{firstBan, 2 * firstBan, 4 * firstBan} {
		if got := g.ban(p); got != want {
			t.Errorf("ban %d: %v, want %v", i, got, want)
		}
		now = now.Add(want - 1)
		if !g.barred(p) || g.InterceptPeerDial(p) {
			t.Errorf("ban %d: not barred before its end", i)
		}
		now = now.Add(1)
		if g.barred(p) || !g.InterceptPeerDial(p) {
			t.Errorf("ban %d: barred at its end", i)
		}
	}
	for range 40 {
		g.ban(p)
	}
	if got := g.ban(p); got != maxBan {
		t.Errorf("ban for %v, want %v at most", got, maxBan)
	}
	for i := range maxBans {
		g.ban(peer.ID(fmt.Sprint(i)))
	}
	now = now.Add(2 * maxBan)
	g.ban("last")
	if len(g.bans) != 1 {
		t.Errorf("%d bans remembered after all but one ended", len(g.bans))
	}
}

func TestOfflineGate(t *testing.T) {
	g := &gate{now: time.Now, shut: func(graph.NodeID) bool { return false }, bans: map[peer.ID]ban{}}
	p, err := peerID(graph.NodeIDOf(ed25519.NewKeyFromSeed(make([]byte, 32))))
	if err != nil {
		t.Fatal(err)
	}
	for _, off := range []bool{true, false} {
		g.setOffline(off)
		up, _ := g.InterceptUpgraded(nil)
		for name, allowed := range map[string]bool{
			"dial": g.InterceptPeerDial(p), "address": g.InterceptAddrDial(p, nil), "accept": g.InterceptAccept(nil),
			"secured": g.InterceptSecured(0, p, nil), "upgraded": up,
		} {
			if allowed == off {
				t.Errorf("offline %v: %s allowed %v", off, name, allowed)
			}
		}
	}
	g.shut = func(graph.NodeID) bool { return true }
	if g.InterceptSecured(0, p, nil) {
		t.Error("a revoked host is let in")
	}
}

func TestInboundStreams(t *testing.T) {
	l := &link{}
	for i := range maxInbound {
		if !l.enter() {
			t.Fatalf("stream %d refused", i+1)
		}
	}
	if l.enter() {
		t.Errorf("stream %d let in", maxInbound+1)
	}
	l.exit()
	if !l.enter() {
		t.Error("refused after one has gone")
	}
}

func TestFetchesAreBounded(t *testing.T) {
	l := &link{wake: make(chan struct{}, 1)}
	space := graph.BlockID([]byte("space"))
	var ids []graph.ID
	for i := range fetchIDs + 5 {
		ids = append(ids, graph.BlockID(binary.BigEndian.AppendUint32(nil, uint32(i))))
	}
	l.askFetch(space, ids)
	l.askFetch(space, ids)
	if n := len(l.take().fetch[space]); n != fetchIDs {
		t.Errorf("%d ids to fetch, want %d", n, fetchIDs)
	}
	if !l.take().empty() {
		t.Error("work is done twice")
	}
}

func TestAsking(t *testing.T) {
	a := newAsking()
	for i := range maxAsking {
		if !a.enter(peer.ID(fmt.Sprint(i))) {
			t.Fatalf("stream %d refused", i+1)
		}
	}
	if a.enter("one more") {
		t.Errorf("stream %d let in", maxAsking+1)
	}
	a.leave("0")
	if a.enter("1") {
		t.Error("one peer asks twice at once")
	}
	for range stateBurst - 1 { // it has asked once
		if !a.enter("0") {
			t.Fatal("refused within the burst")
		}
		a.leave("0")
	}
	if a.enter("0") {
		t.Error("let in over the burst")
	}
	for i := range maxAskers {
		if p := peer.ID(fmt.Sprint("p", i)); a.enter(p) {
			a.leave(p)
		}
	}
	if len(a.of) > maxAskers || !a.of["1"].busy {
		t.Errorf("%d remembered", len(a.of))
	}
}

func TestStateFramesAtTheirEdge(t *testing.T) {
	id := make([]byte, 32)
	space := func(plugins int) spaceFrame {
		return spaceFrame{Space: id, Heads: id, AccessHeads: id, Plugins: slices.Repeat([]pluginFrame{{Plugin: "p", File: "f", Hash: id}}, plugins)}
	}
	states := func(f statesFrame) func() error { return func() error { _, err := unpackStates(f); return err } }
	keys := func(n int) []byte {
		var b []byte
		for i := range n {
			b = append(binary.BigEndian.AppendUint64(b, uint64(i)), id...)
		}
		return b
	}
	prefix := func(name string, keys []byte) func() error {
		return func() error { _, err := unpackPrefix(prefixFrame{Space: id, Plugin: name, Keys: keys}); return err }
	}
	long := func(n int) string { return strings.Repeat("x", n) }
	for name, c := range map[string]struct{ good, bad func() error }{
		"Spaces":  {states(statesFrame{Spaces: slices.Repeat([]spaceFrame{space(0)}, MaxStateSpaces)}), states(statesFrame{Spaces: slices.Repeat([]spaceFrame{space(0)}, MaxStateSpaces+1)})},
		"plugins": {states(statesFrame{Spaces: []spaceFrame{space(maxStatesPer)}}), states(statesFrame{Spaces: []spaceFrame{space(maxStatesPer + 1)}})},
		"states": {
			states(statesFrame{Spaces: slices.Repeat([]spaceFrame{space(maxStatesPer)}, maxStates/maxStatesPer)}),
			states(statesFrame{Spaces: append(slices.Repeat([]spaceFrame{space(maxStatesPer)}, maxStates/maxStatesPer), space(1))}),
		},
		"engine":   {states(statesFrame{Engine: long(maxEngine)}), states(statesFrame{Engine: long(maxEngine + 1)})},
		"prefixes": {prefix("p", keys(MaxPrefixes)), prefix("p", keys(MaxPrefixes+1))},
		"name":     {prefix(long(maxPluginName), keys(1)), prefix(long(maxPluginName+1), keys(1))},
		"order":    {prefix("p", keys(2)), prefix("p", append(keys(1), keys(1)...))},
		"time": {
			prefix("p", append(binary.BigEndian.AppendUint64(nil, uint64(graph.MaxTime)), id...)),
			prefix("p", append(binary.BigEndian.AppendUint64(nil, uint64(graph.MaxTime+1)), id...)),
		},
	} {
		if err := c.good(); err != nil {
			t.Errorf("%s at its bound: %v", name, err)
		}
		if err := c.bad(); !errors.Is(err, graph.ErrInvalid) {
			t.Errorf("%s over its bound: %v", name, err)
		}
	}
	full := States{Engine: long(maxEngine + 1)}
	for range MaxStateSpaces + 1 {
		full.Spaces = append(full.Spaces, SpaceStates{Plugins: make([]PluginState, maxStatesPer)})
	}
	if _, err := unpackStates(packStates(full)); err != nil {
		t.Errorf("what is sent is over a bound: %v", err)
	}
}

func TestDoor(t *testing.T) {
	d := newDoor()
	for i := range maxJoins {
		if !d.enter(peer.ID(fmt.Sprint(i))) {
			t.Fatalf("join %d refused", i+1)
		}
	}
	if d.enter("one more") {
		t.Errorf("join %d let in", maxJoins+1)
	}
	d.leave("0")
	if d.enter("1") {
		t.Error("one host joins twice at once")
	}
	if !d.enter("one more") || !d.busy("one more") || d.busy("0") {
		t.Error("refused after one has gone")
	}
	for i := range maxJoins {
		d.leave(peer.ID(fmt.Sprint(i + 1)))
	}
	in := 0
	for i := range 100 {
		if d.enter("again") {
			d.leave("again")
			in++
		} else if i < joinBurst-maxJoins-1 {
			t.Fatalf("attempt %d refused", i)
		}
	}
	if in > joinBurst {
		t.Errorf("%d attempts at once, want %d", in, joinBurst)
	}
}

func TestArrivals(t *testing.T) {
	key := ed25519.NewKeyFromSeed(make([]byte, 32))
	entry := func(i int) *graph.Entry {
		e, err := graph.Seal(graph.Body{
			Kind: graph.KindMessage, Space: graph.BlockID(nil), Author: graph.NodeIDOf(key), Seq: 1, Time: graph.Time(i),
			Payload: []byte(`{"content":{}}`),
		}, key)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	var a arrivals
	one, two := entry(1), entry(2)
	a.mark([]*graph.Entry{one, two})
	if !a.take(one.ID()) || a.take(one.ID()) {
		t.Error("an arrival is told once")
	}
	a.settle([]*graph.Entry{one, two}, graph.AddResult{Held: []graph.ID{one.ID()}})
	if a.take(two.ID()) {
		t.Error("what was known is remembered")
	}
	for i := range 3 * 100 {
		a.mark([]*graph.Entry{entry(i)})
	}
	if len(a.cur)+len(a.old) > 2*maxArrived {
		t.Errorf("%d remembered, want %d", len(a.cur)+len(a.old), 2*maxArrived)
	}
	a.cur = map[graph.ID]struct{}{}
	for i := range maxArrived {
		a.cur[graph.BlockID(binary.BigEndian.AppendUint32(nil, uint32(i)))] = struct{}{}
	}
	a.mark([]*graph.Entry{one})
	if len(a.cur) != 1 || len(a.old) != maxArrived {
		t.Errorf("%d and %d in the generations, want 1 and %d", len(a.cur), len(a.old), maxArrived)
	}
}

func TestGreetingBounds(t *testing.T) {
	id := make([]byte, 32)
	many := func(from, n int) []listed {
		var out []listed
		for i := range n {
			h := graph.BlockID(binary.BigEndian.AppendUint32(nil, uint32(from+i)))
			out = append(out, listed{Space: h[:], Heads: id})
		}
		return out
	}
	g := greeting{spaces: map[graph.ID]graph.Digest{}}
	for i := range maxSpaces / maxListed {
		if err := g.add(hello{Network: id, Spaces: many(i*maxListed, maxListed)}); err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
	}
	if err := g.add(hello{Network: id, Spaces: many(maxSpaces, 1)}); err == nil {
		t.Errorf("Space %d was taken", maxSpaces+1)
	}
	g = greeting{spaces: map[graph.ID]graph.Digest{}}
	if err := g.add(hello{Network: id, Spaces: many(0, maxListed+1)}); err == nil {
		t.Errorf("%d Spaces in a frame were taken", maxListed+1)
	}
}

func TestListedFirst(t *testing.T) {
	network := graph.BlockID([]byte("n"))
	a := greeting{network: network, spaces: map[graph.ID]graph.Digest{network: {Count: 1}}}
	b := greeting{network: network, spaces: map[graph.ID]graph.Digest{network: {Count: 2}}}
	for i := range 20 {
		id := graph.BlockID([]byte{byte(i)})
		a.spaces[id], b.spaces[id] = graph.Digest{Count: 1}, graph.Digest{Count: uint64(i % 2)}
	}
	d := differing(a, b)
	if len(d) != 11 || d[0] != network {
		t.Errorf("%d differ, the network's log first: %v", len(d), d[0] == network)
	}
}

// testHost is a host with a log and no peers.
func testHost(t *testing.T, set func(*Config)) *Host {
	t.Helper()
	key := ed25519.NewKeyFromSeed(make([]byte, 32))
	home, err := graph.NewNetwork("home", key)
	if err != nil {
		t.Fatal(err)
	}
	st := store.Memory()
	log, err := graph.OpenLog(st, graph.LogOptions{Rights: access.Evaluate(home, nil)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Create(t.Context(), home); err != nil {
		t.Fatal(err)
	}
	c := Config{Key: key, Log: log, Network: home, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, NoMDNS: true, NoRelay: true, NoPortMap: true, NoAutoNAT: true}
	if set != nil {
		set(&c)
	}
	h, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range []interface{ Close() error }{h, log, st} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return h
}

func TestSpacesPerHost(t *testing.T) {
	h := testHost(t, nil)
	from := graph.NodeID{1}
	block := func(i int) []byte {
		g, err := graph.NamedSpace(h.net.ID, fmt.Sprint("space ", i))
		if err != nil {
			t.Fatal(err)
		}
		return g.Block
	}
	h.told[from] = maxPerHost - 1
	if made, err := h.adopt(t.Context(), from, [][]byte{block(0)}); err != nil || len(made) != 1 {
		t.Errorf("the last of a host's quota: %v, %v", made, err)
	}
	if made, err := h.adopt(t.Context(), from, [][]byte{block(1), block(0)}); err != nil || len(made) != 1 {
		t.Errorf("one over a host's quota: %v, %v; want only what was there", made, err)
	}
	if made, err := h.adopt(t.Context(), graph.NodeID{2}, [][]byte{block(1)}); err != nil || len(made) != 1 {
		t.Errorf("another host's quota: %v, %v", made, err)
	}
	if told, err := h.book.told(); err != nil || told[from] != 1 || told[graph.NodeID{2}] != 1 {
		t.Errorf("after a restart: %v, %v", told, err)
	}
	other, err := graph.NamedSpace(graph.BlockID(nil), "elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	if made, err := h.adopt(t.Context(), from, [][]byte{other.Block, h.net.Block}); err != nil || len(made) != 0 {
		t.Errorf("another network's: %v, %v", made, err)
	}
	if _, err := h.adopt(t.Context(), from, [][]byte{{1, 2, 3}}); err == nil {
		t.Error("nonsense was taken for a genesis")
	}
}

func TestBookBounds(t *testing.T) {
	h := testHost(t, nil)
	var k known
	for i := range maxBookAddrs + 3 {
		k.Addrs = append(k.Addrs, fmt.Sprintf("/ip4/10.0.0.%d/tcp/1", i))
	}
	if err := h.book.put(h.net.ID, graph.NodeID{1}, k); err != nil {
		t.Fatal(err)
	}
	got, err := h.book.peer(h.net.ID, graph.NodeID{1})
	if err != nil || len(got.Addrs) != maxBookAddrs || got.Addrs[0] != k.Addrs[0] {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := h.book.peer(h.net.ID, graph.NodeID{2}); err != nil || len(got.Addrs) != 0 {
		t.Errorf("of an unknown peer: %v, %v", got, err)
	}
}

func TestWatermark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatermark()
		begun := time.Now()
		go func() {
			time.Sleep(time.Second)
			w.raise(4)
			time.Sleep(time.Second)
			w.raise(5)
			w.raise(3)
		}()
		w.wait(t.Context(), 5, time.Minute)
		if d := time.Since(begun); d != 2*time.Second {
			t.Errorf("waited %v, want 2s", d)
		}
		w.wait(t.Context(), 5, 0)
		w.wait(t.Context(), 6, time.Minute)
		if d := time.Since(begun); d != time.Minute+2*time.Second {
			t.Errorf("waited %v, want a minute and 2 s", d)
		}
	})
}

func TestSettling(t *testing.T) {
	s := newSettling()
	s.begin([]graph.NodeID{{1}, {2}})
	s.begin(nil)
	s.done(graph.NodeID{1})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s.wait(ctx) == nil {
		t.Error("settled with one to go")
	}
	s.done(graph.NodeID{2})
	s.done(graph.NodeID{2})
	if err := s.wait(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestClock(t *testing.T) {
	tests := []struct {
		offs     []time.Duration
		off      time.Duration
		disagree int
		wrong    bool
	}{
		{nil, 0, 0, false},
		{[]time.Duration{time.Hour, time.Hour}, time.Hour, 2, false},
		{[]time.Duration{time.Hour, time.Hour, 0}, time.Hour, 2, true},
		{[]time.Duration{-time.Hour, time.Hour, 0, 0}, 0, 2, false},
		{[]time.Duration{graph.MaxFuture, -graph.MaxFuture, graph.MaxFuture}, graph.MaxFuture, 0, false},
		{[]time.Duration{graph.MaxFuture + 1, graph.MaxFuture + 1, graph.MaxFuture}, graph.MaxFuture + 1, 2, true},
	}
	h := testHost(t, nil)
	for i, tt := range tests {
		h.stats = map[graph.NodeID]*peerStats{{99}: {}}
		for n, off := range tt.offs {
			now := h.cfg.Now()
			h.statsOf(graph.NodeID{byte(n)}).greeted(now, 0, now.Add(off))
		}
		c := h.ClockOff()
		if c.Off != tt.off || c.Peers != len(tt.offs) || c.Disagree != tt.disagree || c.Wrong() != tt.wrong {
			t.Errorf("%d: %+v, wrong %v", i, c, c.Wrong())
		}
	}
}

func TestConfig(t *testing.T) {
	h := testHost(t, func(c *Config) { c.Listen = nil })
	first := h.Addrs()
	if len(first) == 0 {
		t.Fatal("listens nowhere")
	}
	for _, c := range []Config{{}, {Key: h.cfg.Key}, {Log: h.cfg.Log}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
	if got := h.book.listen(); len(got) == 0 {
		t.Error("the ports aren't remembered")
	}
}

func TestFrontierBound(t *testing.T) {
	a, b := frontier{seqs: map[graph.NodeID]uint64{{1}: 5, {2}: 7}}, frontier{seqs: map[graph.NodeID]uint64{{1}: 9, {3}: 1}}
	if n := a.lacks(b); n != 5 {
		t.Errorf("a lacks %d, want 5", n)
	}
	if n := b.lacks(a); n != 7 {
		t.Errorf("b lacks %d, want 7", n)
	}
	if n := a.lacks(frontier{over: true}); n != 0 {
		t.Errorf("a lacks %d of an untold frontier", n)
	}
}

func TestLending(t *testing.T) {
	l := newLending()
	for i := range maxLending {
		if !l.enter(peer.ID(fmt.Sprint(i / maxLendingPer))) {
			t.Fatalf("file %d isn't given", i)
		}
	}
	if l.enter("other") {
		t.Error("too many at once")
	}
	l.leave("0")
	l.leave("0")
	for range maxLendingPer {
		if !l.enter("0") {
			t.Error("refused what one peer may have at once")
		}
	}
	if l.enter("0") {
		t.Errorf("one peer has %d at once, want %d", l.to["0"], maxLendingPer)
	}
	l.leave("0")
	for range 2 * fileBurst {
		if l.enter("0") {
			l.leave("0")
		}
	}
	if l.limit.Tokens() >= 1 {
		t.Error("no bound on how often files are asked for")
	}
}
