package main

// This file holds the field: whole nodes, as `plexus up` runs them, on a simulated network in simulated time.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plexus/internal/sim"
	"plexus/node"
	"plexus/p2p"
	"plexus/sdk/client"
)

// links is how bad the sensors' radio is: three seconds for a question and its answer at the worst, and one packet in fifty lost.
var links = sim.Options{Latency: 400 * time.Millisecond, Jitter: 800 * time.Millisecond, Loss: 0.02, Mbps: 1}

// object is a JSON object.
type object = map[string]any

// field is the network and the clock.
type field struct {
	t     *testing.T
	world *sim.World
	dir   string
	began time.Time
}

func newField(t *testing.T) *field {
	return &field{t: t, world: sim.New(t, links), dir: t.TempDir(), began: time.Now()}
}

// box is one machine, with the Node that speaks on it.
type box struct {
	name, id string
	ip, dir  string // in the simulated network; of its data
	node     *node.Node
	field    *field
}

// box starts a machine. All share what they compile of the patterns, since they stand in one process.
func (f *field) box(ctx context.Context, name, kind string) *box {
	transport, ip, listen := f.world.Transport()
	n, err := node.Open(node.Config{
		Dir: filepath.Join(f.dir, name), Name: "field", Listen: "none", Cache: filepath.Join(f.dir, "cache"),
		P2P: p2p.Config{Listen: []string{listen}, Transport: transport, NoMDNS: true},
	})
	f.must(err, "start %s", name)
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- n.Run(life) }()
	f.t.Cleanup(func() {
		stop()
		f.must(<-ended, "run %s", name)
		f.must(n.Close(), "close %s", name)
	})
	return (&box{ip: ip, dir: filepath.Join(f.dir, name), node: n, field: f}).also(ctx, name, kind)
}

// also makes another Node on the machine.
func (b *box) also(ctx context.Context, name, kind string) *box {
	f, out := b.field, &box{name: name, ip: b.ip, dir: b.dir, node: b.node, field: b.field}
	key, err := os.ReadFile(filepath.Join(b.dir, "access.key"))
	f.must(err, "read the access key of %s", name)
	who, err := b.node.Register(ctx, client.AuthRegister{NodeCreate: client.NodeCreate{Name: name}, AccessKey: strings.TrimSpace(string(key)), Kind: kind}, "")
	f.must(err, "register %s", name)
	out.id = who.ID
	return out
}

// enter creates or joins the Space of that name and returns its ID.
func (b *box) enter(ctx context.Context, space string) string {
	s, err := b.node.As(b.id)
	b.field.must(err, "speak as %s", b.name)
	info, err := s.Space(ctx, client.SpaceCreate{Name: space, Description: "I work here"})
	b.field.must(err, "%s enters %s", b.name, space)
	return info.ID
}

// below returns what refers to a message, directly or not.
func (b *box) below(ctx context.Context, space, message string) []client.Message {
	s, err := b.node.As(b.id)
	b.field.must(err, "speak as %s", b.name)
	page, err := s.Read(ctx, client.ReadQuery{SpaceID: space, MessageID: message, Direction: "downstream", Limit: 1000})
	b.field.must(err, "%s reads", b.name)
	return page.Messages
}

// must ends the example where err isn't nil.
func (f *field) must(err error, format string, args ...any) {
	f.t.Helper()
	if err != nil {
		f.t.Fatalf("%s: %v", fmt.Sprintf(format, args...), err)
	}
}

// until waits, in simulated time.
func (f *field) until(limit time.Duration, what string, so func() bool) {
	f.t.Helper()
	for end := time.Now().Add(limit); !so(); time.Sleep(250 * time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("after %s not yet: %s", limit, what)
		}
	}
}

// tell says what happens, and when by the simulated clock.
func (f *field) tell(format string, args ...any) {
	at := time.Since(f.began).Round(time.Second)
	fmt.Printf("  %02d:%02d  %s\n", int(at.Minutes()), int(at.Seconds())%60, fmt.Sprintf(format, args...))
}

// check tells what must be so, and whether it is.
func (f *field) check(so bool, format string, args ...any) {
	f.t.Helper()
	if !so {
		f.t.Errorf(format, args...)
		return
	}
	f.tell("✓ "+format, args...)
}

// do has a plugin's command say what follows, and returns the message's ID.
func (b *box) do(ctx context.Context, space, plugin, command string, params object) string {
	b.field.t.Helper()
	raw, err := json.Marshal(params)
	b.field.must(err, "write parameters")
	out, err := b.node.Do(ctx, space, plugin, command, raw, b.id)
	b.field.must(err, "%s: %s %s", b.name, plugin, command)
	return out[0].ID
}

func (b *box) view(ctx context.Context, space, plugin, view string, params object, out any) {
	b.field.t.Helper()
	raw, err := json.Marshal(params)
	b.field.must(err, "write parameters")
	raw, err = b.node.View(ctx, space, plugin, view, raw, b.id)
	b.field.must(err, "%s: view %s of %s", b.name, view, plugin)
	b.field.must(json.Unmarshal(raw, out), "%s: view %s of %s", b.name, view, plugin)
}

// state is what must be equal on all machines that have met: messages, and the patterns' states.
func (b *box) state(ctx context.Context, space string) string {
	status, err := b.node.Status(ctx)
	b.field.must(err, "status of %s", b.name)
	out := ""
	for _, s := range status.Spaces {
		if s.ID == space {
			out = fmt.Sprintf("%d messages, digest %.12s…", s.Messages, s.Digest)
		}
	}
	for _, plugin := range []string{"group", "task"} {
		hash, current, err := b.node.StateHash(ctx, space, plugin)
		if err != nil || !current {
			return ""
		}
		out += fmt.Sprintf(", state of %s %.12s…", plugin, hash)
	}
	return out
}

// same waits until the machines hold the same.
func (f *field) same(ctx context.Context, space string, boxes []*box) {
	f.t.Helper()
	var first string
	f.until(3*time.Minute, "all hold the same", func() bool {
		first = boxes[0].state(ctx, space)
		for _, b := range boxes[1:] {
			if first == "" || b.state(ctx, space) != first {
				return false
			}
		}
		return true
	})
	f.tell("✓ %d machines hold the same: %s", len(boxes), first)
}
