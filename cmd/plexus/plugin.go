package main

// This file holds the parent of the plugin verbs, and those that make and show a file: new, build, inspect.

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plexus/graph"
	"plexus/plugins/kit"
)

func (a *app) pluginCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "plugin", Short: "Write, test and use plugins",
		Long: `A plugin is a Wasm file that folds a Space's messages into a state that is the same on every machine. new, build,
inspect, test and run are for its author; they need no daemon, but for run. diff, pin, unpin and list are for a Space; bisect is for when two hosts disagree.`,
		Example: "  plexus plugin new tally --lang go\n  plexus plugin test tally\n  plexus plugin build tally\n  plexus plugin run tally --space release-42\n  plexus plugin pin tally --space release-42",
	}
	cmd.AddCommand(a.pluginNewCommand(), a.pluginBuildCommand(), a.pluginInspectCommand(), a.pluginTestCommand(), a.pluginRunCommand())
	cmd.AddCommand(a.pinCommands()...)
	cmd.AddCommand(a.pluginReactCommand())
	return cmd
}

func (a *app) pluginNewCommand() *cobra.Command {
	var lang, dir string
	cmd := &cobra.Command{
		Use: "new NAME", Short: "Make a project that builds and passes its tests",
		Long: `Make a folder with a small working plugin (a poll), its golden trace, and the SDK beside it, so that it builds
without a network. Languages: ` + strings.Join(kit.Langs(), ", ") + `.`,
		Example: "  plexus plugin new tally --lang go\n  plexus plugin new tally --lang rust --into work/tally",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if dir == "" {
				dir = args[0]
			}
			made, err := kit.New(dir, args[0], lang)
			if err != nil {
				return err
			}
			out := struct {
				Dir   string   `json:"dir"`
				Files []string `json:"files"`
			}{dir, made}
			return a.print(out, func(w io.Writer) {
				for _, f := range made {
					fmt.Fprintln(w, filepath.Join(dir, filepath.FromSlash(f)))
				}
				a.note("next: read %s, then: plexus plugin test %s", filepath.Join(dir, "README.md"), dir)
			})
		},
	}
	cmd.Flags().StringVar(&lang, "lang", "go", "language: "+strings.Join(kit.Langs(), ", "))
	cmd.Flags().StringVar(&dir, "into", "", "folder to make (default: NAME here)")
	_ = cmd.RegisterFlagCompletionFunc("lang", cobra.FixedCompletions(kit.Langs(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) pluginBuildCommand() *cobra.Command {
	var out string
	var skip bool
	cmd := &cobra.Command{
		Use: "build [DIR]", Short: "Make the Wasm file of a project",
		Long: `Compile the plugin in DIR (here, if left out) with its language's toolchain and pack manifest, SKILL.md, schema and golden
trace behind it. The trace is replayed first: what it wants must hold, and the file carries it with the state's hash and the gas of
this build, so that whoever installs the plugin can check that their engine agrees.`,
		Example: "  plexus plugin build\n  plexus plugin build tally -f tally.wasm",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := argOr(args, ".")
			wasm, err := kit.Build(cmd.Context(), dir, !skip)
			if err != nil {
				return err
			}
			path := out
			if path == "" {
				path = filepath.Join(dir, "plugin.wasm")
			}
			if err := os.WriteFile(path, wasm, 0o666); err != nil {
				return fmt.Errorf("write the plugin: %w", err)
			}
			in, err := kit.Inspect(cmd.Context(), wasm)
			if err != nil {
				return err
			}
			res := map[string]any{"path": path, "file": in.File, "bytes": in.Bytes}
			return a.print(res, func(w io.Writer) {
				fmt.Fprintln(w, path)
				a.note("%d bytes, %s", in.Bytes, in.File)
			})
		},
	}
	cmd.Flags().StringVarP(&out, "file", "f", "", "file to write (default: plugin.wasm in DIR)")
	cmd.Flags().BoolVar(&skip, "skip-trace", false, "pack the golden trace as it is, without replaying it")
	return cmd
}

func (a *app) pluginInspectCommand() *cobra.Command {
	return &cobra.Command{
		Use: "inspect [FILE | DIR]", Short: "Show what a plugin file says and does",
		Long: `Check a plugin file as a node would, and show its plugins, the functions it imports, the effects it wants granted, its size, and
the gas its golden traces take. DIR is a project with its plugin.wasm built.`,
		Example: "  plexus plugin inspect plugin.wasm\n  plexus plugin inspect tally -o json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			wasm, err := readPlugin(argOr(args, "."))
			if err != nil {
				return err
			}
			in, err := kit.Inspect(cmd.Context(), wasm)
			if err != nil {
				return err
			}
			return a.print(in, func(w io.Writer) { printInspection(w, in) })
		},
	}
}

func argOr(args []string, otherwise string) string {
	if len(args) > 0 {
		return args[0]
	}
	return otherwise
}

// readPlugin reads a file, or the one built in a project.
func readPlugin(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "plugin.wasm")
	}
	wasm, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("no file %s; `plexus plugin build` makes it: %w", path, graph.ErrNotFound)
	}
	return wasm, err
}

func printInspection(w io.Writer, in *kit.Inspection) {
	fmt.Fprintf(w, "file      %s\nsize      %d bytes\nabi       %d\n", in.File, in.Bytes, in.ABI)
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(in.Sections)) {
		parts = append(parts, fmt.Sprintf("%s %d", oneLine(name, 60), in.Sections[name]))
	}
	fmt.Fprintf(w, "sections  %s\n", orDash(strings.Join(parts, ", ")))
	fmt.Fprintf(w, "imports   %s\ngrants    %s\n", orDash(strings.Join(in.Imports, " ")), orDash(strings.Join(in.Grants, " ")))
	for _, p := range in.Plugins {
		fmt.Fprintf(w, "\n%s %s  %s\n", plain(p.Name), oneLine(p.Version, 40), oneLine(p.About, 200))
		folds := strings.Join(p.Accepts, " ")
		if p.Replies {
			folds += ", and replies to these"
		}
		fmt.Fprintf(w, "  folds     %s\n", orDash(oneLine(folds, 400)))
		if p.React {
			fmt.Fprintf(w, "  reacts    where a Node turns that on: plexus plugin react %s on\n", plain(p.Name))
		}
		if len(p.Grants) > 0 {
			fmt.Fprintf(w, "  asks for  %s\n", oneLine(strings.Join(p.Grants, " "), 100))
		}
		fmt.Fprintf(w, "  limits    %d gas a fold, %d pages of memory\n", p.Limits.Gas, p.Limits.MemoryPages)
		for _, v := range p.Views {
			fmt.Fprintf(w, "  view      %-12s %s\n", oneLine(v.Name, 40), oneLine(v.About, 120))
		}
		for _, c := range p.Commands {
			fmt.Fprintf(w, "  command   %-12s %s\n", oneLine(c.Name, 40), oneLine(c.About, 120))
		}
		for _, t := range in.Traces {
			if t.Plugin != p.Name {
				continue
			}
			fmt.Fprintf(w, "  trace     %d messages, %d gas, at most %d a message\n  state     %s\n", t.Messages, t.Total, t.Most, t.Hash)
			for _, d := range t.Differ {
				fmt.Fprintf(w, "  differs   %s\n", plain(d))
			}
		}
	}
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
