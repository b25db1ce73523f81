package store

// This file holds the store's sizes, with their reasons.

const (
	memTable  = 32 << 20  // bytes written before a flush: fewer, larger files; twice this is replayed at most after a crash
	cache     = 128 << 20 // bytes of decoded blocks: the hot end of a few Spaces
	memTables = 4         // of them before a write waits inside Pebble: a flush that fails is known, and writes are refused, long before
	l0Files   = 1000      // files not yet compacted before a write waits: the same for compactions
	bloomBits = 10        // per key: 1 % false positives where an ID isn't here
)
