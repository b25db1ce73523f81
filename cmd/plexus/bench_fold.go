package main

// This file holds `plexus bench fold`: what it costs to fold a Space by language, in this process, through all that a node does: entries
// are read from a store on disk, the guest is reset before each, with gas, undo records, state written back.

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"plexus/plugins/kit"
)

// foldRounds is how often each runner folds the Space. The best counts: what else the machine does only ever adds.
const foldRounds = 5

// foldResult is what the bench prints.
type foldResult struct {
	Bench    string       `json:"bench"`
	Messages int          `json:"messages"`
	Rounds   int          `json:"rounds"`
	Runners  []foldRunner `json:"runners"`
	Pause    foldPause    `json:"pause"`
}

// foldRunner is one language's figures. Ratios are to the native reducer of the same run: of the whole path, and of the fold alone (the
// reset, the guest and its host calls, against the reducer and its calls of the same state).
type foldRunner struct {
	Name      string  `json:"name"`
	Rate      float64 `json:"per_second"`
	Micros    float64 `json:"us_per_message"`
	CPU       float64 `json:"cpu_us_per_message,omitempty"`
	Fold      float64 `json:"fold_us_per_message"`
	Ratio     float64 `json:"of_native,omitempty"`
	FoldRatio float64 `json:"fold_of_native,omitempty"`
	Gas       int64   `json:"gas_per_message,omitempty"`
	GasCost   float64 `json:"gas_overhead_percent"` // of the fold with gas over the fold without
	PeakMiB   float64 `json:"peak_mib,omitempty"`
	Skipped   string  `json:"skipped,omitempty"`
}

func benchFoldCommand(o *benchOptions) *cobra.Command {
	const messages = 100_000
	cmd := &cobra.Command{
		Use: "fold", Short: "A Space of votes folded by plugins in Go, Rust, C and AssemblyScript, and natively", Args: cobra.NoArgs,
		Long: `Build the plugin vote in each language whose toolchain is here, fold one Space with each, with gas and without, and with the
same reducer in native Go over the same state: same keys, same undo records, same store. Each folds a copy of its own, five times in turn;
the best counts. At the end a guest spins until its gas is gone, and it is measured how long others are held up meanwhile.`,
		Example: "  plexus bench fold\n  plexus bench fold --messages 20000 --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), benchTime)
			defer cancel()
			return runBench(ctx, cmd.OutOrStdout(), *o, benchFold)
		},
	}
	n := cmd.Flags().Int("messages", messages, "how many messages")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		o.messages, o.size, o.conns, o.rate = *n, 200, 32, 50
		return o.check(true, messages)
	}
	return cmd
}

// foldRun is one that folds, and its laps.
type foldRun struct {
	by   *kit.Runner
	laps []foldLap
}

type foldLap struct {
	kit.Lap
	used
}

// benchFold makes the runners, lets them fold in turn and compares.
func benchFold(ctx context.Context, dir string, o benchOptions) (r foldResult, err error) {
	r = foldResult{Bench: "fold", Messages: o.messages, Rounds: foldRounds}
	race, err := kit.NewRace(ctx, dir, o.messages)
	if err != nil {
		return r, err
	}
	runs := map[string]*foldRun{}
	defer func() {
		for _, run := range runs {
			err = errors.Join(err, run.by.Close(ctx))
		}
	}()
	order, err := r.runners(ctx, race, runs)
	if err != nil {
		return r, err
	}
	for range foldRounds {
		for _, run := range order {
			if err := run.lap(ctx, race); err != nil {
				return r, err
			}
		}
	}
	if err := r.compare(runs); err != nil {
		return r, err
	}
	r.Pause, err = measurePause(ctx)
	return r, err
}

// runners makes those whose toolchain is here, by name, and says in which order they run; the others it notes as skipped.
func (r *foldResult) runners(ctx context.Context, race *kit.Race, runs map[string]*foldRun) (order []*foldRun, err error) {
	take := func(name string, by *kit.Runner) {
		runs[name] = &foldRun{by: by}
		order = append(order, runs[name])
	}
	for _, lang := range kit.Langs() {
		metered, err := race.NewRunner(ctx, lang, false)
		var missing *kit.MissingTool
		if errors.As(err, &missing) {
			r.Runners = append(r.Runners, foldRunner{Name: lang, Skipped: missing.Error()})
			continue
		}
		if err != nil {
			return nil, err
		}
		take(lang, metered)
		unmetered, err := race.NewRunner(ctx, lang, true)
		if err != nil {
			return nil, err
		}
		take(lang+" without gas", unmetered)
		if runs["native"] == nil {
			take("native", metered.Native())
		}
	}
	if len(order) == 0 {
		return nil, fmt.Errorf("no toolchain is here: %s", r.Runners[0].Skipped)
	}
	return order, nil
}

// lap folds the Space once.
func (f *foldRun) lap(ctx context.Context, race *kit.Race) error {
	var l foldLap
	lap, err := race.Run(ctx, f.by, func(do func() error) error {
		forgetPeak()
		before := usageOf("self")
		err := do()
		after := usageOf("self")
		l.used = used{cpu: after.cpu - before.cpu, peak: after.peak}
		return err
	})
	l.Lap = lap
	f.laps = append(f.laps, l)
	return err
}

// best is the least that get says of a lap.
func (f *foldRun) best(get func(foldLap) float64) float64 {
	least := get(f.laps[0])
	for _, l := range f.laps {
		least = min(least, get(l))
	}
	return least
}

// compare fills the figures; runners that ended with different states are an error.
func (r *foldResult) compare(runs map[string]*foldRun) error {
	native := runs["native"]
	n := float64(r.Messages)
	whole := func(l foldLap) float64 { return l.Took.Seconds() * 1e6 / n }
	fold := func(l foldLap) float64 { return l.Folding.Seconds() * 1e6 / n }
	var skipped []foldRunner
	skipped, r.Runners = r.Runners, nil
	for _, lang := range append([]string{"native"}, kit.Langs()...) {
		run := runs[lang]
		if run == nil {
			continue
		}
		if got, want := run.laps[0].Hash, native.laps[0].Hash; got != want {
			return fmt.Errorf("%s ended with state %s, the native reducer with %s", lang, got, want)
		}
		f := foldRunner{Name: lang, Micros: run.best(whole), Fold: run.best(fold), Gas: run.laps[0].Gas / int64(r.Messages)}
		f.Rate = 1e6 / f.Micros
		f.CPU = run.best(func(l foldLap) float64 { return l.cpu * 1e6 / n })
		f.PeakMiB = run.best(func(l foldLap) float64 { return l.peak })
		if free := runs[lang+" without gas"]; free != nil {
			f.Ratio, f.FoldRatio = f.Micros/native.best(whole), f.Fold/native.best(fold)
			f.GasCost = 100 * (f.Fold/free.best(fold) - 1)
		}
		r.Runners = append(r.Runners, f)
	}
	r.Runners = append(r.Runners, skipped...)
	return nil
}

func (r foldResult) print(out io.Writer) {
	fmt.Fprintf(out, "%d messages, best of %d rounds\n", r.Messages, r.Rounds)
	fmt.Fprintf(out, "%-7s %10s %10s %10s %11s %11s %11s %9s %9s\n", "", "messages/s", "µs/message", "CPU µs", "× native", "fold µs", "× native", "gas costs", "peak MiB")
	for _, f := range r.Runners {
		if f.Skipped != "" {
			fmt.Fprintf(out, "%-7s skipped: %s\n", f.Name, f.Skipped)
			continue
		}
		fmt.Fprintf(out, "%-7s %10.0f %10.1f %10.1f %11.2f %11.2f %11.2f %8.0f%% %9.0f\n", f.Name, f.Rate, f.Micros, f.CPU, f.Ratio, f.Fold, f.FoldRatio, f.GasCost, f.PeakMiB)
	}
	fmt.Fprintf(out, "worst while a guest burns %d million gas (%.0f ms), and without it: all stopped for the collector %.2f ms (%.2f), a timer late %.2f ms (%.2f), a collection %.2f ms (%.2f)\n",
		r.Pause.Gas/1_000_000, r.Pause.Took, r.Pause.With.Stopped, r.Pause.Quiet.Stopped, r.Pause.With.Timer, r.Pause.Quiet.Timer, r.Pause.With.GC, r.Pause.Quiet.GC)
}
