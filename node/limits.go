package node

// This file holds every bound of the package, with its reason. Each is tested at its edge.

import "time"

const (
	DefaultListen = "127.0.0.1:8765" // loopback: other machines talk to us through libp2p

	MaxName        = 256 // bytes of a Node's name: a label, shown in lists
	MaxDescription = 8 << 10
	MaxMeta        = 16 << 10 // bytes of a Node's meta: it travels in every profile
	MaxTags        = 64       // of one Space, per Node
	MaxTag         = 128      // bytes of a tag
	MaxIdentities  = 64       // of one Node
	MaxIdentity    = 512      // bytes of a namespace or a subject
	MaxKey         = 255      // bytes of an Idempotency-Key

	MaxNodes = 10_000 // of one host: each is a key file and an entry in the access log

	keepIdempotent  = 24 * time.Hour        // a client that retries later than this has lost its answer for good
	pruneIdempotent = 8                     // expired keys removed with each new one: more than come in, so they can't pile up
	settleWait      = time.Second           // how long a first send waits for the own chains from peers
	stopWait        = 5 * time.Second       // for requests in hand when the server stops
	headerWait      = 10 * time.Second      // for a request's headers
	cutEvery        = time.Minute           // how often an admin's host looks for Spaces a revoked author isn't cut in
	sendLocks       = 1024                  // sends with equal keys wait for each other; with 32 at once two collide 3 % of the time
	joinRetry       = 10 * time.Millisecond // until the peers' Run takes a join
	firstFetch      = time.Second           // before a plugin file is asked for again; doubles up to …
	lastFetch       = 30 * time.Second      // … this: a member that has it may come at any time
	unfitFetch      = time.Hour             // before one that can't be a plugin is: another release may take it
	findScan        = 1000                  // records read at a time by a filter no index serves
)
