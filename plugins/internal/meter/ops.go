package meter

// This file holds what is known of each instruction: what follows its opcode, what it does to the operand stack's
// height, what it costs. An instruction that isn't here is refused.

// Kinds of immediate.
const (
	immNone    = iota
	immU32     // one index
	immMem     // alignment, offset
	immI32     // a constant …
	immI64     //
	immF32     //
	immF64     //
	immZero    // one byte, zero
	immTwo     // two indexes
	immRef     // a reference type
	immControl // handled by name: block types, branch tables, calls, typed select
)

type instr struct {
	known bool
	imm   uint8
	stack int8  // change of the operand stack's height; control instructions and calls are handled by name
	gas   uint8 // 1 is about a nanosecond
	nan   byte  // f32 or f64 where the result may be a NaN of any bits
}

// The instructions handled by name.
const (
	opUnreachable  = 0x00
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opBr           = 0x0c
	opBrIf         = 0x0d
	opBrTable      = 0x0e
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opSelectTyped  = 0x1c
	opTableSet     = 0x26
	opMemoryGrow   = 0x40
	opRefFunc      = 0xd2
	opPrefixed     = 0xfc

	opMemoryInit = 8 // behind the prefix
	opDataDrop   = 9
	opMemoryCopy = 10
	opMemoryFill = 11
	opTableInit  = 12
	opElemDrop   = 13
	opTableCopy  = 14
	opTableGrow  = 15
	opTableFill  = 17
)

// The prices that aren't 1 (schedule 1).
const (
	gasCall     = 4       // on top of what the callee's blocks cost
	gasIndirect = 6       // with the check of the type
	gasDivide   = 4       // integer division, float division and square root
	gasFloat    = 2       // with the check for NaN
	gasMemory   = 2       // a load or store, with the check of its bounds
	gasTable    = 2       // br_table, table.get and table.set
	gasBulk     = 20      // a bulk instruction, apart from its operand
	gasPage     = 8192    // a page that memory.grow adds: 64 KiB to be zeroed
	bulkPiece   = 1 << 20 // bytes of bulk memory between two returns to the host; not of the schedule, since it costs nothing
	bulkShift   = 3       // bulk memory: 1 gas per 8 bytes
	bulkElement = 1       // bulk table: 2 gas per element (a shift to the left)
)

var (
	single   = singleByte()
	prefixed = prefixedOps()
)

func singleByte() (t [256]instr) {
	set := func(from, to int, imm uint8, stack int8, gas uint8) {
		for op := from; op <= to; op++ {
			t[op] = instr{known: true, imm: imm, stack: stack, gas: gas}
		}
	}
	set(opUnreachable, opUnreachable, immControl, 0, 1)
	set(0x01, 0x01, immNone, 0, 1) // nop
	set(opBlock, opLoop, immControl, 0, 0)
	set(opIf, opIf, immControl, -1, 1)
	set(opElse, opElse, immControl, 0, 0)
	set(opEnd, opEnd, immControl, 0, 0)
	set(opBr, opBr, immControl, 0, 1)
	set(opBrIf, opBrIf, immControl, -1, 1)
	set(opBrTable, opBrTable, immControl, -1, gasTable)
	set(opReturn, opReturn, immControl, 0, 1)
	set(opCall, opCall, immControl, 0, gasCall)
	set(opCallIndirect, opCallIndirect, immControl, -1, gasIndirect)
	set(0x1a, 0x1a, immNone, -1, 1) // drop
	set(0x1b, 0x1b, immNone, -2, 1) // select
	set(opSelectTyped, opSelectTyped, immControl, -2, 1)
	set(0x20, 0x20, immU32, 1, 1)  // local.get
	set(0x21, 0x21, immU32, -1, 1) // local.set
	set(0x22, 0x22, immU32, 0, 1)  // local.tee
	set(0x23, 0x23, immU32, 1, 1)  // global.get
	set(0x24, 0x24, immU32, -1, 1) // global.set
	set(0x25, 0x25, immU32, 0, gasTable)
	set(opTableSet, opTableSet, immU32, -2, gasTable)
	set(0x28, 0x35, immMem, 0, gasMemory)  // loads
	set(0x36, 0x3e, immMem, -2, gasMemory) // stores
	set(0x3f, 0x3f, immZero, 1, 1)         // memory.size
	set(opMemoryGrow, opMemoryGrow, immZero, 0, gasBulk)
	set(0x41, 0x41, immI32, 1, 1)
	set(0x42, 0x42, immI64, 1, 1)
	set(0x43, 0x43, immF32, 1, 1)
	set(0x44, 0x44, immF64, 1, 1)
	numeric(set)
	floats(&t)
	set(0xd0, 0xd0, immRef, 1, 1)  // ref.null
	set(0xd1, 0xd1, immNone, 0, 1) // ref.is_null
	set(opRefFunc, opRefFunc, immControl, 1, 1)
	return t
}

func numeric(set func(from, to int, imm uint8, stack int8, gas uint8)) {
	set(0x45, 0x45, immNone, 0, 1)          // i32.eqz
	set(0x46, 0x4f, immNone, -1, 1)         // i32 comparisons
	set(0x50, 0x50, immNone, 0, 1)          // i64.eqz
	set(0x51, 0x66, immNone, -1, 1)         // i64, f32, f64 comparisons
	set(0x67, 0x69, immNone, 0, 1)          // i32 bit counts
	set(0x6a, 0x78, immNone, -1, 1)         // i32 arithmetic
	set(0x6d, 0x70, immNone, -1, gasDivide) // i32 div and rem
	set(0x79, 0x7b, immNone, 0, 1)          // i64 bit counts
	set(0x7c, 0x8a, immNone, -1, 1)         // i64 arithmetic
	set(0x7f, 0x82, immNone, -1, gasDivide) // i64 div and rem
	set(0x8b, 0x91, immNone, 0, gasFloat)   // f32 unary
	set(0x92, 0x98, immNone, -1, gasFloat)  // f32 binary
	set(0x99, 0x9f, immNone, 0, gasFloat)   // f64 unary
	set(0xa0, 0xa6, immNone, -1, gasFloat)  // f64 binary
	set(0xa7, 0xc4, immNone, 0, 1)          // conversions, sign extension
}

// floats marks the instructions whose NaN may have any bits: all that compute, none that only moves or sets the sign.
func floats(t *[256]instr) {
	for op := 0x8d; op <= 0x97; op++ {
		t[op].nan = f32
	}
	for op := 0x9b; op <= 0xa5; op++ {
		t[op].nan = f64
	}
	t[0xb6].nan, t[0xbb].nan = f32, f64 // demote, promote
	for _, op := range []int{0x91, 0x95, 0x9f, 0xa3} {
		t[op].gas = gasDivide
	}
}

func prefixedOps() (t [18]instr) {
	for op := range 8 { // saturating truncations
		t[op] = instr{known: true, gas: 1}
	}
	t[opMemoryInit] = instr{known: true, imm: immTwo, stack: -3, gas: gasBulk}
	t[opDataDrop] = instr{known: true, imm: immU32, gas: 1}
	t[opMemoryCopy] = instr{known: true, imm: immTwo, stack: -3, gas: gasBulk}
	t[opMemoryFill] = instr{known: true, imm: immZero, stack: -3, gas: gasBulk}
	t[opTableInit] = instr{known: true, imm: immTwo, stack: -3, gas: gasBulk}
	t[opElemDrop] = instr{known: true, imm: immU32, gas: 1}
	t[opTableCopy] = instr{known: true, imm: immTwo, stack: -3, gas: gasBulk}
	t[opTableGrow] = instr{known: true, imm: immU32, stack: -1, gas: gasBulk}
	t[16] = instr{known: true, imm: immU32, stack: 1, gas: 1} // table.size
	t[opTableFill] = instr{known: true, imm: immU32, stack: -3, gas: gasBulk}
	return t
}

// immediate skips what follows an opcode.
func (r *reader) immediate(kind uint8) {
	switch kind {
	case immU32:
		r.u32()
	case immMem:
		if r.u32() >= 32 {
			r.failf("memory argument isn't supported (64-bit and multiple memories aren't)")
		}
		r.u32()
	case immI32:
		r.leb(5)
	case immI64:
		r.leb(10)
	case immF32:
		r.bytes(4)
	case immF64:
		r.bytes(8)
	case immZero:
		if r.byte() != 0 {
			r.failf("a second memory isn't supported")
		}
	case immTwo:
		r.u32()
		r.u32()
	case immRef:
		r.refType()
	}
}
