package kit

// This file holds what a file tells agents: each plugin's SKILL.md and the schema of its messages.

import "plexus/plugins"

// Skill is how one plugin is used: for agents, and for programs. A part the file lacks is empty.
type Skill struct {
	Name   string // the plugin's
	Text   []byte // SKILL.md
	Schema []byte // schema.json
}

// Skills returns those of a file, in its manifest's order. Errors are ErrInvalid.
func Skills(wasm []byte) ([]Skill, error) {
	m, err := plugins.ReadManifest(wasm)
	if err != nil {
		return nil, err
	}
	var out []Skill
	for _, p := range m.Plugins {
		text, schema, err := plugins.Skill(wasm, p.Name)
		if err != nil {
			return nil, err
		}
		out = append(out, Skill{p.Name, text, schema})
	}
	return out, nil
}

// Patterns returns those of the node's own patterns.
func Patterns() ([]Skill, error) { return Skills(plugins.Bundle()) }
