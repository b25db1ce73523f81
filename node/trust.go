package node

// This file holds how far this host's user trusts other Nodes: a policy of this host alone, which no entry carries and no fold sees. Views,
// commands and reactions may ask it (plugins.Trust), and envelopes show it. docs/synapse.md, "Trust".

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plexus/graph"
	"plexus/sdk/client"
)

// levels are the names of plugins.Trust's numbers.
var levels = []string{client.TrustUnknown, client.TrustKnown, client.TrustTrusted, client.TrustOwner, client.TrustNobody}

const (
	levelUnknown = 0
	levelKnown   = 1
	levelOwner   = 3
	levelNobody  = 4
)

const noLevel = -1 // plugins.Trust: nothing was said

// The keys of the keyspace "trust".
const (
	trustsNode   = 'n' // space ID (zero: all) ‖ node ID
	trustsAction = 'a' // space ID (zero: all) ‖ PLUGIN/ACTION
)

func trustKey(kind byte, space graph.ID, what string) []byte {
	return append(append([]byte{kind}, space[:]...), what...)
}

// aboveAll sorts behind whatever follows kind and Space in a key: names are ASCII, IDs of 32 bytes.
var aboveAll = strings.Repeat("\xff", 33)

// said is what the user said, for the Space or else for all; noLevel where nothing. A store that fails has heard nothing either.
func (r records) said(kind byte, space graph.ID, what string) int {
	for _, sp := range []graph.ID{space, {}} {
		if b, err := r.trust.Get(trustKey(kind, sp, what)); err == nil && len(b) == 1 && int(b[0]) < len(levels) {
			return int(b[0])
		}
	}
	return noLevel
}

// trust is the policy as plugins ask it.
type trust struct{ node *Node }

// Level is what the user said of a Node, or else: owner for this host's own, known for P2A callers and whom somebody with the right to has let in,
// unknown for others.
func (t trust) Level(space graph.ID, node graph.NodeID) int {
	if n := t.node.rec.said(trustsNode, space, string(node[:])); n != noLevel {
		return n
	}
	if _, err := t.node.keys.key(node); err == nil && !t.node.gateway.speaksFor(node) {
		return levelOwner
	}
	if role, _ := t.node.state().Attest(space, node); role != "" {
		return levelKnown
	}
	return levelUnknown
}

// speaksFor says whether a Node stands for a caller: its key is here, but what it says comes from outside.
func (g *gateway) speaksFor(node graph.NodeID) bool {
	_, err := g.rec.caller.Get(node[:])
	return err == nil
}

// Needed is what the user said of an action.
func (t trust) Needed(space graph.ID, plugin, action string) int {
	return t.node.rec.said(trustsAction, space, plugin+"/"+action)
}

// TrustLevel names how far a Node is trusted in a Space; an ID that is none is unknown.
func (n *Node) TrustLevel(spaceID, nodeID string) string {
	space, _ := graph.ParseID(spaceID) // else it holds for all
	id, err := graph.ParseNodeID(nodeID)
	if err != nil {
		return client.TrustUnknown
	}
	return levels[trust{n}.Level(space, id)]
}

// Trust returns the policy as it holds in a Space, or ("") where nothing is said of one.
func (n *Node) Trust(ctx context.Context, spaceID string) (client.TrustPolicy, error) {
	out := client.TrustPolicy{Nodes: []client.TrustedNode{}, Actions: []client.TrustedAction{}}
	space, err := n.trustSpace(spaceID)
	if err != nil {
		return out, err
	}
	list, err := n.Nodes(ctx)
	if err != nil {
		return out, err
	}
	nodes, actions := map[string]client.TrustedNode{}, map[string]client.TrustedAction{}
	for _, c := range list {
		nodes[c.ID] = client.TrustedNode{Node: c.ID, Name: c.Name, Level: n.TrustLevel(spaceID, c.ID)}
	}
	for _, sp := range slices.Compact([]graph.ID{{}, space}) {
		err := n.eachTrust(sp, func(kind byte, what, level string) {
			if kind == trustsAction {
				actions[what] = client.TrustedAction{Action: what, Level: level, SpaceID: named(sp)}
				return
			}
			id := graph.NodeID([]byte(what)).String()
			nodes[id] = client.TrustedNode{Node: id, Name: nodes[id].Name, Level: level, Set: true, SpaceID: named(sp)}
		})
		if err != nil {
			return out, err
		}
	}
	out.Nodes = slices.SortedFunc(maps.Values(nodes), func(a, b client.TrustedNode) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Node, b.Node))
	})
	out.Actions = slices.SortedFunc(maps.Values(actions), func(a, b client.TrustedAction) int { return cmp.Compare(a.Action, b.Action) })
	return out, nil
}

// named is a Space's ID, "" for all Spaces.
func named(space graph.ID) string {
	if space == (graph.ID{}) {
		return ""
	}
	return space.String()
}

// eachTrust hands on what was said for one Space, or (zero) for all.
func (n *Node) eachTrust(space graph.ID, f func(kind byte, what, level string)) error {
	for _, kind := range []byte{trustsNode, trustsAction} {
		prefix := trustKey(kind, space, "")
		for kv, err := range n.rec.trust.Scan(prefix, trustKey(kind, space, aboveAll), false) {
			if err != nil {
				return fmt.Errorf("read trust: %w", err)
			}
			what := string(kv.Key[len(prefix):])
			if len(kv.Value) != 1 || int(kv.Value[0]) >= len(levels) || kind == trustsNode && len(what) != len(graph.NodeID{}) {
				continue
			}
			f(kind, what, levels[kv.Value[0]])
		}
	}
	return nil
}

// trustSpace is a Space's ID; "" is the zero ID, which stands for all.
func (n *Node) trustSpace(spaceID string) (graph.ID, error) {
	if spaceID == "" {
		return graph.ID{}, nil
	}
	sp, err := n.space(spaceID)
	if err != nil {
		return graph.ID{}, err
	}
	return sp.ID(), nil
}

// SetTrust gives a Node a level in a Space, or in all; "default" takes back what was said. The Node needn't be known here yet.
func (n *Node) SetTrust(_ context.Context, nodeID string, in client.TrustSet) error {
	id, err := graph.ParseNodeID(nodeID)
	if err != nil {
		return notFound("Node", nodeID)
	}
	return n.setLevel(trustsNode, string(id[:]), in.Level, in.SpaceID, levels[:levelNobody])
}

// SetNeeded says from which level on a plugin may do something for a Node without asking.
func (n *Node) SetNeeded(_ context.Context, in client.TrustedAction) error {
	plugin, action, ok := strings.Cut(in.Action, "/")
	if !ok || !isName(plugin) || !isName(action) {
		return invalid("action must be PLUGIN/ACTION, such as task/confirm, not '%.80s'", in.Action)
	}
	return n.setLevel(trustsAction, in.Action, in.Level, in.SpaceID, levels)
}

func (n *Node) setLevel(kind byte, what, level, spaceID string, may []string) error {
	space, err := n.trustSpace(spaceID)
	if err != nil {
		return err
	}
	op := graph.Op{Kind: graph.Del, Key: trustKey(kind, space, what)}
	if level != client.TrustDefault {
		i := slices.Index(may, level)
		if i < 0 {
			return invalid("level must be %s, or default, not '%.32s'", strings.Join(may, ", "), level)
		}
		op.Kind, op.Value = graph.Set, []byte{byte(i)}
	}
	if err := n.rec.trust.Apply(op); err != nil {
		return fmt.Errorf("keep trust: %w", err)
	}
	return nil
}

// isName says whether s may be a plugin's name, or that of what it does.
func isName(s string) bool {
	return s != "" && len(s) <= 32 && s[0] >= 'a' && s[0] <= 'z' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
