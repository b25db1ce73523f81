package main

// This file holds `plexus bench`: whole paths measured from outside, through daemons in processes of their own. What is
// measured and how stands beside each bench in bench_paths.go.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
)

// benchTime bounds one bench, its preparation included.
const benchTime = 15 * time.Minute

// benchOptions are the flags all benches share; each uses what it needs.
type benchOptions struct {
	asJSON   bool
	messages int
	conns    int
	size     int
	rate     int
}

// benchResult is what a bench prints. Latencies in milliseconds; CPU in seconds of user and system time, of all daemons
// together over the measured part; memory is the largest daemon's peak in MiB. Fields that don't apply are left out.
type benchResult struct {
	Bench    string  `json:"bench"`
	Messages int     `json:"messages"`
	Seconds  float64 `json:"seconds"`
	Rate     float64 `json:"per_second"`
	P50      float64 `json:"p50_ms,omitempty"`
	P99      float64 `json:"p99_ms,omitempty"`
	CPU      float64 `json:"cpu_s,omitempty"`
	PeakMiB  float64 `json:"peak_mib,omitempty"`
	FsyncMS  float64 `json:"fsync_ms,omitempty"`        // median of this disk, measured just before
	OfCommit float64 `json:"of_group_commit,omitempty"` // rate ÷ (connections ÷ fsync)
}

func benchCommand() *cobra.Command {
	var o benchOptions
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure whole paths: send, read, propagate, sync, fold",
		Long: `Measure whole paths through daemons of their own on loopback, fsync on, and print rates, p50 and p99, CPU and
memory. Figures of one run compare with each other; machines are noisy, so compare ratios, not runs.`,
		Example: "  plexus bench send\n  plexus bench sync --json\n  plexus bench fold",
	}
	cmd.PersistentFlags().BoolVar(&o.asJSON, "json", false, "print one JSON object")
	add := func(use, short string, messages int, run func(context.Context, string, benchOptions) (benchResult, error)) {
		sub := &cobra.Command{
			Use: use, Short: short, Args: cobra.NoArgs,
			Example: "  plexus bench " + use + "\n  plexus bench " + use + " --json",
			RunE: func(cmd *cobra.Command, _ []string) error {
				ctx, cancel := context.WithTimeout(cmd.Context(), benchTime)
				defer cancel()
				return runBench(ctx, cmd.OutOrStdout(), o, run)
			},
		}
		sub.Flags().IntVar(&o.messages, "messages", messages, "how many messages")
		sub.Flags().IntVar(&o.size, "size", 200, "bytes of content a message")
		sub.Flags().IntVar(&o.conns, "connections", 32, "senders at once")
		sub.Flags().IntVar(&o.rate, "rate", 50, "messages a second (propagate)")
		sub.PreRunE = func(*cobra.Command, []string) error { return o.check(sub.Flags().Changed("messages"), messages) }
		cmd.AddCommand(sub)
	}
	add("send", "Acknowledged sends over HTTP, many connections", 50_000, benchSend)
	add("read", "Pages of 20 after a cursor, over HTTP", 100_000, benchRead)
	add("propagate", "From acknowledged on one node to streamed by another", 500, benchPropagate)
	add("sync", "A fresh replica takes a whole Space", 100_000, benchSync)
	cmd.AddCommand(benchFoldCommand(&o))
	return cmd
}

// check fills the flag that differs by bench and refuses what makes no sense.
func (o *benchOptions) check(changed bool, messages int) error {
	if !changed {
		o.messages = messages
	}
	for _, f := range []struct {
		name      string
		v, lo, hi int
	}{
		{"messages", o.messages, 1, 10_000_000},
		{"size", o.size, 16, 100_000},
		{"connections", o.conns, 1, 1024},
		{"rate", o.rate, 1, 10_000},
	} {
		if f.v < f.lo || f.v > f.hi {
			return fmt.Errorf("--%s is %d: it must be %d to %d", f.name, f.v, f.lo, f.hi)
		}
	}
	return nil
}

// report is what a bench found.
type report interface{ print(out io.Writer) }

func runBench[R report](ctx context.Context, out io.Writer, o benchOptions, run func(context.Context, string, benchOptions) (R, error)) error {
	dir, err := os.MkdirTemp("", "plexus-bench-")
	if err != nil {
		return fmt.Errorf("make a directory for the bench: %w", err)
	}
	defer os.RemoveAll(dir)
	r, err := run(ctx, dir, o)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	if o.asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	r.print(out)
	return nil
}

func (r benchResult) print(out io.Writer) {
	fmt.Fprintf(out, "%-10s %d messages in %.2f s: %.0f/s\n", r.Bench, r.Messages, r.Seconds, r.Rate)
	if r.P50 > 0 {
		fmt.Fprintf(out, "%-10s p50 %.2f ms, p99 %.2f ms\n", "latency", r.P50, r.P99)
	}
	if r.CPU > 0 {
		fmt.Fprintf(out, "%-10s %.2f s CPU (%.0f µs a message), peak memory %.0f MiB\n", "cost", r.CPU, r.CPU*1e6/float64(r.Messages), r.PeakMiB)
	}
	if r.FsyncMS > 0 {
		fmt.Fprintf(out, "%-10s %.2f ms median; %.0f %% of what group commit allows\n", "fsync", r.FsyncMS, 100*r.OfCommit)
	}
}

// latencies sets P50 and P99 from durations, which it sorts.
func (r *benchResult) latencies(d []time.Duration) {
	slices.Sort(d)
	r.P50 = d[len(d)/2].Seconds() * 1e3
	r.P99 = d[len(d)*99/100].Seconds() * 1e3
}
