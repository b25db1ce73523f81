package graph

// This file holds the Log: all Spaces of one data dir and the arrival numbers they share.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Pos is a local arrival number: dense per data dir, ascending, never reused. 0 is before everything. It is never
// sent to another node; outside the process it appears only as the message ID a cursor resolves.
type Pos uint64

// Event says what an arrival record means for a reader.
type Event uint8

// Added: admitted, not visible (another kind, void, malformed). Shown: a visible message or profile, at its arrival or when
// a later change of access made it so. Withdrawn: was shown, is void now.
const (
	Added Event = iota
	Shown
	Withdrawn
)

// Stored is one record of the arrival log.
type Stored struct {
	Pos   Pos
	Event Event
	Entry *Entry
}

// LogOptions are Open's settings; the zero value works.
type LogOptions struct {
	Now    func() time.Time // nil: time.Now
	Rights Rights           // nil: until Apply, what was applied before the restart stays, and no further author is known
}

// Log is all Spaces of one data dir. Safe for concurrent use.
type Log struct {
	st     Store
	now    func() time.Time
	recent recent
	mark   mark // of all Spaces
	closed atomic.Bool

	applying sync.Mutex // one Apply or Create at a time; taken before all others

	mu     sync.RWMutex // owns what follows; never held while a Space's mutex is taken
	spaces map[ID]*Space
	byNum  map[num]*Space
	rights Rights

	commit sync.Mutex // owns what follows: numbers are given and batches applied one after the other
	next   Pos        // the last number given
	broken error      // a sync failed: nothing is written any more
}

// OpenLog opens what lies in the store and, given rights, brings each Space's visibility up to them.
// It starts no goroutine.
func OpenLog(st Store, o LogOptions) (*Log, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	l := &Log{st: st, now: o.Now, spaces: map[ID]*Space{}, byNum: map[num]*Space{}, rights: nobody{}}
	for kv, err := range st.Scan([]byte{ksRun}, []byte{ksRun + 1}, true) {
		if err != nil {
			return nil, fmt.Errorf("open log: %w", err)
		}
		l.next = get64[Pos](kv.Key[1:])
		break
	}
	l.mark.pos = l.next
	if err := l.load(); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	if o.Rights != nil {
		if err := l.Apply(context.Background(), o.Rights); err != nil {
			return nil, fmt.Errorf("open log: %w", err)
		}
	}
	return l, nil
}

// load reads the table of Spaces.
func (l *Log) load() error {
	for kv, err := range l.st.Scan([]byte{ksGenesis}, []byte{ksGenesis + 1}, false) {
		if err != nil {
			return err
		}
		g, err := DecodeGenesis(slices.Clone(kv.Value))
		if err != nil {
			return fmt.Errorf("genesis: %w", err)
		}
		s := newSpace(l, num(binary.BigEndian.Uint32(kv.Key[1:])), g)
		if err := s.open(context.Background()); err != nil {
			return fmt.Errorf("space %s: %w", g.ID, err)
		}
		l.spaces[g.ID], l.byNum[s.num] = s, s
	}
	return nil
}

// Close ends every Tail and Wait with ErrClosed and refuses what is begun after it. It is safe twice; it doesn't close the Store.
func (l *Log) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	l.mark.close()
	for _, s := range l.list() {
		s.mark.close()
	}
	return nil
}

// Create makes the Space of a genesis, or returns the one that is there. A new one is durable when Create returns.
func (l *Log) Create(ctx context.Context, g Genesis) (*Space, error) {
	l.applying.Lock()
	defer l.applying.Unlock()
	if s, err := l.Space(g.ID); err == nil || !errors.Is(err, ErrNotFound) {
		return s, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := newSpace(l, num(len(l.byNum)+1), g)
	s.rights = l.Rights()
	wait, err := l.st.Apply([]Op{{Kind: Set, Key: genesisKey(s.num), Value: g.Block}})
	if err == nil {
		err = wait()
	}
	if err != nil {
		return nil, fmt.Errorf("create space %s: %w", g.ID, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spaces[g.ID], l.byNum[s.num] = s, s
	if l.closed.Load() {
		s.mark.close()
	}
	return s, nil
}

// Space returns a Space by ID, or ErrNotFound.
func (l *Log) Space(id ID) (*Space, error) {
	if l.closed.Load() {
		return nil, ErrClosed
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if s := l.spaces[id]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("space '%s': %w", id, ErrNotFound)
}

// Spaces lists the IDs, ascending.
func (l *Log) Spaces() []ID {
	l.mu.RLock()
	defer l.mu.RUnlock()
	ids := make([]ID, 0, len(l.spaces))
	for id := range l.spaces {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, ID.Compare)
	return ids
}

// list returns the Spaces in the order they were made.
func (l *Log) list() []*Space {
	l.mu.RLock()
	defer l.mu.RUnlock()
	out := make([]*Space, 0, len(l.byNum))
	for n := num(1); int(n) <= len(l.byNum); n++ {
		out = append(out, l.byNum[n])
	}
	return out
}

// Rights returns what Apply set last; before that, rights by which nobody is known.
func (l *Log) Rights() Rights {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.rights
}

// Last returns the greatest durable arrival number.
func (l *Log) Last() Pos { return l.mark.last() }

// Written returns the greatest arrival number that reads and digests may already speak of; Last follows once it is durable.
func (l *Log) Written() Pos {
	l.commit.Lock()
	defer l.commit.Unlock()
	return l.next
}

// Wait blocks until Last() > after, or ctx ends (its error), or the Log is closed (ErrClosed).
func (l *Log) Wait(ctx context.Context, after Pos) error {
	_, err := l.mark.wait(ctx, after)
	return err
}

// Find returns an admitted entry by ID in whichever Space it lies, void ones included (a cursor may name one); else
// ErrNotFound. Pos is the place it has in every page: its first Shown record, or its first record where it was never shown.
// Event says what it is now.
func (l *Log) Find(id ID) (Stored, error) {
	m, err := l.meta(id)
	if err != nil {
		return Stored{}, err
	}
	e, err := l.entry(place{m.space, Key{m.time, id}})
	if err != nil {
		return Stored{}, err
	}
	st := Stored{Pos: m.pos, Event: Added, Entry: e}
	if m.shown != 0 {
		st.Pos, st.Event = m.shown, Withdrawn
	}
	if m.kind.tells() && m.flags&visible != 0 {
		st.Event = Shown
	}
	return st, nil
}

// meta reads an entry's meta, or ErrNotFound.
func (l *Log) meta(id ID) (meta, error) {
	if m, ok := l.recent.meta(id); ok {
		return m, nil
	}
	b, err := l.st.Get(entryKey(id))
	if errors.Is(err, ErrNotFound) {
		return meta{}, fmt.Errorf("entry '%s': %w", id, ErrNotFound)
	}
	if err != nil {
		return meta{}, fmt.Errorf("read entry %s: %w", id, err)
	}
	m, err := readMeta(b)
	if err != nil {
		return meta{}, err
	}
	return *m, nil
}

// entry reads an entry.
func (l *Log) entry(p place) (*Entry, error) {
	if e := l.recent.entry(p.key.ID); e != nil {
		return e, nil
	}
	h, err := l.block(p)
	if err != nil {
		return nil, err
	}
	return decodeStored(p.key.ID, h.block)
}

// block reads a block's value, or ErrNotFound.
func (l *Log) block(p place) (blockHead, error) {
	b, err := l.st.Get(blockKey(p.space, p.key))
	if errors.Is(err, ErrNotFound) {
		return blockHead{}, fmt.Errorf("entry '%s': %w", p.key.ID, ErrNotFound)
	}
	if err != nil {
		return blockHead{}, fmt.Errorf("read entry %s: %w", p.key.ID, err)
	}
	return readBlock(b)
}

// corrupt is the error of a value that isn't as keys.go says.
func corrupt(what string, v []byte) error {
	return fmt.Errorf("store: %s record of %d bytes is %w; run plexus verify: %w", what, len(v), errDamaged, ErrUnavailable)
}

// errDamaged is in the chain of corrupt's errors.
var errDamaged = errors.New("damaged")

// isNotFound says whether an error is ErrNotFound.
func isNotFound(err error) bool { return errors.Is(err, ErrNotFound) }
