package kit

// This file holds the whole test of a plugin, and what it writes back.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"plexus/graph"
)

// TestOptions say how much is tried.
type TestOptions struct {
	Seed     uint64                          // of orders and contents; a failure names it
	Fuzz     int                             // messages with made-up contents
	Progress func(step string, done, of int) // nil: silent
}

// TestResult is what a test of one plugin showed.
type TestResult struct {
	Plugin   string           `json:"plugin"`
	Passed   bool             `json:"passed"`
	Messages int              `json:"messages"`
	Hash     string           `json:"hash"`
	Gas      map[string]int64 `json:"gas"`
	Differ   []string         `json:"differs,omitempty"`  // from what the trace wants
	Orders   int              `json:"orders"`             // delivered beside the trace's own
	Diverged string           `json:"diverged,omitempty"` // how two deliveries ended apart
	Fuzzing  *Fuzzing         `json:"fuzzing,omitempty"`
	Logs     []string         `json:"logs,omitempty"` // of the replay, by message
}

// Test replays a trace, delivers it in other orders and on another engine, and fuzzes contents. The error is for what can't be run
// at all; what the plugin does wrong stands in the result.
func (f *File) Test(ctx context.Context, plugin string, t *Trace, o TestOptions) (*TestResult, error) {
	tell := func(step string) func(done, of int) {
		return func(done, of int) {
			if o.Progress != nil {
				o.Progress(step, done, of)
			}
		}
	}
	out, err := f.Replay(ctx, plugin, t)
	if err != nil {
		return nil, err
	}
	r := &TestResult{Plugin: plugin, Messages: len(t.Messages), Hash: out.Hash, Gas: out.Gas, Differ: out.Differ, Logs: out.Logs}
	var diverged *Diverged
	err = f.Converge(ctx, plugin, t, o.Seed, tell("orders"))
	switch {
	case errors.As(err, &diverged):
		r.Diverged = diverged.Error()
	case err != nil:
		return nil, err
	default:
		r.Orders = Orders
	}
	if o.Fuzz > 0 && r.Diverged == "" {
		tell("contents")(0, o.Fuzz)
		r.Fuzzing, err = f.Fuzz(ctx, plugin, t, o.Seed, o.Fuzz)
		if errors.As(err, &diverged) {
			r.Diverged, err = "with made-up contents: "+diverged.Error(), nil
		}
		if err != nil {
			return nil, err
		}
	}
	r.Passed = len(r.Differ) == 0 && r.Diverged == "" && (r.Fuzzing == nil || len(r.Fuzzing.Traps) == 0)
	return r, nil
}

var (
	hashField = regexp.MustCompile(`"hash":\s*"[0-9a-f]*"`)
	traceEnd  = regexp.MustCompile(`\s*\}\s*$`)
)

// UpdateTrace writes a state's hash into the trace.json of a plugin's project and leaves the rest as the author wrote it. It returns
// the file's path.
func UpdateTrace(dir, plugin, hash string) (string, error) {
	list, err := folders(dir)
	if err != nil {
		return "", err
	}
	if len(list) > 1 {
		if i := slices.IndexFunc(list, func(f string) bool { return filepath.Base(f) == plugin }); i >= 0 {
			list = list[i:]
		}
	}
	path := filepath.Join(list[0], "trace.json")
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	field := fmt.Sprintf(`"hash": %q`, hash)
	next := hashField.ReplaceAll(b, []byte(field))
	if !hashField.Match(b) {
		next = traceEnd.ReplaceAll(b, []byte(",\n  "+field+"\n}\n"))
	}
	if _, err := ParseTrace(next); err != nil {
		return "", fmt.Errorf("%s: write %s into it by hand: %w", path, field, graph.ErrInvalid)
	}
	return path, os.WriteFile(path, next, 0o666)
}
