package api

// This file serves the three operations: join a Space, send, read; and the streams of what comes.

import (
	"slices"

	"plexus/sdk/client"
)

func joinSpace(x *exchange, in client.SpaceCreate) (client.SpaceInfo, error) {
	svc, err := x.service()
	if err != nil {
		return client.SpaceInfo{}, err
	}
	s, err := svc.Space(x.r.Context(), in)
	return tidySpace(s), err
}

func listSpaces(x *exchange) ([]client.SpaceInfo, error) {
	ss, err := x.h.cfg.Directory.Spaces(x.r.Context())
	out := make([]client.SpaceInfo, len(ss))
	for i, s := range ss {
		out[i] = tidySpace(s)
	}
	return out, err
}

func getSpace(x *exchange) (client.SpaceInfo, error) {
	s, err := x.h.cfg.Directory.SpaceInfo(x.r.Context(), x.r.PathValue("id"))
	return tidySpace(s), err
}

func sendMessage(x *exchange, in client.SendMessage) (client.Message, error) {
	var none client.Message
	if err := checkSend(&in); err != nil {
		return none, err
	}
	if key := x.r.Header.Get("Idempotency-Key"); key != "" {
		in.IdempotencyKey = key
	}
	svc, err := x.service()
	if err != nil {
		return none, err
	}
	return svc.Send(x.r.Context(), x.r.PathValue("id"), in)
}

// checkSend checks the shape of a send. What content says is nobody's business here.
func checkSend(in *client.SendMessage) error {
	if len(in.Content) == 0 || string(in.Content) == "null" {
		return invalid("content is required", `send {"content":{…}}`)
	}
	if in.Content[0] != '{' {
		return invalid("content must be a JSON object", `wrap a text: {"content":{"text":"…"}}`)
	}
	if string(in.ContentSchema) == "null" {
		in.ContentSchema = nil
	}
	return object("meta", &in.Meta)
}

func readMessages(x *exchange) (client.Page, error) {
	svc, err := x.service()
	if err != nil {
		return client.Page{}, err
	}
	return svc.Read(x.r.Context(), client.ReadQuery{
		SpaceID: x.r.PathValue("id"), MessageID: x.text("message_id"), Direction: x.text("direction"),
		All: x.flag("all"), Order: x.text("order"), After: x.text("after"), Limit: x.limit(),
	})
}

// orStream makes listen=true answer with the stream of what the same read would show.
func (a action) orStream() action {
	read := a.serve
	a.serve = func(x *exchange) error {
		if x.flag("listen") {
			return listenMessages(x)
		}
		return read(x)
	}
	return a
}

func listenMessages(x *exchange) error {
	q := client.ListenQuery{SpaceID: x.r.PathValue("id"), MessageID: x.text("message_id")}
	if q.MessageID != "" || x.flag("all") {
		return x.follow(q, nil)
	}
	caller := x.caller.node
	return x.follow(q, func(ev client.Event) bool { return concerns(&ev.Message, caller) })
}

// concerns is IOA's default read, for a stream: what names the caller or is said to all, less the caller's own;
// without a caller, the roots.
func concerns(m *client.Message, caller string) bool {
	root := len(m.Refs.Messages) == 0 && len(m.Refs.Nodes) == 0
	if caller == "" {
		return root
	}
	return m.Sender != caller && (root || slices.Contains(m.Refs.Nodes, caller))
}

func findMessages(x *exchange) (client.Page, error) {
	return x.h.cfg.Directory.Find(x.r.Context(), client.FindQuery{
		SpaceID: x.text("space_id"), MessageID: x.text("message_id"), NodeID: x.text("node_id"), Sender: x.text("sender"),
		RefMessage: x.text("ref_message"), RefNode: x.text("ref_node"), After: x.text("after"), Limit: x.limit(),
	})
}

func streamSpace(x *exchange) error {
	return x.follow(client.ListenQuery{SpaceID: x.r.PathValue("id"), Head: x.text("head"), ForkDepth: x.count("fork_depth")}, nil)
}

func streamMessage(x *exchange) error {
	return x.follow(client.ListenQuery{SpaceID: x.r.PathValue("id"), MessageID: x.r.PathValue("mid")}, nil)
}

func streamInbox(x *exchange) error {
	x.caller.node = x.id()
	if _, err := x.h.cfg.Directory.Node(x.r.Context(), x.caller.node); err != nil {
		return err
	}
	return x.follow(client.ListenQuery{Inbox: true}, nil)
}
