package node

// This file holds how plugin files get from member to member: those here are lent, those that a pin names and that aren't here are fetched.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"plexus/graph"
)

const partPrefix = "part-" // of the files in which what has come so far is kept

// lent is the node's kept files as p2p.Files.
type lent struct{ node *Node }

// Open gives a whole file that was checked against its CID.
func (l lent) Open(cid string) (io.ReadSeekCloser, int64, error) {
	wasm, err := l.node.plugins.File(cid)
	if err != nil {
		return nil, 0, err
	}
	return held{bytes.NewReader(wasm)}, int64(len(wasm)), nil
}

// held is a file in memory: there is nothing to close.
type held struct{ *bytes.Reader }

func (held) Close() error { return nil }

// fetching is what keeps files from coming, and one fetch at a time.
type fetching struct {
	one sync.Mutex // a file's part is written by one

	mu   sync.Mutex // owns what follows
	fail map[string]failure
}

type failure struct {
	why   string
	unfit bool
	wait  time.Duration
	next  time.Time
}

// unfit is a file that is what its CID says, and no plugin. One that is too large is neither fetched nor run.
type unfit struct {
	cid string
	err error
}

func (u *unfit) Error() string { return "file " + u.cid + " can't be a plugin: " + u.err.Error() }

func (u *unfit) Unwrap() error { return u.err }

func (f *fetching) failure(cid string) failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fail[cid]
}

// note remembers how a fetch went. The next one, needed even after success until the plugins have taken the file in, comes after a pause that doubles.
func (f *fetching) note(cid string, err error, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail == nil {
		f.fail = map[string]failure{}
	}
	was := f.fail[cid]
	next := failure{wait: firstFetch}
	var bad *unfit
	switch {
	case errors.As(err, &bad), errors.Is(err, graph.ErrTooLarge):
		next = failure{why: err.Error(), unfit: true, wait: unfitFetch}
	case err != nil:
		next = failure{why: err.Error(), wait: min(max(2*was.wait, firstFetch), lastFetch)}
	}
	next.next = now.Add(next.wait)
	f.fail[cid] = next
}

// keep forgets all but the files that are still missing.
func (f *fetching) keep(missing []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kept := map[string]failure{}
	for _, cid := range missing {
		if was, ok := f.fail[cid]; ok {
			kept[cid] = was
		}
	}
	f.fail = kept
}

// fetchFiles fetches the files that pins name and that aren't here, until ctx ends.
func (n *Node) fetchFiles(ctx context.Context) error {
	for {
		missing := n.plugins.WaitMissing(ctx)
		n.fetching.keep(missing)
		n.dropParts(missing)
		pause := lastFetch
		for _, cid := range missing {
			if time.Until(n.fetching.failure(cid).next) <= 0 && ctx.Err() == nil {
				_, err := n.fetchFile(ctx, cid)
				n.fetching.note(cid, err, time.Now())
				if err != nil {
					n.cfg.Logger.Debug("fetch plugin file", "file", cid, "err", err)
				}
			}
			pause = min(pause, time.Until(n.fetching.failure(cid).next))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(min(max(pause, 0), firstFetch)): // a pin made meanwhile waits no longer than this
		}
	}
}

// dropParts removes the beginnings of files that nobody wants any more.
func (n *Node) dropParts(missing []string) {
	n.fetching.one.Lock()
	defer n.fetching.one.Unlock()
	parts, _ := filepath.Glob(filepath.Join(n.cfg.Dir, "plugins", partPrefix+"*"))
	for _, path := range parts {
		if !slices.Contains(missing, strings.TrimPrefix(filepath.Base(path), partPrefix)) {
			_ = os.Remove(path)
		}
	}
}

// fileBytes returns a plugin file that is here or at a connected member's.
func (n *Node) fileBytes(ctx context.Context, cid string) ([]byte, error) {
	wasm, err := n.plugins.File(cid)
	if !errors.Is(err, graph.ErrNotFound) || n.peers == nil {
		return wasm, err
	}
	return n.fetchFile(ctx, cid)
}

// fetchFile gets a file from the other members, checks that it is a plugin's and keeps it. What has come of it stays for the next try.
func (n *Node) fetchFile(ctx context.Context, cid string) (_ []byte, err error) {
	n.fetching.one.Lock()
	defer n.fetching.one.Unlock()
	dir := filepath.Join(n.cfg.Dir, "plugins")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("fetch plugin file: %w", err)
	}
	part, err := os.OpenFile(filepath.Join(dir, partPrefix+cid), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("fetch plugin file: %w", err)
	}
	done := false
	defer func() {
		part.Close()
		if st, statErr := os.Stat(part.Name()); done || statErr == nil && st.Size() == 0 {
			_ = os.Remove(part.Name()) // or it is found and checked the next time
		}
	}()
	if err := n.peers.Fetch(ctx, cid, part); err != nil {
		return nil, err
	}
	wasm, err := os.ReadFile(part.Name())
	if err != nil {
		return nil, fmt.Errorf("fetch plugin file: %w", err)
	}
	_, _, err = n.plugins.AddFile(ctx, wasm)
	done = true
	if errors.Is(err, graph.ErrInvalid) || errors.Is(err, graph.ErrTooLarge) {
		return nil, &unfit{cid, err}
	}
	return wasm, err
}
