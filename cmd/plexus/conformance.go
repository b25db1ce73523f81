package main

// This file holds conformance: the suite of docs/conformance against any node, over nothing but HTTP.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"plexus/docs/conformance"
	"plexus/sdk/client"
)

// conformanceReport is what a run found.
type conformanceReport struct {
	URL     string              `json:"url"` // without the key
	Passed  int                 `json:"passed"`
	Failed  int                 `json:"failed"`
	Skipped int                 `json:"skipped"`
	Cases   []conformanceResult `json:"cases"`
}

// conformanceResult is one case.
type conformanceResult struct {
	Suite   string   `json:"suite"`
	Name    string   `json:"name"`
	OK      bool     `json:"ok"`
	Skipped string   `json:"skipped,omitempty"` // why
	Failed  []string `json:"failed,omitempty"`  // what was otherwise, step by step
}

func (a *app) conformanceCommand() *cobra.Command {
	var dir string
	var slow bool
	cmd := &cobra.Command{
		Use: "conformance [SUITE …]", Short: "Hold a node against the conformance suite",
		Long: `Run the language-neutral conformance suite (docs/conformance) against any node over HTTP: each case makes a Space and Nodes of its own
on it, sends messages, and compares reads and views. Suites: core, and the first-party patterns; none named: all. What they leave behind are Spaces
named "conformance …". The node's access key is the data directory's, PLEXUS_ACCESS_KEY, or stands in the URL.

Prints TAP (a line a case), or with -o json a report. Exits 1 if a case fails.`,
		Example: "  plexus conformance\n  plexus conformance --url http://KEY@192.0.2.7:8765 core task\n  plexus conformance --cases ./mine -o json",
		RunE: func(cmd *cobra.Command, suites []string) error {
			r, err := a.conformance(cmd.Context(), dir, suites, slow)
			if err != nil {
				return err
			}
			if err := a.print(r, func(w io.Writer) { r.tap(w) }); err != nil {
				return err
			}
			if r.Failed > 0 {
				return &client.Error{Code: client.CodeInternal, Detail: fmt.Sprintf("%d of %d cases fail", r.Failed, len(r.Cases)), Hint: "docs/conformance/README.md says what each step means"}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "cases", "", "a folder of suites instead of the built-in ones")
	cmd.Flags().BoolVar(&slow, "slow", false, "run the cases too that wait for a deadline to pass")
	return cmd
}

func (a *app) conformance(ctx context.Context, dir string, names []string, slow bool) (*conformanceReport, error) {
	owner, err := a.owner(ctx)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(owner.URL)
	if err != nil {
		return nil, wrongUse("give it as "+client.DefaultURL, "the node's address is no URL")
	}
	key := owner.AccessKey
	if at.User != nil {
		key = at.User.Username()
	}
	at.User = nil
	var files fs.FS = conformance.Files
	if dir != "" {
		files = os.DirFS(dir)
	}
	suites, err := readSuites(files, names)
	if err != nil {
		return nil, err
	}
	r := &conformanceReport{URL: at.String()}
	run := &conformanceRun{url: at.String(), key: key, id: fmt.Sprint(time.Now().UnixMicro())}
	for _, s := range suites {
		for _, c := range s.Cases {
			res := conformanceResult{Suite: s.Name, Name: c.Name}
			if slices.Contains(c.Needs, "time") && !slow {
				res.Skipped = "it waits for a deadline to pass: --slow runs it"
				r.Skipped++
			} else if res.Failed, err = run.run(ctx, s, c); err != nil {
				return nil, fmt.Errorf("case %s of %s: %w", c.Name, s.Name, err)
			} else if res.OK = len(res.Failed) == 0; res.OK {
				r.Passed++
			} else {
				r.Failed++
			}
			r.Cases = append(r.Cases, res)
		}
	}
	return r, nil
}

// readSuites reads the suites named, or all.
func readSuites(files fs.FS, names []string) ([]suite, error) {
	found, err := fs.Glob(files, "*.json")
	if err != nil {
		return nil, err
	}
	var out []suite
	for _, f := range found {
		b, err := fs.ReadFile(files, f)
		if err != nil {
			return nil, err
		}
		s, err := parseSuite(f, b)
		if err != nil {
			return nil, err
		}
		if len(names) == 0 || slices.Contains(names, s.Name) {
			out = append(out, s)
		}
	}
	for _, n := range names {
		if !slices.ContainsFunc(out, func(s suite) bool { return s.Name == n }) {
			return nil, wrongUse("the suites are the names of the .json files", "there is no suite %q", n)
		}
	}
	if len(out) == 0 {
		return nil, wrongUse("give --cases a folder with .json files", "there are no cases")
	}
	return out, nil
}

// tap writes the report in the Test Anything Protocol's version 14.
func (r *conformanceReport) tap(w io.Writer) {
	fmt.Fprintf(w, "TAP version 14\n1..%d\n", len(r.Cases))
	for i, c := range r.Cases {
		switch {
		case c.Skipped != "":
			fmt.Fprintf(w, "ok %d - %s: %s # SKIP %s\n", i+1, c.Suite, c.Name, c.Skipped)
		case c.OK:
			fmt.Fprintf(w, "ok %d - %s: %s\n", i+1, c.Suite, c.Name)
		default:
			fmt.Fprintf(w, "not ok %d - %s: %s\n", i+1, c.Suite, c.Name)
		}
		for _, f := range c.Failed {
			fmt.Fprintf(w, "# %s\n", plain(f))
		}
	}
	fmt.Fprintf(w, "# %d passed, %d failed, %d skipped\n", r.Passed, r.Failed, r.Skipped)
}

// errStep is a step that can't go on: those after it would only say so again.
var errStep = errors.New("the steps after it were left out")
