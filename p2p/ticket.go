package p2p

// This file holds the ticket: its text, and the key hidden in it. protocol.md §5.7.

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base32"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"plexus/graph"
)

const (
	ticketPrefix  = "plexus1"
	ticketVersion = 1
	ticketSum     = 5 // bytes of checksum: a typo goes unseen once in 10^12
)

// Bech32's alphabet: no 1, b, i and o, which are misread.
const ticketAlphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

// Ticket is what an inviter hands to someone who joins.
type Ticket struct {
	Network graph.ID
	Inviter graph.NodeID
	Secret  [32]byte // seed of the key whose public part's SHA-256 the access log has
	Addrs   []ma.Multiaddr
}

// key returns the ticket's own key. The access log has only a hash of its public part, so that a reader of the log
// can't join with it, and the inviter never learns the secret of a ticket that another admin made.
func (t Ticket) key() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(t.Secret[:]) }

// hash is the invite's ID in the access log.
func (t Ticket) hash() [32]byte { return sha256.Sum256(t.key().Public().(ed25519.PublicKey)) }

// String returns the ticket's one text form.
func (t Ticket) String() string {
	b := []byte{ticketVersion}
	b = append(b, t.Network[:]...)
	b = append(b, t.Inviter[:]...)
	b = append(b, t.Secret[:]...)
	for _, a := range t.Addrs {
		raw := a.Bytes()
		b = append(b, byte(len(raw)))
		b = append(b, raw...)
	}
	sum := sha256.Sum256(append([]byte(ticketPrefix), b...))
	enc := base32.NewEncoding(ticketAlphabet).WithPadding(base32.NoPadding)
	return ticketPrefix + enc.EncodeToString(append(b, sum[:ticketSum]...))
}

// ParseTicket reads a ticket as a person may have pasted it: upper case, spaces and line breaks are forgiven. Errors are ErrTicket
// and say what is wrong.
func ParseTicket(s string) (Ticket, error) {
	if len(s) > 2*maxTicket {
		return Ticket{}, badTicket("it is %d characters long; a ticket has at most %d", len(s), maxTicket)
	}
	s = strings.ToLower(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) }), ""))
	body, ok := strings.CutPrefix(s, ticketPrefix)
	switch {
	case s == "":
		return Ticket{}, badTicket("it is empty; plexus invite, on a machine of the network, prints one")
	case !ok:
		return Ticket{}, badTicket("it doesn't begin with %q; plexus invite, on a machine of the network, prints one", ticketPrefix)
	case len(s) > maxTicket:
		return Ticket{}, badTicket("it is %d characters long; a ticket has at most %d", len(s), maxTicket)
	}
	if i := strings.IndexFunc(body, func(r rune) bool { return !strings.ContainsRune(ticketAlphabet, r) }); i >= 0 {
		return Ticket{}, badTicket("character %d, %q, is none a ticket has; copy it again, whole", i+len(ticketPrefix)+1, []rune(body[i:])[0])
	}
	enc := base32.NewEncoding(ticketAlphabet).WithPadding(base32.NoPadding)
	b, err := enc.DecodeString(body)
	if err != nil || len(b) < 1+3*32+ticketSum || enc.EncodeToString(b) != body {
		return Ticket{}, badTicket("it is cut off or damaged; copy it again, whole")
	}
	b, sum := b[:len(b)-ticketSum], b[len(b)-ticketSum:]
	if want := sha256.Sum256(append([]byte(ticketPrefix), b...)); string(want[:ticketSum]) != string(sum) {
		return Ticket{}, badTicket("its checksum is wrong, so a character is mistyped or missing; copy it again, whole")
	}
	return decodeTicket(b)
}

func decodeTicket(b []byte) (Ticket, error) {
	if b[0] != ticketVersion {
		return Ticket{}, badTicket("it is of version %d, which this plexus doesn't know; update plexus", b[0])
	}
	t := Ticket{Network: graph.ID(b[1:]), Inviter: graph.NodeID(b[33:]), Secret: [32]byte(b[65:])}
	for b = b[97:]; len(b) > 0; {
		n := int(b[0])
		if n == 0 || n > maxAddr || 1+n > len(b) || len(t.Addrs) == maxAddrs {
			return Ticket{}, badTicket("its addresses are out of bounds; ask for a new one")
		}
		a, err := ma.NewMultiaddrBytes(b[1 : 1+n])
		if err != nil {
			return Ticket{}, badTicket("address %d can't be read (%v); update plexus", len(t.Addrs)+1, err)
		}
		t.Addrs = append(t.Addrs, a)
		b = b[1+n:]
	}
	if _, err := peerID(t.Inviter); err != nil {
		return Ticket{}, badTicket("its inviter has no valid key")
	}
	return t, nil
}

// ticketAddrs picks the addresses worth a place in a ticket: public, then private, and loopback only where there
// is nothing else; the QUIC one first, since it opens fastest and punches holes best.
func ticketAddrs(addrs []ma.Multiaddr) []ma.Multiaddr {
	rank := func(a ma.Multiaddr) int {
		r := 0
		switch {
		case manet.IsIPLoopback(a):
			r = 6
		case isLinkLocal(a):
			r = 5
		case manet.IsPrivateAddr(a):
			r = 2
		}
		if _, err := a.ValueForProtocol(ma.P_QUIC_V1); err != nil {
			r++
		}
		return r
	}
	out := slices.DeleteFunc(slices.Clone(addrs), func(a ma.Multiaddr) bool { return len(a.Bytes()) > maxAddr })
	slices.SortStableFunc(out, func(a, b ma.Multiaddr) int { return rank(a) - rank(b) })
	if len(out) > 0 && rank(out[0]) < 5 {
		out = slices.DeleteFunc(out, func(a ma.Multiaddr) bool { return rank(a) >= 5 })
	}
	return out[:min(len(out), maxAddrs)]
}

func isLinkLocal(a ma.Multiaddr) bool {
	ip, err := manet.ToIP(a)
	if err != nil {
		return false
	}
	n, ok := netip.AddrFromSlice(ip)
	return ok && n.IsLinkLocalUnicast()
}
