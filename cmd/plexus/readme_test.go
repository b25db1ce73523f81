package main

// This file holds the README's commands and every verb's examples against the program: verbs, flags and numbers of
// arguments must be there. What the commands do is what the scripts test.

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// commandLine splits as a shell would, as far as our papers go: quotes, comments, pipes, &.
var commandLine = regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`)

func parses(t *testing.T, where, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, "  #")
	_, line, _ = strings.Cut(line, "plexus ")
	for _, end := range []string{" | ", " > ", " >/", " &", ")\" ", "$("} {
		line, _, _ = strings.Cut(line, end)
	}
	var args []string
	for _, w := range commandLine.FindAllString(line, -1) {
		args = append(args, strings.Trim(w, `'"`))
	}
	root := (&app{}).root()
	cmd, rest, err := root.Find(args)
	if err == nil && cmd != root {
		err = cmd.ParseFlags(rest)
	}
	if err == nil && cmd.Runnable() {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil {
		t.Errorf("%s: plexus %s: %v", where, line, err)
	}
}

func TestReadmeCommandsParse(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, block := range strings.Split(string(raw), "```") {
		if i%2 == 0 || !strings.HasPrefix(block, "sh\n") {
			continue
		}
		for line := range strings.SplitSeq(block, "\n") {
			if strings.HasPrefix(line, "plexus ") {
				parses(t, "README.md", line)
				n++
			}
		}
	}
	if n < 5 {
		t.Errorf("found %d commands; where has the tour gone?", n)
	}
}

func TestExamplesParse(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for line := range strings.SplitSeq(c.Example, "\n") {
			if strings.Contains(line, "plexus ") && !strings.Contains(line, "ssh ") {
				parses(t, c.CommandPath(), line)
			}
		}
		for _, sub := range c.Commands() {
			if sub.Name() != "completion" && sub.Name() != "help" {
				walk(sub)
			}
		}
	}
	walk((&app{}).root())
}
