package plugins

// This file holds how far this host's user trusts others, as views, commands and reactions may ask (docs/plugins.md §6.4). It is of this host
// alone, so no fold may see it.

import (
	"plexus/graph"
	"plexus/sdk/abi"
)

// Trust is the user's policy, in the numbers of abi: from abi.TrustUnknown to abi.TrustOwner. It answers quickly: a guest waits.
type Trust interface {
	// Level is how far a Node is trusted in a Space.
	Level(space graph.ID, node graph.NodeID) int
	// Needed is the level from which a plugin may do something for others without asking, up to abi.TrustNobody;
	// abi.Absent where the user said nothing of it.
	Needed(space graph.ID, plugin, action string) int
}

// policy is the Trust one call may ask.
type policy struct {
	trust Trust // nil: there is no user here, as in a workbench
	space graph.ID
}

func (g guestCall) policied() *policy {
	if g.policy == nil {
		panic(trapError("the user's trust is for views, commands and reactions alone"))
	}
	return g.policy
}

// trustLevel answers how far the user trusts a Node; abi.Absent where nobody has a policy, or the text is no Node's ID.
func trustLevel(g guestCall, s []uint64) {
	p, id := g.policied(), g.text(s[0], s[1], abi.MaxKey)
	node, err := graph.ParseNodeID(id)
	if p.trust == nil || err != nil {
		s[0] = answer(false, 0)
		return
	}
	s[0] = answer(true, p.trust.Level(p.space, node))
}

func trustNeeded(g guestCall, s []uint64) {
	p, action := g.policied(), g.text(s[0], s[1], abi.MaxKey)
	n := abi.Absent
	if p.trust != nil {
		n = p.trust.Needed(p.space, g.spec.plugin.Name, action)
	}
	s[0] = answer(n >= 0, n)
}
