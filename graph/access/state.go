package access

// This file holds what an evaluation says: the answer to every question about who may.

import (
	"encoding/json"
	"fmt"
	"slices"

	"plexus/graph"
)

// State is the outcome of one evaluation: immutable, safe for concurrent use. It is a graph.Rights.
type State struct {
	network graph.ID
	hosts   map[graph.NodeID]*host
	nodes   map[graph.NodeID]*node
	known   map[graph.NodeID]bool
	invites []Invite
	invited map[Hash]int // index into invites
	policy  json.RawMessage
	beside  []*State // of other Networks this host has logs of
}

// Beside returns the State of this Network that answers Standing for the Spaces of others as well: of Networks
// this host was part of before.
func (s *State) Beside(others ...*State) *State {
	out := *s
	out.beside = others
	return &out
}

// Host is a machine's standing.
type Host struct {
	ID      graph.NodeID
	Parent  graph.NodeID // the one above it: who granted it; zero for the first founder
	Role    Role         // None when revoked
	Revoked bool
}

// Node is a participant's standing.
type Node struct {
	ID      graph.NodeID
	Host    graph.NodeID // where it lives
	Kind    Kind
	Role    Role // no more than its host's; None when revoked
	Revoked bool
}

// Known says whether a key was ever named by a grant, an enrolment or the genesis. It never becomes false again.
func (s *State) Known(id graph.NodeID) bool { return s.known[id] }

// Host returns a host's standing; ok is false where no grant of it stands.
func (s *State) Host(id graph.NodeID) (h Host, ok bool) {
	x := s.hosts[id]
	if x == nil {
		return Host{ID: id}, false
	}
	return x.public(), true
}

func (h *host) public() Host {
	out := Host{ID: h.id, Role: h.role, Revoked: h.revoked}
	if h.up != nil {
		out.Parent = h.up.id
	}
	return out
}

// Hosts lists all hosts a grant stands of, revoked ones included, by ID.
func (s *State) Hosts() []Host {
	out := make([]Host, 0, len(s.hosts))
	for _, h := range s.hosts {
		out = append(out, h.public())
	}
	slices.SortFunc(out, func(a, b Host) int { return a.ID.Compare(b.ID) })
	return out
}

// Node returns a Node's standing; ok is false where no enrolment of it stands.
func (s *State) Node(id graph.NodeID) (n Node, ok bool) {
	x := s.nodes[id]
	if x == nil {
		return Node{ID: id}, false
	}
	return x.public(), true
}

func (n *node) public() Node {
	return Node{ID: n.id, Host: n.host.id, Kind: n.kind, Role: n.role, Revoked: n.revoked}
}

// Nodes lists all Nodes an enrolment stands of, revoked ones included, by ID.
func (s *State) Nodes() []Node {
	out := make([]Node, 0, len(s.nodes))
	for _, n := range s.nodes {
		out = append(out, n.public())
	}
	slices.SortFunc(out, func(a, b Node) int { return a.ID.Compare(b.ID) })
	return out
}

// Role returns what a host or Node may do now.
func (s *State) Role(id graph.NodeID) Role {
	if h := s.hosts[id]; h != nil {
		return h.role
	}
	if n := s.nodes[id]; n != nil {
		return n.role
	}
	return None
}

// Policy returns the policy set by the admin nearest the root, its last; nil where there is none.
func (s *State) Policy() json.RawMessage { return s.policy }

// Standing answers for an author's entries in a Space of this Network or in the Network's own log, where readers too are
// visible: there they have a name.
func (s *State) Standing(space graph.Genesis, author graph.NodeID) graph.Standing {
	if space.ID != s.network && space.Network != s.network {
		for _, o := range s.beside {
			if space.ID == o.network || space.Network == o.network {
				return o.Standing(space, author)
			}
		}
		return graph.Standing{}
	}
	st := graph.Standing{Known: s.known[author]}
	needs := Writer
	if space.ID == s.network {
		needs = Reader
	}
	role, peak, cutting := s.voice(author)
	switch {
	case role >= needs:
		st.May = true
	case peak >= needs:
		st.May, st.Cuts = cutsFor(cutting, space.ID, author)
	}
	return st
}

// voice returns what decides over an author's entries: its role, the greatest it had, and whose cuts touch it.
func (s *State) voice(author graph.NodeID) (role, peak Role, cutting []*stmt) {
	if n := s.nodes[author]; n != nil {
		return n.role, n.peak, n.cutting
	}
	if h := s.hosts[author]; h != nil {
		return h.role, h.peak, h.cutting
	}
	return None, None, nil
}

// cutsFor gathers what applies to an author in a Space. Where nobody named the Space, nothing is void yet.
func cutsFor(cutting []*stmt, space graph.ID, author graph.NodeID) (may bool, cuts []graph.ID) {
	for _, st := range cutting {
		for _, c := range st.Cuts {
			if c.Space != space {
				continue
			}
			last := c.Nodes[author]
			if last == nil {
				return false, nil
			}
			if !slices.Contains(cuts, *last) {
				cuts = append(cuts, *last)
			}
		}
	}
	slices.SortFunc(cuts, graph.ID.Compare)
	return true, cuts
}

// Uncut says whether an author has lost its voice in a Space without a cut there: then nothing of it is void yet, and an
// admin's daemon adds one. subject is whom the cut must be about.
func (s *State) Uncut(space graph.Genesis, author graph.NodeID) (subject graph.NodeID, uncut bool) {
	role, peak, cutting := s.voice(author)
	if space.Network != s.network || role >= Writer || peak < Writer {
		return subject, false
	}
	for _, st := range cutting {
		if slices.ContainsFunc(st.Cuts, func(c Cut) bool { return c.Space == space.ID }) {
			return subject, false
		}
	}
	if n := s.nodes[author]; n != nil && n.host.role < Writer {
		return n.host.id, true
	}
	return author, true
}

// Allows says whether a statement of a host would work now: nil, or ErrForbidden with the reason. Authors ask before
// they write; an entry that doesn't work is admitted all the same, and has no effect.
func (s *State) Allows(author graph.NodeID, d graph.Draft) error {
	op, err := Parse(d.Payload)
	if err != nil {
		return err
	}
	a := s.hosts[author]
	if a == nil || a.revoked {
		return fmt.Errorf("host %s is no member of this Network: %w", author, graph.ErrForbidden)
	}
	switch op.Op {
	case OpEnrol:
		if op.Role > a.role {
			return fmt.Errorf("enrol a Node as %s: this host is only a %s: %w", op.Role, a.role, graph.ErrForbidden)
		}
		return op.CheckProof(s.network, author)
	case OpRevoke, OpRole, OpCut:
		return s.allowsAbout(a, op)
	}
	if a.role < Admin {
		return fmt.Errorf("%s needs an admin; this host is a %s: %w", op.Op, a.role, graph.ErrForbidden)
	}
	if op.Op == OpUninvite {
		return s.allowsUninvite(a, *op.Invite)
	}
	return nil
}

func (s *State) allowsAbout(a *host, op Op) error {
	if n := s.nodes[op.Subject]; n != nil {
		if n.host == a || a.role == Admin && a.above(n.host) {
			return nil
		}
		return fmt.Errorf("%s node %s: its host %s isn't below this one: %w", op.Op, op.Subject, n.host.id, graph.ErrForbidden)
	}
	h := s.hosts[op.Subject]
	switch {
	case h == nil:
		return fmt.Errorf("%s: no host or node %s in this Network: %w", op.Op, op.Subject, graph.ErrNotFound)
	case h == a && op.Op == OpRevoke:
		return nil
	case a.role < Admin:
		return fmt.Errorf("%s needs an admin; this host is a %s: %w", op.Op, a.role, graph.ErrForbidden)
	case h == a || !a.above(h):
		return fmt.Errorf("%s host %s: it isn't below this one; ask an admin above it: %w", op.Op, op.Subject, graph.ErrForbidden)
	}
	return nil
}

// Attest says what the access log says of a Node in a Space: its role ("" for none) and its kind ("" where it has no
// standing enrolment). A host has a role and no kind.
func (s *State) Attest(space graph.ID, id graph.NodeID) (role, kind string) {
	n := s.nodes[id]
	if n == nil {
		if r := s.Role(id); r > None {
			role = r.String()
		}
		return role, ""
	}
	if n.role > None {
		role = n.role.String()
	}
	return role, string(n.kind)
}

// Network returns the Network's ID.
func (s *State) Network() graph.ID { return s.network }
