package node

// This file holds the keystore: one file per key, readable by its owner alone. host.key is the host's own, nodes/ has
// one per Node, access.key is the secret that opens the admin's routes.

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"plexus/graph"
)

// keystore holds the keys of one data dir. Safe for concurrent use.
type keystore struct {
	dir    string
	host   ed25519.PrivateKey
	access [sha256.Size]byte // of the access key

	mu    sync.RWMutex // owns what follows
	nodes map[graph.NodeID]ed25519.PrivateKey
}

// openKeys reads all keys of a data dir and makes the host's where there is none.
func openKeys(dir string) (*keystore, error) {
	k := &keystore{dir: dir, nodes: map[graph.NodeID]ed25519.PrivateKey{}}
	for _, d := range []string{dir, k.nodesDir()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("open keystore: %w", err)
		}
	}
	if err := checkPrivate(k.nodesDir(), 0o700); err != nil {
		return nil, err
	}
	host, err := ownKey(filepath.Join(dir, "host.key"))
	if err != nil {
		return nil, err
	}
	k.host = host
	secret, err := ownSecret(filepath.Join(dir, "access.key"))
	if err != nil {
		return nil, err
	}
	k.access = sha256.Sum256([]byte(secret))
	return k, k.loadNodes()
}

func (k *keystore) nodesDir() string { return filepath.Join(k.dir, "nodes") }

func (k *keystore) loadNodes() error {
	files, err := os.ReadDir(k.nodesDir())
	if err != nil {
		return fmt.Errorf("open keystore: %w", err)
	}
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), ".key")
		if !ok {
			continue
		}
		key, err := readKey(filepath.Join(k.nodesDir(), f.Name()))
		if err != nil {
			return err
		}
		id := graph.NodeIDOf(key)
		if id.String() != name {
			return fmt.Errorf("key file nodes/%s holds the key of %s: give it back its name: %w", f.Name(), id, graph.ErrUnavailable)
		}
		k.nodes[id] = key
	}
	return nil
}

// key returns a Node's key, or ErrNotFound.
func (k *keystore) key(id graph.NodeID) (ed25519.PrivateKey, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if key := k.nodes[id]; key != nil {
		return key, nil
	}
	return nil, notFound("Node", id.String())
}

// ids lists the Nodes whose keys are here, by ID.
func (k *keystore) ids() []graph.NodeID {
	k.mu.RLock()
	defer k.mu.RUnlock()
	out := make([]graph.NodeID, 0, len(k.nodes))
	for id := range k.nodes {
		out = append(out, id)
	}
	slices.SortFunc(out, graph.NodeID.Compare)
	return out
}

// create makes a new Node's key; its file is on disk when create returns.
func (k *keystore) create() (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.nodes) >= MaxNodes {
		return nil, fmt.Errorf("this host holds %d Nodes, as many as it may: %w", len(k.nodes), graph.ErrTooLarge)
	}
	id := graph.NodeIDOf(key)
	if err := writeSecret(filepath.Join(k.nodesDir(), id.String()+".key"), hex.EncodeToString(key.Seed())); err != nil {
		return nil, err
	}
	k.nodes[id] = key
	return key, nil
}

// forget removes a key that was made and never used.
func (k *keystore) forget(id graph.NodeID) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.nodes, id)
	if err := os.Remove(filepath.Join(k.nodesDir(), id.String()+".key")); err != nil {
		return fmt.Errorf("remove a key: %w", err)
	}
	return nil
}

// checkAccess compares in constant time.
func (k *keystore) checkAccess(secret string) bool {
	sum := sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(sum[:], k.access[:]) == 1
}

// ownKey reads a key file and makes it where there is none.
func ownKey(file string) (ed25519.PrivateKey, error) {
	key, err := readKey(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	_, key, err = ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return key, writeSecret(file, hex.EncodeToString(key.Seed()))
}

// ownSecret reads a secret's file and makes it where there is none.
func ownSecret(file string) (string, error) {
	s, err := readSecret(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	s = newSecret()
	return s, writeSecret(file, s)
}

// newSecret returns 256 random bits as text that needs no quoting anywhere.
func newSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func readKey(file string) (ed25519.PrivateKey, error) {
	s, err := readSecret(file)
	if err != nil {
		return nil, err
	}
	seed, err := hex.DecodeString(s)
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("key file %s is damaged (want 64 hex digits): restore it from a backup: %w", filepath.Base(file), graph.ErrUnavailable)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

func readSecret(file string) (string, error) {
	if err := checkPrivate(file, 0o600); err != nil {
		return "", err
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read a key: %w", err)
	}
	s := strings.TrimSpace(string(b))
	if s == "" {
		return "", fmt.Errorf("key file %s is empty: restore it from a backup: %w", filepath.Base(file), graph.ErrUnavailable)
	}
	return s, nil
}

// checkPrivate refuses what others than its owner may read or write.
func checkPrivate(file string, want fs.FileMode) error {
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("read a key: %w", err)
	}
	if got := info.Mode().Perm(); got&^want&0o077 != 0 {
		return fmt.Errorf("%s is open to others (mode %04o): close it with: chmod %o %s: %w", file, got, want, file, graph.ErrForbidden)
	}
	return nil
}

// writeSecret writes a file whole or not at all, 0600, and syncs it and its directory.
func writeSecret(file, secret string) error {
	dir := filepath.Dir(file)
	tmp, err := os.CreateTemp(dir, ".new-*") // made 0600
	if err != nil {
		return fmt.Errorf("keep a key: %w", err)
	}
	_, err = tmp.WriteString(secret + "\n")
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("keep a key: %w", err)
	}
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("keep a key: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("keep a key: %w", err)
	}
	return nil
}
