package main

// This file holds the verbs that read messages: read, context, messages, inbox.

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"plexus/sdk/client"
)

func (a *app) readCommand() *cobra.Command {
	var q client.ReadQuery
	var wait time.Duration
	var format string
	cmd := &cobra.Command{
		Use: "read SPACE", Short: "Read a Space's messages",
		Long: `Read messages of a Space, given by name or ID. By default: those that name you, and open ones, but your own. With
--message: that message with what it follows and what follows it.`,
		Example: "  plexus read release-42 --all\n  plexus read release-42 --all --after bafy… --limit 20\n" +
			"  plexus read release-42 --all --order canonical -o json\n  plexus read release-42 --after bafy… --wait 30s\n" +
			"  plexus read release-42 --all --format synapse",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.asNode(cmd.Context(), func(c *client.Client) (err error) {
				if q.SpaceID, err = spaceID(cmd.Context(), c, args[0]); err != nil {
					return err
				}
				if format != "" {
					return a.readEnvelopes(cmd.Context(), c, q, format)
				}
				p, err := a.readPage(cmd.Context(), c, q, wait)
				if err != nil {
					return err
				}
				return a.printPage(p)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&format, "format", "", "synapse: as Synapse's envelopes, in JSON; without -o json one a line")
	f.BoolVar(&q.All, "all", false, "every message")
	f.StringVarP(&q.MessageID, "message", "m", "", "this message and what it is connected with")
	f.StringVar(&q.Direction, "direction", "", "with --message: upstream (what it follows) or downstream")
	f.StringVar(&q.Order, "order", "", "with --all: canonical, the order all machines share")
	f.StringVar(&q.After, "after", "", "only what came after the message of this ID")
	f.IntVar(&q.Limit, "limit", pageLimit, "at most so many messages: the newest, or with --after the oldest after it")
	f.DurationVar(&wait, "wait", 0, "where there is nothing, wait so long for news; exit 5 if none came")
	cmd.MarkFlagsMutuallyExclusive("format", "wait")
	a.streamFlag(cmd)
	return cmd
}

func readLimit(q client.ReadQuery) (client.ReadQuery, error) {
	if q.Limit < 1 || q.Limit > listLimit {
		return q, wrongUse("give --limit 1 to 1000", "limit %d is out of range", q.Limit)
	}
	if q.Order != "" && q.After == "" {
		q.Limit = 0 // canonical order has no newest end to start from
	}
	return q, nil
}

// readPage reads; with wait it listens until there is something.
func (a *app) readPage(ctx context.Context, c *client.Client, q client.ReadQuery, wait time.Duration) (client.Page, error) {
	q, err := readLimit(q)
	if err != nil {
		return client.Page{}, err
	}
	p, err := c.Read(ctx, q)
	if err != nil || len(p.Messages) > 0 || wait <= 0 {
		return p, err
	}
	wctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	l := client.ListenQuery{SpaceID: q.SpaceID, MessageID: q.MessageID, After: q.After, FromStart: q.After == ""}
	for _, err := range c.Listen(wctx, l) {
		if err != nil {
			return p, err
		}
		if p, err = c.Read(wctx, q); err != nil || len(p.Messages) > 0 {
			return p, err
		}
	}
	if ctx.Err() != nil {
		return p, ctx.Err()
	}
	return p, &client.Error{Code: client.CodeTimeout, Detail: "no news within " + wait.String(), Hint: "wait again with the same --after"}
}

// readEnvelopes prints messages as Synapse's UnifiedSynapseMessage.
func (a *app) readEnvelopes(ctx context.Context, c *client.Client, q client.ReadQuery, format string) error {
	if format != "synapse" {
		return wrongUse("give --format synapse, or leave it out", "format %q isn't known", format)
	}
	q, err := readLimit(q)
	if err != nil {
		return err
	}
	p, err := c.ReadSynapse(ctx, q)
	if err != nil {
		return err
	}
	return a.printMore(p.Next, printAll(a, p.Messages, func(w io.Writer, e client.UnifiedSynapseMessage) {
		fmt.Fprintln(w, plain(string(e.AppendJSON(nil))))
	}))
}

func (a *app) printPage(p client.Page) error {
	return a.printMore(p.Next, printAll(a, p.Messages, printMessage))
}

// printMore says how the page that was printed goes on.
func (a *app) printMore(next string, err error) error {
	if err == nil && next != "" {
		a.note("more: --after %s", next)
	}
	return err
}

func (a *app) contextCommand() *cobra.Command {
	var direction string
	cmd := &cobra.Command{
		Use: "context SPACE MESSAGE", Short: "Show what a message follows and what follows it",
		Example: "  plexus context release-42 bafy…\n  plexus context release-42 bafy… --direction upstream",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.asNode(cmd.Context(), func(c *client.Client) error {
				id, err := spaceID(cmd.Context(), c, args[0])
				if err != nil {
					return err
				}
				p, err := c.Read(cmd.Context(), client.ReadQuery{SpaceID: id, MessageID: args[1], Direction: direction, Limit: listLimit})
				if err != nil {
					return err
				}
				return a.printPage(p)
			})
		},
	}
	cmd.Flags().StringVar(&direction, "direction", "", "upstream (what it follows) or downstream (what follows it)")
	a.streamFlag(cmd)
	return cmd
}

func (a *app) messagesCommand() *cobra.Command {
	var q client.FindQuery
	cmd := &cobra.Command{
		Use: "messages", Short: "Find messages across Spaces",
		Example: "  plexus messages --sender reviewer\n  plexus messages --space release-42 --ref-message bafy… -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.asNode(cmd.Context(), func(c *client.Client) error {
				if err := a.resolve(cmd.Context(), c, &q); err != nil {
					return err
				}
				p, err := c.Find(cmd.Context(), q)
				if err != nil {
					return err
				}
				return a.printPage(p)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.SpaceID, "space", "", "of this Space (name or ID)")
	f.StringVarP(&q.MessageID, "message", "m", "", "of this ID")
	f.StringVar(&q.NodeID, "node", "", "that this Node sent, or that name it (name or ID)")
	f.StringVar(&q.Sender, "sender", "", "that this Node sent (name or ID)")
	f.StringVar(&q.RefMessage, "ref-message", "", "that follow this message")
	f.StringVar(&q.RefNode, "ref-node", "", "that name this Node (name or ID)")
	f.StringVar(&q.After, "after", "", "only what came after the message of this ID")
	f.IntVar(&q.Limit, "limit", pageLimit, "at most so many messages: the newest, or with --after the oldest after it")
	a.streamFlag(cmd)
	return cmd
}

// resolve turns names into IDs.
func (a *app) resolve(ctx context.Context, c *client.Client, q *client.FindQuery) (err error) {
	if q.Limit < 1 || q.Limit > listLimit {
		return wrongUse("give --limit 1 to 1000", "limit %d is out of range", q.Limit)
	}
	if q.SpaceID != "" {
		if q.SpaceID, err = spaceID(ctx, c, q.SpaceID); err != nil {
			return err
		}
	}
	for _, n := range []*string{&q.NodeID, &q.Sender, &q.RefNode} {
		if *n == "" {
			continue
		}
		ids, err := nodeIDs(ctx, c, []string{*n})
		if err != nil {
			return err
		}
		*n = ids[0]
	}
	return nil
}

func (a *app) inboxCommand() *cobra.Command {
	var all bool
	var after string
	var limit int
	cmd := &cobra.Command{
		Use: "inbox", Short: "Show what waits for you",
		Long: `Show messages that name you and that you haven't acknowledged, oldest first. Shown is not read: each stays until
plexus inbox ack.`,
		Example: "  plexus inbox\n  plexus inbox --all\n  plexus inbox ack bafy…\n  plexus inbox --as reviewer -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 || limit > listLimit {
				return wrongUse("give --limit 1 to 1000", "limit %d is out of range", limit)
			}
			return a.asNode(cmd.Context(), func(c *client.Client) error {
				p, err := c.Inbox(cmd.Context(), "", after, limit, !all)
				if err != nil {
					return err
				}
				return a.printPage(p)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "acknowledged ones too")
	cmd.Flags().StringVar(&after, "after", "", "only what came after the message of this ID")
	cmd.Flags().IntVar(&limit, "limit", 0, "the newest so many, or with --after the oldest after it (default: from the oldest)")
	a.streamFlag(cmd)
	cmd.AddCommand(a.ackCommand())
	return cmd
}

func (a *app) ackCommand() *cobra.Command {
	return &cobra.Command{
		Use: "ack MESSAGE…", Short: "Acknowledge messages: they leave the inbox",
		Example: "  plexus inbox ack bafy…",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.asNode(cmd.Context(), func(c *client.Client) error {
				if err := c.Ack(cmd.Context(), "", args); err != nil {
					return err
				}
				return a.print(map[string][]string{"acknowledged": args}, func(io.Writer) {
					a.note("acknowledged %d", len(args))
				})
			})
		},
	}
}
