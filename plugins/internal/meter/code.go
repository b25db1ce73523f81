package meter

// This file holds the rewriting of function bodies.
//
// A body becomes:
//
//	depth -= weight; below zero → refill (which traps)       only where the function calls others
//	block (results)                                          so that every way out passes the epilogue
//	  each block of straight code: gas -= its cost; at the entry and at loop heads: below zero → refill
//	end
//	depth += weight

const (
	maxLocals  = 10_000 // of one function; engines refuse 50,000
	frameUnit  = 64     // locals and operands that count as one level of depth
	maxNesting = 4096   // of blocks; deeper ones are no compiler's
)

func (w *rewriter) codeSection(r *reader) []byte {
	n := r.count()
	if int(n) != len(w.functions) {
		r.failf("%d bodies for %d functions", n, len(w.functions))
		return nil
	}
	out := appendU32(make([]byte, 0, 2*len(r.b)), n)
	var f function // its buffers are used again for each body
	for i := range n {
		body := &reader{b: r.bytes(r.u32())}
		if r.err != nil {
			return nil
		}
		f = function{
			rewriter: w, r: body, typ: w.typ(r, w.functions[i]), index: w.functions[i],
			code: f.code[:0], events: f.events[:0], frames: f.frames[:0], out: f.out[:0],
		}
		code := f.rewrite()
		if body.err != nil {
			r.failf("function %d: %w", w.imported+i, body.err)
			return nil
		}
		out = appendU32(out, uint32(len(code)))
		out = append(out, code...)
	}
	return out
}

// event is what goes into the copied code at a place; events stand in the order they were met.
type event struct {
	at    int
	kind  eventKind
	gas   uint64 // of a charge
	check bool   // of a charge
	temp  int    // of a local: which temporary
	depth uint32 // of a return: open blocks around it
}

type eventKind uint8

const (
	eventCharge eventKind = iota
	eventLocal            // the index of a temporary
	eventReturn
)

// frame is an open block.
type frame struct {
	op      byte
	height  int // of the operand stack below the block's parameters
	params  int
	results int
}

// function rewrites one body. code is the body with calls remapped and checks on values built in; events say what is
// known only later: charges, which a block's end settles, and the indexes of temporaries.
type function struct {
	*rewriter
	r      *reader
	typ    funcType
	index  uint32
	locals int
	code   []byte
	out    []byte
	events []event
	open   int // index of the charge that is being added to
	frames []frame
	height int
	most   int // greatest height
	calls  bool
	temps  [tempCount]bool // used
}

// Temporary locals, behind the function's own; the i64 one is always there.
const (
	tempN = iota // i32: an operand
	tempR        // i32: a result
	tempF32
	tempF64
	tempA // i32: where bulk memory goes …
	tempB // i32: … and where it comes from, or what it is
	tempCount
)

func (f *function) rewrite() []byte {
	decl := f.readLocals()
	f.mark(true)
	for f.r.err == nil {
		if done := f.instruction(); done {
			break
		}
	}
	if f.r.err == nil && f.r.more() {
		f.r.failf("code behind the end")
	}
	if f.r.err != nil {
		return nil
	}
	return f.assemble(decl)
}

// readLocals copies the declarations without their count.
func (f *function) readLocals() (decl localDecl) {
	decl.groups = f.r.count()
	start := f.r.i
	total := uint64(0)
	for range decl.groups {
		total += uint64(f.r.u32())
		f.r.valType()
	}
	if total > maxLocals {
		f.r.failf("%d locals, the limit is %d", total, maxLocals)
	}
	f.locals = len(f.typ.params) + int(total)
	decl.raw = f.r.b[start:f.r.i]
	return decl
}

type localDecl struct {
	groups uint32
	raw    []byte
}

func (f *function) mark(check bool) {
	f.open = len(f.events)
	f.events = append(f.events, event{at: len(f.code), kind: eventCharge, check: check})
}

func (f *function) charge(gas uint64) { f.events[f.open].gas += gas }

func (f *function) push(n int) {
	f.height += n
	f.most = max(f.most, f.height)
}

// instruction copies one; done is true behind the function's last end.
func (f *function) instruction() (done bool) {
	start := f.r.i
	op := f.r.byte()
	in := single[op]
	if op == opPrefixed {
		return f.prefixedInstruction(start)
	}
	if f.r.err == nil && !in.known {
		f.r.failf("instruction 0x%02x isn't supported (no SIMD, threads, tail calls, exceptions)", op)
		return true
	}
	f.charge(uint64(in.gas))
	f.push(int(in.stack))
	if in.imm == immControl {
		return f.control(op, start)
	}
	if op == opMemoryGrow {
		f.r.immediate(in.imm)
		f.grow(start, gasPage)
		return false
	}
	f.r.immediate(in.imm)
	if f.r.err != nil {
		return true
	}
	if op == opTableSet {
		f.result.Stateful = true
	}
	f.code = append(f.code, f.r.b[start:f.r.i]...)
	if in.nan != 0 {
		f.canonical(in.nan)
	}
	return false
}

func (f *function) prefixedInstruction(start int) (done bool) {
	sub := f.r.u32()
	if f.r.err != nil || sub >= uint32(len(prefixed)) || !prefixed[sub].known {
		f.r.failf("instruction 0xfc %d isn't supported", sub)
		return true
	}
	in := prefixed[sub]
	f.charge(uint64(in.gas))
	f.push(int(in.stack))
	f.r.immediate(in.imm)
	if f.r.err != nil {
		return true
	}
	switch sub {
	case opMemoryCopy, opMemoryFill:
		f.chargeOperand(0x88, bulkShift) // shift right
		f.inPieces(f.r.b[start:f.r.i], sub == opMemoryCopy)
		return f.r.err != nil
	case opMemoryInit: // at most as long as the file
		f.chargeOperand(0x88, bulkShift)
	case opTableInit, opTableCopy, opTableFill:
		f.chargeOperand(0x86, bulkElement) // shift left
		f.result.Stateful = true
	case opDataDrop, opElemDrop:
		f.result.Stateful = true
	case opTableGrow:
		f.result.Stateful = true
		f.grow(start, 1<<bulkElement)
		return false
	}
	f.code = append(f.code, f.r.b[start:f.r.i]...)
	return false
}

// control handles what changes the flow: it ends blocks of straight code.
func (f *function) control(op byte, start int) (done bool) {
	switch op {
	case opBlock, opLoop, opIf:
		f.openFrame(op, start)
	case opElse:
		if len(f.frames) == 0 || f.frames[len(f.frames)-1].op != opIf {
			f.r.failf("else without if")
			return true
		}
		top := f.frames[len(f.frames)-1]
		f.height = top.height + top.params
		f.code = append(f.code, op)
		f.mark(false)
	case opEnd:
		if len(f.frames) == 0 {
			return true
		}
		top := f.frames[len(f.frames)-1]
		f.frames = f.frames[:len(f.frames)-1]
		f.height = top.height
		f.push(top.results)
		f.code = append(f.code, op)
		f.mark(false)
	case opReturn:
		f.events = append(f.events, event{at: len(f.code), kind: eventReturn, depth: uint32(len(f.frames))})
		f.mark(false)
	case opBr, opBrIf:
		f.r.u32()
		f.copy(start)
		f.mark(false)
	case opBrTable:
		for range f.r.count() {
			f.r.u32()
		}
		f.r.u32()
		f.copy(start)
		f.mark(false)
	default:
		f.other(op, start)
	}
	return f.r.err != nil
}

// other handles calls, references and the typed select.
func (f *function) other(op byte, start int) {
	switch op {
	case opCall:
		i := f.r.u32()
		f.applyType(f.calleeType(i))
		f.calls = f.calls || i >= f.imported
		f.code = append(f.code, op)
		f.code = appendU32(f.code, f.function(i))
	case opCallIndirect:
		f.applyType(f.rewriter.typ(f.r, f.r.u32()))
		f.r.u32()
		f.calls = true
		f.copy(start)
	case opRefFunc:
		f.code = append(f.code, op)
		f.code = appendU32(f.code, f.function(f.r.u32()))
	case opSelectTyped:
		for range f.r.count() {
			f.r.valType()
		}
		f.copy(start)
	case opUnreachable:
		f.copy(start)
	}
}

func (f *function) copy(start int) {
	if f.r.err == nil {
		f.code = append(f.code, f.r.b[start:f.r.i]...)
	}
}

func (f *function) calleeType(i uint32) funcType {
	if i < f.imported {
		return f.rewriter.typ(f.r, f.importTyp[i])
	}
	if i-f.imported >= uint32(len(f.functions)) {
		f.r.failf("function %d doesn't exist", i)
		return funcType{}
	}
	return f.rewriter.typ(f.r, f.functions[i-f.imported])
}

func (f *function) applyType(t funcType) {
	f.height -= len(t.params)
	f.push(len(t.results))
}

// openFrame reads a block type and opens the frame.
func (f *function) openFrame(op byte, start int) {
	params, results := 0, 0
	switch c := f.peek(); {
	case c == 0x40:
		f.r.byte()
	case c&0xc0 == 0x40: // a value type: negative and one byte long
		f.r.valType()
		results = 1
	default:
		t := f.rewriter.typ(f.r, f.r.u32())
		params, results = len(t.params), len(t.results)
	}
	if len(f.frames) >= maxNesting {
		f.r.failf("blocks nest deeper than %d", maxNesting)
	}
	f.copy(start)
	f.frames = append(f.frames, frame{op: op, height: f.height - params, params: params, results: results})
	if op == opBlock {
		return
	}
	f.mark(op == opLoop)
	if op == opLoop {
		f.charge(1)
	}
}

func (f *function) peek() byte {
	if f.r.err != nil || f.r.i >= len(f.r.b) {
		return 0
	}
	return f.r.b[f.r.i]
}
