package main

// This file holds a host that is no member: it knows everything a member knows (Network, Space, a message's ID) and speaks raw
// GossipSub and the sync protocol from a namespace of its own. It must not be given a single block.

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/libp2p/go-libp2p"
	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"

	"plexus/graph"
	"plexus/sdk/client"
)

// strangerEnv carries the child's orders; the child is this test binary.
const strangerEnv = "PLEXUS_TEST_STRANGER"

// strangerOrders is what the child is told.
type strangerOrders struct {
	Peer, Network, Space, Message string
}

// strangerReport is what it heard.
type strangerReport struct {
	Gossip int    // messages heard on the Space's topic
	Sync   []byte // frame types read on sync streams
	Tried  int    // sync streams opened or refused
}

type stranger struct {
	cmd *exec.Cmd
	out *bytes.Buffer
	in  io.WriteCloser
}

// startStranger lets the child go to work against a daemon while the test goes on.
func startStranger(ctx context.Context, t *testing.T, n namespace, d *daemon, space string) *stranger {
	t.Helper()
	st, err := d.admin.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	first, err := d.send(ctx, space, client.SendMessage{Content: text("nothing for strangers")})
	if err != nil {
		t.Fatal(err)
	}
	orders := strangerOrders{Network: st.Network, Space: space, Message: first.ID}
	for _, a := range st.Addrs {
		if strings.Contains(a, "/10.77.2.1/tcp/") && !strings.Contains(a, "/ws") {
			orders.Peer = a + "/p2p/" + st.Host
		}
	}
	if orders.Peer == "" {
		t.Fatalf("no address for the stranger's link among %v", st.Addrs)
	}
	raw, err := json.Marshal(orders)
	if err != nil {
		t.Fatal(err)
	}
	s := &stranger{out: &bytes.Buffer{}}
	s.cmd = exec.CommandContext(ctx, "ip", "netns", "exec", string(n), os.Args[0], "-test.run", "^TestStrangerChild$", "-test.v")
	s.cmd.Env = append(os.Environ(), strangerEnv+"="+string(raw))
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

// heardNothing ends the child and checks its report.
func (s *stranger) heardNothing(t *testing.T) {
	t.Helper()
	_ = s.in.Close()
	if err := s.cmd.Wait(); err != nil {
		t.Fatalf("the stranger: %v\n%s", err, s.out)
	}
	var report strangerReport
	for line := range strings.Lines(s.out.String()) {
		if rest, ok := strings.CutPrefix(line, "REPORT "); ok {
			if err := json.Unmarshal([]byte(rest), &report); err != nil {
				t.Fatal(err)
			}
		}
	}
	if report.Tried == 0 {
		t.Fatalf("the stranger never tried:\n%s", s.out)
	}
	if report.Gossip > 0 {
		t.Errorf("a stranger heard %d messages by gossip", report.Gossip)
	}
	for _, frame := range report.Sync {
		if frame != 12 { // refuse, the only frame a stranger may read (protocol.md §5)
			t.Errorf("a stranger was sent a sync frame of type %d", frame)
		}
	}
	t.Logf("the stranger tried %d sync streams, heard %d frames and %d gossip messages", report.Tried, len(report.Sync), report.Gossip)
}

// TestStrangerChild is the child's main; without orders there is nothing to test.
func TestStrangerChild(t *testing.T) {
	raw := os.Getenv(strangerEnv)
	if raw == "" {
		t.Skip("skipped: only runs as the child of TestTwoHostsInTwoNamespaces")
	}
	var o strangerOrders
	if err := json.Unmarshal([]byte(raw), &o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // the parent closes stdin when it is done
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	h, err := libp2p.New(libp2p.ListenAddrStrings("/ip4/0.0.0.0/tcp/0"))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	at, err := peer.AddrInfoFromString(o.Peer)
	if err != nil {
		t.Fatal(err)
	}
	var report strangerReport
	heard := overhear(ctx, t, h, o.Space)
	for ctx.Err() == nil {
		if err := h.Connect(ctx, *at); err == nil {
			report.Tried++
			report.Sync = append(report.Sync, probe(ctx, h, at.ID, o)...)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second): // a stranger's patience, in a process of its own
		}
	}
	h.Close()
	report.Gossip = <-heard
	out, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("\nREPORT %s\n", out)
}

// overhear subscribes to the Space's topic and, once ctx ends, says how many messages came.
func overhear(ctx context.Context, t *testing.T, h host.Host, space string) <-chan int {
	t.Helper()
	ps, err := pubsub.NewGossipSub(ctx, h, pubsub.WithMessageSignaturePolicy(pubsub.StrictNoSign))
	if err != nil {
		t.Fatal(err)
	}
	topic, err := ps.Join("/plexus/1/" + space)
	if err != nil {
		t.Fatal(err)
	}
	sub, err := topic.Subscribe()
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan int, 1)
	go func() {
		n := 0
		for {
			m, err := sub.Next(ctx)
			if err != nil {
				heard <- n
				return
			}
			if m.ReceivedFrom != h.ID() {
				n++
			}
		}
	}()
	return heard
}

// probe opens a sync stream as a member would, greets, asks for a message it knows the ID of, and returns the types of
// the frames it is sent.
func probe(ctx context.Context, h host.Host, to peer.ID, o strangerOrders) (types []byte) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	s, err := h.NewStream(ctx, to, "/plexus/sync/1.0.0")
	if err != nil {
		return nil
	}
	defer func() { _ = s.Reset() }()
	_ = s.SetDeadline(time.Now().Add(3 * time.Second))
	network, _ := graph.ParseID(o.Network)
	space, _ := graph.ParseID(o.Space)
	message, _ := graph.ParseID(o.Message)
	for _, f := range []struct {
		kind byte
		body map[int]any
	}{
		{1, map[int]any{1: network[:], 2: time.Now().UnixMicro()}},
		{9, map[int]any{1: space[:], 2: message[:]}},
	} {
		body, _ := cbor.Marshal(f.body)
		frame := binary.BigEndian.AppendUint32(nil, uint32(len(body)+1))
		if _, err := s.Write(append(append(frame, f.kind), body...)); err != nil {
			return nil
		}
	}
	for {
		var head [5]byte
		if _, err := io.ReadFull(s, head[:]); err != nil {
			return types
		}
		types = append(types, head[4])
		if _, err := io.CopyN(io.Discard, s, int64(binary.BigEndian.Uint32(head[:4]))-1); err != nil {
			return types
		}
	}
}
