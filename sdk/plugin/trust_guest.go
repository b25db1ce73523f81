//go:build wasip1

package plugin

// This file holds the guest's side of trust.

import "unsafe"

//go:wasmimport plexus_1 trust_level
func hostTrustLevel(node unsafe.Pointer, n uint32) int32

//go:wasmimport plexus_1 trust_needed
func hostTrustNeeded(action unsafe.Pointer, n uint32) int32

func trustLevel(node string) Level {
	p, n := pointer(node)
	return Level(hostTrustLevel(p, n))
}

func trustNeeded(action string) Level {
	p, n := pointer(action)
	return Level(hostTrustNeeded(p, n))
}
