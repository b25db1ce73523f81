//go:build !wasip1

package plugin

// This file holds trust as tests set it.

// Trusts and Needs are the policy in a native build: Node → level, action → level. A Node that isn't there has NoPolicy.
var (
	Trusts = map[string]Level{}
	Needs  = map[string]Level{}
)

func trustLevel(node string) Level {
	if l, ok := Trusts[node]; ok {
		return l
	}
	return NoPolicy
}

func trustNeeded(action string) Level {
	if l, ok := Needs[action]; ok {
		return l
	}
	return NoPolicy
}
