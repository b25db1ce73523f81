package main

// This file reads what processes have used, from /proc; where there is none the figures stay zero and aren't printed.

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// ticksPerSecond is USER_HZ, which Linux fixes at 100 for /proc.
const ticksPerSecond = 100

// used is CPU seconds of all, and MiB of the largest peak.
type used struct{ cpu, peak float64 }

func usage(fleet []*daemon) (u used) {
	for _, d := range fleet {
		one := usageOf(strconv.Itoa(d.cmd.Process.Pid))
		u.cpu += one.cpu
		u.peak = max(u.peak, one.peak)
	}
	return u
}

// usageOf is one process's; "self" is this one.
func usageOf(pid string) (u used) {
	if raw, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil {
		// Fields after the command's closing parenthesis: utime and stime are the 12th and 13th.
		f := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		if len(f) > 12 {
			for _, s := range f[11:13] {
				n, _ := strconv.ParseFloat(s, 64)
				u.cpu += n / ticksPerSecond
			}
		}
	}
	raw, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return u
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			u.peak = kib / 1024
		}
	}
	return u
}

// forgetPeak lets this process's peak begin anew; where that can't be done, the peak stays that of all before.
func forgetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}
