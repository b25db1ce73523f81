package kit

// This file holds the replay: a trace over a file, in one order or another, and what came of it.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"plexus/graph"
	"plexus/graph/store"
	"plexus/plugins"
	"plexus/sdk/abi"
)

// File is a plugin file on the workbench. One goroutine uses it.
type File struct {
	Wasm     []byte
	bench    *plugins.Workbench
	second   *plugins.Workbench // the other engine, opened when first needed
	compiler bool               // bench compiles; else it interprets
}

// Open checks a file and prepares it: for a few messages interpreted, which starts sooner, for many compiled.
func Open(ctx context.Context, wasm []byte, compiled bool) (*File, error) {
	engine := plugins.Interpreted
	if compiled {
		engine = plugins.Compiled
	}
	w, err := plugins.NewWorkbench(ctx, wasm, engine)
	if err != nil {
		return nil, err
	}
	return &File{Wasm: wasm, bench: w, compiler: compiled}, nil
}

// Close frees what was compiled.
func (f *File) Close(ctx context.Context) error {
	err := f.bench.Close(ctx)
	if f.second != nil {
		err = errors.Join(err, f.second.Close(ctx))
	}
	return err
}

// Plugins are the names of the file's plugins.
func (f *File) Plugins() []string {
	var names []string
	for _, p := range f.bench.Manifest().Plugins {
		names = append(names, p.Name)
	}
	return names
}

func (f *File) plugin(name string) abi.Plugin {
	for _, p := range f.bench.Manifest().Plugins {
		if p.Name == name {
			return p
		}
	}
	return abi.Plugin{}
}

// Outcome is what a replay ended with; messages by label.
type Outcome struct {
	Hash   string
	Gas    map[string]int64          // of each message's last fold
	Folds  map[string]plugins.Folded // the last of each
	Logs   []string
	Differ []string // from what the trace wants; none: it is met
}

// delivery is one way for entries to come.
type delivery struct {
	bench   *plugins.Workbench
	options plugins.TryOptions
	batches [][]*graph.Entry
	between func(ctx context.Context, log *graph.Log) error // after each batch but the last; nil: nothing
}

// inOrder is everything at once, as one who comes last gets it.
func (f *File) inOrder(s *scene) delivery {
	return delivery{bench: f.bench, options: plugins.TryOptions{Undo: 1 << 20}, batches: [][]*graph.Entry{s.entries}}
}

// deliver runs a delivery and gives the state, still open, to look.
func (s *scene) deliver(ctx context.Context, plugin string, d delivery, look func(*plugins.Try) error) (o *Outcome, err error) {
	log, err := graph.OpenLog(store.Memory(), graph.LogOptions{Now: sceneClock, Rights: s.stage})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	space, err := log.Create(ctx, s.genesis)
	if err != nil {
		return nil, err
	}
	o = &Outcome{Gas: map[string]int64{}, Folds: map[string]plugins.Folded{}}
	d.options.Observer = func(f plugins.Folded) {
		if f.Plugin == plugin {
			o.Gas[s.names[f.Message]], o.Folds[s.names[f.Message]] = f.Gas, f
			for _, text := range f.Logs {
				o.Logs = append(o.Logs, s.names[f.Message]+": "+text)
			}
		}
	}
	try, err := d.bench.Try(ctx, log, d.options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, try.Close()) }()
	for i, batch := range d.batches {
		if err := add(ctx, space, batch); err != nil {
			return nil, err
		}
		if err := try.Settle(ctx); err != nil {
			return nil, err
		}
		if d.between != nil && i < len(d.batches)-1 {
			if err := d.between(ctx, log); err != nil {
				return nil, err
			}
		}
	}
	if err := log.Apply(ctx, s.stage); err != nil {
		return nil, err
	}
	if err := try.Settle(ctx); err != nil {
		return nil, err
	}
	if o.Hash, err = try.Hash(ctx, s.genesis.ID, plugin); err != nil {
		return nil, err
	}
	if look != nil {
		err = look(try)
	}
	return o, err
}

func add(ctx context.Context, space *graph.Space, batch []*graph.Entry) error {
	res, err := space.Add(ctx, batch, graph.AddOptions{})
	if err != nil {
		return err
	}
	if len(res.Refused) > 0 {
		return fmt.Errorf("the log refuses an entry: %w", res.Refused[0])
	}
	return nil
}

// Replay runs a trace in its order and holds it against what it wants. The error is for what can't be run at all.
func (f *File) Replay(ctx context.Context, plugin string, t *Trace) (*Outcome, error) {
	s, err := t.scene()
	if err != nil {
		return nil, err
	}
	var differ []string
	o, err := s.deliver(ctx, plugin, f.inOrder(s), func(try *plugins.Try) (err error) {
		differ, err = s.views(ctx, try, plugin, t.Views)
		return err
	})
	if err != nil {
		return nil, err
	}
	o.Differ = append(t.marks(o), differ...)
	if t.Hash != "" && t.Hash != o.Hash {
		o.Differ = append(o.Differ, fmt.Sprintf("hash: the state's is %s, the trace wants %s", o.Hash, t.Hash))
	}
	for _, m := range t.Messages {
		if want, ok := t.Gas[m.ID]; ok && want != o.Gas[m.ID] {
			o.Differ = append(o.Differ, fmt.Sprintf("gas: message %s took %d, the trace wants %d", m.ID, o.Gas[m.ID], want))
		}
	}
	return o, nil
}

// marks compares which messages were refused.
func (t *Trace) marks(o *Outcome) (differ []string) {
	for _, m := range t.Messages {
		f := o.Folds[m.ID]
		switch want := slices.Contains(t.Marked, m.ID); {
		case f.Trapped:
			differ = append(differ, fmt.Sprintf("message %s: trapped: %s", m.ID, f.Reason))
		case want && f.Reason == "":
			differ = append(differ, fmt.Sprintf("message %s was taken, the trace wants it marked", m.ID))
		case !want && f.Reason != "":
			differ = append(differ, fmt.Sprintf("message %s was refused: %s", m.ID, f.Reason))
		}
	}
	return differ
}

// views asks and compares.
func (s *scene) views(ctx context.Context, try *plugins.Try, plugin string, views []TraceView) (differ []string, err error) {
	for i, v := range views {
		name := fmt.Sprintf("view %d (%s)", i+1, v.View)
		params, err := s.resolve(v.Params)
		if err != nil {
			return nil, fmt.Errorf("trace: %s: %w", name, err)
		}
		want, err := s.resolve(v.Want)
		if err != nil {
			return nil, fmt.Errorf("trace: %s: %w", name, err)
		}
		var caller graph.NodeID
		if v.By != "" {
			caller = nodeID(v.By)
		}
		got, err := try.View(ctx, s.genesis.ID, plugin, v.View, params, caller)
		if d := v.compare(got, want, err); d != "" {
			differ = append(differ, name+": "+d)
		}
	}
	return differ, nil
}

func (v TraceView) compare(got, want json.RawMessage, err error) string {
	switch {
	case err != nil && v.Refused != "" && errors.Is(err, graph.ErrInvalid) && strings.Contains(err.Error(), v.Refused):
		return ""
	case err != nil:
		return err.Error()
	case v.Refused != "":
		return fmt.Sprintf("it answers %s, the trace wants a refusal with %q", got, v.Refused)
	}
	a, errA := decode(got)
	b, errB := decode(want)
	if errA != nil || errB != nil || !reflect.DeepEqual(a, b) {
		return fmt.Sprintf("it answers\n    %s\n  the trace wants\n    %s", normal(a), normal(b))
	}
	return ""
}

func normal(v any) []byte {
	b, _ := encode(v) // it was JSON before
	return b
}

// random is a generator whose seed can be given again.
func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x706c65787573)) }
