package plugins

// This file holds what a file tells those who want to use its plugins.

import "plexus/sdk/abi"

// Skill returns the SKILL.md and the schema.json of one of a file's plugins; what the file lacks is empty.
func Skill(wasm []byte, plugin string) (text, schema []byte, err error) {
	sections, err := Sections(wasm)
	return sections[abi.SectionSkill+plugin], sections[abi.SectionSchema+plugin], err
}
