package plugins

// This file holds the Host: what a node opens, runs and asks.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"

	"plexus/graph"
)

// Config is what Open needs; Log alone is required.
type Config struct {
	Log      *graph.Log
	CacheDir string       // compiled code is kept here; "" keeps it in memory, and each start compiles anew
	FileDir  string       // files of pinned plugins are kept here; "" keeps them in memory
	Files    [][]byte     // plugins that every Space has unless a pin replaces them; nil: the node's own patterns, Bundle
	Logger   *slog.Logger // nil: discards
	Trust    Trust        // the user's policy; nil: there is none to ask

	// Granted says whether the user lets a plugin that is pinned in a Space have an effect its manifest asks for; nil: all of them. It answers quickly.
	Granted func(space graph.ID, plugin, grant string) bool

	// Prove replays the golden traces that a file carries, on a workbench of this host's engine, and returns by plugin in what one comes out
	// otherwise than was recorded: that plugin isn't run. nil: nothing is replayed.
	Prove func(ctx context.Context, w *Workbench) (wrong map[string]string, err error)

	// Astray, where not nil, is asked for a reason to mark each message a guest has taken: an engine that doesn't agree with others, for tests
	// of how that is found out.
	Astray func(plugin string, message graph.ID) (reason string)

	loaded  *loaded              // compiled already, by a workbench or test, which closes it; nil: Files
	runtime wazero.RuntimeConfig // nil: the compiler where there is one for this machine
	bounds  bounds               // zero: those of limits.go
	observe func(Folded)         // nil, or told of every fold: a workbench's or scratch's
	timed   bool                 // the time that folds take is measured
	native  Reducer              // nil, or folds instead of guests: a workbench's
}

// bounds are those that the tests move.
type bounds struct {
	undo, step, drain int
	wait              time.Duration
}

func (c Config) fill() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Files == nil {
		c.Files = [][]byte{bundle}
	}
	if c.runtime == nil {
		c.runtime = wazero.NewRuntimeConfig()
	}
	if c.bounds == (bounds{}) {
		c.bounds = bounds{undo: undoKept, step: stepMessages, drain: maxDrain, wait: ViewWait}
	}
	return c
}

// Attestor is what a graph.Rights may also be: it says what the access log says of a Node in a Space. A fold sees both;
// a change of either refolds from the Node's first message. Role is "admin", "writer", "reader" or ""; kind
// is "human", "agent" or "".
type Attestor interface {
	Attest(space graph.ID, node graph.NodeID) (role, kind string)
}

// Host runs the plugins of every Space of one Log. Safe for concurrent use.
type Host struct {
	log     *graph.Log
	records graph.Records
	config  Config
	logger  *slog.Logger

	scratches  atomic.Uint32 // made so far, by which their keys are told apart
	scratching sync.RWMutex  // held for reading by each scratch until its Close, for writing by the Host's
	leaving    atomic.Bool   // Close waits for them

	// Owned by Run.
	engine    *engine
	own       []*spec // the first-party patterns, which every Space has unless a pin replaces one
	specs     map[specKey]*spec
	files     map[string]*file
	faults    map[string]error // files that can't run, until another arrives
	stillborn map[*file]error  // files whose _initialize fails: every message is marked with it
	folders   map[*file]*instance
	rights    graph.Rights
	attestor  Attestor
	cursor    graph.Pos
	started   bool // a cursor was stored: states on disk have seen all up to it
	nextNum   uint32
	known     map[graph.ID]bool // Spaces whose slots are made
	repin     map[graph.ID]bool // Spaces whose pins may have changed
	names     names
	reader    reader
	as        string // role/kind last seen: most have the same
	input     []byte
	call      call // of the fold at hand, and its world
	world     foldWorld
	gas       uint64
	folding   time.Duration // in guests, their reset included; where config.timed
	work      map[*slot]bool

	queued chan struct{} // wakes Compile

	// state is held for reading while a view runs, for writing while a commit changes what views see.
	state  sync.RWMutex
	slots  map[slotKey]*slot
	broken map[slotKey]broken // pinned, but can't run
	seen   graph.Pos          // the cursor, as of the last commit
	listed map[graph.ID]bool  // Spaces whose slots are made, as of the last commit
	fault  error              // why Run ended or a file can't be loaded

	saying sync.Mutex // held while a reaction says what one Node of this host is to say

	// mu guards what wakes whom.
	mu       sync.Mutex
	changed  chan struct{} // closed and made anew at each commit
	wake     context.CancelFunc
	kicked   bool
	arrived  bool                         // a file was added
	waiting  []*file                      // to be compiled
	compiled bool                         // one was
	wrong    map[string]map[string]string // file → plugin → why it isn't run
	kept     map[string][]byte            // files, where there is no FileDir
}

type slotKey struct {
	space graph.ID
	name  string
}

// Open reads where the state stands. It compiles nothing and starts nothing: Run does.
func Open(c Config) (*Host, error) {
	c = c.fill()
	h := &Host{
		log: c.Log, records: c.Log.Records("plugin"), config: c, logger: c.Logger, names: names{}, work: map[*slot]bool{}, folders: map[*file]*instance{}, stillborn: map[*file]error{},
		specs: map[specKey]*spec{}, files: map[string]*file{}, faults: map[string]error{}, known: map[graph.ID]bool{}, repin: map[graph.ID]bool{}, kept: map[string][]byte{},
		slots: map[slotKey]*slot{}, broken: map[slotKey]broken{}, changed: make(chan struct{}), queued: make(chan struct{}, 1),
	}
	err := h.readCursor()
	if err == nil { // a crash may have left scratches
		err = c.Log.Records(scratchRecords).ApplyNoSync(graph.Op{Kind: graph.DelRange})
	}
	if err != nil {
		return nil, fmt.Errorf("open plugin state: %w", err)
	}
	return h, nil
}

// Run compiles the node's own patterns, follows the Log and folds until ctx ends (then it returns nil) or the store fails.
// It is called once; it works in the caller's goroutine.
func (h *Host) Run(ctx context.Context) error {
	err := h.load(ctx)
	for err == nil && ctx.Err() == nil {
		var busy bool
		if busy, err = h.round(ctx); err == nil && !busy {
			h.idle(ctx)
		}
	}
	if ctx.Err() != nil {
		err = nil
	}
	h.state.Lock()
	if h.fault = err; err == nil {
		h.fault = fmt.Errorf("plugins have stopped: %w", graph.ErrClosed)
	}
	h.state.Unlock()
	h.announce()
	return err
}

// loaded is an engine with its files compiled.
type loaded struct {
	engine *engine
	files  []*file
}

func (c Config) load(ctx context.Context) (*loaded, error) {
	if c.loaded != nil {
		return c.loaded, nil
	}
	l, err := c.compile(ctx, c.CacheDir)
	if err == nil || c.CacheDir == "" || ctx.Err() != nil {
		return l, err
	}
	// A cache that can't be written costs time at each start, and nothing else.
	c.Logger.Warn("plugins are compiled without their cache", "dir", c.CacheDir, "error", err)
	return c.compile(ctx, "")
}

func (c Config) compile(ctx context.Context, cacheDir string) (*loaded, error) {
	e, err := newEngine(context.WithoutCancel(ctx), cacheDir, c.runtime)
	if err != nil {
		return nil, err
	}
	l := &loaded{engine: e}
	for _, wasm := range c.Files {
		f, err := e.load(ctx, wasm, true)
		if err != nil {
			return nil, errors.Join(err, e.close(context.WithoutCancel(ctx)))
		}
		f.own = true
		l.files = append(l.files, f)
	}
	return l, nil
}

// load compiles the files, opens the slots and drops what no slot owns.
func (h *Host) load(ctx context.Context) error {
	l, err := h.config.load(ctx)
	if err != nil {
		return err
	}
	h.state.Lock()
	h.engine = l.engine
	h.state.Unlock()
	for _, f := range l.files {
		for _, p := range f.manifest.Plugins {
			h.own = append(h.own, h.specOf(f, p))
		}
		if h.config.Prove != nil && !h.recall(f.cid) {
			h.queue(f)
		}
	}
	h.rights = h.log.Rights()
	h.attestor = attestorOf(h.rights)
	if err := h.readRegistry(ctx); err != nil {
		return err
	}
	h.state.Lock()
	h.seen = h.cursor
	h.state.Unlock()
	h.announce()
	return nil
}

// idle waits for the log to grow, a kick, or a moment in which rights may have changed without a record.
func (h *Host) idle(ctx context.Context) {
	wctx, cancel := context.WithTimeout(ctx, idleWait)
	defer cancel()
	h.mu.Lock()
	kicked := h.kicked
	h.kicked, h.wake = false, cancel
	h.mu.Unlock()
	if kicked {
		return
	}
	_ = h.log.Wait(wctx, h.cursor) // whatever ends it, the next round looks
	h.mu.Lock()
	h.wake = nil
	h.mu.Unlock()
}

// kick ends the idle wait.
func (h *Host) kick() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kicked = true
	if h.wake != nil {
		h.wake()
	}
}

// announce tells those who wait that something was committed.
func (h *Host) announce() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *Host) change() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed
}

// Close frees compiled code and instances, after Run and Compile have returned and no View runs; it has scratches end and waits for them. Safe twice.
func (h *Host) Close() error {
	h.leaving.Store(true)
	h.scratching.Lock()
	defer h.scratching.Unlock()
	h.state.Lock()
	defer h.state.Unlock()
	if h.engine == nil {
		return nil
	}
	ctx := context.Background()
	for _, i := range h.folders {
		i.close(ctx)
	}
	var err error
	if h.config.loaded == nil {
		err = h.engine.close(ctx)
	}
	h.engine = nil
	if h.fault == nil {
		h.fault = graph.ErrClosed
	}
	return err
}

// sameRights says whether two values are the same one; those that can't be compared are taken for different.
func sameRights(a, b graph.Rights) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return reflect.TypeOf(a).Comparable() && reflect.TypeOf(b).Comparable() && a == b
}
