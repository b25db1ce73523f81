package main

// This file holds the author's trials: test, and run over a live Space.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"plexus/plugins/kit"
	"plexus/sdk/client"
)

// pluginPoll is how often run looks for saved files and new messages.
const pluginPoll = 500 * time.Millisecond

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

func (a *app) pluginRunCommand() *cobra.Command {
	var space, params string
	var ask kit.Ask
	var once bool
	cmd := &cobra.Command{
		Use: "run [DIR | FILE] --space SPACE", Short: "Watch a live Space with a plugin under development",
		Long: `Fold a Space of the daemon with a plugin that isn't pinned, and show its views; again on every save and every new message. Nothing is
written to the Space. Everybody counts as allowed to speak, and roles and kinds of senders are left empty.`,
		Example: "  plexus plugin run --space release-42\n  plexus plugin run tally --space release-42 --view tally --params '{\"poll\":\"bafy…\"}'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if space == "" {
				return wrongUse("plexus plugin run --space SPACE", "which Space?")
			}
			if params != "" {
				if ask.Params = json.RawMessage(params); !json.Valid(ask.Params) {
					return wrongUse("give a JSON object", "--params isn't JSON")
				}
			}
			a.follows = !once
			a.stream = !once && a.output == "json"
			return a.runPlugin(cmd.Context(), argOr(args, "."), space, ask, once)
		},
	}
	cmd.Flags().StringVar(&space, "space", "", "the Space, by name or ID")
	cmd.Flags().StringVar(&ask.Name, "view", "", "the view to show (default: all that need no parameters)")
	cmd.Flags().StringVar(&params, "params", "", "the view's parameters as a JSON object")
	cmd.Flags().BoolVar(&once, "once", false, "show it once and end")
	return cmd
}

// runPlugin folds whenever the project or the Space has changed.
func (a *app) runPlugin(ctx context.Context, path, space string, ask kit.Ask, once bool) error {
	c, err := a.owner(ctx)
	if err != nil {
		return err
	}
	id, err := spaceID(ctx, c, space)
	if err != nil {
		return err
	}
	w := pluginWatch{app: a, client: c, space: id, path: path}
	defer w.close(context.WithoutCancel(ctx))
	for {
		if err := w.look(ctx, ask); err != nil {
			if once || ctx.Err() != nil {
				return err
			}
			a.fail(err) // an author's mistake, or a daemon that starts again: go on watching
		}
		if once {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pluginPoll):
		}
	}
}

// pluginWatch is what run knows of the last look.
type pluginWatch struct {
	app         *app
	client      *client.Client
	space, path string
	saved       int64 // newest change of the files built
	messages    int   // in the Space when it was copied
	file        *kit.File
	live        *kit.Live
}

// look folds and prints where something has changed.
func (w *pluginWatch) look(ctx context.Context, ask kit.Ask) error {
	rebuilt, err := w.rebuild(ctx)
	if err != nil {
		return err
	}
	copied, err := w.copySpace(ctx)
	if err != nil || !rebuilt && !copied {
		return err
	}
	if w.file == nil {
		return nil // the build failed: that was said already
	}
	list, err := w.live.Fold(ctx, w.file, ask)
	if err != nil {
		return err
	}
	return w.app.print(list, func(out io.Writer) { printSnapshots(out, list) })
}

func (w *pluginWatch) rebuild(ctx context.Context) (bool, error) {
	info, err := os.Stat(w.path)
	if err != nil {
		return false, wrongUse("give a project's folder or a plugin file", "run %s: no such file or folder", w.path)
	}
	saved := info.ModTime().UnixNano()
	if info.IsDir() {
		if saved, err = kit.Changed(w.path); err != nil {
			return false, err
		}
	}
	if saved == w.saved {
		return false, nil
	}
	w.saved = saved
	wasm, err := pluginOf(ctx, w.path, info.IsDir())
	if err != nil {
		return false, err
	}
	f, err := kit.Open(ctx, wasm, true)
	if err != nil {
		return false, err
	}
	if w.file != nil {
		_ = w.file.Close(ctx)
	}
	w.file = f
	w.app.note("%s: built at %s", filepath.Clean(w.path), time.Now().Format(time.TimeOnly))
	return true, nil
}

func (w *pluginWatch) copySpace(ctx context.Context) (bool, error) {
	info, err := w.client.SpaceInfo(ctx, w.space)
	if err != nil {
		return false, err
	}
	if w.live != nil && info.MessageCount == w.messages {
		return false, nil
	}
	var car bytes.Buffer
	if err := w.client.Export(ctx, w.space, &car); err != nil {
		return false, err
	}
	live, err := kit.OpenLive(ctx, &car)
	if err != nil {
		return false, err
	}
	if w.live != nil {
		_ = w.live.Close()
	}
	w.live, w.messages = live, info.MessageCount
	return true, nil
}

func (w *pluginWatch) close(ctx context.Context) {
	if w.file != nil {
		_ = w.file.Close(ctx)
	}
	if w.live != nil {
		_ = w.live.Close()
	}
}

func printSnapshots(w io.Writer, list []kit.Snapshot) {
	for _, s := range list {
		fmt.Fprintf(w, "%s %s: %d messages folded, %d marked, at most %d gas, %.0f ms, state %.12s\n", s.Plugin, oneLine(s.Version, 40), s.Folded, len(s.Marked), s.MostGas, s.Seconds*1e3, s.Hash)
		for _, id := range slices.Sorted(maps.Keys(s.Marked)) {
			fmt.Fprintf(w, "  marked %s: %s\n", id, oneLine(s.Marked[id], 200))
		}
		for _, l := range s.Logs {
			fmt.Fprintf(w, "  log %s\n", oneLine(l, 300))
		}
		for _, v := range s.Views {
			if v.Refused != "" {
				fmt.Fprintf(w, "  %s: %s\n", v.View, plain(v.Refused))
				continue
			}
			fmt.Fprintf(w, "  %s: %s\n", v.View, plain(pretty(v.Answer)))
		}
	}
}
