package main

// This file holds the commands of the guide to P2A against the program, as readme_test.go does for the README.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestP2AGuideCommandsParse(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "guides", "p2a.md"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, block := range strings.Split(string(raw), "```") {
		if i%2 == 0 || !strings.HasPrefix(block, "sh\n") {
			continue
		}
		for line := range strings.SplitSeq(strings.ReplaceAll(block, ",\n  ", ","), "\n") {
			if strings.HasPrefix(line, "plexus ") {
				parses(t, "docs/guides/p2a.md", line)
				n++
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d commands found", n)
	}
}
