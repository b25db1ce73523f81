package abi

import (
	"strings"
	"testing"
)

func TestClosest(t *testing.T) {
	known := []string{"checkpoint", "handoff", "team", "task", "pending"}
	for wrong, want := range map[string]string{
		"chekpoint": "checkpoint", "Checkpoint": "checkpoint", "hadnoff": "handoff", "check": "checkpoint", "tsak": "task", "teams": "team",
		"vote": "", "": "", "xyz": "", "peding": "pending", "handover": "handoff", strings.Repeat("x", maxGuessed+1): "", "t": "",
	} {
		if got := Closest(wrong, known); got != want {
			t.Errorf("%q: %q, want %q", wrong, got, want)
		}
	}
	if got := Closest("x", nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}
