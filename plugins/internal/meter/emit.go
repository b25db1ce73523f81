package meter

// This file holds the code that is built in.

// canonical turns whatever NaN lies on the stack into the one with the sign clear and only the top bit set.
func (f *function) canonical(t byte) {
	temp, constant, equal := tempF32, []byte{0x43, 0, 0, 0xc0, 0x7f}, byte(0x5b)
	if t == f64 {
		temp, constant, equal = tempF64, []byte{0x44, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f}, 0x61
	}
	f.local(0x22, temp)
	f.code = append(f.code, constant...)
	f.local(0x20, temp)
	f.local(0x20, temp)
	f.code = append(f.code, equal, 0x1b)
	f.most = max(f.most, f.height+3)
}

// local emits local.get, set or tee of a temporary, whose index is filled in at the end.
func (f *function) local(op byte, temp int) {
	f.temps[temp] = true
	f.code = append(f.code, op)
	f.events = append(f.events, event{at: len(f.code), kind: eventLocal, temp: temp})
}

// chargeOperand charges the i32 on top of the stack, shifted, and leaves it there.
func (f *function) chargeOperand(shift byte, by int64) {
	if f.limits.Unmetered {
		return
	}
	f.local(0x22, tempN)
	f.gasGet()
	f.local(0x20, tempN)
	f.code = append(f.code, 0xad, 0x42) // i64.extend_i32_u, i64.const
	f.code = appendS64(f.code, by)
	f.code = append(f.code, shift, 0x7d) // i64.sub
	f.gasSet()
	f.check()
}

// inPieces does a memory.copy or memory.fill at once where it is short, else piece by piece with a return to the host in between: no instruction
// can be stopped halfway. From the end, so that what can't be done traps before anything is written; a copy to below what it copies from the start.
func (f *function) inPieces(op []byte, copies bool) {
	f.local(0x21, tempN)
	f.local(0x21, tempB)
	f.local(0x21, tempA)
	f.compareN(0x4b) // i32.gt_u
	f.code = append(f.code, opIf, 0x40)
	if copies {
		f.local(0x20, tempA)
		f.local(0x20, tempB)
		f.code = append(f.code, 0x4d, opIf, 0x40, opLoop, 0x40) // i32.le_u
		f.pieceLength()
		f.bulk(op, false, false)
		f.advance(tempA)
		f.advance(tempB)
		f.nextPiece()
		f.code = append(f.code, opElse)
	}
	f.code = append(f.code, opLoop, 0x40)
	f.pieceLength()
	f.local(0x20, tempN)
	f.local(0x20, tempR)
	f.code = append(f.code, 0x6b) // i32.sub
	f.local(0x21, tempN)
	f.bulk(op, true, copies)
	f.host()
	f.local(0x20, tempN)
	f.code = append(f.code, opBrIf, 0, opEnd)
	if copies {
		f.code = append(f.code, opEnd)
	}
	f.code = append(f.code, opElse)
	f.local(0x20, tempA)
	f.local(0x20, tempB)
	f.local(0x20, tempN)
	f.code = append(f.code, op...)
	f.code = append(f.code, opEnd)
}

// compareN compares what is left with a piece.
func (f *function) compareN(op byte) {
	f.local(0x20, tempN)
	f.code = append(f.code, 0x41)
	f.code = appendS64(f.code, bulkPiece)
	f.code = append(f.code, op)
}

// pieceLength is the lesser of a piece and what is left, into tempR.
func (f *function) pieceLength() {
	f.local(0x20, tempN)
	f.code = append(f.code, 0x41)
	f.code = appendS64(f.code, bulkPiece)
	f.compareN(0x49) // i32.lt_u
	f.code = append(f.code, 0x1b)
	f.local(0x21, tempR)
}

// bulk does one piece, at the addresses or so far behind them as is left.
func (f *function) bulk(op []byte, behind, from bool) {
	for _, t := range []struct {
		temp int
		add  bool
	}{{tempA, behind}, {tempB, from}} {
		f.local(0x20, t.temp)
		if t.add {
			f.local(0x20, tempN)
			f.code = append(f.code, 0x6a) // i32.add
		}
	}
	f.local(0x20, tempR)
	f.code = append(f.code, op...)
}

// advance moves an address behind the piece.
func (f *function) advance(temp int) {
	f.local(0x20, temp)
	f.local(0x20, tempR)
	f.code = append(f.code, 0x6a)
	f.local(0x21, temp)
}

// nextPiece goes on with what is left.
func (f *function) nextPiece() {
	f.local(0x20, tempN)
	f.local(0x20, tempR)
	f.code = append(f.code, 0x6b)
	f.local(0x21, tempN)
	f.host()
	f.local(0x20, tempN)
	f.code = append(f.code, opBrIf, 0, opEnd)
}

// host returns to the host for a moment; it takes no gas.
func (f *function) host() {
	f.code = append(f.code, opCall)
	f.code = appendU32(f.code, f.imported)
}

// grow copies memory.grow or table.grow and charges for what was added where it didn't fail.
func (f *function) grow(start int, price int64) {
	if f.r.err != nil {
		return
	}
	f.local(0x22, tempN)
	f.code = append(f.code, f.r.b[start:f.r.i]...)
	f.local(0x22, tempR)
	f.local(0x20, tempR)
	f.code = append(f.code, 0x41, 0x7f, 0x47, opIf, 0x40) // i32.const -1, i32.ne
	f.gasGet()
	f.local(0x20, tempN)
	f.code = append(f.code, 0xad, 0x42)
	f.code = appendS64(f.code, price)
	f.code = append(f.code, 0x7e, 0x7d) // i64.mul, i64.sub
	f.gasSet()
	f.check()
	f.code = append(f.code, opEnd)
}

func (f *function) gasGet() {
	f.code = append(f.code, 0x23)
	f.code = appendU32(f.code, f.globals)
}

func (f *function) gasSet() {
	f.code = append(f.code, 0x24)
	f.code = appendU32(f.code, f.globals)
}

// check calls refill where gas is below zero.
func (f *function) check() {
	f.gasGet()
	f.code = append(f.code, 0x42, 0, 0x53, opIf, 0x40, opCall) // i64.const 0, i64.lt_s
	f.code = appendU32(f.code, f.imported)
	f.code = append(f.code, opEnd)
}

// assemble puts declarations, prologue, code with charges, and epilogue together.
func (f *function) assemble(decl localDecl) []byte {
	next := uint32(f.locals)
	gasTemp := next
	next++
	var index [tempCount]uint32
	groups, extra := decl.groups+1, []byte{1, i64}
	for t, typ := range []byte{i32, i32, f32, f64, i32, i32} {
		if f.temps[t] {
			index[t] = next
			next++
			groups++
			extra = append(extra, 1, typ)
		}
	}
	out := appendU32(f.out, groups)
	out = append(append(out, decl.raw...), extra...)
	weight := int64(1 + (f.locals+f.most)/frameUnit)
	if f.calls {
		out = f.prologue(out, weight)
	}
	out = f.body(out, gasTemp, index)
	if f.calls {
		out = append(out, opEnd)
		out = f.moveDepth(out, weight, 0x6a)
	}
	f.out = append(out, opEnd)
	return f.out
}

func (f *function) prologue(out []byte, weight int64) []byte {
	out = f.moveDepth(out, weight, 0x6b)
	out = append(out, 0x23)
	out = appendU32(out, f.globals+1)
	out = append(out, 0x41, 0, 0x48, opIf, 0x40, opCall) // i32.const 0, i32.lt_s
	out = appendU32(out, f.imported)
	out = append(out, opEnd, opBlock)
	switch len(f.typ.results) {
	case 0:
		return append(out, 0x40)
	case 1:
		return append(out, f.typ.results[0])
	}
	return appendS64(out, int64(f.wrap[f.index]))
}

func (f *function) moveDepth(out []byte, weight int64, op byte) []byte {
	out = append(out, 0x23)
	out = appendU32(out, f.globals+1)
	out = append(out, 0x41)
	out = appendS64(out, weight)
	out = append(out, op, 0x24)
	return appendU32(out, f.globals+1)
}

// body copies the code and puts the events in.
func (f *function) body(out []byte, gasTemp uint32, index [tempCount]uint32) []byte {
	at := 0
	for _, e := range f.events {
		out = append(out, f.code[at:e.at]...)
		at = e.at
		switch e.kind {
		case eventCharge:
			out = f.emitCharge(out, e, gasTemp)
		case eventLocal:
			out = appendU32(out, index[e.temp])
		case eventReturn:
			if !f.calls {
				out = append(out, opReturn)
				continue
			}
			out = append(out, opBr)
			out = appendU32(out, e.depth)
		}
	}
	return append(out, f.code[at:]...)
}

func (f *function) emitCharge(out []byte, e event, temp uint32) []byte {
	if f.limits.Unmetered || e.gas == 0 && !e.check {
		return out
	}
	out = append(out, 0x23)
	out = appendU32(out, f.globals)
	out = append(out, 0x42)
	out = appendS64(out, int64(e.gas))
	out = append(out, 0x7d)
	if e.check {
		out = append(out, 0x22)
		out = appendU32(out, temp)
	}
	out = append(out, 0x24)
	out = appendU32(out, f.globals)
	if !e.check {
		return out
	}
	out = append(out, 0x20)
	out = appendU32(out, temp)
	out = append(out, 0x42, 0, 0x53, opIf, 0x40, opCall)
	out = appendU32(out, f.imported)
	return append(out, opEnd)
}
