package p2p

// This file holds every bound of the package, with its reason. Each is tested at its edge.

import (
	"time"
)

// What the settings are when nothing is said.
const (
	DefaultSyncEvery  = 30 * time.Second // a digest exchange costs one round trip and < 200 bytes per Space
	DefaultAuditEvery = 10 * time.Minute // 512 ids a time: sums are hardly ever forged, but nobody else would notice
)
