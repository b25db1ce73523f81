// Package checkpoint is the pattern by which one who works asks before going on: a checkpoint is submitted, somebody else
// answers with an option and feedback, and all replicas agree which answer holds. SKILL.md says how to use it.
//
// It is guest code: it imports sdk/plugin alone.
package checkpoint

// This file holds the plugin and its fold.
//
// State:
//
//	c/<checkpoint>             {sender, order, nodes?, options?, answer?, settled?}
//	p/<order>, d/<order>       checkpoint: pending ones, answered ones
//	a/<answer>                 checkpoint
//	r/<checkpoint>/<order>     {id, option}: its answers in canonical order
//
// <checkpoint> and <answer> are message IDs; <order> is the message's time in hex, a slash, and its ID: canonical order.

import (
	"plexus/sdk/plugin"
)

// Type is the content type of a checkpoint. An answer has none.
const Type = "checkpoint"

// Reject is the option that may always be chosen: it asks for a roll back.
const Reject = "Reject"

const (
	maxID      = 128 // bytes of content.id
	maxOptions = 32
	maxOption  = 256 // bytes of an option
)

// Plugin is the pattern.
func Plugin() plugin.Plugin {
	return plugin.Plugin{
		Name: "checkpoint",
		Fold: fold,
		Views: map[string]plugin.View{
			"pending":  pending,
			"answered": answered,
			"all":      all,
		},
		Commands: map[string]plugin.Action{"submit": submit, "answer": answer},
	}
}

func fold(s plugin.State, m plugin.Message) error {
	if m.Type == Type {
		return foldCheckpoint(s, m)
	}
	for _, parent := range m.Parents {
		if s.Has("c/" + parent) {
			if err := foldAnswer(s, m, parent); err != nil {
				return err
			}
		}
		if of := s.Text("a/" + parent); of != "" {
			settle(s, m, of, parent)
		}
	}
	return nil
}

func foldCheckpoint(s plugin.State, m plugin.Message) error {
	id := m.Content.Get("id").Text()
	if id == "" || len(id) > maxID {
		return plugin.Refusal("a checkpoint needs content.id, a text of 1 to 128 bytes")
	}
	options, err := readOptions(m.Content.Get("options"))
	if err != nil {
		return err
	}
	c := plugin.Map{"sender": m.Sender, "order": order(m)}
	if len(m.Nodes) > 0 {
		c["nodes"] = m.Nodes
	}
	if len(options) > 0 {
		c["options"] = options
	}
	s.SetValue("c/"+m.ID, c)
	s.SetText("p/"+order(m), m.ID)
	return nil
}

func readOptions(v plugin.Value) ([]string, error) {
	var options []string
	for item := range v.Items() {
		text := item.Text()
		if text == "" || len(text) > maxOption {
			return nil, plugin.Refusal("content.options must be texts of 1 to 256 bytes")
		}
		options = append(options, text)
	}
	if len(options) > maxOptions {
		return nil, plugin.Refusal("content.options has more than 32 options")
	}
	return options, nil
}

// foldAnswer takes a reply to a checkpoint. One without option and feedback is talk, and no answer.
func foldAnswer(s plugin.State, m plugin.Message, checkpoint string) error {
	c := s.Value("c/" + checkpoint)
	option, feedback := m.Content.Get("option").Text(), m.Content.Get("feedback").Text()
	if option == "" && feedback == "" {
		return nil
	}
	option, err := allowed(c, m.Sender, option)
	if err != nil {
		return err
	}
	s.SetText("a/"+m.ID, checkpoint)
	s.SetValue("r/"+checkpoint+"/"+order(m), plugin.Map{"id": m.ID, "option": option})
	if c.Get("answer") != nil {
		return nil // overruled: the first in canonical order holds
	}
	hold(s, checkpoint, c, m.ID, false)
	return nil
}

// allowed says whether this Node may answer so, and spells the option as the checkpoint does.
func allowed(c plugin.Value, sender, option string) (string, error) {
	if c.Get("sender").Text() == sender {
		return "", plugin.Refusal("a checkpoint can't be answered by its own author")
	}
	if nodes := c.Get("nodes").Texts(); len(nodes) > 0 && !has(nodes, sender) {
		return "", plugin.Refusal("this checkpoint is addressed to others: only those in its refs.nodes may answer")
	}
	options := c.Get("options").Texts()
	if option == "" || len(options) == 0 {
		if len(option) > maxOption {
			return "", plugin.Refusal("content.option is longer than 256 bytes: put the text into feedback")
		}
		return option, nil
	}
	for _, o := range append(options, Reject) {
		if equalFold(o, option) {
			return o, nil
		}
	}
	return "", plugin.Refusal("content.option must be one of the checkpoint's options, or Reject")
}

// settle is the author's word: a message that refs an answer makes it the one that holds, for good.
func settle(s plugin.State, m plugin.Message, checkpoint, answer string) {
	c := s.Value("c/" + checkpoint)
	if c.Get("sender").Text() == m.Sender && !c.Get("settled").Bool() {
		hold(s, checkpoint, c, answer, true)
	}
}

func hold(s plugin.State, checkpoint string, c plugin.Value, answer string, settled bool) {
	next := plugin.Map{}
	for k, v := range c.Pairs() {
		next[k.Text()] = v
	}
	next["answer"] = answer
	if settled {
		next["settled"] = true
	}
	s.SetValue("c/"+checkpoint, next)
	at := c.Get("order").Text()
	s.Delete("p/" + at)
	s.SetText("d/"+at, checkpoint)
}

// order is a message's place in canonical order as a key.
func order(m plugin.Message) string {
	const digits = "0123456789abcdef"
	var b [16]byte
	for i, t := 15, uint64(m.Time); i >= 0; i, t = i-1, t>>4 {
		b[i] = digits[t&15]
	}
	return string(b[:]) + "/" + m.ID
}

func has(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// equalFold compares with ASCII letters of either case alike.
func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		x, y := a[i], b[i]
		if 'A' <= x && x <= 'Z' {
			x += 'a' - 'A'
		}
		if 'A' <= y && y <= 'Z' {
			y += 'a' - 'A'
		}
		if x != y {
			return false
		}
	}
	return true
}
