package main

// This file holds react: a plugin speaks by itself, as a Node of this machine.

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"plexus/sdk/client"
)

func (a *app) pluginReactCommand() *cobra.Command {
	var space string
	cmd := &cobra.Command{
		Use: "react PLUGIN on|off", Short: "Let a plugin speak by itself, as this Node",
		Long: `Let a plugin answer messages and timers by itself, as this Node (--as), or no longer. It answers what comes from now on, each message once,
over restarts too. Off is how it begins: nothing speaks for you unless you say so.`,
		Example: "  plexus plugin react task on --space release-42 --as worker\n  plexus plugin react task off --space release-42 --as worker",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if space == "" {
				return wrongUse("give --space NAME", "which Space?")
			}
			if args[1] != "on" && args[1] != "off" {
				return wrongUse("plexus plugin react PLUGIN on, or off", "%q is neither on nor off", args[1])
			}
			return a.asNode(cmd.Context(), func(c *client.Client) error {
				id, err := spaceID(cmd.Context(), c, space)
				if err != nil {
					return err
				}
				if err := c.React(cmd.Context(), id, args[0], args[1] == "on"); err != nil {
					return err
				}
				out := client.React{On: args[1] == "on"}
				return a.print(out, func(w io.Writer) { fmt.Fprintf(w, "%s reacts: %s\n", plain(args[0]), args[1]) })
			})
		},
	}
	cmd.Flags().StringVar(&space, "space", "", "the Space, by name or ID")
	return cmd
}
