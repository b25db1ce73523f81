package graph

// This file holds the DAG-CBOR the blocks are written in (protocol.md §2.3): a writer, and a reader that takes the one
// canonical form and nothing else. It is written by hand because the reader must name what is wrong, must walk
// unknown keys without building values of them, and stands in front of every byte a stranger sends.

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// The CBOR major types, in the top three bits of a head.
const (
	majorUint  = 0
	majorNint  = 1
	majorBytes = 2
	majorText  = 3
	majorArray = 4
	majorMap   = 5
	majorTag   = 6
	majorOther = 7
)

const (
	tagLink   = 42
	linkSize  = 1 + 4 + 32 // 0x00, CID prefix, SHA-256
	float64At = 27         // additional info of a 64-bit float
)

// AppendHead appends a head with its argument in the shortest form.
func appendHead(b []byte, major byte, n uint64) []byte {
	m := major << 5
	switch {
	case n < 24:
		return append(b, m|byte(n))
	case n <= math.MaxUint8:
		return append(b, m|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, m|25), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, m|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, m|27), n)
}

func appendInt(b []byte, n int64) []byte {
	if n < 0 {
		return appendHead(b, majorNint, uint64(-1-n))
	}
	return appendHead(b, majorUint, uint64(n))
}

func appendText(b []byte, s string) []byte {
	return append(appendHead(b, majorText, uint64(len(s))), s...)
}

func appendBytes(b, p []byte) []byte {
	return append(appendHead(b, majorBytes, uint64(len(p))), p...)
}

func appendLink(b []byte, id ID) []byte {
	b = appendHead(appendHead(b, majorTag, tagLink), majorBytes, linkSize)
	b = append(b, 0x00)
	return append(append(b, cidPrefix...), id[:]...)
}

func appendNode(b []byte, n NodeID) []byte {
	b = append(appendHead(b, majorBytes, 38), peerPrefix...)
	return append(b, n[:]...)
}

// Reader walks canonical DAG-CBOR. The first thing that is wrong sticks in err; from then on every method
// returns zero values, so that callers need to look at err only where they branch.
type reader struct {
	b   []byte
	at  int
	err *InvalidError
}

func (r *reader) fail(rule Rule, field, detail string) {
	if r.err == nil {
		r.err = &InvalidError{Field: field, Rule: rule, Detail: detail}
		r.at = len(r.b)
	}
}

// Head reads one head. For majorOther the argument is the additional info itself (20 false, 21 true, 22 null,
// 27 a 64-bit float, whose 8 bytes follow).
func (r *reader) head() (major byte, n uint64) {
	if r.at >= len(r.b) {
		r.fail(RuleCBOR, "", "ends too early")
		return 0, 0
	}
	c := r.b[r.at]
	r.at++
	major, info := c>>5, c&31
	if major == majorOther {
		r.checkOther(info)
		return major, uint64(info)
	}
	if info < 24 {
		return major, uint64(info)
	}
	return major, r.argument(info)
}

// CheckOther refuses all of major type 7 but false, true, null and 64-bit floats.
func (r *reader) checkOther(info byte) {
	switch info {
	case 20, 21, 22, float64At:
	case 25, 26:
		r.fail(RuleCanonical, "", "a float of fewer than 64 bits")
	case 31:
		r.fail(RuleCanonical, "", "a break without a start, or an indefinite length")
	default:
		r.fail(RuleCBOR, "", "a simple value other than false, true and null")
	}
}

// Argument reads the 1, 2, 4 or 8 bytes after a head and refuses what would fit in fewer.
func (r *reader) argument(info byte) uint64 {
	if info > 27 {
		if info == 31 {
			r.fail(RuleCanonical, "", "an indefinite length")
		} else {
			r.fail(RuleCBOR, "", "a reserved head")
		}
		return 0
	}
	size := 1 << (info - 24)
	if len(r.b)-r.at < size {
		r.fail(RuleCBOR, "", "ends too early")
		return 0
	}
	var n, least uint64
	switch p := r.b[r.at:]; size {
	case 1:
		n, least = uint64(p[0]), 24
	case 2:
		n, least = uint64(binary.BigEndian.Uint16(p)), math.MaxUint8+1
	case 4:
		n, least = uint64(binary.BigEndian.Uint32(p)), math.MaxUint16+1
	case 8:
		n, least = binary.BigEndian.Uint64(p), math.MaxUint32+1
	}
	r.at += size
	if n < least {
		r.fail(RuleCanonical, "", "a number not in its shortest form")
		return 0
	}
	return n
}

// Take returns the next n bytes, aliasing the input.
func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)-r.at) {
		r.fail(RuleCBOR, "", "ends too early")
		return nil
	}
	p := r.b[r.at : r.at+int(n) : r.at+int(n)]
	r.at += int(n)
	return p
}

// Want reads a head of one major type; another is RuleForm.
func (r *reader) want(major byte, field, what string) uint64 {
	got, n := r.head()
	if r.err == nil && got != major {
		r.fail(RuleForm, field, "not "+what)
	}
	if r.err != nil {
		return 0
	}
	return n
}

func (r *reader) text(field string) []byte {
	return r.utf8(r.take(r.want(majorText, field, "a text string")))
}

func (r *reader) utf8(p []byte) []byte {
	if !utf8.Valid(p) {
		r.fail(RuleCBOR, "", "a text string that isn't UTF-8")
	}
	return p
}

func (r *reader) bytes(field string) []byte {
	return r.take(r.want(majorBytes, field, "a byte string"))
}

// Int reads an integer from lo to hi; one outside is the given rule, and so is any negative one.
func (r *reader) int(field string, lo, hi uint64, rule Rule) uint64 {
	major, n := r.head()
	switch {
	case r.err != nil:
		return 0
	case major == majorNint:
		r.fail(rule, field, "is negative")
	case major != majorUint:
		r.fail(RuleForm, field, "not an integer")
	case n < lo || n > hi:
		r.fail(rule, field, "is out of range")
	}
	return n
}

// Link reads a link to a block of ours: tag 42 over 0x00 and a CIDv1 with dag-cbor and sha2-256.
func (r *reader) link(field string) (id ID) {
	tag := r.want(majorTag, field, "a link")
	if r.err == nil && tag != tagLink {
		r.fail(RuleCBOR, field, "a tag other than 42")
	}
	p := r.linkBytes()
	if r.err == nil && (len(p) != linkSize || !bytes.Equal(p[1:5], cidPrefix)) {
		r.fail(RuleForm, field, "not a link to a dag-cbor sha2-256 CIDv1")
	}
	if r.err != nil {
		return ID{}
	}
	copy(id[:], p[5:])
	return id
}

// LinkBytes reads what stands under tag 42 and checks that it is 0x00 and a CID.
func (r *reader) linkBytes() []byte {
	major, n := r.head()
	if r.err == nil && major != majorBytes {
		r.fail(RuleCBOR, "", "tag 42 over something else than a byte string")
	}
	p := r.take(n)
	if r.err == nil && (len(p) == 0 || p[0] != 0x00 || !isCID(p[1:])) {
		r.fail(RuleCBOR, "", "tag 42 over something else than 0x00 and a CID")
	}
	return p
}

// IsCID says whether b is a CIDv0 (a sha2-256 multihash) or a CIDv1 (version, codec, hash code, length, digest, as
// unsigned varints in their shortest form), and nothing after it. Codecs and hashes aren't looked up.
func isCID(b []byte) bool {
	if len(b) == 34 && b[0] == 0x12 && b[1] == 0x20 {
		return true
	}
	var v [4]uint64
	for i := range v {
		n, size := binary.Uvarint(b)
		if size <= 0 || size > 9 || (size > 1 && b[size-1] == 0) {
			return false
		}
		v[i], b = n, b[size:]
	}
	return v[0] == 1 && v[3] == uint64(len(b))
}

// Array reads an array's head and returns its length, which may be at most most; else the given rule.
func (r *reader) array(field string, most uint64, rule Rule) int {
	n := r.want(majorArray, field, "an array")
	switch {
	case r.err != nil:
	case n == 0:
		r.fail(RuleForm, field, "is empty: leave the key out")
	case n > most:
		r.fail(rule, field, "has too many elements")
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

// Key reads a map's next key and checks that it sorts after the one before (nil for the first): shorter first, then
// by bytes.
func (r *reader) key(before []byte) []byte {
	major, n := r.head()
	if r.err == nil && major != majorText {
		r.fail(RuleCBOR, "", "a map key that is no text string")
	}
	k := r.utf8(r.take(n))
	if r.err == nil && before != nil && !keyLess(before, k) {
		r.fail(RuleCanonical, "", "map keys out of order or twice")
	}
	return k
}

func keyLess(a, b []byte) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return bytes.Compare(a, b) < 0
}

// Skip walks over one value of any kind.
func (r *reader) skip(depth int) {
	if depth > MaxNest {
		r.fail(RuleCBOR, "", "nested too deeply")
		return
	}
	major, n := r.head()
	if r.err != nil {
		return
	}
	switch major {
	case majorBytes:
		r.take(n)
	case majorText:
		r.utf8(r.take(n))
	case majorArray:
		for ; n > 0 && r.err == nil; n-- {
			r.skip(depth + 1)
		}
	case majorMap:
		var k []byte
		for ; n > 0 && r.err == nil; n-- {
			k = r.key(k)
			r.skip(depth + 1)
		}
	case majorTag:
		if n != tagLink {
			r.fail(RuleCBOR, "", "a tag other than 42")
			return
		}
		r.linkBytes()
	case majorOther:
		if n == float64At {
			r.float()
		}
	}
}

func (r *reader) float() {
	p := r.take(8)
	if r.err != nil {
		return
	}
	if f := math.Float64frombits(binary.BigEndian.Uint64(p)); math.IsNaN(f) || math.IsInf(f, 0) {
		r.fail(RuleCBOR, "", "a float that is no number")
	}
}

// End refuses bytes after the block.
func (r *reader) end() {
	if r.err == nil && r.at != len(r.b) {
		r.fail(RuleCBOR, "", "bytes after the block")
	}
}
