package checkpoint

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"plexus/sdk/plugin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type trial struct {
	*plugin.Trial
	t *testing.T
}

func newTrial(t *testing.T) trial { return trial{plugin.NewTrial(Plugin()), t} }

func (r trial) ask(sender string, content plugin.Map, nodes ...string) string {
	r.t.Helper()
	id, err := r.Send(plugin.Message{Sender: sender, Type: Type, Nodes: nodes}, content)
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

func (r trial) reply(sender, to string, content plugin.Map) (string, error) {
	return r.Send(plugin.Message{Sender: sender, Parents: []string{to}}, content)
}

func (r trial) items(view string, params plugin.Map) (out []plugin.Value, next string) {
	r.t.Helper()
	v, err := r.View(view, params, "")
	if err != nil {
		r.t.Fatal(err)
	}
	for item := range v.Get("checkpoints").Items() {
		out = append(out, item)
	}
	return out, v.Get("next").Text()
}

func TestAnswersThatAreRefused(t *testing.T) {
	r := newTrial(t)
	c := r.ask("ann", plugin.Map{"id": "c", "options": []string{"Yes", "No"}}, "bob", "cem")
	for _, test := range []struct {
		sender  string
		content plugin.Map
		reason  string
	}{
		{"ann", plugin.Map{"option": "Yes"}, "own author"},
		{"eve", plugin.Map{"option": "Yes"}, "addressed to others"},
		{"bob", plugin.Map{"option": "Maybe"}, "one of the checkpoint's options"},
		{"bob", plugin.Map{"text": "hm"}, ""},
		{"bob", plugin.Map{"option": "reject"}, ""},
		{"cem", plugin.Map{"feedback": "no words"}, ""},
	} {
		_, err := r.reply(test.sender, c, test.content)
		if test.reason == "" && err != nil || test.reason != "" && (err == nil || !strings.Contains(err.Error(), test.reason)) {
			t.Errorf("%s %v: %v", test.sender, test.content, err)
		}
	}
	items, _ := r.items("all", nil)
	if a := items[0].Get("answer"); a.Get("option").Text() != Reject || !a.Get("rejected").Bool() || items[0].Get("overruled").Len() != 1 {
		t.Errorf("holds: %q, %d overruled", a.Get("option").Text(), items[0].Get("overruled").Len())
	}
}

func TestCheckpointsThatAreRefused(t *testing.T) {
	r := newTrial(t)
	many := make([]string, maxOptions+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for name, content := range map[string]plugin.Map{
		"no id": {}, "id no text": {"id": 1}, "long id": {"id": strings.Repeat("x", maxID+1)},
		"option no text": {"id": "c", "options": []any{1}}, "many options": {"id": "c", "options": many},
		"long option": {"id": "c", "options": []string{strings.Repeat("x", maxOption+1)}},
	} {
		if _, err := r.Send(plugin.Message{Sender: "ann", Type: Type}, content); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	r.ask("ann", plugin.Map{"id": strings.Repeat("x", maxID), "options": many[:maxOptions]})
}

// A settlement holds against an answer that sorts before it but arrives in a refold.
func TestSettlementHoldsAgainstABackdatedRival(t *testing.T) {
	for _, backdated := range []bool{false, true} {
		r := newTrial(t)
		c := r.ask("ann", plugin.Map{"id": "c"})
		if backdated {
			if _, err := r.reply("eve", c, plugin.Map{"option": "mine"}); err != nil {
				t.Fatal(err)
			}
		}
		a, _ := r.reply("bob", c, plugin.Map{"option": "yours"})
		if _, err := r.reply("bob", a, plugin.Map{"text": "not the author's word"}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.reply("ann", a, plugin.Map{"text": "done"}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.reply("ann", a, plugin.Map{"text": "again"}); err != nil {
			t.Fatal(err)
		}
		items, _ := r.items("answered", nil)
		if items[0].Get("answer").Get("by").Text() != "bob" || !items[0].Get("settled").Bool() {
			t.Errorf("backdated %v: %q holds", backdated, items[0].Get("answer").Get("by").Text())
		}
	}
}

func TestListsFilterAndPage(t *testing.T) {
	r := newTrial(t)
	r.ask("ann", plugin.Map{"id": "1"}, "bob")
	r.ask("ann", plugin.Map{"id": "2"})
	c := r.ask("ann", plugin.Map{"id": "3"})
	if _, err := r.reply("bob", c, plugin.Map{"option": "x"}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		view   string
		params plugin.Map
		ids    string
	}{
		{"pending", nil, "1 2"},
		{"pending", plugin.Map{"node": "bob"}, "1 2"},
		{"pending", plugin.Map{"node": "eve"}, "2"},
		{"answered", nil, "3"},
		{"all", nil, "1 2 3"},
		{"all", plugin.Map{"limit": 2}, "1 2"},
	} {
		items, _ := r.items(test.view, test.params)
		var ids []string
		for _, i := range items {
			ids = append(ids, i.Get("id").Text())
		}
		if strings.Join(ids, " ") != test.ids {
			t.Errorf("%s %v: %v, want %s", test.view, test.params, ids, test.ids)
		}
	}
	_, next := r.items("all", plugin.Map{"limit": 2})
	items, last := r.items("all", plugin.Map{"after": next})
	if len(items) != 1 || items[0].Get("id").Text() != "3" || last != "" {
		t.Errorf("second page: %d items, then %q", len(items), last)
	}
	for _, bad := range []plugin.Map{{"limit": 0}, {"limit": 201}, {"limit": "x"}} {
		if _, err := r.View("all", bad, ""); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}

// A page stays far below what a view may put out, whatever the messages hold.
func TestPageIsBounded(t *testing.T) {
	r := newTrial(t)
	long := strings.Repeat("ä", 10_000)
	for i := range 60 {
		c := r.ask("ann", plugin.Map{"id": fmt.Sprint(i), "title": long, "content": long, "kind": long, "target": long, "status": long})
		for range 10 {
			if _, err := r.reply("bob", c, plugin.Map{"feedback": long}); err != nil {
				t.Fatal(err)
			}
		}
	}
	seen, next := 0, ""
	for {
		v, err := r.View("all", plugin.Map{"after": next, "limit": 200}, "")
		if err != nil {
			t.Fatal(err)
		}
		if len(v) > 200<<10 {
			t.Fatalf("a page of %d bytes", len(v))
		}
		seen += v.Get("checkpoints").Len()
		if next = v.Get("next").Text(); next == "" {
			break
		}
	}
	if seen != 60 {
		t.Errorf("%d seen", seen)
	}
}

func TestCommands(t *testing.T) {
	r := newTrial(t)
	d, err := r.Command("submit", plugin.Map{"id": "c", "title": "T", "nodes": []string{"bob"}}, "ann")
	if err != nil || len(d) != 1 || d[0].Type != Type || d[0].Content["title"].(plugin.Value).Text() != "T" || d[0].Nodes[0] != "bob" || d[0].Content["nodes"] != nil {
		t.Errorf("submit: %+v %v", d, err)
	}
	c := r.ask("ann", plugin.Map{"id": "c", "options": []string{"Yes"}})
	d, err = r.Command("answer", plugin.Map{"checkpoint": c, "option": "yes", "feedback": "f"}, "bob")
	if err != nil || d[0].Content["option"] != "Yes" || d[0].Parents[0] != c || d[0].Nodes[0] != "ann" {
		t.Errorf("answer: %+v %v", d, err)
	}
	if _, err := r.reply("bob", c, plugin.Map{"option": "Yes"}); err != nil {
		t.Fatal(err)
	}
	for name, params := range map[string]plugin.Map{"unknown": {"checkpoint": "x", "option": "Yes"}, "answered": {"checkpoint": c, "option": "Yes"}} {
		if _, err := r.Command("answer", params, "bob"); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if _, err := r.Command("submit", plugin.Map{}, "ann"); err == nil {
		t.Error("no id is taken")
	}
}
