// Package handoff is the pattern by which work goes on in other hands: one says what is to be done and what goes along, and
// leaves. Whoever takes it may claim it, so that two don't. SKILL.md says how to use it.
//
// It is guest code: it imports sdk/plugin alone.
package handoff

// This file holds the plugin and its fold.
//
// State:
//
//	h/<handoff>             {sender, order, nodes?, context, status, claim?, settled?}
//	o/<order>               those open
//	l/<order>               all
//	n/<node>/<order>        those that name a Node, or that it claimed
//	c/<claim>               handoff
//	r/<handoff>/<order>     {id, by, released?}: its claims in canonical order
//	x/<handoff>/<node>      who declined
//
// <handoff> and <claim> are message IDs, <order> is a message's place in canonical order.

import (
	"slices"

	"plexus/sdk/plugin"
)

// The content types. A settlement has none: it is any untyped reply of the author to a claim.
const (
	Type     = "handoff"
	Claim    = "handoff:claim"
	Release  = "handoff:release"
	Decline  = "handoff:decline"
	Withdraw = "handoff:withdraw"
)

const (
	maxNodes = 64  // candidates of one handoff: each is a key of the state
	maxHeld  = 256 // claims on one handoff, released ones too: what is said of it looks at them all
)

// Plugin is the pattern.
func Plugin() plugin.Plugin {
	return plugin.Plugin{
		Name:     "handoff",
		Fold:     fold,
		Views:    map[string]plugin.View{"unclaimed": unclaimed, "mine": mine, "all": all, "context": context},
		Commands: map[string]plugin.Action{"give": give, "claim": claim, "decline": decline, "release": release, "withdraw": withdraw, "settle": settleCommand},
	}
}

func fold(s plugin.State, m plugin.Message) error {
	switch m.Type {
	case Type:
		return foldHandoff(s, m)
	case "":
		settle(s, m)
		return nil
	}
	id, h := subject(s, m.Parents)
	if h == nil {
		return plugin.Refusal("refs.messages must name a handoff")
	}
	if err := may(s, id, h, m.Sender, m.Type); err != nil {
		return err
	}
	next := plugin.MapOf(h)
	switch m.Type {
	case Claim:
		foldClaim(s, m, id, h, next)
	case Decline:
		s.SetText("x/"+id+"/"+m.Sender, m.ID)
		if allDeclined(s, id, h) {
			next["status"] = "declined"
		}
	case Release:
		foldRelease(s, m, id, h, next)
	case Withdraw:
		next["status"] = "withdrawn"
	}
	save(s, id, next)
	return nil
}

func foldHandoff(s plugin.State, m plugin.Message) error {
	carried, err := carry(m.Content, len(m.Parents))
	if err != nil {
		return err
	}
	if len(m.Nodes) > maxNodes {
		return plugin.Refusal("a handoff names at most 64 nodes; name nobody, and anyone may take it")
	}
	h := plugin.Map{"sender": m.Sender, "order": m.Order(), "context": carried, "status": "open"}
	if len(m.Nodes) > 0 {
		h["nodes"] = m.Nodes
	}
	for _, node := range m.Nodes {
		s.SetText("n/"+node+"/"+m.Order(), m.ID)
	}
	s.SetText("l/"+m.Order(), m.ID)
	save(s, m.ID, h)
	return nil
}

// carry says what goes along: "ancestors", "messages" (those in refs), "summary" or "none".
func carry(v plugin.Value, parents int) (string, error) {
	if v.Get("title").Text() == "" && v.Get("message").Text() == "" {
		return "", plugin.Refusal("a handoff needs content.title or content.message")
	}
	switch c := v.Get("context").Text(); c {
	case "":
		if parents > 0 {
			return "ancestors", nil
		}
		return "none", nil
	case "ancestors", "messages":
		if parents == 0 {
			return "", plugin.Refusal("context " + c + " needs messages in refs.messages")
		}
		return c, nil
	case "summary":
		if v.Get("summary").Text() == "" {
			return "", plugin.Refusal("context summary needs content.summary, a text")
		}
		return c, nil
	case "none":
		return c, nil
	}
	return "", plugin.Refusal("content.context must be ancestors, messages, summary or none")
}

// subject finds the handoff that one of the IDs is, or is a claim of.
func subject(s plugin.State, ids []string) (id string, h plugin.Value) {
	for _, id := range ids {
		if of := s.Text("c/" + id); of != "" {
			id = of
		}
		if h := s.Value("h/" + id); h != nil {
			return id, h
		}
	}
	return "", nil
}

// may says whether this Node may say this of the handoff now.
func may(s plugin.State, id string, h plugin.Value, node, what string) error {
	sender, status, nodes := h.Get("sender").Text(), h.Get("status").Text(), h.Get("nodes").Texts()
	switch what {
	case Withdraw:
		if node != sender {
			return plugin.Refusal("only its author may withdraw a handoff")
		}
	case Release:
		if held(s, id, node) == "" {
			return plugin.Refusal("only one who claimed a handoff may release it")
		}
	default:
		if node == sender {
			return plugin.Refusal("a handoff isn't for its own author: withdraw it and go on yourself")
		}
		if len(nodes) > 0 && !slices.Contains(nodes, node) {
			return plugin.Refusal("this handoff is for others: only those in its refs.nodes may take it")
		}
		if held(s, id, node) != "" {
			return plugin.Refusal("you have claimed it already; release it first")
		}
		if what == Claim && claims(s, id) >= maxHeld {
			return plugin.Refusal("this handoff was claimed 256 times: ask its author for a new one")
		}
		if what == Decline && len(nodes) == 0 {
			return plugin.Refusal("this handoff is for anyone: nobody need decline it")
		}
		if h.Get("settled").Bool() {
			return plugin.Refusal("this handoff is settled: it is with " + holder(s, id, h))
		}
	}
	if status == "withdrawn" {
		return plugin.Refusal("this handoff was withdrawn")
	}
	return nil
}

// held returns the order of a Node's claim that stands, or "".
func held(s plugin.State, id, node string) string {
	for key, raw := range s.Scan("r/" + id + "/") {
		if r := plugin.Value(raw); r.Get("by").Text() == node && !r.Get("released").Bool() {
			return key
		}
	}
	return ""
}

func claims(s plugin.State, id string) (n int) {
	for range s.Keys("r/"+id+"/", "") {
		n++
	}
	return n
}

// holder is the Node whose claim holds.
func holder(s plugin.State, id string, h plugin.Value) string {
	claim := h.Get("claim").Text()
	for _, raw := range s.Scan("r/" + id + "/") {
		if r := plugin.Value(raw); r.Get("id").Text() == claim {
			return r.Get("by").Text()
		}
	}
	return ""
}

func foldClaim(s plugin.State, m plugin.Message, id string, h plugin.Value, next plugin.Map) {
	s.SetText("c/"+m.ID, id)
	s.SetValue("r/"+id+"/"+m.Order(), plugin.Map{"id": m.ID, "by": m.Sender})
	s.SetText("n/"+m.Sender+"/"+h.Get("order").Text(), id)
	s.Delete("x/" + id + "/" + m.Sender)
	if h.Get("claim") == nil { // else the first in canonical order leads, until the author settles it
		next["claim"], next["status"] = m.ID, "claimed"
	}
}

func foldRelease(s plugin.State, m plugin.Message, id string, h plugin.Value, next plugin.Map) {
	key := held(s, id, m.Sender)
	r := plugin.MapOf(s.Value(key))
	mine := s.Value(key).Get("id").Text()
	r["released"] = true
	s.SetValue(key, r)
	if h.Get("claim").Text() != mine {
		return
	}
	delete(next, "claim")
	delete(next, "settled")
	next["status"] = "open"
	for _, raw := range s.Scan("r/" + id + "/") {
		if r := plugin.Value(raw); !r.Get("released").Bool() {
			next["claim"], next["status"] = r.Get("id").Text(), "claimed"
			return
		}
	}
}

func allDeclined(s plugin.State, id string, h plugin.Value) bool {
	for _, node := range h.Get("nodes").Texts() {
		if !s.Has("x/" + id + "/" + node) {
			return false
		}
	}
	return h.Get("claim") == nil
}

// settle is the author's word: an untyped reply to a claim makes it the one that holds. Other replies are talk.
func settle(s plugin.State, m plugin.Message) {
	for _, parent := range m.Parents {
		id := s.Text("c/" + parent)
		h := s.Value("h/" + id)
		if id == "" || h.Get("sender").Text() != m.Sender || h.Get("settled").Bool() || h.Get("status").Text() == "withdrawn" {
			continue
		}
		for _, raw := range s.Scan("r/" + id + "/") {
			if r := plugin.Value(raw); r.Get("id").Text() == parent && !r.Get("released").Bool() {
				next := plugin.MapOf(h)
				next["claim"], next["status"], next["settled"] = parent, "claimed", true
				save(s, id, next)
			}
		}
	}
}

// save writes a handoff and keeps the index of those open.
func save(s plugin.State, id string, h plugin.Map) {
	s.SetValue("h/"+id, h)
	v := s.Value("h/" + id)
	if v.Get("status").Text() == "open" {
		s.SetText("o/"+v.Get("order").Text(), id)
	} else {
		s.Delete("o/" + v.Get("order").Text())
	}
}
