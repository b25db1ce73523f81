package api

// This file holds the table of all routes: IOA's, and the node's own.

import (
	"encoding/json"
	"net/http"
	"strconv"

	"plexus/sdk/client"
)

// The parameters several routes share.
var (
	pAfter     = param{name: "after", doc: "A message ID: only what arrived after it. Unknown: 422."}
	pLimit     = param{name: "limit", kind: isCount, doc: "The most messages in the page, at most 1000. Without after: the newest."}
	pFrom      = param{name: "from", kind: isChoice, of: []string{"start"}, doc: "Replay everything before following."}
	pHead      = param{name: "head", doc: "Follow one branch from this message."}
	pForkDepth = param{name: "fork_depth", kind: isCount, doc: "With head: how many first parents back a reply counts as a fork. Default 1."}
	pResume    = param{name: "Last-Event-ID", doc: "The id of the last event seen; goes before after."}
	pNodeID    = param{name: "X-Node-ID", doc: "The caller's Node. Must be the token's; believed without one only in no-auth mode."}
	pKey       = param{name: "Idempotency-Key", doc: "A repeated send with the same key gives the message that was made first."}
	pSpaceID   = param{name: "space_id", doc: "Only messages of this Space."}
	pNamespace = param{name: "namespace", doc: "The identity's namespace."}
	pParams    = param{name: "params", doc: "A JSON object for the view. Other query parameters are given to it as strings."}
	pSubject   = param{name: "subject", doc: "The identity's subject."}
)

// routes is the table the server and the OpenAPI document are made from.
func (h *Handler) routes() []route {
	table := append(healthRoutes(), nodeRoutes()...)
	table = append(table, spaceRoutes()...)
	table = append(table, streamRoutes()...)
	table = append(table, pluginRoutes()...)
	table = append(append(table, skillRoutes()...), trustRoutes()...)
	table = append(table, adminRoutes()...)
	table = append(table, p2aRoutes()...)
	if h.cfg.Metrics != nil {
		table = append(table, route{
			method: "GET", path: "/metrics", name: "metrics", summary: "Counters in Prometheus' text format", who: host,
			action: action{outType: "text/plain", status: http.StatusOK, serve: func(x *exchange) error {
				x.h.cfg.Metrics.ServeHTTP(x.w, x.r)
				return nil
			}},
		})
	}
	return table
}

func healthRoutes() []route {
	return []route{
		{method: "GET", path: "/health", name: "health", summary: "Is the process up?", action: give(http.StatusOK, healthy)},
		{method: "GET", path: "/ready", name: "ready", summary: "Does it serve?", action: give(http.StatusOK, healthy)},
		{
			method: "GET", path: "/openapi.json", name: "openapi", summary: "This document",
			action: give(http.StatusOK, func(x *exchange) (rawJSON, error) { return x.h.doc, nil }),
		},
	}
}

func nodeRoutes() []route {
	return []route{
		{
			method: "POST", path: "/auth/register", name: "register", summary: "Make a Node and a token that owns it; needs the access key",
			action: take(http.StatusCreated, register),
		},
		{
			method: "POST", path: "/nodes", name: "createNode", summary: "Make a Node without a token", who: member,
			action: take(http.StatusCreated, createNode),
		},
		{method: "GET", path: "/nodes", name: "listNodes", summary: "All Nodes known here", who: member, action: give(http.StatusOK, listNodes)},
		{
			method: "GET", path: "/nodes/resolve", name: "resolveNode", summary: "The Node bound to an identity", who: member,
			params: []param{pNamespace, pSubject}, action: give(http.StatusOK, resolveNode),
		},
		{method: "GET", path: "/nodes/{id}", name: "getNode", summary: "One Node; me is the caller", who: member, action: give(http.StatusOK, getNode)},
		{
			method: "PUT", path: "/nodes/{id}/identities", name: "bindIdentity", summary: "Bind an identity to the caller's Node", who: itself,
			action: take(http.StatusOK, bindIdentity),
		},
		{
			method: "DELETE", path: "/nodes/{id}/identities", name: "unbindIdentity", summary: "Take an identity from the caller's Node", who: itself,
			params: []param{pNamespace, pSubject}, action: unbindAction(),
		},
		{
			method: "GET", path: "/nodes/{id}/inbox", name: "readInbox", summary: "Messages that name the caller, over all Spaces", who: itself,
			params: []param{pAfter, pLimit, {name: "unacked", kind: isFlag, doc: "Leave out what was acknowledged."}, pFormat}, action: pages(readInbox),
		},
		{
			method: "GET", path: "/nodes/{id}/waiting", name: "waiting", who: itself,
			summary: "What waits for the caller to act, over all Spaces, as the plugins' views say it", action: give(http.StatusOK, waiting),
		},
		{
			method: "POST", path: "/nodes/{id}/inbox/ack", name: "ackInbox", summary: "Acknowledge messages of the caller's inbox", who: itself,
			action: take(http.StatusNoContent, ackInbox),
		},
	}
}

func spaceRoutes() []route {
	return []route{
		{
			method: "GET", path: "/messages", name: "findMessages", summary: "Messages over all Spaces", who: member,
			params: []param{
				pSpaceID,
				{name: "message_id", doc: "Only this message."},
				{name: "node_id", doc: "Only messages this Node sent or is named in."},
				{name: "sender", doc: "Only messages of this sender."},
				{name: "ref_message", doc: "Only messages that refer to this message."},
				{name: "ref_node", doc: "Only messages that name this Node."},
				pAfter, pLimit, pFormat,
			},
			action: pages(findMessages),
		},
		{
			method: "POST", path: "/spaces", name: "joinSpace", summary: "Create or join a Space by name", who: asNode,
			headers: []param{pNodeID}, action: take(http.StatusOK, joinSpace),
		},
		{method: "GET", path: "/spaces", name: "listSpaces", summary: "All Spaces known here", who: member, action: give(http.StatusOK, listSpaces)},
		{method: "GET", path: "/spaces/{id}", name: "getSpace", summary: "One Space", who: member, action: give(http.StatusOK, getSpace)},
		{
			method: "POST", path: "/spaces/{id}/messages", name: "sendMessage", summary: "Send a message", who: asNode,
			params: []param{pFormat}, headers: []param{pNodeID, pKey}, action: take(http.StatusCreated, sendMessage).orSynapse(),
		},
		{
			method: "GET", path: "/spaces/{id}/messages", name: "readMessages", who: member,
			summary: "Read messages: a related subgraph (message_id), all (all=true), those for the caller, or the roots",
			params: []param{
				{name: "message_id", doc: "The subgraph related to this message, itself included."},
				{name: "direction", kind: isChoice, of: []string{"upstream", "downstream"}, doc: "With message_id: ancestors or descendants alone."},
				{name: "all", kind: isFlag, doc: "Everything in the Space."},
				{name: "order", kind: isChoice, of: []string{"canonical"}, doc: "With all: the order that is the same on every replica, instead of arrival."},
				{name: "listen", kind: isFlag, doc: "Answer with a stream of what comes, instead of a page."},
				pAfter, pLimit, pFrom, pFormat,
			},
			headers: []param{pNodeID, pResume}, action: pages(readMessages).orStream(),
		},
	}
}

func streamRoutes() []route {
	return []route{
		{
			method: "GET", path: "/spaces/{id}/sse", name: "streamSpace", summary: "Follow a Space, or one branch of it", who: member,
			params: []param{pHead, pForkDepth, pAfter, pFrom, pFormat}, headers: []param{pResume}, action: stream(streamSpace),
		},
		{
			method: "GET", path: "/spaces/{id}/messages/{mid}/sse", name: "streamMessage", summary: "Follow a message's related subgraph", who: member,
			params: []param{pAfter, pFrom, pFormat}, headers: []param{pResume}, action: stream(streamMessage),
		},
		{
			method: "GET", path: "/nodes/{id}/sse", name: "streamInbox", summary: "Follow the messages that name the caller", who: itself,
			params: []param{pAfter, pFrom, pFormat}, headers: []param{pResume}, action: stream(streamInbox),
		},
	}
}

func pluginRoutes() []route {
	return append(append(commandRoutes(), watchRoutes()...), []route{
		{
			method: "GET", path: "/spaces/{id}/plugins/{name}/views/{view}", name: "view", summary: "One view of a plugin's state", who: member,
			params: []param{pParams}, headers: []param{pResume}, action: give(http.StatusOK, view).orWatch(watchView),
		},
		{
			method: "GET", path: "/spaces/{id}/plugins/{name}/views/{view}/sse", name: "streamView", who: member,
			summary: "Follow a view: its answer, and each one that differs from the last",
			params:  []param{pParams}, headers: []param{pResume}, action: watch(watchView),
		},
		{
			method: "GET", path: "/spaces/{id}/plugins/{name}/state", name: "pluginState", who: member,
			summary: "The hash equal replicas of a plugin's state share", action: give(http.StatusOK, pluginState),
		},
	}...)
}

func adminRoutes() []route {
	return []route{
		{method: "GET", path: "/admin/status", name: "status", summary: "This host: addresses, Spaces, peers", who: host, action: give(http.StatusOK, status)},
		{method: "POST", path: "/admin/invites", name: "invite", summary: "Make a ticket", who: host, action: take(http.StatusCreated, invite)},
		{method: "GET", path: "/admin/invites", name: "listInvites", summary: "All tickets", who: host, action: give(http.StatusOK, listInvites)},
		{method: "DELETE", path: "/admin/invites/{id}", name: "revokeInvite", summary: "Take a ticket back", who: host, action: give(http.StatusNoContent, revokeInvite)},
		{method: "POST", path: "/admin/revoke", name: "revoke", summary: "Shut a host or Node out", who: host, action: take(http.StatusNoContent, revoke)},
		{method: "POST", path: "/admin/join", name: "join", summary: "Join a Network by ticket", who: host, action: take(http.StatusOK, join)},
		{method: "POST", path: "/admin/offline", name: "setOffline", summary: "Leave the other hosts alone, or come back", who: host, action: take(http.StatusOK, setOffline)},
		{method: "POST", path: "/admin/verify", name: "verify", summary: "Check everything that is stored", who: host, action: give(http.StatusOK, verify)},
		{
			method: "GET", path: "/admin/spaces/{id}/export", name: "exportSpace", summary: "A Space as a CAR file", who: host,
			action: action{outType: carType, status: http.StatusOK, serve: exportSpace},
		},
		{method: "POST", path: "/admin/import", name: "importSpace", summary: "Take in a CAR file", who: host, action: importAction()},
	}
}

func healthy(*exchange) (client.Health, error) { return client.Health{Status: "ok"}, nil }

func view(x *exchange) (rawJSON, error) {
	params, err := viewParams(x)
	if err != nil {
		return nil, err
	}
	a, err := x.h.cfg.Views.AnswerView(x.r.Context(), x.r.PathValue("id"), x.r.PathValue("name"), x.r.PathValue("view"), params, x.caller.node)
	if err == nil {
		x.w.Header().Set(client.HeaderPluginFile, a.File)
		x.w.Header().Set(client.HeaderPluginCurrent, strconv.FormatBool(a.Current))
	}
	return a.JSON, err
}

// viewParams is the params parameter, or an object of the query's other parameters.
func viewParams(x *exchange) (json.RawMessage, error) {
	raw := json.RawMessage(x.text("params"))
	if len(raw) == 0 {
		given := map[string]string{}
		for name := range x.query {
			given[name] = x.query.Get(name)
		}
		return appendJSON(nil, given), nil
	}
	if !json.Valid(raw) {
		return nil, invalid("params is not valid JSON", `give a JSON object, such as {"status":"open"}, URL-encoded`)
	}
	return raw, object("params", &raw)
}

func pluginState(x *exchange) (client.PluginState, error) {
	hash, current, err := x.h.cfg.Views.StateHash(x.r.Context(), x.r.PathValue("id"), x.r.PathValue("name"))
	return client.PluginState{Hash: hash, Current: current}, err
}
