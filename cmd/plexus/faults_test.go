package main

// This file holds what a machine does to a daemon: a disk that is full, a store that is damaged.

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plexus/sdk/client"
)

// TestFullDisk fills a small file system with messages: the daemon says so, keeps what it acknowledged, and goes on
// after a restart once there is room.
func TestFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	disk := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", disk).CombinedOutput(); err != nil {
		t.Skipf("skipped: can't mount a small file system: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", disk).Run() })
	d := startTestDaemon(ctx, t, disk, "small")
	if err := d.addAgent(ctx, "writer", false); err != nil {
		t.Fatal(err)
	}
	info, err := d.agent.Space(ctx, client.SpaceCreate{Name: "flood", Description: "fills"})
	if err != nil {
		t.Fatal(err)
	}
	var acked []string
	for err == nil {
		var m client.Message
		if m, err = d.agent.Send(ctx, info.ID, client.SendMessage{Content: text(strings.Repeat("x", 100_000))}); err == nil {
			acked = append(acked, m.ID)
		}
	}
	if !saysDiskFull(err) { // the daemon may have ended by then: its last words say why
		if err := d.stop(); err != nil {
			t.Error(err)
		}
		if !strings.Contains(d.stderr.String(), "disk full") {
			t.Fatalf("neither the answer (%v) nor the daemon says that the disk is full:\n%s", err, d.stderr)
		}
	} else if err := d.stop(); err != nil {
		t.Error(err)
	}
	if out, err := exec.Command("mount", "-o", "remount,size=200m", disk).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	token := d.agent.Token
	d = startTestDaemon(ctx, t, disk, "small")
	d.agent = &client.Client{URL: d.admin.URL, Token: token}
	for _, id := range acked {
		if _, err := d.agent.Read(ctx, client.ReadQuery{SpaceID: info.ID, MessageID: id, Limit: 1}); err != nil {
			t.Fatalf("acknowledged before the disk was full, now: %v", err)
		}
	}
	if report, err := d.admin.Verify(ctx); err != nil || len(report.Problems) > 0 {
		t.Errorf("verify: %v %v", err, report.Problems)
	}
	t.Logf("%d messages of 100 kB were acknowledged before the disk was full, and are there after it", len(acked))
}

func saysDiskFull(err error) bool {
	var problem *client.Error
	return errors.As(err, &problem) && problem.Status == 503 && strings.Contains(problem.Detail, "disk full")
}

// TestDamagedStore flips bytes in every file of a store, one at a time: the daemon refuses to start or verify finds it, with a
// message; it never serves what isn't so in silence.
func TestDamagedStore(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	parent := t.TempDir()
	d := startTestDaemon(ctx, t, parent, "whole")
	if err := d.addAgent(ctx, "writer", false); err != nil {
		t.Fatal(err)
	}
	info, err := d.agent.Space(ctx, client.SpaceCreate{Name: "plan", Description: "writes"})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{fleet: []*daemon{d}, space: info.ID}
	if _, err := b.sends(ctx, 500, 8, 200); err != nil {
		t.Fatal(err)
	}
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for _, name := range tables(t, filepath.Join(d.dir, "db")) {
		broken := filepath.Join(parent, "broken")
		if err := os.CopyFS(broken, os.DirFS(d.dir)); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(broken, "db", name)
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := len(raw) / 4; i < len(raw)/2; i++ {
			raw[i] ^= 0x55
		}
		if err := os.WriteFile(file, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, key := range keyFiles(t, broken) { // CopyFS doesn't keep modes
			if err := os.Chmod(key, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		cmd := exec.CommandContext(ctx, plexus(t), "verify", "--dir", broken)
		cmd.Env, cmd.Stdout, cmd.Stderr = childEnv(), &out, &out
		if err := cmd.Run(); err == nil {
			t.Errorf("verify is content with a damaged %s:\n%s", name, &out)
		} else if !strings.Contains(out.String(), "plexus: ") {
			t.Errorf("verify of a damaged %s ends without a word: %v\n%s", name, err, &out)
		}
		damaged++
		if err := os.RemoveAll(broken); err != nil {
			t.Fatal(err)
		}
	}
	if damaged == 0 {
		t.Fatal("the store has no tables to damage")
	}
}

// tables lists the store's files with data: sorted tables and non-empty logs.
func tables(t *testing.T, db string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(db)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		at, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if at.Size() > 4096 && (strings.HasSuffix(e.Name(), ".sst") || strings.HasSuffix(e.Name(), ".log")) {
			names = append(names, e.Name())
		}
	}
	return names
}

func keyFiles(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.Chmod(path, 0o700)
		}
		files = append(files, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
