package api

// This file holds what is asked of plugins beside their views: which there are, and commands.

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"

	"plexus/sdk/client"
)

// Plugins lists plugins and runs their commands.
type Plugins interface {
	Plugins(ctx context.Context, spaceID string) ([]client.Plugin, error)
	// Do asks a command on behalf of a Node this host holds, and sends what it answers as that Node, in order. An error after the first was
	// sent says how many were.
	Do(ctx context.Context, spaceID, plugin, command string, params json.RawMessage, caller string) ([]client.Message, error)
}

func commandRoutes() []route {
	return []route{
		{
			method: "GET", path: "/spaces/{id}/plugins", name: "listPlugins", summary: "A Space's plugins, their views and commands", who: member,
			action: give(http.StatusOK, listPlugins),
		},
		{
			method: "POST", path: "/spaces/{id}/plugins/{name}/commands/{command}", name: "command", who: asNode,
			summary: "Have a plugin's command say what follows, on behalf of the caller; the body is its parameters", headers: []param{pNodeID},
			action: action{
				in: reflect.TypeFor[rawJSON](), out: reflect.TypeFor[[]client.Message](), status: http.StatusCreated, serve: command,
			},
		},
	}
}

func listPlugins(x *exchange) ([]client.Plugin, error) {
	if x.h.cfg.Plugins == nil {
		return []client.Plugin{}, nil
	}
	return x.h.cfg.Plugins.Plugins(x.r.Context(), x.r.PathValue("id"))
}

func command(x *exchange) error {
	if x.h.cfg.Plugins == nil {
		return invalid("this node runs no plugins", "")
	}
	body, err := x.readBody()
	if err != nil {
		return err
	}
	params := json.RawMessage(body)
	if len(params) > 0 && !json.Valid(params) {
		return invalid("the body is not valid JSON", `give the command's parameters as a JSON object, such as {"id":"c1"}`)
	}
	if err := object("the body", &params); err != nil {
		return err
	}
	out, err := x.h.cfg.Plugins.Do(x.r.Context(), x.r.PathValue("id"), x.r.PathValue("name"), x.r.PathValue("command"), params, x.caller.node)
	if err != nil {
		return err
	}
	return x.reply(out)
}
