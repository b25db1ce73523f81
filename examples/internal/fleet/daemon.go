package fleet

// This file holds the daemons: `plexus up` as child processes on loopback, which meet by tickets, part and come back.

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

	"plexus/sdk/client"
)

// Daemon is one machine of the story: a process with a data dir of its own.
type Daemon struct {
	Name  string
	Admin *client.Client // with the host's access key

	stage  *Stage
	dir    string
	cmd    *exec.Cmd
	cancel context.CancelFunc
	stderr bytes.Buffer // read only once the process has ended
	id     string       // of the host
}

// Network starts a daemon for each name and joins all into the first one's Network by a ticket.
func (s *Stage) Network(ctx context.Context, names ...string) []*Daemon {
	var out []*Daemon
	for _, name := range names {
		d := &Daemon{Name: name, stage: s, dir: filepath.Join(s.dir, name)}
		s.shareCache(d)
		s.daemons = append(s.daemons, d)
		d.Start(ctx)
		out = append(out, d)
	}
	invite, err := out[0].Admin.Invite(ctx, client.InviteCreate{Uses: max(1, len(out)-1)})
	s.Fatal(err, "invite on %s", out[0].Name)
	s.Tell(out[0].Name, "starts, process %d, and prints a ticket: %.20s…", out[0].cmd.Process.Pid, invite.Ticket)
	for _, d := range out[1:] {
		joined, err := d.Admin.Join(ctx, invite.Ticket)
		s.Fatal(err, "join on %s", d.Name)
		s.Tell(d.Name, "starts, process %d, and joins with it as %s", d.cmd.Process.Pid, joined.Role)
	}
	return out
}

// shareCache lets the daemons share what they compile: they are meant to be machines, but these stand on one.
func (s *Stage) shareCache(d *Daemon) {
	cache := s.Dir("cache")
	s.Fatal(os.MkdirAll(d.dir, 0o700), "make the data dir of %s", d.Name)
	s.Fatal(os.Symlink(cache, filepath.Join(d.dir, "cache")), "share the cache of %s", d.Name)
}

// Start runs the daemon, for the first time or again, and waits until it serves.
func (d *Daemon) Start(ctx context.Context) {
	s := d.stage
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	args := append([]string{
		"up", "--dir", d.dir, "--name", d.Name, "--listen", "127.0.0.1:0", "-o", "json",
		"--no-mdns", "--p2p-listen", "/ip4/127.0.0.1/udp/0/quic-v1,/ip4/127.0.0.1/tcp/0",
	}, s.Flags...)
	d.cmd = exec.CommandContext(life, s.program, args...)
	d.cmd.Cancel = func() error { return d.cmd.Process.Signal(syscall.SIGTERM) }
	d.cmd.WaitDelay, d.cmd.Env, d.cancel = stopTime, environment(), cancel
	d.stderr.Reset()
	d.cmd.Stderr = &d.stderr
	stdout, err := d.cmd.StdoutPipe()
	s.Fatal(err, "start %s", d.Name)
	s.Fatal(d.cmd.Start(), "start %s", d.Name)
	var up struct{ URL, Host string }
	if err := json.NewDecoder(stdout).Decode(&up); err != nil {
		_ = d.end()
		s.Fatal(errors.New(strings.TrimSpace(d.stderr.String())), "%s ended at its start", d.Name)
	}
	key, err := os.ReadFile(filepath.Join(d.dir, "access.key"))
	s.Fatal(err, "read the access key of %s", d.Name)
	d.Admin, d.id = &client.Client{URL: up.URL, AccessKey: strings.TrimSpace(string(key))}, up.Host
	s.names[up.Host] = d.Name
}

// Dir is the data dir.
func (d *Daemon) Dir() string { return d.dir }

// environment is this process's without what would point a child elsewhere.
func environment() []string {
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "PLEXUS_") {
			env = append(env, e)
		}
	}
	return env
}

// Kill ends the process as a power cut would.
func (d *Daemon) Kill() {
	d.stage.Fatal(d.cmd.Process.Kill(), "kill %s", d.Name)
	_ = d.cmd.Wait() // "killed"
	d.cancel()
	d.cmd = nil
}

// end stops the process and waits for it. Safe twice.
func (d *Daemon) end() error {
	if d.cmd == nil || d.cmd.Process == nil {
		return nil
	}
	d.cancel()
	_ = d.cmd.Wait() // it says that it was cancelled
	state := d.cmd.ProcessState
	d.cmd = nil
	if !state.Success() {
		return fmt.Errorf("%s ended with %s: %s", d.Name, state, bytes.TrimSpace(d.stderr.Bytes()))
	}
	return nil
}

// Offline cuts the machine off from all others, or lets it come back.
func (d *Daemon) Offline(ctx context.Context, off bool) {
	d.stage.Fatal(d.Admin.SetOffline(ctx, off), "set %s offline: %v", d.Name, off)
}

// Command runs the plexus program against this daemon, as a person would in a terminal, and returns what it prints.
func (d *Daemon) Command(ctx context.Context, args ...string) string {
	cmd := exec.CommandContext(ctx, d.stage.program, append(args, "--dir", d.dir)...)
	cmd.Env = environment()
	out, err := cmd.CombinedOutput()
	d.stage.Fatal(err, "plexus %s on %s: %s", strings.Join(args, " "), d.Name, bytes.TrimSpace(out))
	return strings.TrimSpace(string(out))
}

// SpaceID looks a Space up by its name.
func (d *Daemon) SpaceID(ctx context.Context, name string) string {
	list, err := d.Admin.Spaces(ctx)
	d.stage.Fatal(err, "list the Spaces of %s", d.Name)
	for _, s := range list {
		if s.Name == name {
			return s.ID
		}
	}
	d.stage.Fatal(errors.New("it isn't there"), "find the Space %q on %s", name, d.Name)
	return ""
}

// Messages returns a Space's messages in canonical order.
func (d *Daemon) Messages(ctx context.Context, space string) []client.Message {
	page, err := d.Admin.Read(ctx, client.ReadQuery{SpaceID: space, All: true, Order: "canonical", Limit: 1000})
	d.stage.Fatal(err, "read on %s", d.Name)
	return page.Messages
}

// Same waits until the running daemons hold the same messages of a Space and have folded them to the same state of the plugins, and
// tells the proof: the digest over a Space's heads commits to every message in it.
func (s *Stage) Same(ctx context.Context, space string, plugins ...string) {
	var proofs []string
	s.Until(ctx, "all hold the same", func() bool {
		proofs = nil
		for _, d := range s.daemons {
			if d.cmd != nil {
				proofs = append(proofs, d.proof(ctx, space, plugins))
			}
		}
		for _, p := range proofs {
			if p == "" || p != proofs[0] {
				return false
			}
		}
		return true
	})
	s.Check(len(proofs) > 0, "all %d machines hold the same: %s", len(proofs), proofs[0])
}

// proof is what must be equal; "" where the daemon is still at it.
func (d *Daemon) proof(ctx context.Context, space string, plugins []string) string {
	status, err := d.Admin.Status(ctx)
	d.stage.Fatal(err, "status of %s", d.Name)
	out := ""
	for _, sp := range status.Spaces {
		if sp.ID == space {
			out = fmt.Sprintf("%d messages, digest %.12s…", sp.Messages, sp.Digest)
		}
	}
	if out == "" {
		return ""
	}
	for _, plugin := range plugins {
		hash, current, err := d.Admin.StateHash(ctx, space, plugin)
		if err != nil || !current {
			return ""
		}
		out += fmt.Sprintf(", state of %s %.12s…", plugin, hash)
	}
	return out
}
