package p2p

// This file holds the frames of the join, sync, file and state protocols: a 4-byte big-endian length, a byte that says what it
// is, and a CBOR map with small integers as keys (protocol.md §5.2). Unknown keys are skipped, so that newer peers can say more.

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/libp2p/go-libp2p/core/network"

	"plexus/graph"
)

// frameType says what a frame holds.
type frameType byte

// The frames of sync, then those of join, of files and of states. Numbers are never given anew.
const (
	frameHello   frameType = 1
	frameGenesis frameType = 2
	frameOpen    frameType = 3
	frameTips    frameType = 4
	frameBlocks  frameType = 5
	frameEnd     frameType = 6
	frameState   frameType = 7
	frameRange   frameType = 8
	frameWant    frameType = 9
	framePush    frameType = 10
	frameRefuse  frameType = 12
	frameAsk     frameType = 20
	frameNonce   frameType = 21
	frameProof   frameType = 22
	frameWelcome frameType = 23

	frameFile      frameType = 30
	frameFileSize  frameType = 31
	frameFilePiece frameType = 32

	frameStates frameType = 40
	framePrefix frameType = 41
	framePoints frameType = 42
)

type (
	// hello opens a session: which Network, what time, which Spaces with which digests. More says that another hello follows;
	// Part that the Spaces are those asked about, not all.
	hello struct {
		Network []byte   `cbor:"1,keyasint"`
		Time    int64    `cbor:"2,keyasint"`
		Spaces  []listed `cbor:"3,keyasint,omitempty"`
		Part    bool     `cbor:"4,keyasint,omitempty"`
		More    bool     `cbor:"5,keyasint,omitempty"`
		Records [][]byte `cbor:"6,keyasint,omitempty"` // signed peer records of members
	}
	listed struct {
		_     struct{} `cbor:",toarray"`
		Space []byte
		Count uint64
		Heads []byte
	}
	// genesis gives genesis blocks and asks for others by ID.
	genesis struct {
		Blocks [][]byte `cbor:"1,keyasint,omitempty"`
		Want   []byte   `cbor:"2,keyasint,omitempty"`
	}
	// open begins the exchange of one Space; tips follow.
	open struct {
		Space []byte `cbor:"1,keyasint"`
	}
	// tips is a piece of a frontier: author (32) ‖ seq (8, big-endian) ‖ ID (32), each. Over says that the sender has more
	// authors than a frontier may have, and gives none.
	tips struct {
		Tips []byte `cbor:"1,keyasint,omitempty"`
		More bool   `cbor:"2,keyasint,omitempty"`
		Over bool   `cbor:"3,keyasint,omitempty"`
	}
	blocks struct {
		Blocks [][]byte `cbor:"1,keyasint"`
	}
	// end closes a run of blocks.
	end struct {
		Count uint64 `cbor:"1,keyasint"`
	}
	// state is the digest after everything that was sent has been taken in.
	state struct {
		Count uint64 `cbor:"1,keyasint"`
		Heads []byte `cbor:"2,keyasint"`
	}
	// ranges carries one message of range reconciliation; First begins a session.
	ranges struct {
		Space   []byte `cbor:"1,keyasint"`
		Message []byte `cbor:"2,keyasint,omitempty"`
		First   bool   `cbor:"3,keyasint,omitempty"`
	}
	// want asks for blocks by ID.
	want struct {
		Space []byte `cbor:"1,keyasint"`
		IDs   []byte `cbor:"2,keyasint"`
	}
	// push announces blocks nobody asked for in so many words; blocks and an end follow.
	push struct {
		Space []byte `cbor:"1,keyasint"`
	}
	// refuse says no, and why.
	refuse struct {
		Code string `cbor:"1,keyasint"`
	}
)

var (
	frameDec = must(cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden,
		MaxNestedLevels: 8, MaxArrayElements: maxIDs, MaxMapPairs: 32,
	}.DecMode())
	frameEnc = must(cbor.CoreDetEncOptions().EncMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // constant options
	}
	return v
}

// breach is a peer's breaking of the protocol: it is disconnected and scored.
type breach struct{ what string }

func (b *breach) Error() string { return "peer broke the protocol: " + b.what }

// Is makes a breach graph.ErrInvalid.
func (b *breach) Is(target error) bool { return target == graph.ErrInvalid }

func breachf(format string, args ...any) error { return &breach{fmt.Sprintf(format, args...)} }

// cut is a stream that broke off.
type cut struct {
	op  string
	err error
}

func (c *cut) Error() string { return c.op + ": " + c.err.Error() }

func (c *cut) Unwrap() error { return c.err }

// refused is the other side's refuse frame.
type refused struct{ code string }

func (r *refused) Error() string { return "peer refused: " + r.code }

// wire reads and writes frames on a stream. One goroutine may read while another writes.
type wire struct {
	s network.Stream
	r *bufio.Reader
	w *bufio.Writer
}

func newWire(s network.Stream) *wire {
	return &wire{s: s, r: bufio.NewReaderSize(s, 32<<10), w: bufio.NewWriterSize(s, 32<<10)}
}

// put writes a frame into the buffer; flush sends.
func (w *wire) put(t frameType, v any) error {
	body, err := frameEnc.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode frame %d: %w", t, err)
	}
	if err := w.s.SetWriteDeadline(time.Now().Add(frameTimeout)); err != nil {
		return &cut{"write frame", err}
	}
	if err := writeFrame(w.w, t, body); err != nil {
		return &cut{"write frame", err}
	}
	return nil
}

func (w *wire) flush() error {
	if err := w.s.SetWriteDeadline(time.Now().Add(frameTimeout)); err != nil {
		return &cut{"write frame", err}
	}
	if err := w.w.Flush(); err != nil {
		return &cut{"write frame", err}
	}
	return nil
}

// send is put and flush.
func (w *wire) send(t frameType, v any) error {
	if err := w.put(t, v); err != nil {
		return err
	}
	return w.flush()
}

// next reads a frame whatever it is. io.EOF at a frame's border means that the other side is done.
func (w *wire) next(wait time.Duration) (frameType, []byte, error) {
	if err := w.s.SetReadDeadline(time.Now().Add(wait)); err != nil {
		return 0, nil, &cut{"read frame", err}
	}
	return readFrame(w.r)
}

// expect reads a frame that must be of type t, or a refusal.
func (w *wire) expect(t frameType, v any, wait time.Duration) error {
	got, body, err := w.next(wait)
	if err != nil {
		return err
	}
	return parseAs(t, v, got, body)
}

func parseAs(t frameType, v any, got frameType, body []byte) error {
	if got == frameRefuse {
		var r refuse
		if err := parse(body, &r); err != nil {
			return err
		}
		return &refused{r.Code}
	}
	if got != t {
		return breachf("frame %d where %d was due", got, t)
	}
	return parse(body, v)
}

func parse(body []byte, v any) error {
	if err := frameDec.Unmarshal(body, v); err != nil {
		return breachf("%v", err)
	}
	return nil
}

func writeFrame(w io.Writer, t frameType, body []byte) error {
	if len(body) > maxFrame {
		panic(fmt.Sprintf("frame %d of %d bytes", t, len(body))) // senders keep the bounds
	}
	var head [5]byte
	binary.BigEndian.PutUint32(head[:4], uint32(len(body)))
	head[4] = byte(t)
	if _, err := w.Write(head[:]); err != nil {
		return err
	}
	_, err := w.Write(body)
	return err
}

// readFrame reads one frame. The body is read as it comes, so that a length that lies costs no memory.
func readFrame(r *bufio.Reader) (frameType, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:1]); err != nil {
		return 0, nil, &cut{"read frame", err} // io.EOF at a frame's border is a good end
	}
	if _, err := io.ReadFull(r, head[1:]); err != nil {
		return 0, nil, &cut{"read frame", err}
	}
	n := int(binary.BigEndian.Uint32(head[:4]))
	if n > maxFrame {
		return 0, nil, breachf("frame of %d bytes, over %d", n, maxFrame)
	}
	body := make([]byte, min(n, 64<<10))
	for have := 0; ; {
		got, err := io.ReadFull(r, body[have:])
		if have += got; err != nil {
			return 0, nil, &cut{"read frame", err}
		}
		if have == n {
			return frameType(head[4]), body, nil
		}
		body = append(body, make([]byte, min(n-have, have))...)
	}
}

// id32 reads a 32-byte field.
func id32(b []byte) (out [32]byte, err error) {
	if len(b) != 32 {
		return out, breachf("a field of %d bytes where 32 are due", len(b))
	}
	return [32]byte(b), nil
}

// packIDs joins IDs to one byte string; unpackIDs takes it apart.
func packIDs(ids []graph.ID) []byte {
	out := make([]byte, 0, 32*len(ids))
	for _, id := range ids {
		out = append(out, id[:]...)
	}
	return out
}

func unpackIDs(b []byte) ([]graph.ID, error) {
	if len(b)%32 != 0 || len(b) > 32*maxIDs {
		return nil, breachf("%d bytes of ids", len(b))
	}
	out := make([]graph.ID, len(b)/32)
	for i := range out {
		out[i] = graph.ID(b[32*i:])
	}
	return out, nil
}

const tipSize = 32 + 8 + 32

func packTip(out []byte, t graph.ChainTip) []byte {
	out = append(out, t.Author[:]...)
	out = binary.BigEndian.AppendUint64(out, t.Seq)
	return append(out, t.ID[:]...)
}

func unpackTips(b []byte, add func(graph.ChainTip) error) error {
	if len(b)%tipSize != 0 || len(b) > tipSize*maxTips {
		return breachf("%d bytes of tips", len(b))
	}
	for ; len(b) > 0; b = b[tipSize:] {
		t := graph.ChainTip{Author: graph.NodeID(b[:32]), Seq: binary.BigEndian.Uint64(b[32:40]), ID: graph.ID(b[40:72])}
		if t.Seq < 1 || t.Seq > graph.MaxSeq {
			return breachf("seq %d in a frontier", t.Seq)
		}
		if err := add(t); err != nil {
			return err
		}
	}
	return nil
}
