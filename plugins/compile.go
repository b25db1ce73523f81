package plugins

// This file holds the way of a pinned file to compiled code: beside the folds, one file after another.

import (
	"context"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero/experimental"

	"plexus/graph"
	"plexus/plugins/internal/meter"
	"plexus/sdk/abi"
)

// open reads what a file says about itself. It can't run before compile has.
func (e *engine) open(wasm []byte) (*file, error) {
	m, err := readFile(wasm)
	if err != nil {
		return nil, err
	}
	f := &file{
		cid: fileCID(wasm), manifest: m, engine: e, compiled: make(chan struct{}),
		pool: make(chan *instance, maxInstances), slots: make(chan struct{}, maxInstances),
	}
	e.files = append(e.files, f)
	return f, nil
}

// compile checks, rewrites and compiles a file, once; trusted leaves out the validation: for the node's own. When ctx ends before, it may be called again.
func (f *file) compile(ctx context.Context, wasm []byte, trusted bool) error {
	err := f.make(ctx, wasm, trusted)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f.end(err)
	return err
}

func (f *file) make(ctx context.Context, wasm []byte, trusted bool) error {
	r, err := f.engine.rewrite(f.cid, wasm, f.manifest)
	if err != nil {
		return unfitFile(err)
	}
	if err = checkShape(r, f.manifest); err == nil && !trusted {
		err = validate(ctx, wasm)
	}
	if err != nil {
		return err
	}
	// More than one worker, since only then the compiler looks at ctx between functions.
	code, err := f.engine.rt.CompileModule(experimental.WithCompilationWorkers(ctx, 2), r.Module)
	if err != nil {
		return fmt.Errorf("compile plugin file: %w: %w", firstLine(err), graph.ErrInvalid)
	}
	f.code, f.meter = code, r
	if slices.ContainsFunc(r.Imports, func(i meter.Import) bool { return i.Module == abi.Module && i.Name == "schema_check" }) {
		if f.schemas, err = readSchemas(wasm, f.manifest); err != nil {
			return fmt.Errorf("schemas of plugin file: %w: %w", err, graph.ErrInvalid)
		}
	}
	return nil
}

// end says that the file can run, or why it never will.
func (f *file) end(err error) {
	f.err = err
	close(f.compiled)
}

// ended says whether the compiler is through with the file.
func (f *file) ended() bool {
	select {
	case <-f.compiled:
		return true
	default:
		return false
	}
}

// ready says whether the file can run.
func (f *file) ready() bool { return f.ended() && f.err == nil }

// fault is why the file can't run, nil while that isn't known.
func (f *file) fault() error {
	if f.ended() {
		return f.err
	}
	return nil
}

// Compile compiles the files that pins ask for, one after another, until ctx ends; then it returns nil. It is called once, works in the caller's goroutine, and
// runs beside Run: a Host without it runs the node's own patterns alone.
func (h *Host) Compile(ctx context.Context) error {
	for {
		f := h.toCompile(ctx)
		if f == nil {
			return nil
		}
		if h.install(ctx, f); ctx.Err() != nil {
			return nil
		}
		h.mu.Lock()
		h.compiled = true
		h.mu.Unlock()
		h.kick()
	}
}

// install compiles a file and replays its golden traces; one of the node's own runs already, and has its traces replayed beside it.
func (h *Host) install(ctx context.Context, f *file) {
	if wasm := h.Own(f.cid); wasm != nil && f.ended() {
		h.prove(ctx, f, wasm)
		return
	}
	wasm, err := h.File(f.cid)
	if err == nil {
		err = f.make(ctx, wasm, false)
	}
	if err == nil {
		h.prove(ctx, f, wasm)
	}
	if ctx.Err() != nil {
		return
	}
	f.end(err)
	h.logger.Debug("plugin file compiled", "file", f.cid, "error", err)
}

// queue has a file compiled. A Space's admins bound how many wait.
func (h *Host) queue(f *file) {
	h.mu.Lock()
	h.waiting = append(h.waiting, f)
	h.mu.Unlock()
	select {
	case h.queued <- struct{}{}:
	default:
	}
}

// toCompile waits for the next file, nil where ctx ends.
func (h *Host) toCompile(ctx context.Context) *file {
	for {
		h.mu.Lock()
		if len(h.waiting) > 0 {
			f := h.waiting[0]
			h.waiting = h.waiting[1:]
			h.mu.Unlock()
			return f
		}
		h.mu.Unlock()
		select {
		case <-h.queued:
		case <-ctx.Done():
			return nil
		}
	}
}
