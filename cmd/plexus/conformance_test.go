package main

// This file holds the conformance suite against a daemon of this build, and the suite to what it is for.

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plexus/docs/conformance"
	"plexus/plugins"
)

func TestConformance(t *testing.T) {
	d := startChild(t)
	var r conformanceReport
	cmd := exec.Command(plexus(t), "conformance", "--dir", d.dir, "-o", "json")
	cmd.Env, cmd.Stderr = childEnv(), os.Stderr
	out, _ := cmd.Output() // how it ends, the report says
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, c := range r.Cases {
		if !c.OK && c.Skipped == "" {
			t.Errorf("%s: %s: %v", c.Suite, c.Name, c.Failed)
		}
	}
	if r.Passed < 30 || r.Failed > 0 || strings.Contains(r.URL, "@") {
		t.Errorf("%d passed, %d failed at %s", r.Passed, r.Failed, r.URL)
	}
	t.Logf("%d passed, %d skipped", r.Passed, r.Skipped)
}

// A wrong key, no node, a wrong suite, a file that is no suite, a case that fails: each says so, with its exit code.
func TestConformanceFails(t *testing.T) {
	d := startChild(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "mine.json"), `{"conformance": 1, "about": "", "cases": [{"name": "never", "nodes": {"ann": "agent"}, "steps": [
		{"send": "a", "by": "ann", "message": {"content": {"n": 1}}}, {"read": {"all": true}, "by": "ann", "want": []}, {"request": "GET /spaces/$space", "by": "ann", "status": 404}, {"pause_ms": 1}]}]}`)
	bad := t.TempDir()
	write(t, filepath.Join(bad, "bad.json"), `{"conformance": 1, "about": "", "cases": [{"name": "x", "colour": "red"}]}`)
	for _, row := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--dir", d.dir, "--cases", dir}, exitFailure, `step 2 (read by ann): it is ["$a"], wanted []`},
		{[]string{"--dir", d.dir, "--cases", dir}, exitFailure, "step 3 (GET /spaces/$space): status 200, wanted 404"},
		{[]string{"--dir", d.dir, "--cases", bad}, exitUsage, "colour"},
		{[]string{"--dir", d.dir, "--cases", t.TempDir()}, exitUsage, "there are no cases"},
		{[]string{"--dir", d.dir, "nothing"}, exitUsage, `no suite "nothing"`},
		{[]string{"--dir", t.TempDir(), "--url", "http://wrong@" + d.addr, "core"}, exitAuth, "403"},
		{[]string{"--dir", t.TempDir(), "--url", "http://key@127.0.0.1:1", "core"}, exitUnreachable, "register a Node"},
	} {
		cmd := exec.Command(plexus(t), append([]string{"conformance"}, row.args...)...)
		cmd.Env = childEnv()
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != row.code || !strings.Contains(string(out), row.says) {
			t.Errorf("%v: %v, want exit %d and %q:\n%s", row.args, err, row.code, row.says, out)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Each pattern has a suite, and each suite asks each of its pattern's views.
func TestConformanceCoversThePatterns(t *testing.T) {
	suites, err := readSuites(conformance.Files, nil)
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]map[string]bool{}
	for _, s := range suites {
		asked[s.Name] = map[string]bool{}
		for _, c := range s.Cases {
			for _, step := range c.Steps {
				asked[s.Name][step.View] = true
			}
		}
	}
	m, err := plugins.ReadManifest(plugins.Bundle())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Plugins {
		for _, v := range p.Views {
			if !asked[p.Name][v.Name] {
				t.Errorf("docs/conformance/%s.json doesn't ask the view %s", p.Name, v.Name)
			}
		}
	}
}

// The suite's word for what matches.
func TestDiffers(t *testing.T) {
	for _, row := range []struct{ got, want, says string }{
		{`{"a": 1, "b": 2}`, `{"a": 1}`, ""},
		{`{"a": 1}`, `{"a": 1, "b": null}`, ""},
		{`{"a": null}`, `{"a": null}`, ""},
		{`{"a": 1}`, `{"a": null}`, "it.a is 1, wanted null"},
		{`{"a": 1.10}`, `{"a": 1.1}`, "it.a is 1.10, wanted 1.1"},
		{`[1, {"x": 2, "y": 3}]`, `[1, {"x": 2}]`, ""},
		{`[1]`, `[1, 2]`, "it is [1], wanted [1,2]"},
		{`[]`, `{}`, "it is [], wanted an object"},
		{`"a"`, `"b"`, `it is "a", wanted "b"`},
	} {
		got, err := decodeJSON([]byte(row.got))
		if err != nil {
			t.Fatal(err)
		}
		want, err := decodeJSON([]byte(row.want))
		if err != nil {
			t.Fatal(err)
		}
		if d := differs("it", got, want); d != row.says {
			t.Errorf("%s against %s: %q, want %q", row.got, row.want, d, row.says)
		}
	}
}
