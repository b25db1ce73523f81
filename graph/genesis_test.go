package graph

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNamedSpace(t *testing.T) {
	network := testID(1)
	for _, same := range [][]string{
		{"lab", " lab", "lab ", "\t\n lab \u00a0", "\u2003lab\u3000"},
		{"Caf\u00e9", "Cafe\u0301"},
		{"\uac00", "\u1100\u1161"},
		{"a b"},
		{"A B"},
		{"a  b"},
		{"e\u0301\u0327"},
		{"😀"},
		{strings.Repeat("n", MaxSpaceName)},
	} {
		first, err := NamedSpace(network, same[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range same {
			g, err := NamedSpace(network, name)
			if err != nil || !reflect.DeepEqual(g, first) {
				t.Errorf("%q: %+v, %v, want %+v", name, g, err, first)
			}
		}
		if d, err := DecodeGenesis(first.Block); err != nil || !reflect.DeepEqual(d, first) || d.Kind != GenesisNamed || d.Network != network {
			t.Errorf("%q decodes to %+v, %v", first.Name, d, err)
		}
		other, err := NamedSpace(testID(2), same[0])
		if err != nil || other.ID == first.ID {
			t.Errorf("%q has one ID in two Networks", same[0])
		}
	}
}

func TestNamedSpaceRefuses(t *testing.T) {
	for _, name := range []string{"", " ", "\u3000\n", "\xff", "a\xc0", strings.Repeat("n", MaxSpaceName+1), strings.Repeat("é", MaxSpaceName/2) + "x"} {
		g, err := NamedSpace(testID(1), name)
		wantRule(t, err, RuleGenesis)
		if !errors.Is(err, ErrInvalid) || g.Block != nil {
			t.Errorf("%q: %+v", name, g)
		}
	}
}

func TestNewNetwork(t *testing.T) {
	others := []NodeID{NodeIDOf(testKey(2)), NodeIDOf(testKey(3))}
	a, err := NewNetwork(" lab ", testKey(1), others...)
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewNetwork("lab", testKey(1), others...)
	if err != nil || a.ID == b.ID {
		t.Fatalf("two Networks have one ID, %v", err)
	}
	d, err := DecodeGenesis(a.Block)
	if err != nil || !reflect.DeepEqual(d, a) {
		t.Fatalf("%+v, %v, want %+v", d, err, a)
	}
	if a.Kind != GenesisNetwork || a.Name != "lab" || a.ID != BlockID(a.Block) || !reflect.DeepEqual(a.Founders, append([]NodeID{NodeIDOf(testKey(1))}, others...)) {
		t.Fatalf("%+v", a)
	}
	if _, err := NewNetwork("", testKey(1)); err != nil {
		t.Errorf("a Network without a label: %v", err)
	}
	if g, err := NewNetwork(strings.Repeat("n", MaxSpaceName), testKey(1), realNodes(MaxFounders)[1:]...); err != nil || len(g.Block) > maxGenesis {
		t.Errorf("the largest genesis: %v", err)
	}
}

// RealNodes returns the Nodes of keys 1 … n: points of the curve, as founders must be.
func realNodes(n int) []NodeID {
	nodes := make([]NodeID, n)
	for i := range nodes {
		nodes[i] = NodeIDOf(testKey(byte(i + 1)))
	}
	return nodes
}

func TestNewNetworkRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		label  string
		key    ed25519.PrivateKey
		others []NodeID
		rule   Rule
	}{
		"long label":       {strings.Repeat("n", MaxSpaceName+1), testKey(1), nil, RuleGenesis},
		"label not utf-8":  {"\xff", testKey(1), nil, RuleGenesis},
		"no key":           {"n", nil, nil, RuleGenesis},
		"a founder twice":  {"n", testKey(1), realNodes(1), RuleGenesis},
		"17 founders":      {"n", testKey(1), realNodes(MaxFounders + 1)[1:], RuleGenesis},
		"small-order":      {"n", testKey(1), []NodeID{NodeID(unhex(smallOrderKeys[0]))}, RuleSmallOrder},
		"not on the curve": {"n", testKey(1), []NodeID{{2}}, RuleAuthor},
	} {
		_, err := NewNetwork(c.label, c.key, c.others...)
		t.Run(name, func(t *testing.T) { wantRule(t, err, c.rule) })
	}
}

// NetworkPairs is a Network's genesis taken apart.
func networkPairs() []pair {
	return []pair{
		{"v", rawUint(1)},
		{"kind", rawText("network")},
		{"name", rawText("lab")},
		{"nonce", rawBytes(make([]byte, 32))},
		{"founders", rawNodes(realNodes(2)...)},
	}
}

func namedPairs() []pair {
	return []pair{{"v", rawUint(1)}, {"name", rawText("lab")}, {"network", rawLink(testID(1))}}
}

func signGenesis(pairs []pair, key ed25519.PrivateKey) []byte {
	body := rawMap(pairs)
	return rawArray(body, rawBytes(sign(key, domainGenesis, body)))
}

// RefusedGenesis are blocks that are no genesis, with the rule each breaks.
func refusedGenesis() map[string]refusedBlock {
	key, named, network := testKey(1), namedPairs(), networkPairs()
	return map[string]refusedBlock{
		"named: version 2":         {rawMap(with(named, "v", rawUint(2))), RuleGenesis},
		"named: version a text":    {rawMap(with(named, "v", rawText("1"))), RuleForm},
		"named: no name":           {rawMap(without(named, "name")), RuleGenesis},
		"named: no network":        {rawMap(without(named, "network")), RuleGenesis},
		"named: nothing":           {rawMap(nil), RuleGenesis},
		"named: one key more":      {rawMap(with(named, "x", rawUint(1))), RuleGenesis},
		"named: another key":       {rawMap(with(without(named, "name"), "nama", rawText("lab"))), RuleGenesis},
		"named: empty name":        {rawMap(with(named, "name", rawText(""))), RuleGenesis},
		"named: name not trimmed":  {rawMap(with(named, "name", rawText("lab "))), RuleGenesis},
		"named: name not NFC":      {rawMap(with(named, "name", rawText("Cafe\u0301"))), RuleGenesis},
		"named: name too long":     {rawMap(with(named, "name", rawText(strings.Repeat("n", MaxSpaceName+1)))), RuleGenesis},
		"named: name bytes":        {rawMap(with(named, "name", rawBytes([]byte("lab")))), RuleForm},
		"named: name not utf-8":    {rawMap(with(named, "name", rawText("\xff"))), RuleCBOR},
		"named: network raw codec": {rawMap(with(named, "network", tagged(cidOf("01551220")))), RuleForm},
		"named: something after":   {append(rawMap(named), 0), RuleCBOR},
		"named: keys unsorted":     {rawMap([]pair{named[1], named[0], named[2]}), RuleCanonical},
		"named: over the size":     {rawMap(with(named, "name", rawText(strings.Repeat("n", maxGenesis)))), RuleSize},
		"network: version 2":       {signGenesis(with(network, "v", rawUint(2)), key), RuleGenesis},
		"network: unknown kind":    {signGenesis(with(network, "kind", rawText("club")), key), RuleGenesis},
		"network: private":         {signGenesis(with(network, "kind", rawText("private")), key), RuleGenesis},
		"network: label untrimmed": {signGenesis(with(network, "name", rawText(" lab")), key), RuleGenesis},
		"network: short nonce":     {signGenesis(with(network, "nonce", rawBytes(make([]byte, 31))), key), RuleGenesis},
		"network: no nonce":        {signGenesis(without(network, "nonce"), key), RuleGenesis},
		"network: no founders":     {signGenesis(without(network, "founders"), key), RuleGenesis},
		"network: founders empty":  {signGenesis(with(network, "founders", rawArray()), key), RuleForm},
		"network: founder twice":   {signGenesis(with(network, "founders", rawNodes(realNodes(1)[0], realNodes(1)[0])), key), RuleGenesis},
		"network: 17 founders":     {signGenesis(with(network, "founders", rawNodes(realNodes(MaxFounders+1)...)), key), RuleGenesis},
		"network: founder short":   {signGenesis(with(network, "founders", rawArray(rawBytes(make([]byte, 32)))), key), RuleAuthor},
		"network: small order":     {signGenesis(with(network, "founders", rawNodes(realNodes(1)[0], NodeID(unhex(smallOrderKeys[4])))), key), RuleSmallOrder},
		"network: one key more":    {signGenesis(with(network, "x", rawUint(1)), key), RuleGenesis},
		"network: second signs":    {signGenesis(network, testKey(2)), RuleSignature},
		"network: entry's domain":  {signPairs(network, key), RuleSignature},
		"network: signature short": {rawArray(rawMap(network), rawBytes(make([]byte, 63))), RuleForm},
		"network: unsigned":        {rawMap(network), RuleGenesis},
		"network: array of one":    {rawArray(rawMap(network)), RuleGenesis},
		"an entry":                 {signPairs(rawPairs(testBody(1)), key), RuleGenesis},
		"nothing":                  {nil, RuleCBOR},
		"a number":                 {rawUint(1), RuleForm},
	}
}

func TestDecodeGenesisRefuses(t *testing.T) {
	for name, c := range refusedGenesis() {
		t.Run(name, func(t *testing.T) {
			g, err := DecodeGenesis(c.block)
			wantRule(t, err, c.rule)
			if g.Block != nil {
				t.Error("a genesis beside an error")
			}
		})
	}
	if _, err := DecodeGenesis(signGenesis(networkPairs(), testKey(1))); err != nil {
		t.Errorf("the cases are made from a block that is itself refused: %v", err)
	}
	if _, err := DecodeGenesis(rawMap(namedPairs())); err != nil {
		t.Errorf("the cases are made from a block that is itself refused: %v", err)
	}
}

// A name's form is a fixed point: what one node makes of it, every other makes of that.
func TestSpaceNameStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		once, err := spaceName(rapid.StringN(0, 40, 400).Draw(t, "name"))
		if err != nil {
			return
		}
		if twice, err := spaceName(once); err != nil || twice != once {
			t.Fatalf("%q becomes %q, %v", once, twice, err)
		}
	})
}

// FuzzGenesis: never a panic; what is taken is canonical to another codec and makes itself again.
func FuzzGenesis(f *testing.F) {
	f.Add(rawMap(namedPairs()))
	f.Add(signGenesis(networkPairs(), testKey(1)))
	for _, c := range refusedGenesis() {
		f.Add(c.block)
	}
	o := newOracle(f)
	f.Fuzz(func(t *testing.T, block []byte) {
		g, err := DecodeGenesis(block)
		if err != nil {
			var inv *InvalidError
			if !errors.As(err, &inv) {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		if out := o.again(t, block); !bytes.Equal(out, block) {
			t.Fatalf("%x is taken, canonical is %x", block, out)
		}
		if g.Kind != GenesisNamed {
			return
		}
		if again, err := NamedSpace(g.Network, g.Name); err != nil || again.ID != g.ID {
			t.Fatalf("%q makes another ID, %v", g.Name, err)
		}
	})
}
