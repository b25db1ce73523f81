package graph

// This file holds every keyspace of the store and its layout: what lies where is decided here alone.
//
// A key is one prefix byte and the fields below, in order. num is the Space's number in this data dir (4 bytes, given
// at Create); pos, time, seq and bucket are 8 bytes; all are big-endian, so that byte order is their order. Ids, authors, nodes
// and hosts are 32 bytes.
//
//	prefix         key                       value
//	0x01 genesis   num                       the genesis block
//	0x02 record    len name key              whatever another part of the node keeps there
//	0x03 run       pos (last of the run)     num, pos (first of the run): arrivals come in runs of one Space
//	0x04 entry     id                        meta (see below)
//	0x05 inbox     node pos                  place of a visible message that names the node
//	0x10 stat      num                       admitted (8), visible messages (8)
//	0x11 block     num time id               head (see below), block: the canonical order
//	0x12 arrival   num pos                   event (1), kind (1), place
//	0x13 chain     num author seq id         time
//	0x14 author    num author                tip and standing as applied
//	0x15 head      num id                    time, author
//	0x16 child     num parent pos            place of a message that refs parent; by the child's admission
//	0x17 root      num pos                   place of a visible message without refs
//	0x18 named     num node pos              place of a visible message that names the node
//	0x19 profile   num author time id        nothing; visible profiles
//	0x1a kind      num len kind time id      nothing; every kind but message
//	0x1b sum       num level bucket          sum of ids (32, little-endian), count (8, little-endian)
//	0x1c ancestor  num …                     clocks: ancestors.go
//	0x1d stranger  num author seq id         host, block: held until the author is granted
//	0x1e waits     num id                    author, seq, time: the same by id
//	0x1f quota     num host                  bytes of strangers' blocks (as a sum), their count
//	0x20 future    num time id               host: held until its time has come
//	0x21 rebuild   num                       nothing: a rebuild of the indexes isn't done
//
// A place is num, time, id: what a block's key is made of. pos in root, named and inbox is the message's first Shown
// record, so that a cursor keeps its place whatever is withdrawn or shown again later.

import (
	"encoding/binary"
	"slices"
)

const (
	ksGenesis  byte = 0x01
	ksRecord   byte = 0x02
	ksRun      byte = 0x03
	ksEntry    byte = 0x04
	ksInbox    byte = 0x05
	ksStat     byte = 0x10
	ksBlock    byte = 0x11
	ksArrival  byte = 0x12
	ksChain    byte = 0x13
	ksAuthor   byte = 0x14
	ksHead     byte = 0x15
	ksChild    byte = 0x16
	ksRoot     byte = 0x17
	ksNamed    byte = 0x18
	ksProfile  byte = 0x19
	ksKind     byte = 0x1a
	ksSum      byte = 0x1b
	ksAncestor byte = 0x1c
	ksStranger byte = 0x1d
	ksWaits    byte = 0x1e
	ksQuota    byte = 0x1f
	ksFuture   byte = 0x20
	ksRebuild  byte = 0x21
)

// sumLevels are the shifts of a time in µs to the buckets sums are kept for: about 4 ms, half a second, a minute, two hours, twelve
// days. The finest bounds what a sum reads key by key where a Space was filled as fast as it goes.
var sumLevels = [...]byte{12, 19, 26, 33, 40}

// num is a Space's number in this data dir.
type num uint32

// spaceKey starts a key of a Space's keyspace, with room for n bytes more.
func spaceKey(ks byte, s num, n int) []byte {
	b := make([]byte, 5, 5+n)
	b[0] = ks
	binary.BigEndian.PutUint32(b[1:], uint32(s))
	return b
}

// prefixEnd returns the first key behind every key that starts with prefix.
func prefixEnd(prefix []byte) []byte {
	b := slices.Clone(prefix)
	for i := len(b) - 1; i >= 0; i-- {
		b[i]++
		if b[i] != 0 {
			return b[:i+1]
		}
	}
	return nil
}

func put64[T ~uint64 | ~int64](b []byte, v T) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(v))
}

func get64[T ~uint64 | ~int64](b []byte) T { return T(binary.BigEndian.Uint64(b)) }

func genesisKey(s num) []byte { return spaceKey(ksGenesis, s, 0) }

func recordKey(name string, key []byte) []byte {
	return append(appendRecordKey(make([]byte, 0, 2+len(name)+len(key)), name), key...)
}

func appendRecordKey(b []byte, name string) []byte {
	return append(append(b, ksRecord, byte(len(name))), name...)
}

func runKey(last Pos) []byte { return put64([]byte{ksRun}, last) }

func entryKey(id ID) []byte { return append([]byte{ksEntry}, id[:]...) }

func inboxKey(n NodeID, p Pos) []byte {
	return put64(append(append(make([]byte, 0, 41), ksInbox), n[:]...), p)
}

func statKey(s num) []byte { return spaceKey(ksStat, s, 0) }

func blockKey(s num, k Key) []byte {
	return append(put64(spaceKey(ksBlock, s, 40), k.Time), k.ID[:]...)
}

func arrivalKey(s num, p Pos) []byte { return put64(spaceKey(ksArrival, s, 8), p) }

func chainKey(s num, author NodeID, seq uint64, id ID) []byte {
	b := append(spaceKey(ksChain, s, 72), author[:]...)
	return append(put64(b, seq), id[:]...)
}

func authorKey(s num, author NodeID) []byte { return append(spaceKey(ksAuthor, s, 32), author[:]...) }

func headKey(s num, id ID) []byte { return append(spaceKey(ksHead, s, 32), id[:]...) }

func childKey(s num, parent ID, p Pos) []byte {
	return put64(append(spaceKey(ksChild, s, 40), parent[:]...), p)
}

func rootKey(s num, p Pos) []byte { return put64(spaceKey(ksRoot, s, 8), p) }

func namedKey(s num, n NodeID, p Pos) []byte {
	return put64(append(spaceKey(ksNamed, s, 40), n[:]...), p)
}

func profileKey(s num, author NodeID, k Key) []byte {
	b := append(spaceKey(ksProfile, s, 72), author[:]...)
	return append(put64(b, k.Time), k.ID[:]...)
}

func kindKey(s num, kind Kind, k Key) []byte {
	b := append(spaceKey(ksKind, s, 41+len(kind)), byte(len(kind)))
	b = append(b, kind...)
	return append(put64(b, k.Time), k.ID[:]...)
}

func kindPrefix(s num, kind Kind) []byte {
	return append(append(spaceKey(ksKind, s, 1+len(kind)), byte(len(kind))), kind...)
}

func sumKey(s num, level byte, bucket uint64) []byte {
	return put64(append(spaceKey(ksSum, s, 9), level), bucket)
}

func strangerKey(s num, author NodeID, seq uint64, id ID) []byte {
	b := append(spaceKey(ksStranger, s, 72), author[:]...)
	return append(put64(b, seq), id[:]...)
}

func waitsKey(s num, id ID) []byte { return append(spaceKey(ksWaits, s, 32), id[:]...) }

func quotaKey(s num, host NodeID) []byte { return append(spaceKey(ksQuota, s, 32), host[:]...) }

func rebuildKey(s num) []byte { return spaceKey(ksRebuild, s, 0) }

func futureKey(s num, k Key) []byte {
	return append(put64(spaceKey(ksFuture, s, 40), k.Time), k.ID[:]...)
}

// lastKey reads the (time, id) a key ends with.
func lastKey(b []byte) (k Key) {
	b = b[len(b)-40:]
	k.Time = get64[Time](b)
	copy(k.ID[:], b[8:])
	return k
}

// place is where a block lies.
type place struct {
	space num
	key   Key
}

const placeSize = 44

func (p place) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(p.space))
	return append(put64(b, p.key.Time), p.key.ID[:]...)
}

func readPlace(b []byte) place {
	return place{num(binary.BigEndian.Uint32(b)), lastKey(b[:placeSize])}
}

// meta is what the rules, the indexes and the readers ask of an admitted entry, without its block.
type meta struct {
	space  num
	kind   kindByte
	flags  flags
	time   Time
	seq    uint64
	pos    Pos // of its first record
	shown  Pos // of its first Shown record, 0 where there is none
	author NodeID

	clock   clock // what it knew of each author: in memory alone, ancestors.go has it on disk
	clocked bool  // the clock is there
}

// flags of an entry.
type flags byte

const (
	visible   flags = 1 << iota
	malformed       // a message whose payload breaks protocol.md §3.6: never visible
)

// kindByte is a kind in one byte; 0 stands for every unknown one.
type kindByte byte

const (
	kOther kindByte = iota
	kMessage
	kProfile
	kAccess
	kPlugin
	kEpoch
)

func kindOf(k Kind) kindByte {
	switch k {
	case KindMessage:
		return kMessage
	case KindProfile:
		return kProfile
	case KindAccess:
		return kAccess
	case KindPlugin:
		return kPlugin
	case KindEpoch:
		return kEpoch
	}
	return kOther
}

// tells says whether entries of the kind are told of as Shown and Withdrawn.
func (k kindByte) tells() bool { return k == kMessage || k == kProfile }

const metaSize = 70

func (m *meta) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(m.space))
	b = append(b, byte(m.kind), byte(m.flags))
	b = put64(put64(put64(put64(b, m.time), m.seq), m.pos), m.shown)
	return append(b, m.author[:]...)
}

func readMeta(b []byte) (*meta, error) {
	if len(b) != metaSize {
		return nil, corrupt("entry", b)
	}
	m := &meta{
		space: num(binary.BigEndian.Uint32(b)), kind: kindByte(b[4]), flags: flags(b[5]),
		time: get64[Time](b[6:]), seq: get64[uint64](b[14:]), pos: get64[Pos](b[22:]), shown: get64[Pos](b[30:]),
	}
	copy(m.author[:], b[38:])
	return m, nil
}

// A block's value begins with a head, so that the readers need no meta: kind, flags, pos, shown.
const headSize = 18

func (m *meta) appendHead(b []byte) []byte {
	return put64(put64(append(b, byte(m.kind), byte(m.flags)), m.pos), m.shown)
}

// Offsets of pos and shown, where a batch writes the numbers in that it gets last of all.
const (
	metaPos, metaShown = 22, 30
	headPos, headShown = 2, 10
)

// blockHead is a block's value, taken apart.
type blockHead struct {
	kind  kindByte
	flags flags
	pos   Pos
	shown Pos
	block []byte
}

func readBlock(b []byte) (blockHead, error) {
	if len(b) < headSize {
		return blockHead{}, corrupt("block", b)
	}
	return blockHead{kindByte(b[0]), flags(b[1]), get64[Pos](b[headPos:]), get64[Pos](b[headShown:]), b[headSize:]}, nil
}

// arrival is one record of the arrival log.
type arrival struct {
	pos   Pos
	event Event
	kind  kindByte
	at    place
}

func (a arrival) value() []byte {
	return a.at.append(append(make([]byte, 0, 2+placeSize), byte(a.event), byte(a.kind)))
}

func readArrival(key, v []byte) (arrival, error) {
	if len(key) < 8 || len(v) != 2+placeSize {
		return arrival{}, corrupt("arrival", v)
	}
	return arrival{get64[Pos](key[len(key)-8:]), Event(v[0]), kindByte(v[1]), readPlace(v[2:])}, nil
}
