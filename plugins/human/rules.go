package human

// This file holds who may say what, and the reading of requests.

import (
	"slices"

	"plexus/sdk/plugin"
)

const (
	maxNodes   = 64
	maxLevels  = 8
	maxOptions = 16
	maxOption  = 128 // bytes
	maxTimeout = 30 * 24 * 3600
)

// word is what somebody wants to say of a decision; a command leaves message empty.
type word struct {
	what, node, message string
	human               bool
	time                int64
	parents             []string
	content             plugin.Value
}

// readEscalation checks a request.
func readEscalation(c plugin.Value, nodes []string, now int64) (plugin.Map, error) {
	if c.Get("question").Text() == "" {
		return nil, plugin.Refusal("an escalation needs content.question, a text")
	}
	options, err := readOptions(c.Get("options"))
	if err != nil {
		return nil, err
	}
	d := plugin.Map{"options": options, "need": int64(1), "level": 0, "default": Reject}
	if nodes, err = readLevels(c.Get("levels"), nodes, now, d); err != nil {
		return nil, err
	}
	if v := c.Get("deadline"); v != nil {
		at, ok := plugin.ParseTime(v.Text())
		if !ok || at <= now || c.Get("levels") != nil {
			return nil, plugin.Refusal("deadline must be a time after the message's, like 2026-11-30T15:04:05Z; with levels, each has its timeout_s instead")
		}
		d["due"] = at
	}
	if len(nodes) > maxNodes {
		return nil, plugin.Refusal("at most 64 nodes may be asked")
	}
	if len(nodes) > 0 {
		d["nodes"] = nodes
	}
	if v := c.Get("need"); v != nil {
		n, ok := v.Int()
		if !ok || n < 1 || n > maxNodes || len(nodes) > 0 && c.Get("levels") == nil && n > int64(len(nodes)) {
			return nil, plugin.Refusal("need must be a number from 1 to how many are asked")
		}
		d["need"] = n
	}
	if v := c.Get("at_deadline"); v != nil {
		if v.Text() != Reject && !slices.Contains(options, v.Text()) {
			return nil, plugin.Refusal("at_deadline must be one of the options, or reject")
		}
		d["default"] = v.Text()
	}
	return d, nil
}

func readOptions(v plugin.Value) ([]string, error) {
	if v == nil {
		return []string{Approve, Reject}, nil
	}
	var options []string
	for o := range v.Items() {
		if text := o.Text(); text == "" || len(text) > maxOption || slices.Contains(options, text) {
			return nil, plugin.Refusal("options must be different texts of 1 to 128 bytes")
		}
		options = append(options, o.Text())
	}
	if len(options) < 1 || len(options) > maxOptions {
		return nil, plugin.Refusal("options must be 1 to 16 texts")
	}
	return options, nil
}

// readLevels takes the first level in force.
func readLevels(v plugin.Value, nodes []string, now int64, d plugin.Map) ([]string, error) {
	if v == nil {
		return nodes, nil
	}
	var levels []plugin.Map
	for l := range v.Items() {
		seconds, ok := l.Get("timeout_s").Int()
		list := l.Get("nodes").Texts()
		if len(list) == 0 || len(list) > maxNodes/maxLevels || !ok || seconds < 1 || seconds > maxTimeout || slices.ContainsFunc(list, long) {
			return nil, plugin.Refusal("each of levels needs nodes, at most 8, and timeout_s, a number of seconds")
		}
		if levels = append(levels, plugin.Map{"nodes": list, "timeout_s": seconds}); len(levels) == 1 {
			nodes = list
			d["due"] = now + seconds*1_000_000
		}
	}
	if len(levels) < 1 || len(levels) > maxLevels {
		return nil, plugin.Refusal("levels must be 1 to 8")
	}
	d["levels"] = levels
	return nodes, nil
}

// long says that a text can't be a Node's ID.
func long(node string) bool { return len(node) > maxOption }

// last says whether no level comes after the one in force.
func last(d plugin.Value) bool {
	level, _ := d.Get("level").Int()
	return int(level)+1 >= d.Get("levels").Len()
}

// may says whether this may be said of the decision now.
func may(s plugin.State, id string, d plugin.Value, w word) error {
	status, requester := d.Get("status").Text(), d.Get("sender").Text() == w.node
	switch w.what {
	case Resume:
		return mayResume(s, id, d, w)
	case Cancel:
		if !requester {
			return plugin.Refusal("only who asked may take the question back")
		}
	case Decision, Delegate, Edit:
		if err := mayVote(s, id, d, w); err != nil {
			return err
		}
		if w.what == Decision && spell(d, w.content.Get("decision").Text()) == "" {
			return plugin.Refusal("content.decision must be one of the options, word by word, or reject")
		}
		if w.what == Decision && (outranks(d, w) || w.message != "" && status == decided && !s.HappenedBefore(d.Get("by").Text(), w.message)) {
			return nil
		}
	case Timeout:
		due, ok := d.Get("due").Int()
		if status == pending && (!ok || w.time <= due) {
			return plugin.Refusal("no time of this decision has passed yet")
		}
	}
	if status != pending {
		return over(d)
	}
	return nil
}

// over tells one who is late how it ended.
func over(d plugin.Value) error {
	if d.Get("status").Text() == cancelled {
		return plugin.Refusal("this decision was cancelled by who asked")
	}
	return plugin.Refusal("this decision is " + d.Get("status").Text() + ": it is " + d.Get("outcome").Text())
}

func mayVote(s plugin.State, id string, d plugin.Value, w word) error {
	requester := d.Get("sender").Text() == w.node
	nodes := d.Get("nodes").Texts()
	if due, ok := d.Get("due").Int(); ok && w.time > due && last(d) && d.Get("status").Text() == pending {
		return plugin.Refusal("expired at " + plugin.Time(due) + ": the decision is " + d.Get("default").Text())
	}
	if w.what == Edit {
		if w.content.Get("proposal") == nil {
			return plugin.Refusal("an edit needs content.proposal, the whole of it")
		}
		if requester {
			return nil
		}
	}
	switch {
	case requester:
		return plugin.Refusal("who asks can't decide")
	case len(nodes) > 0 && !slices.Contains(nodes, w.node):
		return plugin.Refusal("this decision is for others: only those who are asked may make it")
	case len(nodes) == 0 && !w.human:
		return plugin.Refusal("this decision is for a human: only a Node attested human may make it")
	}
	if w.what == Delegate {
		to := w.content.Get("to").Text()
		switch {
		case len(nodes) == 0:
			return plugin.Refusal("nobody is named: anyone human may decide, without delegation")
		case to == "" || long(to) || to == d.Get("sender").Text() || slices.Contains(nodes, to):
			return plugin.Refusal("content.to must be a Node that isn't asked already and didn't ask")
		case s.Has(votes(id, d) + w.node):
			return plugin.Refusal("you have decided already: who has can't delegate")
		}
	}
	return nil
}

func mayResume(s plugin.State, id string, d plugin.Value, w word) error {
	status := d.Get("status").Text()
	switch {
	case d.Get("sender").Text() != w.node:
		return plugin.Refusal("only who asked may resume")
	case status == pending:
		return plugin.Refusal("nothing is decided yet")
	case status == cancelled:
		return over(d)
	case d.Get("resumed") != nil:
		return plugin.Refusal("this decision was acted on already, by message " + d.Get("resumed").Text())
	}
	return nil
}

// spell returns an option as the request has it; reject is always one.
func spell(d plugin.Value, option string) string {
	if option == Reject || slices.Contains(d.Get("options").Texts(), option) {
		return option
	}
	return ""
}

func digits(n int64) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return digits(n/10) + string(rune('0'+n%10))
}
