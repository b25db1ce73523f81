package plugins

// This file holds the first-party patterns, built from plugins/bundle and the patterns' folders. Rebuild with go generate.

import _ "embed"

//go:generate go run ./internal/pack -o bundle/patterns.wasm ./bundle ./checkpoint ./handoff ./team ./swarm ./task ./human ./ballot ./capability ./group

//go:embed bundle/patterns.wasm
var bundle []byte

// Bundle returns the file of the first-party patterns; the caller doesn't write to it.
func Bundle() []byte { return bundle }
