package plugins

// This file holds what is known of a Space's plugins without asking them: the list, and the hashes of their states.

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plexus/graph"
	"plexus/sdk/abi"
)

// Action is a view or command as the manifest describes it.
type Action = abi.Command

// Info says what a plugin is and how far its state has come.
type Info struct {
	Name      string   `json:"name"`
	Version   string   `json:"version"`
	File      string   `json:"file"` // the CID of the Wasm file
	About     string   `json:"about,omitempty"`
	Accepts   []string `json:"accepts"`
	Views     []Action `json:"views"` // with the JSON Schema of their parameters
	Commands  []Action `json:"commands"`
	React     bool     `json:"react,omitempty"`     // it speaks by itself, where a Node turns that on
	Grants    []string `json:"grants,omitempty"`    // effects that its commands and reactions ask the user for; none of the node's own
	Compiling bool     `json:"compiling,omitempty"` // its file can't run before that
	Beside    string   `json:"beside,omitempty"`    // the CID of the file whose state is being made beside this one
	Current   bool     `json:"current"`             // the state covers all visible messages
	Folded    uint64   `json:"folded"`              // messages in the state
	Marked    uint64   `json:"marked"`              // of these, how many were refused or trapped; their writes are left out
	Reason    string   `json:"reason,omitempty"`    // of the last one marked
	Fault     string   `json:"fault,omitempty"`     // why what is pinned can't run; where nothing ran before, name and file alone are known
}

// StateHash returns the hex SHA-256 over the plugin's sorted state in a Space, which equal replicas share, and whether
// the state covers all that was durable when it was called; it waits for that as View does.
func (h *Host) StateHash(ctx context.Context, space graph.ID, plugin string) (hash string, current bool, err error) {
	target := h.log.Written()
	_, s, err := h.current(ctx, space, plugin)
	if err != nil {
		return "", false, err
	}
	h.state.RLock()
	defer h.state.RUnlock()
	hash, err = h.hashOf(s)
	return hash, s.pub.current && h.seen >= target, err
}

// hashState is docs/plugins.md §8: keys and values in order, each with its length before it, then the marked messages.
func hashState(l layers) (string, error) {
	sum := sha256.New()
	sum.Write([]byte("plexus:state:1\x00"))
	var head []byte
	for kv, err := range l.state(string(kindState)) {
		if err != nil {
			return "", err
		}
		key := kv.Key[1:]
		head = binary.AppendUvarint(head[:0], uint64(len(key)))
		head = append(head, key...)
		head = binary.AppendUvarint(head, uint64(len(kv.Value)))
		sum.Write(head)
		sum.Write(kv.Value)
	}
	sum.Write([]byte{0})
	for kv, err := range l.marks() {
		if err != nil {
			return "", err
		}
		sum.Write(kv.Key[1:])
		sum.Write(kv.Value[:1])
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Plugins lists the plugins of a Space by name; ErrNotFound for an unknown Space. It waits, as View does, for them to be compiled, and not for their
// state.
func (h *Host) Plugins(ctx context.Context, space graph.ID) ([]Info, error) {
	if _, err := h.log.Space(space); err != nil {
		return nil, err
	}
	h.wait(ctx, func() bool { return h.listed[space] })
	h.state.RLock()
	defer h.state.RUnlock()
	out := []Info{}
	for _, name := range h.pluginNames(space) {
		s := h.slots[slotKey{space, name}]
		p := s.pub.spec.plugin
		var asks []string
		if !s.pub.spec.file.own {
			asks = Effects(p.Grants)
		}
		out = append(out, Info{
			Grants: asks,
			Name:   name, Version: p.Version, File: s.pub.spec.file.cid, About: p.About, Accepts: p.Accepts, Views: orNone(p.Views), Commands: orNone(p.Commands), React: p.React,
			Compiling: !s.pub.spec.file.ended(), Beside: s.pub.beside, Current: s.pub.current && h.seen >= h.log.Written(), Folded: s.pub.meta.Folded, Marked: s.pub.meta.Marked, Reason: s.pub.meta.Reason,
		})
	}
	for k, b := range h.broken {
		if i := slices.IndexFunc(out, func(i Info) bool { return i.Name == k.name }); k.space == space && i >= 0 {
			out[i].Fault = fmt.Sprintf("file %s is pinned but can't run, so version %s goes on: %s", b.file, out[i].Version, b.err)
		} else if k.space == space {
			out = append(out, Info{Name: k.name, File: b.file, Accepts: []string{}, Views: []Action{}, Commands: []Action{}, Fault: b.err.Error()})
		}
	}
	slices.SortFunc(out, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Missing lists the CIDs of pinned files that aren't here, each once: what is to be fetched from other members and given to AddFile.
func (h *Host) Missing() []string {
	h.state.RLock()
	defer h.state.RUnlock()
	var out []string
	for _, b := range h.broken {
		if errors.Is(b.err, graph.ErrNotFound) {
			out = append(out, b.file)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// orNone makes nil an empty list, for JSON.
func orNone(list []abi.Command) []abi.Command {
	if list == nil {
		return []abi.Command{}
	}
	return list
}

// pluginNames lists a Space's plugins; under state.
func (h *Host) pluginNames(space graph.ID) []string {
	var names []string
	for k := range h.slots {
		if k.space == space {
			names = append(names, k.name)
		}
	}
	slices.Sort(names)
	return names
}
