package graph

// This file holds a walk through records that begins at one moment and goes on at leisure.

import (
	"context"
	"iter"
)

// view is a sequence of records as it was when it was opened.
type view struct {
	first func() (KV, error, bool)
	next  func() (KV, error, bool)
	stop  func()
}

// pull returns the next record.
func (v *view) pull() (KV, error, bool) {
	if f := v.first; f != nil {
		v.first = nil
		return f()
	}
	return v.next()
}

// openView begins to read, so that what follows is as of now.
func openView(records iter.Seq2[KV, error]) *view {
	v := &view{}
	v.next, v.stop = iter.Pull2(records)
	kv, err, ok := v.next() // the store's view is taken here
	v.first = func() (KV, error, bool) { return kv, err, ok }
	return v
}

// each hands every record to f.
func (v *view) each(ctx context.Context, f func(key, value []byte) error) error {
	for n := 0; ; n++ {
		kv, err, ok := v.pull()
		if err == nil && n%1024 == 0 {
			err = ctx.Err()
		}
		if err == nil && ok {
			err = f(kv.Key, kv.Value)
		}
		if err != nil || !ok {
			return err
		}
	}
}
