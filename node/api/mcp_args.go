package api

// This file holds the reading of tool arguments. An agent that gets them wrong is told what to pass instead.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"plexus/sdk/client"
)

// mcpWrong is invalid input with a next step.
func mcpWrong(hint, format string, a ...any) error {
	return &client.Error{Code: client.CodeInvalid, Detail: fmt.Sprintf(format, a...), Hint: hint}
}

// mcpArguments holds a call's arguments by name, each verbatim.
type mcpArguments map[string]json.RawMessage

// mcpParseArgs splits the arguments and refuses names the tool doesn't have.
func mcpParseArgs(tool string, raw json.RawMessage, known ...string) (mcpArguments, error) {
	a := mcpArguments{}
	if len(bytes.TrimSpace(raw)) == 0 {
		return a, nil
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, mcpWrong("pass one JSON object", "%s: the arguments are no JSON object", tool)
	}
	for name, v := range a {
		if !slices.Contains(known, name) {
			return nil, mcpWrong(mcpOtherName(name, known), "%s has no argument %q", tool, name)
		}
		if string(v) == "null" { // as if left out; content has its own answer
			delete(a, name)
		}
	}
	return a, nil
}

func mcpOtherName(name string, known []string) string {
	if name == "listen" {
		return "use wait_ms to wait for news"
	}
	return "it takes: " + strings.Join(known, ", ")
}

func (a mcpArguments) text(name string, out *string) error {
	raw, ok := a[name]
	if !ok {
		return nil
	}
	if json.Unmarshal(raw, out) != nil {
		return mcpWrong(fmt.Sprintf(`pass {"%s": "…"}`, name), "%s must be a string, not %s", name, mcpKindOf(raw))
	}
	return nil
}

func (a mcpArguments) number(name string, lo, hi int, out *int) error {
	raw, ok := a[name]
	if !ok {
		return nil
	}
	if json.Unmarshal(raw, out) != nil || *out < lo || *out > hi {
		return mcpWrong(fmt.Sprintf("pass a number without quotes, %d to %d", lo, hi), "%s must be an integer from %d to %d", name, lo, hi)
	}
	return nil
}

func (a mcpArguments) flag(name string, out *bool) error {
	raw, ok := a[name]
	if !ok {
		return nil
	}
	if json.Unmarshal(raw, out) != nil {
		return mcpWrong(fmt.Sprintf(`pass {"%s": true}`, name), "%s must be true or false, not %s", name, mcpKindOf(raw))
	}
	return nil
}

func (a mcpArguments) list(name string, out *[]string) error {
	raw, ok := a[name]
	if !ok {
		return nil
	}
	if json.Unmarshal(raw, out) != nil {
		return mcpWrong(fmt.Sprintf(`pass {"%s": ["…"]}`, name), "%s must be an array of strings, not %s", name, mcpKindOf(raw))
	}
	return nil
}

// object takes a JSON object verbatim.
func (a mcpArguments) object(name, example string, out *json.RawMessage) error {
	raw, ok := a[name]
	if !ok {
		return nil
	}
	if mcpKindOf(raw) != "an object" {
		return mcpWrong("pass "+example, "%s must be a JSON object, not %s", name, mcpKindOf(raw))
	}
	*out = raw
	return nil
}

// content is the argument agents get wrong most: a bare string, or the object written as a string.
func (a mcpArguments) content() (json.RawMessage, error) {
	raw, ok := a["content"]
	if !ok {
		return nil, mcpWrong(`pass {"content": {"text": "…"}}`, "content is required")
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		if t := strings.TrimSpace(s); strings.HasPrefix(t, "{") && json.Valid([]byte(t)) {
			return nil, mcpWrong("pass the object itself, without quotes around it", "content must be a JSON object, not a string that holds one")
		}
		return nil, mcpWrong(`pass {"content": {"text": "your text"}}`, "content must be a JSON object, not a string")
	}
	var out json.RawMessage
	err := a.object("content", `{"content": {"text": "…"}}`, &out)
	return out, err
}

// refs reads {"messages": […], "nodes": […]}.
func (a mcpArguments) refs() (*client.Ref, error) {
	raw, ok := a["refs"]
	if !ok {
		return nil, nil
	}
	const example = `pass {"refs": {"messages": ["message id"], "nodes": ["node id"]}}`
	if mcpKindOf(raw) != "an object" {
		return nil, mcpWrong(example, "refs must be an object of two arrays, not %s", mcpKindOf(raw))
	}
	in, err := mcpParseArgs("refs", raw, "messages", "nodes")
	if err != nil {
		return nil, mcpWrong(example, "%s", err)
	}
	var r client.Ref
	if in.list("messages", &r.Messages) != nil || in.list("nodes", &r.Nodes) != nil {
		return nil, mcpWrong(example, "refs.messages and refs.nodes must be arrays of ids")
	}
	return &r, nil
}

// mcpKindOf says in words what a JSON value is.
func mcpKindOf(raw json.RawMessage) string {
	switch b := bytes.TrimSpace(raw); {
	case len(b) == 0:
		return "nothing"
	case b[0] == '{':
		return "an object"
	case b[0] == '[':
		return "an array"
	case b[0] == '"':
		return "a string"
	case b[0] == 't', b[0] == 'f':
		return "a boolean"
	case b[0] == 'n':
		return "null"
	}
	return "a number"
}

// mcpFirstErr returns the first that isn't nil.
func mcpFirstErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
