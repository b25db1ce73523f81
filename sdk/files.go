// Package sdk holds the guest SDKs as files, so that `plexus plugin new` makes projects that build offline. The SDKs
// themselves are in the folders below: abi and plugin for Go, rust, c, as, each with the example vote.
package sdk

// This file holds the embedding.

import "embed"

// Files are the sources, by their paths below sdk; tests too.
//
//go:embed abi/*.go plugin/*.go
//go:embed rust/plexus.rs rust/example/plugin.rs
//go:embed c/plexus.h c/example/plugin.c
//go:embed as/plexus.ts as/example/plugin.ts
var Files embed.FS
