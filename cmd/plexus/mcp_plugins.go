package main

// This file holds plugins' commands as tools of `plexus mcp --plugin-tools`: listed before the client first sees the tools, and followed from then on.

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"plexus/node/api"
	"plexus/sdk/client"
)

// offered keeps the tools of one client current.
type offered struct {
	*bridge
	tools *api.PluginTools
	group sync.WaitGroup // of the one who follows
	once  sync.Once
}

// serve runs the server until the client goes, and with it, where it is asked for, whoever follows the plugins' commands.
func (b *bridge) serve(ctx context.Context, transport mcp.Transport, pluginTools bool) error {
	s := api.NewMCPServer(version, b.caller)
	if !pluginTools {
		return s.Run(ctx, transport)
	}
	ctx, stop := context.WithCancel(ctx)
	o := &offered{bridge: b}
	o.tools = api.NewPluginTools(s, o.do)
	s.AddReceivingMiddleware(o.listing(ctx))
	err := s.Run(ctx, transport)
	stop()
	o.group.Wait()
	return err
}

// listing has the commands there when the client lists its tools first, and followed for the server's life from then on. Without a daemon, the tools that need
// none are listed.
func (o *offered) listing(life context.Context) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if list, ok := req.(*mcp.ListToolsRequest); ok {
				o.once.Do(func() { o.begin(ctx, life, o.steady(list.ClientInfo())) })
			}
			return next(ctx, method, req)
		}
	}
}

func (o *offered) begin(ctx, life context.Context, s *steady) {
	if list, err := steadily(ctx, s, func(c *client.Client) ([]client.PluginCommand, error) { return c.Commands(ctx) }); err == nil {
		o.tools.Set(list)
	}
	o.group.Go(func() { o.follow(life, s) })
}

// follow takes every change over, from whichever daemon there is.
func (o *offered) follow(ctx context.Context, s *steady) {
	for ctx.Err() == nil {
		_, _ = steadily(ctx, s, func(c *client.Client) (struct{}, error) { // its error is the daemon's leave
			for list, err := range c.WatchCommands(ctx) {
				if err != nil {
					return struct{}{}, err
				}
				o.tools.Set(list)
			}
			return struct{}{}, nil
		})
		select {
		case <-ctx.Done():
		case <-time.After(toolsPause):
		}
	}
}

// do isn't repeated over a lost connection: whether a command was carried out, the Space shows.
func (o *offered) do(ctx context.Context, req *mcp.CallToolRequest, spaceID string, c client.PluginCommand, params json.RawMessage) ([]client.Message, error) {
	to, err := steadily(ctx, o.steady(req.ClientInfo()), func(c *client.Client) (*client.Client, error) { return c, nil })
	if err != nil {
		return nil, err
	}
	return to.Do(ctx, spaceID, c.Plugin, c.Command, params)
}
