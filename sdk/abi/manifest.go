package abi

// This file holds the manifest: what a file says about itself.

// Manifest is the JSON of SectionManifest. Unknown fields are ignored.
type Manifest struct {
	ABI     int      `json:"abi"` // Version
	Plugins []Plugin `json:"plugins"`
}

// Plugin is one of a file's plugins.
type Plugin struct {
	Name    string   `json:"name"`    // [a-z][a-z0-9-]{0,31}
	Version string   `json:"version"` // for people
	About   string   `json:"about,omitempty"`
	Accepts []string `json:"accepts"` // the content types its fold is called for
	// Replies: its fold is called as well for messages without a content type that answer (refs.messages) one which
	// it is called for.
	Replies  bool      `json:"replies,omitempty"`
	Views    []Command `json:"views,omitempty"`
	Commands []Command `json:"commands,omitempty"`
	React    bool      `json:"react,omitempty"`
	Own      bool      `json:"own,omitempty"`    // react is called for the reacting Node's own messages too
	Grants   []string  `json:"grants,omitempty"` // "now", "random", "timer" for command and react; "trust" for these and views; "schema" for all
	Limits   Limits    `json:"limits,omitzero"`
}

// Command describes a view or a command.
type Command struct {
	Name   string `json:"name"`
	About  string `json:"about,omitempty"`
	Params Schema `json:"params,omitempty"` // JSON Schema of the parameters, an object
	// Waits: a view that, asked with {"node": N}, lists what waits for N to act: an object with one list in it, and "next" where there is more.
	Waits bool `json:"waits,omitempty"`
}

// Schema is JSON text, kept as it came.
type Schema []byte

// MarshalJSON returns the text.
func (s Schema) MarshalJSON() ([]byte, error) {
	if len(s) == 0 {
		return []byte("null"), nil
	}
	return s, nil
}

// UnmarshalJSON keeps the text.
func (s *Schema) UnmarshalJSON(b []byte) error {
	*s = append((*s)[:0], b...)
	return nil
}

// Limits asks for more than the default, up to the caps. 0 is the default.
type Limits struct {
	Gas         int64 `json:"gas,omitempty"`
	MemoryPages int   `json:"memory_pages,omitempty"`
}
