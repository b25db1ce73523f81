package graph

// This file holds the block's shape: how a body is written, and how a block is read and held to every rule that can be
// seen in it alone (protocol.md §3.1–§3.5).

import (
	"fmt"
	"slices"
)

func sizeHint(b Body) int {
	return 256 + len(b.Payload) + (linkSize+4)*(len(b.Prev)+len(b.Refs.Messages)) + 40*len(b.Refs.Nodes)
}

// AppendBody appends the body's one encoding: keys shorter first, then by bytes; empty arrays and maps left out.
func appendBody(to []byte, b Body) []byte {
	refs := len(b.Refs.Messages)+len(b.Refs.Nodes) > 0
	n := uint64(6)
	if len(b.Prev) > 0 {
		n++
	}
	if refs {
		n++
	}
	to = appendHead(to, majorMap, n)
	to = appendHead(appendText(to, "seq"), majorUint, b.Seq)
	to = appendText(appendText(to, "kind"), string(b.Kind))
	if len(b.Prev) > 0 {
		to = appendLinks(appendText(to, "prev"), b.Prev)
	}
	if refs {
		to = appendRefs(appendText(to, "refs"), b.Refs)
	}
	to = appendInt(appendText(to, "time"), int64(b.Time))
	to = appendLink(appendText(to, "space"), b.Space)
	to = appendNode(appendText(to, "author"), b.Author)
	return appendBytes(appendText(to, "payload"), b.Payload)
}

func appendRefs(to []byte, refs Refs) []byte {
	n := uint64(0)
	if len(refs.Nodes) > 0 {
		n++
	}
	if len(refs.Messages) > 0 {
		n++
	}
	to = appendHead(to, majorMap, n)
	if len(refs.Nodes) > 0 {
		to = appendHead(appendText(to, "nodes"), majorArray, uint64(len(refs.Nodes)))
		for _, node := range refs.Nodes {
			to = appendNode(to, node)
		}
	}
	if len(refs.Messages) > 0 {
		to = appendLinks(appendText(to, "messages"), refs.Messages)
	}
	return to
}

func appendLinks(to []byte, ids []ID) []byte {
	to = appendHead(to, majorArray, uint64(len(ids)))
	for _, id := range ids {
		to = appendLink(to, id)
	}
	return to
}

// Parse reads a block and checks all but the signature and what is wrong with the author's key.
func parse(block []byte) (unverified, *InvalidError) {
	if len(block) > MaxBlock {
		return unverified{}, &InvalidError{Rule: RuleSize, Detail: fmt.Sprintf("%d bytes, at most %d are allowed", len(block), MaxBlock)}
	}
	e := &Entry{id: BlockID(block), block: block}
	r := &reader{b: block}
	if n := r.want(majorArray, "", "an array of body and signature"); r.err == nil && n != 2 {
		r.fail(RuleForm, "", "not an array of two")
	}
	start := r.at
	r.body(&e.body)
	end := r.at
	if sig := r.bytes("signature"); len(sig) == len(e.sig) {
		copy(e.sig[:], sig)
	} else {
		r.fail(RuleForm, "signature", "isn't 64 bytes")
	}
	r.end()
	if r.err != nil {
		r.err.ID = e.id
		return unverified{}, r.err
	}
	return unverified{entry: e, body: block[start:end]}, nil
}

// Body reads the signed map. Unknown keys are walked over: the block keeps them.
func (r *reader) body(b *Body) {
	var seen fields
	var k []byte
	for n := r.want(majorMap, "body", "a map"); n > 0 && r.err == nil; n-- {
		k = r.key(k)
		r.field(b, k, &seen)
	}
	if r.err == nil && seen != allFields {
		r.fail(RuleForm, seen.missing(), "is missing")
	}
	r.checkPrev(b)
}

// Fields is the set of required keys met.
type fields uint8

const allFields fields = 1<<6 - 1

func (f fields) missing() string {
	for i, name := range []string{"kind", "space", "author", "seq", "time", "payload"} {
		if f&(1<<i) == 0 {
			return name
		}
	}
	return ""
}

func (r *reader) field(b *Body, key []byte, seen *fields) {
	switch string(key) {
	case "kind":
		*seen |= 1 << 0
		b.Kind = r.kind()
	case "space":
		*seen |= 1 << 1
		b.Space = r.link("space")
	case "author":
		*seen |= 1 << 2
		b.Author = r.node("author", RuleAuthor)
	case "seq":
		*seen |= 1 << 3
		b.Seq = r.int("seq", 1, MaxSeq, RuleSeq)
	case "time":
		*seen |= 1 << 4
		b.Time = Time(r.int("time", 0, uint64(MaxTime), RuleTime))
	case "payload":
		*seen |= 1 << 5
		b.Payload = r.bytes("payload")
	case "prev":
		b.Prev = r.links("prev", MaxPrev, RulePrev)
	case "refs":
		r.refs(&b.Refs)
	default:
		r.skip(3)
	}
}

func (r *reader) kind() Kind {
	k := r.text("kind")
	if r.err == nil && (len(k) == 0 || len(k) > MaxKind) {
		r.fail(RuleKind, "kind", "isn't 1 to 32 bytes")
	}
	if string(k) == string(KindMessage) {
		return KindMessage
	}
	return Kind(k)
}

func (r *reader) node(field string, rule Rule) NodeID {
	p := r.bytes(field)
	if r.err != nil {
		return NodeID{}
	}
	n, err := NodeIDFromBytes(p)
	if err != nil {
		r.fail(rule, field, "isn't the identity multihash of an Ed25519 key")
	}
	return n
}

func (r *reader) links(field string, most uint64, rule Rule) []ID {
	n := r.array(field, most, rule)
	ids := make([]ID, 0, n)
	for ; n > 0 && r.err == nil; n-- {
		ids = append(ids, r.link(field))
	}
	return ids
}

func (r *reader) refs(refs *Refs) {
	n := r.want(majorMap, "refs", "a map")
	if r.err == nil && n == 0 {
		r.fail(RuleForm, "refs", "is empty: leave the key out")
	}
	var k []byte
	for ; n > 0 && r.err == nil; n-- {
		k = r.key(k)
		switch string(k) {
		case "messages":
			refs.Messages = r.links("refs.messages", MaxRefs, RuleRefs)
			r.checkDistinct(distinct(refs.Messages), "refs.messages")
		case "nodes":
			refs.Nodes = r.nodes()
			r.checkDistinct(distinct(refs.Nodes), "refs.nodes")
		default:
			r.skip(4)
		}
	}
}

func (r *reader) nodes() []NodeID {
	n := r.array("refs.nodes", MaxRefNodes, RuleRefs)
	nodes := make([]NodeID, 0, n)
	for ; n > 0 && r.err == nil; n-- {
		nodes = append(nodes, r.node("refs.nodes", RuleForm))
	}
	return nodes
}

func (r *reader) checkDistinct(ok bool, field string) {
	if !ok {
		r.fail(RuleRefs, field, "names one twice")
	}
}

// CheckPrev checks what of prev can be seen in the entry alone: with seq 1 all are other authors' heads, else the
// first is the own previous entry; the others are at most eight, ascending, and none twice.
func (r *reader) checkPrev(b *Body) {
	if r.err != nil {
		return
	}
	heads := b.Prev
	if b.Seq > 1 {
		if len(b.Prev) == 0 {
			r.fail(RulePrev, "prev", "lacks the author's own previous entry")
			return
		}
		heads = b.Prev[1:]
	}
	if len(heads) > MaxPrev-1 {
		r.fail(RulePrev, "prev", "has more than 8 other heads")
	}
	for i, id := range heads {
		if i > 0 && heads[i-1].Compare(id) >= 0 {
			r.fail(RulePrev, "prev", "has heads out of order or twice")
		}
		if b.Seq > 1 && id == b.Prev[0] {
			r.fail(RulePrev, "prev", "names the own previous entry twice")
		}
	}
}

func distinct[T comparable](xs []T) bool {
	if len(xs) <= 16 {
		for i := range xs {
			if slices.Contains(xs[:i], xs[i]) {
				return false
			}
		}
		return true
	}
	met := make(map[T]struct{}, len(xs))
	for _, x := range xs {
		met[x] = struct{}{}
	}
	return len(met) == len(xs)
}
