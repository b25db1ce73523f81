package kit

// This file holds the golden trace: messages in, expected views and state out (docs/plugins.md §11).

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"plexus/graph"
)

// TraceVersion is the format's.
const TraceVersion = 1

// Trace is a golden trace. In contents, metas, parameters and wants, a text or key that is "$" and a message's label stands for its ID,
// one that is "@" and a Node's label for the Node's.
type Trace struct {
	Trace    int               `json:"trace"` // TraceVersion
	About    string            `json:"about,omitempty"`
	Nodes    map[string]string `json:"nodes,omitempty"` // label → "role/kind", as the access log would say
	Messages []TraceMessage    `json:"messages"`
	Marked   []string          `json:"marked,omitempty"` // messages that shall be refused; all others must be taken
	Views    []TraceView       `json:"views,omitempty"`
	Hash     string            `json:"hash,omitempty"`     // of the state, hex; "": not compared
	Gas      map[string]int64  `json:"gas,omitempty"`      // of each fold, by label; written by the build: another compiler's differs
	Schedule int               `json:"schedule,omitempty"` // by which gas was counted
}

// TraceMessage is one message. Its author knew its own earlier messages, what it refers to and what is named in After: all else is
// concurrent with it.
type TraceMessage struct {
	ID      string          `json:"id"`           // label
	By      string          `json:"by"`           // label of a Node
	At      int64           `json:"at,omitempty"` // microseconds since TraceStart; 0: a second after the one before in the list
	Type    string          `json:"type,omitempty"`
	Content json.RawMessage `json:"content"`
	Meta    json.RawMessage `json:"meta,omitempty"`
	Refs    []string        `json:"refs,omitempty"`  // labels of messages
	To      []string        `json:"to,omitempty"`    // labels of Nodes
	After   []string        `json:"after,omitempty"` // labels of messages
}

// TraceView is a question and its answer once all messages are there.
type TraceView struct {
	View    string          `json:"view"`
	Params  json.RawMessage `json:"params,omitempty"`
	By      string          `json:"by,omitempty"` // label of a Node; "": nobody
	Want    json.RawMessage `json:"want,omitempty"`
	Refused string          `json:"refused,omitempty"` // instead of an answer, a refusal that has this text in it
}

// ParseTrace reads and checks a trace. Errors say where.
func ParseTrace(b []byte) (*Trace, error) {
	if len(b) > maxTrace {
		return nil, fmt.Errorf("trace of %d bytes, at most %d: %w", len(b), maxTrace, graph.ErrTooLarge)
	}
	var t Trace
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return nil, fmt.Errorf("trace: %w: %w", err, graph.ErrInvalid)
	}
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("trace: %w: %w", err, graph.ErrInvalid)
	}
	return &t, nil
}

var label = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

func (t *Trace) check() error {
	if t.Trace != TraceVersion {
		return fmt.Errorf("it is of format %d, this plexus reads %d", t.Trace, TraceVersion)
	}
	if len(t.Messages) == 0 || len(t.Messages) > maxMessages {
		return fmt.Errorf("it must have 1 to %d messages", maxMessages)
	}
	seen := map[string]bool{}
	for i, m := range t.Messages {
		if !label.MatchString(m.ID) || !label.MatchString(m.By) {
			return fmt.Errorf("message %d: id and by are labels: letters, digits, _ . -", i+1)
		}
		if seen[m.ID] {
			return fmt.Errorf("message %s is there twice", m.ID)
		}
		for _, r := range slices.Concat(m.Refs, m.After) {
			if !seen[r] {
				return fmt.Errorf("message %s: %q is no message before it", m.ID, r)
			}
		}
		seen[m.ID] = true
	}
	for _, l := range t.Marked {
		if !seen[l] {
			return fmt.Errorf("marked: %q is no message", l)
		}
	}
	for i, v := range t.Views {
		if (v.Want == nil) == (v.Refused == "") {
			return fmt.Errorf("view %d (%s): it needs either want or refused", i+1, v.View)
		}
	}
	return nil
}

// Encode prints a trace, one message a line.
func (t *Trace) Encode() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("{\n  \"trace\": 1")
	field := func(name string, v any) error {
		j, err := encode(v)
		fmt.Fprintf(&b, ",\n  %q: %s", name, j)
		return err
	}
	list := func(name string, n int, item func(int) any) error {
		fmt.Fprintf(&b, ",\n  %q: [", name)
		for i := range n {
			j, err := encode(item(i))
			if err != nil {
				return err
			}
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString("\n    ")
			b.Write(j)
		}
		b.WriteString("\n  ]")
		return nil
	}
	steps := []struct {
		has bool
		do  func() error
	}{
		{t.About != "", func() error { return field("about", t.About) }},
		{len(t.Nodes) > 0, func() error { return field("nodes", t.Nodes) }},
		{true, func() error { return list("messages", len(t.Messages), func(i int) any { return t.Messages[i] }) }},
		{len(t.Marked) > 0, func() error { return field("marked", t.Marked) }},
		{len(t.Views) > 0, func() error { return list("views", len(t.Views), func(i int) any { return t.Views[i] }) }},
		{t.Hash != "", func() error { return field("hash", t.Hash) }},
		{len(t.Gas) > 0, func() error { return field("gas", t.Gas) }},
		{t.Schedule != 0, func() error { return field("schedule", t.Schedule) }},
	}
	for _, s := range steps {
		if s.has {
			if err := s.do(); err != nil {
				return nil, err
			}
		}
	}
	b.WriteString("\n}\n")
	return b.Bytes(), nil
}

// encode is JSON without HTML's escapes.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
