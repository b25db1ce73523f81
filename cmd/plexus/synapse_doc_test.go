package main

// This file holds docs/synapse.md to its word: every section of the seed has its row, and the commands it names exist.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// sections are the seed's numbers.
var sections = strings.Fields(`1 2.1 2.2 2.3 2.4 2.5 2.6 2.7 3 3.1 4.1 4.2 4.3 4.4 4.5 4.6 5.1 5.2 5.3 5.4 5.5 6.1 6.2 6.3 7.1 7.2 8.1 8.2 8.3 8.4 9 10`)

func TestSynapseSections(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "synapse.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| ([\d.]+|Appendix A) [^|]*\|([^|]*)\|([^|]*)\|([^|]*)\|$`).FindAllStringSubmatch(string(text), -1)
	seen := map[string]bool{}
	root := (&app{}).root()
	for _, row := range rows {
		seen[row[1]] = true
		for i, cell := range row[2:] {
			if strings.TrimSpace(cell) == "" {
				t.Errorf("%s: column %d is empty", row[1], i+2)
			}
		}
		for _, m := range regexp.MustCompile("`plexus ([^`]*)`").FindAllStringSubmatch(row[3], -1) {
			if problem := wrongCommand(root, strings.Fields(m[1])); problem != "" {
				t.Errorf("%s: plexus %s: %s", row[1], m[1], problem)
			}
		}
	}
	for _, s := range append(sections, "Appendix A") {
		if !seen[s] {
			t.Errorf("section %s of the seed has no row", s)
		}
	}
}

// wrongCommand says why the program wouldn't take these words.
func wrongCommand(root *cobra.Command, words []string) string {
	cmd, rest, err := root.Find(words)
	if err != nil || cmd == root {
		return "there is no such verb"
	}
	for _, w := range rest {
		name, isFlag := strings.CutPrefix(w, "--")
		if isFlag && name != "help" && cmd.Flags().Lookup(name) == nil {
			return "no flag " + w
		}
	}
	if (cmd.Name() == "do" || cmd.Name() == "view") && len(rest) >= 3 {
		return wrongAction(cmd.Name(), rest[1], rest[2])
	}
	return ""
}

// wrongAction says whether a pattern has a view or command of that name.
func wrongAction(verb, plugin, action string) string {
	b, err := os.ReadFile(filepath.Join("..", "..", "plugins", plugin, "manifest.json"))
	if err != nil {
		return "there is no pattern " + plugin
	}
	var m map[string]json.RawMessage
	var list []struct{ Name string }
	if err := json.Unmarshal(b, &m); err != nil {
		return err.Error()
	}
	if err := json.Unmarshal(m[map[string]string{"do": "commands", "view": "views"}[verb]], &list); err != nil {
		return err.Error()
	}
	if !slices.ContainsFunc(list, func(a struct{ Name string }) bool { return a.Name == action }) {
		return plugin + " has no " + action
	}
	return ""
}
