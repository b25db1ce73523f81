package abi

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// anything draws a value that Append takes, of bounded depth.
func anything(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		most := 8
		if depth == 0 {
			most = 6
		}
		switch rapid.IntRange(0, most).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return rapid.Int64().Draw(t, "int")
		case 3:
			return rapid.Float64().Draw(t, "float")
		case 4:
			return rapid.String().Draw(t, "text")
		case 5:
			return rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		case 6:
			return rapid.SliceOf(rapid.String()).Draw(t, "texts")
		case 7:
			return rapid.SliceOfN(anything(depth-1), 0, 5).Draw(t, "list")
		}
		return Fields(rapid.MapOfN(rapid.String(), anything(depth-1), 0, 5).Draw(t, "map"))
	})
}

// reference decodes with another codec, in its strictest mode.
func reference(t *testing.T, b []byte) any {
	t.Helper()
	mode, err := cbor.DecOptions{DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden}.DecMode()
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := mode.Unmarshal(b, &v); err != nil {
		t.Fatalf("% x: %v", b, err)
	}
	return v
}

func TestAppendIsDeterministicAndRead(t *testing.T) {
	canonical, err := cbor.EncOptions{Sort: cbor.SortBytewiseLexical, ShortestFloat: cbor.ShortestFloatNone}.EncMode()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		b := Encode(anything(4).Draw(rt, "value"))
		if err := Check(b); err != nil {
			rt.Fatalf("% x: %v", []byte(b), err)
		}
		again, err := canonical.Marshal(reference(t, b))
		if err != nil || !bytes.Equal(again, b) {
			rt.Fatalf("% x, another codec writes % x (%v)", []byte(b), again, err)
		}
	})
}

func TestReading(t *testing.T) {
	v := Encode(Fields{"n": int64(-3), "f": 2.5, "whole": 4.0, "s": "text", "b": []byte{1}, "yes": true, "list": []any{1, "two", nil}, "m": Fields{"x": 1}})
	n, ok := v.Get("n").Int()
	if n != -3 || !ok {
		t.Errorf("n: %d %v", n, ok)
	}
	if f, ok := v.Get("f").Float(); f != 2.5 || !ok {
		t.Errorf("f: %v %v", f, ok)
	}
	if _, ok := v.Get("f").Int(); ok {
		t.Error("2.5 is an integer")
	}
	if n, ok := v.Get("whole").Int(); n != 4 || !ok {
		t.Errorf("whole: %d %v", n, ok)
	}
	if v.Get("s").Text() != "text" || !bytes.Equal(v.Get("b").Bytes(), []byte{1}) || !v.Get("yes").Bool() || v.Get("m").Get("x").Kind() != Int {
		t.Error("a value reads back as another")
	}
	if got := v.Get("list").Texts(); !slices.Equal(got, []string{"two"}) || v.Get("list").Len() != 3 {
		t.Errorf("list: %v", got)
	}
	var absent Value
	if absent.Get("x") != nil || absent.Text() != "" || absent.Kind() != None || absent.Len() != 0 || absent.Bool() {
		t.Error("what is absent answers")
	}
	m := AppendMap(nil, 2)
	m = AppendText(AppendInt(m, 3), "three")
	m = AppendText(AppendInt(m, 200), "more")
	if Value(m).At(3).Text() != "three" || Value(m).At(200).Text() != "more" || Value(m).At(4) != nil {
		t.Error("integer keys")
	}
}

func TestCheckRefuses(t *testing.T) {
	deep := bytes.Repeat([]byte{0x81}, MaxNesting)
	for name, test := range map[string]struct {
		b   []byte
		err error
	}{
		"nothing":          {nil, ErrForm},
		"tail":             {[]byte{1, 2}, ErrTail},
		"long length":      {[]byte{0x18, 0x17}, ErrOrder},
		"long length 16":   {[]byte{0x19, 0, 0xff}, ErrOrder},
		"indefinite":       {[]byte{0x9f, 0xff}, ErrForm},
		"tag":              {[]byte{0xc0, 0x60}, ErrForm},
		"undefined":        {[]byte{0xf7}, ErrForm},
		"short float":      {[]byte{0xf9, 0, 0}, ErrForm},
		"not a number":     {AppendFloat([]byte{}, 1)[:1], ErrForm},
		"NaN":              {append([]byte{0xfb}, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0), ErrForm},
		"over int64":       {[]byte{0x1b, 0x80, 0, 0, 0, 0, 0, 0, 0}, ErrForm},
		"text not UTF-8":   {[]byte{0x61, 0xff}, ErrForm},
		"text cut":         {[]byte{0x62, 'a'}, ErrForm},
		"keys out of turn": {[]byte{0xa2, 0x61, 'b', 1, 0x61, 'a', 1}, ErrOrder},
		"key twice":        {[]byte{0xa2, 0x61, 'a', 1, 0x61, 'a', 1}, ErrOrder},
		"bytes as key":     {[]byte{0xa1, 0x41, 'a', 1}, ErrForm},
		"list as key":      {[]byte{0xa1, 0x80, 1}, ErrForm},
		"map as key":       {[]byte{0xa1, 0xa0, 1}, ErrForm},
		"true as key":      {[]byte{0xa1, 0xf5, 1}, ErrForm},
		"huge list":        {[]byte{0x9b, 0xff, 0, 0, 0, 0, 0, 0, 0}, ErrForm},
		"too deep":         {append(deep, 0x80), ErrDeep},
	} {
		if err := Check(test.b); !errors.Is(err, test.err) {
			t.Errorf("%s: %v, want %v", name, err, test.err)
		}
	}
	if err := Check(append(bytes.Clone(deep[1:]), 0x80)); err != nil {
		t.Errorf("as deep as allowed: %v", err)
	}
	if got := Encode(math.Inf(1)).Kind(); got != Null {
		t.Errorf("infinity is %v", got)
	}
}

// FuzzValue: reading whatever comes neither panics nor runs on, and what Check passes another codec reads too.
func FuzzValue(f *testing.F) {
	f.Add([]byte(Encode(Fields{"a": []any{1, "x", nil, true, 1.5}, "b": Fields{}})))
	f.Add([]byte{0xbb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		v := Value(b)
		_ = v.Text()
		_, _ = v.Int()
		_, _ = v.Float()
		for k, x := range v.Pairs() {
			_ = k.Text()
			_ = x.Get("a")
		}
		w := v.Walk()
		for _, _, more := w.Next(); more; _, _, more = w.Next() {
		}
		for x := range v.Items() {
			_ = x.Texts()
		}
		if Check(b) == nil {
			reference(t, b)
		}
	})
}

// A Walk meets what Pairs meets.
func TestWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfNDistinct(rapid.OneOf(rapid.Int64Range(0, 30), rapid.Int64Range(0, math.MaxInt64)), 0, 6, rapid.ID).Draw(t, "keys")
		slices.Sort(keys)
		b := AppendMap(nil, len(keys))
		for _, k := range keys {
			b = Append(AppendInt(b, k), anything(2).Draw(t, "value"))
		}
		w := Value(b).Walk()
		for k, v := range Value(b).Pairs() {
			n, got, more := w.Next()
			if want, _ := k.Int(); !more || n != want || !bytes.Equal(got, v) {
				t.Fatalf("% x: %d: % x, %v", b, n, got, more)
			}
		}
		if _, _, more := w.Next(); more {
			t.Fatalf("% x: more pairs than there are", b)
		}
	})
	for _, b := range [][]byte{nil, {0x80}, {0xa1}, {0xa2, 1}, {0xa2, 1, 0x78}, {0xa2, 1, 0x78, 9, 1, 1}, {0xa2, 0x61, 0x61, 1, 1, 1}, {0xa2, 0x18}, {0xbf}} {
		w := Value(b).Walk()
		for n := 0; ; n++ {
			if _, _, more := w.Next(); !more {
				break
			} else if n > 0 {
				t.Errorf("% x: a second pair", b)
			}
		}
	}
}
