package api

// This file holds what is asked of plugins beside their views: which there are, commands, and pins.

import (
	"context"
	"encoding/json"
	"mime"
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
	// React turns a plugin's reactions on or off for a Node this host holds: ErrInvalid where the plugin has none.
	React(ctx context.Context, spaceID, plugin, caller string, on bool) error
	// Grant lets a pinned plugin have these effects on this machine, and no others: ErrInvalid for one it doesn't ask for.
	Grant(ctx context.Context, spaceID, plugin string, grants []string) (client.PluginGrants, error)
	// Pin pins a file's plugins by the host's key: ErrForbidden where it is no admin's, ErrInvalid or ErrTooLarge for a file that can't be one,
	// ErrNotFound for a CID alone whose file no connected member has.
	Pin(ctx context.Context, spaceID string, in client.Pin) (client.Pinned, error)
	// Unpin takes a pin back: ErrNotFound where there is none of that name.
	Unpin(ctx context.Context, spaceID, plugin string) error
	// DiffPlugin folds a Space with a file that isn't pinned and compares it with what runs. Errors as Pin's, but for who may.
	DiffPlugin(ctx context.Context, spaceID string, in client.PluginDiffAsk) ([]client.PluginDiff, error)
	// Bisect finds the first message at which a plugin's state here and at a member part. ErrUnavailable where the member isn't connected or can't
	// say.
	Bisect(ctx context.Context, spaceID, plugin string, in client.BisectAsk) (client.Bisection, error)
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
		{
			method: "PUT", path: "/spaces/{id}/plugins/{name}/react", name: "react", who: asNode, headers: []param{pNodeID},
			summary: "Have a plugin speak by itself, as the caller, or no longer", action: take(http.StatusNoContent, react),
		},
		{
			method: "PUT", path: "/spaces/{id}/plugins/{name}/grants", name: "grantPlugin", who: host,
			summary: "Let a pinned plugin's commands and reactions have effects here: these, and no others", action: take(http.StatusOK, grant),
		},
		{
			method: "POST", path: "/spaces/{id}/plugins", name: "pinPlugin", summary: "Pin a plugin file, given itself or by CID", who: host,
			params: []param{
				{name: "cid", doc: "With a file: the CID it must have."},
				{name: "name", doc: "With a file: which of its plugins; left out: all."},
			},
			action: pinAction(),
		},
		{
			method: "DELETE", path: "/spaces/{id}/plugins/{name}", name: "unpinPlugin", summary: "Take a pin back", who: host,
			action: give(http.StatusNoContent, unpin),
		},
		{
			method: "POST", path: "/spaces/{id}/plugins/diff", name: "diffPlugin", who: host,
			summary: "What would change if a plugin file, given itself or by CID, were pinned",
			params: []param{
				{name: "cid", doc: "With a file: the CID it must have."},
				{name: "name", doc: "With a file: which of its plugins; left out: all."},
				{name: "view", doc: "With a file: compare this view alone."},
				{name: "params", doc: "With a file: the view's parameters, a JSON object."},
			},
			action: diffAction(),
		},
		{
			method: "POST", path: "/spaces/{id}/plugins/{name}/bisect", name: "bisectPlugin", who: host,
			summary: "Find the first message that this host's engine and a member's make different things of", action: take(http.StatusOK, bisect),
		},
	}
}

const wasmType = "application/wasm"

// pinAction takes a plugin file, or JSON that names one.
func pinAction() action {
	return orFile(take(http.StatusCreated, pin), func(x *exchange, wasm []byte) (any, error) {
		return pin(x, client.Pin{CID: x.text("cid"), Name: x.text("name"), Wasm: wasm})
	})
}

func diffAction() action {
	return orFile(take(http.StatusOK, diff), func(x *exchange, wasm []byte) (any, error) {
		in := client.PluginDiffAsk{CID: x.text("cid"), Name: x.text("name"), View: x.text("view"), Params: json.RawMessage(x.text("params")), Wasm: wasm}
		if len(in.Params) > 0 && !json.Valid(in.Params) {
			return nil, invalid("params is not valid JSON", `give the view's parameters as a JSON object, such as {"limit":10}`)
		}
		return diff(x, in)
	})
}

// orFile is an action that takes a plugin file too, as the body.
func orFile(a action, serve func(x *exchange, wasm []byte) (any, error)) action {
	a.inType = wasmType
	named := a.serve
	a.serve = func(x *exchange) error {
		if kind, _, err := mime.ParseMediaType(x.r.Header.Get("Content-Type")); err != nil || kind != wasmType {
			return named(x)
		}
		wasm, err := x.readUpTo(maxWasm)
		if err != nil {
			return err
		}
		out, err := serve(x, wasm)
		if err != nil {
			return err
		}
		return x.reply(out)
	}
	return a
}

func diff(x *exchange, in client.PluginDiffAsk) ([]client.PluginDiff, error) {
	if x.h.cfg.Plugins == nil {
		return nil, invalid("this node runs no plugins", "")
	}
	if in.CID == "" && in.Wasm == nil {
		return nil, invalid("cid is required", `send {"cid":"<the file's CID>"}, or the file itself as application/wasm`)
	}
	return x.h.cfg.Plugins.DiffPlugin(x.r.Context(), x.r.PathValue("id"), in)
}

func pin(x *exchange, in client.Pin) (client.Pinned, error) {
	if x.h.cfg.Plugins == nil {
		return client.Pinned{}, invalid("this node runs no plugins", "")
	}
	if in.CID == "" && in.Wasm == nil {
		return client.Pinned{}, invalid("cid is required", `send {"cid":"<the file's CID>"}, or the file itself as application/wasm`)
	}
	return x.h.cfg.Plugins.Pin(x.r.Context(), x.r.PathValue("id"), in)
}

func grant(x *exchange, in client.Grants) (client.PluginGrants, error) {
	switch {
	case x.h.cfg.Plugins == nil:
		return client.PluginGrants{}, invalid("this node runs no plugins", "")
	case in.Grants == nil:
		return client.PluginGrants{}, invalid("grants is required", `send {"grants":["now"]}, or [] to take all back`)
	}
	return x.h.cfg.Plugins.Grant(x.r.Context(), x.r.PathValue("id"), x.r.PathValue("name"), in.Grants)
}

func unpin(x *exchange) (none, error) {
	if x.h.cfg.Plugins == nil {
		return none{}, invalid("this node runs no plugins", "")
	}
	return none{}, x.h.cfg.Plugins.Unpin(x.r.Context(), x.r.PathValue("id"), x.r.PathValue("name"))
}

func bisect(x *exchange, in client.BisectAsk) (client.Bisection, error) {
	if x.h.cfg.Plugins == nil {
		return client.Bisection{}, invalid("this node runs no plugins", "")
	}
	return x.h.cfg.Plugins.Bisect(x.r.Context(), x.r.PathValue("id"), x.r.PathValue("name"), in)
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

func react(x *exchange, in client.React) (none, error) {
	if x.h.cfg.Plugins == nil {
		return none{}, invalid("this node runs no plugins", "")
	}
	return none{}, x.h.cfg.Plugins.React(x.r.Context(), x.r.PathValue("id"), x.r.PathValue("name"), x.caller.node, in.On)
}
