package main

// This file holds `plexus waiting`: what waits for a Node to act, over all Spaces.

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"plexus/sdk/client"
)

func (a *app) waitingCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "waiting", Short: "Show what waits for you to act, over all Spaces",
		Long: `Show what waits for you to act, over all Spaces, as the plugins see it: decisions to make, checkpoints to answer, votes to cast,
tasks to take up. plexus inbox shows the messages that name you.`,
		Example: "  plexus waiting\n  plexus waiting --as reviewer -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.asNode(cmd.Context(), func(c *client.Client) error {
				all, err := c.Waiting(cmd.Context(), "")
				if err != nil {
					return err
				}
				if len(all) == 0 {
					a.note("nothing waits for you")
				}
				return printAll(a, all, printWaiting)
			})
		},
	}
	a.streamFlag(cmd)
	return cmd
}

// printWaiting is a line of where, and one for each item: what it is about and its ID, which commands take.
func printWaiting(w io.Writer, group client.Waiting) {
	fmt.Fprintf(w, "%s  %s %s\n", oneLine(group.Space, 64), oneLine(group.Plugin, 32), oneLine(group.View, 32))
	for _, raw := range group.Items {
		var item map[string]any
		if json.Unmarshal(raw, &item) != nil {
			item = map[string]any{"text": string(raw)}
		}
		about := firstText(item, "question", "title", "text", "finding", "task_type", "id")
		fmt.Fprintf(w, "    %s  %s\n", oneLine(firstText(item, "decision", "ballot", "task", "handoff", "message"), 64), oneLine(about, 100))
	}
	if group.More {
		fmt.Fprintf(w, "    more: plexus view %s %s %s\n", group.SpaceID, oneLine(group.Plugin, 32), oneLine(group.View, 32))
	}
}

// firstText is the first of an item's fields that is text.
func firstText(item map[string]any, fields ...string) string {
	for _, f := range fields {
		if s, ok := item[f].(string); ok && s != "" {
			return s
		}
	}
	return "-"
}
