package main

// This file holds `plexus mcp install`: what each MCP client's configuration looks like, and how ours is merged in
// without touching the rest.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plexus/sdk/client"
)

// mcpClient is one client's way to be configured.
type mcpClient struct {
	name    string
	file    func(home string, project bool) string
	path    []string // where the servers stand in its JSON; nil for TOML
	entry   func(command []string) any
	restart string
}

// stdio is the entry most clients share.
func stdio(command []string) any {
	return map[string]any{"command": command[0], "args": command[1:]}
}

func at(user, project []string) func(string, bool) string {
	return func(home string, inProject bool) string {
		if inProject {
			return filepath.Join(project...)
		}
		return filepath.Join(append([]string{home}, user...)...)
	}
}

var mcpClients = []mcpClient{
	{
		name: "claude-code", path: []string{"mcpServers"}, restart: "restart Claude Code",
		file: at([]string{".claude.json"}, []string{".mcp.json"}),
		entry: func(c []string) any {
			return map[string]any{"type": "stdio", "command": c[0], "args": c[1:], "env": map[string]string{}}
		},
	},
	{
		name: "cursor", path: []string{"mcpServers"}, entry: stdio, restart: "reload Cursor",
		file: at([]string{".cursor", "mcp.json"}, []string{".cursor", "mcp.json"}),
	},
	{
		name: "vscode", path: []string{"servers"}, restart: "start the server in VS Code's MCP view",
		file: at([]string{".config", "Code", "User", "mcp.json"}, []string{".vscode", "mcp.json"}),
		entry: func(c []string) any {
			return map[string]any{"type": "stdio", "command": c[0], "args": c[1:]}
		},
	},
	{
		name: "opencode", path: []string{"mcp"}, restart: "restart OpenCode",
		file: at([]string{".config", "opencode", "opencode.json"}, []string{"opencode.json"}),
		entry: func(c []string) any {
			return map[string]any{"type": "local", "command": c, "enabled": true}
		},
	},
	{
		name: "codex", restart: "restart Codex", entry: stdio,
		file: at([]string{".codex", "config.toml"}, []string{".codex", "config.toml"}),
	},
	{
		name: "gemini", path: []string{"mcpServers"}, entry: stdio, restart: "restart Gemini CLI",
		file: at([]string{".gemini", "settings.json"}, []string{".gemini", "settings.json"}),
	},
}

func (a *app) mcpInstallCommand() *cobra.Command {
	var only, project, pluginTools bool
	var names []string
	for _, c := range mcpClients {
		names = append(names, c.name)
	}
	cmd := &cobra.Command{
		Use: "install CLIENT", Short: "Write an MCP client's configuration",
		Long: "Add Plexus to the configuration of an MCP client, for you or with --project for the project in this directory. What\n" +
			"else stands there stays. Clients: " + strings.Join(names, ", ") + ".",
		Example: "  plexus mcp install claude-code\n  plexus mcp install cursor --project\n  plexus mcp install codex --print\n" +
			"  plexus mcp install claude-code --plugin-tools",
		Args:      cobra.ExactArgs(1),
		ValidArgs: names,
		RunE: func(_ *cobra.Command, args []string) error {
			i := slices.IndexFunc(mcpClients, func(c mcpClient) bool { return c.name == args[0] })
			if i < 0 {
				return wrongUse("one of: "+strings.Join(names, ", "), "no client named %q", args[0])
			}
			return a.install(mcpClients[i], only, project, pluginTools)
		},
	}
	cmd.Flags().BoolVar(&only, "print", false, "print the whole file as it would be, and write nothing")
	cmd.Flags().BoolVar(&project, "project", false, "the configuration of the project in this directory instead of yours")
	pluginToolsFlag(cmd, &pluginTools)
	return cmd
}

func (a *app) install(c mcpClient, only, project, pluginTools bool) error {
	command, err := a.mcpArgs(pluginTools)
	if err != nil {
		return err
	}
	home, err := os.UserHomeDir()
	if err != nil && !project {
		return wrongUse("set HOME, or use --project", "no home directory: %s", err)
	}
	file := c.file(home, project)
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the configuration of %s: %w", c.name, err)
	}
	var merged []byte
	if c.path == nil {
		merged, err = mergeTOML(old, command)
	} else {
		merged, err = mergeJSON(old, append(slices.Clone(c.path), "plexus"), c.entry(command))
	}
	if err != nil {
		return &client.Error{
			Code: client.CodeConflict, Detail: fmt.Sprintf("%s can't be merged into: %s", file, err),
			Hint: "mend it, or move it away and add by hand what --print says then",
		}
	}
	if only {
		_, err := a.out.Write(merged)
		return err
	}
	if err := replaceFile(file, merged); err != nil {
		return err
	}
	return a.print(map[string]string{"client": c.name, "file": file}, func(w io.Writer) {
		fmt.Fprintln(w, file)
		a.note("%s to use it", c.restart)
	})
}

// mcpArgs is the command line a client shall start.
func (a *app) mcpArgs(pluginTools bool) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program's own file: %w", err)
	}
	args := []string{self, "mcp"}
	if pluginTools {
		args = append(args, "--plugin-tools")
	}
	if dirFlag(a.dir) != "" || os.Getenv("PLEXUS_DIR") != "" {
		args = append(args, "--dir", a.dir)
	}
	if a.url != "" {
		args = append(args, "--url", a.url)
	}
	if a.as != "" {
		args = append(args, "--as", a.as)
	}
	return args, nil
}

// mergeJSON sets one value deep in a JSON document and keeps the order and the text of everything beside it.
func mergeJSON(old []byte, path []string, value any) ([]byte, error) {
	doc, err := setIn(old, path, value)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, doc, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func setIn(doc []byte, path []string, value any) ([]byte, error) {
	if len(path) == 0 {
		return json.Marshal(value)
	}
	keys, values, err := members(doc)
	if err != nil {
		return nil, err
	}
	i := slices.Index(keys, path[0])
	if i < 0 {
		i, keys, values = len(keys), append(keys, path[0]), append(values, nil)
	}
	if values[i], err = setIn(values[i], path[1:], value); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for j, k := range keys {
		b.WriteByte("{,"[min(j, 1)])
		name, _ := json.Marshal(k) // a string always marshals
		b.Write(name)
		b.WriteByte(':')
		b.Write(values[j])
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// members lists an object's members in order; nothing is an empty object.
func members(doc []byte) (keys []string, values []json.RawMessage, err error) {
	if len(bytes.TrimSpace(doc)) == 0 {
		return nil, nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, errors.New("no plain JSON object stands there (comments aren't understood)")
	}
	for dec.More() {
		var v json.RawMessage
		k, err := dec.Token()
		if err == nil {
			err = dec.Decode(&v)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("it is no plain JSON (comments aren't understood): %w", err)
		}
		keys, values = append(keys, k.(string)), append(values, v)
	}
	if _, err := dec.Token(); err != nil {
		return nil, nil, fmt.Errorf("it is no plain JSON: %w", err)
	}
	return keys, values, nil
}

// mergeTOML replaces our own table, or appends it.
func mergeTOML(old []byte, command []string) ([]byte, error) {
	const head = "[mcp_servers.plexus]"
	var kept []string
	ours := false
	for line := range strings.SplitSeq(strings.TrimRight(string(old), "\n"), "\n") {
		t := strings.TrimSpace(line)
		if strings.HasPrefix(t, "[") {
			ours = t == head || strings.HasPrefix(t, "[mcp_servers.plexus.")
		}
		if !ours {
			kept = append(kept, line)
		}
	}
	text := strings.TrimRight(strings.Join(kept, "\n"), "\n")
	if text != "" {
		text += "\n\n"
	}
	name, _ := json.Marshal(command[0]) // a JSON string is a TOML basic string
	args, _ := json.Marshal(command[1:])
	return fmt.Appendf(nil, "%s%s\ncommand = %s\nargs = %s\n", text, head, name, args), nil
}

// replaceFile writes a user's file whole or not at all, and keeps its permissions.
func replaceFile(file string, raw []byte) error {
	mode := fs.FileMode(0o644)
	if st, err := os.Stat(file); err == nil {
		mode = st.Mode().Perm()
	}
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	tmp := file + ".plexus-new"
	if err := os.WriteFile(tmp, raw, mode); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := os.Rename(tmp, file); err != nil {
		_ = os.Remove(tmp)
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
