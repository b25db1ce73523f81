package main

// This file holds the bounds of the command line, with their reasons.

import "time"

const (
	maxFileName   = 200                    // bytes of a Node's name in a file's name; file systems end at 255
	maxStdin      = 1 << 20                // bytes read of a message's content; the daemon's own limit is far below
	pageLimit     = 100                    // messages shown when nothing is said: some screens
	listLimit     = 1000                   // one page, the daemon's greatest
	startGrace    = 300 * time.Millisecond // for a start in the background to show itself
	startTime     = 15 * time.Second       // for one that is under way: it may be joining a Network
	startPause    = 20 * time.Millisecond
	progressEvery = 2 * time.Second  // of a long transfer; a shorter one says nothing
	mcpPatience   = 20 * time.Second // an MCP call waits so long for a daemon that is being restarted
	toolsPause    = time.Second      // before the plugins' commands are followed anew
	execTries     = 3                // of `listen --exec` for one message, before it is left for the next start
	execPause     = time.Second      // before the second try; doubled after
)
