package main

// This file holds the verbs that look things up: spaces, nodes, view.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"plexus/sdk/client"
)

func (a *app) spacesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "spaces", Short: "List the Spaces known here",
		Example: "  plexus spaces\n  plexus spaces -o json\n  plexus spaces --stream | jq -r .name",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.asNode(cmd.Context(), func(c *client.Client) error {
				all, err := c.Spaces(cmd.Context())
				if err != nil {
					return err
				}
				return printAll(a, all, printSpace)
			})
		},
	}
	a.streamFlag(cmd)
	return cmd
}

func (a *app) nodesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "nodes", Short: "List the Nodes known here",
		Example: "  plexus nodes\n  plexus nodes -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.asNode(cmd.Context(), func(c *client.Client) error {
				all, err := c.Nodes(cmd.Context())
				if err != nil {
					return err
				}
				return printAll(a, all, printNode)
			})
		},
	}
	a.streamFlag(cmd)
	return cmd
}

func (a *app) viewCommand() *cobra.Command {
	var params string
	var pairs []string
	var hash, follow bool
	cmd := &cobra.Command{
		Use: "view SPACE PLUGIN [VIEW]", Short: "Ask a plugin what it made of a Space's messages",
		Long: `Ask a plugin for one of its views, as JSON. With --hash and no VIEW: the hash of its state, which is the same on every
machine that has the same messages. With --follow: the answer, and each one that differs from the last, until it is stopped.`,
		Example: "  plexus view release-42 checkpoint pending\n  plexus view release-42 checkpoint one --param id=c1\n" +
			"  plexus view release-42 checkpoint pending --follow --stream | jq -c .checkpoints\n  plexus view release-42 checkpoint --hash",
		Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := viewParams(params, pairs)
			if err != nil {
				return err
			}
			if hash == (len(args) == 3) || hash && follow {
				return wrongUse("plexus view SPACE PLUGIN VIEW, or plexus view SPACE PLUGIN --hash", "give a view or --hash")
			}
			if follow && a.output == "json" && !a.stream {
				return wrongUse("add --stream for JSON Lines", "what goes on is no one JSON document")
			}
			return a.asNode(cmd.Context(), func(c *client.Client) error {
				id, err := spaceID(cmd.Context(), c, args[0])
				if err != nil {
					return err
				}
				if hash {
					return a.stateHash(cmd, c, id, args[1])
				}
				if follow {
					return a.followView(cmd.Context(), c, id, args[1], args[2], p)
				}
				out, err := c.AnswerView(cmd.Context(), id, args[1], args[2], p)
				if err != nil {
					return err
				}
				if !out.Current {
					a.note("not current: the messages of the Space are still being folded, or another version is pinned; plexus plugin list --space %s says which", args[0])
				}
				return a.printAnswer(out.JSON)
			})
		},
	}
	cmd.Flags().StringVar(&params, "params", "", "the view's parameters as a JSON object")
	cmd.Flags().StringArrayVar(&pairs, "param", nil, "one parameter, name=value; may be given again")
	cmd.Flags().BoolVar(&follow, "follow", false, "go on: print each answer that differs from the last")
	a.streamFlag(cmd)
	cmd.Flags().BoolVar(&hash, "hash", false, "print the hash of the plugin's state")
	return cmd
}

func (a *app) printAnswer(answer json.RawMessage) error {
	if a.stream {
		return a.printJSON(answer)
	}
	return a.print(answer, func(w io.Writer) { fmt.Fprintln(w, plain(pretty(answer))) })
}

func (a *app) followView(ctx context.Context, c *client.Client, space, plugin, view string, params json.RawMessage) error {
	for answer, err := range c.WatchView(ctx, space, plugin, view, params) {
		if err == nil {
			err = a.printAnswer(answer)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *app) stateHash(cmd *cobra.Command, c *client.Client, space, plugin string) error {
	h, current, err := c.StateHash(cmd.Context(), space, plugin)
	if err != nil {
		return err
	}
	out := struct {
		Hash    string `json:"hash"`
		Current bool   `json:"current"`
	}{h, current}
	return a.print(out, func(w io.Writer) {
		fmt.Fprintln(w, h)
		if !current {
			a.note("some messages aren't folded in yet")
		}
	})
}

func viewParams(params string, pairs []string) (json.RawMessage, error) {
	if params != "" && len(pairs) > 0 {
		return nil, wrongUse("give --params or --param", "the parameters are given twice")
	}
	if params != "" {
		return object("--params", []byte(params))
	}
	if len(pairs) == 0 {
		return nil, nil
	}
	m := map[string]string{}
	for _, p := range pairs {
		k, v, ok := strings.Cut(p, "=")
		if !ok || k == "" {
			return nil, wrongUse("give --param name=value", "parameter %q has no name and value", p)
		}
		m[k] = v
	}
	return json.Marshal(m)
}

func pretty(raw json.RawMessage) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if enc.Encode(raw) != nil {
		return string(raw)
	}
	return strings.TrimSpace(b.String())
}
