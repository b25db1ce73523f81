//go:build !wasip1

package plugin

// This file holds the node in memory that a plugin's unit tests run against.

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"

	"plexus/sdk/abi"
)

// Trial runs one plugin natively over messages given one by one. It keeps no undo: it is for tests of what a plugin does,
// not of the node's order.
type Trial struct {
	plugin   Plugin
	keys     []string // sorted
	values   map[string][]byte
	messages map[string]abi.Value
	Marked   map[string]string   // refused messages: ID → reason
	Nodes    map[string]string   // what views, commands and reactions see of those that ask: Node → "role/kind", such as "writer/human"
	Knew     map[string][]string // what a message's author knew besides its Parents, for HappenedBefore: ID → IDs; may be nil
	Logs     []string
	Schemas  map[string]Value // what CheckSchema finds by name, such as "commands/submit"
	n        int
}

// NewTrial starts with an empty state.
func NewTrial(p Plugin) *Trial {
	return &Trial{plugin: p, values: map[string][]byte{}, messages: map[string]abi.Value{}, Marked: map[string]string{}}
}

// Send folds a message and returns its ID. m.ID and m.Time are made where they are zero: "m1", "m2" …, a second apart.
// content is a Map. A refusal undoes the message's writes and is returned; it stands in Marked too.
func (t *Trial) Send(m Message, content Map) (id string, err error) {
	t.n++
	if m.ID == "" {
		m.ID = "m" + strconv.Itoa(t.n)
	}
	if m.Time == 0 {
		m.Time = int64(t.n) * 1_000_000
	}
	m.Content = abi.Encode(content)
	v := EncodeMessage(m)
	t.messages[m.ID] = v
	keys, values := slices.Clone(t.keys), make(map[string][]byte, len(t.values))
	for k, b := range t.values {
		values[k] = b
	}
	if err = t.plugin.Fold(State{t}, readMessage(v)); err != nil {
		t.keys, t.values = keys, values
		t.Marked[m.ID] = err.Error()
	}
	return m.ID, err
}

// View asks a view and returns its answer encoded.
func (t *Trial) View(name string, params Map, caller string) (Value, error) {
	f := t.plugin.Views[name]
	if f == nil {
		return nil, Refusal(t.plugin.Name + " has no view " + name)
	}
	out, err := f(State{t}, t.query(name, params, caller))
	if err != nil {
		return nil, err
	}
	return abi.Encode(out), nil
}

func (t *Trial) query(name string, params Map, caller string) Query {
	role, kind, _ := strings.Cut(t.Nodes[caller], "/")
	return Query{Name: name, Params: abi.Encode(params), Caller: caller, Role: role, Kind: kind}
}

// Command asks a command and returns its drafts.
func (t *Trial) Command(name string, params Map, caller string) ([]Draft, error) {
	f := t.plugin.Commands[name]
	if f == nil {
		return nil, Refusal(t.plugin.Name + " has no command " + name)
	}
	return f(State{t}, t.query(name, params, caller))
}

// React asks for the reaction to an event. Its clock and timers are Clock and Timers; what it says isn't sent.
func (t *Trial) React(e Event) ([]Draft, error) {
	if t.plugin.React == nil {
		return nil, Refusal(t.plugin.Name + " doesn't react")
	}
	if as, ok := t.Nodes[e.Node]; ok {
		e.Role, e.Kind, _ = strings.Cut(as, "/")
	}
	return t.plugin.React(State{t}, e)
}

// State returns a copy of the keys and values.
func (t *Trial) State() map[string][]byte {
	out := make(map[string][]byte, len(t.values))
	for k, v := range t.values {
		out[k] = slices.Clone(v)
	}
	return out
}

// EncodeMessage writes a message as a node hands it to a fold.
func EncodeMessage(m Message) Value {
	b := make([]byte, 0, 256)
	n := 0
	put := func(key int, has bool, v any) {
		if has {
			b = abi.Append(abi.AppendInt(b, int64(key)), v)
			n++
		}
	}
	put(abi.MsgID, true, m.ID)
	put(abi.MsgSender, true, m.Sender)
	put(abi.MsgTime, true, m.Time)
	put(abi.MsgType, m.Type != "", m.Type)
	put(abi.MsgContent, true, m.Content)
	put(abi.MsgParents, len(m.Parents) > 0, m.Parents)
	put(abi.MsgNodes, len(m.Nodes) > 0, m.Nodes)
	put(abi.MsgRole, m.Role != "", m.Role)
	put(abi.MsgKind, m.Kind != "", m.Kind)
	put(abi.MsgMeta, len(m.Meta) > 0, m.Meta)
	return append(abi.AppendMap(nil, n), b...)
}

func (t *Trial) get(key string) ([]byte, bool) {
	v, ok := t.values[key]
	return slices.Clone(v), ok
}

func (t *Trial) has(key string) bool {
	_, ok := t.values[key]
	return ok
}

func (t *Trial) set(key string, value []byte) {
	if i, ok := slices.BinarySearch(t.keys, key); !ok {
		t.keys = slices.Insert(t.keys, i, key)
	}
	t.values[key] = slices.Clone(value)
}

func (t *Trial) del(key string) {
	if i, ok := slices.BinarySearch(t.keys, key); ok {
		t.keys = slices.Delete(t.keys, i, i+1)
		delete(t.values, key)
	}
}

func (t *Trial) next(prefix, after string) (string, bool) {
	i, exact := slices.BinarySearch(t.keys, max(prefix, after))
	if exact && after != "" && t.keys[i] == after {
		i++
	}
	if i < len(t.keys) && strings.HasPrefix(t.keys[i], prefix) {
		return t.keys[i], true
	}
	return "", false
}

func (t *Trial) message(id string) (abi.Value, bool) {
	v, ok := t.messages[id]
	return v, ok
}

func (t *Trial) happenedBefore(a, b string) bool { return t.reaches(a, b, map[string]bool{}) }

// reaches looks for a behind b; seen are the messages looked at.
func (t *Trial) reaches(a, b string, seen map[string]bool) bool {
	if seen[b] {
		return false
	}
	seen[b] = true
	for _, p := range append(readMessage(t.messages[b]).Parents, t.Knew[b]...) {
		if p == a || t.reaches(a, p, seen) {
			return true
		}
	}
	return false
}

func (t *Trial) sha256(b []byte) [32]byte { return sha256.Sum256(b) }

func (t *Trial) checkSchema(schema, v abi.Value) string {
	pointer := ""
	if schema.Kind() == abi.Text {
		var name string
		name, pointer, _ = strings.Cut(schema.Text(), "#")
		if schema = t.Schemas[name]; schema == nil {
			panic("the Trial has no schema " + name)
		}
	}
	return abi.CheckSchema(schema, pointer, v, func(int64) {})
}

func (t *Trial) log(_ int, text string) { t.Logs = append(t.Logs, text) }
