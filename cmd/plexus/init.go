package main

// This file holds init: the skills of plugins as files, where agents look for theirs.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plexus/plugins/kit"
	"plexus/sdk/client"
)

func (a *app) initCommand() *cobra.Command {
	var dir, space string
	var force bool
	cmd := &cobra.Command{
		Use: "init [-o DIR] [NAME…]", Short: "Write the patterns' skills for agents: NAME/SKILL.md and schema.json",
		Long: `Write for each pattern a folder with its SKILL.md (for agents: when to use it, what to send, what each refusal means) and schema.json (the
JSON Schema of its messages). Without NAME: all patterns of this program; that needs no daemon. With --space: that Space's plugins, with what is
pinned there. A file that is there already and differs stays as it is, unless --force is given; then nothing at all is written.`,
		Example: "  plexus init\n  plexus init -o .claude/skills task human\n  plexus init --space release-42 -o skills",
		RunE: func(cmd *cobra.Command, names []string) error {
			skills, err := a.skills(cmd.Context(), space)
			if err != nil {
				return err
			}
			if skills, err = choose(skills, names); err != nil {
				return err
			}
			return a.writeSkills(dir, skills, force)
		},
	}
	// Named as the flag of all other verbs, whose place it takes: what this one puts out is files.
	cmd.Flags().StringVarP(&dir, "output", "o", ".", "the folder to write to; made where it isn't there")
	cmd.Flags().StringVar(&space, "space", "", "this Space's plugins, by its name or ID")
	cmd.Flags().BoolVar(&force, "force", false, "overwrite files that differ")
	return cmd
}

// skills are the program's own, or those of a Space's plugins.
func (a *app) skills(ctx context.Context, space string) ([]kit.Skill, error) {
	if space == "" {
		return kit.Patterns()
	}
	c, err := a.owner(ctx)
	if err != nil {
		return nil, err
	}
	id, err := spaceID(ctx, c, space)
	if err != nil {
		return nil, err
	}
	list, err := c.Plugins(ctx, id)
	if err != nil {
		return nil, err
	}
	var out []kit.Skill
	for _, p := range list {
		s, err := c.Skill(ctx, id, p.Name)
		if client.IsNotFound(err) {
			a.note("left out %s: its file isn't here yet", plain(p.Name))
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, kit.Skill{Name: s.Name, Text: []byte(s.Skill), Schema: []byte(s.Schema)})
	}
	return out, nil
}

func choose(skills []kit.Skill, names []string) (out []kit.Skill, err error) {
	for _, n := range names {
		i := slices.IndexFunc(skills, func(s kit.Skill) bool { return s.Name == n })
		if i < 0 {
			var have []string
			for _, s := range skills {
				have = append(have, s.Name)
			}
			return nil, &client.Error{Code: client.CodeNotFound, Detail: "no plugin " + n, Hint: "there are " + strings.Join(have, ", ")}
		}
		out = append(out, skills[i])
	}
	if len(names) == 0 {
		return skills, nil
	}
	return out, nil
}

// skillFile is one file to be.
type skillFile struct {
	path    string
	content []byte
	there   bool // with this content
}

// writeSkills looks first and writes then, so that a refusal leaves nothing half done.
func (a *app) writeSkills(dir string, skills []kit.Skill, force bool) error {
	var files []skillFile
	var changed []string
	for _, s := range skills {
		if !filepath.IsLocal(s.Name) || strings.ContainsAny(s.Name, `/\`) {
			return fmt.Errorf("plugin name %q is no folder's", s.Name)
		}
		for _, f := range []skillFile{{path: "SKILL.md", content: s.Text}, {path: "schema.json", content: s.Schema}} {
			if len(f.content) == 0 {
				continue
			}
			f.path = filepath.Join(dir, s.Name, f.path)
			old, err := os.ReadFile(f.path)
			switch {
			case err == nil && bytes.Equal(old, f.content):
				f.there = true
			case err == nil:
				changed = append(changed, f.path)
			case !errors.Is(err, os.ErrNotExist):
				return fmt.Errorf("look for %s: %w", f.path, err)
			}
			files = append(files, f)
		}
	}
	if len(changed) > 0 && !force {
		return &client.Error{
			Code: client.CodeConflict, Detail: "there already, with other content: " + strings.Join(changed, ", "), Hint: "keep them, write elsewhere with -o DIR, or overwrite with --force",
		}
	}
	return a.writeFiles(files)
}

func (a *app) writeFiles(files []skillFile) error {
	for _, f := range files {
		if f.there {
			a.note("unchanged %s", f.path)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
			return fmt.Errorf("make a folder: %w", err)
		}
		if err := os.WriteFile(f.path, f.content, 0o644); err != nil {
			return fmt.Errorf("write a skill: %w", err)
		}
		fmt.Fprintln(a.out, f.path)
	}
	return nil
}
