package kit

// This file holds the trial of vote: built, replayed, shuffled, fuzzed.

import (
	"context"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"plexus/plugins/internal/build"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var goVote struct {
	sync.Once
	wasm []byte
	err  error
}

// voteGo builds the Go guest, once.
func voteGo(t testing.TB) []byte {
	t.Helper()
	goVote.Do(func() { goVote.wasm, goVote.err = build.Bundle("../vote/guest", []string{"../vote"}) })
	if goVote.err != nil {
		t.Fatal(goVote.err)
	}
	return goVote.wasm
}

func voteTrace(t testing.TB) *Trace {
	t.Helper()
	b, err := os.ReadFile("../vote/trace.json")
	if err != nil {
		t.Fatal(err)
	}
	trace, err := ParseTrace(b)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// try runs everything a test of a file has and returns the state that made-up contents led to.
func try(t *testing.T, wasm []byte) string {
	t.Helper()
	ctx := context.Background()
	f, err := Open(ctx, wasm, true)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close(ctx)
	trace := voteTrace(t)
	o, err := f.Replay(ctx, "vote", trace)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range o.Differ {
		t.Error(d)
	}
	t.Logf("%d bytes, state %s, gas %v", len(wasm), o.Hash, o.Gas)
	s, err := trace.scene()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.converge(ctx, "vote", s, 1, tried, nil); err != nil {
		t.Error(err)
	}
	fuzzed, err := f.Fuzz(ctx, "vote", trace, 1, madeUp)
	if err != nil {
		t.Fatal(err)
	}
	if len(fuzzed.Traps) > 0 || fuzzed.Taken < madeUp/20 || fuzzed.Refused < madeUp/20 {
		t.Errorf("fuzzed: %+v", fuzzed)
	}
	t.Logf("fuzzed: %d taken, %d refused, most gas %d", fuzzed.Taken, fuzzed.Refused, fuzzed.MaxGas)
	return fuzzed.Hash
}
