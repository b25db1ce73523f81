package main

// This file holds trust: how far this machine's user trusts others, and what that lets plugins do without asking.

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"plexus/sdk/client"
)

func (a *app) trustCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "trust", Short: "Say how far you trust a Node, and what that lets it do unasked",
		Long: `Say how far you trust a Node: unknown, known, trusted or owner. Where you say nothing, this machine's own Nodes are owner, members of the Network
known, others unknown. It is this machine's policy alone: nobody else is told, and no Space's state depends on it. What it decides here: whether a task is
confirmed without asking (task/confirm; nobody's, unless you say from which level on), whom agents may invoke by themselves (capability/invoke; from known
on), whose votes the view of a ballot counts beside the result (ballot/count; from known on).`,
		Example: "  plexus trust set reviewer trusted\n  plexus trust set 12D3KooW… unknown --space release-42\n" +
			"  plexus trust need task/confirm trusted\n  plexus trust list",
	}
	cmd.AddCommand(a.trustSetCommand(), a.trustNeedCommand(), a.trustListCommand())
	return cmd
}

// somewhere adds the flag that says in which Space, or in all, and asks the daemon as its owner.
func (a *app) somewhere(cmd *cobra.Command, run func(ctx context.Context, c *client.Client, space string, args []string) error) *cobra.Command {
	var space string
	cmd.Flags().StringVar(&space, "space", "", "in this Space alone, by name or ID (default: in all)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.owner(cmd.Context())
		if err != nil {
			return err
		}
		id := ""
		if space != "" {
			if id, err = spaceID(cmd.Context(), c, space); err != nil {
				return err
			}
		}
		return run(cmd.Context(), c, id, args)
	}
	return cmd
}

func (a *app) trustSetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "set NODE LEVEL", Short: "Trust a Node: unknown, known, trusted, owner; default takes it back",
		Example: "  plexus trust set reviewer trusted\n  plexus trust set reviewer known --space release-42\n  plexus trust set reviewer default",
		Args:    cobra.ExactArgs(2),
	}
	return a.somewhere(cmd, func(ctx context.Context, c *client.Client, space string, args []string) error {
		ids := args[:1]
		if !strings.HasPrefix(ids[0], "12D3KooW") { // an ID is taken though nobody here knows it yet
			var err error
			if ids, err = nodeIDs(ctx, c, ids); err != nil {
				return err
			}
		}
		if err := c.SetTrust(ctx, ids[0], client.TrustSet{Level: args[1], SpaceID: space}); err != nil {
			return err
		}
		out := client.TrustedNode{Node: ids[0], Level: args[1], Set: args[1] != client.TrustDefault, SpaceID: space}
		return a.print(out, func(w io.Writer) { printTrust(w, out) })
	})
}

func (a *app) trustNeedCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "need PLUGIN/ACTION LEVEL", Short: "Say from which level on a plugin acts without asking; nobody: never, default takes it back",
		Example: "  plexus trust need task/confirm trusted\n  plexus trust need capability/invoke trusted --space release-42\n  plexus trust need task/confirm default",
		Args:    cobra.ExactArgs(2),
	}
	return a.somewhere(cmd, func(ctx context.Context, c *client.Client, space string, args []string) error {
		in := client.TrustedAction{Action: args[0], Level: args[1], SpaceID: space}
		if err := c.SetNeeded(ctx, in); err != nil {
			return err
		}
		return a.print(in, func(w io.Writer) { printNeed(w, in) })
	})
}

func (a *app) trustListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "Show how far each Node is trusted, and what plugins may do unasked",
		Example: "  plexus trust list\n  plexus trust list --space release-42 -o json",
		Args:    cobra.NoArgs,
	}
	return a.somewhere(cmd, func(ctx context.Context, c *client.Client, space string, _ []string) error {
		p, err := c.Trust(ctx, space)
		if err != nil {
			return err
		}
		return a.print(p, func(w io.Writer) {
			for _, n := range p.Nodes {
				printTrust(w, n)
			}
			for _, n := range p.Actions {
				printNeed(w, n)
			}
		})
	})
}

func printTrust(w io.Writer, n client.TrustedNode) {
	said := ""
	switch {
	case n.SpaceID != "":
		said = "  (you said so, for this Space)"
	case n.Set:
		said = "  (you said so)"
	}
	fmt.Fprintf(w, "%-8s %s  %s%s\n", n.Level, n.Node, oneLine(n.Name, 40), said)
}

func printNeed(w io.Writer, n client.TrustedAction) {
	where := ""
	if n.SpaceID != "" {
		where = "  (in this Space)"
	}
	fmt.Fprintf(w, "%s needs %s%s\n", n.Action, n.Level, where)
}
