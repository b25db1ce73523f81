package plugins

import (
	"encoding/binary"
	"strings"
	"testing"

	"plexus/graph"
	"plexus/sdk/abi"
)

// gatekeeper refuses messages until a long one is folded before them. To each that it takes it says "seen", or "again" where it is told so.
func gatekeeper() []byte {
	draft := func(typ string) string {
		b := abi.AppendText(abi.AppendInt(abi.AppendMap(nil, 2), abi.DraftType), typ)
		return string(abi.Append(abi.AppendInt(b, abi.DraftContent), abi.Fields{}))
	}
	seen, again := draft("seen"), draft("again")
	const at, opIf, opElse = 16, 0x04, 0x05
	w := wasm{imports: []wasmImport{importSet, {"state_get", 4, 1}, importRead, importWrite}, data: seen + again + "open"}
	open := []byte{}
	open = ops(open, num(at+int64(len(seen)+len(again))), num(4))
	w.funcs = append(w.funcs,
		wasmFunc{export: abi.ExportFold, params: 1, results: 1, code: ops(
			get(0), num(600), []byte{0x4a, opIf, 0x40}, open, num(0), num(0), callFn(0), opEnd, // n > 600: set
			open, num(0), num(0), callFn(1), num(0), []byte{0x48})}, // state_get < 0: code 1
		wasmFunc{export: abi.ExportReact, params: 1, results: 1, code: ops(
			num(1024), callFn(2),
			get(0), num(1023), opAdd, []byte{0x2d, 0, 0}, num(0xf5), []byte{0x46, opIf, 0x40}, // the input's last byte is true
			num(at+int64(len(seen))), num(int64(len(again))), callFn(3), []byte{opElse},
			num(at), num(int64(len(seen))), callFn(3), opEnd, num(0))})
	return w.build(abi.Plugin{Name: "gate", Accepts: []string{"x"}, React: true})
}

func (r *replica) reactorOf(node, plugin string) *reactor {
	return &reactor{host: r.host, plugin: plugin, node: id(node), space: r.space, name: reactionName(r.space.ID(), plugin, id(node))}
}

// A message that the fold refuses is answered once a late one makes it right, by whoever runs then, and once.
func TestReactionsAreAskedAgain(t *testing.T) {
	early := bareReplica(t)
	defer early.close()
	open := early.say("ann", "x", obj{"long": strings.Repeat("x", 600)})
	for name, restart := range map[string]bool{"live": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			r := newReplica(t, gatekeeper())
			r.now.set(early.now.read().Add(1e9))
			r.hash("gate")
			stop := r.reacting("bot", "gate")
			a := r.reactorOf("bot", "gate")
			r.until("started", func() bool { _, err := r.host.records.Get(a.record(kindCursor, "")); return err == nil })
			r.say("bob", "x", obj{"n": 1})
			r.say("bob", "x", obj{"n": 2})
			r.until("refused", func() bool { n, err := a.countRefused(); r.must(err); return n == 2 })
			if restart {
				stop()
				r.restart()
				a = r.reactorOf("bot", "gate")
				stop = r.reacting("bot", "gate")
			}
			r.add(open)
			r.until("asked again", func() bool { return r.said("again") == 2 })
			r.say("bob", "x", obj{"n": 3})
			r.until("asked", func() bool { return r.said("seen") == 2 }) // the late one and this
			stop()
			if n, err := a.countRefused(); err != nil || n != 0 || r.said("again") != 2 {
				t.Errorf("%d wait still (%v), %d were asked again", n, err, r.said("again"))
			}
		})
	}
}

func TestRefusedMessagesThatWaitAreBounded(t *testing.T) {
	r := newReplica(t, gatekeeper())
	a := r.reactorOf("bot", "gate")
	for i := range maxRefused + 1 {
		r.must(a.refuse(graph.Key{Time: graph.Time(i + 1)}, graph.Pos(i+1)))
		r.must(a.refuse(graph.Key{Time: graph.Time(i + 1)}, graph.Pos(i+1)))
	}
	keys, err := a.refusedKeys(maxRefused + 5)
	r.must(err)
	if len(keys) != maxRefused || a.refused != maxRefused || keys[0].Time != 2 {
		t.Errorf("%d wait, counted %d, the first of time %d", len(keys), a.refused, keys[0].Time)
	}
}

// Whoever a guest is called for, it learns what the access log says of them.
func TestGuestsKnowTheirCaller(t *testing.T) {
	r := bareReplica(t, greeter())
	r.must(r.log.Apply(r.ctx(), &rights{attest: map[graph.NodeID]string{id("ann"): "admin/human", id("bob"): "writer/"}}))
	r.run()
	defer r.close()
	for node, want := range map[string]string{"ann": "admin/human", "bob": "writer/", "eve": "/"} {
		in, err := question{"command", "go", nil, []byte(`{"a":1}`), id(node)}.input("gree", r.host.asker(r.space.ID(), id(node)))
		r.must(err)
		event, err := r.reactorOf(node, "gree").input(nil, "bell", true)
		r.must(err)
		for _, b := range [][]byte{in, event} {
			v := abi.Value(b)
			if got := v.At(abi.InRole).Text() + "/" + v.At(abi.InKind).Text(); got != want || abi.Check(b) != nil || v.At(abi.InCaller).Text() != id(node).String() {
				t.Errorf("%s is seen as %s (%v)", node, got, abi.Check(b))
			}
		}
	}
	if got := r.host.asker(r.space.ID(), graph.NodeID{}); got != (asker{}) {
		t.Errorf("nobody is %+v", got)
	}
}

// Each Node of a host answers for itself, and once over restarts of the host; what one is to say, one says.
func TestReactionsOfTwoNodes(t *testing.T) {
	r := newReplica(t, greeter(), herald())
	r.hash("gree")
	r.hash("hera")
	var stops []func()
	start := func() {
		for _, node := range []string{"bot", "bee"} {
			for _, plugin := range []string{"gree", "hera"} {
				stops = append(stops, r.reacting(node, plugin))
				a := r.reactorOf(node, plugin)
				r.until("started", func() bool { _, err := r.host.records.Get(a.record(kindCursor, "")); return err == nil })
			}
		}
	}
	stop := func() {
		for _, s := range stops {
			s()
		}
		stops = nil
	}
	start()
	r.say("ann", "x", obj{"n": 1})
	r.until("answered", func() bool { return r.said("seen") == 2 && r.said("rung") == 1 })
	stop()
	r.restart()
	for _, node := range []string{"bot", "bee"} { // as if the machine had died before the cursors were written
		for _, plugin := range []string{"gree", "hera"} {
			r.must(r.host.records.Apply(graph.Op{Kind: graph.Set, Key: r.reactorOf(node, plugin).record(kindCursor, ""), Value: make([]byte, 8)}))
		}
	}
	start()
	r.say("ann", "x", obj{"n": 2})
	r.until("answered again", func() bool { return r.said("seen") >= 4 && r.said("rung") >= 2 })
	for _, node := range []string{"bot", "bee"} {
		for _, plugin := range []string{"gree", "hera"} {
			a := r.reactorOf(node, plugin)
			r.until("read on", func() bool {
				b, err := r.host.records.Get(a.record(kindCursor, ""))
				return err == nil && binary.BigEndian.Uint64(b) > 0
			})
		}
	}
	stop()
	if seen, rung := r.said("seen"), r.said("rung"); seen != 4 || rung != 2 {
		t.Errorf("2 messages: %d answers of 2 Nodes, %d of the host", seen, rung)
	}
}

// herald answers each message with a draft of type "rung" that one Node of a host is to send.
func herald() []byte {
	b := abi.AppendText(abi.AppendInt(abi.AppendMap(nil, 3), abi.DraftType), "rung")
	b = abi.Append(abi.AppendInt(b, abi.DraftContent), abi.Fields{})
	draft := abi.AppendBool(abi.AppendInt(b, abi.DraftOnce), true)
	w := wasm{imports: []wasmImport{importWrite}, data: string(draft)}
	w.funcs = append(w.funcs,
		wasmFunc{export: abi.ExportFold, params: 1, results: 1, code: num(0)},
		wasmFunc{export: abi.ExportReact, params: 1, results: 1, code: ops(num(16), num(int64(len(draft))), callFn(0), num(0))})
	return w.build(abi.Plugin{Name: "hera", Accepts: []string{"x"}, React: true})
}
