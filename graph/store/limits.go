package store

// This file holds the store's sizes, with their reasons.

const (
	memTable  = 32 << 20 // bytes written before a flush: fewer, larger files; twice this is replayed at most after a crash
	cache     = 64 << 20 // bytes of decoded blocks: the hot end of a few Spaces
	bloomBits = 10       // per key: 1 % false positives where an ID isn't here
)
