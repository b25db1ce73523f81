//go:build linux && (amd64 || arm64)

package plugins

import (
	"bytes"
	"math/rand/v2"
	"os"
	"testing"
)

// mappings counts what this process has mapped.
func mappings(t *testing.T) int {
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	return bytes.Count(b, []byte("\n"))
}

func TestInstancesGiveBackTheirMemory(t *testing.T) {
	f := load(t, spy()).files[0]
	before := 0
	for i := range 60 {
		inst, err := f.instantiate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		inst.close(t.Context())
		if i == 20 {
			before = mappings(t)
		}
	}
	if after := mappings(t); after > before+10 {
		t.Errorf("%d mappings, %d before 40 more instances", after, before)
	}
}

// Every way to restore gives the image back, whatever was written.
func TestRestore(t *testing.T) {
	im := &image{memory: make([]byte, 64*pageSize)}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range im.memory {
		im.memory[i] = byte(rng.Uint32())
	}
	if im.file = imageFile(im.memory); im.file == nil {
		t.Skip("no memfd here")
	}
	defer im.file.Close()
	for _, old := range []bool{false, true} {
		m := newGuestMemory(128 * pageSize)
		b := m.Reallocate(uint64(len(im.memory)))
		copy(b, im.memory)
		m.adopt(im)
		m.pages.noScan = old
		for round := range 5 * sweepEvery {
			for range rng.IntN(80) {
				b[rng.IntN(len(b))]++
			}
			if !m.restore(im) {
				t.Skip("this kernel doesn't say which pages were written")
			}
			if round%sweepEvery > 10 { // pages written no more, for a sweep to give back
				b[rng.IntN(3*pageSize)]++
				m.restore(im)
			}
			if !bytes.Equal(b, im.memory) {
				t.Fatalf("round %d, page map read whole %v: the memory isn't the image", round, old)
			}
		}
		for range sweepEvery {
			m.restore(im)
		}
		if m.told = 0; !m.restore(im) || m.told > 0 && !m.pages.noScan { // reading the page map gives nothing back
			t.Errorf("%d pages are copied that nobody has written since %d resets", m.told, sweepEvery)
		}
		if m.Reallocate(129*pageSize) != nil {
			t.Error("it grew beyond its bound")
		}
		m.Free()
		m.Free()
	}
}
