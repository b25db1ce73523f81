package meter

// This file holds every section but the code.

import "strconv"

const (
	maxTables  = 4    // a guest needs one; each may have Limits.TableSize elements
	maxMutable = 1024 // mutable globals, which every reset restores one by one
)

func (w *rewriter) typeSection(r *reader) []byte {
	n := r.count()
	start := r.i
	for range n {
		if form := r.byte(); form != 0x60 {
			r.failf("type form 0x%02x isn't supported (garbage-collected types aren't)", form)
			return nil
		}
		var t funcType
		for range r.count() {
			t.params = append(t.params, r.valType())
		}
		for range r.count() {
			t.results = append(t.results, r.valType())
		}
		if r.err != nil {
			return nil
		}
		w.types = append(w.types, t)
	}
	raw := append([]byte(nil), r.b[start:r.i]...)
	w.refillTyp = n
	raw = append(raw, 0x60, 0, 0)
	added := uint32(1)
	w.wrap = map[uint32]uint32{}
	for i, t := range w.types {
		if len(t.results) < 2 {
			continue
		}
		w.wrap[uint32(i)] = n + added
		raw = append(raw, 0x60, 0)
		raw = appendU32(raw, uint32(len(t.results)))
		raw = append(raw, t.results...)
		added++
	}
	return append(appendU32(nil, n+added), raw...)
}

func (w *rewriter) typ(r *reader, i uint32) funcType {
	if uint64(i) >= uint64(len(w.types)) {
		r.failf("type %d doesn't exist", i)
		return funcType{}
	}
	return w.types[i]
}

func (w *rewriter) importSection(r *reader) []byte {
	n := r.count()
	start := r.i
	for range n {
		module, name := r.name(), r.name()
		kind := r.byte()
		if r.err != nil {
			return nil
		}
		if kind != 0 {
			r.failf("%q.%q: only functions can be imported, no memory, table or global", module, name)
			return nil
		}
		if reserved(module) {
			r.failf("%q is reserved", module)
			return nil
		}
		i := r.u32()
		w.typ(r, i)
		w.importTyp = append(w.importTyp, i)
		w.result.Imports = append(w.result.Imports, Import{module, name})
	}
	w.imported = n
	out := append(appendU32(nil, n+1), r.b[start:r.i]...)
	out = appendName(out, Prefix)
	out = appendName(out, Refill)
	out = append(out, 0)
	return appendU32(out, w.refillTyp)
}

func (w *rewriter) functionSection(r *reader, body []byte) []byte {
	for range r.count() {
		i := r.u32()
		w.typ(r, i)
		w.functions = append(w.functions, i)
	}
	return body
}

// clamp reads limits and writes them with a maximum of at most most.
func clamp(r *reader, out []byte, most uint32, what string) []byte {
	flags := r.byte()
	if flags > 1 {
		r.failf("%s flags 0x%02x aren't supported (shared and 64-bit ones aren't)", what, flags)
	}
	least, max := r.u32(), most
	if flags == 1 {
		max = min(r.u32(), most)
	}
	if least > most {
		r.failf("%s starts at %d, the limit is %d", what, least, most)
	}
	out = append(out, 1)
	out = appendU32(out, least)
	return appendU32(out, max)
}

func (w *rewriter) tableSection(r *reader) []byte {
	n := r.count()
	if n > maxTables {
		r.failf("%d tables, the limit is %d", n, maxTables)
		return nil
	}
	out := appendU32(nil, n)
	for range n {
		out = append(out, r.refType())
		out = clamp(r, out, w.limits.TableSize, "table")
	}
	return out
}

func (w *rewriter) memorySection(r *reader) []byte {
	n := r.count()
	if n > 1 {
		r.failf("%d memories, the limit is 1", n)
		return nil
	}
	out := appendU32(nil, n)
	for range n {
		out = clamp(r, out, w.limits.MemoryPages, "memory")
	}
	return out
}

func (w *rewriter) globalSection(r *reader) []byte {
	n := r.count()
	var out []byte
	for i := range n {
		t, mut := r.valType(), r.byte()
		if r.err != nil {
			return nil
		}
		if mut == 1 {
			if t == funcRef || t == externRef {
				w.result.Stateful = true
			} else {
				w.mutable = append(w.mutable, i)
			}
		}
		out = append(out, t, mut)
		out = w.constExpr(r, out)
	}
	if len(w.mutable) > maxMutable {
		r.failf("%d mutable globals, the limit is %d", len(w.mutable), maxMutable)
	}
	w.globals = n
	out = append(out, i64, 1, 0x42, 0, 0x0b) // gas: the first check refills
	out = append(out, i32, 1, 0x41)
	out = append(appendS64(out, int64(w.limits.Depth)), 0x0b)
	return append(appendU32(nil, n+2), out...)
}

// constExpr copies an initialiser; function indexes move.
func (w *rewriter) constExpr(r *reader, out []byte) []byte {
	for r.err == nil {
		start := r.i
		op := r.byte()
		switch op {
		case 0x41:
			r.leb(5)
		case 0x42:
			r.leb(10)
		case 0x43:
			r.bytes(4)
		case 0x44:
			r.bytes(8)
		case 0x23:
			r.u32()
		case 0xd0:
			r.refType()
		case 0xd2:
			out = append(out, op)
			out = appendU32(out, w.function(r.u32()))
			continue
		case 0x0b:
			return append(out, op)
		default:
			r.failf("initialiser uses instruction 0x%02x, which isn't supported", op)
			return nil
		}
		if r.err == nil {
			out = append(out, r.b[start:r.i]...)
		}
	}
	return nil
}

func (w *rewriter) exportSection(r *reader) []byte {
	n := r.count()
	var out []byte
	for range n {
		name, kind, index := r.name(), r.byte(), r.u32()
		if r.err != nil {
			return nil
		}
		if reserved(name) || kind > 3 {
			r.failf("export %q: name or kind isn't allowed", name)
			return nil
		}
		if kind == 0 {
			index = w.function(index)
		}
		w.result.Exports[name] = kind
		out = appendExport(out, name, kind, index)
	}
	out = appendExport(out, GasGlobal, 3, w.globals)
	out = appendExport(out, DepthGlobal, 3, w.globals+1)
	for _, g := range w.mutable {
		name := globalPrefix + strconv.Itoa(int(g))
		w.result.Globals = append(w.result.Globals, name)
		out = appendExport(out, name, 3, g)
	}
	return append(appendU32(nil, n+2+uint32(len(w.mutable))), out...)
}

func appendExport(out []byte, name string, kind byte, index uint32) []byte {
	out = appendName(out, name)
	out = append(out, kind)
	return appendU32(out, index)
}

func (w *rewriter) elementSection(r *reader) []byte {
	n := r.count()
	out := appendU32(nil, n)
	for range n {
		flags := r.u32()
		if flags > 7 {
			r.failf("segment flags %d aren't supported", flags)
			return nil
		}
		out = appendU32(out, flags)
		if flags&1 == 0 { // active
			if flags&2 != 0 {
				out = appendU32(out, r.u32())
			}
			out = w.constExpr(r, out)
		}
		if flags&3 != 0 {
			out = append(out, r.byte()) // element kind or reference type
		}
		items := r.count()
		out = appendU32(out, items)
		for range items {
			if flags&4 != 0 {
				out = w.constExpr(r, out)
			} else {
				out = appendU32(out, w.function(r.u32()))
			}
		}
		if r.err != nil {
			return nil
		}
	}
	return out
}
