package vote

import (
	"testing"

	"plexus/plugins/internal/model"
)

// Random commands and messages on three replicas, parted and merged at random, against a model of the whole pattern.
func TestModel(t *testing.T) {
	p := model.Vote()
	model.Play(t, p, model.Native{Plugin: Plugin(), Pattern: p}, 1, 1)
}
