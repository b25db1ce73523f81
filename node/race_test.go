//go:build race

package node

// This file holds the sizes of tests under the race detector, which makes everything ten times slower: the figures are taken
// without it.

const (
	many  = 10_000
	kills = 4
)
