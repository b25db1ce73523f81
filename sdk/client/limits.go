package client

// This file holds every bound of the package, with its reason.

import "time"

const (
	dialTimeout   = 5 * time.Second  // a daemon is near; longer is a wrong address
	idleTimeout   = 90 * time.Second // as net/http's own default
	maxIdle       = 64               // connections kept open: as many concurrent senders keep theirs
	firstPause    = 50 * time.Millisecond
	maxPause      = 2 * time.Second  // between tries: a daemon is back within a second or two
	minTries      = 3                // of a replayable call whose connection is lost, where RetryFor is 0
	maxEnvelopeID = 255              // bytes of an envelope's id: as of an Idempotency-Key, which it serves as
	maxProblem    = 64 << 10         // bytes read of an error's body
	quietFor      = 60 * time.Second // a stream without even a keepalive (15 s) for so long is dead
)
