package plugins

// This file holds parameters that come as texts, from a query string or a command line, and are numbers or booleans by their schema.

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"plexus/sdk/abi"
)

// typed gives texts among a view's parameters the type that its schema says. What doesn't fit stays as it is, for the view to say so.
func typed(known []abi.Command, view string, params json.RawMessage) json.RawMessage {
	i := slices.IndexFunc(known, func(c abi.Command) bool { return c.Name == view })
	if i < 0 || !bytes.ContainsRune(params, '"') {
		return params
	}
	var schema struct {
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
	}
	var given map[string]json.RawMessage
	_ = json.Unmarshal(known[i].Params, &schema) // types that are lists say nothing here
	if json.Unmarshal(params, &given) != nil {
		return params
	}
	changed := false
	for name, raw := range given {
		var text string
		if raw[0] != '"' || json.Unmarshal(raw, &text) != nil || !reads(schema.Properties[name].Type, text) {
			continue
		}
		given[name], changed = json.RawMessage(text), true
	}
	out, err := json.Marshal(given)
	if !changed || err != nil {
		return params
	}
	return out
}

// reads says whether a text is JSON of a type other than text.
func reads(kind, text string) bool {
	switch kind {
	case "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		return err == nil && strconv.FormatInt(n, 10) == text
	case "number":
		_, err := strconv.ParseFloat(text, 64)
		return err == nil && json.Valid([]byte(text))
	case "boolean":
		return text == "true" || text == "false"
	}
	return false
}
