//go:build wasip1

// The bundle is the first-party patterns in one Wasm file. `go generate ./plugins` builds it.
package main

import (
	"plexus/plugins/ballot"
	"plexus/plugins/capability"
	"plexus/plugins/checkpoint"
	"plexus/plugins/group"
	"plexus/plugins/handoff"
	"plexus/plugins/human"
	"plexus/plugins/swarm"
	"plexus/plugins/task"
	"plexus/plugins/team"
	"plexus/sdk/plugin"
)

func init() {
	plugin.Register(checkpoint.Plugin())
	plugin.Register(handoff.Plugin())
	plugin.Register(team.Plugin())
	plugin.Register(swarm.Plugin())
	plugin.Register(task.Plugin())
	plugin.Register(human.Plugin())
	plugin.Register(ballot.Plugin())
	plugin.Register(capability.Plugin())
	plugin.Register(group.Plugin())
}

func main() {}
