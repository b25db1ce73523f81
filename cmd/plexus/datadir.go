package main

// This file holds what the CLI reads and keeps in the data directory: where the daemon is, the access key, the tokens
// of the Nodes it acts as. All of it is 0600.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"plexus/sdk/client"
)

// dataDir is the flag, PLEXUS_DIR, $XDG_DATA_HOME/plexus or ~/.local/share/plexus.
func dataDir(flag string) (string, error) {
	if flag == "" {
		flag = os.Getenv("PLEXUS_DIR")
	}
	if flag != "" {
		return filepath.Abs(flag)
	}
	if x := os.Getenv("XDG_DATA_HOME"); x != "" {
		return filepath.Join(x, "plexus"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", wrongUse("give --dir, or set PLEXUS_DIR", "no home directory to keep data in: %s", err)
	}
	return filepath.Join(home, ".local", "share", "plexus"), nil
}

// running is daemon.json: where the daemon of a data directory serves.
type running struct {
	URL string `json:"url"`
	PID int    `json:"pid"`
}

// readRunning returns what daemon.json says; unreachable where there is none.
func readRunning(dir string) (running, error) {
	var r running
	raw, err := os.ReadFile(filepath.Join(dir, "daemon.json"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, notRunning(dir)
	case errors.Is(err, fs.ErrPermission):
		return r, &client.Error{Code: client.CodeForbidden, Detail: err.Error(), Hint: "the data directory belongs to another user; give --dir"}
	case err != nil:
		return r, fmt.Errorf("find the daemon: %w", err)
	}
	if err := json.Unmarshal(raw, &r); err != nil || r.URL == "" {
		return r, fmt.Errorf("find the daemon: %s is no daemon.json of plexus", filepath.Join(dir, "daemon.json"))
	}
	return r, nil
}

func notRunning(dir string) error {
	return unreachable("no daemon runs on "+dir, "start it with: plexus up"+dirFlag(dir))
}

func unreachable(detail, hint string) error {
	return &client.Error{Code: client.CodeUnreachable, Detail: detail, Hint: hint}
}

// dirFlag is what a hint adds where dir isn't the default.
func dirFlag(dir string) string {
	if d, err := dataDir(""); err == nil && d == dir {
		return ""
	}
	return " --dir " + dir
}

// accessKey is PLEXUS_ACCESS_KEY, or the data directory's; "" where there is none.
func accessKey(dir string) (string, error) {
	if k := os.Getenv("PLEXUS_ACCESS_KEY"); k != "" {
		return k, nil
	}
	raw, err := os.ReadFile(filepath.Join(dir, "access.key"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the access key: %w", err)
	}
	return strings.TrimSpace(string(raw)), nil
}

// credential is a Node's token as it is kept.
type credential struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Token string `json:"token"`
}

// credentialFile is <dir>/<kind>/<name>.token; another daemon's than the data directory's own has a folder of its own.
func credentialFile(dir, kind, url, name string) string {
	if r, err := readRunning(dir); url != "" && (err != nil || r.URL != url) {
		kind = filepath.Join(kind, fileName(strings.TrimPrefix(strings.TrimPrefix(url, "http://"), "https://")))
	}
	return filepath.Join(dir, kind, fileName(name)+".token")
}

// fileName keeps letters, digits, dot, dash and underscore; the rest is written as its code, so that names stay apart.
func fileName(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.' && i > 0:
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "%%%x", r)
		}
	}
	if b.Len() > maxFileName {
		return b.String()[:maxFileName]
	}
	return b.String()
}

// loadCredential returns what is kept, or nil.
func loadCredential(file string) (*credential, error) {
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a token: %w", err)
	}
	var c credential
	if err := json.Unmarshal(raw, &c); err != nil || c.Token == "" {
		return nil, &client.Error{Code: client.CodeUnauthorized, Detail: "the token file " + file + " is damaged", Hint: "remove it; a new Node is made then"}
	}
	return &c, nil
}

// saveCredential writes the file whole or not at all.
func saveCredential(file string, c credential) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return writePrivate(file, raw)
}

// writePrivate replaces a file, 0600, in a directory that is made 0700.
func writePrivate(file string, raw []byte) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep %s: %w", filepath.Base(file), err)
	}
	tmp, err := os.CreateTemp(dir, ".new-*") // made 0600
	if err != nil {
		return fmt.Errorf("keep %s: %w", filepath.Base(file), err)
	}
	_, err = tmp.Write(append(raw, '\n'))
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("keep %s: %w", filepath.Base(file), err)
	}
	return nil
}
