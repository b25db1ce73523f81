package graph

// This file holds CAR files (CARv1): a Space to go. The reader is go-car's; the writer is our own, since theirs keeps an
// index of all blocks in memory.

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ipld/go-car/v2"
)

// Export writes the genesis (the CAR's root, and its first block) and all admitted entries in canonical order as a CARv1. entries
// doesn't count the genesis.
func (s *Space) Export(ctx context.Context, w io.Writer) (entries int, err error) {
	out := bufio.NewWriterSize(w, 64<<10)
	entries, err = s.export(ctx, out)
	if err = errors.Join(err, out.Flush()); err != nil {
		return entries, fmt.Errorf("export space %s: %w", s.ID(), err)
	}
	return entries, nil
}

func (s *Space) export(ctx context.Context, w *bufio.Writer) (entries int, err error) {
	if err := carHeader(w, s.ID()); err != nil {
		return 0, err
	}
	if err := carBlock(w, s.ID(), s.genesis.Block); err != nil {
		return 0, err
	}
	for kv, err := range s.scan(ksBlock) {
		if err == nil {
			err = ctx.Err()
		}
		var h blockHead
		if err == nil {
			h, err = readBlock(kv.Value)
		}
		if err == nil {
			err = carBlock(w, lastKey(kv.Key).ID, h.block)
		}
		if err != nil {
			return entries, err
		}
		entries++
	}
	return entries, nil
}

// carHeader writes {"roots": [root], "version": 1} in DAG-CBOR, behind its length.
func carHeader(w *bufio.Writer, root ID) error {
	h := append([]byte{0xa2, 0x65}, "roots\x81\xd8\x2a\x58\x25\x00"...)
	h = append(append(h, cidPrefix...), root[:]...)
	h = append(h, "\x67version\x01"...)
	_, err := w.Write(append(binary.AppendUvarint(nil, uint64(len(h))), h...))
	return err
}

// carBlock writes a CID and its block, behind their length.
func carBlock(w *bufio.Writer, id ID, block []byte) error {
	head := binary.AppendUvarint(make([]byte, 0, 48), uint64(len(cidPrefix)+len(id)+len(block)))
	head = append(append(head, cidPrefix...), id[:]...)
	_, err := w.Write(head)
	if err == nil {
		_, err = w.Write(block)
	}
	return err
}

// Import reads a CAR made by Export: every block is decoded and verified and goes through Add. The Space is made where it isn't here.
// The result is that of all blocks together; its New say position and event alone, their Entry is nil, so that a file of any size
// can be read. An error leaves what was read before it admitted, and importing again goes on where it ended.
//
// ErrInvalid: no CAR, cut short, damaged, or no Space's. A block that breaks a rule doesn't end the import; it is in Refused.
func (l *Log) Import(ctx context.Context, r io.Reader) (*Space, AddResult, error) {
	in, g, err := carOpen(r)
	if err != nil {
		return nil, AddResult{}, fmt.Errorf("import: %w", err)
	}
	s, err := l.Create(ctx, g)
	if err != nil {
		return nil, AddResult{}, fmt.Errorf("import: %w", err)
	}
	m := importing{s: s}
	err = m.read(ctx, in)
	if e := m.flush(ctx); err == nil {
		err = e
	}
	if err != nil {
		return s, m.result, fmt.Errorf("import space %s: after %d blocks: %w", s.ID(), m.blocks, err)
	}
	m.settle()
	return s, m.result, nil
}

// carOpen reads a CAR's header and its root, which has to be a genesis and its first block.
func carOpen(r io.Reader) (*car.BlockReader, Genesis, error) {
	in, err := car.NewBlockReader(bufio.NewReaderSize(r, 64<<10), car.MaxAllowedHeaderSize(maxCarHeader), car.MaxAllowedSectionSize(maxCarSection))
	if err != nil {
		return nil, Genesis{}, carError(err)
	}
	b, err := in.Next()
	if err != nil {
		return nil, Genesis{}, carError(err)
	}
	if len(in.Roots) != 1 || !in.Roots[0].Equals(b.Cid()) {
		return nil, Genesis{}, fmt.Errorf("%w: its first block is not its one root", ErrInvalid)
	}
	g, err := DecodeGenesis(b.RawData())
	return in, g, err
}

// carError names what go-car found: the file's fault, unless reading it failed.
func carError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: the CAR file is cut short", ErrInvalid)
	}
	return fmt.Errorf("%w: not a CAR file we can read, or a damaged one: %w", ErrInvalid, err)
}

// importing is an import under way.
type importing struct {
	s      *Space
	batch  [][]byte
	size   int
	blocks int // read
	result AddResult
}

// read takes block after block to the end of the file.
func (m *importing) read(ctx context.Context, in *car.BlockReader) error {
	for {
		b, err := in.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return carError(err)
		}
		m.blocks++
		m.batch = append(m.batch, b.RawData())
		if m.size += len(b.RawData()); len(m.batch) < chunkEntries && m.size < chunkBytes {
			continue
		}
		if err := m.flush(ctx); err != nil {
			return err
		}
	}
}

// flush adds the batch.
func (m *importing) flush(ctx context.Context) error {
	entries, errs := DecodeBatch(m.batch)
	m.batch, m.size = nil, 0
	good := entries[:0]
	for i, e := range entries {
		var bad *InvalidError
		switch {
		case errs[i] == nil:
			good = append(good, e)
		case errors.As(errs[i], &bad):
			m.result.Refused = append(m.result.Refused, bad)
		default:
			return errs[i]
		}
	}
	got, err := m.s.Add(ctx, good, AddOptions{})
	if err != nil {
		return err
	}
	for _, st := range got.New {
		m.result.New = append(m.result.New, Stored{Pos: st.Pos, Event: st.Event})
	}
	m.result.Known += got.Known
	m.result.Held = append(m.result.Held, got.Held...)
	m.result.Refused = append(m.result.Refused, got.Refused...)
	return nil
}

// settle drops from the held what was admitted by a later batch.
func (m *importing) settle() {
	m.result.Held = slices.DeleteFunc(m.result.Held, m.s.Has)
	m.result.Missing = m.s.Missing()
}
