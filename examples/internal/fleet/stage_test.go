package fleet

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

// How an example ends: what failed, what didn't hold, and that nothing stays behind.
func TestTheEnd(t *testing.T) {
	t.Setenv(Program, os.Args[0])
	t.Setenv("TMPDIR", t.TempDir())
	for name, c := range map[string]struct {
		play func(context.Context, *Stage)
		want string // in the error; "": none
		says string
	}{
		"all well": {func(_ context.Context, s *Stage) { s.Check(true, "so") }, "", "All 1 checks hold"},
		"a check":  {func(_ context.Context, s *Stage) { s.Check(false, "so"); s.Check(true, "and so") }, "1 of 2 checks", "not so: so"},
		"an error": {func(_ context.Context, s *Stage) { s.Fatal(errors.New("broken"), "look at %s", "it") }, "look at it: broken", ""},
		"skipped":  {func(_ context.Context, s *Stage) { s.Skip("no %s", "npm") }, "", "SKIPPED: no npm"},
		"no error": {func(_ context.Context, s *Stage) { s.Fatal(nil, "look") }, "", "checks hold"},
		"what never comes": {func(ctx context.Context, s *Stage) {
			c, stop := context.WithCancel(ctx)
			stop()
			s.Until(c, "it rains", func() bool { return false })
		}, "wait until it rains", ""},
		"names": {func(_ context.Context, s *Stage) { s.names["12D3KooWx"] = "ann"; s.Tell("bob", "asks 12D3KooWx") }, "", "bob      asks ann"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			cleaned := false
			err := run(t.Context(), &out, name, func(ctx context.Context, s *Stage) {
				s.Finally(func() { cleaned = true })
				c.play(ctx, s)
			})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || !strings.Contains(out.String(), c.says) {
				t.Errorf("%v\n%s", err, &out)
			}
			if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 || !cleaned {
				t.Errorf("left behind: %v, cleaned %v", left, cleaned)
			}
		})
	}
}

// A daemon that doesn't start says why, and ends the example.
func TestADaemonThatDoesntStart(t *testing.T) {
	t.Setenv(Program, "/bin/false")
	var out bytes.Buffer
	err := run(t.Context(), &out, "x", func(ctx context.Context, s *Stage) { s.Network(ctx, "ann") })
	if err == nil || !strings.Contains(err.Error(), "ann ended at its start") {
		t.Error(err)
	}
}
