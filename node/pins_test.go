package node

// This file tests pins between two hosts, what keeps a file from coming, and when it is asked for again.

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plexus/graph"
	"plexus/plugins"
	"plexus/sdk/client"
)

// fileID is the CID of a file: version 1, raw, SHA-256.
func fileID(b []byte) string {
	sum := sha256.Sum256(b)
	raw := append([]byte{0x01, 0x55, 0x12, 0x20}, sum[:]...)
	return "b" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(raw))
}

func patterns(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "plugins", "bundle", "patterns.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func pluginNamed(t *testing.T, n *Node, space, name string) client.Plugin {
	t.Helper()
	list, err := n.Plugins(t.Context(), space)
	if err != nil && !errors.Is(err, graph.ErrNotFound) {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.Name == name {
			return p
		}
	}
	return client.Plugin{}
}

// TestPinOfWhatIsNoPlugin: an admin's host that pins what it didn't check costs the others a fetch, and they say why it doesn't run.
func TestPinOfWhatIsNoPlugin(t *testing.T) {
	a, b := pair(t, "")
	ann, _ := register(t, a, "ann")
	bob, _ := register(t, b, "bob")
	space := join(t, ann, "plan")
	join(t, bob, "plan")
	junk := []byte("no Wasm at all")
	dir := filepath.Join(a.cfg.Dir, "plugins")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, fileID(junk)+".wasm"), junk, 0o600)); err != nil {
		t.Fatal(err)
	}
	sp, err := a.space(space)
	if err != nil {
		t.Fatal(err)
	}
	draft, err := plugins.PinDraft("junk", fileID(junk))
	if err == nil {
		err = a.sendPin(t.Context(), sp, draft)
	}
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the file is refused", func() bool {
		p := pluginNamed(t, b, space, "junk")
		return p.Pinned && p.State == client.StateRefused && strings.Contains(p.Fault, "can't be a plugin")
	})
	if left, _ := filepath.Glob(filepath.Join(b.cfg.Dir, "plugins", "*")); len(left) > 0 {
		t.Errorf("it is kept: %v", left)
	}
}

func TestWhoMayPin(t *testing.T) {
	a, b := pair(t, "")
	ann, _ := register(t, a, "ann")
	bob, _ := register(t, b, "bob")
	space := join(t, ann, "plan")
	join(t, bob, "plan")
	in := client.Pin{Wasm: patterns(t), Name: "team"}
	if _, err := b.Pin(t.Context(), space, in); !errors.Is(err, graph.ErrForbidden) {
		t.Errorf("a writer's host pins: %v", err)
	}
	if err := b.Unpin(t.Context(), space, "team"); !errors.Is(err, graph.ErrForbidden) {
		t.Errorf("a writer's host unpins: %v", err)
	}
	for why, wrong := range map[string]client.Pin{
		"no plugin":     {Wasm: []byte("junk")},
		"another CID":   {Wasm: in.Wasm, CID: fileID(nil)},
		"another name":  {Wasm: in.Wasm, Name: "nothing"},
		"no CID at all": {CID: "../../host.key"},
	} {
		if _, err := a.Pin(t.Context(), space, wrong); !errors.Is(err, graph.ErrInvalid) {
			t.Errorf("%s: %v", why, err)
		}
	}
	eventually(t, "a has a member to ask", func() bool {
		peers := a.peers.Peers()
		return len(peers) == 1 && peers[0].Connected
	})
	for why, err := range map[string]error{
		"a file nobody has": second(a.Pin(t.Context(), space, client.Pin{CID: fileID([]byte("x"))})),
		"unknown Space":     second(a.Pin(t.Context(), "x", in)),
		"unpinned":          a.Unpin(t.Context(), space, "team"),
	} {
		if !errors.Is(err, graph.ErrNotFound) {
			t.Errorf("%s: %v", why, err)
		}
	}
	got, err := a.Pin(t.Context(), space, in)
	if err != nil || got.File != fileID(in.Wasm) || fmt.Sprint(got.Plugins) != "[team]" {
		t.Fatalf("pin: %+v, %v", got, err)
	}
	if p := pluginNamed(t, a, space, "team"); !p.Pinned || p.State == client.StateMissing {
		t.Errorf("pinned: %+v", p)
	}
	eventually(t, "b has the file", func() bool {
		_, err := b.plugins.File(got.File)
		return err == nil
	})
	if err := a.Unpin(t.Context(), space, "team"); err != nil {
		t.Fatal(err)
	}
	if p := pluginNamed(t, a, space, "team"); p.Pinned {
		t.Errorf("unpinned: %+v", p)
	}
}

func TestFetchesBackOff(t *testing.T) {
	var f fetching
	now := time.Unix(1, 0)
	for i, want := range []time.Duration{firstFetch, 2 * firstFetch, 4 * firstFetch} {
		f.note("c", graph.ErrUnavailable, now)
		if got := f.failure("c"); got.next.Sub(now) != want || got.unfit || got.why == "" {
			t.Errorf("failure %d: %+v, want %v", i, got, want)
		}
	}
	for range 40 {
		f.note("c", graph.ErrUnavailable, now)
	}
	if got := f.failure("c").next.Sub(now); got != lastFetch {
		t.Errorf("%v, want %v at most", got, lastFetch)
	}
	f.note("c", nil, now)
	if got := f.failure("c"); got.why != "" || got.next.Sub(now) != firstFetch {
		t.Errorf("after success: %+v", got)
	}
	f.note("bad", &unfit{"bad", graph.ErrInvalid}, now)
	if got := f.failure("bad"); !got.unfit || got.next.Sub(now) != unfitFetch {
		t.Errorf("unfit: %+v", got)
	}
	f.keep([]string{"bad"})
	if f.failure("c") != (failure{}) || !f.failure("bad").unfit {
		t.Error("forgot what is still missing, or not what isn't")
	}
}
