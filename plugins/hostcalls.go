package plugins

// This file holds ABI 1's imports (docs/plugins.md §5).

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/oasisprotocol/curve25519-voi/primitives/ed25519"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"plexus/sdk/abi"
)

// hostFunction is one import. gas is charged before it runs; what it reads and writes is charged by bytes.
type hostFunction struct {
	params  []api.ValueType
	results []api.ValueType
	gas     int64
	grant   string // "": for all
	run     func(g guestCall, stack []uint64)
}

// The prices (schedule 1).
const (
	gasHostCall  = 200
	gasStateRead = 1000
	gasStateSet  = 2000
	gasMessage   = 10_000
	gasAncestor  = 20_000
	gasVerify    = 60_000
	bytesPerGas  = 4 // bytes copied, hashed or stored for one gas
)

var (
	pI32, pI64 = api.ValueTypeI32, api.ValueTypeI64
	none       = []api.ValueType(nil)
	hostI32    = []api.ValueType{pI32}
)

func i32s(n int) []api.ValueType {
	out := make([]api.ValueType, n)
	for i := range out {
		out[i] = pI32
	}
	return out
}

var hostFunctions = map[string]hostFunction{
	"input_read":      {i32s(1), none, gasHostCall, "", inputRead},
	"output_write":    {i32s(2), none, gasHostCall, "", outputWrite},
	"state_get":       {i32s(4), hostI32, gasStateRead, "", stateGet},
	"state_set":       {i32s(4), none, gasStateSet, "", stateSet},
	"state_del":       {i32s(2), none, gasStateSet, "", stateDel},
	"state_next":      {i32s(6), hostI32, gasStateRead, "", stateNext},
	"message_get":     {i32s(4), hostI32, gasMessage, "", messageGet},
	"message_text":    {i32s(4), hostI32, gasMessage, "", messageText},
	"happened_before": {i32s(4), hostI32, gasAncestor, "", happenedBefore},
	"sha256":          {i32s(3), none, gasHostCall, "", hashSHA256},
	"ed25519_verify":  {i32s(4), hostI32, gasVerify, "", verifyEd25519},
	"log":             {i32s(3), none, gasHostCall, "", logWrite},
	"fail":            {i32s(3), none, gasHostCall, "", fail},
	"now":             {none, []api.ValueType{pI64}, gasHostCall, "now", now},
	"random":          {i32s(2), none, gasHostCall, "random", random},
	"timer_set":       {[]api.ValueType{pI32, pI32, pI64}, none, gasStateSet, "timer", timerSet},
	"trust_level":     {i32s(2), hostI32, gasStateRead, "trust", trustLevel},
	"trust_needed":    {i32s(2), hostI32, gasStateRead, "trust", trustNeeded},
	"timer_del":       {i32s(2), none, gasStateSet, "timer", timerDel},
	"schema_check":    {i32s(6), hostI32, gasHostCall, "schema", schemaCheck},
}

// guestCall is one host call: the instance and the call in hand.
type guestCall struct {
	*call
	inst *instance
}

func hostModule(ctx context.Context, rt wazero.Runtime) error {
	b := rt.NewHostModuleBuilder(abi.Module)
	for name, f := range hostFunctions {
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, _ api.Module, stack []uint64) {
			i := instanceOf(ctx)
			if i.module == nil || i.call.kind == callInit {
				panic(trapError("host call " + name + " in " + abi.ExportInit))
			}
			i.charge(f.gas)
			f.run(guestCall{i.call, i}, stack)
		}), f.params, f.results).Export(name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

// read returns guest memory, charged; the slice is the guest's own and ends with the host call.
func (g guestCall) read(p, n uint64, most int) []byte {
	if int64(uint32(n)) > int64(most) {
		panic(trapError(fmt.Sprintf("a host call got %d bytes, at most %d are allowed", uint32(n), most)))
	}
	g.inst.charge(int64(uint32(n)) / bytesPerGas)
	b, ok := g.inst.memory.Read(uint32(p), uint32(n))
	if !ok {
		panic(trapError("a host call was given memory out of bounds"))
	}
	return b
}

// text reads a string that must be UTF-8.
func (g guestCall) text(p, n uint64, most int) string {
	b := g.read(p, n, most)
	if !utf8.Valid(b) {
		panic(trapError("a host call was given text that isn't UTF-8"))
	}
	return string(b)
}

// write copies to guest memory, charged; where it doesn't fit, nothing is written.
func (g guestCall) write(p, size uint64, b []byte) {
	if len(b) > int(uint32(size)) {
		return
	}
	g.inst.charge(int64(len(b)) / bytesPerGas)
	if !g.inst.memory.Write(uint32(p), b) {
		panic(trapError("a host call was given memory out of bounds"))
	}
}

// hostError ends a call for the store's sake: it is no trap of the guest's, and the fold stops instead of marking.
type hostError struct{ err error }

// Error returns the store's error.
func (h hostError) Error() string { return h.err.Error() }
func (h hostError) Unwrap() error { return h.err }

// must passes a trap on as it is and makes whatever else a hostError.
func must(err error) {
	if err == nil {
		return
	}
	if t, ok := err.(trapError); ok {
		panic(t)
	}
	panic(hostError{err})
}

func answer(ok bool, n int) uint64 {
	if !ok {
		return uint64(uint32(0xffffffff)) // abi.Absent
	}
	return uint64(uint32(n))
}

func inputRead(g guestCall, s []uint64) { g.write(s[0], uint64(len(g.input)), g.input) }

func outputWrite(g guestCall, s []uint64) { g.output(g.read(s[0], s[1], abi.MaxOutput)) }

// key returns a state key where it lies in the guest's memory: it ends with the host call.
func (g guestCall) key(p, n uint64) string {
	if uint32(n) == 0 {
		panic(trapError("an empty state key"))
	}
	b := g.read(p, n, abi.MaxKey)
	return unsafe.String(&b[0], len(b))
}

func stateGet(g guestCall, s []uint64) {
	v, ok, err := g.state.get(g.key(s[0], s[1]))
	must(err)
	if ok {
		g.write(s[2], s[3], v)
	}
	s[0] = answer(ok, len(v))
}

func stateSet(g guestCall, s []uint64) {
	must(g.state.set(g.key(s[0], s[1]), append([]byte(nil), g.read(s[2], s[3], abi.MaxValue)...)))
}

func stateDel(g guestCall, s []uint64) { must(g.state.del(g.key(s[0], s[1]))) }

func stateNext(g guestCall, s []uint64) {
	key, ok, err := g.state.next(string(g.read(s[0], s[1], abi.MaxKey)), string(g.read(s[2], s[3], abi.MaxKey)))
	must(err)
	if ok {
		g.write(s[4], s[5], []byte(key))
	}
	s[0] = answer(ok, len(key))
}

func messageGet(g guestCall, s []uint64) {
	b, ok, err := g.world.message(string(g.read(s[0], s[1], abi.MaxKey)))
	must(err)
	if ok {
		g.write(s[2], s[3], b)
	}
	s[0] = answer(ok, len(b))
}

func messageText(g guestCall, s []uint64) {
	b, ok, err := g.world.text(string(g.read(s[0], s[1], abi.MaxKey)))
	must(err)
	if ok {
		g.write(s[2], s[3], b)
	}
	s[0] = answer(ok, len(b))
}

func happenedBefore(g guestCall, s []uint64) {
	a, b := string(g.read(s[0], s[1], abi.MaxKey)), string(g.read(s[2], s[3], abi.MaxKey))
	before, err := g.world.happenedBefore(a, b)
	must(err)
	s[0] = 0
	if before {
		s[0] = 1
	}
}

func hashSHA256(g guestCall, s []uint64) {
	b := g.read(s[0], s[1], 1<<30)
	g.inst.charge(int64(len(b)))
	h := sha256.New()
	for piece := range slices.Chunk(b, hashPiece) {
		h.Write(piece)
	}
	g.write(s[2], sha256.Size, h.Sum(nil))
}

// verifyEd25519 judges as entries are judged: ZIP-215.
func verifyEd25519(g guestCall, s []uint64) {
	key, sig := g.read(s[0], 32, 32), g.read(s[1], 64, 64)
	text := g.read(s[2], s[3], abi.MaxSigned)
	g.inst.charge(int64(len(text)))
	s[0] = 0
	if ed25519.VerifyWithOptions(key, text, sig, &ed25519.Options{Verify: ed25519.VerifyOptionsZIP_215}) {
		s[0] = 1
	}
}

func logWrite(g guestCall, s []uint64) { g.log(g.read(s[1], s[2], 1<<20)) }

// fail refuses the message, view or command from wherever the guest is, with a code as an export returns it.
func fail(g guestCall, s []uint64) {
	panic(refusal{code: uint32(s[0]), text: cutReason(g.text(s[1], s[2], abi.MaxOutput))})
}

// refusal is an ordinary no, by return code or fail.
type refusal struct {
	code uint32
	text string
}

// Error returns the guest's reason.
func (r refusal) Error() string {
	if r.text == "" {
		return fmt.Sprintf("refused with code %d", r.code)
	}
	return r.text
}

func cutReason(s string) string {
	if len(s) <= maxReason {
		return s
	}
	return strings.ToValidUTF8(s[:maxReason], "")
}

func (g guestCall) granted() *effects {
	if g.effects == nil {
		panic(trapError("time, randomness and timers are for commands and reactions alone"))
	}
	return g.effects
}

func now(g guestCall, s []uint64) { s[0] = uint64(g.granted().now()) }

func random(g guestCall, s []uint64) {
	b := make([]byte, len(g.read(s[0], s[1], abi.MaxValue)))
	g.granted().random(b)
	g.write(s[0], s[1], b)
}

func (g guestCall) timer(key string, at int64) {
	e := g.granted()
	if e.timers == nil {
		panic(trapError("timers are for reactions alone"))
	}
	must(e.setTimer(key, at))
}

func timerSet(g guestCall, s []uint64) { g.timer(g.timerName(s[0], s[1]), max(0, int64(s[2]))) }

func timerDel(g guestCall, s []uint64) { g.timer(g.timerName(s[0], s[1]), -1) }

func (g guestCall) timerName(p, n uint64) string {
	if uint32(n) == 0 {
		panic(trapError("a timer without a name"))
	}
	return g.text(p, n, abi.MaxKey)
}
