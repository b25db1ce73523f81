package meter

// This file holds the reading and writing of Wasm's numbers, names and vectors.

import (
	"errors"
	"fmt"
)

var errShort = errors.New("ends too early")

// reader walks bytes; after the first error every read gives zero.
type reader struct {
	b   []byte
	i   int
	err error
}

func (r *reader) failf(format string, a ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, a...)
	}
}

func (r *reader) more() bool { return r.err == nil && r.i < len(r.b) }

func (r *reader) byte() byte {
	if r.err != nil {
		return 0
	}
	if r.i >= len(r.b) {
		r.err = errShort
		return 0
	}
	c := r.b[r.i]
	r.i++
	return c
}

func (r *reader) bytes(n uint32) []byte {
	if r.err != nil {
		return nil
	}
	if uint64(n) > uint64(len(r.b)-r.i) {
		r.err = errShort
		return nil
	}
	s := r.b[r.i : r.i+int(n) : r.i+int(n)]
	r.i += int(n)
	return s
}

func (r *reader) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			if v > 0xffffffff {
				r.failf("number over 32 bits")
			}
			return uint32(v)
		}
	}
	r.failf("number over 5 bytes")
	return 0
}

// leb skips a signed number of at most n bytes.
func (r *reader) leb(n int) {
	for range n {
		if r.byte() < 0x80 {
			return
		}
	}
	r.failf("number over %d bytes", n)
}

// count reads the length of a vector whose elements take at least one byte each.
func (r *reader) count() uint32 {
	n := r.u32()
	if r.err == nil && uint64(n) > uint64(len(r.b)-r.i) {
		r.err = errShort
		return 0
	}
	return n
}

func (r *reader) name() string { return string(r.bytes(r.u32())) }

func (r *reader) valType() byte {
	t := r.byte()
	switch t {
	case i32, i64, f32, f64, funcRef, externRef:
	default:
		r.failf("value type 0x%02x isn't supported (SIMD, typed references and exceptions aren't)", t)
	}
	return t
}

func (r *reader) refType() byte {
	t := r.byte()
	if t != funcRef && t != externRef {
		r.failf("reference type 0x%02x isn't supported", t)
	}
	return t
}

// The value types.
const (
	i32       = 0x7f
	i64       = 0x7e
	f32       = 0x7d
	f64       = 0x7c
	funcRef   = 0x70
	externRef = 0x6f
)

func appendU32(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

func appendS64(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if (v == 0 && c&0x40 == 0) || (v == -1 && c&0x40 != 0) {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func appendName(b []byte, s string) []byte {
	b = appendU32(b, uint32(len(s)))
	return append(b, s...)
}
