//go:build !wasip1

package plugin

// This file holds the fold in a native build over somebody else's state: what a guest of the same source is measured against.

import (
	"bytes"
	"crypto/sha256"

	"plexus/sdk/abi"
)

// Keys is a state that somebody else keeps. Values that it is given are its own from then on; those it gives aren't changed.
type Keys interface {
	Get(key string) (value []byte, ok bool)
	Set(key string, value []byte)
	Delete(key string)
	Next(prefix, after string) (key string, ok bool)
}

// Reduce folds one message natively; input is what plexus_fold gets. Earlier messages and their order aren't there.
func Reduce(p Plugin, k Keys, input Value) error {
	return p.Fold(State{native{k}}, readMessage(bytes.Clone(input.At(abi.InMessage))))
}

// native is a Keys as a backend.
type native struct{ keys Keys }

func (n native) get(key string) ([]byte, bool)            { return n.keys.Get(key) }
func (n native) has(key string) bool                      { _, ok := n.keys.Get(key); return ok }
func (n native) set(key string, value []byte)             { n.keys.Set(key, value) }
func (n native) del(key string)                           { n.keys.Delete(key) }
func (n native) next(prefix, after string) (string, bool) { return n.keys.Next(prefix, after) }
func (native) message(string) (abi.Value, bool)           { return nil, false }
func (native) happenedBefore(string, string) bool         { return false }
func (native) sha256(b []byte) [32]byte                   { return sha256.Sum256(b) }
func (native) checkSchema(_, _ abi.Value) string          { return "" }
func (native) log(int, string)                            {}
