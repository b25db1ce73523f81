package graph

// This file holds the small records other parts of the node keep beside the Spaces, in keyspaces of their own.

import (
	"fmt"
	"iter"
)

// Records is a named keyspace beside the Spaces. Keys are the caller's.
type Records struct {
	log  *Log
	name string
}

// Records returns a keyspace for another part of the node (tokens, plugin state, cursors), apart from all others.
// The name is 1–16 bytes (else it panics: names are constants of the program). Writes go through Records.Apply, or ride in the
// transaction of a Send or Add.
func (l *Log) Records(name string) Records {
	if len(name) < 1 || len(name) > MaxRecordName {
		panic(fmt.Sprintf("records: name %q is not of 1 to %d bytes", name, MaxRecordName))
	}
	return Records{l, name}
}

// Get returns ErrNotFound for an absent key.
func (r Records) Get(key []byte) ([]byte, error) { return r.log.st.Get(recordKey(r.name, key)) }

// Scan yields lo ≤ key < hi (nil hi: to the end) in order; see Store.Scan. Keys are the caller's, without the keyspace.
func (r Records) Scan(lo, hi []byte, reverse bool) iter.Seq2[KV, error] {
	prefix := recordKey(r.name, nil)
	end := prefixEnd(prefix)
	if hi != nil {
		end = recordKey(r.name, hi)
	}
	return func(yield func(KV, error) bool) {
		for kv, err := range r.log.st.Scan(recordKey(r.name, lo), end, reverse) {
			if err == nil {
				kv.Key = kv.Key[len(prefix):]
			}
			if !yield(kv, err) {
				return
			}
		}
	}
}

// Apply writes one atomic batch and returns when it is synced.
func (r Records) Apply(ops ...Op) error {
	if r.log.closed.Load() {
		return ErrClosed
	}
	wait, err := r.log.st.Apply(r.Ops(ops...))
	if err != nil {
		return fmt.Errorf("write %s: %w", r.name, err)
	}
	if err := wait(); err != nil {
		return fmt.Errorf("sync %s: %w", r.name, err)
	}
	return nil
}

// ApplyNoSync writes one atomic batch without waiting for the disk: for what can be made again (plugin state).
func (r Records) ApplyNoSync(ops ...Op) error {
	if r.log.closed.Load() {
		return ErrClosed
	}
	if _, err := r.log.st.Apply(r.Ops(ops...)); err != nil {
		return fmt.Errorf("write %s: %w", r.name, err)
	}
	return nil
}

// Ops qualifies ops with the keyspace, so that they can ride in the transaction of a Send or Add. The end of a DelRange is
// qualified too; a nil end is the keyspace's.
func (r Records) Ops(ops ...Op) []Op {
	size := 0
	for _, o := range ops {
		size += 2 + len(r.name) + len(o.Key)
	}
	keys := make([]byte, 0, size) // of all ops, behind one another
	out := make([]Op, len(ops))
	for i, o := range ops {
		from := len(keys)
		keys = append(appendRecordKey(keys, r.name), o.Key...)
		out[i] = Op{Kind: o.Kind, Key: keys[from:len(keys):len(keys)], Value: o.Value}
		if o.Kind != DelRange {
			continue
		}
		out[i].Value = recordKey(r.name, o.Value)
		if o.Value == nil {
			out[i].Value = prefixEnd(recordKey(r.name, nil))
		}
	}
	return out
}
