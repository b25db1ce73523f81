//go:build wasip1

// The guest is vote as a file of its own.
package main

import (
	"plexus/plugins/vote"
	"plexus/sdk/plugin"
)

func init() { plugin.Register(vote.Plugin()) }

func main() {}
