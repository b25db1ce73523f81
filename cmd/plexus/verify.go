package main

// This file holds verify: by the daemon, or by ourselves where none runs.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"plexus/node"
	"plexus/sdk/client"
)

func (a *app) verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "verify", Short: "Check everything that is stored",
		Long: `Walk everything stored: hashes, signatures, rules, and the indexes against the entries. Asks the daemon; where none runs
on the data directory, opens it itself. Exits 1 if a problem is found.`,
		Example: "  plexus verify\n  plexus verify --dir /srv/plexus -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := a.verify(cmd.Context())
			if err != nil {
				return err
			}
			if err := a.print(r, func(w io.Writer) { printVerify(w, r) }); err != nil {
				return err
			}
			if len(r.Problems) > 0 {
				return &client.Error{
					Code: client.CodeInternal, Detail: fmt.Sprintf("%d problems found", len(r.Problems)),
					Hint: "export what is well, restore a backup, or start anew and fetch the rest from peers",
				}
			}
			return nil
		},
	}
}

func printVerify(w io.Writer, r client.VerifyReport) {
	for _, p := range r.Problems {
		fmt.Fprintln(w, plain(p))
	}
	fmt.Fprintf(w, "%d Spaces, %d entries, %d messages: ", r.Spaces, r.Entries, r.Messages)
	if len(r.Problems) == 0 {
		fmt.Fprintln(w, "all well")
		return
	}
	fmt.Fprintf(w, "%d problems\n", len(r.Problems))
}

func (a *app) verify(ctx context.Context) (client.VerifyReport, error) {
	c, err := a.owner(ctx)
	if err == nil {
		r, err := c.Verify(ctx)
		if err == nil || a.url != "" || !errors.Is(err, syscall.ECONNREFUSED) {
			return r, err
		}
	} else if a.url != "" || !client.IsUnreachable(err) {
		return client.VerifyReport{}, err
	}
	return a.verifyAlone(ctx)
}

// verifyAlone opens the data directory; it makes none.
func (a *app) verifyAlone(ctx context.Context) (_ client.VerifyReport, err error) {
	if _, err := os.Stat(filepath.Join(a.dir, "db")); errors.Is(err, fs.ErrNotExist) {
		return client.VerifyReport{}, &client.Error{Code: client.CodeNotFound, Detail: "no data in " + a.dir, Hint: "give --dir of a data directory"}
	}
	n, err := node.Open(node.Config{Dir: a.dir, Listen: "none", NoP2P: true, Version: version})
	if err != nil {
		return client.VerifyReport{}, a.whyNot(err)
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	return n.Verify(ctx)
}
