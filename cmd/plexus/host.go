package main

// This file holds the verbs of the host's owner: invite, join, revoke, status, peers, offline, online, token.

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"plexus/sdk/client"
)

func (a *app) inviteCommand() *cobra.Command {
	var in client.InviteCreate
	cmd := &cobra.Command{
		Use: "invite", Short: "Print a ticket with which another machine joins",
		Long: `Make a ticket for your Network and print it, once. Whoever has it can join until it is used up, expires or is revoked:
pass it on as you would a password.`,
		Example: "  plexus invite\n  plexus invite --role reader --uses 5 --expires 1h\n  plexus invite list\n  plexus invite revoke ID",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.owner(cmd.Context())
			if err != nil {
				return err
			}
			inv, err := c.Invite(cmd.Context(), in)
			if err != nil {
				return err
			}
			return a.print(inv, func(w io.Writer) {
				fmt.Fprintln(w, inv.Ticket)
				a.note("for %d use(s) as %s until %s; on the other machine: plexus up --join TICKET", inv.Uses, inv.Role, inv.Expires)
			})
		},
	}
	cmd.Flags().StringVar(&in.Role, "role", "", "admin, writer or reader (default writer)")
	cmd.Flags().IntVar(&in.Uses, "uses", 0, "how many machines may use it (default 1)")
	cmd.Flags().StringVar(&in.ExpiresIn, "expires", "", "how long it holds, e.g. 1h (default 24h)")
	_ = cmd.RegisterFlagCompletionFunc("role", cobra.FixedCompletions([]string{"admin", "writer", "reader"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.AddCommand(a.inviteListCommand(), a.inviteRevokeCommand())
	return cmd
}

func (a *app) inviteListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List tickets, without their secrets", Example: "  plexus invite list -o json", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.owner(cmd.Context())
			if err != nil {
				return err
			}
			all, err := c.Invites(cmd.Context())
			if err != nil {
				return err
			}
			return printAll(a, all, func(w io.Writer, i client.Invite) {
				state := "until " + i.Expires
				if i.Revoked {
					state = "revoked"
				}
				fmt.Fprintf(w, "%s  %s  used %d of %d  %s\n", i.ID, i.Role, i.Used, i.Uses, state)
			})
		},
	}
	a.streamFlag(cmd)
	return cmd
}

func (a *app) inviteRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "End a ticket; who joined with it stays", Example: "  plexus invite revoke ID", Args: cobra.ExactArgs(1),
		RunE: a.revokes((*client.Client).RevokeInvite),
	}
}

// revokes runs a verb that ends what its one argument names.
func (a *app) revokes(end func(*client.Client, context.Context, string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := a.owner(cmd.Context())
		if err != nil {
			return err
		}
		if err := end(c, cmd.Context(), args[0]); err != nil {
			return err
		}
		return a.print(map[string]string{"revoked": args[0]}, func(io.Writer) { a.note("revoked %s", args[0]) })
	}
}

func (a *app) joinCommand() *cobra.Command {
	return &cobra.Command{
		Use: "join TICKET | -", Short: "Join the Network of a ticket",
		Long: `Make this machine a member of the Network a ticket is for. The daemon must run; plexus up --join TICKET starts it and
joins at once. The Network this machine was in before is left behind, and said.`,
		Example: "  plexus join plexus1…\n  ssh other plexus invite | plexus join -\n  plexus up --join plexus1…   # when no daemon runs yet",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.owner(cmd.Context())
			if client.IsUnreachable(err) {
				err = &client.Error{Code: client.CodeUnreachable, Detail: err.Error(), Hint: "start it and join at once with: plexus up" + dirFlag(a.dir) + " --join TICKET"}
			}
			if err != nil {
				return err
			}
			ticket, err := a.given(args[0])
			if err != nil {
				return err
			}
			res, err := c.Join(cmd.Context(), strings.TrimSpace(string(ticket)))
			if err != nil {
				return err
			}
			return a.print(res, func(w io.Writer) { printJoin(w, res) })
		},
	}
}

func printJoin(w io.Writer, r client.JoinResult) {
	fmt.Fprintf(w, "joined %s as %s, invited by %s\n", r.Network, r.Role, r.Inviter)
	for _, s := range r.LeftBehind {
		fmt.Fprintf(w, "left behind in the former Network: %s\n", oneLine(s, 128))
	}
}

func (a *app) revokeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "Shut a machine or a Node out of the Network",
		Long: `Revoke a host or a Node, by its ID. It is shut out at once; what it may have said is cut where you are. A revoked key
never comes back.`,
		Example: "  plexus peers\n  plexus revoke 12D3KooW…",
		Args:    cobra.ExactArgs(1),
		RunE:    a.revokes((*client.Client).Revoke),
	}
}

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Say how this machine is: Network, Spaces, peers", Example: "  plexus status\n  plexus status -o json", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.owner(cmd.Context())
			if err != nil {
				return err
			}
			s, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			return a.print(s, func(w io.Writer) { printStatus(w, s) })
		},
	}
}

func (a *app) peersCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "peers", Short: "List the other machines and how far they differ", Example: "  plexus peers\n  plexus peers -o json", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.owner(cmd.Context())
			if err != nil {
				return err
			}
			s, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			return printAll(a, s.Peers, printPeer)
		},
	}
	a.streamFlag(cmd)
	return cmd
}

func (a *app) offlineCommand(offline bool) *cobra.Command {
	word, short := "online", "Come back after plexus offline"
	if offline {
		word, short = "offline", "Cut this machine off from all others until plexus online"
	}
	return &cobra.Command{
		Use: word, Short: short, Example: "  plexus " + word, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.owner(cmd.Context())
			if err != nil {
				return err
			}
			if err := c.SetOffline(cmd.Context(), offline); err != nil {
				return err
			}
			return a.print(map[string]bool{"offline": offline}, func(io.Writer) { a.note("%s", word) })
		},
	}
}

func (a *app) tokenCommand() *cobra.Command {
	var key bool
	cmd := &cobra.Command{
		Use: "token", Short: "Print the token of a local Node, for HTTP clients",
		Long: `Print the token of the Node you act as (--as NAME makes one on first use). A token is a secret: it owns that Node.
With --access-key: the host's access key, with which programs register Nodes of their own.`,
		Example: "  curl -H \"Authorization: Bearer $(plexus token --as bot)\" http://127.0.0.1:8765/spaces\n  plexus token --access-key",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if key {
				c, err := a.owner(cmd.Context())
				if err != nil {
					return err
				}
				return a.print(map[string]string{"access_key": c.AccessKey}, func(w io.Writer) { fmt.Fprintln(w, c.AccessKey) })
			}
			cred, err := a.enter(cmd.Context(), "cli", a.nodeName(), "human")
			if err != nil {
				return err
			}
			return a.print(cred, func(w io.Writer) { fmt.Fprintln(w, cred.Token) })
		},
	}
	cmd.Flags().BoolVar(&key, "access-key", false, "print the host's access key instead")
	return cmd
}
