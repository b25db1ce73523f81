//go:build !wasip1

package plugin

// This file holds the effects as tests see them: a clock they set, randomness that counts, timers they can look at.

// Clock is what Now returns in a native build.
var Clock int64 = 1_800_000_000_000_000

// Timers are those set in a native build: name → when.
var Timers = map[string]int64{}

// Now returns the time in microseconds since the epoch. For commands and reactions, with the grant "now".
func Now() int64 { return Clock }

// Random returns n random bytes. For commands and reactions, with the grant "random". In a native build they are 1, 2, 3 …
func Random(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i + 1)
	}
	return b
}

// SetTimer has React called with Event.Timer = name once that time has come, microseconds since the epoch; the same name again moves it. For
// reactions, with the grant "timer".
func SetTimer(name string, at int64) { Timers[name] = at }

// DeleteTimer takes a timer back; one that isn't there is no error.
func DeleteTimer(name string) { delete(Timers, name) }
