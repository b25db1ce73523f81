package main

// This file holds plugin test.

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"plexus/plugins/kit"
)

func (a *app) pluginTestCommand() *cobra.Command {
	var o kit.TestOptions
	var trace string
	var update bool
	cmd := &cobra.Command{
		Use: "test [DIR | FILE]", Short: "Prove that a plugin's state converges",
		Long: `Replay the golden trace and compare views and state; then deliver it in ` + fmt.Sprint(kit.Orders) + ` other orders, with rollbacks and authors
withdrawn in between, on fresh instances and on the other engine: the same state and gas each time. Then send made-up contents: nothing
may trap. DIR is a project, which is built first; FILE a plugin that is built.`,
		Example: "  plexus plugin test\n  plexus plugin test tally --update     # take this state's hash into trace.json\n  plexus plugin test plugin.wasm --trace other.json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := argOr(args, ".")
			info, err := os.Stat(path)
			if err != nil {
				return wrongUse("give a project's folder or a plugin file", "test %s: no such file or folder", path)
			}
			if update && !info.IsDir() {
				return wrongUse("give the project's folder", "--update writes into a project")
			}
			return a.testPlugin(cmd.Context(), path, info.IsDir(), trace, update, o)
		},
	}
	cmd.Flags().StringVar(&trace, "trace", "", "a golden trace instead of the file's own")
	cmd.Flags().BoolVar(&update, "update", false, "write the state's hash into the project's trace.json")
	cmd.Flags().Uint64Var(&o.Seed, "seed", 1, "where orders and contents are drawn from")
	cmd.Flags().IntVar(&o.Fuzz, "fuzz", kit.Fuzzed, "messages with made-up contents; 0: none")
	return cmd
}

func (a *app) testPlugin(ctx context.Context, path string, project bool, trace string, update bool, o kit.TestOptions) error {
	wasm, err := pluginOf(ctx, path, project)
	if err != nil {
		return err
	}
	f, err := kit.Open(ctx, wasm, true)
	if err != nil {
		return err
	}
	defer f.Close(ctx)
	traces, err := tracesOf(f, trace)
	if err != nil {
		return err
	}
	if len(traces) == 0 {
		return wrongUse("put a trace.json beside manifest.json: docs/guides/write-a-plugin.md shows one", "%s has no golden trace", path)
	}
	var results []*kit.TestResult
	for _, name := range slices.Sorted(maps.Keys(traces)) {
		t := traces[name]
		if update {
			t.Hash = ""
		}
		r, err := f.Test(ctx, name, t, o)
		if err != nil {
			return err
		}
		if results = append(results, r); update && r.Passed {
			file, err := kit.UpdateTrace(path, name, r.Hash)
			if err != nil {
				return err
			}
			a.note("wrote the hash into %s", file)
		}
	}
	if err := a.print(results, func(w io.Writer) { printTests(w, results) }); err != nil {
		return err
	}
	if slices.ContainsFunc(results, func(r *kit.TestResult) bool { return !r.Passed }) {
		return fmt.Errorf("%s fails its test", path)
	}
	return nil
}

// pluginOf builds a project or reads a file.
func pluginOf(ctx context.Context, path string, project bool) ([]byte, error) {
	if project {
		return kit.Build(ctx, path, false)
	}
	return readPlugin(path)
}

// tracesOf are the file's golden traces, or another for its one plugin.
func tracesOf(f *kit.File, trace string) (map[string]*kit.Trace, error) {
	if trace == "" {
		return f.Traces()
	}
	names := f.Plugins()
	if len(names) != 1 {
		return nil, wrongUse("put each trace beside its plugin's manifest", "--trace is for files with one plugin")
	}
	b, err := os.ReadFile(trace)
	if err != nil {
		return nil, wrongUse("give a trace's file", "%s", err)
	}
	t, err := kit.ParseTrace(b)
	return map[string]*kit.Trace{names[0]: t}, err
}

func printTests(w io.Writer, results []*kit.TestResult) {
	for _, r := range results {
		verdict := "ok"
		if !r.Passed {
			verdict = "FAILED"
		}
		var gas int64
		for _, g := range r.Gas {
			gas += g
		}
		fmt.Fprintf(w, "%s %s\n", r.Plugin, verdict)
		fmt.Fprintf(w, "  trace     %d messages, %d gas\n  state     %s\n", r.Messages, gas, r.Hash)
		for _, d := range r.Differ {
			fmt.Fprintf(w, "  differs   %s\n", plain(d))
		}
		if r.Diverged != "" {
			fmt.Fprintf(w, "  diverges  %s\n", plain(r.Diverged))
		} else {
			fmt.Fprintf(w, "  converges in %d orders, on fresh instances, compiled and interpreted\n", r.Orders)
		}
		if z := r.Fuzzing; z != nil {
			fmt.Fprintf(w, "  contents  %d made up: %d taken, %d refused, at most %d of %d gas\n", z.Messages, z.Taken, z.Refused, z.MaxGas, z.Limit)
			for _, t := range z.Traps {
				fmt.Fprintf(w, "  trap      %s, on a %s with %s\n", plain(t.Reason), t.Type, oneLine(string(t.Content), 300))
			}
		}
		for _, l := range r.Logs {
			fmt.Fprintf(w, "  log       %s\n", oneLine(l, 300))
		}
	}
}
