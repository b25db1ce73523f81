package capability

// This file holds what a declared schema must be. That values fit it, the node checks (State.CheckSchema).

import "plexus/sdk/plugin"

const maxNesting = 16 // of a schema

// lint says what a schema can't be used for, or "".
func lint(schema plugin.Value, depth int) string {
	if schema == nil || isBool(schema) {
		return ""
	}
	if !isMap(schema) {
		return "a schema is an object, or true or false"
	}
	if depth == 0 {
		return "it nests more than 16 deep"
	}
	for _, word := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if schema.Get(word) != nil {
			return word + " isn't followed here: write the schema out"
		}
	}
	for _, word := range []string{"items", "additionalProperties", "not"} {
		if problem := lint(schema.Get(word), depth-1); problem != "" {
			return problem
		}
	}
	for _, word := range []string{"anyOf", "allOf", "oneOf"} {
		for sub := range schema.Get(word).Items() {
			if problem := lint(sub, depth-1); problem != "" {
				return problem
			}
		}
	}
	for _, sub := range schema.Get("properties").Pairs() {
		if problem := lint(sub, depth-1); problem != "" {
			return problem
		}
	}
	return ""
}

func isBool(v plugin.Value) bool { return len(v) == 1 && (v[0] == 0xf4 || v[0] == 0xf5) }
func isMap(v plugin.Value) bool  { return len(v) > 0 && v[0]>>5 == 5 }

// check says in what a value breaks a schema, or "". An absent schema allows anything.
func check(s plugin.State, schema, v plugin.Value, name string) string {
	if schema == nil {
		return ""
	}
	return s.CheckSchema(schema, v, name)
}
