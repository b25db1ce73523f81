package ballot

// This file holds who may say what, and the reading of ballots.

import (
	"slices"

	"plexus/sdk/plugin"
)

const (
	maxElectors = 256 // a closing message may refer to as many votes
	maxOptions  = 32
	maxOption   = 128 // bytes
	maxQuestion = 4000
	maxWeight   = 1_000_000
	maxSalt     = 256
	maxVotes    = 2048 // of a ballot: a count looks at them all
	maxChanges  = 8    // votes of a Node: so many of each elector make maxVotes
)

// word is what somebody wants to say; a command leaves message empty.
type word struct {
	what, node, role, message, close string
	time                             int64
	content                          plugin.Value
}

// readBallot checks what opens a ballot.
func readBallot(c plugin.Value, electors []string, now int64) (plugin.Map, error) {
	if q := c.Get("question").Text(); q == "" || len(q) > maxQuestion {
		return nil, plugin.Refusal("a ballot needs content.question, a text of at most 4000 bytes")
	}
	options, err := readOptions(c.Get("options"))
	if err != nil {
		return nil, err
	}
	b := plugin.Map{"options": options, "rule": Majority}
	if r := c.Get("rule"); r != nil {
		if !slices.Contains([]string{Plurality, Majority, Supermajority, Unanimity, Veto}, r.Text()) {
			return nil, plugin.Refusal("rule must be plurality, majority, supermajority, unanimity or veto")
		}
		b["rule"] = r.Text()
	}
	if v := c.Get("percent"); v != nil {
		n, ok := v.Int()
		if !ok || n < 51 || n > 100 || b["rule"] != Supermajority {
			return nil, plugin.Refusal("percent must be a number from 51 to 100, with the rule supermajority")
		}
		b["percent"] = n
	}
	if err := readElectors(c, electors, b); err != nil {
		return nil, err
	}
	return b, readTimes(c, now, b)
}

func readOptions(v plugin.Value) ([]string, error) {
	if v == nil {
		return []string{"yes", "no"}, nil
	}
	var options []string
	for o := range v.Items() {
		text := o.Text()
		if text == "" || len(text) > maxOption || slices.Contains(options, text) || text == Abstain || text == Veto {
			return nil, plugin.Refusal("options must be different texts of 1 to 128 bytes, not abstain or veto")
		}
		options = append(options, text)
	}
	if len(options) < 2 || len(options) > maxOptions {
		return nil, plugin.Refusal("options must be 2 to 32 texts")
	}
	return options, nil
}

func readElectors(c plugin.Value, electors []string, b plugin.Map) error {
	if len(electors) > maxElectors {
		return plugin.Refusal("at most 256 nodes may be the electorate")
	}
	total, weights, given := int64(0), plugin.Map{}, map[string]plugin.Value{}
	if c.Get("weights").Len() > maxElectors {
		return plugin.Refusal("weights are for nodes of the electorate, those in refs.nodes")
	}
	for k, v := range c.Get("weights").Pairs() {
		given[k.Text()] = v
	}
	for _, node := range electors {
		n := int64(1)
		if v, ok := given[node]; ok {
			if n, ok = v.Int(); !ok || n < 0 || n > maxWeight {
				return plugin.Refusal("weights must be whole numbers from 0 to 1000000, by node")
			}
			weights[node] = n
		}
		total += n
	}
	if len(given) != len(weights) {
		return plugin.Refusal("weights are for nodes of the electorate, those in refs.nodes")
	}
	if len(electors) > 0 {
		b["electors"], b["total"] = electors, total
	}
	if len(weights) > 0 {
		b["weights"] = weights
	}
	if v := c.Get("quorum"); v != nil {
		n, ok := v.Int()
		if !ok || n < 0 || len(electors) > 0 && n > total {
			return plugin.Refusal("quorum must be a weight of votes, at most the electorate's")
		}
		b["quorum"] = n
	}
	if v := c.Get("of"); v != nil {
		if v.Text() != "votes" && (v.Text() != "electorate" || len(electors) == 0) {
			return plugin.Refusal("of must be votes, or electorate where refs.nodes names one")
		}
		b["of"] = v.Text()
	}
	return nil
}

// readTimes takes deadline, the end of voting, and for a secret ballot reveal_until.
func readTimes(c plugin.Value, now int64, b plugin.Map) error {
	last := now
	for _, f := range [...][2]string{{"deadline", "deadline"}, {"reveal_until", "reveal"}} {
		v := c.Get(f[0])
		if v == nil {
			continue
		}
		at, ok := plugin.ParseTime(v.Text())
		if !ok || at <= last {
			return plugin.Refusal(f[0] + " must be a time after the one before it, like 2026-11-30T15:04:05Z")
		}
		b[f[1]], last = at, at
	}
	if b["reveal"] != nil && b["deadline"] == nil || c.Get("secret").Bool() && b["reveal"] == nil {
		return plugin.Refusal("a secret ballot needs deadline and reveal_until")
	}
	return nil
}

// end is when the last vote may come: 0 is never.
func end(b plugin.Value) int64 {
	at, _ := b.Get("deadline").Int()
	if until, ok := b.Get("reveal").Int(); ok {
		at = until
	}
	return at
}

// choices are what may be voted besides abstain.
func choices(b plugin.Value) []string {
	options := b.Get("options").Texts()
	if b.Get("rule").Text() == Veto {
		options = append(options, Veto)
	}
	return options
}

// weightsOf are the weights that were given; others have 1.
func weightsOf(b plugin.Value) map[string]int64 {
	out := map[string]int64{}
	for k, v := range b.Get("weights").Pairs() {
		out[k.Text()], _ = v.Int()
	}
	return out
}

// may says whether this may be said of the ballot now.
func may(s plugin.State, id string, b plugin.Value, w word) error {
	electors := b.Get("electors").Texts()
	finality := b.Get("finality").Text()
	opener := w.node == b.Get("sender").Text()
	if w.what != Close || !opener {
		switch {
		case len(electors) > 0 && !slices.Contains(electors, w.node):
			return plugin.Refusal("this ballot is for others: only its electorate may vote, close and confirm")
		case w.role == "reader":
			return plugin.Refusal("a reader doesn't vote")
		}
	}
	if w.what == Close || w.what == Confirm {
		return mayEnd(s, b, w, opener, finality)
	}
	if c := b.Get("close").Text(); c != "" && (w.message == "" || s.HappenedBefore(c, w.message)) {
		return plugin.Refusal("this ballot is closed, by message " + c)
	}
	return mayVote(s, id, b, w)
}

func mayEnd(s plugin.State, b plugin.Value, w word, opener bool, finality string) error {
	switch {
	case finality == "opener" || finality == "quorum":
		return plugin.Refusal("this ballot is closed for good, by message " + b.Get("close").Text())
	case w.what == Confirm && (w.close == "" || b.Get("electors") == nil):
		return plugin.Refusal("refs.messages must name a count of a ballot whose electorate is named")
	case w.what == Close && !opener && (end(b) == 0 || w.time <= end(b)):
		return plugin.Refusal("before its end only the opener may close a ballot")
	}
	return nil
}

// mayCount says whether it is time to count; all: each elector has voted.
func mayCount(b plugin.Value, now int64, all bool) error {
	if b.Get("deadline") != nil && now <= end(b) && !all {
		return plugin.Refusal("before its deadline a ballot closes only when all electors have voted")
	}
	return nil
}

func mayVote(s plugin.State, id string, b plugin.Value, w word) error {
	deadline, timed := b.Get("deadline").Int()
	until, secret := b.Get("reveal").Int()
	switch {
	case w.what == Cast && secret:
		return plugin.Refusal("this ballot is secret: commit to a hash, and reveal after the deadline")
	case w.what != Cast && !secret:
		return plugin.Refusal("this ballot is open: cast your vote")
	case w.what != Reveal && timed && w.time > deadline:
		return plugin.Refusal("too late: voting ended at " + plugin.Time(deadline))
	case w.what == Reveal && w.time <= deadline:
		return plugin.Refusal("too early: votes are revealed after " + plugin.Time(deadline))
	case w.what == Reveal && w.time > until:
		return plugin.Refusal("too late: votes were to be revealed until " + plugin.Time(until))
	}
	option := w.content.Get("option").Text()
	if w.what == Commit {
		if h := w.content.Get("hash").Text(); !hex64(h) {
			return plugin.Refusal("content.hash must be a SHA-256 in 64 small hex digits")
		}
		return nil
	}
	if option != Abstain && !slices.Contains(choices(b), option) {
		return plugin.Refusal("content.option must be one of the ballot's options, or abstain")
	}
	if err := mayChange(s, id, w.node); err != nil || w.what == Cast {
		return err
	}
	salt := w.content.Get("salt").Text()
	if len(salt) > maxSalt {
		return plugin.Refusal("content.salt is at most 256 bytes")
	}
	k := s.Value("k/" + id + "/" + w.node)
	if k == nil {
		return plugin.Refusal("you committed to nothing before the deadline")
	}
	if hash(s, id, w.node, option, salt) != k.Get("hash").Text() {
		return plugin.Refusal("option and salt don't give the hash you committed to")
	}
	return nil
}

// mayChange keeps what a count looks at bounded.
func mayChange(s plugin.State, id, node string) error {
	mine, all, prefix := 0, 0, "v/"+id+"/"
	for range s.Keys(prefix+node+"/", "") {
		mine++
	}
	for range s.Keys(prefix, "") {
		all++
	}
	if mine >= maxChanges || all >= maxVotes {
		return plugin.Refusal("a Node votes at most 8 times, and a ballot takes at most 2048 votes")
	}
	return nil
}

func hex64(h string) bool {
	for i := range len(h) {
		if c := h[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(h) == 64
}

// hash is what a secret vote commits to: SHA-256, in hex, over "plexus:ballot:1", the ballot's ID, the Node's, the option and the salt, with a
// zero byte between each two.
func hash(s plugin.State, ballot, node, option, salt string) string {
	sum := s.SHA256([]byte("plexus:ballot:1\x00" + ballot + "\x00" + node + "\x00" + option + "\x00" + salt))
	const digits = "0123456789abcdef"
	out := make([]byte, 0, 64)
	for _, b := range sum {
		out = append(out, digits[b>>4], digits[b&15])
	}
	return string(out)
}
