package plugins

// This file holds the world the tests run in, and what a Host does for a user.

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"go.uber.org/goleak"

	"plexus/graph"
	"plexus/graph/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func key(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("plugins test " + name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func id(name string) graph.NodeID { return graph.NodeIDOf(key(name)) }

// rights let everybody write, but for those named; pointers, so that a change is seen.
type rights struct {
	void   map[graph.NodeID]bool
	attest map[graph.NodeID]string // "role/kind"
}

func (r *rights) Standing(_ graph.Genesis, n graph.NodeID) graph.Standing {
	return graph.Standing{Known: true, May: !r.void[n]}
}

func (r *rights) Attest(_ graph.ID, n graph.NodeID) (role, kind string) {
	role, kind, _ = strings.Cut(r.attest[n], "/")
	return role, kind
}

// replica is one Log with one Space and a Host.
type replica struct {
	t     testing.TB
	st    graph.Store
	log   *graph.Log
	space *graph.Space
	host  *Host
	stop  func()
	now   clock
	files [][]byte
	tight bounds
	dir   string // of pinned files

	native  Reducer // nil: the files' guests
	trust   Trust
	granted func(space graph.ID, plugin, grant string) bool

	astray func(plugin string, m graph.ID) string
	prove  func(context.Context, *Workbench) (map[string]string, error)

	loaded *loaded // nil: what all tests share
}

var network = graph.BlockID([]byte("a network"))

// clock is a replica's, which its Host reads while the test sets it.
type clock struct{ micros atomic.Int64 }

func (c *clock) read() time.Time      { return time.UnixMicro(c.micros.Load()) }
func (c *clock) set(t time.Time)      { c.micros.Store(t.UnixMicro()) }
func (c *clock) step(d time.Duration) { c.micros.Add(d.Microseconds()) }

func newReplica(t testing.TB, files ...[]byte) *replica {
	t.Helper()
	r := bareReplica(t, files...)
	r.run()
	t.Cleanup(r.close)
	return r
}

// bareReplica has no Host yet.
func bareReplica(t testing.TB, files ...[]byte) *replica {
	t.Helper()
	r := &replica{t: t, st: store.Memory(), files: files}
	r.now.set(time.UnixMicro(1_800_000_000_000_000))
	r.open(&rights{})
	return r
}

// diskReplica is a bare one on Pebble.
func diskReplica(t testing.TB, files ...[]byte) *replica {
	t.Helper()
	st, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	r := &replica{t: t, st: st, files: files}
	r.now.set(time.UnixMicro(1_800_000_000_000_000))
	r.open(&rights{})
	return r
}

func (r *replica) open(rights graph.Rights) {
	r.t.Helper()
	var err error
	r.log, err = graph.OpenLog(r.st, graph.LogOptions{Rights: rights, Now: r.now.read})
	r.must(err)
	g, err := graph.NamedSpace(network, "space")
	r.must(err)
	r.space, err = r.log.Create(r.ctx(), g)
	r.must(err)
}

func (r *replica) run() {
	r.t.Helper()
	l := r.loaded
	if l == nil {
		l = load(r.t, r.files...)
	}
	var err error
	r.host, err = Open(Config{Log: r.log, loaded: l, Files: r.files, bounds: r.tight, FileDir: r.dir, Astray: r.astray, Prove: r.prove, native: r.native, Trust: r.trust, Granted: r.granted})
	r.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func(h *Host) { done <- h.Run(ctx) }(r.host)
	go func(h *Host) { done <- h.Compile(ctx) }(r.host)
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-done, <-done); err != nil {
			r.t.Errorf("run: %v", err)
		}
		if err := r.host.Close(); err != nil {
			r.t.Errorf("close: %v", err)
		}
	})
}

func (r *replica) close() {
	if r.stop != nil {
		r.stop()
	}
	r.must(r.log.Close())
}

// restart stops the Host and starts another on the same store.
func (r *replica) restart() {
	r.t.Helper()
	r.stop()
	r.run()
}

// compiled holds what tests share: the bundle, which takes seconds, and whatever other files they use.
var compiled struct {
	sync.Mutex
	engine *engine
	files  map[string]*file
}

// load compiles each file once for all tests.
func load(t testing.TB, files ...[]byte) *loaded {
	t.Helper()
	compiled.Lock()
	defer compiled.Unlock()
	ctx := context.Background()
	if compiled.engine == nil {
		e, err := newEngine(ctx, "", wazero.NewRuntimeConfig())
		if err != nil {
			t.Fatal(err)
		}
		compiled.engine, compiled.files = e, map[string]*file{}
	}
	if len(files) == 0 {
		files = [][]byte{bundle}
	}
	l := &loaded{engine: compiled.engine}
	for _, wasm := range files {
		f := compiled.files[string(wasm)]
		if f == nil {
			var err error
			if f, err = compiled.engine.load(ctx, wasm, false); err != nil {
				t.Fatal(err)
			}
			f.own = true
			compiled.files[string(wasm)] = f
		}
		l.files = append(l.files, f)
	}
	return l
}

func (r *replica) ctx() context.Context { return context.Background() }

func (r *replica) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// say sends content as a Node and returns the entry.
func (r *replica) say(node, typ string, content any, refs ...graph.ID) *graph.Entry {
	r.t.Helper()
	b, err := json.Marshal(content)
	r.must(err)
	r.now.step(time.Millisecond)
	st, err := r.space.Send(r.ctx(), key(node), graph.Draft{ContentType: typ, Content: b, Refs: graph.Refs{Messages: refs}}, nil)
	r.must(err)
	return st.Entry
}

func (r *replica) add(entries ...*graph.Entry) {
	r.t.Helper()
	res, err := r.space.Add(r.ctx(), entries, graph.AddOptions{})
	r.must(err)
	if len(res.Refused) > 0 {
		r.t.Fatalf("refused: %v", res.Refused)
	}
}

// view asks checkpoint and decodes.
func (r *replica) view(name, params string, out any) {
	r.t.Helper()
	b, err := r.host.View(r.ctx(), r.space.ID(), "checkpoint", name, json.RawMessage(params), graph.NodeID{})
	r.must(err)
	r.must(json.Unmarshal(b, out))
}

func (r *replica) hash(plugin string) string {
	r.t.Helper()
	h, current, err := r.host.StateHash(r.ctx(), r.space.ID(), plugin)
	r.must(err)
	if !current {
		r.t.Error("the state isn't current")
	}
	return h
}

type obj = map[string]any

type answerItem struct {
	Message, Option, Feedback, By string
	ByKind                        string `json:"by_kind"`
}

type page struct {
	Checkpoints []struct {
		Message, ID, Title, Status, Finding, Sender string
		Options                                     []string
		Answer                                      *answerItem
		Overruled                                   []answerItem
		Settled                                     bool
	}
	Next string
}

func TestCheckpointIsAskedAndAnswered(t *testing.T) {
	r := newReplica(t)
	ask := r.say("worker", "checkpoint", obj{"id": "c1", "title": "Deploy?", "status": "info", "options": []string{"Yes", "No"}})
	var p page
	r.view("pending", "", &p)
	if len(p.Checkpoints) != 1 || p.Checkpoints[0].Message != ask.ID().String() || p.Checkpoints[0].Title != "Deploy?" || p.Checkpoints[0].Finding != "info" {
		t.Fatalf("pending: %+v", p)
	}
	r.say("boss", "", obj{"text": "let me see"}, ask.ID())
	answer := r.say("boss", "", obj{"option": "yes", "feedback": "go"}, ask.ID())
	late := r.say("other", "", obj{"option": "No"}, ask.ID())
	p = page{}
	r.view("pending", `{"node":"x"}`, &p)
	if len(p.Checkpoints) != 0 {
		t.Fatalf("still pending: %+v", p)
	}
	r.view("all", "{}", &p)
	c := p.Checkpoints[0]
	if c.Status != "answered" || c.Answer == nil || c.Answer.Message != answer.ID().String() || c.Answer.Option != "Yes" || c.Answer.Feedback != "go" ||
		c.Answer.By != id("boss").String() || len(c.Overruled) != 1 || c.Overruled[0].Message != late.ID().String() || c.Settled {
		t.Fatalf("answered: %+v", c)
	}
	r.say("worker", "", obj{"text": "I take the other"}, late.ID())
	p = page{}
	r.view("answered", "", &p)
	if c := p.Checkpoints[0]; !c.Settled || c.Answer.Message != late.ID().String() || c.Overruled[0].Message != answer.ID().String() {
		t.Fatalf("settled: %+v", c)
	}
}

func TestRefusedMessagesAreMarked(t *testing.T) {
	r := newReplica(t)
	r.say("worker", "checkpoint", obj{"title": "no id"})
	c := r.say("worker", "checkpoint", obj{"id": "c"})
	r.say("worker", "", obj{"option": "mine"}, c.ID())
	r.hash("checkpoint")
	list, err := r.host.Plugins(r.ctx(), r.space.ID())
	r.must(err)
	for _, p := range list {
		if p.Name == "checkpoint" && (p.Folded != 3 || p.Marked != 2 || !strings.Contains(p.Reason, "own author") || !p.Current) {
			t.Errorf("plugins: %+v", p)
		}
	}
}

func TestViewErrors(t *testing.T) {
	r := newReplica(t)
	c := func(space graph.ID, plugin, view, params string) error {
		_, err := r.host.View(r.ctx(), space, plugin, view, json.RawMessage(params), graph.NodeID{})
		return err
	}
	for name, test := range map[string]struct {
		err  error
		is   error
		text string
	}{
		"space":  {c(graph.BlockID([]byte("x")), "checkpoint", "all", ""), graph.ErrNotFound, ""},
		"plugin": {c(r.space.ID(), "nope", "all", ""), graph.ErrNotFound, "checkpoint"},
		"view":   {c(r.space.ID(), "checkpoint", "nope", ""), graph.ErrNotFound, "pending, answered, all"},
		"params": {c(r.space.ID(), "checkpoint", "all", "[1]"), graph.ErrInvalid, "object"},
		"json":   {c(r.space.ID(), "checkpoint", "all", "{"), graph.ErrInvalid, "object"},
		"limit":  {c(r.space.ID(), "checkpoint", "all", `{"limit":0}`), graph.ErrInvalid, "1 to 200"},
	} {
		if !errors.Is(test.err, test.is) || !strings.Contains(fmt.Sprint(test.err), test.text) {
			t.Errorf("%s: %v", name, test.err)
		}
	}
}

func TestPages(t *testing.T) {
	r := newReplica(t)
	for i := range 7 {
		r.say("worker", "checkpoint", obj{"id": fmt.Sprint(i)})
	}
	var got []string
	for next := ""; ; {
		var p page
		params, _ := json.Marshal(obj{"limit": 3, "after": next})
		r.view("all", string(params), &p)
		for _, c := range p.Checkpoints {
			got = append(got, c.ID)
		}
		if next = p.Next; next == "" {
			break
		}
	}
	if strings.Join(got, "") != "0123456" {
		t.Errorf("pages: %v", got)
	}
}

func TestRestartGoesOn(t *testing.T) {
	r := newReplica(t)
	c := r.say("worker", "checkpoint", obj{"id": "c"})
	want := r.hash("checkpoint")
	r.restart()
	if got := r.hash("checkpoint"); got != want {
		t.Errorf("after a restart %s, before %s", got, want)
	}
	if r.host.gas != 0 {
		t.Error("the restart folded again")
	}
	r.stop()
	r.say("boss", "", obj{"option": "ok"}, c.ID())
	r.run()
	var p page
	r.view("answered", "", &p)
	if len(p.Checkpoints) != 1 {
		t.Errorf("what came between isn't there: %+v", p)
	}
}

func TestWithdrawnAndShownAgain(t *testing.T) {
	r := newReplica(t)
	c := r.say("worker", "checkpoint", obj{"id": "c"})
	first := r.say("fired", "", obj{"option": "ok"}, c.ID())
	second := r.say("boss", "", obj{"option": "no"}, c.ID())
	want := r.hash("checkpoint")
	holds := func(e *graph.Entry) {
		t.Helper()
		var p page
		r.view("all", "", &p)
		if p.Checkpoints[0].Answer == nil || p.Checkpoints[0].Answer.Message != e.ID().String() {
			t.Errorf("holds: %+v", p.Checkpoints[0].Answer)
		}
	}
	holds(first)
	r.must(r.log.Apply(r.ctx(), &rights{void: map[graph.NodeID]bool{id("fired"): true}}))
	holds(second)
	r.must(r.log.Apply(r.ctx(), &rights{}))
	holds(first)
	if got := r.hash("checkpoint"); got != want {
		t.Errorf("hash %s, before %s", got, want)
	}
}

var keyMin, keyMax = graph.Key{}, graph.Key{Time: graph.MaxTime + 1}

func TestStopWhileCompiling(t *testing.T) {
	r := bareReplica(t)
	defer r.close()
	h, err := Open(Config{Log: r.log, CacheDir: t.TempDir()})
	r.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	cancel()
	r.must(<-done)
	r.must(h.Close())
	r.must(h.Close())
	if _, err := h.View(r.ctx(), r.space.ID(), "checkpoint", "all", nil, graph.NodeID{}); !errors.Is(err, graph.ErrClosed) {
		t.Errorf("a view after the end: %v", err)
	}
}

// A second start finds the compiled code on disk.
func TestLaterStartIsQuick(t *testing.T) {
	r := bareReplica(t)
	defer r.close()
	dir := t.TempDir()
	var took [2]time.Duration
	for i := range took {
		h, err := Open(Config{Log: r.log, CacheDir: dir, bounds: bounds{undo: undoKept, step: stepMessages, drain: maxDrain, wait: time.Minute}})
		r.must(err)
		start := time.Now()
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- h.Run(ctx) }()
		_, err = h.View(r.ctx(), r.space.ID(), "checkpoint", "all", nil, graph.NodeID{})
		took[i] = time.Since(start)
		cancel()
		r.must(<-done)
		r.must(err)
		r.must(h.Close())
	}
	t.Logf("first view after %s, then %s", took[0], took[1])
	if took[1] > took[0]/2 {
		t.Errorf("the second start took %s, the first %s", took[1], took[0])
	}
}

func TestCacheThatCantBeWritten(t *testing.T) {
	r := bareReplica(t, good)
	defer r.close()
	dir := t.TempDir() + "/file"
	r.must(os.WriteFile(dir, nil, 0o600))
	h, err := Open(Config{Log: r.log, CacheDir: dir, Files: [][]byte{good}})
	r.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	_, _, err = h.StateHash(r.ctx(), r.space.ID(), "good")
	r.must(err)
	cancel()
	r.must(<-done)
	r.must(h.Close())
}
