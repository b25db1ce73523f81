package plugins

// This file holds the two translations: a message's JSON to the CBOR a guest reads, and a view's CBOR to JSON.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"plexus/graph"
	"plexus/sdk/abi"
)

var errJSON = errors.New("not JSON")

// appendJSON translates one JSON value. Integers that fit 64 bits with sign stay integers, other numbers become floats,
// one that is too great for a float becomes its text. Of a key given twice the last counts.
func appendJSON(b []byte, text []byte) ([]byte, error) {
	p := jsonReader{text: text}
	b = p.value(b, abi.MaxNesting-2)
	p.space()
	if p.bad || p.i != len(text) {
		return nil, errJSON
	}
	return b, nil
}

type jsonReader struct {
	text []byte
	i    int
	bad  bool
}

func (p *jsonReader) space() {
	for p.i < len(p.text) && (p.text[p.i] == ' ' || p.text[p.i] == '\t' || p.text[p.i] == '\n' || p.text[p.i] == '\r') {
		p.i++
	}
}

func (p *jsonReader) peek() byte {
	p.space()
	if p.i < len(p.text) {
		return p.text[p.i]
	}
	p.bad = true
	return 0
}

func (p *jsonReader) eat(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.i++
	return true
}

func (p *jsonReader) value(b []byte, depth int) []byte {
	c := p.peek()
	if depth == 0 || p.bad {
		p.bad = true
		return b
	}
	switch c {
	case '{':
		return p.object(b, depth)
	case '[':
		return p.array(b, depth)
	case '"':
		return abi.AppendText(b, p.str())
	case 't':
		return p.word(b, "true", 0xf5)
	case 'f':
		return p.word(b, "false", 0xf4)
	case 'n':
		return p.word(b, "null", 0xf6)
	}
	return p.number(b)
}

func (p *jsonReader) word(b []byte, word string, code byte) []byte {
	if !bytes.HasPrefix(p.text[p.i:], []byte(word)) {
		p.bad = true
		return b
	}
	p.i += len(word)
	return append(b, code)
}

// str reads a string. Most have no escapes; the rest is left to encoding/json.
func (p *jsonReader) str() string {
	start := p.i
	plain := true
	for p.i++; p.i < len(p.text); p.i++ {
		switch c := p.text[p.i]; {
		case c == '\\':
			plain = false
			p.i++
		case c == '"':
			p.i++
			if plain {
				return string(p.text[start+1 : p.i-1])
			}
			var s string
			if json.Unmarshal(p.text[start:p.i], &s) != nil {
				p.bad = true
			}
			return s
		case c < 0x20:
			p.bad = true
			return ""
		}
	}
	p.bad = true
	return ""
}

func (p *jsonReader) number(b []byte) []byte {
	start := p.i
	whole := true
	for p.i < len(p.text) {
		c := p.text[p.i]
		if c == '.' || c == 'e' || c == 'E' {
			whole = false
		} else if (c < '0' || c > '9') && c != '-' && c != '+' {
			break
		}
		p.i++
	}
	text := p.text[start:p.i]
	if !json.Valid(text) {
		p.bad = true
		return b
	}
	if whole {
		if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			return abi.AppendInt(b, n)
		}
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return abi.AppendText(b, string(text))
	}
	return abi.AppendFloat(b, f)
}

func (p *jsonReader) array(b []byte, depth int) []byte {
	p.i++
	var items []byte
	n := 0
	if !p.eat(']') {
		for !p.bad {
			items = p.value(items, depth-1)
			n++
			if p.eat(']') {
				break
			}
			if !p.eat(',') {
				p.bad = true
			}
		}
	}
	return append(abi.AppendList(b, n), items...)
}

// object sorts the pairs by key; they are encoded behind one another first.
func (p *jsonReader) object(b []byte, depth int) []byte {
	p.i++
	type pair struct {
		key      string
		from, to int
	}
	var fields []pair
	var values []byte
	if !p.eat('}') {
		for !p.bad {
			if p.peek() != '"' {
				p.bad = true
				break
			}
			f := pair{key: p.str(), from: len(values)}
			if !p.eat(':') {
				p.bad = true
				break
			}
			values = p.value(values, depth-1)
			f.to = len(values)
			fields = append(fields, f)
			if p.eat('}') {
				break
			}
			if !p.eat(',') {
				p.bad = true
			}
		}
	}
	slices.SortStableFunc(fields, func(x, y pair) int { return abi.KeyLess(x.key, y.key) })
	last := fields[:0]
	for i, f := range fields {
		if i+1 < len(fields) && fields[i+1].key == f.key {
			continue
		}
		last = append(last, f)
	}
	b = abi.AppendMap(b, len(last))
	for _, f := range last {
		b = append(abi.AppendText(b, f.key), values[f.from:f.to]...)
	}
	return b
}

// toJSON translates a guest's output, which Check has passed. Map keys must be texts.
func toJSON(b []byte, v abi.Value) ([]byte, error) {
	switch v.Kind() {
	case abi.Null:
		return append(b, "null"...), nil
	case abi.Bool:
		return strconv.AppendBool(b, v.Bool()), nil
	case abi.Int:
		n, _ := v.Int()
		return strconv.AppendInt(b, n, 10), nil
	case abi.Float:
		f, _ := v.Float()
		return appendFloat(b, f), nil
	case abi.Text:
		return appendString(b, v.Text()), nil
	case abi.List:
		return listToJSON(b, v)
	case abi.Map:
		return mapToJSON(b, v)
	case abi.Bytes:
		return nil, fmt.Errorf("a byte string has no JSON form: encode it as text: %w", graph.ErrInvalid)
	}
	return nil, abi.ErrForm
}

func appendFloat(b []byte, f float64) []byte {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.AppendFloat(b, f, 'f', -1, 64)
	}
	return strconv.AppendFloat(b, f, 'g', -1, 64)
}

func appendString(b []byte, s string) []byte {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return append(b, `""`...)
	}
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

func listToJSON(b []byte, v abi.Value) (_ []byte, err error) {
	b = append(b, '[')
	first := true
	for item := range v.Items() {
		if !first {
			b = append(b, ',')
		}
		first = false
		if b, err = toJSON(b, item); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func mapToJSON(b []byte, v abi.Value) (_ []byte, err error) {
	b = append(b, '{')
	first := true
	for k, item := range v.Pairs() {
		if k.Kind() != abi.Text {
			return nil, fmt.Errorf("a map's key isn't text: %w", graph.ErrInvalid)
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(appendString(b, k.Text()), ':')
		if b, err = toJSON(b, item); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}
