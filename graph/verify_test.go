package graph

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/hex"
	"sync"
	"testing"

	"github.com/oasisprotocol/curve25519-voi/curve"
	"github.com/oasisprotocol/curve25519-voi/curve/scalar"
)

// SmallOrderKeys are the encodings of the eight points of small order, those not in canonical form included.
var smallOrderKeys = []string{
	"0100000000000000000000000000000000000000000000000000000000000000",
	"0100000000000000000000000000000000000000000000000000000000000080",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0000000000000000000000000000000000000000000000000000000000000080",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
}

// OddSigner signs in ways the standard library doesn't, all of them valid by ZIP-215: with a public key that has a part
// of small order, with such an R, and with an R that isn't in its canonical encoding.
type oddSigner struct {
	a      *scalar.Scalar
	public [32]byte
	r      *scalar.Scalar
	point  [32]byte // R as it is written
}

func newOddSigner(t tester, seed byte, keyTorsion, rTorsion int) *oddSigner {
	t.Helper()
	h := sha512.Sum512(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	a, err := scalar.NewFromBytesModOrder(h[:32])
	if err != nil {
		t.Fatal(err)
	}
	r, err := scalar.NewFromBytesModOrder(h[32:])
	if err != nil {
		t.Fatal(err)
	}
	return &oddSigner{a: a, public: oddPoint(a, keyTorsion), r: r, point: oddPoint(r, rTorsion)}
}

// OddPoint is s times the base point, plus a point of small order.
func oddPoint(s *scalar.Scalar, torsion int) (out [32]byte) {
	var p curve.EdwardsPoint
	p.MulBasepoint(curve.ED25519_BASEPOINT_TABLE, s)
	p.Add(&p, curve.EIGHT_TORSION[torsion])
	b, _ := p.MarshalBinary()
	copy(out[:], b)
	return out
}

func (o *oddSigner) sign(body []byte) []byte {
	h := sha512.New()
	h.Write(o.point[:])
	h.Write(o.public[:])
	h.Write([]byte(domainEntry))
	h.Write(body)
	k, _ := scalar.NewFromBytesModOrderWide(h.Sum(nil))
	s := scalar.New()
	s.Add(o.r, k.Mul(k, o.a))
	sb, _ := s.MarshalBinary()
	return append(bytes.Clone(o.point[:]), sb...)
}

// Block makes an otherwise ordinary entry of the signer's.
func (o *oddSigner) block() []byte {
	b := testBody(1)
	b.Author = o.public
	body := appendBody(nil, b)
	return rawArray(body, rawBytes(o.sign(body)))
}

// OddBlocks are valid by ZIP-215 and refused by stricter verifiers.
func oddBlocks(t tester) map[string][]byte {
	plainR := newOddSigner(t, 4, 0, 0)
	plainR.r = scalar.New().Zero()
	copy(plainR.point[:], unhex("eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f")) // the identity, as p + 1
	return map[string][]byte{
		"key of mixed order":   newOddSigner(t, 1, 1, 0).block(),
		"R of mixed order":     newOddSigner(t, 2, 0, 3).block(),
		"both of mixed order":  newOddSigner(t, 3, 5, 7).block(),
		"R not canonical":      plainR.block(),
		"nothing out of order": newOddSigner(t, 5, 0, 0).block(),
	}
}

// TallBlock is an ordinary block whose S has the group's order added: the same number, another signature.
func tallBlock(t tester) []byte {
	order := unhex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
	block := bytes.Clone(mustSeal(t, testBody(1), testKey(1)).Block())
	carry := 0
	for i, s := 0, block[len(block)-32:]; i < 32; i++ {
		carry += int(s[i]) + int(order[i])
		s[i], carry = byte(carry), carry>>8
	}
	return block
}

func TestZIP215(t *testing.T) {
	var blocks [][]byte
	for name, block := range oddBlocks(t) {
		if _, err := Decode(block); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		u, err := parse(block)
		if err != nil {
			t.Fatal(err)
		}
		msg := append([]byte(domainEntry), u.body...)
		if ed25519.Verify(u.entry.body.Author[:], msg, u.entry.sig[:]) != (name == "nothing out of order") {
			t.Errorf("%s: the case doesn't tell the two rules apart", name)
		}
		blocks = append(blocks, block)
	}
	entries, errs := DecodeBatch(blocks)
	for i := range blocks {
		if entries[i] == nil || errs[i] != nil {
			t.Errorf("in a batch: %v", errs[i])
		}
	}
}

// RefusedSignatures are ordinary bodies with signatures that don't hold.
func refusedSignatures(t tester) map[string][]byte {
	b := testBody(1)
	body := appendBody(nil, b)
	sigOver := func(domain string) []byte { return rawArray(body, rawBytes(sign(testKey(1), domain, body))) }
	plain := mustSeal(t, b, testKey(1)).Block()
	return map[string][]byte{
		"S not reduced":     tallBlock(t),
		"no domain":         sigOver(""),
		"another domain":    sigOver(domainGenesis),
		"no zero byte":      sigOver("plexus:entry:1"),
		"all zero":          rawArray(body, rawBytes(make([]byte, 64))),
		"another's":         signRaw(body, testKey(2)),
		"of another body":   append(bytes.Clone(plain[:len(plain)-64]), mustSeal(t, testBody(2), testKey(2)).sig[:]...),
		"over the whole 82": rawArray(body, rawBytes(sign(testKey(1), domainEntry, append([]byte{0x82}, body...)))),
	}
}

func TestSignatureRefused(t *testing.T) {
	plain := mustSeal(t, testBody(1), testKey(1)).Block()
	for name, block := range refusedSignatures(t) {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(block)
			wantRule(t, err, RuleSignature)
			_, errs := DecodeBatch([][]byte{plain, block, plain, plain, plain})
			wantRule(t, errs[1], RuleSignature)
		})
	}
}

// OffCurve is a key that is no point of the curve.
const offCurve = "0200000000000000000000000000000000000000000000000000000000000000"

// BlockBy is an entry that names any author, signed by another.
func blockBy(n NodeID) []byte {
	b := testBody(1)
	b.Author = n
	return signRaw(appendBody(nil, b), testKey(1))
}

func TestKeysRefused(t *testing.T) {
	refused := func(n NodeID, rule Rule) {
		t.Helper()
		block := blockBy(n)
		_, err := Decode(block)
		wantRule(t, err, rule)
		_, errs := DecodeBatch([][]byte{block, block, block, block})
		wantRule(t, errs[2], rule)
	}
	for _, h := range smallOrderKeys {
		refused(NodeID(unhex(h)), RuleSmallOrder)
	}
	refused(NodeID(unhex(offCurve)), RuleAuthor)
	var p curve.EdwardsPoint
	for _, point := range curve.EIGHT_TORSION {
		b, _ := p.Set(point).MarshalBinary()
		if !smallOrder(NodeID(b)) {
			t.Errorf("%s isn't seen as of small order", hex.EncodeToString(b))
		}
	}
}

func TestKeyCacheBound(t *testing.T) {
	c := keyCache{most: 3}
	see := func(n byte) {
		t.Helper()
		if _, err := c.expanded(NodeIDOf(testKey(n)), "author"); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []byte{1, 2, 3, 1, 4} {
		see(n)
	}
	if c.used.Len() != 3 || len(c.byKey) != 3 {
		t.Fatalf("%d keys kept, want 3", c.used.Len())
	}
	if c.lookup(NodeIDOf(testKey(2))) != nil || c.lookup(NodeIDOf(testKey(1))) == nil {
		t.Fatal("not the key used longest ago was dropped")
	}
}

func TestHammerKeyCache(t *testing.T) {
	c := keyCache{most: 8}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 200 {
				if _, err := c.expanded(NodeIDOf(testKey(byte(i*(g+1)%16))), "author"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if c.used.Len() > 8 || len(c.byKey) != c.used.Len() {
		t.Fatalf("%d in the list, %d in the map", c.used.Len(), len(c.byKey))
	}
}
