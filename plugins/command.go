package plugins

// This file holds commands: a guest looks at the state and says what shall be said.

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"plexus/graph"
	"plexus/sdk/abi"
)

// Command asks a plugin's command in a Space on behalf of a Node and returns what that Node shall say, in order; the
// caller of Command sends it. It waits for the state as View does.
//
// Errors: as View's, and ErrInvalid with the plugin's own reason where it refuses ("checkpoint … is already answered").
func (h *Host) Command(ctx context.Context, space graph.ID, plugin, command string, params json.RawMessage, caller graph.NodeID) ([]graph.Draft, error) {
	sp, s, err := h.current(ctx, space, plugin)
	if err != nil {
		return nil, err
	}
	c := &call{kind: callCommand, gasLeft: sp.gas, effects: newEffects()}
	if err := h.ask(ctx, sp, s, c, question{"command", command, sp.plugin.Commands, params, caller}); err != nil {
		return nil, err
	}
	drafts := make([]graph.Draft, 0, len(c.outputs))
	for i, b := range c.outputs {
		d, _, err := readDraft(b)
		if err != nil {
			return nil, fmt.Errorf("command %s of %s: draft %d: %w: %w", command, plugin, i+1, err, errPlugin)
		}
		drafts = append(drafts, d)
	}
	return drafts, nil
}

// newEffects are the real clock and real randomness; which of them a guest reaches, its grants decide at load.
func newEffects() *effects {
	return &effects{
		now:    func() int64 { return time.Now().UnixMicro() },
		random: func(b []byte) { _, _ = rand.Read(b) }, // never fails
	}
}

// readDraft reads an output of command or react.
func readDraft(b []byte) (d graph.Draft, key string, err error) {
	if err := abi.Check(b); err != nil {
		return d, "", err
	}
	v := abi.Value(b)
	d.ContentType, key = v.At(abi.DraftType).Text(), v.At(abi.DraftKey).Text()
	content := v.At(abi.DraftContent)
	if content.Kind() != abi.Map {
		return d, "", fmt.Errorf("it has no content")
	}
	if d.Content, err = toJSON(nil, content); err != nil {
		return d, "", err
	}
	if meta := v.At(abi.DraftMeta); meta != nil {
		if d.Meta, err = toJSON(nil, meta); err != nil {
			return d, "", err
		}
	}
	for _, text := range v.At(abi.DraftParents).Texts() {
		id, err := graph.ParseID(text)
		if err != nil {
			return d, "", fmt.Errorf("refs.messages: %s", err)
		}
		d.Refs.Messages = append(d.Refs.Messages, id)
	}
	for _, text := range v.At(abi.DraftNodes).Texts() {
		id, err := graph.ParseNodeID(text)
		if err != nil {
			return d, "", fmt.Errorf("refs.nodes: %s", err)
		}
		d.Refs.Nodes = append(d.Refs.Nodes, id)
	}
	return d, key, nil
}
