package main

// This file holds do: a plugin's command, with flags made from the JSON Schema of its parameters.

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plexus/sdk/client"
)

func (a *app) doCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "do SPACE [PLUGIN [COMMAND [--PARAMETER value …]]]", Short: "Have a plugin's command say what follows",
		Long: `Ask a plugin's command: it looks at the Space's state, and what it answers is sent as this Node. The parameters are flags, which
each command has of its own: plexus do SPACE PLUGIN COMMAND --help lists them. With fewer arguments: what there is.`,
		Example: "  plexus do release-42\n  plexus do release-42 checkpoint submit --help\n" +
			"  plexus do release-42 checkpoint submit --id deploy-7 --title 'Deploy build 7?' --options Approve --options Wait\n" +
			"  plexus do release-42 checkpoint answer --checkpoint bafy… --option Approve",
		DisableFlagParsing: true, // the flags are known only once the daemon was asked
		// The flags before the first argument are looked at here, so the usual preparation comes after.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.do(cmd, args) }
	return cmd
}

func (a *app) do(cmd *cobra.Command, args []string) error {
	words, rest, err := a.leading(cmd, args)
	if err != nil {
		return err
	}
	help := slices.Contains(rest, "--help") || slices.Contains(rest, "-h")
	if len(words) == 0 {
		if help {
			return cmd.Help()
		}
		return wrongUse("plexus do SPACE shows its plugins", "which Space?")
	}
	if len(words) < 3 && !help && len(rest) > 0 {
		return wrongUse("plexus do "+strings.Join(words, " ")+" shows what there is", "flags come behind SPACE PLUGIN COMMAND")
	}
	return a.asNode(cmd.Context(), func(c *client.Client) error {
		id, err := spaceID(cmd.Context(), c, words[0])
		if err != nil {
			return err
		}
		list, err := c.Plugins(cmd.Context(), id)
		if err != nil {
			return err
		}
		if len(words) < 3 {
			return a.showPlugins(list, words[1:])
		}
		action, err := findCommand(list, words[1], words[2])
		if err != nil {
			return err
		}
		p := newParameters(action)
		if help {
			return a.print(action, func(w io.Writer) { p.usage(w, words) })
		}
		body, err := p.parse(cmd, words, rest)
		if err != nil {
			return err
		}
		sent, err := c.Do(cmd.Context(), id, words[1], words[2], body)
		if err != nil {
			return err
		}
		return a.print(sent, func(w io.Writer) {
			for _, m := range sent {
				fmt.Fprintln(w, m.ID)
			}
		})
	})
}

// leading takes the verb's flags and words up to the third word; the rest is the command's.
func (a *app) leading(cmd *cobra.Command, args []string) (words, rest []string, err error) {
	for len(words) < 3 {
		fs := pflag.NewFlagSet("do", pflag.ContinueOnError)
		fs.AddFlagSet(cmd.Root().PersistentFlags())
		fs.SetInterspersed(false)
		fs.SetOutput(io.Discard)
		if i := slices.IndexFunc(args, func(s string) bool { return s == "--help" || s == "-h" }); i == 0 {
			return words, args, a.start(cmd)
		}
		if err := fs.Parse(args); err != nil {
			return nil, nil, usageError(err, "plexus do")
		}
		args = fs.Args()
		if len(args) == 0 {
			break
		}
		words, args = append(words, args[0]), args[1:]
	}
	if err := a.common(cmd, args); err != nil {
		return nil, nil, err
	}
	return words, args, a.start(cmd)
}

// common takes the flags every verb has out of a command's own: who asks must be known before the command's flags are.
func (a *app) common(cmd *cobra.Command, args []string) error {
	fs := pflag.NewFlagSet("do", pflag.ContinueOnError)
	fs.AddFlagSet(cmd.Root().PersistentFlags())
	fs.BoolP("help", "h", false, "")
	fs.ParseErrorsAllowlist.UnknownFlags = true
	fs.SetOutput(io.Discard)
	if err := fs.Parse(args); err != nil {
		return usageError(err, "plexus do")
	}
	return nil
}

func (a *app) showPlugins(list []client.Plugin, name []string) error {
	if len(name) > 0 {
		p, err := findPlugin(list, name[0])
		if err != nil {
			return err
		}
		list = []client.Plugin{p}
	}
	return a.print(list, func(w io.Writer) {
		for _, p := range list {
			if p.Fault != "" {
				fmt.Fprintf(w, "%s can't run: %s\n", plain(p.Name), plain(p.Fault))
				continue
			}
			fmt.Fprintf(w, "%s %s  %s\n", plain(p.Name), plain(p.Version), plain(p.About))
			for _, c := range p.Commands {
				fmt.Fprintf(w, "  do    %-12s %s\n", plain(c.Name), plain(c.About))
			}
			for _, c := range p.Views {
				fmt.Fprintf(w, "  view  %-12s %s\n", plain(c.Name), plain(c.About))
			}
		}
	})
}

func findCommand(list []client.Plugin, plugin, command string) (client.PluginAction, error) {
	p, err := findPlugin(list, plugin)
	if err != nil {
		return client.PluginAction{}, err
	}
	var names []string
	for _, c := range p.Commands {
		if c.Name == command {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return client.PluginAction{}, &client.Error{
		Code: client.CodeNotFound, Detail: fmt.Sprintf("plugin %s has no command %q", plugin, command), Hint: meant(command, names) + "it has: " + strings.Join(names, ", "),
	}
}

func findPlugin(list []client.Plugin, name string) (client.Plugin, error) {
	var names []string
	for _, p := range list {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return client.Plugin{}, &client.Error{
		Code: client.CodeNotFound, Detail: fmt.Sprintf("no plugin %q here", name), Hint: meant(name, names) + "there are: " + strings.Join(names, ", "),
	}
}

// meant begins a hint with the name that was probably meant.
func meant(wrong string, known []string) string {
	if name := client.Closest(wrong, known); name != "" {
		return "did you mean " + name + "? "
	}
	return ""
}
