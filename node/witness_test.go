package node

// This file tests that members compare what their plugins make of equal messages, and find the first message at which they part.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plexus/graph"
	"plexus/node/api"
	"plexus/p2p"
	"plexus/plugins"
	"plexus/sdk/client"
)

func guestFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const bad = 67 // the message that b's engine refuses

// couple are two members with the plugin count in one Space.
type couple struct {
	t     *testing.T
	a, b  *Node
	ann   api.Service
	space string
}

func newCouple(t *testing.T) *couple {
	t.Helper()
	c := &couple{t: t}
	wasm := guestFile(t, "count1")
	with := func(cfg *Config) { withPeers(cfg); cfg.Plugins = [][]byte{wasm} }
	c.a = open(t, t.TempDir(), with)
	c.b = open(t, t.TempDir(), with, func(cfg *Config) {
		cfg.astray = func(_ string, m graph.ID) string {
			if sp, err := c.b.space(c.space); err == nil {
				if st, err := sp.Message(m); err == nil && string(st.Entry.Body().Payload) == string(c.said(bad)) {
					return "b does it its own way"
				}
			}
			return ""
		}
	})
	run(t, c.a)
	run(t, c.b)
	inv, err := c.a.Invite(t.Context(), client.InviteCreate{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := joinSoon(t.Context(), c.b, inv.Ticket); err != nil {
		t.Fatal(err)
	}
	c.ann, _ = register(t, c.a, "ann")
	bob, _ := register(t, c.b, "bob")
	c.space = join(t, c.ann, "plan")
	join(t, bob, "plan")
	eventually(t, "a has a member to ask", func() bool {
		peers := c.a.peers.Peers()
		return len(peers) == 1 && peers[0].Connected
	})
	return c
}

func (c *couple) send(i int) client.Message {
	c.t.Helper()
	m, err := c.ann.Send(c.t.Context(), c.space, client.SendMessage{ContentType: "x", Content: content(fmt.Sprint(i))})
	if err != nil {
		c.t.Fatal(err)
	}
	return m
}

// said is the payload of a message.
func (c *couple) said(i int) []byte {
	b, err := graph.Draft{ContentType: "x", Content: content(fmt.Sprint(i))}.EncodePayload()
	if err != nil {
		c.t.Error(err)
	}
	return b
}

// settle waits until both hold and have folded the same.
func (c *couple) settle() {
	c.t.Helper()
	spaces := [2]*graph.Space{}
	for i, n := range []*Node{c.a, c.b} {
		sp, err := n.space(c.space)
		if err != nil {
			c.t.Fatal(err)
		}
		spaces[i] = sp
	}
	eventually(c.t, "both hold the same", func() bool {
		x, errX := c.a.standOf(spaces[0])
		y, errY := c.b.standOf(spaces[1])
		_, okX := c.a.statesOf(spaces[0])
		_, okY := c.b.statesOf(spaces[1])
		return errors.Join(errX, errY) == nil && x == y && okX && okY
	})
}

func TestMembersFindThatStatesDiffer(t *testing.T) {
	c := newCouple(t)
	for i := range 20 {
		c.send(i)
	}
	c.settle()
	c.a.compareAll(t.Context())
	sp, err := c.a.space(c.space)
	if err != nil {
		t.Fatal(err)
	}
	at, err := c.a.standOf(sp)
	if err != nil || !c.a.comparing.settled(c.b.Host(), sp.ID(), at) || !c.b.comparing.settled(c.a.Host(), sp.ID(), at) || len(c.a.disagreements(sp.ID())) > 0 {
		t.Fatalf("equal states: %+v, %v", c.a.disagreements(sp.ID()), err)
	}
	if due := c.a.due(c.b.Host(), []*graph.Space{sp}); len(due.Spaces) > 0 {
		t.Errorf("compared again though nothing changed: %+v", due)
	}

	// b's engine goes wrong at one message. It counts when it is found twice, on both sides.
	var wrong client.Message
	for i := 20; i < 110; i++ { // more than one question asks for
		if m := c.send(i); i == bad {
			wrong = m
		}
	}
	c.settle()
	var asked time.Time
	eventually(t, "both know that they differ", func() bool {
		if time.Since(asked) > secondLook/2 { // who asks too often gets no answer
			c.a.compareAll(t.Context())
			asked = time.Now()
		}
		return len(c.a.disagreements(sp.ID())) == 1 && len(c.b.disagreements(sp.ID())) == 1
	})
	d := c.a.disagreements(sp.ID())[0]
	if d.Plugin != "count" || d.Peer != c.b.Host().String() || d.Here.Hash == d.There.Hash || d.There.Engine != c.b.plugins.Engine() || d.Space != c.space {
		t.Errorf("%+v", d)
	}
	status, err := c.a.Status(t.Context())
	if err != nil || len(status.Disagree) != 1 {
		t.Errorf("status: %+v, %v", status.Disagree, err)
	}
	if p := pluginNamed(t, c.a, c.space, "count"); len(p.Disagree) != 1 {
		t.Errorf("list: %+v", p)
	}

	got, err := c.a.Bisect(t.Context(), c.space, "count", client.BisectAsk{})
	if err != nil || got.Agree || got.Message == nil || got.Message.ID != wrong.ID {
		t.Fatalf("bisect: %+v, %v", got, err)
	}
	if got.Here.Outcome != "folded" || got.There.Outcome != "trapped" || got.There.Reason != "b does it its own way" || got.Here.Hash == got.There.Hash || got.Here.Gas == 0 {
		t.Errorf("here %+v, there %+v", got.Here, got.There)
	}
	other, err := c.b.Bisect(t.Context(), c.space, "count", client.BisectAsk{Peer: c.a.Host().String()})
	if err != nil || other.Message == nil || other.Message.ID != wrong.ID || other.Here.Outcome != "trapped" || other.Damaged != "" {
		t.Errorf("from the other side: %+v, %v", other, err)
	}
}

func TestBisectOfWhatAgrees(t *testing.T) {
	c := newCouple(t)
	if _, err := c.a.Bisect(t.Context(), c.space, "count", client.BisectAsk{Peer: "nobody"}); !errors.Is(err, graph.ErrNotFound) {
		t.Errorf("no peer: %v", err)
	}
	if _, err := c.a.Bisect(t.Context(), c.space, "nothing", client.BisectAsk{}); !errors.Is(err, graph.ErrNotFound) {
		t.Errorf("no plugin: %v", err)
	}
	for i := range 5 {
		c.send(i)
	}
	c.settle()
	got, err := c.a.Bisect(t.Context(), c.space, "count", client.BisectAsk{})
	if err != nil || !got.Agree || got.Message != nil || got.Damaged != "" || got.Peer != c.b.Host().String() {
		t.Errorf("%+v, %v", got, err)
	}

	// What b keeps is damaged: both engines agree, and b's state is named.
	c.damage(c.b)
	c.send(6)
	c.settle()
	got, err = c.a.Bisect(t.Context(), c.space, "count", client.BisectAsk{Peer: c.b.Host().String()})
	if err != nil || !got.Agree || got.Damaged != c.b.Host().String() || got.Note == "" {
		t.Errorf("a damaged peer: %+v, %v", got, err)
	}
	got, err = c.b.Bisect(t.Context(), c.space, "count", client.BisectAsk{})
	if err != nil || !got.Agree || got.Damaged != c.b.Host().String() {
		t.Errorf("damaged here: %+v, %v", got, err)
	}
}

// damage changes a value of a plugin's state on disk.
func (c *couple) damage(n *Node) {
	c.t.Helper()
	rec := n.log.Records("plugin")
	for kv, err := range rec.Scan([]byte{'p'}, []byte{'p' + 1}, false) {
		if err != nil {
			c.t.Fatal(err)
		}
		if len(kv.Key) > 5 && kv.Key[5] == 's' {
			op := graph.Op{Kind: graph.Set, Key: append([]byte{}, kv.Key...), Value: []byte("damaged")}
			if err := rec.Apply(op); err != nil {
				c.t.Fatal(err)
			}
			return
		}
	}
	c.t.Fatal("there is no state")
}

// TestLiarsChangeNothing: whatever a member says, only what is shown of it changes, within bounds.
func TestLiarsChangeNothing(t *testing.T) {
	n := open(t, t.TempDir(), func(c *Config) { c.Plugins = [][]byte{guestFile(t, "count1")} })
	run(t, n)
	ann, _ := register(t, n, "ann")
	space := join(t, ann, "plan")
	if _, err := ann.Send(t.Context(), space, client.SendMessage{ContentType: "x", Content: json.RawMessage(`{}`)}); err != nil {
		t.Fatal(err)
	}
	sp, err := n.space(space)
	if err != nil {
		t.Fatal(err)
	}
	var ours p2p.SpaceStates
	eventually(t, "it is folded", func() bool {
		var ok bool
		ours, ok = n.statesOf(sp)
		return ok
	})
	liar := graph.NodeID{1}
	lie := func(change func(*p2p.States)) {
		s := ours
		s.Plugins = append([]p2p.PluginState{}, ours.Plugins...)
		s.Plugins[0].Hash = [32]byte{7}
		theirs := p2p.States{Engine: "mine\xff", Schedule: plugins.Schedule, Spaces: []p2p.SpaceStates{s}}
		change(&theirs)
		n.hear(liar, theirs)
	}
	for name, change := range map[string]func(*p2p.States){
		"another schedule": func(s *p2p.States) { s.Schedule++ },
		"another log":      func(s *p2p.States) { s.Spaces[0].Log.Count++ },
		"other rights":     func(s *p2p.States) { s.Spaces[0].Access.Count++ },
		"another file":     func(s *p2p.States) { s.Spaces[0].Plugins[0].File = "x" },
		"another plugin":   func(s *p2p.States) { s.Spaces[0].Plugins[0].Plugin = "x" },
		"no such Space":    func(s *p2p.States) { s.Spaces[0].Space = graph.BlockID([]byte("x")) },
		"the Network":      func(s *p2p.States) { s.Spaces[0].Space = n.members.network() },
	} {
		lie(change)
		if len(n.comparing.differ) > 0 {
			t.Errorf("%s is compared: %+v", name, n.comparing.differ)
		}
	}
	lie(func(*p2p.States) {})
	if d := n.disagreements(sp.ID()); len(n.comparing.differ) != 1 || len(d) > 0 {
		t.Errorf("once: %+v, shown %+v", n.comparing.differ, d)
	}
	for at, d := range n.comparing.differ {
		d.at = d.at.Add(-secondLook)
		n.comparing.differ[at] = d
	}
	lie(func(*p2p.States) {})
	if d := n.disagreements(graph.ID{}); len(d) != 1 || d[0].There.Engine != "mine?" || !strings.HasPrefix(d[0].There.Hash, "07") {
		t.Errorf("twice: %+v", d)
	}
	if !n.comparing.keep(map[graph.NodeID]bool{liar: false}) || n.comparing.keep(map[graph.NodeID]bool{liar: false}) {
		t.Error("a second look is asked for never, or for ever")
	}
	lie(func(s *p2p.States) { s.Spaces[0].Plugins[0].Hash = ours.Plugins[0].Hash })
	if len(n.comparing.differ) > 0 {
		t.Errorf("equal again: %+v", n.comparing.differ)
	}
	lie(func(*p2p.States) {})
	n.comparing.keep(map[graph.NodeID]bool{})
	if len(n.comparing.differ) > 0 {
		t.Error("one who is no member is remembered")
	}
}

func TestComparingIsBounded(t *testing.T) {
	var c comparing
	for i := range maxDifferences + 5 {
		c.note(place{space: graph.BlockID(fmt.Append(nil, i))}, difference{there: [32]byte{1}})
	}
	if len(c.differ) != maxDifferences {
		t.Errorf("%d differences", len(c.differ))
	}
	for i := range maxSettled + 1 {
		c.settle(graph.NodeID{}, graph.BlockID(fmt.Append(nil, i)), stand{})
	}
	if n := len(c.same[graph.NodeID{}]); n != 1 {
		t.Errorf("%d Spaces remembered after the bound", n)
	}
}

func TestPrefixesCost(t *testing.T) {
	var p prefixes
	if !p.afford() {
		t.Fatal("nothing is spent")
	}
	p.spend(prefixWork - 1)
	if !p.afford() {
		t.Error("refused below the bound")
	}
	p.spend(prefixWork)
	if p.afford() {
		t.Error("let in over the bound")
	}
	p.used = p.used.Add(-2 * prefixShare * prefixWork)
	if !p.afford() {
		t.Error("refused after the time was forgotten")
	}
	p.close()
	if p.afford() {
		t.Error("let in though it is closed")
	}
}

func TestKeysBesideKeys(t *testing.T) {
	full := graph.Key{Time: 4}
	for i := range full.ID {
		full.ID[i] = 0xff
	}
	for _, c := range [][2]graph.Key{{{Time: 5}, {Time: 5, ID: graph.ID{31: 1}}}, {{Time: 5, ID: graph.ID{31: 0xff}}, {Time: 5, ID: graph.ID{30: 1}}}, {full, {Time: 5}}} {
		if behind(c[0]) != c[1] || before(c[1]) != c[0] {
			t.Errorf("behind %v: %v; before it: %v", c[0], behind(c[0]), before(c[1]))
		}
	}
}

// A member whose plugin runs with another file can't be asked.
func TestPrefixesOfAnotherFile(t *testing.T) {
	c := newCouple(t)
	c.send(1)
	c.settle()
	id, err := graph.ParseID(c.space)
	if err != nil {
		t.Fatal(err)
	}
	ask := p2p.PrefixAsk{Space: id, Plugin: "count", File: fileID([]byte("x")), Keys: []graph.Key{{Time: 1}}}
	if _, err := c.a.peers.AskPrefixes(t.Context(), c.b.Host(), ask); !errors.Is(err, graph.ErrNotFound) {
		t.Errorf("another file: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.a.Bisect(ctx, c.space, "count", client.BisectAsk{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
