package plugin

// This file holds what most plugins need for their lists: keys in canonical order, pages, texts of bounded length.

import "plexus/sdk/abi"

// The bounds of a page: with what is around it, it stays far below a view's 256 KiB.
const (
	defaultLimit = 50
	maxLimit     = 200
	pageBytes    = 96 << 10
)

// Order is the message's place in canonical order as part of a key: its time in hex, a slash, its ID.
func (m Message) Order() string { return hex16(m.Time) + "/" + m.ID }

// OrderID returns the message ID of an Order.
func OrderID(order string) string {
	if len(order) < 17 {
		return ""
	}
	return order[17:]
}

func hex16(n int64) string {
	const digits = "0123456789abcdef"
	var b [16]byte
	for i, t := 15, uint64(n); i >= 0; i, t = i-1, t>>4 {
		b[i] = digits[t&15]
	}
	return string(b[:])
}

// Page answers a view with a list: {name: [item, …], next?}. It goes through the keys with the prefix in order and takes what item
// makes of each; nil is left out. The parameters `limit` (1–200, 50 where absent) and `after` (the `next` of the page before)
// are the caller's. An item must stay below 100 KiB.
func (s State) Page(q Query, name, prefix string, item func(rest string, value Value) Map) (Map, error) {
	limit := int64(defaultLimit)
	if v := q.Params.Get("limit"); v != nil {
		n, ok := v.Int()
		if !ok || n < 1 || n > maxLimit {
			return nil, Refusal("limit must be a number from 1 to 200")
		}
		limit = n
	}
	items, size := []Map{}, 0
	last := ""
	for key := range s.Keys(prefix, q.Params.Get("after").Text()) {
		if int64(len(items)) == limit || size > pageBytes {
			return Map{name: items, "next": last}, nil
		}
		rest := key[len(prefix):]
		if m := item(rest, s.Value(key)); m != nil {
			items = append(items, m)
			size += len(abi.Encode(m))
		}
		last = rest
	}
	return Map{name: items}, nil
}

// MapOf copies a map's pairs, so that some can be changed; its values stay as they lie.
func MapOf(v Value) Map {
	m := make(Map, v.Len()+2)
	for k, x := range v.Pairs() {
		m[k.Text()] = x
	}
	return m
}

// Cut returns at most n bytes of a text, whole characters of it.
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && text[n]&0xc0 == 0x80 {
		n--
	}
	return text[:n]
}

// Encode writes a Map, or another value that a Map may hold, as a Value.
func Encode(v any) Value { return abi.Encode(v) }
