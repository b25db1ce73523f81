package task

import (
	"testing"

	"plexus/sdk/plugin"
)

// A task is confirmed without asking only where the user said from which level on, for the Node it names, of one whom the user trusts that far, and
// while it may be confirmed.
func TestReactConfirmsWhomTheUserTrusts(t *testing.T) {
	defer func() { clear(plugin.Trusts); clear(plugin.Needs); clear(plugin.Timers) }()
	plugin.Trusts["ann"], plugin.Trusts["eve"] = plugin.Trusted, plugin.Known
	for _, row := range []struct {
		name, sender, node string
		need               plugin.Level
		nodes              []string
		steps              []step
		want               bool
	}{
		{"trusted", "ann", "bob", plugin.Trusted, []string{"bob"}, nil, true},
		{"more than needed", "ann", "bob", plugin.Known, []string{"bob"}, nil, true},
		{"not enough", "eve", "bob", plugin.Trusted, []string{"bob"}, nil, false},
		{"nothing known of it", "mia", "bob", plugin.Unknown, []string{"bob"}, nil, false},
		{"nothing said", "ann", "bob", plugin.NoPolicy, []string{"bob"}, nil, false},
		{"nobody", "ann", "bob", plugin.Nobody, []string{"bob"}, nil, false},
		{"for another", "ann", "bob", plugin.Trusted, []string{"cem"}, nil, false},
		{"for anyone", "ann", "bob", plugin.Trusted, nil, nil, false},
		{"one's own", "ann", "ann", plugin.Known, []string{"ann"}, nil, false},
		{"taken", "ann", "bob", plugin.Trusted, []string{"bob", "cem"}, []step{{"cem", Confirm}}, false},
	} {
		if plugin.Needs["confirm"] = row.need; row.need == plugin.NoPolicy {
			delete(plugin.Needs, "confirm")
		}
		r := newTrial(t)
		task, err := r.Send(plugin.Message{Sender: row.sender, Type: Request, Nodes: row.nodes}, plugin.Map{"task_type": "t"})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range row.steps {
			r.sayAt(10, b.by, b.what, contents[b.what], "", task)
		}
		d, err := r.React(plugin.Event{Message: plugin.Message{ID: task, Type: Request, Sender: row.sender}, Node: row.node})
		if err != nil || (len(d) == 1) != row.want {
			t.Errorf("%s: %v %v", row.name, d, err)
			continue
		}
		if row.want && (d[0].Type != Confirm || d[0].Parents[0] != task || d[0].Meta["auto"] != true || d[0].Nodes[0] != row.sender) {
			t.Errorf("%s: %+v", row.name, d[0])
		}
	}
}

func TestViewsShowTrustWhereAsked(t *testing.T) {
	defer clear(plugin.Trusts)
	plugin.Trusts["ann"] = plugin.Owner
	r := newTrial(t)
	for _, sender := range []string{"ann", "mia"} {
		if _, err := r.Send(plugin.Message{Sender: sender, Type: Request}, plugin.Map{"task_type": "t"}); err != nil {
			t.Fatal(err)
		}
	}
	for ask, want := range map[any]string{nil: "/", false: "/", true: "owner/", "true": "owner/"} {
		v, err := r.View("open", plugin.Map{"trust": ask}, "")
		got := ""
		for item := range v.Get("tasks").Items() {
			got += item.Get("trust").Text()
			if item.Get("sender").Text() == "ann" {
				got += "/"
			}
		}
		if err != nil || got != want {
			t.Errorf("%v: %q, want %q (%v)", ask, got, want, err)
		}
	}
}
