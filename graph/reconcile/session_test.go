package reconcile_test

// This file holds what a session promises: two sets find their exact difference, in the reference's bytes, within bounds,
// whatever the other side sends.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plexus/graph"
	"plexus/graph/reconcile"
)

// outcome of an exchange.
type outcome struct {
	messages   [][]byte
	have, want []graph.ID
}

// exchange runs two sessions to the end and returns every message.
func exchange(t testing.TB, a, b reconcile.Set, frame int, audit ...reconcile.Range) (o outcome) {
	t.Helper()
	ctx := context.Background()
	opener := reconcile.NewSession(a, true, reconcile.Options{Frame: frame, Audit: audit})
	answerer := reconcile.NewSession(b, false, reconcile.Options{Frame: frame})
	m, err := opener.Initiate(ctx)
	for err == nil && m != nil {
		o.messages = append(o.messages, m)
		var have, want []graph.ID
		if m, have, want, err = answerer.Step(ctx, m); err != nil || have != nil || want != nil {
			t.Fatal("answerer", err, len(have), len(want))
		}
		if frame > 0 && len(m) > frame {
			t.Fatalf("a message of %d bytes over a frame of %d", len(m), frame)
		}
		o.messages = append(o.messages, m)
		m, have, want, err = opener.Step(ctx, m)
		o.have, o.want = append(o.have, have...), append(o.want, want...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// minus lists the IDs of a that b lacks, sorted.
func minus(a, b flat) []graph.ID {
	in := map[graph.ID]bool{}
	for _, k := range b {
		in[k.ID] = true
	}
	var out []graph.ID
	for _, k := range a {
		if !in[k.ID] {
			out = append(out, k.ID)
		}
	}
	return sorted(out)
}

func sorted(ids []graph.ID) []graph.ID {
	slices.SortFunc(ids, graph.ID.Compare)
	return slices.Compact(ids)
}

func checkDifference(t testing.TB, a, b flat, o outcome) {
	t.Helper()
	if !slices.Equal(sorted(o.have), minus(a, b)) || !slices.Equal(sorted(o.want), minus(b, a)) {
		t.Fatalf("found %d to give and %d to take, there are %d and %d", len(o.have), len(o.want), len(minus(a, b)), len(minus(b, a)))
	}
}

func TestSizes(t *testing.T) {
	for _, n := range []int{0, 1, 2, 31, 32, 33, 100, 511, 512, 4095, 4096, 4097, 9000} {
		for _, c := range []struct {
			name string
			a, b []graph.Key
		}{
			{"equal", keys(0, n), keys(0, n)},
			{"mine is empty", nil, keys(0, n)},
			{"theirs is empty", keys(0, n), nil},
			{"late", keys(0, n), keys(0, n+10)},
			{"apart", keys(0, n), keys(n, 2*n)},
			{"holes", slices.DeleteFunc(keys(0, n), func(k graph.Key) bool { return k.ID[0] == 7 }), slices.DeleteFunc(keys(0, n), func(k graph.Key) bool { return k.ID[0] == 8 })},
		} {
			for _, frame := range []int{0, reconcile.MinFrame} {
				t.Run(fmt.Sprintf("%d/%s/%d", n, c.name, frame), func(t *testing.T) {
					a, b := newFlat(c.a...), newFlat(c.b...)
					checkDifference(t, a, b, exchange(t, a, b, frame))
				})
			}
		}
	}
}

// TestConverges draws two sets with many equal times, and any frame.
func TestConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.Custom(func(t *rapid.T) graph.Key {
			k := graph.Key{Time: graph.Time(rapid.IntRange(0, 30).Draw(t, "time"))}
			if rapid.Bool().Draw(t, "far") {
				k.Time = graph.MaxTime - k.Time
			}
			binary.BigEndian.PutUint16(k.ID[28*rapid.IntRange(0, 1).Draw(t, "place"):], rapid.Uint16().Draw(t, "id"))
			binary.BigEndian.PutUint64(k.ID[8:], uint64(k.Time)) // an ID has one time
			return k
		})
		some := func(what string, most int) []graph.Key { // slices of rapid's own are mostly short
			n := rapid.IntRange(0, most).Draw(t, "how many "+what)
			return rapid.SliceOfN(one, n, n).Draw(t, what)
		}
		common := some("common", 600)
		a := newFlat(append(some("a", 200), common...)...)
		b := newFlat(append(some("b", 200), common...)...)
		frame := rapid.IntRange(reconcile.MinFrame, reconcile.MaxFrame).Draw(t, "frame")
		checkDifference(rt{t: t}, a, b, exchange(rt{t: t}, a, b, frame))
	})
}

// rt lends rapid's T to helpers that want a testing.TB.
type rt struct {
	testing.TB
	t *rapid.T
}

func (r rt) Helper()                        { r.t.Helper() }
func (r rt) Fatal(args ...any)              { r.t.Fatal(args...) }
func (r rt) Fatalf(form string, arg ...any) { r.t.Fatalf(form, arg...) }

// TestReference holds every byte of both sides against the reference.
func TestReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 800).Draw(t, "n")
		drop := rapid.IntRange(1, 40).Draw(t, "drop")
		a := slices.DeleteFunc(keys(0, n), func(k graph.Key) bool { return int(k.ID[0])%drop == 1 })
		b := slices.DeleteFunc(keys(rapid.IntRange(0, n).Draw(t, "from"), n), func(k graph.Key) bool { return int(k.ID[1])%drop == 1 })
		checkReference(rt{t: t}, newFlat(a...), newFlat(b...))
	})
}

func checkReference(t testing.TB, a, b flat) {
	t.Helper()
	o := exchange(t, a, b, reconcile.MaxFrame)
	opener, answerer := &reference{items: a, initiator: true}, &reference{items: b}
	m := opener.initiate()
	var have, want []graph.ID
	for i := 0; i < len(o.messages); i += 2 {
		if !bytes.Equal(m, o.messages[i]) {
			t.Fatalf("message %d\nours      %x\nreference %x", i, o.messages[i], m)
		}
		m, _, _ = answerer.reconcile(m)
		if !bytes.Equal(m, o.messages[i+1]) {
			t.Fatalf("message %d\nours      %x\nreference %x", i+1, o.messages[i+1], m)
		}
		var h, w []graph.ID
		m, h, w = opener.reconcile(m)
		have, want = append(have, h...), append(want, w...)
	}
	if len(m) != 1 || !slices.Equal(have, o.have) || !slices.Equal(want, o.want) {
		t.Fatalf("the reference goes on with %x, found %d and %d of %d and %d", m, len(have), len(want), len(o.have), len(o.want))
	}
}

// liar is a set whose sums leave something out that its lists have.
type liar struct {
	flat
	hidden flat
}

func (l liar) RangeSum(ctx context.Context, lo, hi graph.Key) ([32]byte, int, error) {
	return l.hidden.RangeSum(ctx, lo, hi)
}

// TestAudit: sums that agree hide a difference from an exchange, but not from one that audits the range.
func TestAudit(t *testing.T) {
	a := newFlat(keys(0, 5000)...)
	b := slices.Clone(a)
	lost := b[2500]
	b[2500].ID[5] ^= 1
	forged := liar{flat: b, hidden: a}
	if o := exchange(t, a, forged, 0); len(o.have)+len(o.want) != 0 {
		t.Fatal("the forged sums should have agreed")
	}
	r, ok, err := reconcile.Sample(context.Background(), a, 5000*7+2400, 200)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	o := exchange(t, a, forged, 0, r)
	if len(o.have) != 1 || o.have[0] != lost.ID || len(o.want) != 1 || o.want[0] != b[2500].ID {
		t.Fatalf("audit found %d and %d", len(o.have), len(o.want))
	}
	if len(o.messages) != 2 {
		t.Fatalf("an audit of equal sets took %d messages", len(o.messages))
	}
	checkDifference(t, a, b, exchange(t, a, b, 0, r)) // honest sums: the whole difference all the same
}

func TestSample(t *testing.T) {
	ctx := context.Background()
	if _, ok, err := reconcile.Sample(ctx, flat(nil), 3, 10); ok || err != nil {
		t.Fatal(ok, err)
	}
	f := newFlat(keys(0, 100)...)
	for r := range uint64(300) {
		x, ok, err := reconcile.Sample(ctx, f, r, 10)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		got := f.cut(x.Lo, x.Hi)
		if want := f[r%100 : min(r%100+10, 100)]; !slices.Equal(got, want) {
			t.Fatalf("%d: %d keys, want %d", r, len(got), len(want))
		}
	}
}

func TestAuditBounds(t *testing.T) {
	ctx := context.Background()
	f := newFlat(keys(0, 3000)...)
	r := func(lo, hi int) reconcile.Range { return reconcile.Range{Lo: f[lo], Hi: f[hi]} }
	for _, c := range []struct {
		audit []reconcile.Range
		want  error
	}{
		{[]reconcile.Range{r(0, reconcile.MaxAudit)}, nil},
		{[]reconcile.Range{r(0, reconcile.MaxAudit+1)}, graph.ErrTooLarge},
		{[]reconcile.Range{r(0, 512), r(512, 1024)}, nil},
		{[]reconcile.Range{r(0, 512), r(1000, 1513)}, graph.ErrTooLarge},
		{[]reconcile.Range{r(10, 20), r(19, 30)}, graph.ErrInvalid},
		{[]reconcile.Range{r(20, 10)}, graph.ErrInvalid},
		{[]reconcile.Range{r(10, 10)}, graph.ErrInvalid},
	} {
		_, err := reconcile.NewSession(f, true, reconcile.Options{Audit: c.audit}).Initiate(ctx)
		if !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
			t.Errorf("%v: %v", c.audit, err)
		}
	}
}

func TestRefused(t *testing.T) {
	id := string(bytes.Repeat([]byte{1}, 32))
	for name, c := range map[string]struct {
		in   string
		want error
	}{
		"empty":                  {"", graph.ErrInvalid},
		"not Negentropy":         {"\x42", graph.ErrInvalid},
		"bound cut short":        {"\x61\x01", graph.ErrInvalid},
		"prefix cut short":       {"\x61\x01\x05ab", graph.ErrInvalid},
		"prefix of 33":           {"\x61\x01\x21" + id + "a\x00", graph.ErrInvalid},
		"no mode":                {"\x61\x01\x00", graph.ErrInvalid},
		"unknown mode":           {"\x61\x00\x00\x03", graph.ErrInvalid},
		"fingerprint cut short":  {"\x61\x00\x00\x01abcdef", graph.ErrInvalid},
		"fewer IDs than told":    {"\x61\x00\x00\x02\x02" + id, graph.ErrInvalid},
		"IDs beyond memory":      {"\x61\x00\x00\x02\x81\xff\xff\xff\xff\xff\xff\xff\xff\x7f", graph.ErrInvalid},
		"number over 64 bits":    {"\x61\x00\x00\x83\xff\xff\xff\xff\xff\xff\xff\xff\x7f", graph.ErrInvalid},
		"number without end":     {"\x61\xff\xff\xff", graph.ErrInvalid},
		"leading zero":           {"\x61\x80\x01\x00\x00", graph.ErrInvalid},
		"timestamp over 64 bits": {"\x61\x05\x00\x00\x81\xff\xff\xff\xff\xff\xff\xff\xff\x7e\x00\x00", graph.ErrInvalid},
		"bounds go back":         {"\x61\x05\x01b\x00\x01\x01a\x00", graph.ErrInvalid},
		"too long":               {"\x61" + string(make([]byte, reconcile.MaxFrame)), graph.ErrTooLarge},
	} {
		for _, opener := range []bool{true, false} {
			_, _, _, err := reconcile.NewSession(newFlat(keys(0, 100)...), opener, reconcile.Options{}).Step(context.Background(), []byte(c.in))
			if !errors.Is(err, c.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestAllowed: odd, but no breach.
func TestAllowed(t *testing.T) {
	for name, in := range map[string]string{
		"nothing at all":          "\x61",
		"equal bounds":            "\x61\x05\x01b\x00\x01\x01b\x00",
		"past our last timestamp": "\x61\x81\xff\xff\xff\xff\xff\xff\xff\xff\x7e\x00\x00\x00\x00\x00",
		"ranges after the end":    "\x61\x00\x00\x00\x07\x00\x02\x00",
		"a message at the limit":  "\x61" + string(make([]byte, reconcile.MaxFrame-1)),
	} {
		if len(in) == reconcile.MaxFrame {
			in = in[:1+(len(in)-1)/3*3] // whole skips
		}
		for _, opener := range []bool{true, false} {
			_, _, _, err := reconcile.NewSession(newFlat(keys(0, 100)...), opener, reconcile.Options{}).Step(context.Background(), []byte(in))
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestOtherVersion(t *testing.T) {
	ctx := context.Background()
	out, _, _, err := reconcile.NewSession(flat(nil), false, reconcile.Options{}).Step(ctx, []byte{0x62, 1, 2, 3})
	if err != nil || !bytes.Equal(out, []byte{0x61}) {
		t.Fatalf("%x, %v", out, err)
	}
	if _, _, _, err := reconcile.NewSession(flat(nil), true, reconcile.Options{}).Step(ctx, []byte{0x62}); !errors.Is(err, graph.ErrInvalid) {
		t.Fatal(err)
	}
}

// TestFrameBounds: a frame too small or too large is cut to what the package holds to.
func TestFrameBounds(t *testing.T) {
	all := newFlat(keys(0, 20_000)...)
	for frame, most := range map[int]int{
		1: reconcile.MinFrame, reconcile.MinFrame: reconcile.MinFrame, 0: reconcile.DefaultFrame,
		reconcile.MaxFrame: reconcile.MaxFrame, 1 << 30: reconcile.MaxFrame,
	} {
		ask := append([]byte{0x61, 0, 0, 2}, 0) // an empty list over everything: as much as fits comes back
		out, _, _, err := reconcile.NewSession(all, false, reconcile.Options{Frame: frame}).Step(context.Background(), ask)
		if err != nil || len(out) > most || len(out) < most-300 {
			t.Errorf("frame %d: %d bytes, at most %d, %v", frame, len(out), most, err)
		}
	}
}

// TestAnswerThatFills: a list that fills the frame to the last byte and covers everything isn't followed by anything.
func TestAnswerThatFills(t *testing.T) {
	ask := []byte{0x61, 0, 0, 2, 0}
	for n := 110; n < 130; n++ {
		all := newFlat(keys(0, n)...)
		out, _, _, err := reconcile.NewSession(all, false, reconcile.Options{Frame: reconcile.MinFrame}).Step(context.Background(), ask)
		if err != nil {
			t.Fatal(err)
		}
		whole := 1 + 4 + 32*n // version, bound, mode, count
		if n > 127 {
			whole++
		}
		if bytes.HasPrefix(out[1:], []byte{0, 0, 2}) && len(out) != whole {
			t.Fatalf("%d IDs: %d bytes, want %d", n, len(out), whole)
		}
	}
}

// TestWantOnce: an ID told twice is wanted once.
func TestWantOnce(t *testing.T) {
	id := bytes.Repeat([]byte{9}, 32)
	m := append(append([]byte{0x61, 0, 0, 2, 3}, id...), append(slices.Clone(id), id...)...)
	_, _, want, err := reconcile.NewSession(newFlat(keys(0, 3)...), true, reconcile.Options{}).Step(context.Background(), m)
	if err != nil || len(want) != 1 {
		t.Fatal(len(want), err)
	}
}

// TestEndlessPeer: one that always disagrees is left after MaxRounds.
func TestEndlessPeer(t *testing.T) {
	s := reconcile.NewSession(newFlat(keys(0, 10)...), true, reconcile.Options{})
	wrong := append([]byte{0x61, 0, 0, 1}, bytes.Repeat([]byte{0xaa}, 16)...)
	for range reconcile.MaxRounds {
		if _, _, _, err := s.Step(context.Background(), wrong); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, _, err := s.Step(context.Background(), wrong); !errors.Is(err, graph.ErrTooLarge) {
		t.Fatal(err)
	}
}

// TestTooManyDiffer: at the edge all is found, past it the error comes with what was found so far.
func TestTooManyDiffer(t *testing.T) {
	f := make(flat, reconcile.MaxIDs+1)
	for i := range f {
		f[i].Time = graph.Time(i)
		binary.BigEndian.PutUint64(f[i].ID[:], uint64(i))
	}
	empty := []byte{0x61, 0, 0, 2, 0}
	_, have, _, err := reconcile.NewSession(f[1:], true, reconcile.Options{}).Step(context.Background(), empty)
	if err != nil || len(have) != reconcile.MaxIDs {
		t.Fatal(len(have), err)
	}
	_, have, _, err = reconcile.NewSession(f, true, reconcile.Options{}).Step(context.Background(), empty)
	if !errors.Is(err, graph.ErrTooLarge) || len(have) != reconcile.MaxIDs {
		t.Fatal(len(have), err)
	}
}

// failing is a set whose store breaks.
type failing struct{ flat }

var errDisk = errors.New("disk")

func (failing) RangeSum(context.Context, graph.Key, graph.Key) (s [32]byte, n int, err error) {
	return s, 0, errDisk
}

func TestStoreError(t *testing.T) {
	s := reconcile.NewSession(failing{newFlat(keys(0, 100)...)}, true, reconcile.Options{})
	if _, err := s.Initiate(context.Background()); !errors.Is(err, errDisk) {
		t.Fatal(err)
	}
	if _, _, _, err := s.Step(context.Background(), append([]byte{0x61, 0, 0, 1}, make([]byte, 16)...)); !errors.Is(err, errDisk) {
		t.Fatal(err)
	}
}

// FuzzStep feeds any bytes to both sides: an error or a well-formed answer within the frame, and no more work than the bytes pay for.
func FuzzStep(f *testing.F) {
	a, b := newFlat(keys(0, 400)...), newFlat(keys(100, 700)...)
	for _, m := range exchange(f, a, b, 0).messages {
		f.Add(m)
	}
	for _, m := range exchange(f, newFlat(keys(0, 3)...), b, reconcile.MinFrame).messages {
		f.Add(m)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, opener := range []bool{true, false} {
			s := reconcile.NewSession(a, opener, reconcile.Options{Frame: reconcile.MinFrame})
			out, have, want, err := s.Step(context.Background(), in)
			if len(out) > reconcile.MinFrame {
				t.Fatalf("%d bytes over the frame", len(out))
			}
			if len(have) > len(a)*(1+len(in)) || len(want) > len(in)/32 {
				t.Fatalf("%d and %d IDs from %d bytes", len(have), len(want), len(in))
			}
			if err != nil || out == nil {
				continue
			}
			if _, _, _, err := reconcile.NewSession(b, !opener, reconcile.Options{}).Step(context.Background(), out); err != nil {
				t.Fatalf("our own answer is refused: %v", err)
			}
		}
	})
}

// BenchmarkExchange reports bytes and rounds for typical differences in a large set.
func BenchmarkExchange(b *testing.B) {
	all := make([]graph.Key, 100_000)
	for i := range all {
		all[i] = graph.Key{Time: graph.Time(i), ID: sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(i)))}
	}
	for name, other := range map[string]flat{"last10": all[:len(all)-10], "last1000": all[:len(all)-1000]} {
		b.Run(name, func(b *testing.B) {
			var o outcome
			for b.Loop() {
				o = exchange(b, flat(all), other, 0)
			}
			n := 0
			for _, m := range o.messages {
				n += len(m)
			}
			b.ReportMetric(float64(n), "wire-B")
			b.ReportMetric(float64(len(o.messages))/2, "rounds")
		})
	}
}
