package node

// This file tests files on their way between two hosts: broken off and resumed, too large, not what their CID says.

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"plexus/graph"
	"plexus/p2p"
	"plexus/plugins"
	"plexus/sdk/client"
)

// shelf is what a host gives by CID, whatever it is. It breaks off once at the offset breaks.
type shelf struct {
	mu     sync.Mutex // owns what follows
	files  map[string][]byte
	breaks int
	begun  []int64 // where reading began
}

func (s *shelf) Open(cid string) (io.ReadSeekCloser, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.files[cid]
	if !ok {
		return nil, 0, graph.ErrNotFound
	}
	return &reading{Reader: bytes.NewReader(b), shelf: s}, int64(len(b)), nil
}

func (s *shelf) put(cid string, b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[cid] = b
}

type reading struct {
	*bytes.Reader
	shelf *shelf
	begun bool
}

func (r *reading) Close() error { return nil }

func (r *reading) Read(b []byte) (int, error) {
	r.shelf.mu.Lock()
	defer r.shelf.mu.Unlock()
	at := r.Size() - int64(r.Len())
	if !r.begun {
		r.begun = true
		r.shelf.begun = append(r.shelf.begun, at)
	}
	if most := r.shelf.breaks; most > 0 && at+int64(len(b)) > int64(most) {
		r.shelf.breaks = 0
		return 0, errors.New("the disk is gone")
	}
	return r.Reader.Read(b)
}

// lender starts two nodes in one Space; what the first gives by CID is the shelf's.
func lender(t *testing.T) (a, b *Node, space string, s *shelf) {
	t.Helper()
	s = &shelf{files: map[string][]byte{}}
	a = open(t, t.TempDir(), withPeers, func(c *Config) { c.P2P.Files = s })
	b = open(t, t.TempDir(), withPeers)
	run(t, a)
	run(t, b)
	inv, err := a.Invite(t.Context(), client.InviteCreate{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := joinSoon(t.Context(), b, inv.Ticket); err != nil {
		t.Fatal(err)
	}
	ann, _ := register(t, a, "ann")
	bob, _ := register(t, b, "bob")
	space = join(t, ann, "plan")
	join(t, bob, "plan")
	return a, b, space, s
}

// pinUnchecked writes a pin as a host does that didn't look at the file.
func pinUnchecked(t *testing.T, n *Node, space, name, cid string) {
	t.Helper()
	sp, err := n.space(space)
	if err != nil {
		t.Fatal(err)
	}
	draft, err := plugins.PinDraft(name, cid)
	if err == nil {
		err = n.sendPin(t.Context(), sp, draft)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestFetchGoesOnWhereItBrokeOff(t *testing.T) {
	a, b, space, s := lender(t)
	wasm := plugins.AppendSection(guestFile(t, "count1"), "padding", bytes.Repeat([]byte("plexus "), 1<<20/7))
	s.put(fileID(wasm), wasm)
	s.breaks = 3 << 18
	pinUnchecked(t, a, space, "count", fileID(wasm))
	eventually(t, "b runs it", func() bool {
		p := pluginNamed(t, b, space, "count")
		return p.State == client.StateCurrent && p.File == fileID(wasm)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.begun) != 2 || s.begun[0] != 0 || s.begun[1] == 0 || s.begun[1]%(256<<10) != 0 {
		t.Errorf("read from %v, want from the start and then from where it broke off", s.begun)
	}
}

func TestFetchRefusesWithTheReason(t *testing.T) {
	large := make([]byte, p2p.MaxFile+1)
	good := guestFile(t, "count1")
	for name, c := range map[string]struct {
		cid   string
		gives []byte
		state string
		says  string
	}{
		"oversized":             {fileID(large), large, client.StateRefused, "over 16777216 bytes"},
		"malformed":             {fileID([]byte("junk")), []byte("junk"), client.StateRefused, "no Wasm"},
		"not what its CID says": {fileID(good), guestFile(t, "count2"), client.StateMissing, "aren't those its CID names"},
		"of another plugin":     {fileID(guestFile(t, "greeter")), guestFile(t, "greeter"), client.StateRefused, `has no plugin "count"`},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			a, b, space, s := lender(t)
			s.put(c.cid, c.gives)
			pinUnchecked(t, a, space, "count", c.cid)
			eventually(t, "it is "+c.state+": "+c.says, func() bool {
				p := pluginNamed(t, b, space, "count")
				return p.Pinned && p.State == c.state && strings.Contains(p.Fault, c.says)
			})
			if _, err := b.plugins.File(c.cid); name != "of another plugin" && !errors.Is(err, graph.ErrNotFound) {
				t.Errorf("it is kept: %v", err)
			}
		})
	}
}
