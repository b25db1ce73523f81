package main

// This file holds the verbs about what is stored: export and import. verify stands in verify.go.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"plexus/sdk/client"
)

func (a *app) exportCommand() *cobra.Command {
	return &cobra.Command{
		Use: "export SPACE [FILE | -]", Short: "Write a Space's whole history to a CAR file",
		Long: `Write every entry of a Space to a CAR file, by default NAME.car here; - is standard output. The file proves itself:
whoever imports it checks every signature.`,
		Example: "  plexus export release-42\n  plexus export release-42 backup.car\n  plexus export release-42 - | ssh host plexus import -",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.owner(cmd.Context())
			if err != nil {
				return err
			}
			id, err := spaceID(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			name := fileName(args[0]) + ".car"
			if len(args) == 2 {
				name = args[1]
			}
			if name == "-" {
				return c.Export(cmd.Context(), id, a.progress("exported").writer(a.out))
			}
			if err := a.exportTo(cmd, c, id, name); err != nil {
				return err
			}
			return a.print(map[string]string{"space": id, "file": name}, func(w io.Writer) { fmt.Fprintln(w, name) })
		},
	}
}

// exportTo writes beside the file and renames, so that a half-written export never bears the name.
func (a *app) exportTo(cmd *cobra.Command, c *client.Client, id, name string) error {
	tmp, err := os.CreateTemp(filepath.Dir(name), ".plexus-export-*")
	if err != nil {
		return wrongUse("give a FILE in a directory that you may write to", "export to %s: %s", name, err)
	}
	err = c.Export(cmd.Context(), id, a.progress("exported").writer(tmp))
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("export to %s: %w", name, err)
	}
	return nil
}

func (a *app) importCommand() *cobra.Command {
	return &cobra.Command{
		Use: "import FILE | -", Short: "Add the entries of a CAR file",
		Long:    `Add the entries of an exported Space. Each is checked as if a peer had sent it; what is known already is skipped.`,
		Example: "  plexus import release-42.car\n  ssh host plexus export release-42 - | plexus import -",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.owner(cmd.Context())
			if err != nil {
				return err
			}
			f, err := a.openFile(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			res, err := c.Import(cmd.Context(), a.progress("imported").reader(f))
			if err != nil {
				return err
			}
			return a.print(res, func(w io.Writer) {
				fmt.Fprintf(w, "%s: %d new, %d known, %d held, %d refused\n", res.Space, res.New, res.Known, res.Held, res.Refused)
			})
		},
	}
}
