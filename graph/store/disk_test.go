package store_test

// This file holds what only a disk can do: crash, fill up, fail, rot, be open elsewhere.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"plexus/graph"
	"plexus/graph/store"
)

func open(t testing.TB, fs vfs.FS) graph.Store {
	t.Helper()
	st, err := store.Open("db", quiet(fs))
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func quiet(fs vfs.FS) store.Options {
	return store.Options{FS: fs, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

// TestCrash clones the file system as a crash would leave it, at random points between writes: what a wait
// acknowledged is there, every batch is there whole or not at all, and none is there without those before it.
func TestCrash(t *testing.T) {
	const batches = 200
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	fs := vfs.NewCrashableMem()
	st := open(t, fs)
	defer func() { _ = st.Close() }()
	acked := -1
	for i := range batches {
		pad := strings.Repeat("x", rng.IntN(5000))
		wait, err := st.Apply([]graph.Op{
			set(fmt.Sprintf("a%04d", i), pad),
			set(fmt.Sprintf("b%04d", i), pad),
			sum("n", one(), 1),
		})
		if err != nil {
			t.Fatal(err)
		}
		if rng.IntN(3) == 0 {
			if err := wait(); err != nil {
				t.Fatal(err)
			}
			acked = i
		}
		if rng.IntN(10) == 0 {
			checkCrash(t, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng}), acked, i)
		}
	}
}

// checkCrash opens a clone and looks for batches 0 … n, with acked ≤ n ≤ last.
func checkCrash(t *testing.T, fs vfs.FS, acked, last int) {
	t.Helper()
	st := open(t, fs)
	defer func() { _ = st.Close() }()
	a, b := keys(t, st, "a"), keys(t, st, "b")
	if a != b || a <= acked || a > last+1 {
		t.Fatalf("after the crash %d and %d batches; acknowledged %d, written %d", a, b, acked+1, last+1)
	}
	if a == 0 {
		return
	}
	v, err := st.Get([]byte("n"))
	if err != nil || string(v) != string(operand(one().SetInt64(int64(a)), int64(a))) {
		t.Fatalf("sum after the crash: %x, %v", v, err)
	}
	if _, err := st.Get(fmt.Appendf(nil, "a%04d", a-1)); err != nil {
		t.Fatalf("a hole before batch %d: %v", a-1, err)
	}
}

// TestFailingDisk fails the n-th write, for each n: Open and Apply answer with an error, nothing panics, what was
// acknowledged is there when the disk is well again.
func TestFailingDisk(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, syscall.EIO} {
		for n := int32(0); n < 60; n++ {
			failAt(t, n, cause)
		}
	}
}

func failAt(t *testing.T, n int32, cause error) {
	t.Helper()
	mem := vfs.NewCrashableMem()
	var count atomic.Int32
	var well atomic.Bool
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if well.Load() || op.Kind.ReadOrWrite() != errorfs.OpIsWrite || count.Add(1) <= n {
			return nil
		}
		return &os.PathError{Op: "write", Path: op.Path, Err: cause}
	}))
	st, err := store.Open("db", quiet(fs))
	acked := -1
	for i := 0; err == nil && i < 40; i++ {
		var wait func() error
		wait, err = st.Apply([]graph.Op{set(fmt.Sprintf("a%04d", i), "v"), set(fmt.Sprintf("b%04d", i), "v")})
		if err == nil {
			err = wait()
		}
		if err == nil {
			acked = i
		}
	}
	if err != nil {
		checkFailure(t, n, cause, err)
	}
	if st != nil {
		if err != nil { // and it stays so
			if _, again := st.Apply([]graph.Op{set("later", "v")}); !errors.Is(again, graph.ErrUnavailable) {
				t.Fatalf("write %d failed, a later one didn't: %v", n, again)
			}
			if _, err := st.Get([]byte("none")); !errors.Is(err, graph.ErrNotFound) {
				t.Fatalf("reads go on: %v", err)
			}
		}
		clone := mem.CrashClone(vfs.CrashCloneCfg{})
		well.Store(true)
		_ = st.Close()
		checkCrash2(t, clone, acked)
	}
}

// TestBackground fails what Pebble does on its own, under writes that go on: tables, then the manifest. Writes are refused before long; a full disk
// that has room again is written to again, a manifest isn't.
func TestBackground(t *testing.T) {
	for file, mends := range map[string]bool{".sst": true, "MANIFEST": false} {
		t.Run(file, func(t *testing.T) {
			if os.Getenv("STORE_TEST_WEDGED") == "" {
				c := exec.Command(os.Args[0], "-test.run=^TestBackground$/^"+file+"$", "-test.timeout=100s")
				c.Env = append(os.Environ(), "STORE_TEST_WEDGED=1")
				if out, err := c.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				return
			}
			background(t, file, mends)
		})
	}
}

func background(t *testing.T, file string, mends bool) {
	var bad atomic.Bool
	st := open(t, errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if bad.Load() && strings.Contains(op.Path, file) && op.Kind == errorfs.OpFileWrite {
			return &os.PathError{Op: "write", Path: op.Path, Err: syscall.ENOSPC}
		}
		return nil
	})))
	bad.Store(true)
	big := strings.Repeat("x", 1<<20)
	var err error
	n := 0
	for ; err == nil && n < 300; n++ {
		var wait func() error
		if wait, err = st.Apply([]graph.Op{set(fmt.Sprintf("b%03d", n), big)}); err == nil {
			err = wait()
		}
	}
	checkFailure(t, 0, syscall.ENOSPC, err)
	if got := keys(t, st, "b"); got != n-1 {
		t.Fatalf("%d of %d can be read", got, n-1)
	}
	bad.Store(false)
	again := time.NewTicker(time.Millisecond) // a table is tried again by Pebble itself
	defer again.Stop()
	for range 10_000 {
		if _, err = st.Apply([]graph.Op{set("later", "v")}); err == nil || !mends {
			break
		}
		<-again.C
	}
	if (err == nil) != mends {
		t.Fatal(err)
	}
	if err := st.Close(); (err == nil) != mends {
		t.Fatal(err)
	}
}

// TestUnawaited fails the log under batches nobody waits for: Pebble gives up in the middle of a write. That is an error, and
// so is every write after it; reads go on; Close returns.
func TestUnawaited(t *testing.T) {
	if os.Getenv("STORE_TEST_WEDGED") == "" {
		c := exec.Command(os.Args[0], "-test.run=^TestUnawaited$", "-test.timeout=60s")
		c.Env = append(os.Environ(), "STORE_TEST_WEDGED=1")
		out, err := c.CombinedOutput()
		if err != nil && bytes.Contains(out, []byte("sync: unlock of unlocked mutex")) {
			// Pebble v2.1.7's rotateWAL panics without its lock where a deferred unlock awaits it, which nobody can recover: the
			// process ends as by kill -9, and what was acknowledged is safe.
			t.Log("the log failed while Pebble changed logs: the process ended")
			return
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	var bad atomic.Bool
	st := open(t, errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if bad.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return &os.PathError{Op: "write", Path: op.Path, Err: syscall.ENOSPC}
		}
		return nil
	})))
	apply(t, st, set("a", "1"))
	bad.Store(true)
	var err error
	for i := 0; err == nil; i++ {
		_, err = st.Apply([]graph.Op{set(fmt.Sprintf("b%d", i), strings.Repeat("x", 10_000))})
	}
	checkFailure(t, 0, syscall.ENOSPC, err)
	if _, err := st.Apply([]graph.Op{set("later", "v")}); !errors.Is(err, graph.ErrUnavailable) {
		t.Fatal(err)
	}
	if v, err := st.Get([]byte("a")); err != nil || string(v) != "1" {
		t.Fatal(v, err)
	}
	if err := st.Close(); !errors.Is(err, graph.ErrUnavailable) {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

func checkFailure(t *testing.T, n int32, cause, err error) {
	t.Helper()
	if !errors.Is(err, graph.ErrUnavailable) || !errors.Is(err, cause) {
		t.Fatalf("write %d: %v", n, err)
	}
	if cause == syscall.ENOSPC && !strings.Contains(err.Error(), "disk full: free some space") {
		t.Fatalf("write %d: no word of what to do: %v", n, err)
	}
}

func checkCrash2(t *testing.T, fs vfs.FS, acked int) {
	t.Helper()
	st := open(t, fs)
	defer func() { _ = st.Close() }()
	if a, b := keys(t, st, "a"), keys(t, st, "b"); a != b || a <= acked {
		t.Fatalf("%d and %d batches of %d acknowledged", a, b, acked+1)
	}
}

func keys(t *testing.T, st graph.Store, prefix string) (n int) {
	t.Helper()
	for _, err := range st.Scan([]byte(prefix), []byte(prefix+"~"), false) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// TestInUse opens a directory twice, in this process and from another.
func TestInUse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	if os.Getenv("STORE_TEST_DIR") != "" {
		dir = os.Getenv("STORE_TEST_DIR")
		_, err := store.Open(dir, store.Options{})
		if !errors.Is(err, graph.ErrConflict) || !strings.Contains(err.Error(), "another process has it open: stop that one") {
			t.Fatal(err)
		}
		return
	}
	st, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(dir, store.Options{}); !errors.Is(err, graph.ErrConflict) {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0], "-test.run=^TestInUse$")
	c.Env = append(os.Environ(), "STORE_TEST_DIR="+dir)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	apply(t, st, set("a", "1"))
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	st, err = store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := dump(t, st, nil, nil, false); got != "a=1 " {
		t.Fatal(got)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
}

// TestDamage flips bytes in every file of a store, one file at a time: opening and reading it is an error or gives what was
// written, and never a panic.
func TestDamage(t *testing.T) {
	fs := vfs.NewMem()
	st := open(t, fs)
	for i := range 200 {
		apply(t, st, set(fmt.Sprintf("a%04d", i), strings.Repeat("v", 100)))
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	st = open(t, fs) // replays the log into a table
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := fs.List("db")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		for _, part := range []int{0, 3, 7, 9} {
			damage(t, fs, name, part)
		}
	}
}

// damage flips 16 bytes from part/10 of a file on, in a copy.
func damage(t *testing.T, fs vfs.FS, name string, part int) {
	t.Helper()
	bad := vfs.NewMem()
	if _, err := vfs.Clone(fs, bad, "db", "db"); err != nil {
		t.Fatal(err)
	}
	f, err := bad.OpenReadWrite(bad.PathJoin("db", name), vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, min(16, info.Size()))
	at := info.Size() * int64(part) / 10
	n, _ := f.ReadAt(buf, at)
	for i := range buf[:n] {
		buf[i] ^= 0xff
	}
	if _, err := f.WriteAt(buf[:n], at); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open("db", quiet(bad))
	if err != nil {
		if !errors.Is(err, graph.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
		return
	}
	for kv, err := range st.Scan(nil, nil, false) {
		if err != nil {
			if !errors.Is(err, graph.ErrUnavailable) {
				t.Errorf("%s: %v", name, err)
			}
			break
		}
		if string(kv.Value) != strings.Repeat("v", 100) {
			t.Errorf("%s: a wrong value without an error", name)
		}
	}
	if _, err := st.Get([]byte("a0001")); err != nil && !errors.Is(err, graph.ErrUnavailable) && !errors.Is(err, graph.ErrNotFound) {
		t.Errorf("%s: %v", name, err)
	}
	_ = st.Close()
}

func TestNotWritable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	_, err := store.Open(filepath.Join(dir, "db"), store.Options{})
	if !errors.Is(err, graph.ErrUnavailable) || !strings.Contains(err.Error(), "may not write there") {
		t.Fatal(err)
	}
}

// BenchmarkApply is a send's write: one acknowledged batch each, from 32 senders at once.
func BenchmarkApply(b *testing.B) {
	st, err := store.Open(filepath.Join(b.TempDir(), "db"), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	var next atomic.Int64
	block := []byte(strings.Repeat("b", 450))
	var wg sync.WaitGroup
	b.ResetTimer()
	for range 32 {
		wg.Go(func() {
			for {
				i := next.Add(1)
				if i > int64(b.N) {
					return
				}
				k := fmt.Sprintf("%020d", i)
				wait, err := st.Apply([]graph.Op{
					{Kind: graph.Set, Key: []byte("e" + k), Value: block},
					set("p"+k, k), set("t"+k, k), set("a"+k, ""), sum("s", one(), 1),
				})
				if err == nil {
					err = wait()
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "acks/s")
}
