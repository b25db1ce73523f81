package store

// This file turns Pebble's failures into errors that say what to do: full disks, damage, a directory in use. It keeps
// the one error after which nothing may be written, and stands in for the logger that would end the process.

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"plexus/graph"
)

// health is what background work and failed writes tell the writers. Owned by its mutex.
type health struct {
	dir string
	log *slog.Logger

	mu      sync.Mutex
	opening bool  // Open runs: a fatal error may unwind to it
	passing error // of a flush or compaction: gone with the next one that ends well
	lasting error // of the log or the manifest: until the store is opened anew
	wedged  bool  // Pebble was left in the middle of a write: it can't be closed in order
}

// err returns what forbids a write now, or nil.
func (h *health) err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lasting != nil {
		return h.lasting
	}
	return h.passing
}

// stop records the error after which nothing may be written, and returns the first such.
func (h *health) stop(cause error, wedged bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lasting == nil {
		h.lasting = explain(h.dir, "write to", cause)
		h.log.Error("store stopped", "dir", h.dir, "err", cause)
	}
	h.wedged = h.wedged || wedged
	return h.lasting
}

// background records the outcome of a flush or compaction.
func (h *health) background(cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if cause == nil {
		h.passing = nil
		return
	}
	if h.passing == nil {
		h.log.Error("store can't write", "dir", h.dir, "err", cause)
	}
	h.passing = explain(h.dir, "write to", cause)
}

// emptyFlush is what Pebble calls a flush that had nothing to write, as after a start: it went well.
const emptyFlush = "pebble: empty table"

// listener is told of everything Pebble does on its own.
func (h *health) listener() *pebble.EventListener {
	return &pebble.EventListener{
		FlushEnd: func(i pebble.FlushInfo) {
			if i.Err != nil && i.Err.Error() == emptyFlush {
				i.Err = nil
			}
			h.background(i.Err)
		},
		CompactionEnd: func(i pebble.CompactionInfo) {
			if !errors.Is(i.Err, pebble.ErrCancelledCompaction) {
				h.background(i.Err)
			}
		},
		DataCorruption: func(i pebble.DataCorruptionInfo) {
			h.log.Error("store is damaged", "path", i.Path, "err", i.Details)
		},
	}
}

// logger is Pebble's; only what can't go on is of interest.
type logger struct{ h *health }

// Infof drops the chatter: flushes, compactions, files.
func (logger) Infof(string, ...any) {}

// Errorf drops what the listener is told as well.
func (logger) Errorf(string, ...any) {}

// Fatalf must not return: Pebble's own ends the process here, because what follows may delete files that a half
// written manifest names. In Open and Apply it unwinds to our recover; a background goroutine stops for good where it is.
func (l logger) Fatalf(format string, args ...any) {
	err := fatalCause(format, args)
	l.h.mu.Lock()
	opening := l.h.opening
	l.h.mu.Unlock()
	if opening || strings.HasPrefix(format, "pebble: fatal commit error") {
		panic(err)
	}
	_ = l.h.stop(err, true)
	select {}
}

// fatalCause keeps an error among the arguments in the chain.
func fatalCause(format string, args []any) error {
	for _, a := range args {
		if err, ok := a.(error); ok {
			return err
		}
	}
	return fmt.Errorf(format, args...)
}

// asError makes an error of a recovered value.
func asError(r any) error {
	if err, ok := r.(error); ok {
		return err
	}
	return fmt.Errorf("%v", r)
}

// explain wraps what a disk does to a store in a sentinel and the next step. cause stays in the chain.
func explain(dir, what string, cause error) error {
	switch {
	case cause == nil:
		return nil
	case vfs.IsNoSpaceError(cause):
		return fmt.Errorf("%s store %s: %w: disk full: free some space, then start again: %w", what, dir, graph.ErrUnavailable, cause)
	case pebble.IsCorruptionError(cause):
		return fmt.Errorf("%s store %s: %w: its files are damaged: move the directory away (keep the keys beside it) and start again, "+
			"peers send what they have; or restore a backup: %w", what, dir, graph.ErrUnavailable, cause)
	case errors.Is(cause, syscall.EACCES), errors.Is(cause, syscall.EPERM), errors.Is(cause, syscall.EROFS):
		return fmt.Errorf("%s store %s: %w: this user may not write there: %w", what, dir, graph.ErrUnavailable, cause)
	default:
		return fmt.Errorf("%s store %s: %w: %w", what, dir, graph.ErrUnavailable, cause)
	}
}
