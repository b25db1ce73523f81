package graph

// This file holds every bound of the package, with its reason. Each is tested at its edge.

import "time"

const (
	MaxPayload   = 192 << 10 // bytes of payload JSON, plain (design §3); larger things are blobs sent by CID
	MaxBlock     = 256 << 10 // bytes of a block: a sealed payload with overhead, refs and prev; also the largest gossip frame
	MaxDepth     = 64        // nesting of payload JSON
	MaxPrev      = 9         // the own previous entry and 8 other heads (design §3)
	MaxRefs      = 256       // refs.messages of one entry: a merge of more is a mistake, and each is a parent to look up
	MaxRefNodes  = 1024      // refs.nodes of one entry
	MaxKind      = 32        // bytes of a kind's name
	MaxNest      = 32        // nesting of a block's CBOR, the outer array being 1; the format's own is 4
	MaxType      = 256       // bytes of a content type: plugins are found by it
	MaxFounders  = 16        // founders of a Network: the root of its grants, not its members
	MaxSpaceName = 128       // bytes of a Space's name after trimming and NFC (design §3)
	MaxSeq       = 1<<53 - 1 // so that every JSON reader can hold it

	MaxFuture = 5 * time.Minute // an entry further ahead of our clock is held (design §3)

	MaxHeldPerPeer   = 4096     // entries waiting for a parent, per delivering peer and Space, in memory
	MaxHeldPerAuthor = 4096     // the same per author
	MaxHeldBytes     = 32 << 20 // bytes of all of them, per Space
	MaxStrangers     = 10_000   // entries of authors never yet granted, on disk, per delivering host and Space
	MaxStrangerBytes = 32 << 20 // bytes of their blocks, so that a few hosts can't fill a disk
	MaxFutures       = 4096     // names of entries ahead of our clock, per delivering host and Space: 72 bytes each
	MaxRecordName    = 16       // bytes of a Records keyspace's name: it stands in every key

	MaxPage  = 1000 // messages in one page of a read
	PageSize = 100  // when the reader says nothing

	nonceSize  = 32   // bytes of a Network's nonce
	maxGenesis = 2048 // bytes of a genesis block: 16 founders, a name and a signature make under 1 KiB
	maxKeys    = 4096 // expanded keys kept at hand: 1.5 KiB each, so 6 MiB at most
	batchSize  = 512  // signatures verified at once: larger gains little, and one bad one costs them all again
	sendBatch  = 64   // sends written in one transaction: sealing them holds the mutex for 3 ms
	leastBatch = 4    // below it a batch is no faster than one by one

	heldOverhead  = 600           // bytes of memory a held entry takes beside its block
	heldParent    = 200           // and for each parent it waits for
	maxDead       = 4096          // IDs refused lately, per Space: enough not to ask for a bad parent in a circle
	maxRecent     = 16 << 20      // bytes of entries kept at hand in each of two generations, for all Spaces together
	chunkEntries  = 2048          // entries of one transaction of Apply …
	chunkBytes    = 8 << 20       // … and bytes of their blocks: a batch is in memory as a whole
	maxAuthors    = 1 << 24       // authors of a Space a clock has room for: a damaged record can't ask for more memory
	tailPage      = 256           // records a Tail reads at once: then the store's view is let go of
	maxProblems   = 1000          // lines of a Report: more tell nobody more
	maxCarHeader  = 1 << 10       // bytes of a CAR's header: one root makes 58
	maxCarSection = MaxBlock + 64 // and of a block with its CID
	someHeads     = 64            // heads of one author a send looks at: a forker's others wait
	lanePage      = 256           // keys a Since reads at once of each author: 10 KiB
	sweepEntries  = 256           // entries a Since reads at once where most are wanted …
	sweepBytes    = 1 << 20       // … and bytes of their blocks: what a stalled peer costs
)
