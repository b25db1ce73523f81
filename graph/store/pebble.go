package store

// This file holds the store on disk: a graph.Store on Pebble.

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"plexus/graph"
)

// Options are Open's settings; the zero value works.
type Options struct {
	FS  vfs.FS       // nil: the operating system's
	Log *slog.Logger // nil: slog.Default(); told once of what stops the store
}

// fill sets defaults.
func (o *Options) fill() {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
}

// disk is a graph.Store on Pebble.
type disk struct {
	db     *pebble.DB
	lock   *pebble.Lock
	health *health
	gate   gate

	writing sync.Mutex // one Apply at a time: the write itself is short, the sync is awaited outside
}

// Open opens the store in dir, making it where there is none. A dir another process has open is graph.ErrConflict; a
// full disk or damaged files are graph.ErrUnavailable with what to do. Close it.
func Open(dir string, o Options) (st graph.Store, err error) {
	o.fill()
	if err := o.FS.MkdirAll(dir, 0o700); err != nil {
		return nil, explain(dir, "open", err)
	}
	lock, err := pebble.LockDirectory(dir, o.FS)
	if err != nil {
		return nil, lockError(dir, err)
	}
	h := &health{dir: dir, log: o.Log, opening: true}
	db, err := openPebble(dir, options(o, h, lock))
	if err != nil {
		return nil, errors.Join(explain(dir, "open", err), lock.Close())
	}
	h.mu.Lock()
	h.opening = false
	h.mu.Unlock()
	return &disk{db: db, lock: lock, health: h}, nil
}

// openPebble is pebble.Open with its panics as errors.
func openPebble(dir string, o *pebble.Options) (db *pebble.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, asError(r)
		}
	}()
	return pebble.Open(dir, o)
}

// options are Pebble's: measured start values (bloom 10 bits, 32 MB memtable, 128 MB cache) and a pinned format.
func options(o Options, h *health, lock *pebble.Lock) *pebble.Options {
	p := &pebble.Options{
		FS:                 o.FS,
		Lock:               lock,
		Logger:             logger{h},
		EventListener:      h.listener(),
		Merger:             merger(),
		MemTableSize:       memTable,
		CacheSize:          cache,
		FormatMajorVersion: pebble.FormatTableFormatV6,

		MemTableStopWritesThreshold: memTables,
		L0StopWritesThreshold:       l0Files,
	}
	for i := range p.Levels {
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBits)
	}
	return p
}

// lockError tells a directory in use from one that can't be locked: the lock answers EAGAIN or EACCES where another
// process has it and has no errno at all where this one does, and a file that can't be made is a PathError.
func lockError(dir string, err error) error {
	var path *fs.PathError
	var no syscall.Errno
	inUse := !errors.As(err, &no) || no == syscall.EAGAIN || no == syscall.EACCES
	if errors.As(err, &path) || !inUse {
		return explain(dir, "open", err)
	}
	return fmt.Errorf("open store %s: %w: another process has it open: stop that one, or name another data dir: %w", dir, graph.ErrConflict, err)
}

// Get implements graph.Store.
func (d *disk) Get(key []byte) ([]byte, error) {
	if !d.gate.enter() {
		return nil, fmt.Errorf("get: %w", graph.ErrClosed)
	}
	defer d.gate.leave()
	v, c, err := d.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, graph.ErrNotFound
	}
	if err != nil {
		return nil, explain(d.health.dir, "read", err)
	}
	out := append([]byte{}, v...)
	if err := c.Close(); err != nil {
		return nil, explain(d.health.dir, "read", err)
	}
	return out, nil
}

// Scan implements graph.Store. A nil lo or hi is no bound.
func (d *disk) Scan(lo, hi []byte, reverse bool) iter.Seq2[graph.KV, error] {
	return func(yield func(graph.KV, error) bool) {
		if !d.gate.enter() {
			yield(graph.KV{}, fmt.Errorf("scan: %w", graph.ErrClosed))
			return
		}
		defer d.gate.leave()
		it, err := d.db.NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: hi})
		if err != nil {
			yield(graph.KV{}, explain(d.health.dir, "read", err))
			return
		}
		closed := false
		defer func() {
			if !closed { // the reader left early or panicked
				_ = it.Close()
			}
		}()
		if !walk(it, reverse, yield) {
			return
		}
		closed = true
		if err := it.Close(); err != nil {
			yield(graph.KV{}, explain(d.health.dir, "read", err))
		}
	}
}

// walk yields what the iterator has; false once the reader left. Its errors come again from Close.
func walk(it *pebble.Iterator, reverse bool, yield func(graph.KV, error) bool) bool {
	start, step := it.First, it.Next
	if reverse {
		start, step = it.Last, it.Prev
	}
	for ok := start(); ok; ok = step() {
		v, err := it.ValueAndErr()
		if err != nil {
			return true
		}
		if !yield(graph.KV{Key: it.Key(), Value: v}, nil) {
			return false
		}
	}
	return true
}

// Apply implements graph.Store.
func (d *disk) Apply(ops []graph.Op) (wait func() error, err error) {
	if err := checkOps(ops); err != nil {
		return nil, err
	}
	if !d.gate.enter() {
		return nil, fmt.Errorf("apply: %w", graph.ErrClosed)
	}
	defer d.gate.leave()
	if len(ops) == 0 {
		return func() error { return nil }, nil
	}
	b, err := d.batch(ops)
	if err != nil {
		return nil, explain(d.health.dir, "write to", err)
	}
	if err := d.commit(b); err != nil {
		return nil, err
	}
	return d.waiter(b), nil
}

// batch encodes ops in their order.
func (d *disk) batch(ops []graph.Op) (*pebble.Batch, error) {
	size := 0
	for _, o := range ops {
		size += len(o.Key) + len(o.Value) + 16
	}
	b := d.db.NewBatchWithSize(size)
	for _, o := range ops {
		var err error
		switch o.Kind {
		case graph.Set:
			err = b.Set(o.Key, o.Value, nil)
		case graph.Del:
			err = b.Delete(o.Key, nil)
		case graph.Sum:
			err = b.Merge(o.Key, o.Value, nil)
		case graph.DelRange:
			err = b.DeleteRange(o.Key, o.Value, nil)
		}
		if err != nil {
			return nil, errors.Join(err, b.Close())
		}
	}
	return b, nil
}

// commit makes the batch visible. A panic inside Pebble (a log that can't be written) leaves its locks held, so it is
// the last write of this store.
func (d *disk) commit(b *pebble.Batch) (err error) {
	d.writing.Lock()
	defer d.writing.Unlock()
	if err := d.health.err(); err != nil {
		_ = b.Close()
		return err
	}
	defer func() {
		if r := recover(); r != nil {
			err = d.health.stop(asError(r), true)
		}
	}()
	if err := d.db.ApplyNoSyncWait(b, pebble.Sync); err != nil {
		return d.health.stop(err, false)
	}
	return nil
}

// waiter returns the wait of a batch: it may be called often, from many goroutines, or never.
func (d *disk) waiter(b *pebble.Batch) func() error {
	return sync.OnceValue(func() error {
		if err := b.SyncWait(); err != nil {
			return d.health.stop(err, false)
		}
		return b.Close()
	})
}

// Close implements graph.Store. After a write that Pebble was left in the middle of, only new readers are shut out: files and
// lock stay as they are until the process ends.
func (d *disk) Close() error {
	if !d.gate.shut() {
		return nil
	}
	d.health.mu.Lock()
	wedged := d.health.wedged
	d.health.mu.Unlock()
	if wedged {
		return d.health.err()
	}
	err := d.db.Close()
	if lasting := d.health.err(); lasting != nil && err != nil {
		err = lasting
	}
	return errors.Join(err, d.lock.Close())
}

// checkOps refuses what no store can do.
func checkOps(ops []graph.Op) error {
	for _, o := range ops {
		switch {
		case len(o.Key) == 0:
			return fmt.Errorf("apply: %w: empty key", graph.ErrInvalid)
		case o.Kind > graph.DelRange:
			return fmt.Errorf("apply: %w: unknown kind of op %d", graph.ErrInvalid, o.Kind)
		case o.Kind == graph.Sum && len(o.Value) != graph.SumSize:
			return fmt.Errorf("apply: %w: a sum of %d bytes instead of %d", graph.ErrInvalid, len(o.Value), graph.SumSize)
		}
	}
	return nil
}
