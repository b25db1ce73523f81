package graph

// This file holds the entries that wait for a grant of their author, on disk with a quota per delivering host, and
// those that wait for their time, of which only the name is kept.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// quota is what one host's strangers take up.
type quota struct{ bytes, count uint64 }

// full says whether another n bytes are too many.
func (q quota) full(n int) bool {
	return q.count >= MaxStrangers || q.bytes+uint64(n) > MaxStrangerBytes
}

// loadHeld reads what is held on disk.
func (s *Space) loadHeld() error {
	for kv, err := range s.scan(ksQuota) {
		if err != nil {
			return err
		}
		if len(kv.Value) != 40 {
			return corrupt("quota", kv.Value)
		}
		q := quota{binary.LittleEndian.Uint64(kv.Value), binary.LittleEndian.Uint64(kv.Value[32:])}
		s.quotas[NodeID(kv.Key[5:])] = q
	}
	for kv, err := range s.scan(ksFuture) {
		if err != nil {
			return err
		}
		if len(kv.Value) != 32 {
			return corrupt("future", kv.Value)
		}
		s.future.apply(futureChange{lastKey(kv.Key), NodeID(kv.Value), true})
	}
	return nil
}

// holdStranger keeps the entry of an author never yet granted, under its deliverer's quota.
func (b *batch) holdStranger(e *Entry, from NodeID) error {
	_, err := b.s.log.st.Get(waitsKey(b.s.num, e.id))
	if err == nil || !errors.Is(err, ErrNotFound) {
		return err
	}
	if b.strangers[e.id] || b.quota(from).full(len(e.block)) {
		return nil
	}
	if b.strangers == nil {
		b.strangers = map[ID]bool{}
	}
	b.strangers[e.id] = true
	k := stranger{author: e.body.Author, seq: e.body.Seq, key: Key{e.body.Time, e.id}}
	b.set(strangerKey(b.s.num, k.author, k.seq, e.id), append(append(make([]byte, 0, 32+len(e.block)), from[:]...), e.block...))
	b.set(waitsKey(b.s.num, e.id), k.value())
	b.charge(from, int64(len(e.block)), 1)
	return nil
}

// quota returns a host's quota as the batch leaves it.
func (b *batch) quota(host NodeID) quota {
	if q, ok := b.quotas[host]; ok {
		return q
	}
	return b.s.quotas[host]
}

// charge changes a host's quota.
func (b *batch) charge(host NodeID, bytes, count int64) {
	q := b.quota(host)
	b.quotas[host] = quota{q.bytes + uint64(bytes), q.count + uint64(count)}
}

// stranger is an entry held for a grant.
type stranger struct {
	author NodeID
	seq    uint64
	key    Key
}

// value is what waits keeps: author, seq, time.
func (k stranger) value() []byte {
	b := append(make([]byte, 0, 48), k.author[:]...)
	return put64(put64(b, k.seq), k.key.Time)
}

func readStranger(key, v []byte) (stranger, error) {
	if len(v) != 48 {
		return stranger{}, corrupt("waits", v)
	}
	return stranger{NodeID(v), get64[uint64](v[32:]), Key{get64[Time](v[40:]), ID(key[5:])}}, nil
}

// granted lists the strangers whose author is known now, in canonical order. The caller holds the mutex.
func (s *Space) granted() (out []stranger, err error) {
	if len(s.quotas) == 0 {
		return nil, nil
	}
	known := map[NodeID]bool{}
	for kv, err := range s.scan(ksWaits) {
		if err != nil {
			return nil, err
		}
		k, err := readStranger(kv.Key, kv.Value)
		if err != nil {
			return nil, err
		}
		if _, ok := known[k.author]; !ok {
			known[k.author] = s.authors[k.author] != nil || s.rights.Standing(s.genesis, k.author).Known
		}
		if known[k.author] {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b stranger) int { return a.key.Compare(b.key) })
	return out, nil
}

// welcome admits the strangers whose author is known now, some at a time: what a crash leaves is taken in by the next call. All is
// durable when it returns.
func (s *Space) welcome(ctx context.Context) (added []Stored, err error) {
	s.mu.Lock()
	granted, err := s.granted()
	s.mu.Unlock()
	for err == nil && len(granted) > 0 {
		if err = ctx.Err(); err != nil {
			break
		}
		s.mu.Lock()
		b := s.begin(NodeID{})
		var done func() error
		granted, done, err = b.welcomeSome(granted)
		s.mu.Unlock()
		if err == nil {
			err = done()
		}
		if err == nil {
			added = append(added, b.result.New...)
			err = s.reviewAll(ctx, b.cut)
		}
	}
	return added, err
}

// welcomeSome admits a chunk and returns the rest. The caller holds the mutex.
func (b *batch) welcomeSome(granted []stranger) (rest []stranger, done func() error, err error) {
	n, size := 0, 0
	for n < len(granted) && n < chunkEntries && size < chunkBytes {
		block, err := b.admitStranger(granted[n])
		if err != nil {
			return nil, nothing, err
		}
		n, size = n+1, size+block
	}
	done, err = b.commit()
	return granted[n:], done, err
}

// admitStranger takes one out of the hold and offers it as if it came now. It returns the block's size.
func (b *batch) admitStranger(k stranger) (int, error) {
	key := strangerKey(b.s.num, k.author, k.seq, k.key.ID)
	v, err := b.s.log.st.Get(key)
	if isNotFound(err) {
		return 0, nil // taken out by another call
	}
	if err != nil {
		return 0, fmt.Errorf("read held entry %s: %w", k.key.ID, err)
	}
	if len(v) < 32 {
		return 0, corrupt("stranger", v)
	}
	host, block := NodeID(v[:32]), v[32:]
	e, err := decodeStored(k.key.ID, block)
	if err != nil {
		return 0, err
	}
	b.del(key)
	b.del(waitsKey(b.s.num, k.key.ID))
	b.charge(host, -int64(len(block)), -1)
	return len(block), b.offer(e, host)
}

// finishQuotas writes the quotas that changed.
func (b *batch) finishQuotas() {
	for host, q := range b.quotas {
		if q.count == 0 {
			b.del(quotaKey(b.s.num, host))
			continue
		}
		v := make([]byte, 40)
		binary.LittleEndian.PutUint64(v, q.bytes)
		binary.LittleEndian.PutUint64(v[32:], q.count)
		b.set(quotaKey(b.s.num, host), v)
	}
}

// futures are the names of entries ahead of our clock. Owned by the Space's mutex.
type futures struct {
	at    map[ID]futureEntry
	hosts map[NodeID]int
}

type futureEntry struct {
	time Time
	host NodeID
}

// futureChange puts one in, or takes one out.
type futureChange struct {
	key  Key
	host NodeID
	in   bool
}

func (f *futures) apply(c futureChange) {
	was, ok := f.at[c.key.ID]
	switch {
	case ok == c.in:
	case c.in:
		f.at[c.key.ID] = futureEntry{c.key.Time, c.host}
		f.hosts[c.host]++
	default:
		delete(f.at, c.key.ID)
		if f.hosts[was.host]--; f.hosts[was.host] == 0 {
			delete(f.hosts, was.host)
		}
	}
}

// holdFuture notes the entry's name and time, if the host that brings it has not too many of them.
func (b *batch) holdFuture(e *Entry, from NodeID) {
	if _, ok := b.s.future.at[e.id]; ok || b.future[e.id].in || b.s.future.hosts[from]+b.futures[from] >= MaxFutures {
		return
	}
	if b.future == nil {
		b.future, b.futures = map[ID]futureChange{}, map[NodeID]int{}
	}
	k := Key{e.body.Time, e.id}
	b.future[e.id] = futureChange{k, from, true}
	b.futures[from]++
	b.set(futureKey(b.s.num, k), from[:])
}

// unfuture forgets the name of an entry that is admitted.
func (b *batch) unfuture(e *Entry) {
	if f, ok := b.s.future.at[e.id]; ok {
		b.dropFuture(Key{f.time, e.id})
	}
}

func (b *batch) dropFuture(k Key) {
	if b.future == nil {
		b.future, b.futures = map[ID]futureChange{}, map[NodeID]int{}
	}
	b.future[k.ID] = futureChange{key: k}
	b.del(futureKey(b.s.num, k))
}

// Due looks after what is held: it takes in entries whose author's grant has come, and returns in fetch the IDs, in canonical order, of
// entries whose time has come; their blocks weren't kept, so ask for them. Call it now and then.
func (s *Space) Due(ctx context.Context) (added []Stored, fetch []ID, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	fetch, done, err := s.due()
	s.mu.Unlock()
	if err == nil {
		err = done()
	}
	if err == nil {
		added, err = s.welcome(ctx)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("take in what is due in space %s: %w", s.ID(), err)
	}
	return added, fetch, nil
}

// due takes the names out of entries whose time has come. The caller holds the mutex.
func (s *Space) due() (fetch []ID, done func() error, err error) {
	b := s.begin(NodeID{})
	var keys []Key
	for id, f := range s.future.at {
		if f.time <= b.now+Time(MaxFuture.Microseconds()) {
			keys = append(keys, Key{f.time, id})
		}
	}
	slices.SortFunc(keys, Key.Compare)
	for _, k := range keys {
		fetch = append(fetch, k.ID)
		b.dropFuture(k)
	}
	done, err = b.commit()
	return fetch, done, err
}
