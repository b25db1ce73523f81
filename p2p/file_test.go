package p2p_test

// This file holds files fetched by CID: whole, resumed, from liars, by strangers.

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/ipfs/go-cid"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/protocol"
	mh "github.com/multiformats/go-multihash"

	"plexus/graph"
	"plexus/internal/sim"
	"plexus/p2p"
)

// shelf is a p2p.Files in memory. Its files break off at the offsets in breaks, one after the other, and it notes from where it was read.
type shelf struct {
	mu     sync.Mutex // owns what follows
	files  map[string][]byte
	breaks []int64
	begun  []int64
}

func (s *shelf) put(name string, b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = map[string][]byte{}
	}
	s.files[name] = b
}

func (s *shelf) Open(name string) (io.ReadSeekCloser, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.files[name]
	if !ok {
		return nil, 0, graph.ErrNotFound
	}
	return &lent{Reader: bytes.NewReader(b), s: s}, int64(len(b)), nil
}

type lent struct {
	*bytes.Reader
	s     *shelf
	begun bool
}

func (l *lent) Close() error { return nil }

func (l *lent) Read(b []byte) (int, error) {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	at := l.Size() - int64(l.Len())
	if !l.begun {
		l.begun = true
		l.s.begun = append(l.s.begun, at)
	}
	if len(l.s.breaks) > 0 && at+int64(len(b)) > l.s.breaks[0] {
		l.s.breaks = l.s.breaks[1:]
		return 0, errors.New("the disk is gone")
	}
	return l.Reader.Read(b)
}

func cidOf(t *testing.T, b []byte) string {
	t.Helper()
	sum, err := mh.Sum(b, mh.SHA2_256, -1)
	if err != nil {
		t.Fatal(err)
	}
	return cid.NewCidV1(cid.Raw, sum).String()
}

func content(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

func newPart(t *testing.T) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "part-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func whole(t *testing.T, f *os.File) []byte {
	t.Helper()
	b, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// shelves makes n machines in one Network that have been connected for a while, each with a shelf.
func shelves(t *testing.T, w *sim.World, n int) ([]*sim.Machine, []*shelf) {
	t.Helper()
	m, s := make([]*sim.Machine, n), make([]*shelf, n)
	for i := range m {
		s[i] = &shelf{}
		m[i] = w.Machine(fmt.Sprintf("m%d", i), func(c *p2p.Config) { c.Files = s[i] })
		m[i].Start()
		if i > 0 {
			enter(t, m[i], m[0])
		}
	}
	m[0].Say("tea", "hello")
	w.Equal(time.Minute, "tea", m...)
	time.Sleep(time.Minute)
	return m, s
}

func TestFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		m, s := shelves(t, w, 3)
		for _, n := range []int{0, 1, 256 << 10, 3<<20 + 17} {
			file := content(n)
			name, part := cidOf(t, file), newPart(t)
			if err := m[1].Host.Fetch(t.Context(), name, part); !errors.Is(err, graph.ErrNotFound) {
				t.Errorf("%d bytes that nobody has: %v", n, err)
			}
			s[2].put(name, file)
			if err := m[1].Host.Fetch(t.Context(), name, part); err != nil || !bytes.Equal(whole(t, part), file) {
				t.Errorf("%d bytes: %v", n, err)
			}
		}
		if err := m[1].Host.Fetch(t.Context(), "no CID", newPart(t)); !errors.Is(err, graph.ErrInvalid) {
			t.Errorf("no CID: %v", err)
		}
		m[1].Host.SetOffline(true)
		time.Sleep(time.Second)
		if err := m[1].Host.Fetch(t.Context(), cidOf(t, content(1)), newPart(t)); !errors.Is(err, graph.ErrUnavailable) {
			t.Errorf("alone: %v", err)
		}
	})
}

func TestFetchResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		m, s := shelves(t, w, 3)
		file := content(2 << 20)
		name, part := cidOf(t, file), newPart(t)
		s[0].put(name, file)
		s[0].breaks = []int64{1 << 20, 3 << 19}
		for range 2 {
			if err := m[2].Host.Fetch(t.Context(), name, part); !errors.Is(err, graph.ErrUnavailable) {
				t.Fatalf("a fetch that breaks off: %v", err)
			}
		}
		s[0].put(name, nil)
		delete(s[0].files, name)
		s[1].put(name, file) // any other member goes on
		if err := m[2].Host.Fetch(t.Context(), name, part); err != nil || !bytes.Equal(whole(t, part), file) {
			t.Fatalf("the rest: %v", err)
		}
		if len(s[0].begun) != 2 || s[0].begun[0] != 0 || s[0].begun[1] == 0 || len(s[1].begun) != 1 || s[1].begun[0] <= s[0].begun[1] {
			t.Errorf("read from %v and %v, want each time from where it broke off", s[0].begun, s[1].begun)
		}
	})
}

func TestFetchFromLiars(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		m, s := shelves(t, w, 2)
		file := content(1 << 20)
		name, part := cidOf(t, file), newPart(t)

		// A part that was begun with other bytes is forgotten and fetched anew from the same member.
		s[0].put(name, file)
		if _, err := part.Write(content(1000)); err != nil {
			t.Fatal(err)
		}
		if err := m[1].Host.Fetch(t.Context(), name, part); err != nil || !bytes.Equal(whole(t, part), file) {
			t.Errorf("over a wrong part: %v", err)
		}

		big, large := make([]byte, p2p.MaxFile+1), make([]byte, p2p.MaxFile)
		s[0].put(cidOf(t, big), big)
		part = newPart(t)
		if err := m[1].Host.Fetch(t.Context(), cidOf(t, big), part); !errors.Is(err, graph.ErrTooLarge) || len(whole(t, part)) > 0 {
			t.Errorf("over the bound: %v", err)
		}
		s[0].put(cidOf(t, large), large)
		if err := m[1].Host.Fetch(t.Context(), cidOf(t, large), newPart(t)); err != nil {
			t.Errorf("at the bound: %v", err)
		}

		s[0].put(name, content(1<<20))
		part = newPart(t)
		if err := m[1].Host.Fetch(t.Context(), name, part); !errors.Is(err, graph.ErrInvalid) || len(whole(t, part)) > 0 {
			t.Errorf("wrong bytes: %v, %d kept", err, len(whole(t, part)))
		}
		if m[1].Host.Peers()[0].Connected {
			t.Error("who sent them is still connected")
		}
	})
}

// TestOutsiderGetsNoFile: not a byte, and not the news whether it is here.
func TestOutsiderGetsNoFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.New(t, sim.Options{})
		m, s := shelves(t, w, 1)
		file := content(1000)
		s[0].put(cidOf(t, file), file)
		out := outsider(t, w)
		for _, name := range []string{cidOf(t, file), cidOf(t, content(1))} {
			if b := askFileRaw(t, out, m[0], name); len(b) > 0 {
				t.Errorf("an outsider got %x", b)
			}
		}
	})
}

func askFileRaw(t *testing.T, out host.Host, m *sim.Machine, name string) []byte {
	t.Helper()
	b, err := cbor.Marshal(map[int]any{1: name})
	if err != nil {
		t.Fatal(err)
	}
	return askRawly(t, out, m, "/plexus/blob/1.0.0", append([]byte{0, 0, 0, byte(len(b)), 30}, b...))
}

// askRawly sends bytes on a stream and returns what comes back.
func askRawly(t *testing.T, out host.Host, m *sim.Machine, proto protocol.ID, ask []byte) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := out.Connect(ctx, m.Peer()); err != nil {
		t.Fatal(err)
	}
	s, err := out.NewStream(ctx, m.Peer().ID, proto)
	if err != nil {
		return nil
	}
	defer s.Reset()
	if _, err := s.Write(ask); err != nil {
		return nil
	}
	if err := s.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return nil
	}
	got, _ := io.ReadAll(s)
	return got
}
