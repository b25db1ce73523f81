//go:build wasip1

// The bundle is the first-party patterns in one Wasm file. `go generate ./plugins` builds it.
package main

import (
	"plexus/plugins/checkpoint"
	"plexus/sdk/plugin"
)

func init() { plugin.Register(checkpoint.Plugin()) }

func main() {}
