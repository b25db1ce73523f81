package reconcile

// This file holds every bound of the package, with its reason.

const (
	DefaultFrame = 64 << 10  // bytes of a message we send: some 3,000 ranges or 2,000 IDs, a fraction of a second of work
	MinFrame     = 4 << 10   // no smaller: one range's answer (≤ 31 IDs or 16 fingerprints) must fit
	MaxFrame     = 256 << 10 // bytes of a message we take
	MaxRounds    = 4096      // steps of a session: 2 for few differences, one per 64 KiB for many; more is a peer that never ends
	MaxIDs       = 1 << 20   // IDs one step may find: 32 MiB; a replica that far behind asks by frontier
	MaxAudit     = 1024      // IDs the audited ranges of a session may hold together: a sample, in the first message

	buckets     = 16   // parts a differing range is cut into (Negentropy v1)
	reserve     = 200  // bytes kept free in a frame for the last range (Negentropy v1)
	scanAtMost  = 4096 // IDs in a range that is cut by one walk rather than by its sums
	version     = 0x61 // Negentropy protocol version 1
	versionLow  = 0x60
	versionHigh = 0x6f

	fingerprintSize = 16
	idSize          = 32
)
