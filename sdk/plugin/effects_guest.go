//go:build wasip1

package plugin

// This file holds what commands and reactions may use beside the state. Each function is linked into a guest only where it is called, and then the
// manifest must ask for its grant.

import "unsafe"

//go:wasmimport plexus_1 now
func hostNow() int64

//go:wasmimport plexus_1 random
func hostRandom(dst unsafe.Pointer, n uint32)

//go:wasmimport plexus_1 timer_set
func hostTimerSet(k unsafe.Pointer, kn uint32, at int64)

//go:wasmimport plexus_1 timer_del
func hostTimerDel(k unsafe.Pointer, kn uint32)

// Now returns the time in microseconds since the epoch. For commands and reactions, with the grant "now".
func Now() int64 { return hostNow() }

// Random returns n random bytes. For commands and reactions, with the grant "random".
func Random(n int) []byte {
	b := make([]byte, n)
	hostRandom(unsafe.Pointer(unsafe.SliceData(b)), uint32(n))
	return b
}

// SetTimer has React called with Event.Timer = name once that time has come, microseconds since the epoch; the same name again moves it. For
// reactions, with the grant "timer".
func SetTimer(name string, at int64) {
	k, kn := pointer(name)
	hostTimerSet(k, kn, at)
}

// DeleteTimer takes a timer back; one that isn't there is no error.
func DeleteTimer(name string) {
	k, kn := pointer(name)
	hostTimerDel(k, kn)
}

func pointer(s string) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.StringData(s)), uint32(len(s))
}
