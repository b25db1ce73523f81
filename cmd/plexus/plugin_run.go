package main

// This file holds plugin run: a live Space seen through a plugin under development.

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
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plexus/plugins/kit"
	"plexus/sdk/client"
)

// pluginPoll is how often run looks for saved files and new messages.
const pluginPoll = 500 * time.Millisecond

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
			fmt.Fprintf(w, "  %s: %s\n", v.View, strings.ReplaceAll(plain(pretty(v.Answer)), "\n", "\n  "))
		}
	}
}
