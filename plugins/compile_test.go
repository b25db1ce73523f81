package plugins

// This file tests that compiling keeps nobody waiting.

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"plexus/graph"
)

// halting is a replica whose Run and Compile are started by hand.
type halting struct{ *replica }

func (h halting) start(job func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- job(ctx) }()
	return func() {
		h.t.Helper()
		cancel()
		h.must(<-done)
	}
}

func (h halting) openHost(wait time.Duration) {
	h.t.Helper()
	b := bounds{undo: undoKept, step: stepMessages, drain: maxDrain, wait: wait}
	var err error
	h.host, err = Open(Config{Log: h.log, loaded: load(h.t, good), Files: [][]byte{good}, FileDir: h.dir, bounds: b})
	h.must(err)
}

func (h halting) info(name string) Info {
	h.t.Helper()
	list, err := h.host.Plugins(h.ctx(), h.space.ID())
	h.must(err)
	if i := slices.IndexFunc(list, func(i Info) bool { return i.Name == name }); i >= 0 {
		return list[i]
	}
	return Info{}
}

// TestPinnedFilesAreCompiledBesideTheFolds: while a file waits for the compiler, the other plugins go on, and so does what ran under its name.
func TestPinnedFilesAreCompiledBesideTheFolds(t *testing.T) {
	r := bareReplica(t, good)
	h := halting{r}
	h.dir = t.TempDir()
	h.must(h.log.Apply(h.ctx(), admins("root")))
	h.openHost(time.Millisecond)
	stopRun := h.start(h.host.Run)
	h.until("up", func() bool { return h.info("good").Current })

	pinned := func(version string, value byte) string {
		cid, _, err := h.host.AddFile(h.ctx(), counter("count", version, value))
		h.must(err)
		d, err := PinDraft("count", cid)
		h.pin("root", d, err)
		return cid
	}
	pinned("1", 'a')
	h.until("waiting", func() bool { return h.info("count").Compiling })
	h.say("ann", "x", obj{})
	h.until("folded by the other", func() bool { return h.info("good").Folded == 1 })
	if _, _, err := h.host.StateHash(h.ctx(), h.space.ID(), "count"); !errors.Is(err, graph.ErrUnavailable) {
		t.Errorf("a state of what isn't compiled: %v", err)
	}
	stopCompile := h.start(h.host.Compile)
	h.until("compiled", func() bool { return h.info("count").Current })
	stopCompile()

	// An upgrade: the first version goes on with what comes, and isn't called current.
	second := pinned("2", 'b')
	h.until("waiting again", func() bool { return !h.info("count").Current })
	h.say("ann", "x", obj{})
	h.until("folded by the first version", func() bool { i := h.info("count"); return i.Version == "1" && i.Folded == 2 && !i.Current })

	// A restart, and the file of the first version must be compiled anew: its state is there, and is folded on once it is.
	stopRun()
	h.must(h.host.Close())
	h.say("ann", "x", obj{})
	h.openHost(time.Millisecond)
	stopRun = h.start(h.host.Run)
	h.until("waiting after a restart", func() bool { i := h.info("count"); return i.Compiling && i.Folded == 2 && !i.Current })
	if _, err := h.host.View(h.ctx(), h.space.ID(), "count", "all", nil, graph.NodeID{}); !errors.Is(err, graph.ErrUnavailable) {
		t.Errorf("a view of what isn't compiled: %v", err)
	}
	stopCompile = h.start(h.host.Compile)
	h.until("upgraded", func() bool {
		i := h.info("count")
		return i.Version == "2" && i.File == second && i.Folded == 3 && i.Current
	})
	stopCompile()
	stopRun()
	h.must(h.host.Close())
	h.must(h.log.Close())
}

// TestCompileEndsWithItsContext: with a file in hand as well.
func TestCompileEndsWithItsContext(t *testing.T) {
	r := bareReplica(t, good)
	h := halting{r}
	h.openHost(time.Millisecond)
	cid, _, err := h.host.AddFile(h.ctx(), bundle)
	h.must(err)
	h.must(h.host.load(h.ctx()))
	f, err := h.host.engine.open(bundle)
	h.must(err)
	h.host.queue(f)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	h.must(h.host.Compile(ctx))
	if f.ended() || f.cid != cid {
		t.Error("compiled after the end")
	}
	h.must(h.host.Close())
	h.must(h.log.Close())
}

// TestFileThatDoesNotCompile: it is said, other plugins go on, and a later start tries again.
func TestFileThatDoesNotCompile(t *testing.T) {
	r := bareReplica(t, good)
	h := halting{r}
	h.must(h.log.Apply(h.ctx(), admins("root")))
	h.openHost(time.Millisecond)
	stopRun, stopCompile := h.start(h.host.Run), h.start(h.host.Compile)
	wasm := counter("count", "1", 'a')
	wasm = append(wasm[:len(wasm)-1:len(wasm)-1], wasm[len(wasm)-1]) // a copy
	code := slices.Index(wasm, 0x36)                                 // the store's opcode
	wasm[code] = 0xff
	h.must(h.host.keep(fileCID(wasm), wasm))
	d, err := PinDraft("count", fileCID(wasm))
	h.pin("root", d, err)
	h.until("refused", func() bool { return h.info("count").Fault != "" })
	h.say("ann", "x", obj{})
	h.until("the other goes on", func() bool { return h.info("good").Folded == 1 })
	if _, _, err := h.host.StateHash(h.ctx(), h.space.ID(), "count"); !errors.Is(err, graph.ErrUnavailable) {
		t.Errorf("its state: %v", err)
	}
	stopCompile()
	stopRun()
	h.must(h.host.Close())
	h.must(h.log.Close())
}
