package human

import (
	"testing"

	"plexus/sdk/plugin"
)

// Who asked says when a level's time has passed, each level once, and nothing when it is decided.
func TestReact(t *testing.T) {
	before := plugin.Clock
	defer func() { plugin.Clock = before; clear(plugin.Timers) }()
	clear(plugin.Timers)
	r := newTrial(t)
	levels := []any{plugin.Map{"nodes": []string{"bob"}, "timeout_s": 10}, plugin.Map{"nodes": []string{"hal"}, "timeout_s": 20}}
	d := r.say(100, "ann", Escalate, plugin.Map{"question": "?", "levels": levels}, "", nil...)
	ring := func(now int64, want int) []plugin.Draft {
		t.Helper()
		plugin.Clock = now * 1_000_000
		out, err := r.React(plugin.Event{Timer: d, Node: "bob"})
		if err != nil || len(out) != want {
			t.Fatalf("at %d: %v %v", now, out, err)
		}
		return out
	}
	if out, err := r.React(plugin.Event{Message: plugin.Message{ID: d}, Node: "bob"}); err != nil || out != nil || plugin.Timers[d] != 110_000_001 {
		t.Errorf("%v %v, the timer is set to %d", out, err, plugin.Timers[d])
	}
	if out, _ := r.React(plugin.Event{Timer: d, Node: "eve"}); out != nil {
		t.Error("a stranger watches")
	}
	ring(110, 0)
	first := ring(111, 1)
	if first[0].Type != Timeout || plugin.Timers[d] != 131_000_001 {
		t.Errorf("%v, the timer is set to %d", first, plugin.Timers[d])
	}
	r.say(111, "bob", Timeout, nil, "", first[0].Parents...)
	ring(131, 0)
	if second := ring(132, 1); second[0].Key == first[0].Key {
		t.Error("two levels have one key")
	}
	r.say(120, "hal", Decision, decision(Approve), "", d)
	ring(200, 0)
}
