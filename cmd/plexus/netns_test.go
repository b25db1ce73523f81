package main

// This file holds the test of a network: daemons in network namespaces of their own, joined by veth pairs that are cut and
// restored. Needs root and iproute2; skipped, with the reason, where namespaces can't be made.

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plexus/sdk/client"
)

// namespace is a network namespace of this test's, by its `ip netns` name.
type namespace string

// ip runs the ip command and fails the test with its output.
func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// newNamespaces makes one namespace per name, or skips the test.
func newNamespaces(t *testing.T, names ...string) []namespace {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("skipped: no ip command (Debian: iproute2)")
	}
	var all []namespace
	for _, name := range names {
		n := namespace(fmt.Sprintf("plx%d%s", os.Getpid(), name))
		if out, err := exec.Command("ip", "netns", "add", string(n)).CombinedOutput(); err != nil {
			t.Skipf("skipped: can't make a network namespace: %v: %s", err, out)
		}
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", string(n)).Run() })
		ip(t, "-n", string(n), "link", "set", "lo", "up")
		all = append(all, n)
	}
	return all
}

// link joins two namespaces by a veth pair, named alike in both, with addresses 10.77.net.1 and .2.
func link(t *testing.T, a, b namespace, name string, net int) {
	t.Helper()
	ip(t, "link", "add", name, "netns", string(a), "type", "veth", "peer", "name", name, "netns", string(b))
	for i, n := range []namespace{a, b} {
		ip(t, "-n", string(n), "addr", "add", fmt.Sprintf("10.77.%d.%d/24", net, i+1), "dev", name)
		ip(t, "-n", string(n), "link", "set", name, "up")
	}
}

// dial opens a connection whose socket lies in the namespace.
func (n namespace) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
	if err != nil {
		return nil, err
	}
	defer home.Close()
	there, err := os.Open(filepath.Join("/var/run/netns", string(n)))
	if err != nil {
		return nil, err
	}
	defer there.Close()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, err
	}
	defer func() { _ = unix.Setns(int(home.Fd()), unix.CLONE_NEWNET) }()
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// daemon starts `plexus up` in the namespace, with an agent on it.
func (n namespace) daemon(ctx context.Context, t *testing.T, parent, name string) *daemon {
	t.Helper()
	d := newDaemon(parent, name)
	d.ip = "0.0.0.0"
	if err := d.start(ctx, "ip", "netns", "exec", string(n), plexus(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.stop(); err != nil {
			t.Error(err)
		}
	})
	d.admin.HTTP = &http.Client{Transport: &http.Transport{DialContext: n.dial, MaxIdleConnsPerHost: 64}}
	if err := d.addAgent(ctx, "agent of "+name, false); err != nil {
		t.Fatal(err)
	}
	return d
}

// plexus returns the path of the program under test, which testscript's main puts on the PATH.
func plexus(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("plexus")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTwoHostsInTwoNamespaces(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short")
	}
	const cuts, perPhase = 5, 500 // 5 × (500 offline + 500 online) × 2 sides = 10,000
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	ns := newNamespaces(t, "a", "b", "c")
	link(t, ns[0], ns[1], "ab", 1)
	link(t, ns[0], ns[2], "ac", 2)
	dir := t.TempDir()
	a, b := ns[0].daemon(ctx, t, dir, "a"), ns[1].daemon(ctx, t, dir, "b")

	invite, err := a.admin.Invite(ctx, client.InviteCreate{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.admin.Join(ctx, invite.Ticket); err != nil {
		t.Fatal(err)
	}
	space := enter(ctx, t, a)
	if got := enter(ctx, t, b); got != space {
		t.Fatalf("one name, two Spaces: %s on a, %s on b", space, got)
	}
	stranger := startStranger(ctx, t, ns[2], a, space)

	for cut := range cuts {
		ip(t, "-n", string(ns[0]), "link", "set", "ab", "down")
		bothSend(ctx, t, space, perPhase, a, b)
		ip(t, "-n", string(ns[0]), "link", "set", "ab", "up")
		bothSend(ctx, t, space, perPhase, a, b)
		t.Logf("cut %d of %d: sent 2 × %d offline and 2 × %d online", cut+1, cuts, perPhase, perPhase)
	}
	start := time.Now()
	waitEqual(ctx, t, space, 2*cuts*2*perPhase+1, a, b) // and the one the stranger knows of
	t.Logf("all there %s after the last send", time.Since(start).Round(time.Millisecond))
	for _, d := range []*daemon{a, b} {
		report, err := d.admin.Verify(ctx)
		if err != nil || len(report.Problems) > 0 {
			t.Fatalf("verify on %s: %v %v", d.name, err, report.Problems)
		}
	}
	stranger.heardNothing(t)
}

func enter(ctx context.Context, t *testing.T, d *daemon) string {
	t.Helper()
	info, err := d.agent.Space(ctx, client.SpaceCreate{Name: "bridge", Description: "two sides"})
	if err != nil {
		t.Fatal(err)
	}
	return info.ID
}

// bothSend lets each side send n messages at once, 8 senders a side.
func bothSend(ctx context.Context, t *testing.T, space string, n int, sides ...*daemon) {
	t.Helper()
	var wg sync.WaitGroup
	for _, d := range sides {
		b := &bench{fleet: []*daemon{d}, space: space}
		wg.Go(func() {
			if _, err := b.sends(ctx, n, 8, 100); err != nil {
				t.Errorf("send on %s: %v", d.name, err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// waitEqual waits until all sides hold want messages and equal digests.
func waitEqual(ctx context.Context, t *testing.T, space string, want int, sides ...*daemon) {
	t.Helper()
	var last []client.SpaceStatus
	err := waitUntil(ctx, func() (bool, error) {
		last = nil
		for _, d := range sides {
			st, err := d.spaceStatus(ctx, space)
			if err != nil {
				return false, err
			}
			last = append(last, st)
			if st.Messages != want || st.Digest != last[0].Digest {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		t.Fatalf("not equal with %d messages: %v; %+v", want, err, last)
	}
}
