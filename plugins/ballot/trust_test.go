package ballot

import (
	"testing"

	"plexus/sdk/plugin"
)

// Whom the user trusts is counted beside the result, which stays as it is.
func TestVotesByTrust(t *testing.T) {
	defer func() { clear(plugin.Trusts); clear(plugin.Needs) }()
	plugin.Trusts["ann"], plugin.Trusts["bob"], plugin.Trusts["cem"] = plugin.Owner, plugin.Known, plugin.Unknown
	r := newTrial(t)
	id := r.open(plugin.Map{"weights": plugin.Map{"cem": 5, "bob": 2}}, "ann", "bob", "cem", "dan")
	for node, option := range map[string]string{"ann": "yes", "bob": "no", "cem": "no", "dan": "yes"} {
		r.say(0, node, Cast, plugin.Map{"option": option}, "", id)
	}
	plain, err := r.View("ballot", plugin.Map{"ballot": id}, "")
	if err != nil || plain.Get("by_trust") != nil {
		t.Errorf("without being asked: %v", err)
	}
	for need, want := range map[plugin.Level][2]int64{plugin.NoPolicy: {1, 2}, plugin.Unknown: {1, 7}, plugin.Trusted: {1, 0}, plugin.Nobody: {0, 0}} {
		if plugin.Needs["count"] = need; need == plugin.NoPolicy {
			delete(plugin.Needs, "count")
		}
		v, err := r.View("ballot", plugin.Map{"ballot": id, "trust": true}, "")
		by := v.Get("by_trust")
		yes, _ := by.Get("counted").Get("yes").Int()
		no, _ := by.Get("counted").Get("no").Int()
		owner, _ := by.Get("owner").Get("yes").Int()
		unknown, _ := by.Get("unknown").Get("no").Int()
		if err != nil || yes != want[0] || no != want[1] || owner != 1 || unknown != 5 {
			t.Errorf("from %d on: yes %d, no %d, want %v; owner %d, unknown %d (%v)", need, yes, no, want, owner, unknown, err)
		}
		for vote := range v.Get("votes").Items() {
			if got, want := vote.Get("trust").Text(), plugin.Trust(vote.Get("node").Text()).String(); got != want {
				t.Errorf("%s is shown as %q, want %q", vote.Get("node").Text(), got, want)
			}
		}
	}
}
