//go:build wasip1

package plugin

// This file holds the guest's side of the ABI: exports, imports, and the State behind which the node stands.

import (
	"unsafe"

	"plexus/sdk/abi"
)

//go:wasmimport plexus_1 input_read
func inputRead(dst unsafe.Pointer)

//go:wasmimport plexus_1 output_write
func outputWrite(p unsafe.Pointer, n uint32)

//go:wasmimport plexus_1 state_get
func stateGet(k unsafe.Pointer, kn uint32, dst unsafe.Pointer, size uint32) int32

//go:wasmimport plexus_1 state_set
func stateSet(k unsafe.Pointer, kn uint32, v unsafe.Pointer, vn uint32)

//go:wasmimport plexus_1 state_del
func stateDel(k unsafe.Pointer, kn uint32)

//go:wasmimport plexus_1 state_next
func stateNext(p unsafe.Pointer, pn uint32, after unsafe.Pointer, an uint32, dst unsafe.Pointer, size uint32) int32

//go:wasmimport plexus_1 message_get
func messageGet(id unsafe.Pointer, n uint32, dst unsafe.Pointer, size uint32) int32

//go:wasmimport plexus_1 happened_before
func hostHappenedBefore(a unsafe.Pointer, an uint32, b unsafe.Pointer, bn uint32) int32

//go:wasmimport plexus_1 sha256
func hostSHA256(p unsafe.Pointer, n uint32, dst unsafe.Pointer)

//go:wasmimport plexus_1 schema_check
func hostSchemaCheck(s unsafe.Pointer, sn uint32, v unsafe.Pointer, vn uint32, dst unsafe.Pointer, size uint32) int32

//go:wasmimport plexus_1 log
func hostLog(level int32, p unsafe.Pointer, n uint32)

// buffer is where values are read to first, and given where the input is; what is longer gets a place of its own.
var buffer, given [4096]byte

//go:wasmexport plexus_abi_1
func marker() {}

//go:wasmexport plexus_fold
func exportFold(n uint32) int32 { return answer(nil, fold(guest{}, read(n))) }

//go:wasmexport plexus_view
func exportView(n uint32) int32 { return answer(view(guest{}, read(n))) }

//go:wasmexport plexus_command
func exportCommand(n uint32) int32 { return drafts(command(guest{}, read(n))) }

//go:wasmexport plexus_react
func exportReact(n uint32) int32 { return drafts(react(guest{}, read(n))) }

// deepen makes the stack grow. All calls run on the stack that init runs on, so that it is deep in the image that every call starts from; to
// grow it in a call costs a third of a fold.
//
//go:noinline
func deepen(n uint32) byte {
	var frame [24 << 10]byte
	frame[n%256] = 1
	return frame[n%512]
}

func read(n uint32) Value {
	if n == 0 {
		return nil
	}
	b := given[:]
	if int(n) > len(b) {
		b = make([]byte, n)
	}
	inputRead(unsafe.Pointer(&b[0]))
	return b[:n:n]
}

func write(b []byte) { outputWrite(unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b))) }

func answer(out Value, err error) int32 {
	if err != nil {
		write([]byte(err.Error()))
		return abi.CodeRefused
	}
	if out != nil {
		write(out)
	}
	return abi.CodeOK
}

func drafts(list []Draft, err error) int32 {
	if err != nil {
		return answer(nil, err)
	}
	for _, d := range list {
		write(d.encode())
	}
	return abi.CodeOK
}

type guest struct{}

func at(s string) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.StringData(s)), uint32(len(s))
}

// fetch calls with the buffer, and again with enough where it was too small.
func fetch(call func(dst unsafe.Pointer, size uint32) int32) ([]byte, bool) {
	n := call(unsafe.Pointer(&buffer[0]), uint32(len(buffer)))
	if n < 0 {
		return nil, false
	}
	if int(n) <= len(buffer) {
		return append([]byte(nil), buffer[:n]...), true
	}
	b := make([]byte, n)
	call(unsafe.Pointer(&b[0]), uint32(n))
	return b, true
}

func (guest) get(key string) ([]byte, bool) {
	k, kn := at(key)
	return fetch(func(dst unsafe.Pointer, size uint32) int32 { return stateGet(k, kn, dst, size) })
}

func (guest) has(key string) bool {
	k, kn := at(key)
	return stateGet(k, kn, nil, 0) >= 0
}

func (guest) set(key string, value []byte) {
	k, kn := at(key)
	stateSet(k, kn, unsafe.Pointer(unsafe.SliceData(value)), uint32(len(value)))
}

func (guest) del(key string) {
	k, kn := at(key)
	stateDel(k, kn)
}

func (guest) next(prefix, after string) (string, bool) {
	p, pn := at(prefix)
	a, an := at(after)
	n := stateNext(p, pn, a, an, unsafe.Pointer(&buffer[0]), uint32(len(buffer)))
	if n < 0 {
		return "", false
	}
	return string(buffer[:n]), true
}

func (guest) message(id string) (abi.Value, bool) {
	p, n := at(id)
	return fetch(func(dst unsafe.Pointer, size uint32) int32 { return messageGet(p, n, dst, size) })
}

func (guest) happenedBefore(a, b string) bool {
	p, pn := at(a)
	q, qn := at(b)
	return hostHappenedBefore(p, pn, q, qn) == 1
}

func (guest) sha256(b []byte) (sum [32]byte) {
	hostSHA256(unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b)), unsafe.Pointer(&sum[0]))
	return sum
}

func (guest) checkSchema(schema, v abi.Value) string {
	problem, _ := fetch(func(dst unsafe.Pointer, size uint32) int32 {
		return hostSchemaCheck(unsafe.Pointer(unsafe.SliceData(schema)), uint32(len(schema)), unsafe.Pointer(unsafe.SliceData(v)), uint32(len(v)), dst, size)
	})
	return string(problem)
}

func (guest) log(level int, text string) {
	p, n := at(text)
	hostLog(int32(level), p, n)
}

// warmed keeps what init allocates from being left out.
var warmed any

// init makes the stack deep and takes objects of the small sizes, so that the runtime has its lists of free memory ready in the image every call
// starts from: else each call pays for them anew.
func init() {
	deepen(0)
	for size := 8; size <= 512; size += 8 {
		warmed = make([]byte, size)
		warmed = make([]*byte, size/8)
	}
	warmed = nil
}
