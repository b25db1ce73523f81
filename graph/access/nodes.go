package access

// This file holds what becomes of Nodes: whose host they are on, what may be said of them, and by whom.

import (
	"slices"

	"plexus/graph"
)

// node is one that at least one standing enrolment names.
type node struct {
	id      graph.NodeID
	lives   []*stmt // enrolments that stand, in canonical order; the last one's author is its host
	host    *host
	kind    Kind
	peak    Role
	role    Role
	revoked bool
	cutting []*stmt // statements whose cuts touch it: about itself, and about the hosts it was on
}

// enrol fills in the Nodes once the tree stands.
func (t *tree) enrol(stmts []*stmt, nodes map[graph.NodeID]*node) {
	for _, s := range stmts {
		h := t.hosts[s.author]
		if s.Op.Op != OpEnrol || h == nil || !t.stands(h, s, Reader) {
			continue
		}
		n := nodes[s.Node]
		if n == nil {
			n = &node{id: s.Node}
			nodes[s.Node] = n
		}
		n.lives, n.host, n.kind = append(n.lives, s), h, s.Kind
	}
	for _, n := range nodes {
		t.settleNode(n)
	}
}

func (t *tree) settleNode(n *node) {
	last := n.lives[len(n.lives)-1]
	n.role, n.peak = min(last.Role, n.host.role), None
	for _, s := range n.lives {
		n.peak = max(n.peak, min(s.Role, t.hosts[s.author].peak))
	}
	own := t.aboutNode(n)
	for _, s := range own {
		switch s.Op.Op {
		case OpRevoke:
			n.revoked = true
		case OpRole:
			n.peak = max(n.peak, min(s.Role, n.host.peak))
		}
	}
	if s := t.ruling(own); s != nil {
		n.role = min(s.Role, n.host.role)
	}
	hosts := t.aboutHosts(n)
	for _, s := range hosts {
		n.revoked = n.revoked || s.Op.Op == OpRevoke
	}
	if n.revoked {
		n.role = None
	}
	n.cutting = append(slices.Clip(t.cutting(own, Writer)), hosts...)
}

// aboutNode returns the statements that name the Node and work: its own revoke of itself, its host's, and those of
// admins above the host it is on or was on when they spoke.
func (t *tree) aboutNode(n *node) []*stmt {
	var out []*stmt
	for _, s := range t.about[n.id] {
		if s.author == n.id {
			if s.Op.Op == OpRevoke {
				out = append(out, s)
			}
			continue
		}
		a := t.hosts[s.author]
		if a == nil {
			continue
		}
		then := t.hostAt(n, s)
		switch {
		case a == n.host || a == then:
			if t.stands(a, s, Reader) {
				out = append(out, s)
			}
		case a.above(n.host) || a.above(then):
			if t.stands(a, s, Admin) {
				out = append(out, s)
			}
		}
	}
	return out
}

// aboutHosts returns the statements about the Node's host, and those about a former host that were made while the Node
// was there, by someone who stands above its present one as well.
func (t *tree) aboutHosts(n *node) []*stmt {
	out := slices.Clone(n.host.cutting)
	for _, f := range t.formerHosts(n) {
		for _, s := range f.cutting {
			if t.hostAt(n, s) == f && t.hosts[s.author].above(n.host) {
				out = append(out, s)
			}
		}
	}
	return out
}

func (t *tree) formerHosts(n *node) []*host {
	var out []*host
	for _, s := range n.lives {
		if h := t.hosts[s.author]; h != n.host && !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

// hostAt returns the host a Node was on when a statement was made, by canonical order; its present one if it was on
// none.
func (t *tree) hostAt(n *node, at *stmt) *host {
	h := n.host
	for _, s := range n.lives {
		if s.key().Compare(at.key()) > 0 {
			break
		}
		h = t.hosts[s.author]
	}
	return h
}
