package plugins

// This file holds the projection: one plugin's state in one Space, as keys in the store, with what is needed to take
// messages out again. Keys of a projection, behind "p" and its number:
//
//	m                     meta, JSON
//	s <key>               state: what the guest wrote
//	d <key>               in a layer: the key is not there, whatever lies below
//	f <message>           empty: it is folded; a layer's lie below it (layer.go)
//	x <time> <message>    mark: 't' (trapped) or 'r' (refused), then the reason
//	a <node>              time ‖ ID of the Node's first message folded, then "role/kind" as they were seen
//	u <time> <message>    undo: what was counted before the message, and the keys its fold changed as they were
//	v <time> <message> n  the n-th piece of a step: state keys as they were at that place (undo.go)
//
// A projection is owned by the goroutine of Run; readers look at the store, under Host.state.

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"plexus/graph"
	"plexus/sdk/abi"
)

// meta is where a projection stands.
type meta struct {
	counts
	Next   graph.Key  `json:"next"`  // every message below is folded (or isn't for this plugin)
	Floor  graph.Key  `json:"floor"` // from here on there are undo records
	Dirty  *graph.Key `json:"dirty,omitempty"`
	Undos  int        `json:"undos"`
	Undone int64      `json:"undo_bytes"` // size of the undo records
	Steps  []step     `json:"steps,omitempty"`
	Stale  graph.Key  `json:"stale"`           // below, a message that is folded may be on record as such though it isn't any more: from Next on
	Whole  bool       `json:"whole"`           // has covered all there was, at least once
	Ended  bool       `json:"ended,omitempty"` // the last pass reached the newest message
	Reason string     `json:"reason,omitempty"`
	above
}

// counts are what a projection counts as it folds.
type counts struct {
	Folded uint64 `json:"folded"`
	Marked uint64 `json:"marked"`
	Bytes  int64  `json:"bytes"` // of state, with perKey for each key
}

type projection struct {
	records graph.Records
	num     uint32
	meta    meta
	over    *overlay
	whole   bool       // over has every key there is: what it lacks needn't be looked for in the store
	ops     []graph.Op // beside the overlay's: undo records
	journal []change   // of the message in hand
	before  counts     // of the message in hand
	arena   []byte     // of ops: see room
	lookup  []byte     // the key last looked up
	first   *graph.Key // of the undo records in ops
	ahead   prefetch
}

// change is one key as it was.
type change struct {
	key     string
	value   []byte
	present bool
}

const (
	kindMeta   = 'm'
	kindState  = 's'
	kindFolded = 'f'
	kindMark   = 'x'
	kindAuthor = 'a'
	kindUndo   = 'u'
	kindStep   = 'v'
	kindGone   = 'd'
)

// numPrefix is where a projection's keys lie.
func numPrefix(num uint32) []byte { return binary.BigEndian.AppendUint32([]byte{'p'}, num) }

// key is where a key lies in the store; it lives until the next commit.
func (p *projection) key(k string) []byte {
	num := p.num
	if p.meta.Root != 0 && k[0] == kindFolded {
		num = p.meta.Root
	}
	b := append(p.room(5+len(k)), 'p')
	return append(binary.BigEndian.AppendUint32(b, num), k...)
}

// room returns an empty slice for n bytes, cut from a larger piece with others that live until the next commit.
func (p *projection) room(n int) []byte {
	at := len(p.arena)
	if at+n > cap(p.arena) {
		p.arena, at = make([]byte, 0, max(n, min(2*cap(p.arena), arenaMost), arenaLeast)), 0
	}
	p.arena = p.arena[:at+n]
	return p.arena[at : at : at+n]
}

// orderKey is a message's place as bytes that sort canonically.
func orderKey(kind byte, k graph.Key) string {
	b := make([]byte, 0, 41)
	b = append(b, kind)
	b = binary.BigEndian.AppendUint64(b, uint64(k.Time))
	return string(append(b, k.ID[:]...))
}

// readOrder reads time ‖ ID; ok is false for what is too short.
func readOrder(b []byte) (k graph.Key, ok bool) {
	if len(b) < 40 {
		return k, false
	}
	k.Time = graph.Time(binary.BigEndian.Uint64(b))
	copy(k.ID[:], b[8:40])
	return k, true
}

// after is the least key greater than k.
func after(k graph.Key) graph.Key {
	for i := len(k.ID) - 1; i >= 0; i-- {
		if k.ID[i]++; k.ID[i] != 0 {
			return k
		}
	}
	k.Time++
	return k
}

// openProjection reads where a projection stands; one that isn't there is empty.
func openProjection(r graph.Records, num uint32) (*projection, error) {
	p := &projection{records: r, num: num, over: newOverlay()}
	b, err := r.Get(p.key(string(kindMeta)))
	if errors.Is(err, graph.ErrNotFound) {
		p.whole = true
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &p.meta)
	}
	if err != nil {
		return nil, fmt.Errorf("open plugin state %d: %w", num, err)
	}
	return p, nil
}

// find looks a key up, whatever its kind; nil: it isn't there, and no entry says so.
func (p *projection) find(kind byte, rest string) (*skipNode, error) {
	p.lookup = append(append(p.lookup[:0], kind), rest...)
	if n := p.over.keys[string(p.lookup)]; n != nil || p.whole {
		return n, nil
	}
	k := string(p.lookup)
	v, ok, err := p.layers().get(k)
	if err != nil {
		return nil, err
	}
	return p.over.put(k, v, ok, false), nil
}

func (p *projection) read(kind byte, rest string) (value []byte, ok bool, err error) {
	n, err := p.find(kind, rest)
	if n == nil || err != nil {
		return nil, false, err
	}
	return n.value, n.present, nil
}

// write changes a key and journals what it was.
func (p *projection) write(kind byte, rest string, value []byte, present bool) error {
	n, err := p.find(kind, rest)
	if err != nil {
		return err
	}
	had := n != nil && n.present
	if !had && !present || had && present && bytes.Equal(n.value, value) {
		return nil
	}
	if n == nil {
		n = p.over.add(string(p.lookup))
	}
	p.journal = append(p.journal, change{n.key, n.value, had})
	p.change(n, value, present)
	return nil
}

// fresh writes a key that can't be there yet: one named after the message in hand.
func (p *projection) fresh(k string, value []byte) {
	p.journal = append(p.journal, change{key: k})
	p.put(k, value, true)
}

// put changes a key without a journal and keeps count of the state's size.
func (p *projection) put(k string, value []byte, present bool) {
	n := p.over.keys[k]
	if n == nil {
		n = p.over.add(k)
	}
	p.change(n, value, present)
}

func (p *projection) change(n *skipNode, value []byte, present bool) {
	if n.key[0] == kindState {
		if n.present {
			p.meta.Bytes -= int64(len(n.key) + len(n.value) + perKey)
		}
		if present {
			p.meta.Bytes += int64(len(n.key) + len(value) + perKey)
		}
	}
	p.over.set(n, value, present, true)
}

// perKey is what a key counts for beside its bytes, so that tiny keys don't come for nothing.
const perKey = 31

// revert takes back the journal from entry n on.
func (p *projection) revert(n int) {
	for i := len(p.journal) - 1; i >= n; i-- {
		c := p.journal[i]
		p.put(c.key, c.value, c.present)
	}
	p.journal = p.journal[:n]
}

// The guest's view of its state, while it folds.

func (p *projection) get(key string) ([]byte, bool, error) { return p.read(kindState, key) }

func (p *projection) set(key string, value []byte) error {
	if err := p.write(kindState, key, value, true); err != nil {
		return err
	}
	if p.meta.Bytes > abi.MaxState {
		return trapError(fmt.Sprintf("more than %d bytes of state", abi.MaxState))
	}
	return nil
}

func (p *projection) del(key string) error { return p.write(kindState, key, nil, false) }

func (p *projection) next(prefix, behind string) (string, bool, error) {
	from, inclusive := "s"+max(prefix, behind), behind == "" || behind < prefix
	for {
		stored, ok, err := p.ahead.next(p.layers(), from, inclusive)
		if err != nil {
			return "", false, err
		}
		n := p.over.after(from, inclusive)
		best := ""
		if ok {
			best = stored
		}
		if n != nil && (best == "" || n.key <= best) {
			best = n.key
		}
		if best == "" || !strings.HasPrefix(best[1:], prefix) || best[0] != kindState {
			return "", false, nil
		}
		if n == nil || n.key != best || n.present {
			return best[1:], true, nil
		}
		from, inclusive = best, false
	}
}

// prefetch is a stretch of stored keys, so that a scan doesn't open an iterator for each.
type prefetch struct {
	from string   // the stretch holds all stored keys from here …
	keys []string // … to the last of these
	end  bool     // … or to the end of the state
}

// next returns the first stored state key behind from (or at it).
func (f *prefetch) next(l layers, from string, inclusive bool) (string, bool, error) {
	if f.from == "" || from < f.from || !f.end && (len(f.keys) == 0 || from > f.keys[len(f.keys)-1] || !inclusive && from == f.keys[len(f.keys)-1]) {
		if err := f.fill(l, from); err != nil {
			return "", false, err
		}
	}
	lo, hi := 0, len(f.keys)
	for lo < hi {
		if mid := (lo + hi) / 2; f.keys[mid] < from || !inclusive && f.keys[mid] == from {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(f.keys) {
		return f.keys[lo], true, nil
	}
	return "", false, nil
}

func (f *prefetch) fill(l layers, from string) error {
	*f = prefetch{from: from, end: true}
	for kv, err := range l.state(from) {
		if err != nil {
			return err
		}
		f.keys = append(f.keys, string(kv.Key))
		if len(f.keys) == maxPrefetch {
			f.end = false
			return nil
		}
	}
	return nil
}

// take returns everything uncommitted as ops, and counts it as committed.
func (p *projection) take() ([]graph.Op, error) {
	ops := p.ops
	for _, n := range p.over.dirty {
		if n.present {
			ops = append(ops, graph.Op{Kind: graph.Set, Key: p.key(n.key), Value: n.value})
		} else {
			ops = append(ops, graph.Op{Kind: graph.Del, Key: p.key(n.key)})
		}
		if p.meta.Root != 0 && n.key[0] == kindState {
			ops = append(ops, p.gone(n))
		}
	}
	b, err := json.Marshal(p.meta)
	if err != nil {
		return nil, err
	}
	return append(ops, graph.Op{Kind: graph.Set, Key: p.key(string(kindMeta)), Value: b}), nil
}

// committed is called once the ops are in the store; most bounds what is kept of them in memory.
func (p *projection) committed(most int) {
	p.ops, p.arena, p.first, p.ahead = nil, nil, nil, prefetch{}
	p.over.committed()
	if p.over.bytes > most {
		p.over, p.whole = newOverlay(), false
	}
}
