package team

import (
	"testing"

	"plexus/plugins/internal/model"
)

// Random commands on three replicas, parted and merged at random: what a command takes the fold takes, what it refuses has no effect, and all end alike.
func TestCommandsAndFolds(t *testing.T) {
	p := model.Team()
	model.Play(t, p, model.Native{Plugin: Plugin(), Pattern: p}, 1, 1)
}
