package plugins

// This file holds the bounds of the host; those of the ABI, which a guest sees, are in sdk/abi.

import (
	"time"

	"plexus/sdk/abi"
)

const (
	// ViewWait is how long a View waits for the fold to catch up: a fresh node compiles for seconds, and a person
	// gives up after ten.
	ViewWait = 10 * time.Second

	viewGas      = 50_000_000             // a view reads more than a fold: about 50 ms at the most
	initGas      = abi.GasCap             // _initialize, once an instance
	refillGas    = 1 << 18                // gas between two returns to Go, so that the collector's stop waits for a quarter of a millisecond
	maxInstances = 4                      // of a file for views at once: each takes its memory
	undoKept     = 32 << 10               // newest messages with an undo record, per plugin and Space: 100–200 bytes each
	proveWait    = 2 * time.Minute        // for a file's golden traces; what takes longer proves nothing
	undoSlack    = 4                      // made a step when a quarter more has gathered
	stepMessages = 1024                   // folded per plugin and Space before another one's turn, while behind
	maxDrain     = 10_000                 // arrival records taken in before they are folded and committed
	overlayBytes = 64 << 20               // of all projections' caches of their own state, shared out alike …
	overlayLeast = 1 << 20                // … but for this much; beyond, a cache starts anew
	idleWait     = time.Second            // how often Run looks for a change of rights that left no record
	watchPause   = 100 * time.Millisecond // between two looks of one watcher of a view: faster than people read
	arenaLeast   = 1 << 10                // bytes of a piece of memory that keys and undo records of a commit are cut from: each twice the one before …
	arenaMost    = 64 << 10               // … up to this
	maxPrefetch  = 64                     // keys read ahead by state_next
	hashShare    = 100                    // a state is hashed, unasked, for a hundredth of the time at most
	maxKeysNamed = 20                     // keys named where two states differ: enough to see which
	maxTimers    = 1024                   // that wait, of a reaction: they are gone through at every turn
	maxRefused   = 1024                   // messages of a reaction that the fold may take yet: the same
	maxReason    = abi.MaxReason          // bytes of a mark's reason
)

// hashPiece is hashed without a stop: what is written in assembly can't be preempted, so that the collector waits for it, and everybody for the collector.
const hashPiece = 1 << 20

// What is read ahead of a pass (ahead.go).
const (
	aheadFirst    = 4        // messages read before the first is folded, then twice as many each time …
	aheadMessages = 64       // … up to these at once …
	aheadBytes    = 64 << 10 // … or so many bytes of them …
	aheadChunks   = 2        // … so often, before the reader waits for the fold
)

// besideShare is the part of ViewWait that readers wait where another state is made beside the one they see: that may take minutes, or less than a second.
const besideShare = 10

// What takes messages out again (undo.go, layer.go).
const (
	undoBytes = 64 << 20  // of all undo records of a projection: as much as a state may have
	stepBytes = 32 << 20  // of all its steps: half of what a state may have; the oldest go
	stepPiece = 256 << 10 // a step's changes lie in pieces, which are in memory one by one
	sinkBytes = 1 << 20   // of a layer moved down in one round: some milliseconds
)

// stepRatio: of three neighbours, the middle step goes where the first is at most 3/2 as far back as the last. So whatever comes late has at most half as much again
// folded as lies behind it, and there are some 12 steps for each factor of ten in messages.
var stepRatio = [2]uint64{3, 2}
