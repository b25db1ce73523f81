package task

import (
	"testing"

	"plexus/sdk/plugin"
)

// A Node that a task concerns says once a time has passed, not before, and not when the task has ended.
func TestReact(t *testing.T) {
	before := plugin.Clock
	defer func() { plugin.Clock = before; clear(plugin.Timers) }()
	for _, row := range []struct {
		name  string
		steps []step
		node  string
		at    int64 // seconds: when the timer shall ring; 0: there is none
	}{
		{"nobody confirms", nil, "bob", 101},
		{"who asked", nil, "ann", 101},
		{"a stranger", nil, "eve", 0},
		{"who has it is silent", []step{{"bob", Confirm}}, "ann", 70},
		{"waits for others", []step{{"bob", Confirm}, {"bob", Start}, {"bob", Escalate}}, "bob", 1000},
		{"ended", []step{{"bob", Confirm}, {"ann", Cancel}}, "ann", 0},
	} {
		clear(plugin.Timers)
		r := newTrial(t)
		task := r.sayAt(1, "ann", Request, plugin.Map{"task_type": "t", "deadline": "1970-01-01T00:16:40Z", "expires_at": "1970-01-01T00:01:41Z", "heartbeat_s": 60}, "")
		lastID := task
		for _, b := range row.steps {
			lastID = r.sayAt(10, b.by, b.what, contents[b.what], "", lastID)
		}
		if d, err := r.React(plugin.Event{Message: plugin.Message{ID: lastID}, Node: row.node}); err != nil || d != nil {
			t.Errorf("%s: %v %v", row.name, d, err)
		}
		if at, ok := plugin.Timers[task]; ok != (row.at > 0) || ok && at != row.at*1_000_000+1 {
			t.Errorf("%s: the timer is set to %d, want %d s", row.name, at, row.at)
		}
		for _, now := range []int64{row.at * 1_000_000, row.at*1_000_000 + 1} {
			plugin.Clock = now
			d, err := r.React(plugin.Event{Timer: task, Node: row.node})
			due := row.at > 0 && now > row.at*1_000_000
			if err != nil || (len(d) == 1) != due || due && d[0].Type != Timeout {
				t.Errorf("%s at %d: %v %v", row.name, now, d, err)
			}
		}
	}
}
