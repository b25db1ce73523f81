package access

// This file holds the evaluation: from the founders down, each host is attached below the one that granted it first,
// and what stands above a host decides what of its own statements counts. protocol.md §6.3.

import (
	"cmp"
	"container/heap"
	"slices"

	"plexus/graph"
)

// Evaluate reads the access entries of a Network's log and says who may. Entries of other kinds may be among them: they
// serve to follow an author's chain. The result depends on the set alone, not on its order.
func Evaluate(network graph.Genesis, entries []*graph.Entry) *State {
	e := NewEvaluator(network)
	e.Add(entries...)
	return e.State()
}

// Evaluator keeps what needn't be worked out again when entries arrive one by one: parsed payloads, checked proofs.
// It is not safe for concurrent use; the States it returns are.
type Evaluator struct {
	network graph.Genesis
	links   map[graph.ID]link // every entry seen
	stmts   []*stmt           // those that parse, unordered
	known   map[graph.NodeID]bool
}

// link is an entry's place in its author's chain.
type link struct {
	author graph.NodeID
	prev   graph.ID
}

// stmt is a parsed access entry.
type stmt struct {
	Op
	id     graph.ID
	author graph.NodeID
	seq    uint64
	time   graph.Time
}

func (s *stmt) key() graph.Key { return graph.Key{Time: s.time, ID: s.id} }

// NewEvaluator returns one that has seen the genesis.
func NewEvaluator(network graph.Genesis) *Evaluator {
	e := &Evaluator{network: network, links: map[graph.ID]link{}, known: map[graph.NodeID]bool{}}
	for _, f := range network.Founders {
		e.known[f] = true
	}
	return e
}

// Add takes in entries; those of another Space, and those seen before, change nothing.
func (e *Evaluator) Add(entries ...*graph.Entry) {
	for _, en := range entries {
		b := en.Body()
		if _, seen := e.links[en.ID()]; seen || b.Space != e.network.ID {
			continue
		}
		l := link{author: b.Author}
		if b.Seq > 1 && len(b.Prev) > 0 {
			l.prev = b.Prev[0]
		}
		e.links[en.ID()] = l
		if b.Kind != graph.KindAccess {
			continue
		}
		op, err := Parse(b.Payload)
		if err != nil || op.Op == OpEnrol && op.CheckProof(e.network.ID, b.Author) != nil {
			continue
		}
		e.stmts = append(e.stmts, &stmt{Op: op, id: en.ID(), author: b.Author, seq: b.Seq, time: b.Time})
		switch op.Op {
		case OpGrant:
			e.known[op.Host] = true
		case OpEnrol:
			e.known[op.Node] = true
		}
	}
}

// Len returns how many entries were taken in.
func (e *Evaluator) Len() int { return len(e.links) }

// Has says whether an entry was taken in.
func (e *Evaluator) Has(id graph.ID) bool {
	_, ok := e.links[id]
	return ok
}

// State evaluates what was added so far.
func (e *Evaluator) State() *State {
	slices.SortFunc(e.stmts, func(a, b *stmt) int { return a.key().Compare(b.key()) })
	t := &tree{
		links:   e.links,
		network: e.network.ID,
		hosts:   map[graph.NodeID]*host{},
		about:   map[graph.NodeID][]*stmt{},
		by:      map[graph.NodeID][]*stmt{},
	}
	for _, s := range e.stmts {
		t.by[s.author] = append(t.by[s.author], s)
		switch s.Op.Op {
		case OpRevoke, OpRole, OpCut:
			t.about[s.Subject] = append(t.about[s.Subject], s)
		}
	}
	t.grow(e.network.Founders)
	st := &State{network: e.network.ID, hosts: t.hosts, nodes: map[graph.NodeID]*node{}, known: make(map[graph.NodeID]bool, len(e.known))}
	for k := range e.known {
		st.known[k] = true
	}
	t.enrol(e.stmts, st.nodes)
	st.invites, st.invited = t.invites(e.stmts)
	st.policy = t.policy(e.stmts)
	return st
}

// host is one that is attached to the tree.
type host struct {
	id       graph.NodeID
	up       *host      // nil for the first founder
	order    int        // of attachment: a parent's is always less
	at       graph.Time // no grant of this host counts as earlier
	base     Role       // granted
	peak     Role       // the greatest it ever had
	role     Role       // the one it has, None when revoked
	revoked  bool
	about    []*stmt                 // statements about it that work
	cutting  []*stmt                 // of these, the ones whose cuts hold for messages
	stays    []map[graph.ID]struct{} // of its own access entries, what each cut leaves; nil where nothing is cut
	granting bool                    // its grants are in the queue
}

// above says whether h stands above o, or is it.
func (h *host) above(o *host) bool {
	for ; o != nil; o = o.up {
		if o == h {
			return true
		}
	}
	return false
}

// tree is the state of one evaluation.
type tree struct {
	network graph.ID
	links   map[graph.ID]link
	by      map[graph.NodeID][]*stmt // per author, canonical order
	about   map[graph.NodeID][]*stmt // per subject, canonical order
	hosts   map[graph.NodeID]*host
	queue   grants
}

// grow attaches the founders, each below the one before it, and then whoever is granted, earliest grant first.
func (t *tree) grow(founders []graph.NodeID) {
	var last *host
	for _, f := range founders {
		if t.hosts[f] == nil {
			last = t.attach(f, last, 0, Admin)
		}
	}
	for len(t.queue) > 0 {
		g := heap.Pop(&t.queue).(grant)
		switch h := t.hosts[g.Host]; {
		case h == nil:
			t.attach(g.Host, g.from, g.at, g.Role)
		case g.Role > h.base && !h.revoked && t.ruling(h.about) == nil:
			h.base = g.Role
			t.settle(h)
		}
	}
}

func (t *tree) attach(id graph.NodeID, up *host, at graph.Time, base Role) *host {
	h := &host{id: id, up: up, order: len(t.hosts), at: at, base: base}
	t.hosts[id] = h
	for _, s := range t.about[id] {
		if a := t.hosts[s.author]; a != nil && a != h && a.above(h) && t.stands(a, s, Admin) {
			h.about = append(h.about, s)
		}
	}
	t.settle(h)
	return h
}

// settle works out h's role from its grants and the statements about it, and puts its grants in the queue.
func (t *tree) settle(h *host) {
	h.role, h.peak = h.base, h.base
	for _, s := range h.about {
		switch s.Op.Op {
		case OpRole:
			h.peak = max(h.peak, s.Role)
		case OpRevoke:
			h.revoked = true
		}
	}
	if s := t.ruling(h.about); s != nil {
		h.role = s.Role
	}
	if h.revoked {
		h.role = None
	}
	h.stays = nil
	if h.role < h.peak {
		h.stays = t.staying(h)
	}
	t.leave(h)
	if h.granting || h.peak < Admin {
		return
	}
	h.granting = true
	for _, s := range t.by[h.id] {
		if s.Op.Op == OpGrant && t.stands(h, s, Admin) {
			heap.Push(&t.queue, grant{stmt: s, from: h, at: max(s.time, h.at)})
		}
	}
}

// leave applies h's revokes of itself. What came before one stays; one that others' cuts leave nothing of changes no more
// than h's own standing, so that a fired admin can't take along those it granted.
func (t *tree) leave(h *host) {
	others, left := h.stays, h.revoked
	for _, s := range t.about[h.id] {
		if s.author != h.id || s.Op.Op != OpRevoke || left && !inside(others, s.id) {
			continue
		}
		h.revoked, h.role = true, None
		h.about = append(h.about, s)
		if inside(others, s.id) {
			h.stays = append(h.stays, t.chain(h.id, t.links[s.id].prev))
		}
	}
	h.cutting = t.cutting(h.about, Writer)
}

// inside says whether every set has the ID.
func inside(sets []map[graph.ID]struct{}, id graph.ID) bool {
	for _, set := range sets {
		if _, ok := set[id]; !ok {
			return false
		}
	}
	return true
}

// ruling returns the role statement that holds: of the author nearest the root, the last; nil where there is none.
func (t *tree) ruling(about []*stmt) *stmt {
	var best *stmt
	for _, s := range about {
		if s.Op.Op != OpRole {
			continue
		}
		if best == nil || t.rank(s) < t.rank(best) || t.rank(s) == t.rank(best) && later(s, best) {
			best = s
		}
	}
	return best
}

// cutting returns the statements whose cuts hold: all, but for those that a later role statement made good by giving
// back the role needed to speak at all.
func (t *tree) cutting(about []*stmt, needs Role) []*stmt {
	rules := t.ruling(about)
	if rules == nil || rules.Role < needs {
		return about
	}
	return slices.DeleteFunc(slices.Clone(about), func(s *stmt) bool {
		return s.Op.Op != OpRevoke && s.key().Compare(rules.key()) < 0
	})
}

// rank orders statements by their author's place in the tree.
func (t *tree) rank(s *stmt) int { return t.hosts[s.author].order }

// later compares statements of one author.
func later(a, b *stmt) bool {
	return cmp.Or(cmp.Compare(a.seq, b.seq), a.id.Compare(b.id)) > 0
}

// staying returns, for each statement that cuts h's access entries, which of them stay. Without any cut nothing
// stays: else a fired admin could go on writing through others.
func (t *tree) staying(h *host) []map[graph.ID]struct{} {
	var out []map[graph.ID]struct{}
	for _, s := range t.cutting(h.about, Admin) {
		for _, c := range s.Cuts {
			if c.Space != t.network {
				continue
			}
			if last := c.Nodes[h.id]; last != nil {
				out = append(out, t.chain(h.id, *last))
			} else {
				out = append(out, map[graph.ID]struct{}{})
			}
		}
	}
	if out == nil {
		out = append(out, map[graph.ID]struct{}{})
	}
	return out
}

// chain returns an entry and what came before it from the same author. An entry that isn't here ends the walk.
func (t *tree) chain(author graph.NodeID, last graph.ID) map[graph.ID]struct{} {
	set := map[graph.ID]struct{}{}
	for {
		l, ok := t.links[last]
		if !ok || l.author != author {
			return set
		}
		set[last] = struct{}{}
		last = l.prev
	}
}

// stands says whether a statement of h counts, given the role its operation needs: it does while h has the role, and
// of what h said when it had it, what every cut leaves.
func (t *tree) stands(h *host, s *stmt, needs Role) bool {
	if h.role >= needs {
		return true
	}
	return h.peak >= needs && inside(h.stays, s.id)
}

// grant is a queued grant: at is its time, or its author's attachment where that is later.
type grant struct {
	*stmt
	from *host
	at   graph.Time
}

// grants is a heap by (at, ID).
type grants []grant

func (g grants) Len() int      { return len(g) }
func (g grants) Swap(i, j int) { g[i], g[j] = g[j], g[i] }
func (g grants) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(g[i].at, g[j].at), g[i].id.Compare(g[j].id)) < 0
}
func (g *grants) Push(x any) { *g = append(*g, x.(grant)) }
func (g *grants) Pop() any {
	old := *g
	x := old[len(old)-1]
	*g = old[:len(old)-1]
	return x
}
