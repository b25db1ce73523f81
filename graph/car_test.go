package graph_test

// This file holds CAR files: what is exported comes back the same, and what is no such file is refused.

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/ipld/go-car/v2"

	"plexus/graph"
)

// later is a clock past everything in spread.
func later() *clock {
	c := newClock()
	c.step(1000 * 24 * time.Hour)
	return c
}

func export(t testing.TB, s *graph.Space) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := s.Export(t.Context(), &b)
	if err != nil || n != int(s.Digest().Count) {
		t.Fatal(n, err)
	}
	return b.Bytes()
}

func TestExportImport(t *testing.T) {
	a := spread(t, 300)
	file := export(t, a.s)
	in, err := car.NewBlockReader(bytes.NewReader(file)) // go-car agrees that it is one
	if err != nil || in.Version != 1 || len(in.Roots) != 1 || in.Roots[0].String() != a.s.ID().String() {
		t.Fatal(in, err)
	}
	b := newReplica(t, everybody, later())
	s, got, err := b.Import(t.Context(), bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if s != b.s || len(got.New) != 300 || got.Known+len(got.Held)+len(got.Missing)+len(got.Refused) != 0 {
		t.Fatalf("%d new", len(got.New))
	}
	if s.Digest() != a.s.Digest() || !bytes.Equal(export(t, s), file) {
		t.Fatal("not the same Space")
	}
	if _, got, err = b.Import(t.Context(), bytes.NewReader(file)); err != nil || got.Known != 300 || len(got.New) != 0 {
		t.Fatalf("again: %d known, %d new, %v", got.Known, len(got.New), err)
	}
}

// TestImportMakesTheSpace, also of a Network.
func TestImportMakesTheSpace(t *testing.T) {
	a := newReplica(t, everybody, later())
	g, err := graph.NewNetwork("home", key(1))
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.Create(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Send(t.Context(), key(1), draft("hello"), nil); err != nil {
		t.Fatal(err)
	}
	b := newReplica(t, everybody, later())
	s2, got, err := b.Import(t.Context(), bytes.NewReader(export(t, s)))
	if err != nil || s2.ID() != g.ID || len(got.New) != 1 || s2.Digest() != s.Digest() {
		t.Fatal(len(got.New), err)
	}
	empty, _, err := b.Import(t.Context(), bytes.NewReader(export(t, newReplica(t, everybody, later()).s)))
	if err != nil || empty != b.s {
		t.Fatal(err)
	}
}

// TestImportAnyOrder: children first, of authors nobody granted, with a gap.
func TestImportAnyOrder(t *testing.T) {
	a := spread(t, 50)
	entries := a.since(t, nil)
	var file bytes.Buffer
	file.Write(export(t, newReplica(t, everybody, later()).s)) // header and genesis
	for i := range entries {
		e := entries[len(entries)-1-i]
		if i == 49 { // the first entry isn't in the file
			break
		}
		section(&file, e.ID(), e.Block())
	}
	bad := bytes.Clone(entries[0].Block())
	bad[len(bad)-1] ^= 1
	section(&file, graph.BlockID(bad), bad)

	b := newReplica(t, everybody, later())
	_, got, err := b.Import(t.Context(), &file)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Refused) != 1 || got.Refused[0].Rule != graph.RuleSignature || len(got.Missing) != 1 || got.Missing[0] != entries[0].ID() {
		t.Fatalf("refused %v, missing %v", got.Refused, got.Missing)
	}
	if len(got.New)+len(got.Held) != 49 {
		t.Fatalf("%d new, %d held", len(got.New), len(got.Held))
	}
	b.add(t, entries[0])
	if b.s.Digest() != a.s.Digest() {
		t.Fatal("not the same Space")
	}

	c := newReplica(t, rights{}, later())
	if _, got, err = c.Import(t.Context(), bytes.NewReader(export(t, a.s))); err != nil || len(got.Held) != 50 {
		t.Fatal(len(got.Held), err)
	}
}

func section(w *bytes.Buffer, id graph.ID, block []byte) {
	c := id.CID().Bytes()
	w.Write(binary.AppendUvarint(nil, uint64(len(c)+len(block))))
	w.Write(c)
	w.Write(block)
}

func TestImportRefused(t *testing.T) {
	file := export(t, spread(t, 3).s)
	head := bytes.Index(file, spread(t, 0).s.Genesis().Block)
	other := bytes.Clone(file)
	copy(other[head-32:head], make([]byte, 32))
	for name, in := range map[string][]byte{
		"nothing":                     nil,
		"text":                        []byte("hello, this is no CAR file"),
		"JSON":                        []byte(`{"roots":[]}`),
		"header alone":                file[:59],
		"header cut short":            file[:30],
		"cut inside the root":         file[:head+5],
		"root that isn't its hash":    other,
		"cut inside a block":          file[:len(file)-5],
		"a flipped bit in a block":    flipped(file, len(file)-5),
		"a flipped bit in the header": flipped(file, 20),
		"a huge section":              append(bytes.Clone(file), 0xff, 0xff, 0xff, 0x7f),
		"an entry as root":            rooted(t, spread(t, 1)),
	} {
		_, _, err := newReplica(t, everybody, later()).Import(t.Context(), bytes.NewReader(in))
		if !errors.Is(err, graph.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func flipped(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 1
	return b
}

// rooted is a CAR whose root is a message.
func rooted(t testing.TB, r replica) []byte {
	e := r.since(t, nil)[0]
	file := export(t, r.s)[:59]
	id := e.ID()
	copy(file[17:], id[:])
	var b bytes.Buffer
	b.Write(file)
	section(&b, e.ID(), e.Block())
	return b.Bytes()
}

// TestImportGoesOn after a file that was cut short.
func TestImportGoesOn(t *testing.T) {
	a := spread(t, 100)
	file := export(t, a.s)
	b := newReplica(t, everybody, later())
	_, got, err := b.Import(t.Context(), bytes.NewReader(file[:len(file)*2/3]))
	if !errors.Is(err, graph.ErrInvalid) || len(got.New) < 50 {
		t.Fatal(len(got.New), err)
	}
	if _, got, err = b.Import(t.Context(), bytes.NewReader(file)); err != nil || got.Known < 50 || b.s.Digest() != a.s.Digest() {
		t.Fatal(got.Known, err)
	}
}

type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

func TestExportFails(t *testing.T) {
	s := spread(t, 300).s
	if _, err := s.Export(t.Context(), &full{left: 70_000}); !errors.Is(err, io.ErrShortWrite) {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Export(ctx, io.Discard); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// FuzzImport: any bytes are an error or a Space.
func FuzzImport(f *testing.F) {
	f.Add(export(f, spread(f, 3).s))
	f.Add([]byte(fmt.Sprintf("%c%s", 58, "garbage")))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := newReplica(t, everybody, later())
		if _, _, err := r.Import(t.Context(), bytes.NewReader(in)); err != nil && !errors.Is(err, graph.ErrInvalid) {
			t.Fatal(err)
		}
	})
}
