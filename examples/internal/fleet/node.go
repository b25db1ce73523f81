package fleet

// This file holds the Nodes: who speaks in the story, over HTTP or over MCP as an agent does.

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"plexus/sdk/client"
)

// Map is a JSON object.
type Map = map[string]any

// Node is a participant on one of the machines.
type Node struct {
	Name, ID string
	HTTP     *client.Client // with the Node's token

	stage *Stage
	mcp   *mcp.ClientSession // nil: it speaks over HTTP
}

// Node makes a participant on the machine; kind is "agent" or "human", which the machine attests.
func (d *Daemon) Node(ctx context.Context, name, kind string) *Node {
	who, err := d.Admin.Register(ctx, client.AuthRegister{NodeCreate: client.NodeCreate{Name: name}, Kind: kind})
	d.stage.Fatal(err, "register %s on %s", name, d.Name)
	d.stage.names[who.ID] = name
	return &Node{Name: name, ID: who.ID, HTTP: &client.Client{URL: d.Admin.URL, Token: who.Token}, stage: d.stage}
}

// Moved tells a Node that its machine has been started again, elsewhere.
func (n *Node) Moved(d *Daemon) { n.HTTP = &client.Client{URL: d.Admin.URL, Token: n.HTTP.Token} }

// Agent makes a participant that speaks MCP: a client that starts `plexus mcp` as its tool server, as Claude Code or Cursor do.
func (d *Daemon) Agent(ctx context.Context, name string) *Node {
	s := d.stage
	cmd := exec.CommandContext(context.WithoutCancel(ctx), s.program, "mcp", "--dir", d.dir)
	cmd.Env = environment()
	session, err := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	s.Fatal(err, "start plexus mcp for %s", name)
	s.Finally(func() { _ = session.Close() })
	return &Node{Name: name, stage: s, mcp: session}
}

// Enter creates or joins the Space of that name and returns its ID. An agent's Node is known from here on.
func (n *Node) Enter(ctx context.Context, space, about string) string {
	var info client.SpaceInfo
	var err error
	if n.mcp != nil {
		n.Tool(ctx, "ioa_space", Map{"name": space, "description": about}, &info)
	} else {
		info, err = n.HTTP.Space(ctx, client.SpaceCreate{Name: space, Description: about})
	}
	n.stage.Fatal(err, "%s enters %s", n.Name, space)
	return info.ID
}

// Send says something in a Space.
func (n *Node) Send(ctx context.Context, space, contentType string, content Map, refs client.Ref) client.Message {
	raw := n.json(content)
	var out client.Message
	var err error
	if n.mcp != nil {
		args := Map{"space_id": space, "content": content, "refs": Map{"messages": orNone(refs.Messages), "nodes": orNone(refs.Nodes)}}
		if contentType != "" {
			args["content_type"] = contentType
		}
		n.Tool(ctx, "ioa_send", args, &out)
	} else {
		out, err = n.HTTP.Send(ctx, space, client.SendMessage{ContentType: contentType, Content: raw, Refs: &refs})
	}
	n.stage.Fatal(err, "%s sends", n.Name)
	if n.ID == "" {
		n.ID = out.Sender
		n.stage.names[n.ID] = n.Name
	}
	return out
}

// Reply refers to messages and says a text.
func (n *Node) Reply(ctx context.Context, space, text string, to ...string) client.Message {
	return n.Send(ctx, space, "", Map{"text": text}, client.Ref{Messages: to})
}

// Do has a plugin's command say what follows; it must take it.
func (n *Node) Do(ctx context.Context, space, plugin, command string, params Map) client.Message {
	out, err := n.HTTP.Do(ctx, space, plugin, command, n.json(params))
	n.stage.Fatal(err, "%s does %s %s", n.Name, plugin, command)
	if len(out) == 0 {
		n.stage.Fatal(errors.New("it says nothing"), "%s does %s %s", n.Name, plugin, command)
	}
	return out[0]
}

// Refused has a plugin's command refuse, and returns its words; "" where it takes it.
func (n *Node) Refused(ctx context.Context, space, plugin, command string, params Map) string {
	_, err := n.HTTP.Do(ctx, space, plugin, command, n.json(params))
	if err != nil && !client.IsInvalid(err) && !client.IsConflict(err) {
		n.stage.Fatal(err, "%s does %s %s", n.Name, plugin, command)
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

// View asks a plugin; out is filled from its JSON.
func (n *Node) View(ctx context.Context, space, plugin, view string, params Map, out any) {
	raw, err := n.HTTP.View(ctx, space, plugin, view, n.json(params))
	n.stage.Fatal(err, "%s looks at %s %s", n.Name, plugin, view)
	n.stage.Fatal(json.Unmarshal(raw, out), "%s reads %s %s", n.Name, plugin, view)
}

// Inbox returns the messages that name the Node.
func (n *Node) Inbox(ctx context.Context) []client.Message {
	page, err := n.HTTP.Inbox(ctx, "", "", 0, false)
	n.stage.Fatal(err, "inbox of %s", n.Name)
	return page.Messages
}

// Await waits until a message below another is one that the Node looks for, and returns it.
func (n *Node) Await(ctx context.Context, space, below string, wanted func(client.Message) bool) (found client.Message) {
	n.stage.Until(ctx, n.Name+" reads what it waits for", func() bool {
		for _, m := range n.related(ctx, space, below, "downstream") {
			if wanted(m) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// Upstream returns a message and all that it refers to, directly or not.
func (n *Node) Upstream(ctx context.Context, space, message string) []client.Message {
	return n.related(ctx, space, message, "upstream")
}

func (n *Node) related(ctx context.Context, space, message, direction string) []client.Message {
	if n.mcp == nil {
		page, err := n.HTTP.Read(ctx, client.ReadQuery{SpaceID: space, MessageID: message, Direction: direction, Limit: 1000})
		if client.IsNotFound(err) {
			return nil // not here yet
		}
		n.stage.Fatal(err, "%s reads", n.Name)
		return page.Messages
	}
	var out struct{ Messages []client.Message }
	n.Tool(ctx, "ioa_read", Map{"space_id": space, "message_id": message, "direction": direction}, &out)
	return out.Messages
}

// Tool calls one of the MCP tools; out is filled from its JSON.
func (n *Node) Tool(ctx context.Context, tool string, args Map, out any) {
	res, err := n.mcp.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	n.stage.Fatal(err, "%s calls %s", n.Name, tool)
	raw := n.json(res.StructuredContent)
	if res.IsError {
		n.stage.Fatal(errors.New(string(n.json(res.Content))), "%s calls %s", n.Name, tool)
	}
	n.stage.Fatal(json.Unmarshal(raw, out), "%s reads what %s says", n.Name, tool)
}

func (n *Node) json(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	n.stage.Fatal(err, "write JSON")
	return raw
}

func orNone(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
