package plugins

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"plexus/graph"
	"plexus/sdk/abi"
)

// greeter answers each message of type x with a draft of type "seen" that refers to nothing, and sets a timer that was due long ago; to a timer it
// answers with a draft of type "rang".
func greeter() []byte { return greeterOf(false) }

// greeterOf may answer the reacting Node's own messages too.
func greeterOf(own bool) []byte {
	draft := func(typ string) string {
		b := abi.AppendText(abi.AppendInt(abi.AppendMap(nil, 2), abi.DraftType), typ)
		return string(abi.Append(abi.AppendInt(b, abi.DraftContent), abi.Fields{"from": "plugin"}))
	}
	seen, rang := draft("seen"), draft("rang")
	w := wasm{
		imports: []wasmImport{{"output_write", 2, 0}, {"input_read", 1, 0}, {"timer_del", 2, 0}},
		data:    seen + rang + "bell",
	}
	at := int64(16)
	w.funcs = append(w.funcs,
		wasmFunc{export: abi.ExportFold, params: 1, results: 1, code: num(0)},
		wasmFunc{export: abi.ExportReact, params: 1, results: 1, code: ops(
			num(1024), callFn(1), // the input: a map whose second key says what it is about
			num(1024+1+1+5), []byte{0x2d, 0, 0}, num(abi.InMessage), []byte{0x46, 0x04, 0x40}, // its byte is 1: a message
			num(at), num(int64(len(seen))), callFn(0),
			[]byte{0x05},
			num(at+int64(len(seen))), num(int64(len(rang))), callFn(0),
			opEnd, num(at+int64(len(seen)+len(rang))), num(4), callFn(2), num(0))})
	return w.build(abi.Plugin{Name: "gree", Accepts: []string{"x"}, React: true, Own: own, Grants: []string{"timer"}})
}

// reacting runs a Reaction until stop is called.
func (r *replica) reacting(node, plugin string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func(h *Host) { done <- h.React(ctx, Reaction{Space: r.space.ID(), Plugin: plugin, Key: key(node)}) }(r.host)
	return func() {
		cancel()
		r.must(<-done)
	}
}

// said counts the visible messages of a type.
func (r *replica) said(typ string) (n int) {
	for e, err := range r.space.Range(r.ctx(), keyMin, keyMax) {
		r.must(err)
		if m, ok := e.Message(); ok && m.Type() == typ {
			n++
		}
	}
	return n
}

func TestReactionsAreSentOnce(t *testing.T) {
	r := newReplica(t, greeter())
	r.say("ann", "x", obj{"n": "before"})
	r.hash("gree")
	stop := r.reacting("bot", "gree")
	// The cursor is written before anything is answered for.
	a := &reactor{host: r.host, plugin: "gree", node: id("bot"), space: r.space}
	a.name = reactionName(r.space.ID(), "gree", id("bot"))
	r.until("started", func() bool { _, err := r.host.records.Get(a.record(kindCursor, "")); return err == nil })
	r.say("ann", "x", obj{"n": 1})
	r.say("ann", "y", obj{"n": "of another type"})
	r.say("bot", "x", obj{"n": "its own"})
	r.until("answered", func() bool { return r.said("seen") == 1 })
	stop()
	stop = r.reacting("bot", "gree")
	r.say("ann", "x", obj{"n": 2})
	r.until("answered again", func() bool { return r.said("seen") == 2 })
	stop()

	// The cursor lost, as if the machine had died before it was written: nothing is said twice.
	r.must(r.host.records.Apply(graph.Op{Kind: graph.Set, Key: a.record(kindCursor, ""), Value: make([]byte, 8)}))
	stop = r.reacting("bot", "gree")
	r.say("ann", "x", obj{"n": 3})
	r.until("answered a third time", func() bool { return r.said("seen") >= 4 })
	stop()
	if n := r.said("seen"); n != 4 { // 1, 2, 3, and the one before it began
		t.Errorf("%d answers to 4 messages", n)
	}
}

func TestReactionsToOnesOwn(t *testing.T) {
	r := newReplica(t, greeterOf(true))
	r.hash("gree")
	stop := r.reacting("bot", "gree")
	defer stop()
	a := &reactor{host: r.host, name: reactionName(r.space.ID(), "gree", id("bot"))}
	r.until("started", func() bool { _, err := r.host.records.Get(a.record(kindCursor, "")); return err == nil })
	r.say("bot", "x", obj{"n": "its own"})
	r.until("answered", func() bool { return r.said("seen") == 1 })
}

func TestTimersRingOnce(t *testing.T) {
	r := newReplica(t, greeter())
	r.hash("gree")
	a := &reactor{host: r.host, plugin: "gree", node: id("bot"), space: r.space}
	a.name = reactionName(r.space.ID(), "gree", id("bot"))
	ops := a.timerOps(map[string]int64{"bell": time.Now().Add(20 * time.Millisecond).UnixMicro(), "later": time.Now().Add(time.Hour).UnixMicro(), "gone": -1})
	r.must(r.host.records.Apply(ops...))
	stop := r.reacting("bot", "gree")
	r.until("rung", func() bool { return r.said("rang") == 1 })
	stop()
	r.restart()
	stop = r.reacting("bot", "gree")
	r.say("ann", "x", obj{})
	r.until("answered", func() bool { return r.said("seen") == 1 })
	stop()
	a.host = r.host
	timers, err := a.timers()
	r.must(err)
	if len(timers) != 1 || timers[0].name != "later" || r.said("rang") != 1 {
		t.Errorf("timers %+v, rung %d times", timers, r.said("rang"))
	}
}

func TestTimersAreBounded(t *testing.T) {
	r := newReplica(t, greeter())
	a := &reactor{host: r.host, plugin: "gree", node: id("bot"), space: r.space, name: reactionName(r.space.ID(), "gree", id("bot"))}
	name := func(i int) string { return "t" + strconv.Itoa(i) }
	half := map[string]int64{}
	for i := range maxTimers / 2 {
		half[name(i)] = 1
	}
	r.must(r.host.records.Apply(a.timerOps(half)...))
	e := &effects{timers: map[string]int64{}, waiting: a.timerNames}
	for i := range maxTimers { // those that wait are moved, the others are new
		r.must(e.setTimer(name(i), 2))
	}
	if err := e.setTimer("more", 1); err == nil || !strings.Contains(err.Error(), "more than 1024 timers would wait") {
		t.Errorf("one more than there may be: %v", err)
	}
	r.must(e.setTimer(name(3), -1))
	r.must(e.setTimer("instead", 1))
}

func TestReactionsThatCantBe(t *testing.T) {
	r := newReplica(t, greeter())
	if err := r.host.React(r.ctx(), Reaction{Space: graph.BlockID([]byte("x")), Plugin: "gree", Key: key("bot")}); !errors.Is(err, graph.ErrNotFound) {
		t.Errorf("no Space: %v", err)
	}
	ctx, cancel := context.WithTimeout(r.ctx(), 10*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- r.host.React(ctx, Reaction{Space: r.space.ID(), Plugin: "nope", Key: key("bot")}) }()
	a := &reactor{host: r.host, name: reactionName(r.space.ID(), "nope", id("bot"))}
	r.until("started", func() bool { _, err := r.host.records.Get(a.record(kindCursor, "")); return err == nil })
	r.say("ann", "x", obj{})
	if err := <-done; !errors.Is(err, graph.ErrNotFound) {
		t.Errorf("no plugin: %v", err)
	}
}

// The node's test of reactions runs this guest, from a file.
func TestGreeterOfTheNode(t *testing.T) {
	const path = "../node/testdata/greeter.wasm"
	b, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(b, greeter()) {
		if os.Getenv("PLEXUS_WRITE") == "" {
			t.Fatalf("%s isn't what greeter makes (%v): PLEXUS_WRITE=1 writes it", path, err)
		}
		if err := os.WriteFile(path, greeter(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
