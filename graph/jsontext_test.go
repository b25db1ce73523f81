package graph

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestCheckJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "{", ` { } `: "{", "\t\r\n[ ]": "[", `"x"`: `"`, `0`: "0", `-0`: "0", `-0.0e+00`: "0", `1E9`: "0", `1.5e-7`: "0",
		`true`: "b", `false`: "b", `null`: "n", `[1,"2",{"3":[]}]`: "[", `{"a":1,"b":{"a":2}}`: "{", `{"":0}`: "{",
		`12345678901234567890123456789`: "0", `1e99999`: "0", `"\"\\\/\b\f\n\r\t\u0000\uFFFF"`: `"`,
		`"\ud83d\ude00"`: `"`, `"\uD83D\uDE00"`: `"`, "\"\u00e9\u2028\U0001F600\x7f\"": `"`, `{"a":{"b":1},"b":[{"a":1},{"a":1}]}`: "{",

		``: "", ` `: "", `{`: "", `}`: "", `{"a"}`: "", `{"a":}`: "", `{"a":1,}`: "", `{,}`: "", `{"a":1 "b":2}`: "", `{a:1}`: "", `{'a':1}`: "",
		`[`: "", `[1,]`: "", `[,1]`: "", `[1 2]`: "", `]`: "", `[}`: "", `{]`: "", `{}{}`: "", `{} x`: "", `1 2`: "",
		`01`: "", `-`: "", `+1`: "", `.5`: "", `1.`: "", `1.e1`: "", `1e`: "", `1e+`: "", `0x1`: "", `NaN`: "", `Infinity`: "", `--1`: "", `1_0`: "",
		`tru`: "", `TRUE`: "", `nul`: "", `nullx`: "", `undefined`: "",
		`"`: "", `"x`: "", "\"\n\"": "", "\"\x00\"": "", "\"\x1f\"": "", `"\x"`: "", `"\u12"`: "", `"\u12g4"`: "", `"\`: "", `"\u`: "", `"\U0041"`: "",
		`"\ud800"`: "", `"\udc00"`: "", `"\ud800x"`: "", `"\ud800\n"`: "", `"\ud800\ud800"`: "", `"\udc00\ud800"`: "", `"\ud800\u0041"`: "",
		`{"\ud800":1}`: "", "\"\xff\"": "", "\"\xc0\x80\"": "", "\"\xed\xa0\x80\"": "", "\"\xf4\x90\x80\x80\"": "", "\"\xe2\x82\"": "", "{\"\xff\":1}": "",
		"\ufeff{}": "", "{}\x00": "", "\x0b{}": "", "\u00a0{}": "", "// c\n{}": "", "{}/**/": "",
		`{"a":1,"a":1}`: "", `{"a":1,"\u0061":2}`: "", `[{"x":{"a":1,"b":2,"a":3}}]`: "", `{"":1,"":1}`: "", `{"é":1,"\u00e9":1}`: "",
		`{"\ud83d\ude00":1,"😀":1}`: "", `{"/":1,"\/":1}`: "", `{"\t":1,"\u0009":1}`: "",
	} {
		kind, err := checkJSON([]byte(text), 0)
		if (err == nil) != (want != "") || err == nil && string(kind) != want {
			t.Errorf("%q: %q, %v, want %q", text, kind, err, want)
		}
	}
}

func TestCheckJSONDepth(t *testing.T) {
	for _, c := range []string{"[]", `{"a":}`} {
		nest := func(n int) []byte {
			if c == "[]" {
				return []byte(strings.Repeat("[", n) + strings.Repeat("]", n))
			}
			return []byte(strings.Repeat(`{"a":`, n-1) + "{}" + strings.Repeat("}", n-1))
		}
		if _, err := checkJSON(nest(MaxDepth), 0); err != nil {
			t.Error(err)
		}
		if _, err := checkJSON(nest(MaxDepth+1), 0); err == nil {
			t.Error("one too deep is taken")
		}
		if _, err := checkJSON(nest(MaxDepth), 1); err == nil {
			t.Error("levels above aren't counted")
		}
		if _, err := checkJSON(nest(100_000), 0); err == nil {
			t.Error("100,000 deep is taken")
		}
	}
}

// Many keys are compared in linear time, few without allocating; both find a duplicate wherever it stands.
func TestDuplicateKeysAnywhere(t *testing.T) {
	for n := 2; n < 40; n++ {
		for twice := range n - 1 {
			var b strings.Builder
			b.WriteByte('{')
			for i := range n - 1 {
				fmt.Fprintf(&b, `"k%d":%d,`, i, i)
			}
			text := b.String()
			if _, err := checkJSON([]byte(text+`"last":0}`), 0); err != nil {
				t.Fatal(err)
			}
			if _, err := checkJSON(fmt.Appendf(nil, `%s"\u006b%d":0}`, text, twice), 0); err == nil {
				t.Fatalf("%d keys, the last repeats number %d", n, twice)
			}
		}
	}
}

func genJSON(depth int) *rapid.Generator[any] {
	gens := []*rapid.Generator[any]{
		rapid.String().AsAny(), rapid.Int64().AsAny(), rapid.Float64().AsAny(), rapid.Bool().AsAny(), rapid.Just(any(nil)),
	}
	if depth > 0 {
		gens = append(gens, rapid.SliceOfN(genJSON(depth-1), 0, 4).AsAny(),
			rapid.MapOfN(rapid.String(), genJSON(depth-1), 0, 12).AsAny())
	}
	return rapid.OneOf(gens...)
}

// What the standard library writes is taken, whatever the indentation, and its members are found; cut short it isn't.
func TestJSONAgainstStdlib(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object := rapid.MapOfN(rapid.String(), genJSON(3), 0, 12).Draw(t, "object")
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, text, "\t", "  "); err != nil {
			t.Fatal(err)
		}
		for _, b := range [][]byte{text, indented.Bytes()} {
			if kind, err := checkJSON(b, 0); err != nil || kind != '{' {
				t.Fatalf("%s: %v", b, err)
			}
			n := 0
			for key, value := range members(b) {
				want, _ := json.Marshal(object[string(key)])
				var got bytes.Buffer
				if err := json.Compact(&got, value); err != nil || got.String() != string(want) {
					t.Fatalf("%q is %s, want %s", key, value, want)
				}
				n++
			}
			if n != len(object) {
				t.Fatalf("%d members, want %d", n, len(object))
			}
		}
		if _, err := checkJSON(text[:rapid.IntRange(0, len(text)-1).Draw(t, "cut")], 0); err == nil {
			t.Fatal("cut short, and taken")
		}
	})
}

func TestJSONStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		quoted := appendJSONString(nil, s)
		if _, err := checkJSON(quoted, 0); err != nil {
			t.Fatalf("%s: %v", quoted, err)
		}
		if got, ok := jsonString(quoted); !ok || got != s {
			t.Fatalf("%q came back as %q", s, got)
		}
		std, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := jsonString(std); got != s {
			t.Fatalf("%s reads as %q, want %q", std, got, s)
		}
	})
}

// FuzzCheckPayload: never a panic; what is taken is valid to the standard library, is UTF-8, and comes through a
// message unchanged.
func FuzzCheckPayload(f *testing.F) {
	for _, s := range []string{
		`{"content":{"text":"hi"},"content_type":"x","meta":{},"content_schema":true}`, `{"a":1,"\u0061":1}`, `{"content":"text"}`,
		`{"x":"\ud83d\ude00"}`, `{"x":"\ud83d"}`, `[[[[]]]]`, `{"content":{"n":12345678901234567890,"m":1.10}}`, "{\"\xff\":1}", `{"content":null}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		err := CheckPayload(text)
		kind, jsonErr := checkJSON(text, 0)
		if jsonErr == nil && (!json.Valid(text) || !utf8.Valid(text)) {
			t.Fatalf("%q is taken, but isn't valid", text)
		}
		if len(text) <= MaxPayload && (err == nil) != (jsonErr == nil && kind == '{') {
			t.Fatalf("%q: %v and %v", text, err, jsonErr)
		}
		draft := Draft{Content: text}
		b, draftErr := draft.EncodePayload()
		if draftErr != nil {
			return
		}
		if err := CheckPayload(b); err != nil {
			t.Fatalf("encoded %q: %v", b, err)
		}
		m, ok := readPayload(b)
		if !ok || string(m.Content) != string(bytes.Trim(text, " \t\r\n")) {
			t.Fatalf("%q came back as %q", text, m.Content)
		}
	})
}

func BenchmarkCheckPayload(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	object := map[string]any{}
	for i := range 2000 {
		object[fmt.Sprintf("key%d", i)] = []any{r.Float64(), "some text, and then some", map[string]any{"a": 1}}
	}
	text, err := json.Marshal(object)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := CheckPayload(text); err != nil {
			b.Fatal(err)
		}
	}
}
