package model

// This file holds the model of ballot, written from docs/patterns/ballot.md and its SKILL.md.

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"plexus/sdk/plugin"
)

var ballotTypes = []string{"ballot:open", "ballot:cast", "ballot:commit", "ballot:reveal", "ballot:close", "ballot:confirm"}

type ballot struct {
	open             *Message
	options          []string
	rule             string
	weights          map[string]int64
	deadline, reveal int64
	votes            []*Message          // casts and reveals, in canonical order
	sealed           map[string]*Message // the last commit of each
	count            *count              // the one that leads
	finality         string
}

// count is a closing message with what it counted.
type count struct {
	message       *Message
	option, why   string
	tally         []plugin.Map
	weight        int64
	voters        int
	confirmations map[string]bool
}

// sealOf is what a secret vote commits to.
func sealOf(ballot, node, option, salt string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{"plexus:ballot:1", ballot, node, option, salt}, "\x00")))
	return hex.EncodeToString(sum[:])
}

func answerBallot(h *History) Answer {
	a := Answer{Marked: map[string]bool{}}
	of, counts := map[string]*ballot{}, map[string]*count{}
	var all []*ballot
	for _, m := range h.Messages {
		if !slices.Contains(ballotTypes, m.Type) {
			continue
		}
		if m.Type == "ballot:open" {
			if b := readBallot(m); b != nil {
				all, of[m.ID] = append(all, b), b
			} else {
				a.Marked[m.ID] = true
			}
			continue
		}
		var b *ballot
		var c *count
		for _, p := range m.Parents {
			if of[p] != nil && (b == nil || counts[p] != nil) {
				b, c = of[p], counts[p]
			}
		}
		if b == nil || !b.take(h, m, c, counts) {
			a.Marked[m.ID] = true
			continue
		}
		of[m.ID] = b
	}
	viewBallots(&a, all, h.senders())
	return a
}

func readBallot(m *Message) *ballot {
	b := &ballot{open: m, options: []string{"yes", "no"}, rule: "majority", sealed: map[string]*Message{}, weights: map[string]int64{}}
	if m.text("question") == "" {
		return nil
	}
	if m.Content["options"] != nil {
		b.options = m.texts("options")
	}
	if r := m.text("rule"); r != "" {
		b.rule = r
	}
	for _, n := range m.Nodes {
		b.weights[n] = 1
	}
	given, _ := m.Content["weights"].(plugin.Map)
	for n, w := range given {
		b.weights[n], _ = w.(int64)
	}
	total := int64(0)
	for _, w := range b.weights {
		total += w
	}
	if q, ok := m.number("quorum"); ok && len(m.Nodes) > 0 && q > total {
		return nil
	}
	last := m.Time
	for field, at := range map[string]*int64{"deadline": &b.deadline, "reveal_until": &b.reveal} {
		*at, _ = m.moment(field)
		if m.Content[field] != nil && *at <= last {
			return nil
		}
	}
	if secret, _ := m.Content["secret"].(bool); b.reveal > 0 && b.reveal <= b.deadline || secret && b.reveal == 0 {
		return nil
	}
	return b
}

func (b *ballot) weight(node string) int64 {
	if len(b.open.Nodes) == 0 {
		return 1
	}
	return b.weights[node]
}

// end is when the last vote may come, 0 where there is no such time.
func (b *ballot) end() int64 { return max(b.deadline, b.reveal) }

func (b *ballot) take(h *History, m *Message, c *count, counts map[string]*count) bool {
	opener, elector := m.Sender == b.open.Sender, len(b.open.Nodes) == 0 || slices.Contains(b.open.Nodes, m.Sender)
	final := b.finality == "opener" || b.finality == "quorum"
	switch m.Type {
	case "ballot:close":
		return (opener || elector) && !final && b.close(h, m, opener, counts)
	case "ballot:confirm":
		if !elector || final || c == nil || len(b.open.Nodes) == 0 {
			return false
		}
		c.confirmations[m.Sender] = true
		sum, total := int64(0), int64(0)
		for n, w := range b.weights {
			if total += w; c.confirmations[n] {
				sum += w
			}
		}
		if sum*2 > total {
			b.count, b.finality = c, "quorum"
		}
		return true
	}
	if !elector || b.count != nil && h.Knew(b.count.message.ID, m.ID) {
		return false
	}
	return b.vote(m)
}

func (b *ballot) vote(m *Message) bool {
	switch m.Type {
	case "ballot:commit":
		if b.reveal == 0 || m.Time > b.deadline || len(m.text("hash")) != 64 {
			return false
		}
		b.sealed[m.Sender] = m
		return true
	case "ballot:cast":
		if b.reveal > 0 || b.deadline > 0 && m.Time > b.deadline {
			return false
		}
	case "ballot:reveal":
		k := b.sealed[m.Sender]
		if b.reveal == 0 || m.Time <= b.deadline || m.Time > b.reveal || k == nil || k.text("hash") != sealOf(b.open.ID, m.Sender, m.text("option"), m.text("salt")) {
			return false
		}
	}
	o, mine := m.text("option"), 0
	for _, v := range b.votes {
		if v.Sender == m.Sender {
			mine++
		}
	}
	if mine >= 8 || o != "abstain" && !slices.Contains(b.choices(), o) {
		return false
	}
	b.votes = append(b.votes, m)
	return true
}

func (b *ballot) choices() []string {
	if b.rule == "veto" {
		return append(slices.Clone(b.options), "veto")
	}
	return b.options
}

func (b *ballot) close(h *History, m *Message, opener bool, counts map[string]*count) bool {
	past := b.end() > 0 && m.Time > b.end()
	votes := map[string]string{}
	for _, v := range b.votes {
		if h.Knew(v.ID, m.ID) {
			votes[v.Sender] = v.text("option")
		}
	}
	if !past && (!opener || b.deadline > 0 && (len(b.open.Nodes) == 0 || len(votes) < len(b.open.Nodes))) {
		return false
	}
	c := &count{message: m, voters: len(votes), confirmations: map[string]bool{}}
	sums := map[string]int64{}
	for n, o := range votes {
		sums[o] += b.weight(n)
		c.weight += b.weight(n)
	}
	for _, o := range append(slices.Clone(b.choices()), "abstain") {
		c.tally = append(c.tally, plugin.Map{"option": o, "weight": sums[o]})
	}
	c.option, c.why = b.decide(sums, c.weight)
	counts[m.ID] = c
	if opener {
		b.count, b.finality = c, "opener"
	} else if b.count == nil {
		b.count, b.finality = c, "provisional"
	}
	return true
}

func (b *ballot) decide(sums map[string]int64, weight int64) (option, why string) {
	if q, _ := b.open.number("quorum"); weight < q {
		return "", "no quorum"
	}
	base := weight - sums["abstain"]
	if b.open.text("of") == "electorate" {
		base = 0
		for _, w := range b.weights {
			base += w
		}
	}
	best, tie := "", false
	for _, o := range b.options {
		switch {
		case best == "" || sums[o] > sums[best]:
			best, tie = o, false
		case sums[o] == sums[best]:
			tie = true
		}
	}
	n := sums[best]
	percent, given := b.open.number("percent")
	switch {
	case n == 0:
		return "", "no votes"
	case tie:
		return "", "a tie"
	case b.rule == "veto" && sums["veto"] > 0:
		return "", "vetoed"
	case (b.rule == "majority" || b.rule == "veto") && n*2 <= base:
		return "", "no majority"
	case b.rule == "supermajority" && (given && n*100 < percent*base || !given && n*3 < base*2):
		return "", "no supermajority"
	case b.rule == "unanimity" && n < base:
		return "", "not unanimous"
	}
	return best, ""
}

func viewBallots(a *Answer, all []*ballot, nodes []string) {
	open := []plugin.Map{}
	mine := map[string][]plugin.Map{}
	for _, b := range all {
		id := plugin.Map{"ballot": b.open.ID}
		a.view("ballot", id, "", b.describe())
		if b.finality == "opener" || b.finality == "quorum" {
			continue
		}
		open = append(open, id)
		for _, n := range nodes {
			may := len(b.open.Nodes) == 0 || slices.Contains(b.open.Nodes, n)
			if may && b.count == nil && b.sealed[n] == nil && !slices.ContainsFunc(b.votes, func(v *Message) bool { return v.Sender == n }) {
				mine[n] = append(mine[n], id)
			}
		}
	}
	for _, n := range nodes {
		a.view("mine", plugin.Map{"limit": int64(200)}, n, plugin.Map{"ballots": mine[n]})
	}
	a.view("open", plugin.Map{"limit": int64(200)}, "", plugin.Map{"ballots": open})
}

func (b *ballot) describe() plugin.Map {
	status := map[string]string{"": "open", "provisional": "counted"}[b.finality]
	if status == "" {
		status = "closed"
	}
	out := plugin.Map{"ballot": b.open.ID, "status": status, "finality": some(b.finality), "rule": b.rule, "secret": b.reveal > 0, "result": nil, "committed": nil}
	if c := b.count; c != nil {
		out["result"] = plugin.Map{"message": c.message.ID, "by": c.message.Sender, "option": some(c.option), "reason": some(c.why), "tally": c.tally, "weight": c.weight, "voters": c.voters}
	}
	last := map[string]*Message{}
	for _, v := range b.votes {
		last[v.Sender] = v
	}
	votes := []plugin.Map{}
	for _, n := range sorted(last) {
		votes = append(votes, plugin.Map{"node": n, "option": last[n].text("option"), "message": last[n].ID})
	}
	out["votes"] = votes
	if len(b.sealed) > 0 {
		out["committed"] = sorted(b.sealed)
	}
	return out
}
