package api

// This file holds the bounds of the MCP door, with their reasons.

import "time"

const (
	mcpMaxWait     = 55_000         // ms a read may wait: clients give up on a call after 60 s
	mcpPage        = 50             // messages of a read that doesn't say: an agent pays for each
	mcpMaxPage     = 1000           // as everywhere
	mcpRoots       = 20             // messages shown when a Space is joined
	mcpMaxBody     = 2 << 20        // bytes of one request: 192 KiB of content, escaped six-fold, and the envelope
	mcpSessionIdle = 12 * time.Hour // a session nobody used for so long ends; its Node stays
	mcpMaxTools    = 128            // plugins' commands: clients refuse more tools, and no agent chooses among so many
	mcpMaxName     = 64             // bytes of a tool's name, as clients take
	mcpMaxAbout    = 1024           // bytes of a plugin's own words about a command
	mcpNamedSpaces = 10             // named in a tool's schema
	mcpMaxNodes    = 1024           // sessions without a token whose Node is remembered (no-auth mode)
)
