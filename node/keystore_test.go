package node

// This file tests the keystore: what is written is closed to others, and what is open to others is refused.

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plexus/graph"
)

func TestFilesAreClosedToOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	n := open(t, dir, func(c *Config) { c.Listen = "127.0.0.1:0" })
	register(t, n, "ann")
	register(t, n, "bob")
	stop := run(t, n)
	eventually(t, "the node is announced", func() bool {
		_, err := os.Stat(filepath.Join(dir, "daemon.json"))
		return err == nil
	})
	keys := 0
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == "db" {
			return fs.SkipDir // the store's own files, behind this directory
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %04o, want %04o", p, got, want)
		}
		if strings.HasSuffix(p, ".key") {
			keys++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if keys != 4 {
		t.Errorf("%d key files, want host.key, access.key and one per Node", keys)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "daemon.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("daemon.json stays behind: %v", err)
	}
}

func TestOpenRefusesKeys(t *testing.T) {
	nodeKey := func(t *testing.T, dir string) string {
		m, err := filepath.Glob(filepath.Join(dir, "nodes", "*.key"))
		if err != nil || len(m) != 1 {
			t.Fatalf("key files %v, %v", m, err)
		}
		return m[0]
	}
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, dir string) error
		kind error
		says string
	}{
		{"host key readable by the group", func(_ *testing.T, dir string) error {
			return os.Chmod(filepath.Join(dir, "host.key"), 0o640)
		}, graph.ErrForbidden, "chmod 600"},
		{"access key readable by all", func(_ *testing.T, dir string) error {
			return os.Chmod(filepath.Join(dir, "access.key"), 0o604)
		}, graph.ErrForbidden, "chmod 600"},
		{"a node's key readable by all", func(t *testing.T, dir string) error {
			return os.Chmod(nodeKey(t, dir), 0o644)
		}, graph.ErrForbidden, "chmod 600"},
		{"a directory open to all", func(_ *testing.T, dir string) error {
			return os.Chmod(filepath.Join(dir, "nodes"), 0o755)
		}, graph.ErrForbidden, "chmod 700"},
		{"a damaged key", func(_ *testing.T, dir string) error {
			return os.WriteFile(filepath.Join(dir, "host.key"), []byte("00ff"), 0o600)
		}, graph.ErrUnavailable, "damaged"},
		{"an empty key", func(_ *testing.T, dir string) error {
			return os.WriteFile(filepath.Join(dir, "access.key"), nil, 0o600)
		}, graph.ErrUnavailable, "empty"},
		{"a key under another's name", func(t *testing.T, dir string) error {
			return os.Rename(nodeKey(t, dir), filepath.Join(dir, "nodes", "12D3KooWx.key"))
		}, graph.ErrUnavailable, "name"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			n := open(t, dir)
			register(t, n, "ann")
			if err := n.Close(); err != nil {
				t.Fatal(err)
			}
			if err := tc.do(t, dir); err != nil {
				t.Fatal(err)
			}
			_, err := Open(Config{Dir: dir, NoP2P: true, Listen: "none"})
			if !errors.Is(err, tc.kind) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v: want %v, saying %q", err, tc.kind, tc.says)
			}
		})
	}
}

func TestOpenRefusals(t *testing.T) {
	dir := t.TempDir()
	n := open(t, dir, func(c *Config) { c.Listen = "127.0.0.1:0" })
	if _, err := Open(Config{Dir: dir, NoP2P: true, Listen: "none"}); !errors.Is(err, graph.ErrConflict) {
		t.Errorf("a data dir in use: %v", err)
	}
	port := strings.TrimPrefix(n.URL(), "http://")
	if _, err := Open(Config{Dir: t.TempDir(), NoP2P: true, Listen: port}); !errors.Is(err, graph.ErrConflict) || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("a port in use: %v", err)
	}
	if _, err := Open(Config{}); !errors.Is(err, graph.ErrInvalid) {
		t.Errorf("no data dir: %v", err)
	}
	if _, err := Open(Config{Dir: t.TempDir(), NoAuth: true, Listen: "0.0.0.0:0"}); !errors.Is(err, graph.ErrInvalid) {
		t.Errorf("open to the world without authentication: %v", err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if err := n.Close(); err != nil {
		t.Errorf("a second close: %v", err)
	}
}

func TestRunOnce(t *testing.T) {
	n := open(t, t.TempDir())
	run(t, n)
	eventually(t, "it runs", func() bool { return n.running.Load() })
	if err := n.Run(t.Context()); err == nil {
		t.Error("a node ran twice")
	}
}
