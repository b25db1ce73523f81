package main

// This file holds the daemons of the demo and of the benches: `plexus up` as child processes on loopback, and an agent on
// each, over HTTP or over MCP's stdio as a real MCP client speaks it.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"plexus/sdk/client"
)

// stopTime is what a child gets between SIGTERM and SIGKILL.
const stopTime = 5 * time.Second

// speaker is what an agent of the demo does, by whichever wire.
type speaker interface {
	Space(ctx context.Context, in client.SpaceCreate) (client.SpaceInfo, error)
	Send(ctx context.Context, spaceID string, in client.SendMessage) (client.Message, error)
}

// daemon is one child process and who talks to it.
type daemon struct {
	name, dir, role, wire string
	ip                    string // its peers reach it there
	cmd                   *exec.Cmd
	exited                chan struct{}
	stderr                *bytes.Buffer // read only after exited
	admin                 *client.Client
	agent                 *client.Client // reads, over HTTP
	speaks                speaker
	session               *mcp.ClientSession
}

// startDaemon runs `plexus up` on free loopback ports and waits until it serves.
func startDaemon(ctx context.Context, parent, name string) (*daemon, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program's own file: %w", err)
	}
	d := newDaemon(parent, name)
	return d, d.start(ctx, self)
}

func newDaemon(parent, name string) *daemon {
	return &daemon{name: name, ip: "127.0.0.1", dir: filepath.Join(parent, name), stderr: &bytes.Buffer{}, exited: make(chan struct{})}
}

// start runs the command line, which ends in the program's path, with `up` and its flags.
func (d *daemon) start(ctx context.Context, command ...string) error {
	args := append(command[1:],
		"up", "--dir", d.dir, "--name", d.name, "--listen", "127.0.0.1:0", "--no-mdns",
		"--p2p-listen", fmt.Sprintf("/ip4/%[1]s/udp/0/quic-v1,/ip4/%[1]s/tcp/0", d.ip))
	d.cmd = exec.Command(command[0], args...)
	d.cmd.Stderr = d.stderr
	d.cmd.Env = childEnv()
	if err := d.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", d.name, err)
	}
	go func() { // ends with the child; stop waits for it
		_ = d.cmd.Wait()
		close(d.exited)
	}()
	if err := d.ready(ctx); err != nil {
		return errors.Join(err, d.stop())
	}
	return nil
}

// childEnv is this process's environment without what would point a child elsewhere.
func childEnv() []string {
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "PLEXUS_") {
			env = append(env, e)
		}
	}
	return env
}

// ready waits for the file in which a daemon says where it serves.
func (d *daemon) ready(ctx context.Context) error {
	return waitUntil(ctx, func() (bool, error) {
		select {
		case <-d.exited:
			return false, fmt.Errorf("%s ended at its start: %s", d.name, bytes.TrimSpace(d.stderr.Bytes()))
		default:
		}
		raw, err := os.ReadFile(filepath.Join(d.dir, "daemon.json"))
		if err != nil {
			return false, nil
		}
		var at struct {
			URL string `json:"url"`
		}
		if json.Unmarshal(raw, &at) != nil || at.URL == "" {
			return false, nil
		}
		key, err := os.ReadFile(filepath.Join(d.dir, "access.key"))
		if err != nil {
			return false, fmt.Errorf("read the access key of %s: %w", d.name, err)
		}
		d.admin = &client.Client{URL: at.URL, AccessKey: strings.TrimSpace(string(key))}
		return true, nil
	})
}

// stop ends the agent's session and the child, and waits for both. Safe twice.
func (d *daemon) stop() error {
	if d.session != nil {
		_ = d.session.Close()
		d.session = nil
	}
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.exited:
	case <-time.After(stopTime):
		_ = d.cmd.Process.Kill()
		<-d.exited
		return fmt.Errorf("%s didn't stop within %s and was killed", d.name, stopTime)
	}
	return nil
}

// addAgent registers a Node on the daemon that speaks over HTTP, or over `plexus mcp` as a child of a real MCP client.
func (d *daemon) addAgent(ctx context.Context, role string, overMCP bool) error {
	d.role, d.wire = role, "HTTP"
	who, err := d.admin.Register(ctx, client.AuthRegister{NodeCreate: client.NodeCreate{Name: role}, AccessKey: d.admin.AccessKey})
	if err != nil {
		return fmt.Errorf("register %s on %s: %w", role, d.name, err)
	}
	d.agent = &client.Client{URL: d.admin.URL, Token: who.Token, HTTP: d.admin.HTTP}
	d.speaks = d.agent
	if !overMCP {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "mcp", "--dir", d.dir)
	cmd.Env = childEnv()
	c := mcp.NewClient(&mcp.Implementation{Name: role, Version: "1"}, nil)
	if d.session, err = c.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil); err != nil {
		return fmt.Errorf("start `plexus mcp` for %s: %w", role, err)
	}
	d.wire, d.speaks = "MCP", mcpSpeaker{d.session}
	return nil
}

// send says something in the agent's name.
func (d *daemon) send(ctx context.Context, space string, m client.SendMessage) (client.Message, error) {
	sent, err := d.speaks.Send(ctx, space, m)
	if err != nil {
		return sent, fmt.Errorf("%s sends on %s: %w", d.role, d.name, err)
	}
	return sent, nil
}

func (d *daemon) spaceStatus(ctx context.Context, id string) (client.SpaceStatus, error) {
	st, err := d.admin.Status(ctx)
	if err != nil {
		return client.SpaceStatus{}, fmt.Errorf("status of %s: %w", d.name, err)
	}
	for _, s := range st.Spaces {
		if s.ID == id {
			return s, nil
		}
	}
	return client.SpaceStatus{}, nil // not there yet
}

// mcpSpeaker calls the three tools.
type mcpSpeaker struct{ session *mcp.ClientSession }

func (m mcpSpeaker) Space(ctx context.Context, in client.SpaceCreate) (out client.SpaceInfo, err error) {
	return out, m.call(ctx, "ioa_space", map[string]any{"name": in.Name, "description": in.Description}, &out)
}

func (m mcpSpeaker) Send(ctx context.Context, spaceID string, in client.SendMessage) (out client.Message, err error) {
	args := map[string]any{"space_id": spaceID, "content": in.Content}
	if in.ContentType != "" {
		args["content_type"] = in.ContentType
	}
	if in.Refs != nil {
		args["refs"] = in.Refs
	}
	return out, m.call(ctx, "ioa_send", args, &out)
}

func (m mcpSpeaker) call(ctx context.Context, tool string, args map[string]any, out any) error {
	res, err := m.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return fmt.Errorf("%s: %w", tool, err)
	}
	if res.IsError {
		raw, _ := json.Marshal(res.Content)
		return fmt.Errorf("%s: %s", tool, raw)
	}
	raw, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return fmt.Errorf("%s: %w", tool, err)
	}
	return json.Unmarshal(raw, out)
}
