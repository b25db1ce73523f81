package node

// This file tests the upgrade of a plugin on hosts that run: what answers, from which file, and what a restart in the middle leaves.

import (
	"errors"
	"slices"
	"testing"

	"plexus/graph"
	"plexus/node/api"
	"plexus/sdk/client"
)

// upgrading is a host on which count is pinned, and what it has answered so far.
type upgrading struct {
	t     *testing.T
	node  *Node
	who   api.Service
	space string
	files []string // that answered, in order
}

// answers asks the view, and says which file answers now.
func (u *upgrading) answers() (file string, current bool) {
	u.t.Helper()
	a, err := u.node.AnswerView(u.t.Context(), u.space, "count", "value", nil, "")
	if err != nil {
		if !errors.Is(err, graph.ErrUnavailable) && !errors.Is(err, graph.ErrNotFound) {
			u.t.Error(err)
		}
		return "", false
	}
	if n := len(u.files); n == 0 || u.files[n-1] != a.File {
		u.files = append(u.files, a.File)
	}
	return a.File, a.Current
}

func (u *upgrading) until(file string) {
	u.t.Helper()
	eventually(u.t, "another file answers", func() bool {
		got, current := u.answers()
		return got == file && current
	})
}

// TestUpgradeOfRunningHosts: the file before answers until the new one has folded everything, and never again.
func TestUpgradeOfRunningHosts(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, t.TempDir(), withPeers), open(t, dir, withPeers)
	run(t, a)
	stop := run(t, b)
	inv, err := a.Invite(t.Context(), client.InviteCreate{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := joinSoon(t.Context(), b, inv.Ticket); err != nil {
		t.Fatal(err)
	}
	ann, _ := register(t, a, "ann")
	bob, bobID := register(t, b, "bob")
	space := join(t, ann, "plan")
	join(t, bob, "plan")
	eventually(t, "a has a member", func() bool {
		peers := a.peers.Peers()
		return len(peers) == 1 && peers[0].Connected
	})
	ua, ub := &upgrading{t: t, node: a, who: ann, space: space}, &upgrading{t: t, node: b, who: bob, space: space}
	one, two := guestFile(t, "count1"), guestFile(t, "count2")
	pin := func(wasm []byte) {
		t.Helper()
		if _, err := a.Pin(t.Context(), space, client.Pin{Wasm: wasm}); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		say(t, ann, space, "before")
	}
	pin(one)
	ua.until(fileID(one))
	ub.until(fileID(one))
	pin(two)
	ua.until(fileID(two))
	ub.until(fileID(two))

	// Back, and b stops before it has heard of it or while it upgrades.
	pin(one)
	if err := errors.Join(stop(), b.Close()); err != nil {
		t.Fatal(err)
	}
	b = open(t, dir, withPeers)
	run(t, b)
	ub.node, ub.files = b, append(ub.files, "restart")
	if ub.who, err = b.As(bobID); err != nil {
		t.Fatal(err)
	}
	ub.until(fileID(one))
	ua.until(fileID(one))
	m := say(t, ub.who, space, "after the restart")
	waitFor(t, ann, space, m.ID)
	for _, u := range []*upgrading{ua, ub} {
		order := slices.Compact(slices.DeleteFunc(u.files, func(f string) bool { return f == "restart" }))
		if !slices.Equal(order, []string{fileID(one), fileID(two), fileID(one)}) {
			t.Errorf("answered by %v", order)
		}
	}
}
