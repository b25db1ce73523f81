// Package plugin is how a Plexus plugin is written in Go: a fold that reads a Space's messages one by one and keeps
// what matters as keys and values, and views that answer from these. The node sees to the rest: order, late messages, storage,
// replication. Write plain sequential code; every replica ends with the same state.
//
//	var votes = plugin.Plugin{
//		Name: "vote",
//		Fold: func(s plugin.State, m plugin.Message) error {
//			s.Set("vote/"+m.Sender, []byte(m.Content.Get("option").Text()))
//			return nil
//		},
//		Views: map[string]plugin.View{"all": func(s plugin.State, q plugin.Query) (any, error) {
//			out := plugin.Map{}
//			for k, v := range s.Scan("vote/") {
//				out[k[len("vote/"):]] = string(v)
//			}
//			return out, nil
//		}},
//	}
//
//	func init() { plugin.Register(votes) }
//	func main() {}
//
// Build it with GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared. A native build runs the same plugin in a Trial, for
// its unit tests. Memory doesn't live from one call to the next: only what is Set does. There is no clock, no randomness, no
// network, no file. Keep encoding/json, fmt and reflect out of it: they cost size and time at every start.
package plugin

import (
	"iter"
	"unsafe"

	"plexus/sdk/abi"
)

// Map is a map with text keys, as views return and drafts carry. Values are nil, bool, int, int64, float64, string, []byte,
// []string, []any, Map, []Map or abi.Value.
type Map = abi.Fields

// Value is a piece of a message's content, read where it lies: m.Content.Get("task").Get("title").Text().
type Value = abi.Value

// Plugin is one plugin: its name as in the manifest, and what it does. What is nil it doesn't do.
type Plugin struct {
	Name string
	// Fold takes one message in. An error refuses it: what the fold Set is undone, the message is marked with the error's text,
	// and the next one comes.
	Fold     func(s State, m Message) error
	Views    map[string]View
	Commands map[string]Action
	// React is called where the user turned it on, for messages and due timers, with effects.
	React func(s State, e Event) ([]Draft, error)
}

// View answers a question from the state. An error is shown to the one who asked.
type View func(s State, q Query) (any, error)

// Action checks the state on behalf of a Node and returns what shall be said.
type Action func(s State, q Query) ([]Draft, error)

// Message is what a fold sees of a message.
type Message struct {
	ID      string // CID
	Sender  string // peer ID
	Time    int64  // microseconds since the epoch: the only clock
	Type    string // content_type, else content.type
	Content Value  // a map
	Meta    Value  // a map, or absent
	Parents []string
	Nodes   []string
	Role    string // of the sender: "admin", "writer", "reader"
	Kind    string // of the sender: "human" or "agent"
}

// Query is what a view or command is asked.
type Query struct {
	Name   string
	Params Value  // a map, or absent
	Caller string // peer ID; "" is nobody
	Role   string // of the caller in the Space: "admin", "writer", "reader"; "" is none
	Kind   string // of the caller: "human" or "agent", as its host attested; "" is not known
}

// Event is what a reaction is about: a message or a timer.
type Event struct {
	Message Message
	Timer   string // the timer's name; "" where it is a message
	Node    string // the Node that reacts
	Role    string // the Node's, as in Query
	Kind    string
	Again   bool // the fold refused the message when it came, and takes it now that the past has changed
}

// Draft is what a command or reaction wants said.
type Draft struct {
	Type    string
	Content Map
	Meta    Map
	Parents []string
	Nodes   []string
	Key     string // reactions: one draft is sent per key, whatever happens; "" is the place in the list
	Once    bool   // reactions: of several Nodes of a host that would send it for the same event, the first does
}

// State is the plugin's keys and values in one Space. Keys are 1–256 bytes, values up to 64 KiB. Only a fold may write.
type State struct{ b backend }

// backend is the node behind a State: the imports in a guest, a Trial in a test.
type backend interface {
	get(key string) ([]byte, bool)
	has(key string) bool
	set(key string, value []byte) // value isn't changed
	del(key string)
	next(prefix, after string) (string, bool)
	message(id string) (abi.Value, bool)
	happenedBefore(a, b string) bool
	sha256(b []byte) [32]byte
	checkSchema(schema, v abi.Value) string
	log(level int, text string)
}

// Get returns a key's value. The slice is the caller's. A key longer than may be is never there.
func (s State) Get(key string) (value []byte, ok bool) {
	if len(key) > abi.MaxKey {
		return nil, false
	}
	return s.b.get(key)
}

// Text returns a key's value as a string, "" where there is none.
func (s State) Text(key string) string {
	v, _ := s.Get(key)
	return alias(v)
}

// Value returns a key's value as what SetValue put there; absent where there is none.
func (s State) Value(key string) Value {
	v, _ := s.Get(key)
	return v
}

// Has says whether a key is there.
func (s State) Has(key string) bool {
	return len(key) <= abi.MaxKey && s.b.has(key)
}

// Set writes a key.
func (s State) Set(key string, value []byte) { s.b.set(key, value) }

// SetText writes a key's value as a string.
func (s State) SetText(key, value string) {
	s.b.set(key, unsafe.Slice(unsafe.StringData(value), len(value)))
}

// SetValue writes a Map or another value that abi.Append takes; Value reads it.
func (s State) SetValue(key string, v any) { s.b.set(key, abi.Encode(v)) }

// Delete removes a key; one that isn't there is no error.
func (s State) Delete(key string) { s.b.del(key) }

// Scan yields the keys with a prefix, in order, with their values. Writing while it runs is allowed.
func (s State) Scan(prefix string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		key, ok := s.next(prefix, "")
		for ok {
			v, _ := s.b.get(key)
			if !yield(key, v) {
				return
			}
			key, ok = s.b.next(prefix, key)
		}
	}
}

// Keys yields the keys with a prefix, in order; with after not empty, those behind prefix+after.
func (s State) Keys(prefix, after string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if after != "" {
			after = prefix + after
		}
		key, ok := s.next(prefix, after)
		for ok && yield(key) {
			key, ok = s.b.next(prefix, key)
		}
	}
}

func (s State) next(prefix, after string) (string, bool) {
	if len(prefix) > abi.MaxKey || len(after) > abi.MaxKey {
		return "", false
	}
	return s.b.next(prefix, after)
}

// Message returns an earlier message by ID: in a fold one that this plugin has folded, in a view any of the Space.
func (s State) Message(id string) (m Message, ok bool) {
	if len(id) > abi.MaxKey {
		return m, false
	}
	v, ok := s.b.message(id)
	if !ok {
		return m, false
	}
	return readMessage(v), true
}

// HappenedBefore says whether message a lies in b's past: whether b's author provably knew a. In a fold b must be
// the message at hand or one folded earlier; for others the answer is false.
func (s State) HappenedBefore(a, b string) bool { return s.b.happenedBefore(a, b) }

// SHA256 returns a hash, which the node computes.
func (s State) SHA256(b []byte) [32]byte { return s.b.sha256(b) }

// CheckSchema says in what a value breaks a JSON Schema, with the value's name before it ("payload.title is missing"), or "". schema is a Value, which
// is the schema itself, or names one of the plugin's own: "messages" is schema.json, "commands/NAME" and "views/NAME" are the parameters in
// the manifest, and "messages#/oneOf/0" is a part of it. It needs the grant "schema". Patterns and formats aren't looked at.
func (s State) CheckSchema(schema any, v Value, name string) string {
	problem := s.b.checkSchema(abi.Encode(schema), v)
	if problem == "" {
		return ""
	}
	return name + problem
}

// Log writes a line for the plugin's author (`plexus plugin test`, the node's debug log); it changes nothing.
func (s State) Log(text string) { s.b.log(0, text) }

// Refusal is an error that is only its text.
type Refusal string

// Error returns the text.
func (r Refusal) Error() string { return string(r) }

// registered are the file's plugins.
var registered []Plugin

// Register adds a plugin to the file; call it from init.
func Register(p Plugin) { registered = append(registered, p) }

// alias is bytes that nobody changes any more as text.
func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// texts is a list's texts, as they lie.
func texts(v Value) []string {
	var out []string
	for item := range v.Items() {
		if item.Kind() == abi.Text {
			if out == nil {
				out = make([]string, 0, v.Len())
			}
			out = append(out, alias(item.TextBytes()))
		}
	}
	return out
}

// readMessage reads a message that isn't changed any more: its texts stay where they are.
func readMessage(v Value) Message {
	var m Message
	w := v.Walk()
	for n, x, more := w.Next(); more; n, x, more = w.Next() {
		switch n {
		case abi.MsgID:
			m.ID = alias(x.TextBytes())
		case abi.MsgSender:
			m.Sender = alias(x.TextBytes())
		case abi.MsgTime:
			m.Time, _ = x.Int()
		case abi.MsgType:
			m.Type = alias(x.TextBytes())
		case abi.MsgContent:
			m.Content = x
		case abi.MsgParents:
			m.Parents = texts(x)
		case abi.MsgNodes:
			m.Nodes = texts(x)
		case abi.MsgRole:
			m.Role = alias(x.TextBytes())
		case abi.MsgKind:
			m.Kind = alias(x.TextBytes())
		case abi.MsgMeta:
			m.Meta = x
		}
	}
	return m
}
