package model

// This file holds where a pattern's code runs: natively, in a Trial. The real host is plugins/bundle's test.

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"plexus/sdk/abi"
	"plexus/sdk/plugin"
)

// Ground is what a world stands on.
type Ground interface {
	Node(name string) string  // a Node's ID
	Seal(m *Message) error    // gives a message its ID
	Replica() (Engine, error) // an empty one
	Timed() bool              // whether commands see the world's time
}

// Engine folds the messages of one replica.
type Engine interface {
	// Deliver adds messages, each after all that its author knew.
	Deliver(messages []*Message) error
	View(name string, params plugin.Map, caller string) (any, error)
	// Command is asked when a message said now would have this time.
	Command(name string, params plugin.Map, caller string, at int64) ([]Draft, error)
	Marked() (map[string]string, error) // ID → reason
	State() (string, error)             // a hash
	Close() error
}

// Draft is what a command wants said.
type Draft struct {
	Type           string
	Content        plugin.Map
	Parents, Nodes []string
}

// Native runs a pattern's code without a host.
type Native struct {
	Plugin  plugin.Plugin
	Pattern Pattern
}

// Node is the name itself.
func (n Native) Node(name string) string { return name }

// Timed is true: the clock is the package's.
func (n Native) Timed() bool { return true }

// Seal makes an ID that sorts as it likes, as a hash does.
func (n Native) Seal(m *Message) error {
	b, err := json.Marshal(m)
	sum := sha256.Sum256(b)
	m.ID = hex.EncodeToString(sum[:8])
	return err
}

// Replica is empty.
func (n Native) Replica() (Engine, error) {
	return n.empty(), nil
}

func (n Native) empty() *native {
	t := plugin.NewTrial(n.Plugin)
	t.Knew, t.Nodes = map[string][]string{}, map[string]string{}
	for name := range homes {
		t.Nodes[name] = "writer/" + kindOf(name)
	}
	return &native{on: n, trial: t, called: map[string]bool{}}
}

// native keeps its messages in canonical order and begins anew when one comes that doesn't sort last.
type native struct {
	on       Native
	trial    *plugin.Trial
	messages []*Message
	called   map[string]bool // those the fold was called for
}

func (n *native) Deliver(messages []*Message) error {
	for _, m := range messages {
		late := len(n.messages) > 0 && n.messages[len(n.messages)-1].compare(m) > 0
		n.messages = append(n.messages, m)
		if !late {
			n.fold(m)
			continue
		}
		slices.SortFunc(n.messages, (*Message).compare)
		anew := n.on.empty()
		n.trial, n.called = anew.trial, anew.called
		for _, m := range n.messages {
			n.fold(m)
		}
	}
	return nil
}

// fold does what a host does: the plugin sees the types it accepts, and what answers them without a type.
func (n *native) fold(m *Message) {
	mine := slices.Contains(n.on.Pattern.Accepts, m.Type)
	if m.Type == "" && n.on.Pattern.Replies {
		mine = slices.ContainsFunc(m.Parents, func(p string) bool { return n.called[p] })
	}
	n.trial.Knew[m.ID] = slices.Concat(m.Prev, m.Parents)
	if n.called[m.ID] = mine; mine {
		_, _ = n.trial.Send(plugin.Message{ID: m.ID, Sender: m.Sender, Time: m.Time, Type: m.Type, Parents: m.Parents, Nodes: m.Nodes, Role: "writer", Kind: m.Kind}, m.Content)
	}
}

func (n *native) View(name string, params plugin.Map, caller string) (any, error) {
	v, err := n.trial.View(name, params, caller)
	return Plain(v), err
}

func (n *native) Command(name string, params plugin.Map, caller string, at int64) (out []Draft, err error) {
	defer func(before int64) { plugin.Clock = before }(plugin.Clock)
	plugin.Clock = at
	drafts, err := n.trial.Command(name, params, caller)
	for _, d := range drafts {
		content, _ := Plain(abi.Encode(d.Content)).(plugin.Map)
		out = append(out, Draft{d.Type, content, d.Parents, d.Nodes})
	}
	return out, err
}

func (n *native) Marked() (map[string]string, error) { return n.trial.Marked, nil }

func (n *native) State() (string, error) {
	state := n.trial.State()
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(state)) {
		b.WriteString(k + "=" + hex.EncodeToString(state[k]) + "\n")
	}
	for _, id := range slices.Sorted(maps.Keys(n.trial.Marked)) {
		b.WriteString(id + "\n")
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:]), nil
}

func (n *native) Close() error { return nil }
