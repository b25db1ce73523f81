package reconcile

// This file holds the exchange: what opens it and what a message is answered with.

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"plexus/graph"
)

// Set is what is reconciled: *graph.Space is one. It may grow between calls and even between two calls of one step: what
// is new may or may not be found, what was there is.
type Set interface {
	// RangeSum returns the little-endian sum of the IDs with lo ≤ key < hi, mod 2^256, and their count.
	RangeSum(ctx context.Context, lo, hi graph.Key) (sum [32]byte, n int, err error)
	// RangeKeys yields the keys with lo ≤ key < hi, ascending.
	RangeKeys(ctx context.Context, lo, hi graph.Key) iter.Seq2[graph.Key, error]
	// RangeNth returns the n-th key (0 the first) with lo ≤ key < hi, or ErrNotFound.
	RangeNth(ctx context.Context, lo, hi graph.Key, n int) (graph.Key, error)
}

// Range is lo ≤ key < hi.
type Range struct{ Lo, Hi graph.Key }

// Options are a session's settings; the zero value works.
type Options struct {
	Frame int // bytes of a message we send; 0: DefaultFrame, cut to MinFrame … MaxFrame

	// Audit names ranges whose IDs are compared one by one even where sums agree, since sums can be forged. They are
	// ascending and apart, and hold at most MaxAudit IDs together. The opener's alone.
	Audit []Range
}

// Session is one side of one exchange. Not safe for concurrent use.
type Session struct {
	set    Set
	o      Options
	opener bool
	rounds int
}

// NewSession makes the side that opens (Initiate, then Step on each answer) or the one that answers (Step alone).
func NewSession(set Set, opener bool, o Options) *Session {
	if o.Frame == 0 {
		o.Frame = DefaultFrame
	}
	o.Frame = min(max(o.Frame, MinFrame), MaxFrame)
	return &Session{set: set, o: o, opener: opener}
}

// Initiate returns the first message.
func (s *Session) Initiate(ctx context.Context) ([]byte, error) {
	w := &writer{b: []byte{version}}
	lo, room := graph.Key{}, MaxAudit
	for _, a := range s.o.Audit {
		if a.Lo.Compare(lo) < 0 || a.Hi.Compare(a.Lo) <= 0 {
			return nil, invalid("audited ranges must ascend")
		}
		if lo != a.Lo {
			if err := s.split(ctx, w, lo, a.Lo, at(a.Lo)); err != nil {
				return nil, err
			}
		}
		ids, err := s.list(ctx, a.Lo, a.Hi, room)
		if err != nil {
			return nil, err
		}
		w.ids(at(a.Hi), ids)
		lo, room = a.Hi, room-len(ids)
	}
	if lo == endKey() {
		return w.b, nil
	}
	if err := s.split(ctx, w, lo, endKey(), end()); err != nil {
		return nil, err
	}
	return w.b, nil
}

// Step takes a message in and returns the answer. The opener also learns have, IDs it has and the other side lacks, and
// want, the reverse; its out is nil when all is found. have and want come in pieces over the steps, each ID once a range. They are valid
// beside an error too: what was found before it.
//
// ErrInvalid is a message that breaks the protocol; ErrTooLarge one over MaxFrame, a session over MaxRounds, or
// a difference over MaxIDs in one step: what was found so far isn't all, so don't call it done.
func (s *Session) Step(ctx context.Context, in []byte) (out []byte, have, want []graph.ID, err error) {
	if s.rounds++; s.rounds > MaxRounds {
		return nil, nil, nil, fmt.Errorf("reconcile: %w: no end after %d rounds", graph.ErrTooLarge, MaxRounds)
	}
	if len(in) > MaxFrame {
		return nil, nil, nil, fmt.Errorf("reconcile: %w: message of %d bytes, at most %d", graph.ErrTooLarge, len(in), MaxFrame)
	}
	if len(in) == 0 || in[0] < versionLow || in[0] > versionHigh {
		return nil, nil, nil, invalid("no Negentropy message")
	}
	if in[0] != version {
		if s.opener {
			return nil, nil, nil, invalid("the other side speaks version %#x, not %#x", in[0], version)
		}
		return []byte{version}, nil, nil, nil
	}
	t := &step{Session: s, r: reader{b: in[1:]}, w: writer{b: []byte{version}}}
	if err := t.run(ctx); err != nil {
		return nil, t.have, t.want, err
	}
	if s.opener && len(t.w.b) == 1 {
		return nil, t.have, t.want, nil
	}
	return t.w.b, t.have, t.want, nil
}

// step is the answering of one message.
type step struct {
	*Session
	r          reader
	w          writer
	told       graph.Key // where the last range written ends
	have, want []graph.ID
}

// run answers range by range, until the frame is full: then the rest is one fingerprint.
func (t *step) run(ctx context.Context) error {
	lo := bound{}
	for len(t.r.b) > 0 {
		hi, m, err := t.r.head()
		if err != nil {
			return err
		}
		kept := t.w
		full, err := t.answer(ctx, lo, hi, m)
		if err != nil {
			return err
		}
		if m == modeFingerprint && len(t.w.b) > t.o.Frame-reserve {
			full, t.w = true, kept
		}
		if !full && len(t.w.b) > len(kept.b) {
			t.told = hi.key()
		}
		if full || len(t.w.b) > t.o.Frame-reserve {
			return t.rest(ctx)
		}
		lo = hi
	}
	return nil
}

// rest tells everything from the last range written on by one fingerprint.
func (t *step) rest(ctx context.Context) error {
	if t.told == endKey() {
		return nil
	}
	s, _, err := t.sum(ctx, t.told, endKey())
	if err != nil {
		return err
	}
	t.w.fingerprint(end(), s)
	return nil
}

// answer writes what one range of the other side calls for; full says that a list of IDs was cut short, at told.
func (t *step) answer(ctx context.Context, lo, hi bound, m mode) (full bool, err error) {
	switch m {
	case modeFingerprint:
		return false, t.compare(ctx, lo, hi)
	case modeIDs:
		theirs, err := t.r.ids()
		if err != nil {
			return false, err
		}
		if t.opener {
			return false, t.learn(ctx, lo.key(), hi.key(), theirs)
		}
		return t.give(ctx, lo, hi)
	default:
		return false, nil
	}
}

// gap writes a skip up to where the next range starts, unless that is where the last one ended.
func (t *step) gap(lo bound) {
	if lo.key() != t.told {
		t.w.skip(lo)
	}
}

// compare cuts the range where their fingerprint isn't ours.
func (t *step) compare(ctx context.Context, lo, hi bound) error {
	theirs, err := t.r.take(fingerprintSize)
	if err != nil {
		return err
	}
	ours, _, err := t.sum(ctx, lo.key(), hi.key())
	if err != nil {
		return err
	}
	if f := ours.fingerprint(); bytes.Equal(f[:], theirs) {
		return nil
	}
	t.gap(lo)
	return t.split(ctx, &t.w, lo.key(), hi.key(), hi)
}

// learn holds their IDs of a range against ours.
func (t *step) learn(ctx context.Context, lo, hi graph.Key, theirs []graph.ID) error {
	open := make(map[graph.ID]bool, len(theirs))
	for _, id := range theirs {
		open[id] = true
	}
	for k, err := range t.set.RangeKeys(ctx, lo, hi) {
		if err != nil {
			return err
		}
		if open[k.ID] {
			open[k.ID] = false
			continue
		}
		if err := t.room(); err != nil {
			return err
		}
		t.have = append(t.have, k.ID)
	}
	for _, id := range theirs { // in their order: a map has none
		if !open[id] {
			continue
		}
		open[id] = false
		if err := t.room(); err != nil {
			return err
		}
		t.want = append(t.want, id)
	}
	return nil
}

func (t *step) room() error {
	if len(t.have)+len(t.want) >= MaxIDs {
		return fmt.Errorf("reconcile: %w: more than %d IDs differ", graph.ErrTooLarge, MaxIDs)
	}
	return nil
}

// give answers a list with ours of the same range, as far as the frame has room.
func (t *step) give(ctx context.Context, lo, hi bound) (full bool, err error) {
	t.gap(lo)
	room := t.o.Frame - reserve - len(t.w.b)
	var ids []graph.ID
	for k, err := range t.set.RangeKeys(ctx, lo.key(), hi.key()) {
		if err != nil {
			return false, err
		}
		if len(ids)*idSize > room {
			hi, full = at(k), true
			break
		}
		ids = append(ids, k.ID)
	}
	t.w.ids(hi, ids)
	if full {
		t.told = hi.key()
	}
	return full, nil
}
