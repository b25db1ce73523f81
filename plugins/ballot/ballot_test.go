package ballot

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"plexus/sdk/plugin"
)

func TestMain(m *testing.M) {
	plugin.Clock = start
	goleak.VerifyTestMain(m)
}

// start is what commands take for now: these tests' messages are said in 1970.
const start = 1_000_000

type trial struct {
	*plugin.Trial
	t *testing.T
}

func newTrial(t *testing.T) trial { return trial{plugin.NewTrial(Plugin()), t} }

// commandAt asks a command at a second, 0 for the beginning.
func (r trial) commandAt(second int, name string, params plugin.Map, by string) error {
	defer func(before int64) { plugin.Clock = before }(plugin.Clock)
	plugin.Clock = max(start, int64(second)*1_000_000)
	_, err := r.Command(name, params, by)
	return err
}

// say folds a message at a second (0: the next). A refusal must have want in it, "" is none, "*" any.
func (r trial) say(second int, by, what string, content plugin.Map, want string, refs ...string) string {
	r.t.Helper()
	m := plugin.Message{Sender: by, Type: what, Parents: refs, Time: int64(second) * 1_000_000, Role: "writer"}
	if by == "reader" {
		m.Role = "reader"
	}
	id, err := r.Send(m, content)
	if ok := err == nil && want == "" || err != nil && (want == "*" || want != "" && strings.Contains(err.Error(), want)); !ok {
		r.t.Errorf("%s %s %v: %v, want %q", by, what, content, err, want)
	}
	return id
}

func (r trial) open(content plugin.Map, electors ...string) string {
	r.t.Helper()
	c := plugin.Map{"question": "Ship it?"}
	for k, v := range content {
		c[k] = v
	}
	id, err := r.Send(plugin.Message{Sender: "ann", Type: Open, Nodes: electors, Time: 1_000_000}, c)
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// result prints a ballot: status finality: option or reason.
func (r trial) result(id string) string {
	r.t.Helper()
	v, err := r.View("ballot", plugin.Map{"ballot": id}, "")
	if err != nil {
		r.t.Fatal(err)
	}
	out := v.Get("status").Text()
	if f := v.Get("finality").Text(); f != "" {
		out += " " + f + ": " + v.Get("result").Get("option").Text() + v.Get("result").Get("reason").Text()
	}
	return out
}

func option(o string) plugin.Map { return plugin.Map{"option": o} }

// Every message in every state of an open ballot with a deadline, by the opener, an elector and a stranger.
func TestEveryTransition(t *testing.T) {
	const late = 1001
	type way struct {
		by, what string
		second   int
	}
	ways := map[string][]way{
		"open": nil, "counted provisional: yes": {{"bob", Cast, 5}, {"cem", Close, late}}, "closed opener: yes": {{"bob", Cast, 5}, {"ann", Close, late}},
		"closed quorum: yes": {{"bob", Cast, 5}, {"cem", Close, late}, {"bob", Confirm, late}, {"cem", Confirm, late}},
	}
	says := map[string]way{
		"cast": {"", Cast, 10}, "late": {"", Cast, late + 5}, "commit": {"", Commit, 10}, "reveal": {"", Reveal, 10}, "close": {"", Close, late + 5}, "early": {"", Close, 10}, "confirm": {"", Confirm, late + 5},
	}
	want := map[string]string{
		"open/cast/bob": "open", "open/close/ann": "closed opener: no votes", "open/close/bob": "counted provisional: no votes",
		"counted provisional: yes/close/ann": "closed opener: yes", "counted provisional: yes/close/bob": "counted provisional: yes",
		"counted provisional: yes/confirm/bob": "counted provisional: yes",
	}
	for state, before := range ways {
		for name, w := range says {
			for _, by := range []string{"ann", "bob", "eve"} {
				r := newTrial(t)
				b := r.open(plugin.Map{"deadline": "1970-01-01T00:16:40Z"}, "bob", "cem", "dan")
				last := b
				for _, s := range before {
					id := r.say(s.second, s.by, s.what, option("yes"), "", last)
					if s.what != Confirm {
						last = id
					}
				}
				if got := r.result(b); got != state {
					t.Fatalf("the way to %s leads to %s", state, got)
				}
				next, legal := want[state+"/"+name+"/"+by]
				refused := "*"
				if legal {
					refused = ""
				} else {
					next = state
				}
				// The command confirm finds the count by itself, and commit makes the hash.
				params := plugin.Map{"ballot": b, "option": "yes"}
				if err := r.commandAt(w.second, strings.TrimPrefix(w.what, "ballot:"), params, by); (err == nil) != legal {
					t.Errorf("%s: command %s by %s: %v, want legal %v", state, name, by, err, legal)
				}
				r.say(w.second, by, w.what, option("yes"), refused, last)
				if got := r.result(b); got != next {
					t.Errorf("%s: after %s by %s it is %s, want %s", state, name, by, got, next)
				}
			}
		}
	}
}

func TestRules(t *testing.T) {
	all := []string{"a", "b", "c", "d", "e", "f"}
	for _, row := range []struct {
		content plugin.Map
		votes   string // of a, b, c …: y, n, m(aybe), - abstain, v veto, . none
		want    string
	}{
		{nil, "yyn", "yes"},
		{nil, "yn", "a tie"},
		{nil, "...", "no votes"},
		{nil, "---", "no votes"},
		{nil, "yynnmm", "a tie"},
		{nil, "yynmnm", "a tie"},
		{plugin.Map{"rule": Plurality}, "yynm", "yes"},
		{plugin.Map{"rule": Majority}, "yynm", "no majority"},
		{plugin.Map{"rule": Majority}, "yyn-", "yes"},
		{plugin.Map{"rule": Majority, "of": "electorate"}, "yyy", "no majority"},
		{plugin.Map{"rule": Majority, "of": "electorate"}, "yyyy", "yes"},
		{plugin.Map{"rule": Supermajority}, "yyn", "yes"},
		{plugin.Map{"rule": Supermajority}, "yyynn", "no supermajority"},
		{plugin.Map{"rule": Supermajority, "percent": 75}, "yyyn", "yes"},
		{plugin.Map{"rule": Supermajority, "percent": 76}, "yyyn", "no supermajority"},
		{plugin.Map{"rule": Unanimity}, "yyyyyy", "yes"},
		{plugin.Map{"rule": Unanimity}, "yyyyyn", "not unanimous"},
		{plugin.Map{"rule": Unanimity}, "yy--", "yes"},
		{plugin.Map{"rule": Veto}, "yyyyyv", "vetoed"},
		{plugin.Map{"rule": Veto}, "yyyyyn", "yes"},
		{plugin.Map{"quorum": 4}, "yyn", "no quorum"},
		{plugin.Map{"quorum": 4}, "yyn-", "yes"},
		{plugin.Map{"weights": plugin.Map{"a": 5, "b": 0}}, "ynnn", "yes"},
	} {
		r := newTrial(t)
		c := plugin.Map{"options": []string{"yes", "no", "maybe"}}
		for k, v := range row.content {
			c[k] = v
		}
		b := r.open(c, all...)
		refs := []string{b}
		for i, v := range row.votes {
			o := map[rune]string{'y': "yes", 'n': "no", 'm': "maybe", '-': Abstain, 'v': Veto}[v]
			if o != "" {
				refs = append(refs, r.say(0, all[i], Cast, option(o), "", b))
			}
		}
		r.say(0, "ann", Close, nil, "", refs...)
		if got := r.result(b); got != "closed opener: "+row.want {
			t.Errorf("%v %s: %s, want %s", row.content, row.votes, got, row.want)
		}
	}
}

// What the count didn't know changes nothing, however it is dated.
func TestABackdatedVoteIsNotCounted(t *testing.T) {
	for _, backdated := range []bool{false, true} {
		r := newTrial(t)
		b := r.open(nil, "bob", "cem", "dan")
		if backdated {
			r.say(0, "cem", Cast, option("no"), "", b)
			r.say(0, "dan", Cast, option("no"), "", b)
		}
		first := r.say(0, "bob", Cast, option("no"), "", b)
		v := r.say(0, "bob", Cast, option("yes"), "", first) // it changed its mind
		c := r.say(0, "ann", Close, nil, "", v)
		r.say(0, "cem", Cast, option("no"), "is closed", c)
		r.say(0, "cem", Cast, option("no"), "", b) // it didn't know: kept, not counted
		if got := r.result(b); got != "closed opener: yes" {
			t.Errorf("backdated %v: %s", backdated, got)
		}
	}
}

// Of two counts the first leads, until a quorum confirms one.
func TestAQuorumMakesACountFinal(t *testing.T) {
	r := newTrial(t)
	b := r.open(plugin.Map{"deadline": "1970-01-01T00:00:10Z"}, "bob", "cem", "dan")
	v := r.say(5, "bob", Cast, option("yes"), "", b)
	empty := r.say(11, "cem", Close, nil, "", b)
	full := r.say(12, "dan", Close, nil, "", v)
	if got := r.result(b); got != "counted provisional: no votes" {
		t.Error(got)
	}
	r.say(13, "bob", Confirm, nil, "", full)
	r.say(13, "bob", Confirm, nil, "", full)
	r.say(13, "cem", Confirm, nil, "", empty)
	r.say(13, "dan", Confirm, nil, "must name a count", v)
	if got := r.result(b); got != "counted provisional: no votes" {
		t.Error(got)
	}
	r.say(14, "dan", Confirm, nil, "", full)
	if got := r.result(b); got != "closed quorum: yes" {
		t.Error(got)
	}
}

func TestSecretBallot(t *testing.T) {
	r := newTrial(t)
	b := r.open(plugin.Map{"secret": true, "deadline": "1970-01-01T00:00:10Z", "reveal_until": "1970-01-01T00:00:20Z"}, "bob", "cem")
	d, err := r.Command("commit", plugin.Map{"ballot": b, "option": "yes", "salt": "s3"}, "bob")
	if err != nil || d[0].Content["option"] != nil || d[0].Content["hash"] == nil {
		t.Fatalf("commit: %v %v", d, err)
	}
	k := r.say(5, "bob", Commit, d[0].Content, "", b)
	r.say(6, "bob", Cast, option("yes"), "is secret", b)
	r.say(6, "cem", Commit, plugin.Map{"hash": "xyz"}, "64 small hex digits", b)
	r.say(10, "bob", Reveal, plugin.Map{"option": "yes", "salt": "s3"}, "too early", k)
	r.say(11, "cem", Commit, d[0].Content, "too late", b)
	r.say(11, "cem", Reveal, plugin.Map{"option": "yes", "salt": "s3"}, "committed to nothing", b)
	r.say(11, "bob", Reveal, plugin.Map{"option": "no", "salt": "s3"}, "don't give the hash", k)
	r.say(11, "bob", Reveal, plugin.Map{"option": "yes", "salt": strings.Repeat("x", maxSalt+1)}, "at most 256", k)
	v := r.say(20, "bob", Reveal, plugin.Map{"option": "yes", "salt": "s3"}, "", k)
	r.say(21, "bob", Reveal, plugin.Map{"option": "yes", "salt": "s3"}, "too late", k)
	r.say(20, "ann", Close, nil, "only when all", v)
	r.say(21, "ann", Close, nil, "", v)
	if got := r.result(b); got != "closed opener: yes" {
		t.Error(got)
	}
}

func TestBallotsThatAreRefused(t *testing.T) {
	many := make([]string, maxOptions+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	two := []string{"bob", "cem"}
	for _, row := range []struct {
		content  plugin.Map
		electors []string
		refused  string
	}{
		{plugin.Map{"question": ""}, nil, "content.question"},
		{plugin.Map{"question": strings.Repeat("x", maxQuestion+1)}, nil, "content.question"},
		{plugin.Map{"options": many}, nil, "2 to 32"},
		{plugin.Map{"options": many[1:]}, nil, ""},
		{plugin.Map{"options": []string{"one"}}, nil, "2 to 32"},
		{plugin.Map{"options": []string{"one", Abstain}}, nil, "different texts"},
		{plugin.Map{"rule": "mine"}, nil, "rule must be"},
		{plugin.Map{"percent": 60}, nil, "percent must be"},
		{plugin.Map{"rule": Supermajority, "percent": 50}, nil, "percent must be"},
		{plugin.Map{"weights": plugin.Map{"bob": 2}}, two, ""},
		{plugin.Map{"weights": plugin.Map{"eve": 2}}, two, "weights are for"},
		{plugin.Map{"weights": plugin.Map{"bob": maxWeight + 1}}, two, "weights must be"},
		{plugin.Map{"quorum": 3}, two, "quorum must be"},
		{plugin.Map{"of": "electorate"}, nil, "of must be"},
		{plugin.Map{"of": "electorate"}, two, ""},
		{plugin.Map{"secret": true}, nil, "needs deadline"},
		{plugin.Map{"deadline": "2030-01-01T00:00:00Z", "reveal_until": "2029-01-01T00:00:00Z"}, nil, "reveal_until must be"},
		{nil, make([]string, maxElectors+1), "at most 256"},
		{nil, make([]string, maxElectors), ""},
	} {
		c := plugin.Map{"question": "?"}
		for k, v := range row.content {
			c[k] = v
		}
		r := newTrial(t)
		_, err := r.Send(plugin.Message{Sender: "ann", Type: Open, Nodes: row.electors}, c)
		if row.refused == "" && err != nil || row.refused != "" && (err == nil || !strings.Contains(err.Error(), row.refused)) {
			t.Errorf("%v: %v, want %q", row.content, err, row.refused)
		}
		c["nodes"] = row.electors
		if _, err := r.Command("open", c, "ann"); (err != nil) != (row.refused != "") {
			t.Errorf("command %v: %v", row.content, err)
		}
	}
}

func TestVotesAreBounded(t *testing.T) {
	r := newTrial(t)
	b := r.open(nil)
	for i := range maxVotes - maxChanges + 1 {
		r.say(0, fmt.Sprint("n", i), Cast, option("yes"), "", b)
	}
	for range maxChanges - 1 {
		r.say(0, "n0", Cast, option("no"), "", b)
	}
	r.say(0, "n0", Cast, option("no"), "at most 8 times", b)
	r.say(0, "more", Cast, option("no"), "at most 2048 votes", b)
}

func TestListsAndCommands(t *testing.T) {
	r := newTrial(t)
	a := r.open(nil, "bob", "cem")
	b := r.open(nil)
	v := r.say(0, "bob", Cast, option("yes"), "", a)
	r.say(0, "reader", Cast, option("yes"), "a reader", b)
	r.say(0, "bob", Cast, option("perhaps"), "one of the ballot's options", b)
	r.say(0, "bob", Cast, option("yes"), "must name the ballot")
	for _, row := range []struct {
		view   string
		caller string
		want   string
	}{{"open", "", a + " " + b}, {"mine", "bob", b}, {"mine", "cem", a + " " + b}, {"mine", "eve", b}, {"all", "", a + " " + b}} {
		x, err := r.View(row.view, nil, row.caller)
		var got []string
		for item := range x.Get("ballots").Items() {
			got = append(got, item.Get("ballot").Text())
		}
		if err != nil || strings.Join(got, " ") != row.want {
			t.Errorf("%s by %s: %v %v, want %s", row.view, row.caller, got, err, row.want)
		}
	}
	r.Nodes = map[string]string{"eve": "reader/agent"}
	if _, err := r.Command("vote", plugin.Map{"ballot": r.open(nil), "option": "yes"}, "eve"); err == nil {
		t.Error("a reader votes")
	}
	d, err := r.Command("close", plugin.Map{"ballot": a}, "ann")
	if err != nil || len(d[0].Parents) != 2 || d[0].Parents[1] != v {
		t.Errorf("close: %v %v", d, err)
	}
	for _, row := range []struct{ command, by string }{{"close", "bob"}, {"confirm", "bob"}, {"reveal", "bob"}, {"cast", "eve"}} {
		if _, err := r.Command(row.command, plugin.Map{"ballot": a, "option": "yes"}, row.by); err == nil {
			t.Errorf("%s by %s is taken", row.command, row.by)
		}
	}
}
