package vote

import (
	"testing"

	"plexus/sdk/plugin"
)

// TestRounds plays a poll through natively, without a node.
func TestRounds(t *testing.T) {
	trial := plugin.NewTrial(Plugin())
	send := func(by, kind string, content plugin.Map, parents ...string) string {
		id, _ := trial.Send(plugin.Message{Sender: by, Type: kind, Parents: parents}, content)
		return id
	}
	poll := send("ann", "vote:open", plugin.Map{"id": "p", "question": "Where?", "options": []string{"Inn", "Bar"}})
	send("bob", "vote:cast", plugin.Map{"option": "Inn"}, poll)
	send("cem", "vote:cast", plugin.Map{"option": "Inn"}, poll)
	send("bob", "vote:cast", plugin.Map{"option": "Bar"}, poll)
	wrong := send("dia", "vote:cast", plugin.Map{"option": "Pub"}, poll)
	stranger := send("bob", "vote:close", nil, poll)
	send("ann", "vote:close", nil, poll)
	late := send("dia", "vote:cast", plugin.Map{"option": "Bar"}, poll)

	tally, err := trial.View("tally", plugin.Map{"poll": poll}, "ann")
	if err != nil {
		t.Fatal(err)
	}
	var votes []int64
	for item := range tally.Get("tally").Items() {
		n, _ := item.Get("votes").Int()
		votes = append(votes, n)
	}
	if len(votes) != 2 || votes[0] != 1 || votes[1] != 1 {
		t.Errorf("votes: %v", votes)
	}
	for _, id := range []string{wrong, stranger, late} {
		if trial.Marked[id] == "" {
			t.Errorf("%s was taken", id)
		}
	}
	if len(trial.Marked) != 3 {
		t.Errorf("marked: %v", trial.Marked)
	}
	if open, err := trial.View("open", nil, ""); err != nil || open.Get("polls").Len() != 0 {
		t.Errorf("open polls: %v, %v", open, err)
	}
}

func TestRefusals(t *testing.T) {
	for name, content := range map[string]plugin.Map{
		"no id":       {"question": "?", "options": []string{"a", "b"}},
		"no question": {"id": "p", "options": []string{"a", "b"}},
		"one option":  {"id": "p", "question": "?", "options": []string{"a"}},
		"twice":       {"id": "p", "question": "?", "options": []string{"a", "a"}},
		"no text":     {"id": "p", "question": "?", "options": []any{"a", 1}},
	} {
		if _, err := plugin.NewTrial(Plugin()).Send(plugin.Message{Sender: "ann", Type: "vote:open"}, content); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestCommands(t *testing.T) {
	trial := plugin.NewTrial(Plugin())
	drafts, err := trial.Command("open", plugin.Map{"id": "p", "question": "?", "options": []string{"a", "b"}}, "ann")
	if err != nil || len(drafts) != 1 || drafts[0].Type != "vote:open" {
		t.Fatalf("%v, %v", drafts, err)
	}
	poll, err := trial.Send(plugin.Message{Sender: "ann", Type: drafts[0].Type}, drafts[0].Content)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trial.Command("cast", plugin.Map{"poll": poll, "option": "c"}, "bob"); err == nil {
		t.Error("an option that isn't there")
	}
	if _, err := trial.Command("close", plugin.Map{"poll": poll}, "bob"); err == nil {
		t.Error("closed by another")
	}
	if drafts, err = trial.Command("cast", plugin.Map{"poll": poll, "option": "b"}, "bob"); err != nil || drafts[0].Parents[0] != poll {
		t.Errorf("%v, %v", drafts, err)
	}
}
