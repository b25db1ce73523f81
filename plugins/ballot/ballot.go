// Package ballot is Synapse's vote: a question with options, an electorate with weights, a quorum, a rule and a deadline, open or
// secret, and a result that is the same on all replicas and says what makes it final. SKILL.md says how to use it.
//
// It is guest code: it imports sdk/plugin alone.
package ballot

// This file holds the plugin and its fold.
//
// State:
//
//	b/<ballot>                 {sender, order, options, rule, percent?, quorum?, of?, electors?, weights?, total?, deadline?, reveal?, close?, finality?}
//	v/<ballot>/<node>/<order>  {id, option}: votes, or what was revealed
//	k/<ballot>/<node>          {id, hash}: the last sealed vote
//	g/<message>                {ballot, close?}
//	c/<close>                  {ballot, by, option?, reason?, tally, weight, voters}: a count
//	x/<ballot>/<order>         <close>: counts in canonical order
//	f/<close>/<node>           who confirmed a count
//	o/<order>, l/<order>       <ballot>: those not final, all
//
// <ballot> is the ID of the message that opened it, <order> a message's place in canonical order.
//
// A count is of the votes in the closing message's past, those its author provably knew. So a vote that arrives late changes nothing,
// however it is dated.

import (
	"slices"
	"strings"

	"plexus/sdk/plugin"
)

// The content types.
const (
	Open    = "ballot:open"
	Cast    = "ballot:cast"
	Commit  = "ballot:commit"
	Reveal  = "ballot:reveal"
	Close   = "ballot:close"
	Confirm = "ballot:confirm"
)

// The rules.
const (
	Plurality     = "plurality"
	Majority      = "majority"
	Supermajority = "supermajority"
	Unanimity     = "unanimity"
	Veto          = "veto" // a majority, unless one elector says veto
)

// Abstain may always be voted: it counts for the quorum alone.
const Abstain = "abstain"

// Plugin is the pattern.
func Plugin() plugin.Plugin {
	commands := map[string]plugin.Action{"open": open}
	for name, what := range map[string]string{"cast": Cast, "commit": Commit, "reveal": Reveal, "close": Close, "confirm": Confirm} {
		commands[name] = func(s plugin.State, q plugin.Query) ([]plugin.Draft, error) { return say(s, q, what) }
	}
	return plugin.Plugin{
		Name:     "ballot",
		Fold:     fold,
		Views:    map[string]plugin.View{"open": running, "mine": mine, "all": all, "ballot": one},
		Commands: commands,
	}
}

func fold(s plugin.State, m plugin.Message) error {
	if m.Type == Open {
		return foldOpen(s, m)
	}
	id, close, b := subject(s, m.Parents)
	if b == nil {
		return plugin.Refusal("refs.messages must name the ballot, or a message of it")
	}
	w := word{what: m.Type, node: m.Sender, role: m.Role, message: m.ID, time: m.Time, content: m.Content, close: close}
	if err := may(s, id, b, w); err != nil {
		return err
	}
	s.SetValue("g/"+m.ID, plugin.Map{"ballot": id})
	switch m.Type {
	case Cast, Reveal:
		s.SetValue("v/"+id+"/"+m.Sender+"/"+m.Order(), plugin.Map{"id": m.ID, "option": m.Content.Get("option")})
	case Commit:
		s.SetValue("k/"+id+"/"+m.Sender, plugin.Map{"id": m.ID, "hash": m.Content.Get("hash")})
	case Close:
		return foldClose(s, m, id, b)
	case Confirm:
		s.SetText("f/"+close+"/"+m.Sender, m.ID)
		if confirmed(s, close, b) {
			settle(s, id, b, close, "quorum")
		}
	}
	return nil
}

func subject(s plugin.State, ids []string) (id, close string, b plugin.Value) {
	for _, p := range ids {
		if g := s.Value("g/" + p); g != nil && (b == nil || g.Get("close") != nil) {
			id, close = g.Get("ballot").Text(), g.Get("close").Text()
			b = s.Value("b/" + id)
		}
	}
	return id, close, b
}

func foldOpen(s plugin.State, m plugin.Message) error {
	b, err := readBallot(m.Content, m.Nodes, m.Time)
	if err != nil {
		return err
	}
	b["sender"], b["order"] = m.Sender, m.Order()
	s.SetValue("b/"+m.ID, b)
	s.SetValue("g/"+m.ID, plugin.Map{"ballot": m.ID})
	s.SetText("o/"+m.Order(), m.ID)
	s.SetText("l/"+m.Order(), m.ID)
	return nil
}

// foldClose counts. The opener's count is final, another's once more than half of the electorate confirmed it.
func foldClose(s plugin.State, m plugin.Message, id string, b plugin.Value) error {
	c, all := count(s, id, b, m.ID)
	if err := mayCount(b, m.Time, all); err != nil {
		return err
	}
	c["ballot"], c["by"] = id, m.Sender
	s.SetValue("c/"+m.ID, c)
	s.SetValue("g/"+m.ID, plugin.Map{"ballot": id, "close": m.ID})
	s.SetText("x/"+id+"/"+m.Order(), m.ID)
	if m.Sender == b.Get("sender").Text() {
		settle(s, id, b, m.ID, "opener")
	} else if b.Get("close") == nil {
		settle(s, id, b, m.ID, "provisional")
	}
	return nil
}

func settle(s plugin.State, id string, b plugin.Value, close, finality string) {
	next := plugin.MapOf(b)
	next["close"], next["finality"] = close, finality
	s.SetValue("b/"+id, next)
	if finality != "provisional" {
		s.Delete("o/" + b.Get("order").Text())
	}
}

func confirmed(s plugin.State, close string, b plugin.Value) bool {
	total, _ := b.Get("total").Int()
	sum, prefix, weights := int64(0), "f/"+close+"/", weightsOf(b)
	for key := range s.Keys(prefix, "") {
		n, ok := weights[key[len(prefix):]]
		if !ok {
			n = 1
		}
		sum += n
	}
	return 2*sum > total
}

// count tallies the votes that message close knew, each Node's last. all says whether every elector voted.
func count(s plugin.State, id string, b plugin.Value, close string) (c plugin.Map, all bool) {
	tally, voters, weights := map[string]int64{}, 0, weightsOf(b)
	var node string
	var cast []plugin.Value // of this Node, oldest first
	settled := func() {
		for _, v := range slices.Backward(cast) {
			if s.HappenedBefore(v.Get("id").Text(), close) {
				n, ok := weights[node]
				if !ok {
					n = 1
				}
				tally[v.Get("option").Text()] += n
				voters++
				break
			}
		}
	}
	prefix := "v/" + id + "/"
	for key, raw := range s.Scan(prefix) {
		rest := key[len(prefix):]
		if by := rest[:strings.IndexByte(rest, '/')]; by != node {
			settled()
			node, cast = by, cast[:0]
		}
		cast = append(cast, raw)
	}
	settled()
	option, reason, sum := decide(b, tally)
	c = plugin.Map{"weight": sum, "voters": voters}
	if option != "" {
		c["option"] = option
	} else {
		c["reason"] = reason
	}
	list := []plugin.Map{}
	for _, o := range append(choices(b), Abstain) {
		list = append(list, plugin.Map{"option": o, "weight": tally[o]})
	}
	c["tally"] = list
	electors := b.Get("electors").Len()
	return c, electors > 0 && voters >= electors
}

// decide applies the rule to a tally. Everything is whole numbers.
func decide(b plugin.Value, tally map[string]int64) (option, reason string, sum int64) {
	best, second := int64(0), int64(0)
	for _, o := range choices(b) {
		n := tally[o]
		sum += n
		switch {
		case o == Veto && b.Get("rule").Text() == Veto:
		case n > best:
			option, best, second = o, n, best
		case n > second:
			second = n
		}
	}
	base := sum
	if b.Get("of").Text() == "electorate" {
		base, _ = b.Get("total").Int()
	}
	sum += tally[Abstain]
	quorum, _ := b.Get("quorum").Int()
	percent, given := b.Get("percent").Int()
	rule := b.Get("rule").Text()
	switch {
	case sum < quorum:
		return "", "no quorum", sum
	case best == 0:
		return "", "no votes", sum
	case best == second:
		return "", "a tie", sum
	case rule == Veto && tally[Veto] > 0:
		return "", "vetoed", sum
	case (rule == Majority || rule == Veto) && 2*best <= base:
		return "", "no majority", sum
	case rule == Supermajority && given && 100*best < percent*base, rule == Supermajority && !given && 3*best < 2*base:
		return "", "no supermajority", sum
	case rule == Unanimity && best != base:
		return "", "not unanimous", sum
	}
	return option, "", sum
}
