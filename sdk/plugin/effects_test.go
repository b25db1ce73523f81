//go:build !wasip1

package plugin

import "testing"

func TestEffectsInANativeBuild(t *testing.T) {
	before := Clock
	defer func() { Clock = before; clear(Timers) }()
	Clock = 5
	SetTimer("a", Now()+1)
	SetTimer("b", 1)
	DeleteTimer("b")
	if len(Timers) != 1 || Timers["a"] != 6 || string(Random(3)) != "\x01\x02\x03" {
		t.Errorf("timers %v, randomness % x", Timers, Random(3))
	}
}
