package main

// This file holds how `plexus up &` and a verb right after it meet: up leaves its process's number in the data directory
// before anything else, and whoever finds a start under way waits for its end.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const startFile = "up.pid"

// markStart leaves this process's number, unless a running one has left its own; the data directory's lock decides
// between them later. The function it returns takes the number away again.
func markStart(dir string) (func(), error) {
	if starting(dir) != 0 {
		return func() {}, nil
	}
	file := filepath.Join(dir, startFile)
	if err := writePrivate(file, []byte(strconv.Itoa(os.Getpid()))); err != nil {
		return nil, wrongUse("give --dir of a directory that you may write to", "%s", err)
	}
	return func() { _ = os.Remove(file) }, nil
}

// starting is the number of the process that runs `plexus up` on dir, 0 where none does.
func starting(dir string) int {
	raw, err := os.ReadFile(filepath.Join(dir, startFile))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil || pid <= 0 {
		return 0
	}
	if !alive(pid) {
		return 0 // it was killed
	}
	return pid
}

func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// findRunning returns what daemon.json says. Where there is none yet it waits: startGrace for a start to show itself,
// startTime for one that is under way.
func findRunning(ctx context.Context, dir string) (running, error) {
	began := time.Now()
	tick := time.NewTicker(startPause)
	defer tick.Stop()
	for {
		r, err := readRunning(dir)
		pid := starting(dir)
		if err == nil && (pid != 0 && r.PID != pid || r.PID > 0 && !alive(r.PID)) {
			err = notRunning(dir) // what is there was left by one that was killed
		}
		wait := startTime
		if pid == 0 {
			wait = startGrace
		}
		if err == nil || time.Since(began) > wait {
			return r, stillStarting(err, dir, pid)
		}
		select {
		case <-ctx.Done():
			return r, ctx.Err()
		case <-tick.C:
		}
	}
}

// stillStarting says so where that is why there is no address.
func stillStarting(err error, dir string, pid int) error {
	if err == nil || pid == 0 {
		return err
	}
	return unreachable(fmt.Sprintf("the daemon of %s (process %d) is still starting", dir, pid), "try again in a moment")
}
