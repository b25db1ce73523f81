package graph

// This file holds what a Space asks of access rules. graph/access has the answers.

import "slices"

// Standing is what access rules say of an author in a Space. A pure function of the admitted access entries.
type Standing struct {
	Known bool // ever granted or enrolled: the author's entries are admitted. Never goes back to false
	May   bool // entries are visible (subject to Cuts); false: all void
	Cuts  []ID // where not empty: visible is only what lies in the own-chain past (itself included) of every one
}

// equal says whether two standings are the same; the order of cuts doesn't count.
func (a Standing) equal(b Standing) bool {
	return a.Known == b.Known && a.May == b.May && slices.Equal(a.sorted().Cuts, b.sorted().Cuts)
}

// sorted returns the standing with its cuts in order, each once.
func (a Standing) sorted() Standing {
	if !slices.IsSortedFunc(a.Cuts, ID.Compare) {
		a.Cuts = slices.Clone(a.Cuts)
		slices.SortFunc(a.Cuts, ID.Compare)
	}
	a.Cuts = slices.Compact(slices.Clone(a.Cuts))
	return a
}

// Rights answers for every author and Space. graph/access has the real one; implementations are immutable values.
type Rights interface {
	Standing(space Genesis, author NodeID) Standing
}

// nobody is the Rights by which no author is known.
type nobody struct{}

// Standing is always zero.
func (nobody) Standing(Genesis, NodeID) Standing { return Standing{} }
