package plugins

// This file holds commands: a guest looks at the state and says what shall be said.

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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
	if err := checkParams(sp, command, params); err != nil {
		return nil, err
	}
	if err := h.permit(space, sp); err != nil {
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

// checkParams holds a command's parameters against the manifest, so that whoever gets one wrong reads which.
func checkParams(sp *spec, command string, params json.RawMessage) error {
	if len(bytes.TrimSpace(params)) == 0 {
		params = json.RawMessage("{}")
	}
	i := slices.IndexFunc(sp.plugin.Commands, func(c abi.Command) bool { return c.Name == command })
	if i < 0 || len(sp.plugin.Commands[i].Params) == 0 || graph.CheckPayload(params) != nil {
		return nil // unknown or no object: ask says so
	}
	schema, err := appendJSON(nil, sp.plugin.Commands[i].Params)
	if err != nil {
		return nil // no schema: the plugin checks by itself
	}
	v, err := appendJSON(nil, params)
	if err != nil {
		return nil
	}
	problem := fits(schema, v, sp.gas)
	if name, ok := strings.CutPrefix(problem, "."); ok {
		problem = "parameter " + name
	} else if problem != "" {
		problem = "the parameters:" + problem
	}
	if problem != "" {
		return fmt.Errorf("command %s of %s: %s: %w", command, sp.plugin.Name, problem, graph.ErrInvalid)
	}
	return nil
}

// fits is abi.CheckSchema, which ends where the gas does: schemas are strangers'.
func fits(schema, v abi.Value, gas int64) (problem string) {
	defer func() {
		if r := recover(); r == trapGas {
			problem = " can't be checked: " + trapGas.Error()
		} else if r != nil {
			panic(r)
		}
	}()
	return abi.CheckSchema(schema, "", v, func(n int64) {
		if gas -= n; gas < 0 {
			panic(trapGas)
		}
	})
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
