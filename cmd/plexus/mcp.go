package main

// This file holds `plexus mcp`: a thin MCP server on standard input and output that passes every call to the daemon. It
// outlives the daemon's restarts: a call waits until the daemon is back, so the agent sees none of it.

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"plexus/node/api"
	"plexus/sdk/client"
)

func (a *app) mcpCommand() *cobra.Command {
	var pluginTools bool
	cmd := &cobra.Command{
		Use: "mcp", Short: "Serve MCP on standard input and output, for an agent",
		Long: `Serve the three tools ioa_space, ioa_send and ioa_read to an MCP client that starts this as a child. Each client, by the
name it gives itself (or --as NAME), is a Node of its own. The daemon may be restarted meanwhile. To set a client up:
plexus mcp install CLIENT. Clients that speak MCP over HTTP find it at the daemon's /mcp.

With --plugin-tools (over HTTP: /mcp?plugin_tools=true) each command of the plugins in the Spaces joined is a tool as well, and the client is told when they
change. An agent pays for each in every turn.`,
		Example: "  plexus mcp\n  plexus mcp --as researcher\n  plexus mcp --plugin-tools\n  plexus mcp install claude-code",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := &bridge{app: a, nodes: map[string]*steady{}}
			err := b.serve(cmd.Context(), &mcp.IOTransport{Reader: readCloser(a.in), Writer: writeCloser{a.out}}, pluginTools)
			if errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed) || cmd.Context().Err() != nil {
				return nil // the client went: that is how it ends
			}
			return err
		},
	}
	pluginToolsFlag(cmd, &pluginTools)
	cmd.AddCommand(a.mcpInstallCommand())
	return cmd
}

func pluginToolsFlag(cmd *cobra.Command, on *bool) {
	cmd.Flags().BoolVar(on, "plugin-tools", false, "each command of the plugins in the Spaces joined is a tool")
}

func readCloser(r io.Reader) io.ReadCloser {
	if rc, ok := r.(io.ReadCloser); ok {
		return rc
	}
	return io.NopCloser(r)
}

type writeCloser struct{ io.Writer }

func (writeCloser) Close() error { return nil }

// bridge finds the Node of an MCP client.
type bridge struct {
	*app

	mu    sync.Mutex // guards nodes; not held over a call
	nodes map[string]*steady
}

func (b *bridge) caller(ctx context.Context, req *mcp.CallToolRequest) (api.Service, string, error) {
	s := b.steady(req.ClientInfo())
	c, err := steadily(ctx, s, func(c *client.Client) (*client.Client, error) { return c, nil })
	if err != nil {
		return nil, "", err
	}
	return s, c.NodeID, nil
}

// steady is the client's own, by the name it gives itself.
func (b *bridge) steady(info *mcp.Implementation) *steady {
	name := b.as
	if name == "" && info != nil {
		name = strings.TrimSpace(info.Name)
	}
	if name == "" {
		name = "mcp-client"
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.nodes[name]
	if s == nil {
		s = &steady{app: b.app, name: name}
		b.nodes[name] = s
	}
	return s
}

// steady is a Service that finds the daemon anew whenever it is gone.
type steady struct {
	*app
	name string

	mu     sync.Mutex // guards client; held while a Node is registered, so that one is
	client *client.Client
}

// connect returns the client in use, or makes one: the daemon's address may have changed.
func (s *steady) connect(ctx context.Context) (*client.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		return s.client, nil
	}
	at, err := s.address(ctx)
	if err != nil {
		return nil, err
	}
	cred, err := s.enter(ctx, "mcp", s.name, "agent")
	if err != nil {
		return nil, err
	}
	s.client = &client.Client{URL: at, Token: cred.Token, NodeID: cred.ID}
	return s.client, nil
}

func (s *steady) forget(c *client.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == c {
		s.client = nil
	}
}

// steadily does something with the daemon, again and again for mcpPatience while there is none.
func steadily[T any](ctx context.Context, s *steady, do func(*client.Client) (T, error)) (T, error) {
	end := time.Now().Add(mcpPatience)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		c, err := s.connect(ctx)
		var out T
		if err == nil {
			out, err = do(c)
		}
		if err == nil || !gone(err) {
			return out, err
		}
		s.forget(c)
		if time.Now().After(end) {
			return out, err
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return out, ctx.Err()
		case <-t.C:
		}
	}
}

func gone(err error) bool {
	return client.IsUnreachable(err) || client.IsCode(err, client.CodeUnavailable)
}

func (s *steady) Space(ctx context.Context, in client.SpaceCreate) (client.SpaceInfo, error) {
	return steadily(ctx, s, func(c *client.Client) (client.SpaceInfo, error) { return c.Space(ctx, in) })
}

// Send keeps one idempotency key over all tries: an answer lost with the daemon doesn't become a second message.
func (s *steady) Send(ctx context.Context, spaceID string, in client.SendMessage) (client.Message, error) {
	if in.IdempotencyKey == "" {
		in.IdempotencyKey = rand.Text()
	}
	return steadily(ctx, s, func(c *client.Client) (client.Message, error) { return c.Send(ctx, spaceID, in) })
}

func (s *steady) Read(ctx context.Context, q client.ReadQuery) (client.Page, error) {
	return steadily(ctx, s, func(c *client.Client) (client.Page, error) { return c.Read(ctx, q) })
}

// Listen goes on over restarts, also of a daemon that comes back at another address.
func (s *steady) Listen(ctx context.Context, q client.ListenQuery) iter.Seq2[client.Event, error] {
	return func(yield func(client.Event, error) bool) {
		_, err := steadily(ctx, s, func(c *client.Client) (struct{}, error) {
			for ev, err := range c.Listen(ctx, q) {
				if err != nil {
					return struct{}{}, err
				}
				if ev.Type != "withdrawn" { // that one lies in the past
					q.After, q.FromStart = ev.Message.ID, false
				}
				if !yield(ev, nil) {
					return struct{}{}, errReaderLeft
				}
			}
			return struct{}{}, nil
		})
		if err != nil && !errors.Is(err, errReaderLeft) && ctx.Err() == nil {
			yield(client.Event{}, err)
		}
	}
}

var errReaderLeft = errors.New("the reader left")
