package abi

// This file holds reading: CBOR as it lies, looked into without decoding it.

import (
	"iter"
	"math"
)

// Kind says what a Value is.
type Kind uint8

// The kinds. Tags and other simple values don't occur.
const (
	None Kind = iota // absent, or not well-formed
	Null
	Bool
	Int
	Float
	Text
	Bytes
	List
	Map
)

// Value is one CBOR item as it lies in the input. The nil Value is absent; every method of it answers with nothing. A Value
// isn't changed and stays valid as long as the bytes it was cut from.
type Value []byte

// head reads an item's first byte and argument. size 0: not well-formed.
func head(b []byte) (major byte, arg uint64, size int) {
	if len(b) == 0 {
		return 0, 0, 0
	}
	major, info := b[0]>>5, b[0]&31
	if info < 24 {
		return major, uint64(info), 1
	}
	if info > 27 {
		return 0, 0, 0
	}
	size = 1 + 1<<(info-24)
	if len(b) < size {
		return 0, 0, 0
	}
	for _, c := range b[1:size] {
		arg = arg<<8 | uint64(c)
	}
	return major, arg, size
}

// Kind says what the value is.
func (v Value) Kind() Kind {
	major, arg, size := head(v)
	if size == 0 {
		return None
	}
	switch major {
	case 0, 1:
		return Int
	case 2:
		return Bytes
	case 3:
		return Text
	case 4:
		return List
	case 5:
		return Map
	case 7:
		switch {
		case size == 9:
			return Float
		case size > 1:
			return None
		case arg == 20 || arg == 21:
			return Bool
		case arg == 22:
			return Null
		}
	}
	return None
}

// raw returns the bytes of a text or byte string.
func (v Value) raw(want byte) []byte {
	if len(v) > 0 && v[0]>>5 == want && v[0]&31 < 24 {
		n := 1 + int(v[0]&31)
		if n > len(v) {
			return nil
		}
		return v[1:n]
	}
	major, n, size := head(v)
	if size == 0 || major != want || n > uint64(len(v)-size) {
		return nil
	}
	return v[size : size+int(n)]
}

// Text returns a text, or "".
func (v Value) Text() string { return string(v.raw(3)) }

// TextBytes returns a text's bytes as they lie, or nil.
func (v Value) TextBytes() []byte { return v.raw(3) }

// Bytes returns a byte string as it lies, or nil.
func (v Value) Bytes() []byte { return v.raw(2) }

// Int returns an integer; a float that is a whole number counts as one. ok is false else, and for what an int64 can't hold.
func (v Value) Int() (n int64, ok bool) {
	if len(v) > 0 && v[0] < 24 {
		return int64(v[0]), true
	}
	major, arg, size := head(v)
	switch {
	case size == 0 || arg > math.MaxInt64 && major < 2:
		return 0, false
	case major == 0:
		return int64(arg), true
	case major == 1:
		return -1 - int64(arg), true
	case major == 7 && size == 9:
		f := math.Float64frombits(arg)
		if f >= -1<<62 && f <= 1<<62 && f == math.Trunc(f) {
			return int64(f), true
		}
	}
	return 0, false
}

// Float returns a number.
func (v Value) Float() (f float64, ok bool) {
	major, arg, size := head(v)
	switch {
	case size == 0:
		return 0, false
	case major == 0:
		return float64(arg), true
	case major == 1:
		return -1 - float64(arg), true
	case major == 7 && size == 9:
		return math.Float64frombits(arg), true
	}
	return 0, false
}

// Bool is true for true alone.
func (v Value) Bool() bool { return len(v) > 0 && v[0] == 0xf5 }

// Len returns the number of items of a list or pairs of a map, else 0.
func (v Value) Len() int {
	major, n, size := head(v)
	if size == 0 || major != 4 && major != 5 || n > uint64(len(v)) {
		return 0
	}
	return int(n)
}

// Items yields a list's items.
func (v Value) Items() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		rest, n := v.inside(4)
		for ; n > 0; n-- {
			l := skip(rest, MaxNesting)
			if l == 0 || !yield(rest[:l]) {
				return
			}
			rest = rest[l:]
		}
	}
}

// Pairs yields a map's keys and values in their order.
func (v Value) Pairs() iter.Seq2[Value, Value] {
	return func(yield func(Value, Value) bool) {
		rest, n := v.inside(5)
		for ; n > 0; n-- {
			k, l := skipPair(rest)
			if l == 0 || !yield(rest[:k], rest[k:l]) {
				return
			}
			rest = rest[l:]
		}
	}
}

// inside returns what lies in a list or map and how many items or pairs it has.
func (v Value) inside(want byte) (rest Value, n uint64) {
	major, n, size := head(v)
	if size == 0 || major != want {
		return nil, 0
	}
	return v[size:], n
}

// skipPair returns where a pair's key ends and where its value does; 0: not well-formed.
func skipPair(b Value) (key, end int) {
	key = skip(b, MaxNesting)
	if key == 0 {
		return 0, 0
	}
	l := skip(b[key:], MaxNesting)
	if l == 0 {
		return 0, 0
	}
	return key, key + l
}

// Walk goes through a map whose keys are integers, as those of the ABI are; it costs less than Pairs.
type Walk struct {
	rest Value
	n    uint64
}

// Walk begins one; of what is no map there is nothing.
func (v Value) Walk() Walk {
	rest, n := v.inside(5)
	return Walk{rest, n}
}

// Next returns the next pair; more is false behind the last. A key that is no integer ends it. The last value reaches to the end of the map.
func (w *Walk) Next() (key int64, val Value, more bool) {
	if w.n == 0 || len(w.rest) < 2 {
		return 0, nil, false
	}
	at := 1
	if key = int64(w.rest[0]); key >= 24 {
		k, ok := w.rest.Int()
		if at = skip(w.rest, 1); !ok || at == 0 || at >= len(w.rest) {
			w.n = 0
			return 0, nil, false
		}
		key = k
	}
	rest := w.rest[at:]
	if w.n--; w.n == 0 {
		return key, rest, true
	}
	l := 2
	if rest[0] == 0x78 && len(rest) > 1 { // a text of 24 to 255 bytes: most of them
		l += int(rest[1])
	} else if l = skip(rest, MaxNesting); l == 0 {
		w.n = 0
		return 0, nil, false
	}
	if l > len(rest) {
		w.n = 0
		return 0, nil, false
	}
	w.rest = rest[l:]
	return key, rest[:l], true
}

// Get returns the value at a text key of a map, or nil.
func (v Value) Get(key string) Value {
	rest, n := v.inside(5)
	for ; n > 0; n-- {
		k, l := skipPair(rest)
		if l == 0 {
			return nil
		}
		if string(rest[:k].raw(3)) == key {
			return rest[k:l]
		}
		rest = rest[l:]
	}
	return nil
}

// At returns the value at a small integer key of a map, or nil.
func (v Value) At(key int) Value {
	rest, count := v.inside(5)
	for ; count > 0; count-- {
		k, l := skipPair(rest)
		if l == 0 {
			return nil
		}
		if n, ok := rest[:k].Int(); ok && n == int64(key) {
			return rest[k:l]
		}
		rest = rest[l:]
	}
	return nil
}

// Texts returns the texts of a list.
func (v Value) Texts() []string {
	var out []string
	for item := range v.Items() {
		if item.Kind() == Text {
			out = append(out, item.Text())
		}
	}
	return out
}

// skip returns the length of the item at the start of b; 0: not well-formed or too deep.
func skip(b []byte, depth int) int {
	if len(b) == 0 || depth == 0 {
		return 0
	}
	switch c := b[0]; { // what most items are: a small integer, a short text
	case c < 24:
		return 1
	case c >= 0x60 && c < 0x78:
		if n := int(c) - 0x5f; n <= len(b) {
			return n
		}
		return 0
	case c == 0x78 && len(b) >= 2:
		if n := int(b[1]) + 2; n <= len(b) {
			return n
		}
		return 0
	}
	major, n, size := head(b)
	if size == 0 || depth == 0 {
		return 0
	}
	switch major {
	case 2, 3:
		if n > uint64(len(b)-size) {
			return 0
		}
		return size + int(n)
	case 4, 5:
		if n > uint64(len(b)) {
			return 0
		}
		if major == 5 {
			n *= 2
		}
		return skipEach(b, n, size, depth-1)
	case 6:
		return 0
	}
	return size
}

// skipEach returns where n items from at on end; 0: not well-formed or too deep.
func skipEach(b []byte, n uint64, at, depth int) int {
	if n > 0 && depth == 0 {
		return 0
	}
	for ; n > 0; n-- {
		if at >= len(b) {
			return 0
		}
		switch c := b[at]; {
		case c < 24:
			at++
		case c >= 0x60 && c < 0x78:
			at += int(c) - 0x5f
		default:
			l := skip(b[at:], depth)
			if l == 0 {
				return 0
			}
			at += l
		}
	}
	if at > len(b) {
		return 0
	}
	return at
}
