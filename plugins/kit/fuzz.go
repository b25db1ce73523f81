package kit

// This file holds the fuzzing of contents: what anybody may send to a plugin.

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"plexus/sdk/abi"
)

// Fuzzing is what came of it.
type Fuzzing struct {
	Messages int    `json:"messages"`
	Hash     string `json:"hash"` // of the state, the trace's messages included
	Taken    int    `json:"taken"`
	Refused  int    `json:"refused"`
	MaxGas   int64  `json:"max_gas"`
	Limit    int64  `json:"gas_limit"`
	Traps    []Trap `json:"traps,omitempty"` // each reason once: faults of the plugin
}

// Trap is a message that a plugin should have refused in its own words.
type Trap struct {
	Reason  string          `json:"reason"`
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"`
}

// Fuzz sends messages with contents made from the trace's and at will, in the types the plugin accepts, and folds them twice, in
// two orders. A trap is reported; a state that differs is a *Diverged.
func (f *File) Fuzz(ctx context.Context, plugin string, t *Trace, seed uint64, messages int) (*Fuzzing, error) {
	p := f.plugin(plugin)
	m := mutator{rnd: random(seed), trace: t, types: append([]string{""}, p.Accepts...), at: map[string]int64{}, tips: map[string]int64{}}
	fuzzed, err := m.make(messages)
	if err != nil {
		return nil, err
	}
	s, err := fuzzed.scene()
	if err != nil {
		return nil, err
	}
	o, err := s.deliver(ctx, plugin, f.inOrder(s), nil)
	if err != nil {
		return nil, err
	}
	r := &Fuzzing{Messages: messages, Hash: o.Hash, Limit: p.Limits.Gas}
	if r.Limit == 0 {
		r.Limit = abi.Gas
	}
	seen := map[string]bool{}
	for _, msg := range fuzzed.Messages {
		switch fold := o.Folds[msg.ID]; {
		case fold.Trapped:
			if !seen[fold.Reason] {
				seen[fold.Reason] = true
				r.Traps = append(r.Traps, Trap{fold.Reason, msg.Type, msg.Content})
			}
		case fold.Reason != "":
			r.Refused++
		case fold.Plugin != "":
			r.Taken++
		}
		r.MaxGas = max(r.MaxGas, o.Gas[msg.ID])
	}
	return r, f.converge(ctx, plugin, s, seed, 2, nil)
}

// mutator makes messages.
type mutator struct {
	rnd   *rand.Rand
	trace *Trace
	types []string
	at    map[string]int64 // of messages, by label
	tips  map[string]int64 // of authors' last ones
}

// make puts n messages among the trace's, at any time after what they refer to: before a close as well as behind it.
func (m *mutator) make(n int) (*Trace, error) {
	out := &Trace{Trace: TraceVersion, Nodes: m.trace.Nodes, Messages: slices.Clone(m.trace.Messages)}
	last := int64(0)
	for i := range out.Messages {
		msg := &out.Messages[i]
		if msg.At == 0 {
			msg.At = last + 1_000_000
		}
		last = msg.At
		m.heard(*msg)
	}
	for i := range n {
		msg, err := m.message(out.Messages)
		if err != nil {
			return nil, err
		}
		msg.ID = fmt.Sprintf("fuzz%d", i)
		msg.At = max(1, m.tips[msg.By]+1)
		for _, r := range msg.Refs {
			msg.At = max(msg.At, m.at[r]+1)
		}
		msg.At += m.rnd.Int64N(last)
		m.heard(msg)
		out.Messages = append(out.Messages, msg)
	}
	return out, nil
}

// heard remembers when a message was said.
func (m *mutator) heard(msg TraceMessage) { m.at[msg.ID], m.tips[msg.By] = msg.At, msg.At }

// message makes one from a message of the trace.
func (m *mutator) message(before []TraceMessage) (TraceMessage, error) {
	model := m.trace.Messages[m.rnd.IntN(len(m.trace.Messages))]
	msg := TraceMessage{By: fmt.Sprintf("fuzz%d", m.rnd.IntN(fuzzers)), Type: model.Type}
	if m.rnd.IntN(8) == 0 {
		msg.By = model.By
	}
	if m.rnd.IntN(4) == 0 {
		msg.Type = m.types[m.rnd.IntN(len(m.types))]
	}
	v, err := decode(model.Content)
	if err != nil {
		return msg, err
	}
	for range m.rnd.IntN(4) {
		v = m.change(v, 0)
	}
	if _, ok := v.(map[string]any); !ok {
		v = map[string]any{"value": v}
	}
	if msg.Content, err = encode(v); err != nil {
		return msg, err
	}
	if m.rnd.IntN(4) > 0 {
		msg.Refs = slices.Clone(model.Refs)
	}
	for range m.rnd.IntN(3) {
		if r := before[m.rnd.IntN(len(before))].ID; !slices.Contains(msg.Refs, r) {
			msg.Refs = append(msg.Refs, r)
		}
	}
	return msg, nil
}

// change alters one place of a value.
func (m *mutator) change(v any, depth int) any {
	if m.rnd.IntN(6) == 0 || depth > 8 {
		return m.any(0)
	}
	switch v := v.(type) {
	case map[string]any:
		keys := sortedKeys(v)
		if len(keys) == 0 || m.rnd.IntN(8) == 0 {
			v[m.text()] = m.any(0)
			return v
		}
		k := keys[m.rnd.IntN(len(keys))]
		if m.rnd.IntN(4) == 0 {
			delete(v, k)
		} else {
			v[k] = m.change(v[k], depth+1)
		}
		return v
	case []any:
		if len(v) == 0 {
			return []any{m.any(0)}
		}
		i := m.rnd.IntN(len(v))
		switch m.rnd.IntN(4) {
		case 0:
			return append(v[:i:i], v[i+1:]...)
		case 1:
			return append(v, v[i])
		}
		v[i] = m.change(v[i], depth+1)
		return v
	case string:
		if m.rnd.IntN(2) == 0 {
			return v + m.text()
		}
		return m.text()
	}
	return v
}

func sortedKeys(v map[string]any) []string {
	var keys []string
	for k := range v {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// any draws a value: the awkward ones first.
func (m *mutator) any(depth int) any {
	switch m.rnd.IntN(12) {
	case 0:
		return nil
	case 1:
		return m.rnd.IntN(2) == 0
	case 2:
		return json.Number([]string{"0", "-1", "1.5", "9223372036854775807", "-9223372036854775808", "18446744073709551616", "1e300", "1e400", "-0", "0.1"}[m.rnd.IntN(10)])
	case 3:
		return m.rnd.IntN(1 << 20)
	case 4, 5:
		if depth < 4 {
			list := []any{}
			for range m.rnd.IntN(6) {
				list = append(list, m.any(depth+1))
			}
			return list
		}
	case 6, 7:
		if depth < 4 {
			out := map[string]any{}
			for range m.rnd.IntN(6) {
				out[m.text()] = m.any(depth + 1)
			}
			return out
		}
	case 8:
		return nested(m.rnd.IntN(56))
	}
	return m.text()
}

func nested(n int) any {
	var v any = "deep"
	for range n {
		v = []any{v}
	}
	return v
}

// text draws a string: empty, long, not ASCII, with what keys of a state might trip over.
func (m *mutator) text() string {
	switch m.rnd.IntN(10) {
	case 0:
		return ""
	case 1:
		return strings.Repeat("x", 1<<m.rnd.IntN(16))
	case 2:
		return strings.Repeat("ä€😀", 1+m.rnd.IntN(60))
	case 3:
		return "\x00\n/../%s$lunch\u202e"
	case 4:
		return m.trace.Messages[m.rnd.IntN(len(m.trace.Messages))].ID
	}
	b := make([]byte, m.rnd.IntN(12))
	for i := range b {
		b[i] = byte(' ' + m.rnd.IntN(95))
	}
	return string(b)
}
