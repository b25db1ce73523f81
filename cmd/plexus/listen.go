package main

// This file holds listen: follow a Space, a branch or the inbox; with --exec, one process per message of the inbox.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"plexus/sdk/client"
)

// listening is what listen's flags say.
type listening struct {
	q     client.ListenQuery
	exec  string
	count int
}

func (a *app) listenCommand() *cobra.Command {
	var l listening
	cmd := &cobra.Command{
		Use: "listen [SPACE]", Short: "Follow messages as they come; with --exec, start a program for each",
		Long: `Follow a Space's messages as they come, or with --inbox those that name you in any Space. A lost connection is mended
without a gap.

With --exec CMD, each message in your inbox that isn't acknowledged starts CMD (by the shell) with the message as JSON on
standard input and PLEXUS_MESSAGE_ID, PLEXUS_SPACE_ID, PLEXUS_SENDER, PLEXUS_CONTENT_TYPE in its environment; plexus in CMD acts
as the same Node. When CMD exits 0 the message is acknowledged; otherwise it is tried again, and once more at the next start: at least once, never lost. SPACE
narrows it to messages of that Space.`,
		Example: "  plexus listen release-42\n  plexus listen --inbox --stream | jq .content\n" +
			"  plexus listen --as worker --exec ./handle.sh\n  plexus listen release-42 --from-start --count 10 -o json",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkListen(l, args); err != nil {
				return err
			}
			a.follows = true
			return a.asNode(cmd.Context(), func(c *client.Client) (err error) {
				if len(args) == 1 {
					if l.q.SpaceID, err = spaceID(cmd.Context(), c, args[0]); err != nil {
						return err
					}
				}
				if l.exec != "" {
					return a.listenExec(cmd.Context(), c, l)
				}
				return a.listen(cmd.Context(), c, l)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&l.q.Inbox, "inbox", false, "messages that name you, in any Space")
	f.StringVar(&l.q.After, "after", "", "start after the message of this ID")
	f.BoolVar(&l.q.FromStart, "from-start", false, "start with the oldest message")
	f.StringVarP(&l.q.MessageID, "message", "m", "", "only what is connected with this message")
	f.StringVar(&l.q.Head, "head", "", "follow one branch from this message")
	f.IntVar(&l.q.ForkDepth, "fork-depth", 0, "with --head: how far back a reply counts as a fork (default 1)")
	f.StringVar(&l.exec, "exec", "", "start this command for each message of your inbox")
	f.IntVarP(&l.count, "count", "n", 0, "end after so many messages")
	a.streamFlag(cmd)
	return cmd
}

func (a *app) checkListen(l listening, args []string) error {
	switch {
	case l.exec != "" && (l.q.MessageID != "" || l.q.Head != "" || l.q.After != "" || l.q.FromStart):
		return wrongUse("leave out --message, --head, --after and --from-start", "--exec works on the inbox")
	case l.exec == "" && l.q.Inbox == (len(args) == 1):
		return wrongUse("plexus listen SPACE, or plexus listen --inbox", "give a SPACE or --inbox")
	case l.count < 0:
		return wrongUse("give --count 1 or more", "count %d is negative", l.count)
	case a.output == "json" && !a.stream && l.count == 0 && l.exec == "":
		return wrongUse("add --stream for JSON Lines, or --count N for one JSON array", "a stream has no end, so it is no one JSON document")
	}
	return nil
}

// listen prints what comes until told to stop, or --count is reached.
func (a *app) listen(ctx context.Context, c *client.Client, l listening) error {
	var kept []client.Message
	seen := 0
	for ev, err := range c.Listen(ctx, l.q) {
		if err != nil {
			return err
		}
		if a.output == "json" && !a.stream {
			kept = append(kept, ev.Message)
		} else if err := a.printEvent(ev); err != nil {
			return err
		}
		if seen++; seen == l.count {
			break
		}
	}
	if a.output == "json" && !a.stream {
		return printAll(a, kept, printMessage)
	}
	return nil
}

// printEvent prints one item of a stream; what isn't a new message says so.
func (a *app) printEvent(ev client.Event) error {
	if a.stream {
		return a.printJSON(struct {
			client.Message
			Event string `json:"event,omitempty"`
		}{ev.Message, eventName(ev.Type)})
	}
	if name := eventName(ev.Type); name != "" {
		if _, err := io.WriteString(a.out, name+": "); err != nil {
			return err
		}
	}
	printMessage(a.out, ev.Message)
	return nil
}

func eventName(t string) string {
	if t == "message" {
		return ""
	}
	return t
}

// listenExec first handles what waits in the inbox, then what comes. The cursor is taken before the first look, so
// that nothing falls between the two.
func (a *app) listenExec(ctx context.Context, c *client.Client, l listening) error {
	newest, err := c.Inbox(ctx, "", "", 1, false)
	if err != nil {
		return err
	}
	q := client.ListenQuery{Inbox: true, FromStart: len(newest.Messages) == 0}
	if !q.FromStart {
		q.After = newest.Messages[len(newest.Messages)-1].ID
	}
	h := handler{app: a, client: c, listening: l}
	early := map[string]bool{} // handled at the first look; the stream may bring them again
	for after := ""; ; {
		p, err := c.Inbox(ctx, "", after, 0, true)
		if err != nil {
			return err
		}
		for _, m := range p.Messages {
			if stop, err := h.handle(ctx, m); stop || err != nil {
				return err
			}
			after, early[m.ID] = m.ID, true
		}
		if len(p.Messages) == 0 || p.Next == "" {
			break
		}
	}
	for ev, err := range c.Listen(ctx, q) {
		if err != nil {
			return err
		}
		if ev.Type != "message" || early[ev.Message.ID] {
			delete(early, ev.Message.ID)
			continue
		}
		if stop, err := h.handle(ctx, ev.Message); stop || err != nil {
			return err
		}
	}
	return nil
}

// handler is one run of listen --exec.
type handler struct {
	*app
	client *client.Client
	listening
	count int
}

// handle starts the command for m, again if it fails, and acknowledges when it succeeds. stop is true at --count.
func (h *handler) handle(ctx context.Context, m client.Message) (stop bool, err error) {
	if h.q.SpaceID != "" && m.SpaceID != h.q.SpaceID {
		return false, nil
	}
	for n := 0; ; n++ {
		err := h.start(ctx, m)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if n+1 == execTries {
			h.note("plexus: %s failed %d times for %s: %s; it stays in the inbox", h.exec, execTries, m.ID, err)
			return h.counted(), nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(execPause << n):
		}
	}
	if err := h.client.Ack(ctx, "", []string{m.ID}); err != nil && !client.IsNotFound(err) {
		return false, err
	}
	return h.counted(), nil
}

func (h *handler) counted() bool {
	h.count++
	return h.count == h.listening.count
}

// start runs the command once. It isn't killed when we are told to stop: it may be half done; it ends by itself.
func (h *handler) start(ctx context.Context, m client.Message) error {
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	cmd := exec.Command("/bin/sh", "-c", h.exec)
	cmd.Stdin = bytes.NewReader(append(raw, '\n'))
	cmd.Stdout, cmd.Stderr = h.out, h.app.err
	cmd.Env = append(os.Environ(), "PLEXUS_MESSAGE_ID="+m.ID, "PLEXUS_SPACE_ID="+m.SpaceID, "PLEXUS_SENDER="+m.Sender,
		"PLEXUS_CONTENT_TYPE="+oneLine(m.ContentType, 256), "PLEXUS_DIR="+h.dir,
		"PLEXUS_URL="+h.client.URL, "PLEXUS_TOKEN="+h.client.Token) // so that plexus in the command acts as this Node
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit
	}
	return err
}
