package plugin

// This file holds how far the user of the machine trusts others. It is that user's word alone: a view may show it, a command or reaction heed it; a
// fold can't ask.

import "plexus/sdk/abi"

// Level is how far a Node is trusted, from Unknown to Owner; as what an action needs, up to Nobody.
type Level int

// The levels. NoPolicy is what there is where no user is, as in a test's replay.
const (
	NoPolicy Level = abi.Absent
	Unknown  Level = abi.TrustUnknown
	Known    Level = abi.TrustKnown
	Trusted  Level = abi.TrustTrusted
	Owner    Level = abi.TrustOwner
	Nobody   Level = abi.TrustNobody
)

// String is the level's name, "" for NoPolicy.
func (l Level) String() string {
	if l < Unknown || l > Nobody {
		return ""
	}
	return [...]string{"unknown", "known", "trusted", "owner", "nobody"}[l]
}

// Trust is how far this machine's user trusts a Node in this Space. With the grant "trust".
func Trust(node string) Level { return trustLevel(node) }

// Needed is the level from which this plugin may do what the action names for a Node without asking anybody: what the user said of it,
// or else otherwise. With the grant "trust".
func Needed(action string, otherwise Level) Level {
	if l := trustNeeded(action); l != NoPolicy {
		return l
	}
	return otherwise
}

// ShowTrust adds to a view's answer how far this machine's user trusts a Node, as "trust", where the caller asked for it: {"trust": true}.
// Without that a view answers alike on all replicas. With the grant "trust".
func (q Query) ShowTrust(out Map, node string) {
	if !q.Flag("trust") {
		return
	}
	if l := Trust(node); l != NoPolicy {
		out["trust"] = l.String()
	}
}

// Flag says whether a parameter is true; the text "true" is, too, since queries of HTTP have nothing else.
func (q Query) Flag(name string) bool {
	v := q.Params.Get(name)
	return v.Bool() || v.Text() == "true"
}
