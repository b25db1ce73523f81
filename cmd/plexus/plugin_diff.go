package main

// This file holds plugin diff: what a version would change in a Space before it is pinned there.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"plexus/sdk/client"
)

func (a *app) pluginDiffCommand() *cobra.Command {
	var in client.PluginDiffAsk
	var params string
	cmd := &cobra.Command{
		Use: "diff FILE | DIR | CID [NAME] --space SPACE", Short: "Show what another version would change in a Space",
		Long: `Fold a Space's messages with a plugin file that isn't pinned, beside what runs there now, and compare: the state's hash and keys, the messages that one
refuses and the other takes, gas, and the answers of views: those that need no parameters, and those of the file's golden trace whose parameters name nothing of
the trace; or the one that --view names. Nothing is written to the Space. DIR is a project with its plugin.wasm built; a CID alone is fetched from the other members first.`,
		Example: "  plexus plugin diff plugin.wasm --space release-42\n  plexus plugin diff tally --space release-42 --view tally --params '{\"poll\":\"bafy…\"}'\n" +
			"  plexus plugin diff bafkrei… tally --space release-42 -o json",
		Args: cobra.RangeArgs(1, 2),
	}
	cmd.Flags().StringVar(&in.View, "view", "", "compare this view alone")
	cmd.Flags().StringVar(&params, "params", "", "the view's parameters as a JSON object")
	return a.inSpace(cmd, func(ctx context.Context, c *client.Client, space string, args []string) error {
		var file client.Pin
		if err := toPin(&file, args[0]); err != nil {
			return err
		}
		if params != "" {
			if in.Params = json.RawMessage(params); !json.Valid(in.Params) || in.View == "" {
				return wrongUse("give --view NAME --params '{…}'", "--params must be JSON, and needs --view")
			}
		}
		in.Wasm, in.CID = file.Wasm, file.CID
		if len(args) > 1 {
			in.Name = args[1]
		}
		list, err := c.DiffPlugin(ctx, space, in)
		if err != nil {
			return err
		}
		return a.print(list, func(w io.Writer) {
			for _, d := range list {
				printDiff(w, d)
			}
		})
	})
}

func printDiff(w io.Writer, d client.PluginDiff) {
	verdict := "changes"
	switch {
	case d.Old == nil:
		verdict = "is new here"
	case d.Same:
		verdict = "makes the same"
	}
	fmt.Fprintf(w, "%s %s\n", plain(d.Plugin), verdict)
	row := func(name, old, next string) {
		if old == next || old == "" {
			fmt.Fprintf(w, "  %-9s %s\n", name, next)
			return
		}
		fmt.Fprintf(w, "  %-9s %s → %s\n", name, old, next)
	}
	var old client.PluginSide
	had := func(format string, x any) string {
		if d.Old == nil {
			return ""
		}
		return fmt.Sprintf(format, x)
	}
	if d.Old != nil {
		old = *d.Old
	}
	row("version", oneLine(old.Version, 40), oneLine(d.New.Version, 40))
	row("file", plain(old.File), plain(d.New.File))
	row("state", had("%.16s", plain(old.Hash)), fmt.Sprintf("%.16s", plain(d.New.Hash)))
	row("folded", had("%d", old.Folded), fmt.Sprint(d.New.Folded))
	row("marked", had("%d", old.Marked), fmt.Sprint(d.New.Marked))
	row("bytes", had("%d", old.Bytes), fmt.Sprint(d.New.Bytes))
	row("gas", had("%d", old.Gas), fmt.Sprint(d.New.Gas))
	row("most gas", had("%d", old.MostGas), fmt.Sprint(d.New.MostGas))
	if k := d.Keys; k.Added+k.Removed+k.Changed > 0 {
		fmt.Fprintf(w, "  keys      %d added, %d removed, %d changed: %s\n", k.Added, k.Removed, k.Changed, oneLine(strings.Join(k.Some, " "), 200))
	}
	for _, m := range d.Manifest {
		fmt.Fprintf(w, "  manifest  %s\n", oneLine(m, 100))
	}
	printMarkDiffs(w, d)
	for _, v := range d.Views {
		printViewDiff(w, v, d.Old != nil)
	}
}

func printMarkDiffs(w io.Writer, d client.PluginDiff) {
	taken := func(reason string) string {
		if reason == "" {
			return "taken"
		}
		return "marked (" + oneLine(reason, 100) + ")"
	}
	for _, m := range d.Marks {
		fmt.Fprintf(w, "  message   %s: %s → %s\n", plain(m.Message), taken(m.Old), taken(m.New))
	}
	if more := d.MarksDiffer - len(d.Marks); more > 0 {
		fmt.Fprintf(w, "  message   … and %d more\n", more)
	}
}

func printViewDiff(w io.Writer, v client.ViewDiff, both bool) {
	name := plain(v.View)
	if len(v.Params) > 0 {
		name += " " + oneLine(string(v.Params), 200)
	}
	answer := func(sign string, text json.RawMessage, refused string) {
		if refused != "" {
			fmt.Fprintf(w, "  %s %s\n", sign, plain(refused))
			return
		}
		fmt.Fprintf(w, "  %s %s\n", sign, strings.ReplaceAll(plain(pretty(text)), "\n", "\n  "+sign+" "))
	}
	if v.Same {
		fmt.Fprintf(w, "  view      %s: the same\n", name)
		return
	}
	fmt.Fprintf(w, "  view      %s:\n", name)
	if both {
		answer("-", v.Old, v.OldRefused)
	}
	answer("+", v.New, v.NewRefused)
}
