package plugins

// This file holds the doors: bytes from guests, files and the disk.

import (
	"errors"
	"testing"

	"plexus/graph"
	"plexus/sdk/abi"
)

// FuzzFile: a file is refused with a reason, or its manifest and shape hold.
func FuzzFile(f *testing.F) {
	f.Add(good)
	f.Add(spy())
	f.Add(withManifest([]byte("\x00asm\x01\x00\x00\x00"), abi.Plugin{Name: "p"}))
	f.Add([]byte("\x00asm\x01\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, m, err := inspect(b)
		switch {
		case err != nil && !errors.Is(err, graph.ErrInvalid) && !errors.Is(err, graph.ErrTooLarge):
			t.Errorf("an error of another kind: %v", err)
		case err == nil && (len(m.Plugins) == 0 || r.Exports[abi.ExportMemory] != 2):
			t.Errorf("taken: %+v", m)
		}
	})
}

// FuzzDraft: what a guest puts out is a draft that a Space may be asked to seal, or an error.
func FuzzDraft(f *testing.F) {
	f.Add([]byte(abi.Append(abi.AppendInt(abi.AppendMap(nil, 1), abi.DraftContent), abi.Fields{"a": 1})))
	f.Add([]byte{0xa0})
	f.Fuzz(func(t *testing.T, b []byte) {
		d, _, err := readDraft(b)
		if err != nil {
			return
		}
		if _, err := d.EncodePayload(); err != nil && !errors.Is(err, graph.ErrInvalid) && !errors.Is(err, graph.ErrTooLarge) {
			t.Errorf("%v of % x", err, b)
		}
	})
}

// FuzzUndo: a damaged record is an error, and a whole one reads back.
func FuzzUndo(f *testing.F) {
	f.Add([]byte{1, 0, 33, 2, 's', 'k', 0})
	f.Add([]byte{1, 0, 0, 2, 's', 'k', 3, 'a', 'b'})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		n, changes, err := readUndo(b)
		if err != nil {
			return
		}
		p := &projection{journal: changes, before: n}
		p.closeMessage(graph.Key{})
		m, again, err := readUndo(p.ops[0].Value)
		if err != nil || len(again) != len(changes) || m != n {
			t.Errorf("% x reads as %d changes, written anew as %d (%v)", b, len(changes), len(again), err)
		}
	})
}

// FuzzPin: a payload is a pin whose parts hold, or nothing.
func FuzzPin(f *testing.F) {
	f.Add([]byte(`{"op":"pin","name":"p","file":"` + fileCID(nil) + `"}`))
	f.Add([]byte(`{"op":"unpin","name":"p"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, ok := readPin(b); ok && (!validName(p.Name) || p.Op == "pin" && !validFile(p.File)) {
			t.Errorf("%q is taken for %+v", b, p)
		}
	})
}
