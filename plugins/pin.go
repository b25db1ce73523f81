package plugins

// This file holds pins: which file's plugin folds under which name in a Space, by the word of an admin (docs/plugins.md §12).

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"plexus/graph"
	"plexus/sdk/abi"
)

// pin is the payload of an entry of kind plugin.
type pin struct {
	Op   string `json:"op"` // "pin" or "unpin"
	Name string `json:"name"`
	File string `json:"file,omitempty"` // CID
}

const adminRole = "admin"

// PinDraft is the entry by which an admin's host pins a file's plugin in a Space. A later pin of the same name replaces it.
func PinDraft(name, file string) (graph.Draft, error) {
	if !validName(name) || !validFile(file) {
		return graph.Draft{}, fmt.Errorf("pin %q %q: a plugin's name and a file's CID are needed: %w", name, file, graph.ErrInvalid)
	}
	return pinDraft(pin{"pin", name, file})
}

// UnpinDraft takes a pin back; a pattern of the node's own runs again under its name.
func UnpinDraft(name string) (graph.Draft, error) {
	if !validName(name) {
		return graph.Draft{}, fmt.Errorf("unpin %q: a plugin's name is needed: %w", name, graph.ErrInvalid)
	}
	return pinDraft(pin{Op: "unpin", Name: name})
}

func pinDraft(p pin) (graph.Draft, error) {
	b, err := json.Marshal(p)
	return graph.Draft{Kind: graph.KindPlugin, Payload: b}, err
}

func validFile(cid string) bool {
	if len(cid) != 59 || cid[0] != 'b' {
		return false
	}
	for _, c := range []byte(cid) {
		if (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}

// readPin reads a payload; ok is false for what isn't a pin, which counts as nothing.
func readPin(payload []byte) (p pin, ok bool) {
	if json.Unmarshal(payload, &p) != nil || !validName(p.Name) {
		return p, false
	}
	return p, p.Op == "unpin" || p.Op == "pin" && validFile(p.File)
}

// Pins returns name → CID of what is pinned in a Space by the log as it stands, whether it runs here or not yet.
func (h *Host) Pins(ctx context.Context, space *graph.Space) (map[string]string, error) {
	return pinned(ctx, space, attestorOf(h.log.Rights()))
}

// pinned returns name → file: the last visible word of an author who is an admin now, in canonical order.
func pinned(ctx context.Context, space *graph.Space, a Attestor) (map[string]string, error) {
	out := map[string]string{}
	for e, err := range space.Kind(ctx, graph.KindPlugin) {
		if err != nil {
			return nil, err
		}
		b := e.Body()
		if a == nil {
			continue
		}
		if role, _ := a.Attest(space.ID(), b.Author); role != adminRole {
			continue
		}
		if _, visible, err := space.Entry(e.ID()); err != nil || !visible {
			if err != nil {
				return nil, err
			}
			continue
		}
		switch p, ok := readPin(b.Payload); {
		case ok && p.Op == "pin":
			out[p.Name] = p.File
		case ok:
			delete(out, p.Name)
		}
	}
	return out, nil
}

// AddFile checks a plugin file and keeps it, so that a pin that names it can run; it returns its CID and manifest. A file that is there
// already is no error. Errors: ErrInvalid and ErrTooLarge with what is wrong with the file.
func (h *Host) AddFile(ctx context.Context, wasm []byte) (cid string, m abi.Manifest, err error) {
	r, m, err := examine(ctx, wasm)
	if err != nil {
		return "", m, err
	}
	cid = fileCID(wasm)
	if err := h.keep(cid, wasm); err != nil {
		return "", m, fmt.Errorf("keep plugin file %s: %w", cid, err)
	}
	h.logger.Debug("plugin file kept", "file", cid, "bytes", len(wasm), "imports", len(r.Imports))
	h.mu.Lock()
	h.arrived = true
	h.mu.Unlock()
	h.kick()
	return cid, m, nil
}

// WaitMissing waits until a pinned file isn't here and lists those that aren't, as Missing does; nothing once ctx ends.
func (h *Host) WaitMissing(ctx context.Context) []string {
	for {
		change := h.change()
		if m := h.Missing(); len(m) > 0 {
			return m
		}
		select {
		case <-ctx.Done():
			return nil
		case <-change:
		}
	}
}

// keep writes a file where a crash leaves it whole or absent; without a directory it stays in memory.
func (h *Host) keep(cid string, wasm []byte) error {
	if h.config.FileDir == "" {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.kept[cid] = wasm
		return nil
	}
	if err := os.MkdirAll(h.config.FileDir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(h.config.FileDir, "new-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(wasm)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), h.path(cid))
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

func (h *Host) path(cid string) string { return filepath.Join(h.config.FileDir, cid+".wasm") }

// File returns a kept file's bytes; ErrNotFound where it isn't here, ErrInvalid for what is no CID: what a member that lacks it is given.
func (h *Host) File(cid string) ([]byte, error) {
	if !validFile(cid) {
		return nil, fmt.Errorf("%.80q is no file's CID: %w", cid, graph.ErrInvalid)
	}
	h.mu.Lock()
	wasm, ok := h.kept[cid]
	h.mu.Unlock()
	if ok {
		return wasm, nil
	}
	if h.config.FileDir == "" {
		return nil, fmt.Errorf("plugin file %s isn't here: %w", cid, graph.ErrNotFound)
	}
	wasm, err := os.ReadFile(h.path(cid))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("plugin file %s isn't here: %w", cid, graph.ErrNotFound)
	case err != nil:
		return nil, fmt.Errorf("read plugin file %s: %w", cid, err)
	case fileCID(wasm) != cid:
		return nil, fmt.Errorf("plugin file %s is damaged on disk: remove %s and pin it again: %w", cid, h.path(cid), graph.ErrInvalid)
	}
	return wasm, nil
}

// pinnedSpec returns the plugin of a kept file, which is compiled or will be; a fault is remembered until files arrive.
func (h *Host) pinnedSpec(cid, name string) (*spec, error) {
	if err := h.faults[cid]; err != nil {
		return nil, err
	}
	f := h.files[cid]
	if f == nil {
		wasm, err := h.File(cid)
		if err == nil {
			f, err = h.engine.open(wasm)
		}
		if err != nil {
			return nil, h.unfit(cid, name, err)
		}
		f.own = slices.ContainsFunc(h.own, func(o *spec) bool { return o.file.cid == cid })
		h.files[cid] = f
		h.queue(f)
	}
	if err := f.fault(); err != nil {
		delete(h.files, cid)
		return nil, h.unfit(cid, name, err)
	}
	for _, p := range f.manifest.Plugins {
		if p.Name == name {
			return h.specOf(f, p), nil
		}
	}
	return nil, fmt.Errorf("file %s has no plugin %q: %w", cid, name, graph.ErrInvalid)
}

// unfit remembers why a file can't run.
func (h *Host) unfit(cid, name string, err error) error {
	h.faults[cid] = err
	if errors.Is(err, graph.ErrNotFound) {
		h.logger.Info("a pinned plugin waits for its file", "plugin", name, "file", cid)
	} else {
		h.logger.Warn("a pinned plugin can't run", "plugin", name, "file", cid, "error", err)
	}
	return err
}

// specOf gives the same spec for the same plugin of the same file.
func (h *Host) specOf(f *file, p abi.Plugin) *spec {
	k := specKey{f, p.Name}
	if h.specs[k] == nil {
		h.specs[k] = newSpec(f, p)
	}
	return h.specs[k]
}

type specKey struct {
	file *file
	name string
}
