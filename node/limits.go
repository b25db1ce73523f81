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

	MaxCallers      = 1000 // of P2A: each has a Node, and all are read to find one by name
	MaxCallerSpaces = 64   // of one caller: as many as a person tells apart
	MaxCallerTypes  = 64
	MaxTaskType     = 128     // bytes, as the task plugin has it
	MaxCallerRate   = 600_000 // requests a minute: 10,000 a second is more than a node answers
	MaxOpenTasks    = 10_000  // of one caller without an end: each is followed in memory
	MaxCallbackURL  = 2048    // bytes: what servers and proxies take

	callerRate    = 60               // requests a minute where nothing is said: a poll a second
	viewPage      = 200              // items of a view's page, the most there are
	maxDeclared   = 1000             // declarations looked at for one request, or listed
	maxAsked      = 64               // Nodes a request names, as the task plugin has it
	whyPages      = 5                // of a task's history, looked through for the reason of its end: 1,000 moves
	maxCounted    = 1000             // callbacks of a caller that wait: more are as many
	listScan      = 1000             // records looked at for a page of tasks: a filter that fits few takes several pages
	maxFollowed   = 4096             // messages of one task by which its replies are known; beyond, any message about tasks in its Space has it looked at
	lookAgain     = 2 * time.Second  // before a task that couldn't be looked at is again
	lookAll       = 10 * time.Minute // before all open tasks are: another version of the task plugin may see them otherwise
	holdGrace     = 5 * time.Second  // after a hybrid request's wait, for its answer to be written
	secretGrace   = 24 * time.Hour   // a webhook secret signs beside its successor
	firstTry      = 5 * time.Second  // before a callback's second try; tripled up to …
	lastTry       = 6 * time.Hour    // … this
	callbackTries = 16               // then it is given up; with the pauses above, after two days
	callbackAge   = 72 * time.Hour   // or at this age, a node that was off counted in
	callbackWait  = 15 * time.Second // for a receiver's answer, connecting included
	maxAnswer     = 4 << 10          // bytes read of it, so that the connection can be used again
	posting       = 16               // callbacks under way at once
	postingOne    = 4                // of one caller: a receiver that hangs holds up its own alone
	idleCallback  = 30 * time.Second // a receiver is told seldom; its connection is kept no longer

	keepIdempotent   = 24 * time.Hour        // a client that retries later than this has lost its answer for good
	pruneIdempotent  = 8                     // expired keys removed with each new one: more than come in, so they can't pile up
	settleWait       = time.Second           // how long a first send waits for the own chains from peers
	stopWait         = 5 * time.Second       // for requests in hand when the server stops
	headerWait       = 10 * time.Second      // for a request's headers
	cutEvery         = time.Minute           // how often an admin's host looks for Spaces a revoked author isn't cut in
	sendLocks        = 1024                  // sends with equal keys wait for each other; with 32 at once two collide 3 % of the time
	joinRetry        = 10 * time.Millisecond // until the peers' Run takes a join
	firstFetch       = time.Second           // before a plugin file is asked for again; doubles up to …
	lastFetch        = 30 * time.Second      // … this: a member that has it may come at any time
	unfitFetch       = time.Hour             // before one that can't be a plugin is: another release may take it
	firstCompare     = 10 * time.Second      // before the first comparison of plugin states: they have just been opened
	compareEvery     = time.Minute           // with each member: two digests say whether there is anything to compare
	secondLook       = 3 * time.Second       // before a difference counts: rights reach plugins within one
	maxDifferences   = 1024                  // plugin states that differ, remembered: more are the same trouble
	maxSettled       = 4096                  // Spaces by member that need no comparison as they stand; beyond, all are compared again
	prefixWork       = 2 * time.Minute       // of folding for members who look for where they part …
	prefixShare      = 4                     // … and in the long run a quarter of one core
	prefixKept       = time.Minute           // after the last question
	maxRounds        = 32                    // of a bisect: 64 prefixes at a time find one of a million in four, 2 at a time in twenty
	maxAsks          = 8                     // of one round: a member that folds a large Space says that it is late
	askAgain         = 2 * time.Second       // before a member that is asked too much is asked again, and so much longer each time
	maxMarksCompared = 100_000               // marks of a version held against another's: more are the same trouble
	maxMarksShown    = 50                    // of those that differ: what a person looks at
	maxViewsCompared = 32                    // of two versions: each answer is up to 256 KiB
	hashedBytes      = 512 << 20             // of states hashed in one round: a second or two
	commandsPause    = time.Second           // between two looks at the commands there are: a busy node commits far more often
	findScan         = 1000                  // records read at a time by a filter no index serves
)
