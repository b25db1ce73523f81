package abi

// This file holds the check that bytes are one item in the deterministic form: what a host asks of a guest's output.

import (
	"bytes"
	"errors"
	"math"
	"unicode/utf8"
)

// What Check finds.
var (
	ErrForm  = errors.New("not well-formed CBOR")
	ErrOrder = errors.New("CBOR not in its deterministic form")
	ErrDeep  = errors.New("CBOR nests too deep")
	ErrTail  = errors.New("bytes behind the CBOR item")
)

// Check says whether b is exactly one item in the deterministic form, nested at most MaxNesting deep. Map keys are integers or text.
func Check(b []byte) error {
	n, err := check(b, MaxNesting)
	if err == nil && n != len(b) {
		return ErrTail
	}
	return err
}

func check(b []byte, depth int) (int, error) {
	major, n, size := head(b)
	if size == 0 {
		return 0, ErrForm
	}
	if depth == 0 {
		return 0, ErrDeep
	}
	if major < 6 && !shortest(n, size) {
		return 0, ErrOrder
	}
	switch major {
	case 0, 1:
		if n > math.MaxInt64 {
			return 0, ErrForm
		}
	case 2, 3:
		if n > uint64(len(b)-size) || major == 3 && !utf8.Valid(b[size:size+int(n)]) {
			return 0, ErrForm
		}
		size += int(n)
	case 4:
		return checkList(b, n, size, depth)
	case 5:
		return checkMap(b, n, size, depth)
	case 6:
		return 0, ErrForm
	case 7:
		if size == 9 {
			f := math.Float64frombits(n)
			if math.IsNaN(f) || math.IsInf(f, 0) {
				return 0, ErrForm
			}
		} else if size != 1 || n < 20 || n > 22 {
			return 0, ErrForm
		}
	}
	return size, nil
}

func shortest(n uint64, size int) bool {
	switch size {
	case 2:
		return n >= 24
	case 3:
		return n > math.MaxUint8
	case 5:
		return n > math.MaxUint16
	case 9:
		return n > math.MaxUint32
	}
	return true
}

func checkList(b []byte, n uint64, at, depth int) (int, error) {
	for ; n > 0; n-- {
		l, err := check(b[at:], depth-1)
		if err != nil {
			return 0, err
		}
		at += l
	}
	return at, nil
}

func checkMap(b []byte, n uint64, at, depth int) (int, error) {
	var last []byte
	for ; n > 0; n-- {
		k, err := check(b[at:], depth-1)
		if err != nil {
			return 0, err
		}
		key := b[at : at+k]
		if major := key[0] >> 5; major != 0 && major != 1 && major != 3 {
			return 0, ErrForm
		}
		if last != nil && bytes.Compare(last, key) >= 0 {
			return 0, ErrOrder
		}
		last = key
		l, err := check(b[at+k:], depth-1)
		if err != nil {
			return 0, err
		}
		at += k + l
	}
	return at, nil
}
