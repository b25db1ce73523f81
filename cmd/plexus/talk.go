package main

// This file holds the verbs that say something: space, send.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"plexus/sdk/client"
)

func (a *app) spaceCommand() *cobra.Command {
	in := client.SpaceCreate{}
	cmd := &cobra.Command{
		Use: "space NAME", Short: "Create or join the Space of that name",
		Long: `Create the Space of that name, or join it: the same name is the same Space on every machine of the Network. Joining
again changes only the description and tags.`,
		Example: "  plexus space release-42\n  plexus space release-42 --description 'I sign off releases' --tag release",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Name = args[0]
			return a.asNode(cmd.Context(), func(c *client.Client) error {
				info, err := c.Space(cmd.Context(), in)
				if err != nil {
					return err
				}
				return a.print(info, func(w io.Writer) { printSpace(w, info) })
			})
		},
	}
	cmd.Flags().StringVarP(&in.Description, "description", "d", "joined from the command line", "what you do in this Space")
	cmd.Flags().StringArrayVar(&in.Tags, "tag", nil, "a tag of the Space; may be given again")
	return cmd
}

// sending is what send's flags say.
type sending struct {
	json, kind, meta, schema, key string
	replyTo, to                   []string
}

func (a *app) sendCommand() *cobra.Command {
	var s sending
	cmd := &cobra.Command{
		Use: "send SPACE [TEXT | -]", Short: "Send a message",
		Long: `Send a message to a Space, given by name or ID. TEXT becomes {"text": TEXT}; --json gives the whole content. With -
the text, or with --json - the content, is read from standard input.`,
		Example: "  plexus send release-42 'all tests are green'\n" +
			"  plexus send release-42 --json '{\"status\":\"done\"}' --type handoff --to reviewer\n" +
			"  plexus send release-42 'I agree' --reply-to bafy…\n" +
			"  git log -1 | plexus send release-42 -",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.asNode(cmd.Context(), func(c *client.Client) error { return a.send(cmd.Context(), c, s, args) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.json, "json", "", "the content as a JSON object, or - for standard input")
	f.StringVarP(&s.kind, "type", "t", "", "the content type, e.g. checkpoint")
	f.StringArrayVarP(&s.replyTo, "reply-to", "r", nil, "ID of a message this one follows; may be given again")
	f.StringArrayVar(&s.to, "to", nil, "name or ID of a Node it is for; may be given again")
	f.StringVar(&s.meta, "meta", "", "meta as a JSON object")
	f.StringVar(&s.schema, "schema", "", "a JSON Schema that answers should follow")
	f.StringVar(&s.key, "key", "", "idempotency key: the same key again sends nothing new")
	return cmd
}

func (a *app) send(ctx context.Context, c *client.Client, s sending, args []string) error {
	in, err := a.draft(s, args)
	if err != nil {
		return err
	}
	id, err := spaceID(ctx, c, args[0])
	if err != nil {
		return err
	}
	if len(s.to) > 0 {
		if in.Refs.Nodes, err = nodeIDs(ctx, c, s.to); err != nil {
			return err
		}
	}
	m, err := c.Send(ctx, id, in)
	if err != nil {
		return err
	}
	return a.print(m, func(w io.Writer) { fmt.Fprintln(w, m.ID) })
}

func nodeIDs(ctx context.Context, c *client.Client, names []string) ([]string, error) {
	all, err := c.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, n := range names {
		id, err := nodeID(all, n)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// draft makes the message of flags, arguments and standard input.
func (a *app) draft(s sending, args []string) (client.SendMessage, error) {
	in := client.SendMessage{ContentType: s.kind, IdempotencyKey: s.key, Refs: &client.Ref{Messages: s.replyTo}}
	var err error
	switch {
	case s.json != "" && len(args) == 2:
		return in, wrongUse("give TEXT or --json, not both", "the content is given twice")
	case s.json == "" && len(args) == 1:
		return in, wrongUse("plexus send SPACE 'your text', or --json '{…}'", "there is nothing to send")
	case s.json != "":
		if in.Content, err = a.given(s.json); err == nil {
			in.Content, err = object("--json", in.Content)
		}
	default:
		var text []byte
		if text, err = a.given(args[1]); err == nil {
			in.Content, err = json.Marshal(map[string]string{"text": string(text)})
		}
	}
	if err == nil && s.meta != "" {
		in.Meta, err = object("--meta", []byte(s.meta))
	}
	if err == nil && s.schema != "" {
		in.ContentSchema, err = object("--schema", []byte(s.schema))
	}
	return in, err
}

// given is the argument itself, or with "-" what stands on standard input.
func (a *app) given(arg string) ([]byte, error) {
	if arg != "-" {
		return []byte(arg), nil
	}
	raw, err := io.ReadAll(io.LimitReader(a.in, maxStdin+1))
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	if len(raw) > maxStdin {
		return nil, &client.Error{Code: client.CodeTooLarge, Detail: "standard input is over 1 MiB", Hint: "a message holds at most 192 KiB"}
	}
	return raw, nil
}

// object checks that raw is one JSON object and returns it verbatim.
func object(what string, raw []byte) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if !json.Valid(raw) || raw[0] != '{' {
		return nil, wrongUse(`give it like '{"key": "value"}'`, "%s is no JSON object", what)
	}
	return raw, nil
}

// openFile opens a file to read, or standard input for "-".
func (a *app) openFile(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.in), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, wrongUse("give the path of a file, or - for standard input", "%s", err)
	}
	return f, nil
}
