package node

// This file holds where callbacks may go: a caller from outside names an address and this host connects to it, so it mustn't be led to what only
// this host reaches. Judged is the address that is dialled, after the name was looked up, so that a name can't change its mind in between.

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
)

// special are the addresses that are no unicast of the public Internet, beside those that net/netip knows (RFC 6890 and its registries). The last
// ones carry IPv4 addresses inside, which would go round the rest.
var special = nets(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"100::/64", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10",
	"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/23", "2002::/16",
)

func nets(list ...string) (out []netip.Prefix) {
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// errAddress is a callback to an address that isn't allowed. It doesn't say which: a caller needn't learn what a name means in here.
var errAddress = errors.New("the address isn't allowed")

// checkURL says whether a callback may be asked for there, as far as can be known without looking the name up.
func (g *gateway) checkURL(raw string) error {
	if len(raw) > MaxCallbackURL {
		return invalid("callback_url is over %d bytes", MaxCallbackURL)
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return invalid("callback_url is no address like https://shop.example/hooks")
	case u.Scheme != "https" && u.Scheme != "http":
		return invalid("callback_url must begin with https://")
	case u.Scheme == "http" && len(g.nets) == 0:
		return invalid("callback_url must begin with https://: this host tells nothing in the clear")
	case u.User != nil:
		return invalid("callback_url must hold no user or password: a callback is signed")
	case u.Fragment != "":
		return invalid("callback_url must hold no fragment")
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !g.allowed(ip, u.Scheme == "https") {
		return invalid("callback_url: %s; the host's owner can allow a network: plexus up --callback-net", errAddress)
	}
	return nil
}

// allowed says whether an address may be dialled: a public one over TLS, or one in a network that the host's owner allowed.
func (g *gateway) allowed(ip netip.Addr, secure bool) bool {
	ip = ip.Unmap().WithZone("")
	for _, p := range g.nets {
		if p.Contains(ip) {
			return true
		}
	}
	if !secure || !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.IsLoopback() {
		return false
	}
	for _, p := range special {
		if p.Contains(ip) {
			return false
		}
	}
	return true
}

// newClient makes the client of callbacks: no proxy (it would dial for us), no redirects (they are for the caller to give), no connection to
// what isn't allowed.
func (g *gateway) newClient() *http.Client {
	dial := func(secure bool) func(context.Context, string, string) (net.Conn, error) {
		d := &net.Dialer{Timeout: g.pace.timeout, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil || !g.allowed(at.Addr(), secure) {
				return errAddress
			}
			return nil
		}}
		return d.DialContext
	}
	plain, secure := dial(false), dial(true)
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: plain,
			DialTLSContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := secure(ctx, network, addr)
				if err != nil {
					return nil, err
				}
				return g.handshake(ctx, conn, addr)
			},
			MaxIdleConnsPerHost: postingOne, IdleConnTimeout: idleCallback, ResponseHeaderTimeout: g.pace.timeout, MaxResponseHeaderBytes: maxAnswer,
		},
	}
}

func (g *gateway) handshake(ctx context.Context, conn net.Conn, addr string) (net.Conn, error) {
	name, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	secured := tls.Client(conn, &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12, RootCAs: g.cas})
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return secured, nil
}

// whyFailed says what went wrong with a try, in words that tell a caller nothing of the network it can't see.
func whyFailed(err error) string {
	var dns *net.DNSError
	var timeout net.Error
	var cert *tls.CertificateVerificationError
	switch {
	case errors.Is(err, errAddress):
		return errAddress.Error()
	case errors.As(err, &dns):
		return "its name was not found"
	case errors.As(err, &cert):
		return "its certificate isn't good"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "it didn't answer in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "it refused the connection"
	}
	return "the connection failed"
}
