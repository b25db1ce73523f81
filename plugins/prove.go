package plugins

// This file holds the proof that this host's engine agrees with a file's author: the golden traces it carries, replayed once when it is
// installed (docs/plugins.md §11).

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"plexus/graph"
)

const proofKind = 'g' // ‖ a file's CID → proof, as JSON

// proof is what came of a file's traces, and by which engine.
type proof struct {
	By    string            `json:"by"`
	Wrong map[string]string `json:"wrong,omitempty"` // plugin → in what it differs
}

// errDisagrees says that a plugin isn't run since this engine makes other things of it than its author's did.
var errDisagrees = errors.New("its golden trace comes out otherwise here")

// provenBy names engine and host: another build of either proves anew.
func (h *Host) provenBy() string {
	by := fmt.Sprintf("%s schedule %d", h.Engine(), Schedule)
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return by
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
			by += " " + s.Value
		}
	}
	return by + " " + info.Main.Version
}

// recall takes to heart what came of a file's traces before; false: they are still to be replayed.
func (h *Host) recall(cid string) bool {
	var p proof
	b, err := h.records.Get(append([]byte{proofKind}, cid...))
	if err != nil || json.Unmarshal(b, &p) != nil || p.By != h.provenBy() {
		return false
	}
	h.judge(cid, p.Wrong)
	return true
}

// judge notes which plugins of a file aren't run.
func (h *Host) judge(cid string, wrong map[string]string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.wrong == nil {
		h.wrong = map[string]map[string]string{}
	}
	h.wrong[cid] = wrong
}

// disagrees returns why a file's plugin isn't run, nil where nothing is known against it.
func (h *Host) disagrees(cid, name string) error {
	h.mu.Lock()
	why := h.wrong[cid][name]
	h.mu.Unlock()
	if why == "" {
		return nil
	}
	return fmt.Errorf("%w, by %s, so it isn't run: %s: %w", errDisagrees, h.Engine(), why, graph.ErrInvalid)
}

// prove replays the traces of a compiled file, beside it, unless that was done. What it can't find out counts for the file: it is no proof against it.
func (h *Host) prove(ctx context.Context, f *file, wasm []byte) {
	if h.config.Prove == nil || h.recall(f.cid) {
		return
	}
	pctx, cancel := context.WithTimeout(ctx, proveWait)
	defer cancel()
	t := f.twin()
	wrong, err := h.config.Prove(pctx, &Workbench{loaded: &loaded{engine: f.engine, files: []*file{t}}, wasm: wasm, astray: h.config.Astray})
	err = errors.Join(err, t.release(context.WithoutCancel(ctx)))
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		h.logger.Warn("a plugin's golden traces can't be replayed", "file", f.cid, "error", err)
		return
	}
	for name, why := range wrong {
		h.logger.Warn("a plugin isn't run: its golden trace comes out otherwise here", "plugin", name, "file", f.cid, "engine", h.Engine(), "differs", why)
	}
	h.judge(f.cid, wrong)
	b, err := json.Marshal(proof{h.provenBy(), wrong})
	if err == nil {
		err = h.records.ApplyNoSync(graph.Op{Kind: graph.Set, Key: append([]byte{proofKind}, f.cid...), Value: b})
	}
	if err != nil {
		h.logger.Warn("what came of a plugin's golden traces isn't kept", "file", f.cid, "error", err)
	}
}

// Refusal is a plugin that isn't run, and in how many Spaces it should be.
type Refusal struct {
	Plugin, File, Why string
	Spaces            int
}

// Refusals lists the plugins whose files are here and can't run, or whose golden traces come out otherwise, by name and file.
func (h *Host) Refusals() []Refusal {
	h.state.RLock()
	defer h.state.RUnlock()
	count := map[Refusal]int{}
	for k, b := range h.broken {
		if !errors.Is(b.err, graph.ErrNotFound) {
			count[Refusal{Plugin: k.name, File: b.file, Why: b.err.Error()}]++
		}
	}
	var out []Refusal
	for r, n := range count {
		r.Spaces = n
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Refusal) int { return cmp.Or(cmp.Compare(a.Plugin, b.Plugin), cmp.Compare(a.File, b.File)) })
	return out
}

// twin is the same compiled code with instances of its own. It is ready.
func (f *file) twin() *file {
	t := &file{
		cid: f.cid, manifest: f.manifest, engine: f.engine, code: f.code, meter: f.meter, schemas: f.schemas, compiled: make(chan struct{}),
		pool: make(chan *instance, maxInstances), slots: make(chan struct{}, maxInstances),
	}
	close(t.compiled)
	return t
}

// release frees a twin's instances; nobody uses it any more.
func (f *file) release(ctx context.Context) error {
	for {
		select {
		case i := <-f.pool:
			i.close(ctx)
		default:
			return f.closeImage()
		}
	}
}

// Own returns the bytes of one of the node's own files, nil for any other.
func (h *Host) Own(cid string) []byte {
	i := slices.IndexFunc(h.config.Files, func(wasm []byte) bool { return fileCID(wasm) == cid })
	if i < 0 {
		return nil
	}
	return h.config.Files[i]
}
