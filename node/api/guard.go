package api

// This file keeps web pages of other origins out: a browser that was led to this address by a foreign name (DNS
// rebinding), or that calls from a foreign page, is refused before anything is read.

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"plexus/graph"
)

// guard refuses a request by its Host and Origin.
func (h *Handler) guard(r *http.Request) error {
	if !h.trusts(hostname(r.Host)) {
		return &Fault{
			Kind: graph.ErrForbidden, Detail: fmt.Sprintf("host '%.128s' is not served here", r.Host),
			Hint: "use 127.0.0.1 or localhost, or allow the name in the node's configuration",
		}
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !h.trusts(u.Hostname()) {
			return &Fault{
				Kind: graph.ErrForbidden, Detail: fmt.Sprintf("origin '%.128s' is not allowed", origin),
				Hint: "call from a page this node serves, or allow the name in the node's configuration",
			}
		}
	}
	return nil
}

// trusts says whether a name is this machine's own, or configured.
func (h *Handler) trusts(name string) bool {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if name == "localhost" || h.hosts[name] {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback()
}

// hostname is a Host header without its port.
func hostname(hostport string) string {
	if name, _, err := net.SplitHostPort(hostport); err == nil {
		return name
	}
	return strings.Trim(hostport, "[]")
}
