package graph

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"pgregory.net/rapid"
)

// Oracle is another codec, set to DAG-CBOR as far as it can be: what our reader takes, it must decode and encode to the
// same bytes, and what it encodes, our reader must take.
type oracle struct {
	dec cbor.DecMode
	enc cbor.EncMode
}

func newOracle(t tester) oracle {
	t.Helper()
	dec, err := cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden,
		DefaultMapType: reflect.TypeFor[map[string]any](), MaxNestedLevels: 128, BignumTag: cbor.BignumTagForbidden,
		NaN: cbor.NaNDecodeForbidden, Inf: cbor.InfDecodeForbidden,
	}.DecMode()
	if err != nil {
		t.Fatal(err)
	}
	enc, err := cbor.EncOptions{Sort: cbor.SortLengthFirst, IndefLength: cbor.IndefLengthForbidden}.EncMode()
	if err != nil {
		t.Fatal(err)
	}
	return oracle{dec, enc}
}

func (o oracle) again(t tester, b []byte) []byte {
	t.Helper()
	var v any
	if err := o.dec.Unmarshal(b, &v); err != nil {
		t.Fatalf("the other codec refuses %x: %v", b, err)
	}
	out, err := o.enc.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func skipAll(b []byte) *InvalidError {
	r := &reader{b: b}
	r.skip(1)
	r.end()
	return r.err
}

// GoodCBOR and badCBOR are single items, in hex.
func goodCBOR() map[string]string {
	return map[string]string{
		"zero": "00", "23": "17", "24": "1818", "255": "18ff", "256": "190100", "65535": "19ffff", "65536": "1a00010000",
		"2^32-1": "1affffffff", "2^32": "1b0000000100000000", "2^64-1": "1bffffffffffffffff",
		"-1": "20", "-24": "37", "-25": "3818", "-2^63": "3b7fffffffffffffff",
		"empty bytes": "40", "bytes": "4201ff", "empty text": "60", "text": "63e282ac",
		"empty array": "80", "empty map": "a0", "array": "83010203", "map": "a2616101626161f5",
		"keys shorter first": "a2617a00626161f6", "nul in text": "6100",
		"false": "f4", "true": "f5", "null": "f6", "float": "fb3ff8000000000000", "float of a whole": "fb3ff0000000000000",
		"negative zero": "fb8000000000000000", "tiny float": "fb0000000000000001", "greatest float": "fb7fefffffffffffff",
		"link": "d82a58250001711220" + strings.Repeat("00", 32), "cidv0": "d82a5823001220" + strings.Repeat("00", 32),
		"raw link": "d82a58250001551220" + strings.Repeat("00", 32), "identity link": "d82a450001550000",
		"long codec": "d82a49000181047f03010203",
	}
}

func TestCBORTakes(t *testing.T) {
	o := newOracle(t)
	for name, b := range goodCBOR() {
		if err := skipAll(unhex(b)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if out := o.again(t, unhex(b)); !bytes.Equal(out, unhex(b)) {
			t.Errorf("%s: the other codec writes %x", name, out)
		}
	}
}

type badItem struct {
	b    string
	rule Rule
}

func badCBOR() map[string]badItem {
	cid := strings.Repeat("00", 32)
	return map[string]badItem{
		"nothing":                {"", RuleCBOR},
		"cut head":               {"19ff", RuleCBOR},
		"cut 8-byte head":        {"1bffffffffffffff", RuleCBOR},
		"cut bytes":              {"4201", RuleCBOR},
		"cut text":               {"6261", RuleCBOR},
		"cut array":              {"8201", RuleCBOR},
		"cut map":                {"a16161", RuleCBOR},
		"cut float":              {"fb3ff80000", RuleCBOR},
		"length of 2^64-1":       {"5bffffffffffffffff", RuleCBOR},
		"array of 2^64-1":        {"9bffffffffffffffff", RuleCBOR},
		"map of 2^64-1":          {"bbffffffffffffffff", RuleCBOR},
		"something after":        {"0000", RuleCBOR},
		"23 in two bytes":        {"1817", RuleCanonical},
		"255 in three":           {"1900ff", RuleCanonical},
		"65535 in five":          {"1a0000ffff", RuleCanonical},
		"2^32-1 in nine":         {"1b00000000ffffffff", RuleCanonical},
		"-1 in two":              {"3800", RuleCanonical},
		"length in two":          {"580100", RuleCanonical},
		"tag in three bytes":     {"d9002a58250001711220" + cid, RuleCanonical},
		"indefinite bytes":       {"5f4101ff", RuleCanonical},
		"indefinite text":        {"7f6161ff", RuleCanonical},
		"indefinite array":       {"9f01ff", RuleCanonical},
		"indefinite map":         {"bf616101ff", RuleCanonical},
		"a break":                {"ff", RuleCanonical},
		"reserved 28":            {"1c", RuleCBOR},
		"reserved 30":            {"fe", RuleCBOR},
		"half float":             {"f93e00", RuleCanonical},
		"single float":           {"fa3fc00000", RuleCanonical},
		"nan":                    {"fb7ff8000000000000", RuleCBOR},
		"a nan with a message":   {"fbfff8000000000001", RuleCBOR},
		"infinity":               {"fb7ff0000000000000", RuleCBOR},
		"minus infinity":         {"fbfff0000000000000", RuleCBOR},
		"undefined":              {"f7", RuleCBOR},
		"simple 19":              {"f3", RuleCBOR},
		"simple 32":              {"f820", RuleCBOR},
		"false in two bytes":     {"f814", RuleCBOR},
		"not utf-8":              {"61ff", RuleCBOR},
		"surrogate in text":      {"63eda080", RuleCBOR},
		"overlong text":          {"62c080", RuleCBOR},
		"number as a key":        {"a10000", RuleCBOR},
		"bytes as a key":         {"a1416100", RuleCBOR},
		"key not utf-8":          {"a161ff00", RuleCBOR},
		"keys by bytes alone":    {"a262616100617a00", RuleCanonical},
		"keys backwards":         {"a2616200616100", RuleCanonical},
		"a key twice":            {"a2616100616100", RuleCanonical},
		"the empty key twice":    {"a260006000", RuleCanonical},
		"tag 0":                  {"c06161", RuleCBOR},
		"bignum":                 {"c24101", RuleCBOR},
		"tag 43":                 {"d82b40", RuleCBOR},
		"self-described":         {"d9d9f700", RuleCBOR},
		"link over text":         {"d82a6100", RuleCBOR},
		"link over nothing":      {"d82a40", RuleCBOR},
		"link without 0x00":      {"d82a582401711220" + cid, RuleCBOR},
		"link to 0x00 alone":     {"d82a4100", RuleCBOR},
		"link cut":               {"d82a58240001711220" + cid[2:], RuleCBOR},
		"link with more":         {"d82a58260001711220" + cid + "00", RuleCBOR},
		"cid version 2":          {"d82a58250002711220" + cid, RuleCBOR},
		"cid with a long varint": {"d82a4600018100" + "0000", RuleCBOR},
		"too deep":               {strings.Repeat("81", MaxNest) + "00", RuleCBOR},
	}
}

func TestCBORRefuses(t *testing.T) {
	for name, c := range badCBOR() {
		err := skipAll(unhex(c.b))
		if err == nil || err.Rule != c.rule {
			t.Errorf("%s: got %v, want %s", name, err, c.rule)
		}
	}
}

func TestCBORNestEdge(t *testing.T) {
	if err := skipAll(unhex(strings.Repeat("81", MaxNest-1) + "00")); err != nil {
		t.Fatal(err)
	}
}

func TestHeadLengths(t *testing.T) {
	o := newOracle(t)
	for _, n := range []uint64{0, 23, 24, 255, 256, 65535, 65536, math.MaxUint32, math.MaxUint32 + 1, math.MaxUint64} {
		want, err := o.enc.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendHead(nil, majorUint, n); !bytes.Equal(got, want) {
			t.Errorf("%d: %x, want %x", n, got, want)
		}
	}
}

func genCBOR(depth int) *rapid.Generator[any] {
	leaves := []*rapid.Generator[any]{
		rapid.Int64().AsAny(), rapid.Uint64().AsAny(), rapid.Bool().AsAny(), rapid.Just(any(nil)),
		rapid.String().AsAny(), rapid.SliceOf(rapid.Byte()).AsAny(), rapid.Float64().AsAny(),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 32, 32), func(b []byte) any {
			return cbor.Tag{Number: 42, Content: append(unhex("0001711220"), b...)}
		}),
	}
	if depth > 0 {
		leaves = append(leaves,
			rapid.SliceOfN(genCBOR(depth-1), 0, 5).AsAny(),
			rapid.MapOfN(rapid.String(), genCBOR(depth-1), 0, 5).AsAny())
	}
	return rapid.OneOf(leaves...)
}

// Whatever the other codec writes canonically is taken; of all its prefixes none is.
func TestCBORAgainstOracle(t *testing.T) {
	o := newOracle(t)
	rapid.Check(t, func(t *rapid.T) {
		b, err := o.enc.Marshal(genCBOR(3).Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		if err := skipAll(b); err != nil {
			t.Fatalf("%x: %v", b, err)
		}
		cut := rapid.IntRange(0, len(b)-1).Draw(t, "cut")
		if skipAll(b[:cut]) == nil {
			t.Fatalf("%x cut to %d is taken", b, cut)
		}
	})
}

// FuzzCBOR: what the walker takes is the other codec's own encoding of it.
func FuzzCBOR(f *testing.F) {
	for _, s := range []string{"00", "a2616101626161f5", "fb3ff8000000000000", "d82a450001550000", "83010203", "1817"} {
		f.Add(unhex(s))
	}
	o := newOracle(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if skipAll(b) != nil {
			return
		}
		if out := o.again(t, b); !bytes.Equal(out, b) {
			t.Fatalf("%x is taken, canonical is %x", b, out)
		}
	})
}
