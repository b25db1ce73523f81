package main

// This file holds caller: programs that may ask for tasks without being Nodes (P2A).

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"plexus/sdk/client"
)

func (a *app) callerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "caller", Short: "Let programs ask for tasks by HTTP, without being a Node",
		Long: `A caller is a program that asks for tasks, such as a web shop's backend: by POST /p2a/tasks with a token that opens nothing else. It sees its
own tasks alone. docs/guides/p2a.md is a tour.`,
		Example: "  plexus caller add shop --space orders --type pack --rate 120\n  plexus caller list\n  plexus caller revoke shop",
	}
	cmd.AddCommand(a.callerAddCommand(), a.callerListCommand(), a.callerRotateCommand(), a.callerRevokeCommand())
	return cmd
}

func (a *app) callerAddCommand() *cobra.Command {
	var in client.CallerCreate
	var spaces []string
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Make a caller and print its token and webhook secret, once",
		Long: `Make a caller: a Node of this machine speaks for it in the Spaces given. Its token and the secret that its callbacks are signed with are
printed this once; the token is kept as a hash.`,
		Example: "  plexus caller add shop --space orders\n  plexus caller add shop --space orders --space returns --type pack,ship --rate 120 --expires 720h\n" +
			"  plexus caller add shop --space orders -o json | jq -r .token",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(spaces) == 0 {
				return wrongUse("give --space NAME", "which Space may it ask in?")
			}
			c, err := a.owner(cmd.Context())
			if err != nil {
				return err
			}
			in.Name = args[0]
			for _, s := range spaces {
				id, err := spaceID(cmd.Context(), c, s)
				if err != nil {
					return err
				}
				in.Spaces = append(in.Spaces, id)
			}
			made, err := c.AddCaller(cmd.Context(), in)
			if err != nil {
				return err
			}
			return a.printSecrets(made)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&spaces, "space", nil, "a Space it may ask in, by name or ID; may be given again")
	f.StringSliceVar(&in.Types, "type", nil, "a task type it may ask for; may be given again (default: all)")
	f.IntVar(&in.RatePerMin, "rate", 0, "requests a minute (default 60)")
	f.StringVar(&in.ExpiresIn, "expires", "", "how long its token holds, e.g. 720h (default: until it is revoked)")
	return cmd
}

func (a *app) printSecrets(s client.CallerSecrets) error {
	return a.print(s, func(w io.Writer) {
		if s.Token != "" {
			fmt.Fprintf(w, "token           %s\n", s.Token)
		}
		if s.WebhookSecret != "" {
			fmt.Fprintf(w, "webhook secret  %s\n", s.WebhookSecret)
		}
		a.note("for caller %s; this is shown once", oneLine(s.Name, 80))
	})
}

func (a *app) callerListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List callers, without their secrets", Example: "  plexus caller list\n  plexus caller list -o json", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.owner(cmd.Context())
			if err != nil {
				return err
			}
			all, err := c.Callers(cmd.Context())
			if err != nil {
				return err
			}
			return printAll(a, all, func(w io.Writer, c client.Caller) {
				types, state := "all types", "no end"
				if len(c.Types) > 0 {
					types = oneLine(strings.Join(c.Types, ","), 60)
				}
				switch {
				case c.Revoked:
					state = "revoked"
				case c.Expires != "":
					state = "until " + c.Expires
				}
				fmt.Fprintf(w, "%-20s %s  %d space(s)  %s  %d/min  %s  %d open, %d callbacks wait\n", oneLine(c.Name, 20), c.ID, len(c.Spaces), types, c.RatePerMin, state, c.OpenTasks, c.Waiting)
			})
		},
	}
	a.streamFlag(cmd)
	return cmd
}

func (a *app) callerRotateCommand() *cobra.Command {
	var in client.CallerRotate
	cmd := &cobra.Command{
		Use: "rotate NAME | ID", Short: "Give a caller a new token, or a new webhook secret",
		Long: `Make a new token for a caller and print it; the old one ends at once. With --webhook: a new webhook secret, beside which the old one signs for a
day, so that receivers can be changed one after the other.`,
		Example: "  plexus caller rotate shop\n  plexus caller rotate shop --webhook",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.owner(cmd.Context())
			if err != nil {
				return err
			}
			got, err := c.RotateCaller(cmd.Context(), args[0], in)
			if err != nil {
				return err
			}
			return a.printSecrets(got)
		},
	}
	cmd.Flags().BoolVar(&in.Webhook, "webhook", false, "the webhook secret instead of the token")
	return cmd
}

func (a *app) callerRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME | ID", Short: "End a caller's token at once; its open tasks go on", Example: "  plexus caller revoke shop", Args: cobra.ExactArgs(1),
		RunE: a.revokes((*client.Client).RevokeCaller),
	}
}
