//go:build !race

package node

// This file holds the sizes of tests.

const (
	many  = 100_000 // what a node should start with in under two seconds
	kills = 20
)
