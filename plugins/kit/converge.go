package kit

// This file holds the proof that no other plugin system has its authors make: whatever order the messages come in, whatever is
// taken out and put back, on whichever engine, the state and the gas are the same.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"plexus/graph"
	"plexus/plugins"
)

// Diverged says that two ways ended in two states.
type Diverged struct {
	Way    string // what was done
	Seed   uint64 // with which it can be done again
	Detail string
}

// Error says what differs, and whose fault it is: guests have no memory, clock or randomness to differ by.
func (d *Diverged) Error() string {
	return fmt.Sprintf("%s: %s (seed %d). A guest can't do that by itself: please report it, with this file, its trace and the seed", d.Way, d.Detail, d.Seed)
}

// Converge delivers the trace in its order, in Orders random topological ones (in batches, with rollbacks and authors withdrawn and
// shown again in between), on fresh instances, and on the interpreter, and compares hash, gas and marks. An error that is a *Diverged
// says that they differ; progress is told after each delivery.
func (f *File) Converge(ctx context.Context, plugin string, t *Trace, seed uint64, progress func(done, of int)) error {
	s, err := t.scene()
	if err != nil {
		return err
	}
	return f.converge(ctx, plugin, s, seed, Orders, progress)
}

func (f *File) converge(ctx context.Context, plugin string, s *scene, seed uint64, orders int, progress func(done, of int)) error {
	want, err := s.deliver(ctx, plugin, f.inOrder(s), nil)
	if err != nil {
		return err
	}
	other, err := f.other(ctx)
	if err != nil {
		return err
	}
	engine := "interpreted instead of compiled"
	if !f.compiler {
		engine = "compiled instead of interpreted"
	}
	fresh, changed := f.inOrder(s), f.inOrder(s)
	fresh.options.Fresh, fresh.options.Step = true, 1
	changed.bench = other
	ways := []struct {
		name string
		seed uint64
		d    delivery
	}{{"a new instance for every message", seed, fresh}, {engine, seed, changed}}
	for n := range orders {
		ways = append(ways, struct {
			name string
			seed uint64
			d    delivery
		}{"another order of arrival", seed + uint64(n), f.shuffled(s, random(seed+uint64(n)))})
	}
	for i, w := range ways {
		got, err := s.deliver(ctx, plugin, w.d, nil)
		if err != nil {
			return err
		}
		if d := want.differs(got); d != "" {
			return &Diverged{w.name, w.seed, d}
		}
		if progress != nil {
			progress(i+1, len(ways))
		}
	}
	return nil
}

// other is the engine that Open didn't take.
func (f *File) other(ctx context.Context) (*plugins.Workbench, error) {
	if f.second == nil {
		engine := plugins.Compiled
		if f.compiler {
			engine = plugins.Interpreted
		}
		w, err := plugins.NewWorkbench(ctx, f.Wasm, engine)
		if err != nil {
			return nil, err
		}
		f.second = w
	}
	return f.second, nil
}

// shuffled draws an order, batches, depths of undo, and what happens in between.
func (f *File) shuffled(s *scene, rnd *rand.Rand) delivery {
	d := delivery{bench: f.bench, options: plugins.TryOptions{Undo: []int{0, 3, 1 << 20}[rnd.IntN(3)], Step: []int{0, 1, 7}[rnd.IntN(3)], Fresh: rnd.IntN(8) == 0}}
	order := s.order(rnd)
	for len(order) > 0 {
		n := 1 + rnd.IntN(max(1, len(order)/2))
		d.batches = append(d.batches, order[:n])
		order = order[n:]
	}
	authors := s.authors()
	d.between = func(ctx context.Context, log *graph.Log) error {
		switch rnd.IntN(4) {
		case 0:
			return log.Apply(ctx, s.stage.without(authors[rnd.IntN(len(authors))]))
		case 1:
			return log.Apply(ctx, s.stage.without())
		}
		return nil
	}
	return d
}

// differs says in what b isn't a, or "".
func (a *Outcome) differs(b *Outcome) string {
	var labels []string
	for l := range a.Folds {
		labels = append(labels, l)
	}
	slices.Sort(labels)
	for _, l := range labels {
		x, y := a.Folds[l], b.Folds[l]
		switch {
		case y.Plugin == "":
			return fmt.Sprintf("message %s wasn't folded", l)
		case x.Reason != y.Reason:
			return fmt.Sprintf("message %s ended with %q, before with %q", l, y.Reason, x.Reason)
		case x.Gas != y.Gas:
			return fmt.Sprintf("message %s took %d gas, before %d", l, y.Gas, x.Gas)
		}
	}
	if a.Hash != b.Hash {
		return fmt.Sprintf("the state's hash is %s, before %s", b.Hash, a.Hash)
	}
	return ""
}
