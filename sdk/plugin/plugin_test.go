package plugin

import (
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"plexus/sdk/abi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// votes is the package comment's example, a little more careful.
var votes = Plugin{
	Name: "vote",
	Fold: func(s State, m Message) error {
		option := m.Content.Get("option").Text()
		s.Set("vote/"+m.Sender, []byte(option))
		if option == "" {
			return Refusal("say an option")
		}
		return nil
	},
	Views: map[string]View{"all": func(s State, q Query) (any, error) {
		out := Map{}
		for k, v := range s.Scan("vote/") {
			out[k[len("vote/"):]] = string(v)
		}
		return out, nil
	}},
}

func TestTrial(t *testing.T) {
	trial := NewTrial(votes)
	for _, m := range []struct{ sender, option string }{{"ann", "a"}, {"bob", "b"}, {"ann", "c"}, {"cem", ""}} {
		_, err := trial.Send(Message{Sender: m.sender}, Map{"option": m.option})
		if (err != nil) != (m.option == "") {
			t.Errorf("%v: %v", m, err)
		}
	}
	v, err := trial.View("all", nil, "")
	if err != nil || v.Len() != 2 || v.Get("ann").Text() != "c" || v.Get("bob").Text() != "b" {
		t.Errorf("votes: % x %v", []byte(v), err)
	}
	if trial.Marked["m4"] != "say an option" {
		t.Errorf("marked: %v", trial.Marked)
	}
	var no Refusal
	if _, err := trial.View("none", nil, ""); !errors.As(err, &no) {
		t.Errorf("an unknown view: %v", err)
	}
}

func TestScanSeesItsOwnWrites(t *testing.T) {
	trial := NewTrial(Plugin{Name: "p"})
	s := State{trial}
	for _, k := range []string{"a/1", "a/2", "a/3", "b/1"} {
		s.SetText(k, k)
	}
	var got string
	for k, v := range s.Scan("a/") {
		got += string(v[2:])
		s.Delete("a/2")
		if k == "a/1" {
			s.SetText("a/4", "a/4")
		}
	}
	if got != "134" {
		t.Errorf("scanned %q", got)
	}
	for k := range s.Keys("a/", "1") {
		got += k
	}
	if got != "134a/3a/4" {
		t.Errorf("keys %q", got)
	}
}

func TestMessageReadsBack(t *testing.T) {
	m := Message{
		ID: "i", Sender: "s", Time: 5, Type: "t", Content: abi.Encode(Map{"x": 1}), Meta: abi.Encode(Map{}),
		Parents: []string{"p"}, Nodes: []string{"n"}, Role: "writer", Kind: "human",
	}
	v := EncodeMessage(m)
	if err := abi.Check(v); err != nil {
		t.Fatal(err)
	}
	got := readMessage(v)
	if got.ID != "i" || got.Sender != "s" || got.Time != 5 || got.Type != "t" || got.Content.Get("x") == nil || got.Meta == nil || got.Parents[0] != "p" ||
		got.Nodes[0] != "n" || got.Role != "writer" || got.Kind != "human" {
		t.Errorf("%+v", got)
	}
}

func TestTimePrintsAsTheStandardLibraryDoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.Int64Range(0, 253402300799999999).Draw(rt, "micros")
		if got, want := Time(n), time.UnixMicro(n).UTC().Format("2006-01-02T15:04:05.000000Z"); got != want {
			rt.Errorf("%d: %s, want %s", n, got, want)
		}
	})
}
