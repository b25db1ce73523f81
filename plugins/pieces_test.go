package plugins

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"plexus/sdk/abi"
)

// Bulk memory that is done piece by piece does what one instruction does: below, at and above a piece, whichever way source and target overlap.
func TestBulkMemoryInPieces(t *testing.T) {
	const piece, words = 1 << 20, 1 << 20 // 4 MiB of text no two words of which are alike
	mul, teeBrIf := []byte{0x6c}, []byte{0x22, 1, 0x0d, 0}
	pattern := ops(num(words-1), set(1), opLoop,
		get(1), num(4), mul, get(1), num(40503), mul, opStore, get(1), num(-1), opAdd, teeBrIf, opEnd)
	for _, n := range []int64{0, 1, piece - 1, piece, piece + 1, 2*piece + 5} {
		for _, d := range []struct{ to, from int64 }{{0, 0}, {7, 0}, {0, 7}, {piece, 0}, {0, piece}, {100, piece + 50}} {
			want := make([]byte, 4*words)
			for i := range words {
				if i > 0 {
					binary.LittleEndian.PutUint32(want[4*i:], uint32(i*40503))
				}
			}
			copy(want[d.to:d.to+n], want[d.from:d.from+n])
			copy(want[d.from:], bytes.Repeat([]byte{9}, int(n)))
			sum := sha256.Sum256(want)
			w := wasm{imports: []wasmImport{{"sha256", 3, 0}, importSet}, pages: 65}
			w.funcs = append(w.funcs, wasmFunc{export: abi.ExportFold, params: 1, results: 1, locals: 1, code: ops(pattern,
				num(d.to), num(d.from), num(n), []byte{0xfc, 10, 0, 0}, num(d.from), num(9), num(n), []byte{0xfc, 11, 0},
				num(0), num(4*words), num(4*words+64), callFn(0), num(16), num(3), num(4*words+64), num(32), callFn(1), num(0))})
			r := newReplica(t, w.build(abi.Plugin{Name: "bulk", Accepts: []string{"x"}, Limits: abi.Limits{Gas: abi.GasCap}}))
			r.say("ann", "x", obj{})
			r.hash("bulk")
			key := append([]byte("s"), want[16:19]...) // what lies there by then
			got, err := r.host.records.Get(append(numPrefix(1), key...))
			r.must(err)
			if !bytes.Equal(got, sum[:]) {
				t.Errorf("%d bytes from %d to %d: %x, want %x", n, d.from, d.to, got, sum)
			}
		}
	}
}
