package capability

import (
	"strings"
	"testing"

	"plexus/sdk/plugin"
)

// An agent invokes whom the user trusts far enough; a human whom he likes.
func TestInvokeByTrust(t *testing.T) {
	defer func() { clear(plugin.Trusts); clear(plugin.Needs) }()
	r := trial{plugin.NewTrial(Plugin()), t}
	r.say("bob", Declare, plugin.Map{"type": "text:upper"}, "", nil)
	for _, row := range []struct {
		kind        string
		level, need plugin.Level
		refused     string
	}{
		{"agent", plugin.NoPolicy, plugin.NoPolicy, ""},
		{"agent", plugin.Known, plugin.NoPolicy, ""},
		{"agent", plugin.Unknown, plugin.NoPolicy, "an agent invokes from known on"},
		{"", plugin.Unknown, plugin.NoPolicy, "plexus trust set bob known"},
		{"human", plugin.Unknown, plugin.NoPolicy, ""},
		{"agent", plugin.Known, plugin.Trusted, "node bob is known"},
		{"agent", plugin.Owner, plugin.Nobody, "a human must decide"},
		{"human", plugin.Owner, plugin.Nobody, ""},
	} {
		clear(plugin.Trusts)
		clear(plugin.Needs)
		if row.level != plugin.NoPolicy {
			plugin.Trusts["bob"] = row.level
		}
		if row.need != plugin.NoPolicy {
			plugin.Needs["invoke"] = row.need
		}
		r.Nodes = map[string]string{"ann": "writer/" + row.kind}
		_, err := r.Command("invoke", plugin.Map{"type": "text:upper", "node": "bob"}, "ann")
		if (err == nil) != (row.refused == "") || err != nil && !strings.Contains(err.Error(), row.refused) {
			t.Errorf("%+v: %v", row, err)
		}
		v, verr := r.View("find", plugin.Map{"trust": true}, "")
		for c := range v.Get("capabilities").Items() {
			if c.Get("trust").Text() != plugin.Trust("bob").String() {
				t.Errorf("shown as %q", c.Get("trust").Text())
			}
		}
		if verr != nil {
			t.Error(verr)
		}
	}
}
