package main

// This file reads what child processes have used, from /proc; where there is none the figures stay zero and aren't printed.

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ticksPerSecond is USER_HZ, which Linux fixes at 100 for /proc.
const ticksPerSecond = 100

// used is CPU seconds of all, and MiB of the largest peak.
type used struct{ cpu, peak float64 }

func usage(fleet []*daemon) (u used) {
	for _, d := range fleet {
		pid := d.cmd.Process.Pid
		if raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
			// Fields after the command's closing parenthesis: utime and stime are the 12th and 13th.
			f := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
			if len(f) > 12 {
				for _, s := range f[11:13] {
					n, _ := strconv.ParseFloat(s, 64)
					u.cpu += n / ticksPerSecond
				}
			}
		}
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(raw)) {
			if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				kib, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
				u.peak = max(u.peak, kib/1024)
			}
		}
	}
	return u
}
