package main

// This file holds `plexus up`: flags to settings, the daemon's one line on standard output, and its end.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"plexus/node"
	"plexus/sdk/client"
)

// daemonFlags is what up's flags say.
type daemonFlags struct {
	node.Config
	p2pListen, bootstrap []string
	callbacks            []string
	log                  string
}

func (a *app) upCommand() *cobra.Command {
	var d daemonFlags
	cmd := &cobra.Command{
		Use: "up", Short: "Run this machine's daemon",
		Long: `Run the daemon of this machine until it is told to stop (Ctrl-C, SIGTERM). The first start makes a Network of your own;
plexus invite on a machine of it prints a ticket, plexus up --join TICKET on another starts and joins.

HTTP and MCP are on 127.0.0.1 alone unless --listen says otherwise. Other machines reach this one on the peer-to-peer
port, which answers members of the Network only.`,
		Example: "  plexus up\n  plexus up --join plexus1…\n  plexus up --dir /srv/plexus --listen 127.0.0.1:9000 --name lab\n" +
			"  plexus up --no-mdns --p2p-listen /ip4/0.0.0.0/udp/4001/quic-v1,/ip4/0.0.0.0/tcp/4001",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.follows = true
			return a.up(cmd.Context(), d)
		},
	}
	f := cmd.Flags()
	f.StringVar(&d.Listen, "listen", node.DefaultListen, "address of HTTP and MCP, or none")
	f.StringSliceVar(&d.Hosts, "host", nil, "a further host name under which HTTP may be asked; may be given again")
	f.StringSliceVar(&d.callbacks, "callback-net", nil, "a network beside the public Internet where callers' callbacks may go, e.g. 127.0.0.0/8; may be given again")
	f.BoolVar(&d.NoAuth, "no-auth", false, "development: believe X-Node-ID, ask for no token; loopback only")
	f.StringVar(&d.Name, "name", "", "label of the Network made on first start (default plexus)")
	f.StringVar(&d.Join, "join", "", "join the Network of this ticket")
	f.StringSliceVar(&d.p2pListen, "p2p-listen", nil, "peer-to-peer addresses (multiaddrs, with commas)")
	f.BoolVar(&d.NoP2P, "no-p2p", false, "stay alone: listen for no other machine")
	f.BoolVar(&d.P2P.NoMDNS, "no-mdns", false, "don't look for members on the local network")
	f.BoolVar(&d.P2P.NoRelay, "no-relay", false, "neither use members as relays nor be one")
	f.BoolVar(&d.P2P.NoHolePunch, "no-hole-punch", false, "don't try direct connections through NATs")
	f.BoolVar(&d.P2P.NoPortMap, "no-port-map", false, "don't ask the router for a port")
	f.BoolVar(&d.P2P.NoAutoNAT, "no-autonat", false, "don't find out whether this machine can be reached")
	f.BoolVar(&d.P2P.DHT, "public", false, "let members find each other over a public DHT (needs --bootstrap)")
	f.StringSliceVar(&d.bootstrap, "bootstrap", nil, "the DHT's first peers (multiaddrs with /p2p/)")
	f.StringVar(&d.log, "log", "warn", "what to log on standard error: debug, info, warn or error")
	_ = cmd.RegisterFlagCompletionFunc("log", cobra.FixedCompletions([]string{"debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// config checks the flags and turns them into settings.
func (a *app) config(d daemonFlags) (node.Config, error) {
	c := d.Config
	var level slog.Level
	if err := level.UnmarshalText([]byte(d.log)); err != nil {
		return c, wrongUse("use --log debug, info, warn or error", "log level %q isn't known", d.log)
	}
	if _, _, err := net.SplitHostPort(d.Listen); err != nil && d.Listen != "none" {
		return c, wrongUse("give --listen like 127.0.0.1:8765, or none", "no address to listen on: %q", d.Listen)
	}
	if d.P2P.DHT && len(d.bootstrap) == 0 {
		return c, wrongUse("give --bootstrap /ip4/…/p2p/12D3KooW…", "--public has no peer to begin with")
	}
	if d.Join != "" && d.NoP2P {
		return c, wrongUse("leave out --no-p2p", "--join needs other machines")
	}
	for _, s := range d.callbacks {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return c, wrongUse("give --callback-net like 127.0.0.0/8", "no network: %q", s)
		}
		c.Callbacks = append(c.Callbacks, p)
	}
	c.Dir, c.Version, c.Join = a.dir, version, strings.TrimSpace(d.Join)
	c.P2P.Listen, c.P2P.Bootstrap = d.p2pListen, d.bootstrap
	c.Logger = slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level}))
	return c, nil
}

func (a *app) up(ctx context.Context, d daemonFlags) (err error) {
	c, err := a.config(d)
	if err != nil {
		return err
	}
	unmark, err := markStart(a.dir)
	if err != nil {
		return err
	}
	defer unmark()
	n, err := node.Open(c)
	if err != nil {
		return a.whyNot(err)
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	if c.NoAuth {
		a.note("plexus: WARNING: --no-auth: whoever reaches %s may speak as any Node here", n.URL())
	}
	if err := a.sayUp(ctx, n, c.Join != ""); err != nil {
		return err
	}
	return n.Run(ctx)
}

// sayUp prints where the daemon is. Its Network isn't said where it is about to join another.
func (a *app) sayUp(ctx context.Context, n *node.Node, joins bool) error {
	s, err := n.Status(ctx)
	if err != nil {
		return err
	}
	if joins {
		s.Network = ""
		a.note("joining; plexus status says more once that is done")
	}
	out := struct {
		URL     string   `json:"url"`
		Dir     string   `json:"dir"`
		PID     int      `json:"pid"`
		Host    string   `json:"host"`
		Network string   `json:"network,omitempty"`
		Addrs   []string `json:"addrs"`
	}{n.URL(), a.dir, os.Getpid(), s.Host, s.Network, s.Addrs}
	return a.print(out, func(w io.Writer) {
		fmt.Fprintf(w, "plexus is up at %s\n", out.URL)
		a.note("data in %s", out.Dir)
		if len(out.Addrs) > 0 {
			a.note("peers reach it at %s", strings.Join(out.Addrs, " "))
		}
	})
}

// whyNot says why a data directory can't be opened: who holds it, or that it is damaged, which is no daemon out of reach.
func (a *app) whyNot(err error) error {
	e := *asError(err)
	switch {
	case e.Code == client.CodeUnavailable:
		e.Code = client.CodeInternal
	case e.Code == client.CodeConflict && !strings.HasPrefix(e.Detail, "listen on"):
		e.Detail, e.Hint = "the data directory "+a.dir+" is in use", "stop the process that holds it, or give another --dir"
		if r, rerr := readRunning(a.dir); rerr == nil {
			e.Hint = fmt.Sprintf("a daemon (process %d) serves it at %s; stop that one, or give another --dir", r.PID, r.URL)
		}
	}
	return &e
}
