package plugins

// This file holds the workbench, on which an author's file is tried: the same folds as a node's, driven step by step over a log
// of the author's making (plugins/kit).

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/tetratelabs/wazero"

	"plexus/graph"
	"plexus/plugins/internal/meter"
	"plexus/sdk/abi"
)

// Workbench holds a file, checked as a stranger's and compiled. One goroutine uses it.
type Workbench struct {
	loaded *loaded
	wasm   []byte
	astray func(plugin string, message graph.ID) string
}

// Engine is how a workbench runs a file.
type Engine uint8

// The engines. Compiled and Interpreted fold alike.
const (
	Compiled    Engine = iota
	Interpreted        // starts sooner
	Unmetered          // compiled without gas: to measure what gas costs, for files one trusts to end
)

// NewWorkbench checks a file and prepares it for an engine. Errors are ErrInvalid or ErrTooLarge and say what is wrong with the file.
func NewWorkbench(ctx context.Context, wasm []byte, engine Engine) (*Workbench, error) {
	c := wazero.NewRuntimeConfig()
	if engine == Interpreted {
		c = wazero.NewRuntimeConfigInterpreter()
	}
	e, err := newEngine(context.WithoutCancel(ctx), "", c)
	if err != nil {
		return nil, err
	}
	e.unmetered = engine == Unmetered
	f, err := e.load(ctx, wasm, false)
	if err != nil {
		return nil, errors.Join(err, e.close(context.WithoutCancel(ctx)))
	}
	return &Workbench{loaded: &loaded{engine: e, files: []*file{f}}, wasm: wasm}, nil
}

// Close frees what was compiled; every Try must be closed before.
func (w *Workbench) Close(ctx context.Context) error { return w.loaded.engine.close(ctx) }

// Manifest is what the file says about itself.
func (w *Workbench) Manifest() abi.Manifest { return w.loaded.files[0].manifest }

// Wasm is the file; the caller doesn't write to it.
func (w *Workbench) Wasm() []byte { return w.wasm }

// CID is the file's name on the network.
func (w *Workbench) CID() string { return w.loaded.files[0].cid }

// Imports are the functions the file asks for, as module.name, in its order.
func (w *Workbench) Imports() []string {
	var out []string
	for _, i := range w.loaded.files[0].meter.Imports {
		out = append(out, i.Module+"."+i.Name)
	}
	return out
}

// Grants are the effects whose functions the file imports.
func (w *Workbench) Grants() []string {
	var out []string
	for _, g := range grants {
		for _, i := range w.loaded.files[0].meter.Imports {
			if i.Module == abi.Module && hostFunctions[i.Name].grant == g {
				out = append(out, g)
				break
			}
		}
	}
	return out
}

// Sections returns a file's custom sections by name.
func Sections(wasm []byte) (map[string][]byte, error) {
	out := map[string][]byte{}
	err := meter.Custom(wasm, func(name string, data []byte) error {
		out[name] = data
		return nil
	})
	return out, err
}

// AppendSection adds a custom section to a file.
func AppendSection(wasm []byte, name string, data []byte) []byte {
	return meter.AppendCustom(wasm, name, data)
}

// Folded is how one fold ended.
type Folded struct {
	Plugin  string
	Message graph.ID
	Gas     int64
	Reason  string // "": well; else why the message is marked
	Trapped bool   // marked by a trap, gas or a limit, not by the guest's own no
	Logs    []string
}

// TryOptions say what is to be provoked.
type TryOptions struct {
	Undo     int          // undo records kept: what comes later than these reach is folded from the beginning; 0: none; -1: as a node does
	Step     int          // messages folded between two commits; 0: as a node does
	Fresh    bool         // a new instance for every step
	Timed    bool         // what Folding tells is measured
	Native   Reducer      // folds instead of the file's guest; nil: the guest
	Observer func(Folded) // told of every fold, those undone later too
}

// Try is one state being made: the workbench's file over one Log. The caller closes it before the Log.
type Try struct {
	host  *Host
	fresh bool
}

// Try starts over a Log; every plugin of the file folds every Space in it.
func (w *Workbench) Try(ctx context.Context, log *graph.Log, o TryOptions) (*Try, error) {
	b := bounds{undo: o.Undo, step: o.Step, drain: maxDrain, wait: ViewWait}
	if b.step == 0 {
		b.step = stepMessages
	}
	if b.undo < 0 {
		b.undo = undoKept
	}
	c := Config{Log: log, loaded: w.loaded, Files: [][]byte{w.wasm}, bounds: b, native: o.Native, timed: o.Timed, Astray: w.astray}
	if o.Observer != nil {
		c.observe = o.Observer
	}
	h, err := Open(c)
	if err != nil {
		return nil, err
	}
	if err := h.load(ctx); err != nil {
		return nil, err
	}
	return &Try{host: h, fresh: o.Fresh}, nil
}

// Settle folds until the state covers the Log.
func (t *Try) Settle(ctx context.Context) error {
	for {
		if t.fresh {
			for f, i := range t.host.folders {
				i.close(ctx)
				delete(t.host.folders, f)
			}
		}
		busy, err := t.host.round(ctx)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if !busy && t.host.cursor >= t.host.log.Last() {
			return nil
		}
	}
}

// Hash is the state's, after Settle.
func (t *Try) Hash(ctx context.Context, space graph.ID, plugin string) (string, error) {
	hash, _, err := t.host.StateHash(ctx, space, plugin)
	return hash, err
}

// View asks a view, after Settle.
func (t *Try) View(ctx context.Context, space graph.ID, plugin, view string, params json.RawMessage, caller graph.NodeID) (json.RawMessage, error) {
	return t.host.View(ctx, space, plugin, view, params, caller)
}

// Command asks a command, after Settle.
func (t *Try) Command(ctx context.Context, space graph.ID, plugin, command string, params json.RawMessage, caller graph.NodeID) ([]graph.Draft, error) {
	return t.host.Command(ctx, space, plugin, command, params, caller)
}

// Folding is the time that went into the folds themselves, the reset before each included; Timed asked for it.
func (t *Try) Folding() time.Duration { return t.host.folding }

// Gas is what all folds have taken until now.
func (t *Try) Gas() int64 { return int64(t.host.gas) }

// Close gives the instances back.
func (t *Try) Close() error { return t.host.Close() }
