package main

// This file runs the scripts in testdata/script: the program as people use it, with daemons beside it.

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"plexus": main}) }

// patience bounds every wait of a script; what is waited for comes within a second or two.
const patience = 30 * time.Second

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			patterns, err := filepath.Abs(filepath.Join("..", "..", "plugins", "bundle", "patterns.wasm"))
			if err != nil {
				return err
			}
			e.Vars = append(e.Vars, "HOME="+e.WorkDir, "XDG_DATA_HOME=", "PLEXUS_DIR="+filepath.Join(e.WorkDir, "a"),
				"UP=--listen=127.0.0.1:0", "P2P=--p2p-listen=/ip4/127.0.0.1/tcp/0", "PATTERNS="+patterns)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "ready": ready, "until": until, "capture": capture, "occupy": occupy, "gone": goneFile, "mode": mode,
		},
	})
}

// exits CODE PROGRAM ARGS… runs the program and checks its exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// ready DIR waits until a daemon serves that directory.
func ready(ts *testscript.TestScript, _ bool, args []string) {
	poll(ts, "daemon.json in "+args[0], func() bool {
		_, err := os.Stat(filepath.Join(ts.MkAbs(args[0]), "daemon.json"))
		return err == nil
	})
}

// gone FILE waits until the file is away.
func goneFile(ts *testscript.TestScript, _ bool, args []string) {
	poll(ts, "end of "+args[0], func() bool {
		_, err := os.Stat(ts.MkAbs(args[0]))
		return os.IsNotExist(err)
	})
}

// until PATTERN PROGRAM ARGS… runs the program until its standard output matches.
func until(ts *testscript.TestScript, _ bool, args []string) {
	re := regexp.MustCompile(args[0])
	poll(ts, args[0], func() bool {
		return ts.Exec(args[1], args[2:]...) == nil && re.MatchString(ts.ReadFile("stdout"))
	})
}

// capture NAME keeps the last standard output, or the field of JSON named second, in a variable.
func capture(ts *testscript.TestScript, _ bool, args []string) {
	out := strings.TrimSpace(ts.ReadFile("stdout"))
	if len(args) == 2 {
		m := regexp.MustCompile(`"` + args[1] + `": *"([^"]*)"`).FindStringSubmatch(out)
		if m == nil {
			ts.Fatalf("no field %s in %s", args[1], out)
		}
		out = m[1]
	}
	ts.Setenv(args[0], out)
}

// occupy NAME takes a TCP port until the script ends and keeps its address in a variable.
func occupy(ts *testscript.TestScript, _ bool, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	ts.Setenv(args[0], l.Addr().String())
}

// mode FILE PERM checks a file's permissions.
func mode(ts *testscript.TestScript, _ bool, args []string) {
	st, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := strconv.FormatInt(int64(st.Mode().Perm()), 8); got != args[1] {
		ts.Fatalf("%s has mode %s, want %s", args[0], got, args[1])
	}
}

// poll waits for something another process does.
func poll(ts *testscript.TestScript, what string, done func() bool) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); ; <-tick.C {
		if done() {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("waited %s for %s", patience, what)
		}
	}
}

func TestEveryVerbHasHelpWithExamples(t *testing.T) {
	a := &app{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Name() == "help" || c.Name() == "completion" {
			return
		}
		if c.Short == "" || c.Example == "" {
			t.Errorf("%s: no Short or no Example", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(a.root())
}

func TestExitCodes(t *testing.T) {
	tests := map[string]int{
		"invalid_input": 2, "too_large": 2, "unreachable": 3, "unavailable": 3, "unauthorized": 4, "forbidden": 4, "timeout": 5,
		"not_found": 1, "conflict": 1, "internal": 1,
	}
	for code, want := range tests {
		if got := exitCode(code); got != want {
			t.Errorf("%s: %d, want %d", code, got, want)
		}
	}
}

func TestPlainText(t *testing.T) {
	tests := map[string]string{
		"hello\nworld\té":    "hello\nworld\té",
		"\x1b[31mred\x07":    `\u001b[31mred\u0007`,
		"right\u202eto left": `right\u202eto left`,
		"\u009b1m":           `\u009b1m`,
	}
	for in, want := range tests {
		if got := plain(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := oneLine("a\n b\x1b  c d", 8); got != `a b\u00…` {
		t.Errorf("got %q", got)
	}
}

func TestFileNames(t *testing.T) {
	seen := map[string]string{}
	for _, in := range []string{"cli", "a/b", "a_b", "..", ".hidden", "ü", "a b", "A", strings.Repeat("x", 300)} {
		got := fileName(in)
		if strings.ContainsAny(got, "/\\ ") || strings.HasPrefix(got, ".") || len(got) > maxFileName {
			t.Errorf("%q becomes %q", in, got)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q share %q", in, other, got)
		}
		seen[got] = in
	}
}

func TestProgressSaysNothingOfShortWork(t *testing.T) {
	var out, errOut strings.Builder
	a := &app{out: &out, err: &errOut}
	p := a.progress("exported")
	w := p.writer(&out)
	for range 3 {
		if _, err := w.Write([]byte("some")); err != nil {
			t.Fatal(err)
		}
	}
	if errOut.Len() > 0 || out.String() != "somesomesome" {
		t.Errorf("said %q, wrote %q", errOut.String(), out.String())
	}
	p.next = time.Now().Add(-time.Second)
	p.add(1_500_000)
	if errOut.String() != "exported: 1.5 MB\n" {
		t.Errorf("said %q", errOut.String())
	}
}
