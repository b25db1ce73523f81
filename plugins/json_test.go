package plugins

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"

	"plexus/graph"
	"plexus/sdk/abi"
)

func TestNumbers(t *testing.T) {
	for text, want := range map[string]any{
		"0": int64(0), "-0": int64(0), "9223372036854775807": int64(math.MaxInt64), "-9223372036854775808": int64(math.MinInt64),
		"9223372036854775808": 9223372036854775808.0, "1.10": 1.1, "1e2": 100.0, "1E400": "1E400", "-1e-400": math.Copysign(0, -1),
	} {
		b, err := appendJSON(nil, []byte(text))
		if err != nil || !bytes.Equal(b, abi.Encode(want)) {
			t.Errorf("%s: % x, want % x (%v)", text, b, []byte(abi.Encode(want)), err)
		}
	}
}

func TestTranslatedBackIsTheSame(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `{"b":1,"a":[true,false,null,"x",1.5,-3]}`, `{"deep":{"deeper":{"ä":"\u00e4\n\"\\\ud83d\ude00"}}}`, ` { "x" : [ 1 , 2 ] } `, `"<&>"`,
	} {
		b, err := appendJSON(nil, []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := abi.Check(b); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		back, err := toJSON(nil, b)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !sameJSON(t, []byte(text), back) {
			t.Errorf("%s came back as %s", text, back)
		}
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		t.Fatalf("%s, %s: %v", a, b, err)
	}
	return reflect.DeepEqual(x, y)
}

func TestWhatIsNoJSONIsRefused(t *testing.T) {
	for _, text := range []string{``, `{`, `[1,]`, `{"a"}`, `{"a":1,}`, `tru`, `nul`, `1 2`, `01`, `"`, `"\x"`, `{1:2}`, "\"\x01\"", `-`, `+1`, `.5`} {
		if b, err := appendJSON(nil, []byte(text)); err == nil {
			t.Errorf("%s gave % x", text, b)
		}
	}
}

func TestOutputThatHasNoJSONForm(t *testing.T) {
	for _, v := range []any{[]byte{1}, []any{[]byte{1}}, abi.Fields{"a": []byte{1}}} {
		if b, err := toJSON(nil, abi.Encode(v)); !errors.Is(err, graph.ErrInvalid) {
			t.Errorf("%v gave %s, %v", v, b, err)
		}
	}
	if b, err := toJSON(nil, abi.AppendInt(abi.AppendInt(abi.AppendMap(nil, 1), 1), 1)); err == nil {
		t.Errorf("an integer key gave %s", b)
	}
}

// FuzzJSON: whatever encoding/json takes, apart from duplicate keys and broken surrogates, is translated to what means the same.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,"x"],"b":{}}`, `1e999`, `"\ud800"`, `{"a":1,"a":2}`, `[[[[[]]]]]`, `-0`, "\"\u2028\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := appendJSON(nil, text)
		if graph.CheckPayload(text) != nil {
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if err := abi.Check(b); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		back, err := toJSON(nil, b)
		if err != nil || !json.Valid(back) {
			t.Fatalf("%q: %s, %v", text, back, err)
		}
	})
}
