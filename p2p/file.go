package p2p

// This file holds files: a member asks another for one by CID, from an offset on, and resumes by any member (protocol.md §5.8).

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"

	"github.com/ipfs/go-cid"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	mh "github.com/multiformats/go-multihash"
	"golang.org/x/time/rate"

	"plexus/graph"
)

const protoFile protocol.ID = "/plexus/blob/1.0.0"

// Files is what this host gives to members that ask. Open returns graph.ErrNotFound for what isn't here.
type Files interface {
	Open(cid string) (file io.ReadSeekCloser, size int64, err error)
}

// Part is what has come of a file so far; what is written is appended. *os.File is one.
type Part interface {
	io.ReadWriteSeeker
	Truncate(size int64) error
}

type (
	// fileAsk asks for a file from an offset on.
	fileAsk struct {
		File   string `cbor:"1,keyasint"`
		Offset uint64 `cbor:"2,keyasint,omitempty"`
	}
	// fileSize is the answer's head: the whole file's size. Pieces follow until it is reached.
	fileSize struct {
		Size uint64 `cbor:"1,keyasint"`
	}
	filePiece struct {
		Bytes []byte `cbor:"1,keyasint"`
	}
)

// Why a file isn't given.
const (
	noFile  = "file"
	noLarge = "large"
)

// lending bounds the files given at once.
type lending struct {
	limit *rate.Limiter

	mu    sync.Mutex // owns what follows
	to    map[peer.ID]int
	total int
}

func newLending() *lending {
	return &lending{limit: rate.NewLimiter(filesPerSec, fileBurst), to: map[peer.ID]int{}}
}

// enter is false where too many files are on their way, to this peer or to all.
func (l *lending) enter(p peer.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total >= maxLending || l.to[p] >= maxLendingPer || !l.limit.Allow() {
		return false
	}
	l.total++
	l.to[p]++
	return true
}

func (l *lending) leave(p peer.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if l.to[p]--; l.to[p] == 0 {
		delete(l.to, p)
	}
}

// answerFile gives a member a file. Who is no member gets its stream reset, without a byte.
func (h *Host) answerFile(ctx context.Context, w *wire, p peer.ID) error {
	if !h.member(p) {
		return fmt.Errorf("peer is no member: %w", graph.ErrForbidden)
	}
	var ask fileAsk
	if err := w.expect(frameFile, &ask, frameTimeout); err != nil {
		return err
	}
	if h.cfg.Files == nil {
		return w.send(frameRefuse, refuse{noFile})
	}
	if !h.lends.enter(p) {
		return w.send(frameRefuse, refuse{noBusy})
	}
	defer h.lends.leave(p)
	f, size, err := h.cfg.Files.Open(ask.File)
	if errors.Is(err, graph.ErrNotFound) {
		return w.send(frameRefuse, refuse{noFile})
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if size > MaxFile {
		return w.send(frameRefuse, refuse{noLarge})
	}
	if err := w.put(frameFileSize, fileSize{uint64(size)}); err != nil {
		return err
	}
	if ask.Offset >= uint64(size) {
		return w.flush()
	}
	if _, err := f.Seek(int64(ask.Offset), io.SeekStart); err != nil {
		return fmt.Errorf("seek in file %s: %w", ask.File, err)
	}
	return sendPieces(ctx, w, f)
}

func sendPieces(ctx context.Context, w *wire, r io.Reader) error {
	buf := make([]byte, filePieceBytes)
	for {
		n, err := io.ReadFull(r, buf)
		if n > 0 {
			if err := w.send(frameFilePiece, filePiece{buf[:n]}); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return fmt.Errorf("read file: %w", err)
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

// Fetch completes part, which may hold the beginning of the file already, by asking connected members in turn, and
// checks the whole against the CID. After an error part holds what may be gone on from; after bytes that are wrong it is empty, and whoever
// sent all of them is kept out for a while.
//
// Errors: ErrInvalid for what is no CID by SHA-256 or where the bytes given were wrong; ErrNotFound where no connected member has the file;
// ErrTooLarge over 16 MiB; ErrUnavailable where nobody is connected or nobody can give it now.
func (h *Host) Fetch(ctx context.Context, file string, part Part) error {
	want, err := digestOf(file)
	if err != nil {
		return err
	}
	run, ok := h.enter()
	if !ok {
		return fmt.Errorf("fetch file %s: %w", file, graph.ErrClosed)
	}
	defer h.tasks.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(run, cancel)()
	links := h.allLinks()
	rand.Shuffle(len(links), func(i, j int) { links[i], links[j] = links[j], links[i] })
	worst := fmt.Errorf("fetch file %s: no other member is connected: %w", file, graph.ErrUnavailable)
	for i, l := range links {
		err := h.fetchFrom(ctx, l, file, want, part)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if i == 0 || !errors.Is(err, graph.ErrNotFound) { // what else went wrong says more
			worst = err
		}
	}
	return worst
}

// digestOf returns the SHA-256 in a file's CID.
func digestOf(file string) ([]byte, error) {
	c, err := cid.Decode(file)
	if err == nil {
		var d *mh.DecodedMultihash
		if d, err = mh.Decode(c.Hash()); err == nil && d.Code == mh.SHA2_256 && d.Length == sha256.Size {
			return d.Digest, nil
		}
	}
	return nil, fmt.Errorf("%.80q is no file's CID: %w", file, graph.ErrInvalid)
}

// fetchFrom asks one member. Where a part begun with others turns out wrong, the member is asked for the whole.
func (h *Host) fetchFrom(ctx context.Context, l *link, file string, want []byte, part Part) error {
	for {
		from, err := part.Seek(0, io.SeekEnd)
		if err != nil {
			return fmt.Errorf("part of file %s: %w", file, err)
		}
		if err := h.askFile(ctx, l, fileAsk{file, uint64(from)}, part); err != nil {
			return h.notGiven(l, file, err)
		}
		right, err := matches(part, want)
		if err != nil {
			return fmt.Errorf("part of file %s: %w", file, err)
		}
		if right {
			return nil
		}
		if err := part.Truncate(0); err != nil {
			return fmt.Errorf("part of file %s: %w", file, err)
		}
		if from == 0 {
			return h.notGiven(l, file, breachf("the bytes of %s aren't those its CID names", file))
		}
	}
}

// notGiven turns a member's refusal or fault into what Fetch answers.
func (h *Host) notGiven(l *link, file string, err error) error {
	var no *refused
	if !errors.As(err, &no) {
		h.fault(l.peer, err)
		if errors.Is(err, graph.ErrInvalid) || errors.Is(err, graph.ErrTooLarge) {
			return fmt.Errorf("fetch file %s from %s: %w", file, l.peer, err)
		}
		return fmt.Errorf("fetch file %s from %s: %w: %w", file, l.peer, err, graph.ErrUnavailable)
	}
	switch no.code {
	case noFile:
		return fmt.Errorf("no connected member has file %s: %w", file, graph.ErrNotFound)
	case noLarge:
		return tooLarge(file)
	}
	return fmt.Errorf("fetch file %s: %s is giving too many files just now: %w", file, l.peer, graph.ErrUnavailable)
}

func tooLarge(file string) error {
	return fmt.Errorf("file %s is over %d bytes: %w", file, MaxFile, graph.ErrTooLarge)
}

// askFile appends what one member gives.
func (h *Host) askFile(ctx context.Context, l *link, ask fileAsk, part Part) error {
	ctx, cancel := context.WithTimeout(ctx, fileTimeout)
	defer cancel()
	octx, opened := context.WithTimeout(network.WithAllowLimitedConn(ctx, "file"), openTimeout)
	defer opened()
	s, err := h.host.NewStream(octx, l.peer, protoFile)
	if err != nil {
		return fmt.Errorf("open stream: %w", err)
	}
	defer reset(s)
	defer context.AfterFunc(ctx, func() { reset(s) })()
	w := newWire(s)
	if err := w.send(frameFile, ask); err != nil {
		return err
	}
	var head fileSize
	if err := w.expect(frameFileSize, &head, frameTimeout); err != nil {
		return err
	}
	if head.Size > MaxFile {
		return errors.Join(tooLarge(ask.File), part.Truncate(0))
	}
	for have := ask.Offset; have < head.Size; {
		var p filePiece
		if err := w.expect(frameFilePiece, &p, frameTimeout); err != nil {
			return err
		}
		if len(p.Bytes) == 0 || uint64(len(p.Bytes)) > head.Size-have {
			return breachf("a piece of %d bytes where %d are due", len(p.Bytes), head.Size-have)
		}
		if _, err := part.Write(p.Bytes); err != nil {
			return fmt.Errorf("part of file %s: %w", ask.File, err)
		}
		have += uint64(len(p.Bytes))
	}
	return nil
}

// matches hashes the whole part.
func matches(part Part, want []byte) (bool, error) {
	if _, err := part.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, part); err != nil {
		return false, err
	}
	return string(sum.Sum(nil)) == string(want), nil
}
