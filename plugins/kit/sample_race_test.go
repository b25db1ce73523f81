//go:build race

package kit

// This file holds the sizes of tests under the race detector, which makes guests ten times slower: a sample.

const (
	tried   = 4  // orders
	madeUp  = 40 // messages with contents made up
	sampled = true
)
