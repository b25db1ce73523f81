package api

// This file holds every bound of the package, with its reason. Each is tested at its edge.

import (
	"time"

	"plexus/graph"
)

const (
	// MaxBody is the most bytes of a JSON request: the largest payload, the largest refs (256 messages and 1,024 nodes of
	// about 60 bytes each), and room for whitespace.
	MaxBody = graph.MaxPayload + 96<<10

	maxWasm     = 16 << 20 // bytes of a plugin file: as between members (protocol.md §5.8)
	maxAck      = 1000     // messages acknowledged at once: a page of the inbox
	maxTaskWait = 60       // seconds a request waits for a task's end: below the time-outs of common proxies and clients
	taskWait    = 30       // seconds, where nothing is said
	maxTaskPage = 200      // tasks in a page: each is asked of the plugin
	taskPage    = 50
	maxWaiting  = 64 // requests of one caller that wait at once: each holds a connection

	bodyWait  = 30 * time.Second       // to receive a body in; a slower client holds a connection for nothing
	leftWait  = 100 * time.Millisecond // until a caller that left before its answer is missed
	writeWait = 30 * time.Second       // a stream's reader that takes nothing for so long is gone; it resumes by Last-Event-ID
	keepAlive = 15 * time.Second       // between comments on a quiet stream: below the idle time-outs of common proxies
)
