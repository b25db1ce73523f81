package main

// This file holds the verbs by which a Space gets plugins: pin, unpin, list. diff and bisect have files of their own.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"plexus/sdk/client"
)

func (a *app) pinCommands() []*cobra.Command {
	return []*cobra.Command{a.pluginPinCommand(), a.pluginUnpinCommand(), a.pluginListCommand(), a.pluginGrantCommand(), a.pluginDiffCommand(), a.pluginBisectCommand()}
}

// inSpace adds the flag that says where, and asks the daemon as its owner.
func (a *app) inSpace(cmd *cobra.Command, run func(ctx context.Context, c *client.Client, space string, args []string) error) *cobra.Command {
	var space string
	cmd.Flags().StringVar(&space, "space", "", "the Space, by name or ID")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if space == "" {
			return wrongUse("give --space NAME", "which Space?")
		}
		c, err := a.owner(cmd.Context())
		if err != nil {
			return err
		}
		id, err := spaceID(cmd.Context(), c, space)
		if err != nil {
			return err
		}
		return run(cmd.Context(), c, id, args)
	}
	return cmd
}

func (a *app) pluginPinCommand() *cobra.Command {
	var in client.Pin
	cmd := &cobra.Command{
		Use: "pin FILE | DIR | CID", Short: "Have a Space's members run a plugin",
		Long: `Pin the plugins of a file in a Space, as an admin: every member's host fetches the file by its CID from whoever has it, checks it, and
folds the Space from its first message. A pin of a name that is pinned already takes its place once its state is made. DIR is a project with its
plugin.wasm built; a CID alone is fetched from the other members first. What its commands and reactions ask for (the clock, timers, …) each user
grants on their own machine: plexus plugin grant.`,
		Example: "  plexus plugin pin plugin.wasm --space release-42\n  plexus plugin pin tally --space release-42 --name tally\n" +
			"  plexus plugin pin bafkrei… --space release-42",
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&in.Name, "name", "", "pin this one of the file's plugins (default: all)")
	cmd.Flags().StringVar(&in.CID, "cid", "", "the CID the file must have")
	return a.inSpace(cmd, func(ctx context.Context, c *client.Client, space string, args []string) error {
		if err := toPin(&in, args[0]); err != nil {
			return err
		}
		got, err := c.PinPlugin(ctx, space, in)
		if err != nil {
			return err
		}
		return a.print(got, func(w io.Writer) {
			fmt.Fprintln(w, got.File)
			a.note("pinned %s; plexus plugin list --space shows how far it is", plain(strings.Join(got.Plugins, ", ")))
		})
	})
}

// toPin takes an argument for a file or folder where there is one, else for a CID where it looks like one.
func toPin(in *client.Pin, arg string) error {
	if _, err := os.Stat(arg); errors.Is(err, os.ErrNotExist) && strings.HasPrefix(arg, "bafk") && in.CID == "" {
		in.CID = arg
		return nil
	}
	wasm, err := readPlugin(arg)
	in.Wasm = wasm
	return err
}

func (a *app) pluginUnpinCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "unpin NAME", Short: "Take a pin back", Example: "  plexus plugin unpin tally --space release-42", Args: cobra.ExactArgs(1),
		Long: `Take a plugin's pin in a Space back, as an admin. Its state is dropped everywhere; the messages stay. Where the daemon has a plugin of its own by
that name, that one runs again.`,
	}
	return a.inSpace(cmd, func(ctx context.Context, c *client.Client, space string, args []string) error {
		if err := c.UnpinPlugin(ctx, space, args[0]); err != nil {
			return err
		}
		return a.print(map[string]string{"unpinned": args[0]}, func(io.Writer) { a.note("unpinned %s", plain(args[0])) })
	})
}

func (a *app) pluginListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "Show a Space's plugins and how far they are", Args: cobra.NoArgs,
		Long: `List the plugins of a Space: the daemon's own and those pinned, with the file's CID and the state here. missing: the file is being fetched from
other members; refused: it can't run; compiling; folding: the state is behind the messages; current.`,
		Example: "  plexus plugin list --space release-42\n  plexus plugin list --space release-42 -o json",
	}
	a.streamFlag(cmd)
	return a.inSpace(cmd, func(ctx context.Context, c *client.Client, space string, _ []string) error {
		list, err := c.Plugins(ctx, space)
		if err != nil {
			return err
		}
		return printAll(a, list, func(w io.Writer, p client.Plugin) {
			whose := "own"
			if p.Pinned {
				whose = "pinned"
			}
			fmt.Fprintf(w, "%-12s %-8s %-6s  %-9s  %d folded, %d marked  %s\n", plain(p.Name), orDash(oneLine(p.Version, 20)), whose, p.State, p.Folded, p.Marked, plain(p.File))
			if len(p.Asks) > len(p.Granted) {
				fmt.Fprintf(w, "  asks for %s, granted: %s; plexus plugin grant %s --space …\n", oneLine(strings.Join(p.Asks, " "), 60), orDash(strings.Join(p.Granted, " ")), plain(p.Name))
			}
			if p.Fault != "" {
				fmt.Fprintf(w, "  %s\n", oneLine(p.Fault, 400))
			}
			for _, d := range p.Disagree {
				fmt.Fprint(w, "  ")
				printDisagreement(w, d)
			}
		})
	})
}
