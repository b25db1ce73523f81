// Command plexus is the daemon (`plexus up`) and every verb that talks to it: flags, exit codes and printing, nothing
// else. What a verb does, the daemon does; docs/guides say how it is used.
package main

// This file holds the entry: signals, the exit code, and the root command with the flags every verb has.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// version is set by the release build: -ldflags "-X main.version=1.2.3".
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // told twice, it ends at once
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main with its surroundings as arguments.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	a := &app{in: in, out: out, err: errOut}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	verb, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if !a.started {
		err = usageError(err, verb.CommandPath())
	}
	if a.stopped(ctx, err) {
		return exitOK
	}
	return a.fail(err)
}

// stopped says whether err is only how a following verb ends when it is told to.
func (a *app) stopped(ctx context.Context, err error) bool {
	return a.follows && ctx.Err() != nil && errors.Is(err, context.Canceled)
}

// app is one run of the program: where it reads and prints, and what the flags said.
type app struct {
	in       io.Reader
	out, err io.Writer

	output  string // text, json
	stream  bool   // JSON Lines
	dir     string
	url     string
	as      string
	started bool // the verb's own code ran: an error before is a wrong use
	follows bool // the verb runs until it is told to stop
}

func (a *app) root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plexus",
		Short: "Spaces for people and agents, without a server",
		Long: `Plexus lets people and agents on several machines work together without a server: each machine runs one binary,
participants meet in Spaces by name, and every member holds the whole signed history.

Start with: plexus up`,
		Example: "  plexus up                       # run this machine's daemon\n" +
			"  plexus invite                   # print a ticket for another machine\n" +
			"  plexus up --join plexus1…       # on that machine: start and join\n" +
			"  plexus space release-42         # meet in a Space\n" +
			"  plexus send release-42 'hello'  # say something",
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return a.start(cmd)
		},
	}
	f := cmd.PersistentFlags()
	f.StringVarP(&a.output, "output", "o", "text", "how to print: text or json")
	f.StringVar(&a.dir, "dir", "", "data directory (PLEXUS_DIR; default ~/.local/share/plexus)")
	f.StringVar(&a.url, "url", "", "the daemon's address (PLEXUS_URL; default: the one that runs on the data directory)")
	f.StringVar(&a.as, "as", "", "act as this local Node, made on first use (default cli)")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	for _, group := range [][2]string{
		{"host", "This machine:"}, {"talk", "Talking:"}, {"agent", "For agents and scripts:"}, {"store", "What is stored:"},
	} {
		cmd.AddGroup(&cobra.Group{ID: group[0], Title: group[1]})
	}
	a.addTo(cmd, "host", a.upCommand(), a.inviteCommand(), a.joinCommand(), a.statusCommand(), a.peersCommand(), a.revokeCommand(), a.trustCommand(),
		a.offlineCommand(true), a.offlineCommand(false))
	a.addTo(cmd, "talk", a.spaceCommand(), a.sendCommand(), a.readCommand(), a.contextCommand(), a.listenCommand(), a.inboxCommand(), a.waitingCommand(),
		a.spacesCommand(), a.nodesCommand(), a.messagesCommand(), a.viewCommand(), a.doCommand())
	a.addTo(cmd, "agent", a.mcpCommand(), a.tokenCommand(), a.callerCommand(), a.pluginCommand(), a.initCommand(), demoCommand(), benchCommand(), a.conformanceCommand())
	a.addTo(cmd, "store", a.verifyCommand(), a.exportCommand(), a.importCommand())
	cmd.AddCommand(a.versionCommand())
	return cmd
}

func (a *app) addTo(root *cobra.Command, group string, cmds ...*cobra.Command) {
	for _, c := range cmds {
		c.GroupID = group
		root.AddCommand(c)
	}
}

// start takes what the environment says where flags said nothing, and checks it.
func (a *app) start(cmd *cobra.Command) error {
	if a.output != "text" && a.output != "json" {
		bad := a.output
		a.output = "text"
		return wrongUse("use -o text or -o json", "output %q is neither text nor json", bad)
	}
	if cmd.Flags().Changed("as") && strings.TrimSpace(a.as) == "" {
		return wrongUse("give --as a name", "a Node's name is empty")
	}
	var err error
	if a.dir, err = dataDir(a.dir); err != nil {
		return err
	}
	if a.url == "" {
		a.url = os.Getenv("PLEXUS_URL")
	}
	a.started = true
	return nil
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Example: "  plexus version\n  plexus version -o json", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.print(map[string]string{"version": version}, func(w io.Writer) {
				fmt.Fprintln(w, "plexus", version)
			})
		},
	}
}
