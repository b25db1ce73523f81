package handoff

import (
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

// say folds a message; a refusal must have want in it, "" is none.
func (r trial) say(by, what string, content plugin.Map, refs []string, want string, nodes ...string) string {
	r.t.Helper()
	id, err := r.Send(plugin.Message{Sender: by, Type: what, Parents: refs, Nodes: nodes}, content)
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		r.t.Errorf("%s %s %v: %v, want %q", by, what, content, err, want)
	}
	return id
}

func (r trial) list(view string, params plugin.Map, caller string) (out []plugin.Value) {
	r.t.Helper()
	v, err := r.View(view, params, caller)
	if err != nil {
		r.t.Fatal(err)
	}
	for item := range v.Get("handoffs").Items() {
		out = append(out, item)
	}
	return out
}

// Every state a handoff may be in, against everything that may be said of it by everybody.
func TestEveryTransition(t *testing.T) {
	type row struct{ by, what, refused, status string }
	for state, test := range map[string]struct {
		before [][2]string // by, what
		rows   []row
	}{
		"open": {nil, []row{
			{"ann", Claim, "own author", "open"},
			{"bob", Claim, "", "claimed"},
			{"eve", Claim, "for others", "open"},
			{"ann", Decline, "own author", "open"},
			{"bob", Decline, "", "open"},
			{"eve", Decline, "for others", "open"},
			{"ann", Release, "only one who claimed", "open"},
			{"bob", Release, "only one who claimed", "open"},
			{"ann", Withdraw, "", "withdrawn"},
			{"bob", Withdraw, "only its author", "open"},
		}},
		"claimed": {[][2]string{{"bob", Claim}}, []row{
			{"bob", Claim, "claimed it already", "claimed"},
			{"cem", Claim, "", "claimed"},
			{"bob", Decline, "claimed it already", "claimed"},
			{"cem", Decline, "", "claimed"},
			{"bob", Release, "", "open"},
			{"cem", Release, "only one", "claimed"},
			{"ann", Withdraw, "", "withdrawn"},
		}},
		"settled": {[][2]string{{"bob", Claim}, {"ann", "settle"}}, []row{
			{"cem", Claim, "is with bob", "claimed"}, {"cem", Decline, "is with bob", "claimed"}, {"bob", Release, "", "open"}, {"ann", Withdraw, "", "withdrawn"},
		}},
		"declined": {[][2]string{{"bob", Decline}, {"cem", Decline}}, []row{
			{"bob", Claim, "", "claimed"}, {"cem", Decline, "", "declined"}, {"bob", Release, "only one", "declined"}, {"ann", Withdraw, "", "withdrawn"},
		}},
		"withdrawn": {[][2]string{{"bob", Claim}, {"ann", Withdraw}}, []row{
			{"cem", Claim, "was withdrawn", "withdrawn"}, {"cem", Decline, "was withdrawn", "withdrawn"}, {"bob", Release, "was withdrawn", "withdrawn"}, {"ann", Withdraw, "was withdrawn", "withdrawn"},
		}},
	} {
		for _, row := range test.rows {
			r := newTrial(t)
			h := r.say("ann", Type, plugin.Map{"title": "go on"}, nil, "", "bob", "cem")
			last := h
			for _, b := range test.before {
				if b[1] == "settle" {
					r.say(b[0], "", nil, []string{last}, "")
				} else {
					last = r.say(b[0], b[1], nil, []string{h}, "")
				}
			}
			what := strings.TrimPrefix(row.what, "handoff:")
			_, err := r.Command(what, plugin.Map{"handoff": h}, row.by)
			// The command also refuses to claim what another holds already: by messages alone that is a rival claim.
			if refused := row.refused != "" || row.what == Claim && state == "claimed"; (err != nil) != refused {
				t.Errorf("%s: command %s by %s: %v", state, what, row.by, err)
			}
			r.say(row.by, row.what, nil, []string{h}, row.refused)
			if got := r.list("all", nil, "")[0].Get("status").Text(); got != row.status {
				t.Errorf("%s: after %s by %s it is %s, want %s", state, row.what, row.by, got, row.status)
			}
			if open := len(r.list("unclaimed", nil, "")) == 1; open != (row.status == "open") {
				t.Errorf("%s: after %s by %s: open is %v", state, row.what, row.by, open)
			}
		}
	}
}

func TestHandoffsThatAreRefused(t *testing.T) {
	for _, test := range []struct {
		content plugin.Map
		refs    []string
		refused string
	}{
		{plugin.Map{}, nil, "title or content.message"},
		{plugin.Map{"title": "t", "context": "all"}, nil, "must be ancestors"},
		{plugin.Map{"title": "t", "context": "messages"}, nil, "needs messages"},
		{plugin.Map{"title": "t", "context": "ancestors"}, nil, "needs messages"},
		{plugin.Map{"title": "t", "context": "summary"}, nil, "needs content.summary"},
		{plugin.Map{"title": "t", "context": "summary", "summary": "s"}, nil, ""},
		{plugin.Map{"message": "m", "context": "messages"}, []string{"x"}, ""},
		{plugin.Map{"message": "m", "context": "none"}, []string{"x"}, ""},
	} {
		r := newTrial(t)
		r.say("ann", Type, test.content, test.refs, test.refused)
		content := plugin.MapOf(nil)
		for k, v := range test.content {
			content[k] = v
		}
		content["parents"] = test.refs
		if _, err := r.Command("give", content, "ann"); (err != nil) != (test.refused != "") {
			t.Errorf("give %v: %v", test.content, err)
		}
	}
	r := newTrial(t)
	r.say("ann", Type, plugin.Map{"title": "t"}, nil, "", make([]string, maxNodes)...)
	r.say("ann", Type, plugin.Map{"title": "t"}, nil, "at most 64", make([]string, maxNodes+1)...)
	r.say("ann", Claim, nil, nil, "must name a handoff")
}

func TestClaimsAreBounded(t *testing.T) {
	r := newTrial(t)
	h := r.say("ann", Type, plugin.Map{"title": "go on"}, nil, "")
	for range maxHeld {
		r.say("bob", Claim, nil, []string{h}, "")
		r.say("bob", Release, nil, []string{h}, "")
	}
	r.say("bob", Claim, nil, []string{h}, "claimed 256 times")
}

// The first claim leads; the author's word settles; a claim that sorts before the winner changes nothing then.
func TestABackdatedClaimLosesToASettlement(t *testing.T) {
	for _, backdated := range []bool{false, true} {
		r := newTrial(t)
		h := r.say("ann", Type, plugin.Map{"title": "go on"}, nil, "")
		if backdated {
			r.say("eve", Claim, nil, []string{h}, "")
		}
		c := r.say("bob", Claim, nil, []string{h}, "")
		r.say("bob", "", plugin.Map{"text": "not the author's word"}, []string{c}, "")
		if _, err := r.Command("settle", plugin.Map{"claim": c}, "bob"); err == nil {
			t.Error("a claimant settles")
		}
		if d, err := r.Command("settle", plugin.Map{"claim": c}, "ann"); err != nil || d[0].Parents[0] != c {
			t.Errorf("settle: %v %v", d, err)
		}
		r.say("ann", "", plugin.Map{"text": "yours"}, []string{c}, "")
		item := r.list("all", nil, "")[0]
		if item.Get("claim").Get("by").Text() != "bob" || !item.Get("settled").Bool() || (item.Get("overruled").Len() == 1) != backdated {
			t.Errorf("backdated %v: %q holds", backdated, item.Get("claim").Get("by").Text())
		}
		// Released, it goes to the next claim that stands.
		r.say("bob", Release, nil, []string{h}, "")
		item = r.list("all", nil, "")[0]
		if backdated != (item.Get("claim").Get("by").Text() == "eve") || item.Get("settled").Bool() {
			t.Errorf("backdated %v: released to %q", backdated, item.Get("claim").Get("by").Text())
		}
		if _, err := r.Command("settle", plugin.Map{"claim": c}, "ann"); err == nil {
			t.Error("a released claim is settled")
		}
	}
}

func TestListsAndContext(t *testing.T) {
	r := newTrial(t)
	root, _ := r.Send(plugin.Message{Sender: "ann"}, plugin.Map{"text": "root"})
	reply, _ := r.Send(plugin.Message{Sender: "bob", Parents: []string{root}}, plugin.Map{"text": "reply"})
	a := r.say("ann", Type, plugin.Map{"title": "a"}, []string{reply}, "", "bob")
	b := r.say("ann", Type, plugin.Map{"title": "b", "context": "messages"}, []string{reply}, "")
	c := r.say("ann", Type, plugin.Map{"title": "c", "context": "summary", "summary": "so far"}, []string{reply}, "")
	r.say("cem", Claim, nil, []string{c}, "")
	for _, test := range []struct {
		view   string
		params plugin.Map
		caller string
		want   string
	}{
		{"unclaimed", nil, "", "a b"},
		{"unclaimed", plugin.Map{"node": "cem"}, "", "b"},
		{"unclaimed", plugin.Map{"node": "bob"}, "", "a b"},
		{"mine", nil, "bob", "a"},
		{"mine", nil, "cem", "c"},
		{"mine", plugin.Map{"node": "bob"}, "cem", "a"},
		{"all", plugin.Map{"limit": 2}, "", "a b"},
		{"all", plugin.Map{"before": "1970-01-01T00:00:04Z"}, "", "a"},
	} {
		var got []string
		for _, item := range r.list(test.view, test.params, test.caller) {
			got = append(got, item.Get("title").Text())
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s %v: %v, want %s", test.view, test.params, got, test.want)
		}
	}
	for h, want := range map[string]int{a: 2, b: 1, c: 0} {
		v, err := r.View("context", plugin.Map{"handoff": h}, "")
		if err != nil || v.Get("messages").Len() != want {
			t.Errorf("context of %s: %d messages, want %d (%v)", h, v.Get("messages").Len(), want, err)
		}
	}
	for view, params := range map[string]plugin.Map{"mine": nil, "all": {"before": "yesterday"}, "context": {"handoff": "x"}} {
		if _, err := r.View(view, params, ""); err == nil {
			t.Errorf("%s %v is answered", view, params)
		}
	}
}

// However much goes along, what is shown is bounded and says that it is cut.
func TestContextIsBounded(t *testing.T) {
	r := newTrial(t)
	last, _ := r.Send(plugin.Message{Sender: "ann"}, plugin.Map{"text": "root"})
	for range 2 * maxContext {
		last, _ = r.Send(plugin.Message{Sender: "ann", Parents: []string{last}}, plugin.Map{"text": strings.Repeat("x", 1000)})
	}
	h := r.say("ann", Type, plugin.Map{"title": "a"}, []string{last}, "")
	v, err := r.View("context", plugin.Map{"handoff": h}, "")
	if err != nil || !v.Get("cut").Bool() || len(v) > 200<<10 {
		t.Errorf("%d bytes, cut %v, %v", len(v), v.Get("cut").Bool(), err)
	}
}
