package scripted

// This file holds OpenCode, a real agent harness, driven by a model of ours.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// OpenCode is the command that has OpenCode (its binary is bin) work in the directory home with the model at modelURL, and with tools (a
// command line) as its only MCP server. Its environment is a home of its own and the PATH.
func OpenCode(ctx context.Context, bin, home, modelURL string, tools ...string) (*exec.Cmd, error) {
	raw, err := json.Marshal(map[string]any{
		"provider": map[string]any{"scripted": map[string]any{
			"npm": "@ai-sdk/openai-compatible", "name": "Scripted",
			"options": map[string]any{"baseURL": modelURL, "apiKey": "none"},
			"models":  map[string]any{"m": map[string]any{"name": "m", "tool_call": true}},
		}},
		"model": "scripted/m", "small_model": "scripted/m", "autoupdate": false, "share": "disabled",
		"mcp":        map[string]any{"plexus": map[string]any{"type": "local", "enabled": true, "command": tools}},
		"permission": map[string]any{"*": "allow"},
	})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(home, "opencode.json"), raw, 0o600); err != nil {
		return nil, fmt.Errorf("configure OpenCode: %w", err)
	}
	cmd := exec.CommandContext(ctx, bin, "run", "--format", "json", "Do what the script says.")
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	return cmd, nil
}

// Field finds "key":"value" in a tool's result, whatever text surrounds the JSON; "" where there is none.
func Field(result, key string) string {
	m := regexp.MustCompile(`"` + regexp.QuoteMeta(key) + `"\s*:\s*"([^"]+)"`).FindStringSubmatch(strings.ReplaceAll(result, `\"`, `"`))
	if m == nil {
		return ""
	}
	return m[1]
}
