package node

// This file holds what is remembered of P2A, and how it lies in Log.Records: one keyspace a line.
//
//	caller       node ID                                → callerRecord as JSON
//	callertoken  SHA-256 of a token                     → node ID
//	p2atask      task ID                                → taskRecord as JSON
//	p2alist      node ID ‖ ^created (8 bytes) ‖ task ID → nothing: a caller's tasks, newest first
//	p2aopen      task ID                                → nothing: tasks of which an end hasn't been seen
//	p2aevent     task ID ‖ number (2 bytes)             → eventRecord as JSON
//	p2adue       node ID ‖ time (8 bytes) ‖ event's key → nothing: callbacks that wait, by when they are tried
//	p2agone      node ID ‖ SHA-256 of a URL             → time (8 bytes): when it answered 410
//
// What is remembered of a task is how it was asked for and what its caller was told. How it stands is in the task plugin's state alone.

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"plexus/graph"
	"plexus/sdk/client"
)

type p2aRecords struct{ caller, token, task, list, open, event, due, gone graph.Records }

func openP2ARecords(log *graph.Log) p2aRecords {
	return p2aRecords{
		caller: log.Records("caller"), token: log.Records("callertoken"), task: log.Records("p2atask"), list: log.Records("p2alist"),
		open: log.Records("p2aopen"), event: log.Records("p2aevent"), due: log.Records("p2adue"), gone: log.Records("p2agone"),
	}
}

// callerRecord is a caller. Its token is kept as a hash; its webhook secrets as they are, since they sign.
type callerRecord struct {
	ID      graph.NodeID    `json:"id"` // the Node that speaks for it
	Name    string          `json:"name"`
	Spaces  []graph.ID      `json:"spaces"`
	Types   []string        `json:"types,omitempty"`
	Rate    int             `json:"rate"`
	Created graph.Time      `json:"created"`
	Expires graph.Time      `json:"expires,omitempty"` // 0: never
	Revoked bool            `json:"revoked,omitempty"`
	Token   []byte          `json:"token"` // SHA-256
	Secrets []webhookSecret `json:"secrets"`
}

// webhookSecret signs until a time; 0 is without end.
type webhookSecret struct {
	Key   []byte     `json:"key"`
	Until graph.Time `json:"until,omitempty"`
}

func (c callerRecord) public() client.Caller {
	out := client.Caller{ID: c.ID.String(), Name: c.Name, Types: c.Types, RatePerMin: c.Rate, Created: c.Created.String(), Revoked: c.Revoked}
	for _, id := range c.Spaces {
		out.Spaces = append(out.Spaces, id.String())
	}
	if c.Expires != 0 {
		out.Expires = c.Expires.String()
	}
	return out
}

// taskRecord is what a task was asked with, and what its caller was told of it.
type taskRecord struct {
	Caller      graph.NodeID `json:"caller"`
	Space       graph.ID     `json:"space"`
	Type        string       `json:"type"`
	Title       string       `json:"title,omitempty"`
	Created     graph.Time   `json:"created"`
	Mode        string       `json:"mode"`
	CallbackURL string       `json:"callback_url,omitempty"`
	HeartbeatS  int          `json:"heartbeat_s,omitempty"`
	Hold        graph.Time   `json:"hold,omitempty"`   // of a hybrid one: until then the answer may still tell the end
	Asked       string       `json:"asked,omitempty"`  // the question its caller was told of last
	Events      uint16       `json:"events,omitempty"` // how many there were
}

// eventRecord is one callback.
type eventRecord struct {
	Type     string          `json:"type"`
	State    string          `json:"state"`
	Created  graph.Time      `json:"created"`
	Due      graph.Time      `json:"due,omitempty"`
	Attempts int             `json:"attempts,omitempty"`
	Status   int             `json:"status,omitempty"`
	Error    string          `json:"error,omitempty"`
	Body     json.RawMessage `json:"body,omitempty"` // the same bytes at each try; gone when there are no more
}

// eventKey names an event.
type eventKey struct {
	task   graph.ID
	number uint16
}

func (k eventKey) bytes() []byte { return binary.BigEndian.AppendUint16(k.task[:], k.number) }

// id is the webhook-id.
func (k eventKey) id() string { return fmt.Sprintf("evt_%s_%d", k.task, k.number) }

func dueKey(caller graph.NodeID, at graph.Time, k eventKey) []byte {
	return append(binary.BigEndian.AppendUint64(slices.Clone(caller[:]), uint64(at)), k.bytes()...)
}

const dueKeyLen = 32 + 8 + 32 + 2

// readDue takes a key of due apart.
func readDue(b []byte) (caller graph.NodeID, at graph.Time, k eventKey, ok bool) {
	if len(b) != dueKeyLen {
		return caller, 0, k, false
	}
	copy(caller[:], b)
	at = graph.Time(binary.BigEndian.Uint64(b[32:]))
	copy(k.task[:], b[40:])
	k.number = binary.BigEndian.Uint16(b[72:])
	return caller, at, k, true
}

func listKey(caller graph.NodeID, created graph.Time, task graph.ID) []byte {
	return append(binary.BigEndian.AppendUint64(slices.Clone(caller[:]), ^uint64(created)), task[:]...)
}

func goneKey(caller graph.NodeID, url string) []byte {
	sum := sha256.Sum256([]byte(url))
	return append(slices.Clone(caller[:]), sum[:]...)
}

func setJSON(r graph.Records, key []byte, v any) ([]graph.Op, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("keep a record: %w", err)
	}
	return r.Ops(graph.Op{Kind: graph.Set, Key: key, Value: b}), nil
}

func mark(r graph.Records, key []byte) []graph.Op {
	return r.Ops(graph.Op{Kind: graph.Set, Key: key, Value: []byte{}})
}

func drop(r graph.Records, key []byte) []graph.Op {
	return r.Ops(graph.Op{Kind: graph.Del, Key: key})
}

// read reads a JSON record; ErrNotFound where there is none.
func readJSON[T any](r graph.Records, key []byte) (v T, err error) {
	b, err := r.Get(key)
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil && !errors.Is(err, graph.ErrNotFound) {
		err = fmt.Errorf("read a record of P2A: %w", err)
	}
	return v, err
}

// byToken returns the caller a token is of.
func (r p2aRecords) byToken(token string) (callerRecord, error) {
	sum := sha256.Sum256([]byte(token))
	id, err := array(r.token.Get(sum[:]))
	if err != nil {
		return callerRecord{}, err
	}
	return readJSON[callerRecord](r.caller, id[:])
}

// callers returns all callers, by Node ID.
func (r p2aRecords) callers() (out []callerRecord, err error) {
	for kv, err := range r.caller.Scan(nil, nil, false) {
		if err != nil {
			return nil, fmt.Errorf("list callers: %w", err)
		}
		var c callerRecord
		if err := json.Unmarshal(kv.Value, &c); err != nil {
			return nil, fmt.Errorf("list callers: %w", err)
		}
		out = append(out, c)
	}
	return out, nil
}

// after is the first key behind all that begin with prefix and what follows it.
func after(prefix []byte) []byte {
	out := slices.Clone(prefix)
	for i := len(out) - 1; i >= 0; i-- {
		if out[i]++; out[i] != 0 {
			return out[:i+1]
		}
	}
	return nil
}
