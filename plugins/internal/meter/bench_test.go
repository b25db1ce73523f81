package meter

import (
	"os"
	"testing"
)

func BenchmarkRewrite(b *testing.B) {
	wasm, err := os.ReadFile("../../bundle/patterns.wasm")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(wasm)))
	for b.Loop() {
		if _, err := Rewrite(wasm, Limits{MemoryPages: 256, TableSize: 16 << 10, Depth: 1024}); err != nil {
			b.Fatal(err)
		}
	}
}
