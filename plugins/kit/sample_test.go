//go:build !race

package kit

// This file holds the sizes of tests.

const (
	tried   = Orders
	madeUp  = Fuzzed
	sampled = false
)
