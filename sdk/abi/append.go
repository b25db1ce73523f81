package abi

// This file holds writing, in the one deterministic form (docs/plugins.md §3): shortest lengths, floats of 64 bits,
// map keys ordered by their encoded bytes, each once.

import (
	"math"
	"slices"
)

// Fields is a map with text keys, of the values that Append takes.
type Fields map[string]any

func appendHead(b []byte, major byte, n uint64) []byte {
	m := major << 5
	switch {
	case n < 24:
		return append(b, m|byte(n))
	case n <= math.MaxUint8:
		return append(b, m|24, byte(n))
	case n <= math.MaxUint16:
		return append(b, m|25, byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		return append(b, m|26, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	return append(b, m|27, byte(n>>56), byte(n>>48), byte(n>>40), byte(n>>32), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// AppendInt appends an integer.
func AppendInt(b []byte, n int64) []byte {
	if n < 0 {
		return appendHead(b, 1, uint64(-1-n))
	}
	return appendHead(b, 0, uint64(n))
}

// AppendText appends a text, which must be UTF-8.
func AppendText(b []byte, s string) []byte { return append(appendHead(b, 3, uint64(len(s))), s...) }

// AppendBytes appends a byte string.
func AppendBytes(b, s []byte) []byte { return append(appendHead(b, 2, uint64(len(s))), s...) }

// AppendList appends the head of a list of n items, which the caller appends behind it.
func AppendList(b []byte, n int) []byte { return appendHead(b, 4, uint64(n)) }

// AppendMap appends the head of a map of n pairs, which the caller appends behind it, ordered by KeyLess.
func AppendMap(b []byte, n int) []byte { return appendHead(b, 5, uint64(n)) }

// AppendBool appends true or false.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 0xf5)
	}
	return append(b, 0xf4)
}

// AppendNull appends null.
func AppendNull(b []byte) []byte { return append(b, 0xf6) }

// AppendFloat appends a number; NaN and the infinities have no place in JSON and become null.
func AppendFloat(b []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return AppendNull(b)
	}
	n := math.Float64bits(f)
	return append(b, 0xfb, byte(n>>56), byte(n>>48), byte(n>>40), byte(n>>32), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// KeyLess orders text keys as their encodings are: the shorter first, then by bytes.
func KeyLess(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Append appends nil, bool, int, int64, float64, string, []byte, []string, []any, Fields, []Fields or Value; whatever else
// it gets becomes null.
func Append(b []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		return AppendBool(b, v)
	case int:
		return AppendInt(b, int64(v))
	case int64:
		return AppendInt(b, v)
	case float64:
		return AppendFloat(b, v)
	case string:
		return AppendText(b, v)
	case []byte:
		return AppendBytes(b, v)
	case Value:
		if len(v) == 0 {
			return AppendNull(b)
		}
		return append(b, v...)
	case []string:
		return appendEach(b, v)
	case []any:
		return appendEach(b, v)
	case []Fields:
		return appendEach(b, v)
	case Fields:
		return appendFields(b, v)
	}
	return AppendNull(b)
}

func appendEach[T any](b []byte, list []T) []byte {
	b = AppendList(b, len(list))
	for _, v := range list {
		b = Append(b, v)
	}
	return b
}

func appendFields(b []byte, f Fields) []byte {
	keys := make([]string, 0, len(f))
	for k := range f {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, KeyLess)
	b = AppendMap(b, len(keys))
	for _, k := range keys {
		b = AppendText(b, k)
		b = Append(b, f[k])
	}
	return b
}

// Encode is Append to nothing.
func Encode(v any) Value { return Append(nil, v) }
