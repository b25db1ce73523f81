package main

// This file holds plugin bisect: the first message of which two hosts make different things.

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"plexus/sdk/client"
)

func (a *app) pluginBisectCommand() *cobra.Command {
	var in client.BisectAsk
	cmd := &cobra.Command{
		Use: "bisect NAME --space SPACE", Short: "Find the message at which two hosts' states part",
		Long: `Hosts with the same messages must fold them to the same state, and they compare. Where a member's state of a plugin differs (plexus status and plugin list
say so), find the first message of which the two make different things: both fold the Space anew and compare hashes, closer and closer. It names the message,
what each engine made of it, and the engines. Where the engines agree, it says whose kept state isn't what the messages give.`,
		Example: "  plexus plugin bisect tally --space release-42\n  plexus plugin bisect tally --space release-42 --peer 12D3KooW… -o json",
		Args:    cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&in.Peer, "peer", "", "the member's host (default: one that differs, or else any that is connected)")
	return a.inSpace(cmd, func(ctx context.Context, c *client.Client, space string, args []string) error {
		b, err := c.BisectPlugin(ctx, space, args[0], in)
		if err != nil {
			return err
		}
		return a.print(b, func(w io.Writer) { printBisection(w, b) })
	})
}

func printBisection(w io.Writer, b client.Bisection) {
	fmt.Fprintf(w, "plugin    %s, file %s\npeer      %s\n", plain(b.Plugin), plain(b.File), plain(b.Peer))
	switch {
	case b.Message != nil:
		fmt.Fprintf(w, "they part at this message (found in %d rounds, %.1f s):\n  ", b.Rounds, b.Seconds)
		var text strings.Builder
		printMessage(&text, *b.Message)
		fmt.Fprintln(w, strings.ReplaceAll(strings.TrimRight(text.String(), "\n"), "\n", "\n  "))
		printJudged(w, "here", b.Here)
		printJudged(w, "there", b.There)
	case b.Until != "":
		fmt.Fprintf(w, "they agree up to entry %s\n", plain(b.Until))
	default:
		fmt.Fprintf(w, "they agree\n")
	}
	if b.Damaged != "" {
		fmt.Fprintf(w, "damaged   the state that %s keeps\n", plain(b.Damaged))
	}
	if b.Note != "" {
		fmt.Fprintf(w, "note      %s\n", plain(b.Note))
	}
}

func printJudged(w io.Writer, where string, j *client.Judged) {
	if j == nil {
		return
	}
	outcome := orDash(oneLine(j.Outcome, 20))
	if j.Reason != "" {
		outcome += " (" + oneLine(j.Reason, 300) + ")"
	}
	fmt.Fprintf(w, "%-9s %s, %d gas, state %.16s, by %s\n", where, outcome, j.Gas, plain(j.Hash), oneLine(j.Engine, 130))
}

// printDisagreement is a line about a member whose plugin state differs.
func printDisagreement(w io.Writer, d client.Disagreement) {
	fmt.Fprintf(w, "differs  plugin %s in %s: here %.12s (%s), at %s %.12s (%s); plexus plugin bisect %[1]s --space %[2]s --peer %[5]s\n",
		plain(d.Plugin), plain(d.Space), plain(d.Here.Hash), oneLine(d.Here.Engine, 60), plain(d.Peer), plain(d.There.Hash), oneLine(d.There.Engine, 60))
}
