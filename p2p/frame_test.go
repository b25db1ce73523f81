package p2p

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"plexus/graph"
)

func frameOf(t testing.TB, kind frameType, v any) []byte {
	t.Helper()
	body, err := frameEnc.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := writeFrame(&b, kind, body); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// parseFrame reads a body as what its type says, as the readers do.
func parseFrame(kind frameType, body []byte) error {
	switch kind {
	case frameHello:
		var f hello
		if err := parse(body, &f); err != nil {
			return err
		}
		g := greeting{spaces: map[graph.ID]graph.Digest{}}
		return g.add(f)
	case frameGenesis:
		var f genesis
		if err := parse(body, &f); err != nil {
			return err
		}
		_, err := unpackIDs(f.Want)
		return err
	case frameTips:
		var f tips
		if err := parse(body, &f); err != nil {
			return err
		}
		return unpackTips(f.Tips, func(graph.ChainTip) error { return nil })
	case frameWant:
		var f want
		if err := parse(body, &f); err != nil {
			return err
		}
		_, err := unpackIDs(f.IDs)
		return err
	case frameOpen:
		return parse(body, new(open))
	case frameBlocks:
		return parse(body, new(blocks))
	case frameEnd:
		return parse(body, new(end))
	case frameState:
		return parse(body, new(state))
	case frameRange:
		return parse(body, new(ranges))
	case frameStates:
		var f statesFrame
		if err := parse(body, &f); err != nil {
			return err
		}
		_, err := unpackStates(f)
		return err
	case framePrefix:
		var f prefixFrame
		if err := parse(body, &f); err != nil {
			return err
		}
		_, err := unpackPrefix(f)
		return err
	case framePoints:
		var f pointsFrame
		if err := parse(body, &f); err != nil {
			return err
		}
		_, err := unpackPoints(f, 2)
		return err
	case framePush:
		return parse(body, new(push))
	case frameRefuse:
		return parse(body, new(refuse))
	case frameAsk:
		return parse(body, new(ask))
	case frameNonce:
		return parse(body, new(nonce))
	case frameProof:
		return parse(body, new(proof))
	case frameWelcome:
		return parse(body, new(welcome))
	default:
		return breachf("frame %d", kind)
	}
}

func TestFrames(t *testing.T) {
	id := make([]byte, 32)
	whole := frameOf(t, frameHello, hello{Network: id, Time: 1, Spaces: []listed{{Space: id, Count: 3, Heads: id}}})
	tests := []struct {
		name string
		in   []byte
		want string // "" good, "EOF", "cut", "breach"
	}{
		{"whole", whole, ""},
		{"nothing", nil, "EOF"},
		{"cut in the length", whole[:3], "cut"},
		{"cut in the body", whole[:len(whole)-1], "cut"},
		{"largest", append(binary.BigEndian.AppendUint32(nil, maxFrame), make([]byte, maxFrame+1)...), "breach"}, // not of its type, but read
		{"too large", append(binary.BigEndian.AppendUint32(nil, maxFrame+1), 1), "breach"},
		{"length that lies", append(binary.BigEndian.AppendUint32(nil, maxFrame), 1, 2, 3), "cut"},
		{"unknown key", frameOf(t, frameHello, map[int]any{1: id, 2: 1, 99: "new"}), ""},
		{"unknown type", frameOf(t, 99, map[int]any{}), "breach"},
		{"short id", frameOf(t, frameHello, hello{Network: id[:31]}), "breach"},
		{"duplicate key", []byte{0, 0, 0, 5, byte(frameEnd), 0xa2, 1, 1, 1, 2}, "breach"},
		{"indefinite length", []byte{0, 0, 0, 4, byte(frameEnd), 0xbf, 1, 1, 0xff}, "breach"},
		{"bytes after", []byte{0, 0, 0, 4, byte(frameEnd), 0xa1, 1, 1, 0}, "breach"},
		{"wrong type in a field", frameOf(t, frameEnd, map[int]any{1: "many"}), "breach"},
		{"an id and a half", frameOf(t, frameWant, want{Space: id, IDs: make([]byte, 48)}), "breach"},
		{"as many ids as may be", frameOf(t, frameWant, want{Space: id, IDs: make([]byte, 32*maxIDs)}), ""},
		{"too many ids", frameOf(t, frameWant, want{Space: id, IDs: make([]byte, 32*(maxIDs+1))}), "breach"},
		{"seq 0", frameOf(t, frameTips, tips{Tips: make([]byte, tipSize)}), "breach"},
		{"as many tips as may be", frameOf(t, frameTips, tips{Tips: manyTips(maxTips)}), ""},
		{"too many tips", frameOf(t, frameTips, tips{Tips: manyTips(maxTips + 1)}), "breach"},
		{"too many records", frameOf(t, frameHello, hello{Network: id, Records: make([][]byte, maxRecords+1)}), "breach"},
		{"more of nothing", frameOf(t, frameHello, hello{Network: id, More: true}), "breach"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			kind, body, err := readFrame(bufio.NewReader(bytes.NewReader(tt.in)))
			if err == nil {
				err = parseFrame(kind, body)
			}
			var b *breach
			got := ""
			switch {
			case errors.As(err, &b):
				got = "breach"
			case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) && len(tt.in) > 0:
				got = "cut"
			case errors.Is(err, io.EOF):
				got = "EOF"
			case err != nil:
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got %q (%v), want %q", got, err, tt.want)
			}
		})
	}
}

func manyTips(n int) []byte {
	var out []byte
	for range n {
		out = packTip(out, graph.ChainTip{Seq: 1})
	}
	return out
}

func TestBiggestFramesFit(t *testing.T) {
	id := make([]byte, 32)
	full := hello{Network: id, Time: 1 << 60, More: true, Records: make([][]byte, maxRecords)}
	for i := range full.Records {
		full.Records[i] = make([]byte, maxRecord)
	}
	for range maxListed {
		full.Spaces = append(full.Spaces, listed{Space: id, Count: 1 << 60, Heads: id})
	}
	batch := blocks{make([][]byte, maxBatch)}
	for i := range batch.Blocks {
		batch.Blocks[i] = make([]byte, maxBatchBytes/maxBatch)
	}
	gen := genesis{Want: make([]byte, 32*maxListed)}
	for range maxListed {
		gen.Blocks = append(gen.Blocks, make([]byte, 200))
	}
	for name, v := range map[string]any{
		"hello": full, "batch": batch, "one block": blocks{[][]byte{make([]byte, graph.MaxBlock)}}, "tips": tips{Tips: manyTips(maxTips)},
		"ids": want{Space: id, IDs: make([]byte, 32*maxIDs)}, "range": ranges{Space: id, Message: make([]byte, maxRange)}, "genesis": gen,
		"welcome": welcome{Genesis: make([]byte, 4096), Records: full.Records},
	} {
		b := frameOf(t, 1, v)
		if len(b) > maxFrame {
			t.Errorf("%s: %d bytes, over %d", name, len(b), maxFrame)
		}
	}
}

func FuzzFrames(f *testing.F) {
	id := make([]byte, 32)
	f.Add(frameOf(f, frameHello, hello{Network: id, Time: 1, Spaces: []listed{{Space: id, Count: 3, Heads: id}}, Records: [][]byte{{1}}}))
	f.Add(frameOf(f, frameGenesis, genesis{Blocks: [][]byte{{1}}, Want: id}))
	f.Add(frameOf(f, frameTips, tips{Tips: manyTips(3)}))
	f.Add(frameOf(f, frameBlocks, blocks{[][]byte{{1}, {2}}}))
	f.Add(frameOf(f, frameEnd, end{3}))
	f.Add(frameOf(f, frameState, state{Count: 1, Heads: id}))
	f.Add(frameOf(f, frameRange, ranges{Space: id, Message: []byte{0x61}, First: true}))
	f.Add(frameOf(f, frameWant, want{Space: id, IDs: id}))
	f.Add(frameOf(f, frameRefuse, refuse{"busy"}))
	f.Add(frameOf(f, frameAsk, ask{Network: id, Ticket: id}))
	f.Add(frameOf(f, frameWelcome, welcome{Genesis: []byte{1}, Role: "admin"}))
	f.Add(frameOf(f, frameStates, statesFrame{Engine: "e", Spaces: []spaceFrame{{Space: id, Heads: id, AccessHeads: id, Plugins: []pluginFrame{{Plugin: "p", File: "f", Hash: id}}}}}))
	f.Add(frameOf(f, framePrefix, prefixFrame{Space: id, Plugin: "p", File: "f", Keys: make([]byte, keySize)}))
	f.Add(frameOf(f, framePoints, pointsFrame{Engine: "e", Points: make([]byte, 2*pointSize), Outcome: "folded", Gas: 1}))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bufio.NewReader(bytes.NewReader(in))
		for {
			kind, body, err := readFrame(r)
			if err != nil {
				return
			}
			if err := parseFrame(kind, body); err != nil {
				var b *breach
				if !errors.As(err, &b) {
					t.Fatalf("frame %d: %v is no breach", kind, err)
				}
			}
		}
	})
}
