package p2p

// This file holds every bound of the package, with its reason. Each is tested at its edge.

import (
	"time"

	"plexus/graph"
)

// What the settings are when nothing is said.
const (
	DefaultPort       = 4765             // of QUIC and TCP; where it is taken, another one is found and kept
	DefaultSyncEvery  = 30 * time.Second // a digest exchange costs one round trip and < 200 bytes per Space
	DefaultAuditEvery = 10 * time.Minute // 512 IDs a time: sums are hardly ever forged, but nobody else would notice
)

// Frames and what is in them.
const (
	maxBatchBytes = 1 << 20                     // of blocks in one frame: large enough for batch verification, small enough to hold many
	maxBatch      = 1024                        // blocks in one frame: where batch verification has stopped getting faster
	maxFrame      = maxBatchBytes + (64 << 10)  // bytes of a frame: a full batch and its framing
	maxIDs        = 8192                        // IDs in one frame: 256 KiB
	maxTips       = 8192                        // chain tips in one frame: 576 KiB
	maxFrontier   = 65_536                      // authors in a frontier, 4.5 MiB; beyond, ranges find the difference
	maxListed     = 4096                        // Spaces in one hello frame: 330 KiB
	maxSpaces     = 65_536                      // Spaces in one handshake, and on this host: 5 MiB
	maxPerHost    = 4096                        // Spaces taken over from one host: one that floods fills its own quota only
	maxRecords    = 32                          // signed peer records in a handshake: enough to find the others
	maxRecord     = 4 << 10                     // bytes of one
	maxRange      = 128 << 10                   // bytes of one range reconciliation message
	maxFrontiers  = 3                           // frontier rounds per exchange: live traffic always adds something
	auditIDs      = 512                         // IDs looked at by one audit
	maxAccessLog  = 200_000                     // access entries given to a joiner; the rest comes by sync
	maxGossip     = graph.MaxBlock + (64 << 10) // bytes of a gossip RPC: one block and its framing
	fetchIDs      = 1024                        // missing parents asked for at once
	maxArrived    = 65_536                      // IDs remembered as come from peers, twice over, so that they aren't published again
	maxPending    = 4096                        // gossip messages of a Space being checked or waiting to be added, before more are dropped
	gossipBatch   = 256                         // of these added in one transaction
	gossipFresh   = 2 * time.Minute             // older entries are left to sync
	graftTime     = 3 * time.Second             // two heartbeats and a round trip: by then a topic's mesh stands
	outboundQueue = 1024                        // gossip RPCs waiting per peer; libp2p's 32 drops bursts
)

// Streams.
const (
	frameTimeout  = 30 * time.Second // for one frame to come or go: a slower peer is cut off and resumes later
	answerTimeout = 2 * time.Minute  // for the other side to take in what it was sent
	openTimeout   = 15 * time.Second // for a stream or a dial
	rightsTimeout = 3 * time.Second  // for the node to bring the Log's rights up to new access entries
	headStart     = 3 * time.Second  // for the side that dialled to begin the first session
	aliveTimeout  = 3 * time.Second  // for an older connection's sign of life when the peer has made a new one
	firstRetry    = 2 * time.Second  // after a failed session with a connected peer; doubles up to SyncEvery
	maxInbound    = 4                // sync streams one peer may have open to us
)

// Tickets and joins.
const (
	maxTicket     = 2048             // characters; eight long addresses need 1,100
	maxAddrs      = 8                // addresses in a ticket: more are of no use and make it unwieldy
	maxAddr       = 160              // bytes of one: a relayed address with two peer IDs has 100
	maxJoins      = 8                // join streams at once
	joinTimeout   = 30 * time.Second // for the whole join, less the access log
	joinsPerSec   = 2                // attempts a second in the long run: guessing 32 bytes is hopeless, this is against load
	joinBurst     = 16               // attempts at once
	guestTimeout  = time.Minute      // a connected host that is no member and doesn't join is let go
	maxInviteUses = 10_000           // uses of one invite (access.MaxUses)
)

// Files.
const (
	MaxFile        = 16 << 20         // bytes: the largest plugin an admin may allow
	filePieceBytes = 256 << 10        // bytes of a file in one frame: a slow link gets one through within frameTimeout
	fileTimeout    = 10 * time.Minute // for what one member gives: 16 MiB at 28 KB/s; a slower one is left, and resumed
	maxLending     = 8                // files given at once: each is in memory while it goes
	maxLendingPer  = 2                // of these to one peer, which asks for one after the other
	filesPerSec    = 4                // asked for in the long run: members fetch a plugin once
	fileBurst      = 64               // at once: a Space with many pins, or many members after one pin
)

// Plugin states.
const (
	MaxStateSpaces = 256              // Spaces in one comparison: the rest comes with the next
	MaxPrefixes    = 64               // prefixes asked for at once: a million messages are searched in four rounds
	maxStates      = 2048             // plugin states in one comparison: 270 KB
	maxStatesPer   = 64               // of one Space
	maxEngine      = 128              // bytes of an engine's name
	maxPluginName  = 32               // bytes, as plugins.md §2.1 has it
	maxFileName    = 64               // bytes of a CID as text; ours have 59
	maxOutcome     = 1024             // bytes of a fold's reason, as plugins.md §5 has it
	maxAsking      = 8                // answered at once, one to a peer: each may fold a Space
	maxAskers      = 1024             // members remembered by what they have asked
	statesPerSec   = 0.2              // asked by one in the long run: it compares once a minute, when something has changed
	stateBurst     = 64               // at once: a search takes a dozen
	stateTimeout   = 90 * time.Second // for one answer: less than the asker waits, so that it hears why
)

// Connections.
const (
	lowConns      = 160              // the connection manager trims guests down to this …
	highConns     = 256              // … beyond this; members are protected
	relayDuration = time.Hour        // a relayed circuit between members lives that long; libp2p gives 2 minutes
	relayData     = 64 << 20         // bytes it may carry; libp2p gives 128 KiB
	relayInterval = 30 * time.Second // between searches for a relay among the members
)

// Meeting again.
const (
	firstRedial  = time.Second      // after a lost connection
	maxRedial    = 5 * time.Minute  // between attempts at a peer that has been gone for long
	maxDials     = 8                // dials at once
	maxBookAddrs = 16               // addresses remembered per peer
	addrTTL      = time.Hour        // addresses told by others than the peer itself
	tendEvery    = 10 * time.Second // between looks at entries from the future
	firstLook    = 5 * time.Second  // before the second round of rendezvous; doubles up to …
	lookEvery    = 10 * time.Minute // … this
	firstBan     = 10 * time.Second // for the first breach of protocol; doubles with each
	maxBan       = time.Hour
	maxBans      = 1024 // remembered; who has served its time is forgotten first
)
