package main

// This file holds grant: what this machine's user lets a pinned plugin do.

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"plexus/sdk/client"
)

func (a *app) pluginGrantCommand() *cobra.Command {
	var none bool
	cmd := &cobra.Command{
		Use: "grant PLUGIN [GRANT…]", Short: "Let a pinned plugin see the clock, set timers, …",
		Long: `Let the commands and reactions of a pinned plugin have the effects they ask for, on this machine: now (the clock), random, timer, trust (whom
you trust). Without GRANT: all it asks for, which plexus plugin list shows; --none takes all back. Until then its commands are refused here; its
views and its state, which is the same on every machine, need no grant. A grant holds for the versions pinned later under that name in that
Space; what one of them asks for beyond it waits for you.`,
		Example: "  plexus plugin grant tally --space release-42\n  plexus plugin grant tally now --space release-42\n  plexus plugin grant tally --none --space release-42",
		Args:    cobra.MinimumNArgs(1),
	}
	cmd.Flags().BoolVar(&none, "none", false, "take all grants back")
	return a.inSpace(cmd, func(ctx context.Context, c *client.Client, space string, args []string) error {
		name, grants := args[0], args[1:]
		if none && len(grants) > 0 {
			return wrongUse("give grants, or --none", "grants and --none are both given")
		}
		if !none && len(grants) == 0 {
			list, err := c.Plugins(ctx, space)
			if err != nil {
				return err
			}
			for _, p := range list {
				if p.Name == name {
					grants = p.Asks
				}
			}
		}
		out, err := c.Grant(ctx, space, name, grants)
		if err != nil {
			return err
		}
		return a.print(out, func(w io.Writer) {
			fmt.Fprintf(w, "%s asks for %s; granted: %s\n", plain(name), orDash(strings.Join(out.Asks, " ")), orDash(strings.Join(out.Granted, " ")))
		})
	})
}
