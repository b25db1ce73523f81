package graph

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSealDecode(t *testing.T) {
	b := testBody(1)
	ids := testIDs(12)
	b.Seq, b.Prev = 7, append([]ID{ids[11]}, ids[:8]...)
	b.Refs = Refs{Messages: []ID{ids[9], ids[3]}, Nodes: []NodeID{testNode(2), testNode(1)}}
	e := mustSeal(t, b, testKey(1))
	d, err := Decode(e.Block())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(d, e) || !reflect.DeepEqual(d.Body(), b) {
		t.Fatalf("decoded %+v, sealed %+v", d.Body(), b)
	}
	want := append(slices.Clone(b.Prev), ids[9]) // ids[3] is in prev
	if got := d.Parents(); !slices.Equal(got, want) {
		t.Fatalf("parents %v, want %v", got, want)
	}
	if d.ID() != BlockID(e.Block()) {
		t.Fatal("the ID isn't the block's hash")
	}
}

func TestSealCopies(t *testing.T) {
	b := testBody(1)
	b.Refs.Messages = []ID{testID(1)}
	e := mustSeal(t, b, testKey(1))
	b.Payload[0], b.Refs.Messages[0] = 'x', testID(2)
	if e.Body().Payload[0] != '{' || e.Body().Refs.Messages[0] != testID(1) {
		t.Fatal("the entry shares memory with the caller's body")
	}
}

// BodyChange makes a good body break one rule.
type bodyChange struct {
	change func(*Body)
	rule   Rule
}

func badChanges() map[string]bodyChange {
	two := testIDs(2)
	return map[string]bodyChange{
		"no kind":           {func(b *Body) { b.Kind = "" }, RuleKind},
		"long kind":         {func(b *Body) { b.Kind = Kind(strings.Repeat("k", MaxKind+1)) }, RuleKind},
		"kind not utf-8":    {func(b *Body) { b.Kind = "\xff" }, RuleCBOR},
		"seq 0":             {func(b *Body) { b.Seq = 0 }, RuleSeq},
		"seq 2^53":          {func(b *Body) { b.Seq, b.Prev = MaxSeq+1, two[:1] }, RuleSeq},
		"negative time":     {func(b *Body) { b.Time = -1 }, RuleTime},
		"time in year 1e4":  {func(b *Body) { b.Time = MaxTime + 1 }, RuleTime},
		"no own previous":   {func(b *Body) { b.Seq = 2 }, RulePrev},
		"heads unsorted":    {func(b *Body) { b.Prev = []ID{two[1], two[0]} }, RulePrev},
		"head twice":        {func(b *Body) { b.Prev = []ID{two[0], two[0]} }, RulePrev},
		"own among heads":   {func(b *Body) { b.Seq, b.Prev = 2, []ID{two[0], two[0], two[1]} }, RulePrev},
		"nine other heads":  {func(b *Body) { b.Prev = testIDs(9) }, RulePrev},
		"ten heads":         {func(b *Body) { b.Seq, b.Prev = 2, append([]ID{testID(99)}, testIDs(9)...) }, RulePrev},
		"ref twice":         {func(b *Body) { b.Refs.Messages = []ID{two[0], two[1], two[0]} }, RuleRefs},
		"too many refs":     {func(b *Body) { b.Refs.Messages = testIDs(MaxRefs + 1) }, RuleRefs},
		"node twice":        {func(b *Body) { b.Refs.Nodes = append(testNodes(20), testNode(3)) }, RuleRefs},
		"too many nodes":    {func(b *Body) { b.Refs.Nodes = testNodes(MaxRefNodes + 1) }, RuleRefs},
		"block over bounds": {func(b *Body) { b.Payload = make([]byte, MaxBlock) }, RuleSize},
	}
}

func TestSealRefuses(t *testing.T) {
	for name, c := range badChanges() {
		b := testBody(1)
		c.change(&b)
		e, err := Seal(b, testKey(1))
		t.Run(name, func(t *testing.T) { wantRule(t, err, c.rule) })
		if e != nil {
			t.Errorf("%s: an entry beside an error", name)
		}
	}
	if _, err := Seal(testBody(1), testKey(2)); !errors.Is(err, ErrInvalid) {
		t.Errorf("another's key: %v", err)
	}
	if _, err := Seal(testBody(1), ed25519.PrivateKey{1, 2}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a short key: %v", err)
	}
}

// Every limit is tested on its allowed side, all at once and alone.
func TestSealEdges(t *testing.T) {
	own := testID(999)
	for name, change := range map[string]func(*Body){
		"kind of 32":       func(b *Body) { b.Kind = Kind(strings.Repeat("k", MaxKind)) },
		"greatest seq":     func(b *Body) { b.Seq, b.Prev = MaxSeq, []ID{own} },
		"time 0":           func(b *Body) { b.Time = 0 },
		"greatest time":    func(b *Body) { b.Time = MaxTime },
		"eight heads at 1": func(b *Body) { b.Prev = testIDs(8) },
		"nine heads":       func(b *Body) { b.Seq, b.Prev = 2, append([]ID{own}, testIDs(8)...) },
		"most refs":        func(b *Body) { b.Refs.Messages = testIDs(MaxRefs) },
		"most nodes":       func(b *Body) { b.Refs.Nodes = testNodes(MaxRefNodes) },
		"no payload":       func(b *Body) { b.Payload = []byte{} },
		"all at once": func(b *Body) {
			b.Seq, b.Prev = 2, append([]ID{own}, testIDs(8)...)
			b.Refs = Refs{testIDs(MaxRefs), testNodes(MaxRefNodes)}
			b.Payload = make([]byte, MaxPayload)
		},
	} {
		b := testBody(1)
		change(&b)
		d, err := Decode(mustSeal(t, b, testKey(1)).Block())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !reflect.DeepEqual(d.Body(), b) {
			t.Errorf("%s: changed on the way", name)
		}
	}
}

func TestBlockSizeEdge(t *testing.T) {
	b := testBody(1)
	over := len(mustSeal(t, b, testKey(1)).Block()) - len(b.Payload) + 3 // the payload's length takes 5 bytes, not 2
	b.Payload = bytes.Repeat([]byte{' '}, MaxBlock-over)
	e := mustSeal(t, b, testKey(1))
	if len(e.Block()) != MaxBlock {
		t.Fatalf("%d bytes, want %d", len(e.Block()), MaxBlock)
	}
	if _, err := Decode(e.Block()); err != nil {
		t.Fatal(err)
	}
	_, err := Decode(append(bytes.Clone(e.Block()), 0))
	wantRule(t, err, RuleSize)
	if !errors.Is(err, ErrTooLarge) || errors.Is(err, ErrInvalid) {
		t.Fatalf("%v should be ErrTooLarge", err)
	}
}

// RefusedBlock is a block that breaks one rule.
type refusedBlock struct {
	block []byte
	rule  Rule
}

// RefusedForms are blocks with keys missing, mistyped, empty, out of order: what Seal can't make.
func refusedForms() map[string]refusedBlock {
	key, b := testKey(1), testBody(1)
	b.Refs.Messages = testIDs(1)
	pairs := rawPairs(b)
	return map[string]refusedBlock{
		"a map":              {rawMap(pairs), RuleForm},
		"body alone":         {rawArray(rawMap(pairs)), RuleForm},
		"three":              {rawArray(rawMap(pairs), rawBytes(make([]byte, 64)), rawUint(1)), RuleForm},
		"body an array":      {signRaw(rawArray(), key), RuleForm},
		"body empty":         {signPairs(nil, key), RuleForm},
		"short signature":    {rawArray(rawMap(pairs), rawBytes(make([]byte, 63))), RuleForm},
		"signature a text":   {rawArray(rawMap(pairs), rawText(strings.Repeat("s", 64))), RuleForm},
		"no kind":            {signPairs(without(pairs, "kind"), key), RuleForm},
		"no space":           {signPairs(without(pairs, "space"), key), RuleForm},
		"no author":          {signPairs(without(pairs, "author"), key), RuleForm},
		"no seq":             {signPairs(without(pairs, "seq"), key), RuleForm},
		"no time":            {signPairs(without(pairs, "time"), key), RuleForm},
		"no payload":         {signPairs(without(pairs, "payload"), key), RuleForm},
		"kind bytes":         {signPairs(with(pairs, "kind", rawBytes([]byte("message"))), key), RuleForm},
		"kind null":          {signPairs(with(pairs, "kind", []byte{0xf6}), key), RuleForm},
		"space bytes":        {signPairs(with(pairs, "space", rawBytes(make([]byte, 36))), key), RuleForm},
		"space raw codec":    {signPairs(with(pairs, "space", tagged(cidOf("01551220"))), key), RuleForm},
		"space cidv0":        {signPairs(with(pairs, "space", tagged(cidOf("1220"))), key), RuleForm},
		"author text":        {signPairs(with(pairs, "author", rawText(b.Author.String())), key), RuleForm},
		"author raw key":     {signPairs(with(pairs, "author", rawBytes(b.Author[:])), key), RuleAuthor},
		"author secp256k1":   {signPairs(with(pairs, "author", rawBytes(append(unhex("002408021220"), b.Author[:]...))), key), RuleAuthor},
		"seq text":           {signPairs(with(pairs, "seq", rawText("1")), key), RuleForm},
		"seq float":          {signPairs(with(pairs, "seq", unhex("fb3ff0000000000000")), key), RuleForm},
		"seq negative":       {signPairs(with(pairs, "seq", unhex("20")), key), RuleSeq},
		"time float":         {signPairs(with(pairs, "time", unhex("fb3ff0000000000000")), key), RuleForm},
		"time 2^64-1":        {signPairs(with(pairs, "time", unhex("1bffffffffffffffff")), key), RuleTime},
		"payload text":       {signPairs(with(pairs, "payload", rawText("{}")), key), RuleForm},
		"prev a link":        {signPairs(with(pairs, "prev", rawLink(testID(1))), key), RuleForm},
		"prev empty":         {signPairs(with(pairs, "prev", rawArray()), key), RuleForm},
		"prev null":          {signPairs(with(pairs, "prev", []byte{0xf6}), key), RuleForm},
		"prev of bytes":      {signPairs(with(pairs, "prev", rawArray(rawBytes(make([]byte, 36)))), key), RuleForm},
		"refs an array":      {signPairs(with(pairs, "refs", rawLinks(testID(1))), key), RuleForm},
		"refs empty":         {signPairs(with(pairs, "refs", rawMap(nil)), key), RuleForm},
		"refs.messages none": {signPairs(with(pairs, "refs", rawMap([]pair{{"messages", rawArray()}})), key), RuleForm},
		"refs.nodes none":    {signPairs(with(pairs, "refs", rawMap([]pair{{"nodes", rawArray()}})), key), RuleForm},
		"refs.nodes of text": {signPairs(with(pairs, "refs", rawMap([]pair{{"nodes", rawArray(rawText("n"))}})), key), RuleForm},
		"refs.nodes short":   {signPairs(with(pairs, "refs", rawMap([]pair{{"nodes", rawArray(rawBytes(make([]byte, 32)))}})), key), RuleForm},
		"refs keys unsorted": {signPairs(with(pairs, "refs", rawMap([]pair{{"messages", rawLinks(testID(1))}, {"nodes", rawNodes(testNode(1))}})), key), RuleCanonical},
		"unknown unsorted":   {signPairs(append(slices.Clone(pairs), pair{"aa", rawUint(1)}), key), RuleCanonical},
		"a key twice":        {signPairs(append(slices.Clone(pairs), pair{"payload", rawBytes(nil)}), key), RuleCanonical},
		"unknown with nan":   {signPairs(with(pairs, "x", unhex("fb7ff8000000000000")), key), RuleCBOR},
		"unknown with date":  {signPairs(with(pairs, "x", unhex("c100")), key), RuleCBOR},
		"unknown too deep":   {signPairs(with(pairs, "x", append(bytes.Repeat([]byte{0x81}, MaxNest-2), 0)), key), RuleCBOR},
		"something after":    {append(signPairs(pairs, key), 0), RuleCBOR},
		"nothing":            {nil, RuleCBOR},
	}
}

func TestDecodeForm(t *testing.T) {
	for name, c := range refusedForms() {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(c.block)
			wantRule(t, err, c.rule)
			var inv *InvalidError
			if errors.As(err, &inv); inv.ID != BlockID(c.block) {
				t.Errorf("the error names %v", inv.ID)
			}
			if _, err := decodeStored(BlockID(c.block), c.block); err == nil {
				t.Error("taken from the store")
			}
		})
	}
}

func TestDecodeUnknown(t *testing.T) {
	pairs := with(rawPairs(testBody(1)), "x", append(bytes.Repeat([]byte{0x81}, MaxNest-3), 0))
	pairs = with(pairs, "zz", rawMap([]pair{{"b", tagged(cidOf("01551220"))}, {"aa", unhex("fbbff8000000000000")}}))
	pairs = with(pairs, "kind", rawText("from-the-future"))
	pairs = with(pairs, "refs", rawMap([]pair{{"x", rawUint(1)}, {"messages", rawLinks(testID(5))}}))
	block := signPairs(pairs, testKey(1))
	e, err := Decode(block)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(e.Block(), block) || e.Body().Kind != "from-the-future" || e.Parents()[0] != testID(5) {
		t.Fatalf("%+v", e.Body())
	}
	if _, ok := e.Message(); ok {
		t.Fatal("an unknown kind reads as a message")
	}
}

func TestDecodeStored(t *testing.T) {
	e := mustSeal(t, testBody(1), testKey(1))
	d, err := decodeStored(e.ID(), e.Block())
	if err != nil || !reflect.DeepEqual(d, e) {
		t.Fatal(err)
	}
	if _, err := decodeStored(testID(1), e.Block()); err == nil || errors.Is(err, ErrInvalid) {
		t.Fatalf("a block under another's ID: %v", err)
	}
}

// Flipping any one bit of a block is refused.
func TestDecodeEveryBit(t *testing.T) {
	b := testBody(1)
	b.Seq, b.Prev, b.Refs = 2, testIDs(1), Refs{testIDs(2), testNodes(2)}
	block := mustSeal(t, b, testKey(1)).Block()
	for i := range 8 * len(block) {
		bad := bytes.Clone(block)
		bad[i/8] ^= 1 << (i % 8)
		if _, err := Decode(bad); err == nil {
			t.Fatalf("bit %d flipped is taken", i)
		}
	}
}

// GenBody draws bodies that keep the rules.
func genBody(author byte) *rapid.Generator[Body] {
	return rapid.Custom(func(t *rapid.T) Body {
		b := testBody(author)
		b.Kind = Kind(rapid.SampledFrom([]string{"message", "profile", "access", "ünknown"}).Draw(t, "kind"))
		b.Space = testID(rapid.IntRange(0, 3).Draw(t, "space"))
		b.Time = Time(rapid.Int64Range(0, int64(MaxTime)).Draw(t, "time"))
		b.Seq = rapid.Uint64Range(1, MaxSeq).Draw(t, "seq")
		b.Payload = rapid.SliceOf(rapid.Byte()).Draw(t, "payload")
		if heads := testIDs(rapid.IntRange(0, 8).Draw(t, "heads")); len(heads) > 0 {
			b.Prev = heads
		}
		if b.Seq > 1 {
			b.Prev = append([]ID{testID(1000)}, b.Prev...)
		}
		if n := rapid.IntRange(0, 30).Draw(t, "refs"); n > 0 {
			b.Refs.Messages = rapid.Permutation(testIDs(n)).Draw(t, "messages")
		}
		if n := rapid.IntRange(0, 30).Draw(t, "nodes"); n > 0 {
			b.Refs.Nodes = rapid.Permutation(testNodes(n)).Draw(t, "nodes")
		}
		return b
	})
}

func TestRoundTrip(t *testing.T) {
	o := newOracle(t)
	rapid.Check(t, func(t *rapid.T) {
		b := genBody(1).Draw(t, "body")
		e, err := Seal(b, testKey(1))
		if err != nil {
			t.Fatal(err)
		}
		d, err := Decode(e.Block())
		if err != nil || !reflect.DeepEqual(d.Body(), b) {
			t.Fatalf("%v: decoded %+v, sealed %+v", err, d, b)
		}
		if out := o.again(t, e.Block()); !bytes.Equal(out, e.Block()) {
			t.Fatalf("%x isn't canonical to the other codec, %x is", e.Block(), out)
		}
		again, err := Seal(d.Body(), testKey(1))
		if err != nil || again.ID() != e.ID() {
			t.Fatalf("sealed again: %v, another ID", err)
		}
	})
}

// Blocks made worse at random are refused, alone and in a batch, with one verdict.
func TestBatchAsSingle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blocks := make([][]byte, rapid.IntRange(0, 24).Draw(t, "blocks"))
		for i := range blocks {
			author := rapid.ByteRange(1, 4).Draw(t, "author")
			e, err := Seal(genBody(author).Draw(t, "body"), testKey(author))
			if err != nil {
				t.Fatal(err)
			}
			blocks[i] = bytes.Clone(e.Block())
			if rapid.IntRange(0, 9).Draw(t, "spoil") == 0 {
				blocks[i][rapid.IntRange(0, len(blocks[i])-1).Draw(t, "at")] ^= rapid.ByteRange(1, 255).Draw(t, "with")
			}
		}
		entries, errs := DecodeBatch(blocks)
		if len(entries) != len(blocks) || len(errs) != len(blocks) {
			t.Fatal("results of another length")
		}
		for i, block := range blocks {
			e, err := Decode(block)
			if !reflect.DeepEqual(e, entries[i]) || !reflect.DeepEqual(err, errs[i]) {
				t.Fatalf("block %d: alone %v, in a batch %v", i, err, errs[i])
			}
		}
	})
}

func TestBatchOverItsSize(t *testing.T) {
	blocks := make([][]byte, batchSize+leastBatch)
	for i := range blocks {
		b := testBody(byte(i % 7))
		b.Time = Time(i)
		blocks[i] = mustSeal(t, b, testKey(byte(i%7))).Block()
	}
	blocks[3] = bytes.Clone(blocks[3])
	blocks[3][len(blocks[3])-1] ^= 0x40
	entries, errs := DecodeBatch(blocks)
	for i := range blocks {
		if (entries[i] == nil) != (i == 3) || (errs[i] != nil) != (i == 3) {
			t.Fatalf("block %d: %v, %v", i, entries[i], errs[i])
		}
	}
	wantRule(t, errs[3], RuleSignature)
}

// FuzzDecode: never a panic; what is taken is canonical to another codec, seals to itself where it has no unknown
// keys, and is taken from the store and in a batch as well.
func FuzzDecode(f *testing.F) {
	for _, block := range seedBlocks(f) {
		f.Add(block)
	}
	for _, c := range refusedForms() {
		f.Add(c.block)
	}
	for _, g := range goodEntries(f) {
		f.Add(g.block)
	}
	o := newOracle(f)
	f.Fuzz(func(t *testing.T, block []byte) {
		u, inv := parse(block)
		e, err := Decode(block)
		if err != nil {
			var as *InvalidError
			if !errors.As(err, &as) || as.Rule == "" || e != nil {
				t.Fatalf("refused with %v and %v", err, e)
			}
		}
		if inv != nil {
			if err == nil {
				t.Fatal("decoded, but not parsed")
			}
			return
		}
		if out := o.again(t, block); !bytes.Equal(out, block) {
			t.Fatalf("%x is taken, canonical is %x", block, out)
		}
		b := u.entry.Body()
		if mine := appendBody(nil, b); len(mine) == len(u.body) && !bytes.Equal(mine, u.body) {
			t.Fatalf("%+v is %x and %x", b, mine, u.body)
		}
		u.entry.Message()
	})
}

func seedBlocks(t testing.TB) [][]byte {
	b := testBody(1)
	blocks := [][]byte{mustSeal(t, b, testKey(1)).Block(), {0x82, 0xa0, 0x40}, {}}
	b.Seq, b.Prev, b.Refs = 2, testIDs(9), Refs{testIDs(3), testNodes(3)}
	b.Prev[0], b.Prev = testID(100), b.Prev[:9]
	blocks = append(blocks, mustSeal(t, b, testKey(1)).Block())
	return append(blocks, signPairs(with(rawPairs(testBody(2)), "x", unhex("fb3ff8000000000000")), testKey(2)))
}

func benchBlocks(b *testing.B, n, authors int) [][]byte {
	blocks := make([][]byte, n)
	for i := range blocks {
		body := testBody(byte(i % authors))
		body.Time += Time(i)
		body.Payload = fmt.Appendf(nil, `{"content":{"text":"%0200d"}}`, i)
		body.Refs = Refs{Messages: testIDs(1), Nodes: testNodes(1)}
		body.Seq, body.Prev = 2, testIDs(2)[:1]
		blocks[i] = mustSeal(b, body, testKey(byte(i%authors))).Block()
	}
	return blocks
}

func BenchmarkSeal(b *testing.B) {
	body, key := testBody(1), testKey(1)
	body.Payload = fmt.Appendf(nil, `{"content":{"text":"%0200d"}}`, 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Seal(body, key); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	block := benchBlocks(b, 1, 1)[0]
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(block); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeStored(b *testing.B) {
	block := benchBlocks(b, 1, 1)[0]
	id := BlockID(block)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decodeStored(id, block); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeBatch(b *testing.B) {
	for _, n := range []int{4, 16, 64, 256, 512, 1024} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			blocks := benchBlocks(b, n, min(n, 50))
			b.ReportAllocs()
			for b.Loop() {
				if _, errs := DecodeBatch(blocks); errs[0] != nil {
					b.Fatal(errs[0])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/block")
		})
	}
}

func BenchmarkMessage(b *testing.B) {
	e, err := Decode(benchBlocks(b, 1, 1)[0])
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := e.Message(); !ok {
			b.Fatal("malformed")
		}
	}
}
