package graph

// This file holds the strict reading of JSON text (protocol.md §3.6): RFC 8259, UTF-8, no key twice in one object, no
// lone surrogates, bounded depth. The text is checked and cut up, never decoded and written anew, so that the
// sender's digits and spaces survive.

import (
	"bytes"
	"fmt"
	"iter"
	"unicode/utf16"
	"unicode/utf8"
)

// CheckJSON checks that text is one JSON value with JSON's white space around it. Above it lie depth levels of nesting.
// The kind returned is '{', '[', '"', '0' for a number, 'b' for a boolean, 'n' for null.
func checkJSON(text []byte, depth int) (kind byte, err error) {
	s := &scanner{b: text}
	s.space()
	kind = s.value(depth + 1)
	s.space()
	if s.err == nil && s.at < len(text) {
		s.fail("has something after its end")
	}
	return kind, s.err
}

func jsonKind(kind byte) string {
	switch kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'b':
		return "a boolean"
	}
	return "null"
}

// Scanner walks JSON text. The first thing that is wrong sticks in err.
type scanner struct {
	b   []byte
	at  int
	err error
}

func (s *scanner) fail(what string) {
	if s.err == nil {
		s.err = fmt.Errorf("%s (at byte %d)", what, s.at)
		s.at = len(s.b)
	}
}

// Peek returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.at < len(s.b) {
		return s.b[s.at]
	}
	return 0
}

func (s *scanner) space() {
	for s.at < len(s.b) {
		switch s.b[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

func (s *scanner) value(depth int) (kind byte) {
	switch c := s.peek(); {
	case c == '{':
		s.object(depth)
		return '{'
	case c == '[':
		s.array(depth)
		return '['
	case c == '"':
		s.string()
		return '"'
	case c == '-' || c >= '0' && c <= '9':
		s.number()
		return '0'
	case c == 't':
		s.literal("true")
		return 'b'
	case c == 'f':
		s.literal("false")
		return 'b'
	}
	s.literal("null")
	return 'n'
}

func (s *scanner) literal(word string) {
	if len(s.b)-s.at < len(word) || string(s.b[s.at:s.at+len(word)]) != word {
		s.fail("isn't JSON")
		return
	}
	s.at += len(word)
}

func (s *scanner) object(depth int) {
	s.enter(depth)
	var keys keySet
	for s.more('}') {
		key := s.string()
		if s.err == nil && keys.add(key) {
			s.fail(fmt.Sprintf("has the key %.80q twice in one object", unquote(key)))
		}
		s.colon()
		s.value(depth + 1)
	}
}

func (s *scanner) array(depth int) {
	s.enter(depth)
	for s.more(']') {
		s.value(depth + 1)
	}
}

func (s *scanner) enter(depth int) {
	if depth > MaxDepth {
		s.fail(fmt.Sprintf("is nested more than %d deep", MaxDepth))
		return
	}
	s.at++
}

// More stands before each member of an object or an array: it takes the comma, or the end.
func (s *scanner) more(end byte) bool {
	first := s.err == nil && s.first()
	s.space()
	switch c := s.peek(); {
	case s.err != nil:
		return false
	case c == end:
		s.at++
		return false
	case first:
		return true
	case c == ',':
		s.at++
		s.space()
		return true
	}
	s.fail("isn't JSON: a comma or an end is missing")
	return false
}

// First says whether the opening bracket was just taken.
func (s *scanner) first() bool {
	return s.b[s.at-1] == '{' || s.b[s.at-1] == '['
}

func (s *scanner) colon() {
	s.space()
	if s.peek() != ':' {
		s.fail("isn't JSON: a colon is missing")
		return
	}
	s.at++
	s.space()
}

// String walks over a string and returns it with its quotes.
func (s *scanner) string() []byte {
	if s.peek() != '"' {
		s.fail("isn't JSON: a string is missing")
		return nil
	}
	start := s.at
	s.at++
	for s.err == nil {
		switch c := s.peek(); {
		case c == '"':
			s.at++
			return s.b[start:s.at]
		case c == '\\':
			s.escape()
		case c < 0x20:
			s.fail("isn't JSON: a string without its end, or a control character in it")
		case c < utf8.RuneSelf:
			s.at++
		default:
			s.rune()
		}
	}
	return nil
}

func (s *scanner) rune() {
	r, size := utf8.DecodeRune(s.b[s.at:])
	if r == utf8.RuneError && size == 1 {
		s.fail("isn't UTF-8")
		return
	}
	s.at += size
}

func (s *scanner) escape() {
	s.at++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.at++
	case 'u':
		s.surrogates()
	default:
		s.fail("isn't JSON: an unknown escape")
	}
}

// Surrogates walks over the uXXXX of an escape, and over a second one where the first is half of a pair.
func (s *scanner) surrogates() {
	u := s.hex()
	if s.err != nil || !utf16.IsSurrogate(u) {
		return
	}
	if s.peek() == '\\' && s.at+1 < len(s.b) && s.b[s.at+1] == 'u' {
		s.at++
		if utf16.DecodeRune(u, s.hex()) != utf8.RuneError {
			return
		}
	}
	s.fail("has a lone surrogate")
}

func (s *scanner) hex() rune {
	if len(s.b)-s.at < 5 {
		s.fail("isn't JSON: an escape without its four digits")
		return 0
	}
	u, ok := hex4(s.b[s.at+1 : s.at+5])
	if !ok {
		s.fail("isn't JSON: an escape without its four digits")
		return 0
	}
	s.at += 5
	return u
}

func hex4(b []byte) (u rune, ok bool) {
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			u = u<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			u = u<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			u = u<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return u, true
}

func (s *scanner) number() {
	if s.peek() == '-' {
		s.at++
	}
	if s.peek() == '0' {
		s.at++
	} else {
		s.digits()
	}
	if s.peek() == '.' {
		s.at++
		s.digits()
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.at++
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		s.digits()
	}
}

func (s *scanner) digits() {
	start := s.at
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.at++
	}
	if s.at == start {
		s.fail("isn't JSON: a digit is missing")
	}
}

// KeySet holds the decoded keys of one object: a list while they are few.
type keySet struct {
	few  [8][]byte
	n    int
	many map[string]struct{}
}

// Add says whether the key was there already.
func (k *keySet) add(quoted []byte) bool {
	key := unquote(quoted)
	if k.many != nil {
		_, twice := k.many[string(key)]
		k.many[string(key)] = struct{}{}
		return twice
	}
	for _, f := range k.few[:k.n] {
		if bytes.Equal(f, key) {
			return true
		}
	}
	if k.n < len(k.few) {
		k.few[k.n] = key
		k.n++
		return false
	}
	k.many = make(map[string]struct{}, 2*len(k.few))
	for _, f := range k.few {
		k.many[string(f)] = struct{}{}
	}
	k.many[string(key)] = struct{}{}
	return false
}

// Unquote decodes a string that a scanner has walked over. Where nothing is escaped, the result aliases it.
func unquote(quoted []byte) []byte {
	in := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(in, '\\') < 0 {
		return in
	}
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); i++ {
		if in[i] != '\\' {
			out = append(out, in[i])
			continue
		}
		i++
		if in[i] != 'u' {
			out = append(out, unescape(in[i]))
			continue
		}
		u, _ := hex4(in[i+1:])
		i += 4
		if utf16.IsSurrogate(u) {
			low, _ := hex4(in[i+3:])
			u = utf16.DecodeRune(u, low)
			i += 6
		}
		out = utf8.AppendRune(out, u)
	}
	return out
}

func unescape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c // " \ /
}

// JSONString decodes a value of checked text; ok is false where it is no string.
func jsonString(value []byte) (s string, ok bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	return string(unquote(value)), true
}

// Members yields the keys, decoded, and the values of an object that was checked, in the order of the text. Of text
// that wasn't checked it yields what comes before the fault.
func members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		s := &scanner{b: object}
		s.space()
		if s.peek() != '{' {
			return
		}
		for s.at++; s.more('}'); {
			key := s.string()
			s.colon()
			start := s.at
			s.value(2)
			if s.err != nil || !yield(unquote(key), object[start:s.at:s.at]) {
				return
			}
		}
	}
}

// AppendJSONString appends a string with its quotes; it escapes only what JSON wants escaped.
func appendJSONString(to []byte, s string) []byte {
	const hex = "0123456789abcdef"
	to = append(to, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			to = append(to, '\\', c)
		case c < 0x20:
			to = append(to, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			to = append(to, c)
		}
	}
	return append(to, '"')
}
