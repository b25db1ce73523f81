package store

// This file tests that a flush with nothing to write isn't taken for one that failed.

import (
	"log/slog"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

func TestEmptyFlushIsNoFailure(t *testing.T) {
	h := &health{dir: "x", log: slog.New(slog.DiscardHandler)}
	flushed := 0
	l := h.listener()
	told := l.FlushEnd
	l.FlushEnd = func(i pebble.FlushInfo) {
		flushed++
		if i.Err == nil {
			t.Error("Pebble calls an empty flush by another name now")
		}
		told(i)
	}
	db, err := pebble.Open("x", &pebble.Options{FS: vfs.NewMem(), EventListener: l, Logger: logger{h}})
	if err != nil {
		t.Fatal(err)
	}
	// What is in the log alone leaves nothing to write.
	if err := db.LogData([]byte("nothing"), pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	if err := db.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if flushed == 0 {
		t.Error("nothing was flushed")
	}
	if err := h.err(); err != nil {
		t.Errorf("writes are refused: %v", err)
	}
}
